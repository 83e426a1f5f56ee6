//! The drives of a comparison: profiles, changed by options, multiplied into a grid.

use std::path::Path;

use anabranch_placement::Bytes;
use anabranch_replay::{Clock, WholeDrive};
use anabranch_ssd::{
    Config,
    profile::Profile,
    time::{Issue, Layout, Timing},
};
use anabranch_trace::{Capture, Rate, Sampled};
use serde::{Deserialize, Serialize};

use crate::{
    error::{CompareError, Result},
    options::{DriveOptions, IssueKind, TimeOptions},
    recorded::Recorded,
    sampling::Thinned,
    small_file::settings,
};

/// The profile that is taken where none is named and the trace does not hold its drive.
pub const DEFAULT_PROFILE: &str = "demo";

/// One drive of the grid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComparedDrive {
    /// The profile it was made from.
    pub profile: String,
    /// Its spare flash, as a share of the bytes the host sees, before it is rounded up to whole
    /// units.
    pub over_provisioning: f64,
    /// The drive.
    pub config: Config,
    /// The timing of its flash, where the profile has one.
    pub timing: Option<Timing>,
    /// The layout of its flash.
    pub layout: Layout,
    /// The rate at which its pages are sampled, and its size before, where it is sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinned: Option<Thinned>,
    /// The drive that it stands for, where it is scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<WholeDrive>,
}

impl ComparedDrive {
    /// The sampling rate; [`Rate::WHOLE`] where the drive is not sampled.
    pub fn rate(&self) -> Rate {
        self.thinned.map_or(Rate::WHOLE, |thinned| thinned.rate)
    }

    /// Bytes of a page of the drive before it was sampled.
    pub fn page_bytes(&self) -> u32 {
        self.config.page_bytes / self.rate().pages()
    }

    /// The same drive sampled at a finer rate; `None` where there is no finer rate, or its pages
    /// would be too many to number.
    pub fn finer(&self) -> Option<ComparedDrive> {
        let thinned = self.thinned?;
        let rate = thinned.rate.finer()?;
        let logical_pages = thinned.logical_pages.div_ceil(u64::from(rate.pages()));
        let config = Config {
            logical_pages: u32::try_from(logical_pages).ok()?,
            page_bytes: self.config.page_bytes / 2,
            pages_per_unit: self.config.pages_per_unit.checked_mul(2)?,
            ..self.config.clone()
        };
        Some(ComparedDrive {
            config,
            thinned: Some(Thinned { rate, ..thinned }),
            ..self.clone()
        })
    }

    /// The same drive without sampling; `None` where its pages would be too many to number.
    pub fn whole(&self) -> Option<ComparedDrive> {
        let thinned = self.thinned?;
        let one_of = thinned.rate.pages();
        let config = Config {
            logical_pages: u32::try_from(thinned.logical_pages).ok()?,
            page_bytes: self.config.page_bytes / one_of,
            pages_per_unit: self.config.pages_per_unit.checked_mul(one_of)?,
            ..self.config.clone()
        };
        Some(ComparedDrive {
            config,
            thinned: None,
            ..self.clone()
        })
    }

