//! The size of a profile's drive, and its erase unit: set as asked for, or made smaller where the trace decides the size.

use anabranch_replay::WholeDrive;
use anabranch_ssd::{Config, profile::Profile};
use anabranch_trace::{Capture, Sampled};

use crate::{
    error::{CompareError, Result},
    options::DriveOptions,
    recorded::Recorded,
};

/// The fewest erase units of a drive whose unit nobody asked for, where units are made smaller (our choice: as many as
/// `demo` has).
const LEAST_UNITS: u32 = 56;
/// The smallest erase unit that is tried where none is asked for (our choice: 16 pages).
const LEAST_UNIT_BYTES: u64 = 64 << 10;
/// The unit of `5MB`, which people write for `5MiB`.
const MEGABYTE: u64 = 1_000_000;

/// Properties of the drive that the source of the writes gives, before any option.
#[derive(Debug, Clone, Default)]
pub struct TraceOrigin {
    /// The size that the source tells.
    pub size: Size,
    /// The drive that it was recorded for.
    pub recorded: Option<Recorded>,
    /// The sample that was recorded, where the source holds one.
    pub sampled: Option<Sampled>,
}

/// The size of the drive as the source of the writes tells it.
#[derive(Debug, Clone, Copy, Default)]
pub enum Size {
    /// The captured device had this many bytes; `--size` overrules it.
    Captured(u64),
    /// The size is exactly this many bytes, since `--fill` decided it.
    Fixed(u64),
    /// The size is not known: the profile's own is taken.
    #[default]
    Unknown,
    /// The size is not known, and addresses may lie anywhere: the profile's own is taken, or one
    /// that follows from the pages that are ever written.
    Footprint,
}

impl Size {
    /// The bytes that it decides, where `--size` asks for so many, if any.
    pub(super) fn decided(self, asked: Option<u64>) -> Option<u64> {
        match self {
            Size::Fixed(bytes) => Some(bytes),
            Size::Captured(bytes) => asked.is_none().then_some(bytes),
            Size::Unknown | Size::Footprint => None,
        }
    }
}

impl TraceOrigin {
    /// The origin of a trace without tables: a foreign trace, or page numbers.
    pub fn of_addresses() -> TraceOrigin {
        TraceOrigin {
            size: Size::Footprint,
            ..TraceOrigin::default()
        }
    }

    /// Properties of the drive that a trace gives, as far as the options leave them open.
    ///
    /// # Errors
    /// When the drive that the trace holds is of another version, or makes no sense.
    pub fn of(capture: &Capture, options: &DriveOptions) -> Result<TraceOrigin> {
        let recorded = if options.profiles.is_empty() {
            Recorded::of(capture)?
        } else {
            None
        };
        Ok(TraceOrigin {
            size: match capture.device_bytes {
                // Also one that was renumbered: how far its numbers go is no device's size.
                _ if capture.is_imported() => Size::Footprint,
                0 => Size::Unknown,
                // The drive knows its own size, to the unit.
                _ if recorded.is_some() => Size::Unknown,
                bytes => Size::Captured(bytes),
            },
            recorded,
            sampled: capture.sampled,
        })
    }
}

/// Gives the profile another size, with units as they are: as many as the new size and its spare
/// fill.
pub(super) fn resize(profile: &mut Profile, bytes: u64) {
    profile.geometry.blocks_per_die = None;
    profile.geometry.logical_bytes = Some(bytes);
}