    /// The drive's clock, where time is to be simulated.
    pub fn clock(&self, options: &TimeOptions) -> Result<Option<Clock>> {
        let Some(kind) = options.issue else {
            return Ok(None);
        };
        let timing = self.timing.ok_or_else(|| {
            CompareError::wrong_use(format!(
                "device profile {} has no [timing]: --time needs to know how long its flash takes",
                self.profile
            ))
        })?;
        let queue_depth = options.queue_depth();
        let issue = match kind {
            IssueKind::Closed => Issue::Closed { queue_depth },
            IssueKind::Open => Issue::Open {
                time_scale: options.time_scale(),
                queue_depth,
                collect_after_idle_ns: options
                    .collect_after_idle
                    .map(|ms| ms.saturating_mul(1_000_000)),
            },
        };
        Ok(Some(Clock {
            timing,
            layout: self.layout,
            issue,
        }))
    }
}

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
    pub(crate) fn decided(self, asked: Option<u64>) -> Option<u64> {
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

/// Sets the faults that the options ask for.
pub(crate) fn wear_out(profile: &mut Profile, options: &DriveOptions) -> Result {
    profile.wear.rated_erases = options.rated_erases.unwrap_or(profile.wear.rated_erases);
    for fault in &options.fault {
        let number = |text: &str| {
            text.parse::<u32>().map_err(|_| {
                CompareError::wrong_use(format!(
                    "--fault {fault}: {text} is no number from 0 to 4294967295"
                ))
            })
        };
        match fault.split_once('=') {
            Some(("program", mean)) => {
                profile.faults.pages_per_program_failure = number(mean)?.into();
            }
            Some(("erase", mean)) => profile.faults.erases_per_failure = number(mean)?.into(),
            Some(("factory", units)) => profile.faults.factory_bad_units = number(units)?,
            None if fault == "worn" && profile.wear.rated_erases == 0 => {
                return Err(CompareError::wrong_use(
                    "--fault worn needs to know when units are worn: add --rated-erases",
                ));
            }
            None if fault == "worn" => profile.wear.retire_at_rating = true,
            _ => {
                return Err(CompareError::wrong_use(format!(
                    "\"{fault}\" is no fault: write program=N, erase=N, factory=N or worn"
                )));
            }
        }
    }
    Ok(())
}

/// A shipped profile by its name, or a TOML file by its path.
pub fn load(name: &str) -> Result<Profile> {
    if let Some(text) = Profile::text(name) {
        return Ok(Profile::parse(name, text)?);
    }
    if !name.ends_with(".toml") && !Path::new(name).exists() {
        return Err(unknown(name));
    }
    let text = settings(Path::new(name))
        .map_err(|error| CompareError::wrong_use(format!("device profile {name}: {error}")))?;
    Ok(Profile::parse(name, &text)?)
}

fn unknown(name: &str) -> CompareError {
    let near = Profile::names()
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(String::new, |(_, known)| {
            format!("did you mean \"{known}\"? ")
        });
    CompareError::wrong_use(format!(
        "no device profile is called \"{name}\" ({near}`anabranch devices` lists them; a file of \
         your own ends in .toml)"
    ))
}

/// Gives the profile another size, with units as they are: as many as the new size and its spare
/// fill.
pub(crate) fn resize(profile: &mut Profile, bytes: u64) {
    profile.geometry.blocks_per_die = None;
    profile.geometry.logical_bytes = Some(bytes);
}

/// The unit of `5MB`, which people write for `5MiB`.
const MEGABYTE: u64 = 1_000_000;

/// Gives the profile another erase unit, striped over as many of the dies as divide it evenly. The
/// size of the drive stays.
pub(crate) fn set_unit(profile: &mut Profile, unit_bytes: u64) -> Result {
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

/// Parses bytes, as in `24MiB`.
pub fn bytes(text: &str) -> Result<u64> {
    text.parse()
        .map(|Bytes(bytes)| bytes)
        .map_err(CompareError::usage)
}

/// Parses a share, as in `7%` or `0.07`.
pub fn share(text: &str) -> Result<f64> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    number
        .parse::<f64>()
        .ok()
        .map(|value| value / scale)
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| CompareError::wrong_use(format!("\"{text}\" is no share: write 7% or 0.07")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_profile_is_told_its_neighbour() {
        let fault = load("pcstream-emulater").unwrap_err();
        assert!(fault.to_string().contains("pcstream-emulator"));
    }

    #[test]
    fn a_share_is_a_number_or_percent_and_nothing_else() {
        assert!((share("7%").unwrap() - 0.07).abs() < 1e-12);
        assert!((share("0.9").unwrap() - 0.9).abs() < 1e-12);
        for wrong in ["7", "-1%", "nan", "", "%", "seven"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