/// Gives the profile another erase unit, striped over as many of the dies as divide it evenly. The
/// size of the drive stays.
pub(super) fn set_unit(profile: &mut Profile, unit_bytes: u64) -> Result {
    let page = u64::from(profile.geometry.page_bytes);
    let pages = u32::try_from(unit_bytes / page.max(1)).unwrap_or(0);
    if pages == 0 || !unit_bytes.is_multiple_of(page) {
        let meant = match unit_bytes / MEGABYTE {
            megabytes @ 1.. if unit_bytes.is_multiple_of(MEGABYTE) => {
                format!("; did you mean {megabytes}MiB?")
            }
            _ => String::new(),
        };
        return Err(CompareError::wrong_use(format!(
            "an erase unit of {unit_bytes} bytes is no whole number of {page}-byte pages, or too large{meant}"
        )));
    }
    resize(profile, profile.logical_bytes());
    let geometry = &mut profile.geometry;
    let dies = geometry.channels.saturating_mul(geometry.dies_per_channel);
    let programmed = profile
        .timing
        .map_or(page, |timing| timing.program_bytes().max(page));
    let evenly =
        |&dies: &u32| unit_bytes.is_multiple_of(u64::from(dies).saturating_mul(programmed));
    let divisors = (1..=dies).rev().filter(|&part| dies.is_multiple_of(part));
    let striped = divisors.into_iter().find(evenly).unwrap_or(1);
    geometry.dies_per_unit = Some(striped);
    geometry.pages_per_block = pages / striped;
    // A profile says it once more in the words of Flexible Data Placement.
    if let Some(fdp) = &mut profile.fdp {
        fdp.runs = None;
    }
    Ok(())
}

/// The profile's erase unit, or the largest of its halves that makes enough units of the drive's size; `None` where
/// none does.
pub(super) fn fitting_unit(profile: &Profile) -> Option<u64> {
    largest_unit(profile, profile.unit_bytes(), has_enough_units)
}

/// An erase unit smaller than the profile's with which its drive is possible.
pub(super) fn possible_unit(profile: &Profile) -> Option<u64> {
    largest_unit(profile, profile.unit_bytes() / 2, |_| true)
}

/// The largest unit that gives a drive as wanted, of `first_bytes` and its halves.
fn largest_unit(
    profile: &Profile,
    first_bytes: u64,
    is_wanted: impl Fn(&Config) -> bool,
) -> Option<u64> {
    let halves = std::iter::successors(Some(first_bytes), |bytes| Some(bytes / 2));
    let mut halves = halves.take_while(|bytes| *bytes >= LEAST_UNIT_BYTES);
    halves.find(|&bytes| {
        let mut changed = profile.clone();
        // The profile's own unit stays as it is striped.
        let is_set = bytes == profile.unit_bytes() || set_unit(&mut changed, bytes).is_ok();
        is_set && changed.resolve("").is_ok_and(|config| is_wanted(&config))
    })
}

fn has_enough_units(config: &Config) -> bool {
    config.physical_units >= LEAST_UNITS
}

/// A size with which a drive of the profile is possible: the next larger power of two, or else the next smaller.
pub(super) fn possible_size(profile: &Profile) -> Option<u64> {
    let is_possible = |&bytes: &u64| {
        let mut resized = profile.clone();
        resize(&mut resized, bytes);
        resized.resolve("").is_ok()
    };
    let sizes = || (20..48).map(|shift| 1_u64 << shift);
    let mut larger = sizes().filter(|bytes| *bytes > profile.logical_bytes());
    let size = larger.find(is_possible);
    size.or_else(|| sizes().rev().find(is_possible))
}

/// Shrinks the erase unit of a drive that is smaller than `whole` in the same proportion, where its units would be too
/// few, so that it has as many for its capacity. Returns the drive that it then stands for.
pub(super) fn scale_unit(profile: &mut Profile, whole: &Profile) -> Option<WholeDrive> {
    let config = profile.resolve("");
    if config.is_ok_and(|config| has_enough_units(&config)) {
        return None;
    }
    let stands_for = WholeDrive {
        logical_bytes: whole.logical_bytes(),
        unit_bytes: whole.unit_bytes(),
    };
    let page = u64::from(profile.geometry.page_bytes).max(1);
    let share = profile.logical_bytes() as f64 / stands_for.logical_bytes.max(1) as f64;
    let pages = (stands_for.unit_bytes as f64 * share / page as f64).round() as u64;
    let unit_bytes = pages.max(LEAST_UNIT_BYTES.div_ceil(page)) * page;
    let is_smaller =
        profile.logical_bytes() < stands_for.logical_bytes && unit_bytes < profile.unit_bytes();
    (is_smaller && set_unit(profile, unit_bytes).is_ok()).then_some(stands_for)
}
