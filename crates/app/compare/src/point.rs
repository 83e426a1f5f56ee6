//! One drive of a grid: a profile, changed by options, and every combination of them.

use anabranch_placement::Bytes;
use anabranch_replay::WholeDrive;
use anabranch_ssd::{ConfigError, profile::Profile};
use anabranch_trace::Rate;
use serde::Serialize;
use serde_json::Value;

use crate::{
    drives::{
        ComparedDrive, DEFAULT_PROFILE, Size, TraceOrigin, bytes, load, resize, set_unit, share,
        wear_out,
    },
    error::{CompareError, Result},
    options::DriveOptions,
    recorded::Recorded,
    sampling::{Sampling, Thinned, check, coarsest},
};

/// The most drives of a grid (our choice: a hundred times what was ever compared on one trace).
const MOST_DRIVES: u128 = 100_000;

/// Refuses a grid that is too large, before it is made.
pub(crate) fn check_size(drives: u128) -> Result {
    if drives <= MOST_DRIVES {
        Ok(())
    } else {
        Err(CompareError::wrong_use(format!(
            "the lists multiply to {drives} drives, and a grid may have {MOST_DRIVES}: give fewer values, or several \
         grids"
        )))
    }
}

/// One drive of a grid: a profile with its options.
#[derive(Debug, Clone)]
pub(crate) struct DriveSpec {
    pub(crate) name: String,
    /// The options, as a person would give them.
    pub(crate) options: Vec<String>,
    pub(crate) profile: Result<Profile>,
    /// The drive that it stands for, where it is scaled.
    pub(crate) scaled: Option<WholeDrive>,
}

impl DriveSpec {
    /// Bytes of a page of the drive.
    pub(crate) fn page_bytes(&self) -> u32 {
        let geometry = self.profile.as_ref().map(|profile| &profile.geometry);
        geometry.map_or(4096, |geometry| geometry.page_bytes)
    }

    /// The profile and its options, for messages.
    pub(crate) fn label(&self) -> String {
        let options = self.options.iter().map(|option| format!(" {option}"));
        format!("{}{}", self.name, options.collect::<String>())
    }

    /// Resolves the drive. If it is not possible, the error names its options, and one that works.
    pub(crate) fn resolve(&self) -> Result<ComparedDrive> {
        self.resolve_at(Rate::WHOLE)
    }

    /// The drive as it is sampled; `auto` begins with the coarsest rate.
    pub(crate) fn sampled(&self, sampling: Option<Sampling>) -> Result<ComparedDrive> {
        let profile = self.profile.clone()?;
        let rate = match sampling {
            None => return self.resolve(),
            Some(Sampling::Auto) => coarsest(&profile),
            Some(Sampling::Rate(rate)) => rate,
        };
        check(&profile, rate)?;
        Ok(ComparedDrive {
            thinned: Some(Thinned {
                rate,
                logical_pages: profile.logical_pages(),
            }),
            ..self.resolve_at(rate)?
        })
    }

    fn resolve_at(&self, rate: Rate) -> Result<ComparedDrive> {
        let profile = self.profile.clone()?;
        let resolved = profile.resolve_sampled(&self.name, rate.pages());
        let config = resolved.map_err(|error| {
            let label = self.label();
            match error {
                ConfigError::TooFewUnits { .. } => {
                    CompareError::wrong_use(format!("{label}: {error}{}", works(&profile)))
                }
                ConfigError::Zero("logical_pages") => CompareError::wrong_use(format!(
                    "{label}: a drive of {} bytes is less than a page of {}{}",
                    profile.logical_bytes(),
                    profile.geometry.page_bytes,
                    works(&profile)
                )),
                ConfigError::Zero("host_streams") => CompareError::wrong_use(format!(
                    "{label}: a drive has the default stream at least: --streams 1 is one without placement"
                )),
                ConfigError::TooManyPages(_) => CompareError::wrong_use(format!(
                    "{label}: {} and their spare have more than the 2^32 pages of {} that a drive can have{}",
                    Bytes(profile.logical_bytes()),
                    Bytes(u64::from(profile.geometry.page_bytes) * u64::from(rate.pages())),
                    works(&profile)
                )),
                other => CompareError::wrong_use(format!("{label}: {other}")),
            }
        })?;
        Ok(ComparedDrive {
            profile: self.name.clone(),
            over_provisioning: profile.geometry.over_provisioning,
            config,
            timing: profile.timing,
            layout: profile.layout(),
            thinned: None,
            scaled: self.scaled,
        })
    }

    /// The drive in the form that a trace carries.
    pub(crate) fn recorded(&self) -> Result<Recorded> {
        Ok(Recorded {
            device: self.name.clone(),
            profile: self.profile.clone()?,
        })
    }

    /// The same drive with smaller erase units, so that it has at least `least_units`; `None` if it cannot have them.
    pub(crate) fn with_units(&self, least_units: u32) -> Option<DriveSpec> {
        let own_bytes = self.profile.as_ref().ok()?.unit_bytes();
        let smaller = |bytes: u64| {
            let mut point = self.clone();
            if bytes < own_bytes {
                let shown = Bytes(bytes).to_string();
                point.set("--unit", &shown, |profile| set_unit(profile, bytes));
            }
            point
        };
        let is_enough = |point: &DriveSpec| {
            let drive = point.resolve();
            drive.is_ok_and(|drive| drive.config.physical_units >= least_units)
        };
        let halves = std::iter::successors(Some(own_bytes), |bytes| Some(bytes / 2));
        let halves = halves.take_while(|bytes| *bytes >= LEAST_UNIT_BYTES);
        halves.map(smaller).find(is_enough)
    }

    /// The same drive, in smaller erase units where its own are so large that it is not possible.
    fn with_enough_units(self) -> DriveSpec {
        match self.resolve() {
            Ok(_) => self,
            Err(_) => self.with_units(LEAST_UNITS).unwrap_or(self),
        }
    }

    /// The same drive scaled: where its erase units would be too few, they shrink as the drive has shrunk from `whole`,
    /// so that it has as many for its capacity.
    fn scaled_from(mut self, whole: &Profile) -> DriveSpec {
        let is_enough = |drive: ComparedDrive| drive.config.physical_units >= LEAST_UNITS;
        if self.resolve().is_ok_and(is_enough) {
            return self;
        }
        let Ok(own) = &mut self.profile else {
            return self;
        };
        let stands_for = WholeDrive {
            logical_bytes: whole.logical_bytes(),
            unit_bytes: whole.unit_bytes(),
        };
        let page = u64::from(own.geometry.page_bytes).max(1);
        let share = own.logical_bytes() as f64 / stands_for.logical_bytes.max(1) as f64;
        let pages = (stands_for.unit_bytes as f64 * share / page as f64).round() as u64;
        let unit_bytes = pages.max(LEAST_UNIT_BYTES.div_ceil(page)) * page;
        let is_smaller = own.logical_bytes() < stands_for.logical_bytes;
        if is_smaller && unit_bytes < own.unit_bytes() && set_unit(own, unit_bytes).is_ok() {
            self.scaled = Some(stands_for);
        }
        self
    }

    /// Sets the drive's size: the one asked for, unless the origin decides another.
    fn size(&mut self, known: Size, asked: Option<u64>) {
        match (known.decided(asked), asked) {
            (Some(bytes), _) => {
                if let Ok(profile) = &mut self.profile {
                    resize(profile, bytes);
                }
            }
            (None, Some(bytes)) => self.set("--size", &Bytes(bytes).to_string(), |profile| {
                resize(profile, bytes);
                Ok(())
            }),
            (None, None) => {}
        }
    }

    fn set(&mut self, option: &str, value: &str, set: impl FnOnce(&mut Profile) -> Result) {
        self.options.push(format!("{option} {value}"));
        let set = self.profile.as_mut().map(set);
        if let Ok(Err(fault)) = set {
            self.profile = Err(CompareError::wrong_use(format!(
                "{}: {fault}",
                self.label()
            )));
        }
    }
}

/// The fewest erase units of a drive whose unit nobody asked for, where units are made smaller (our choice: as many as
/// `demo` has).
pub(crate) const LEAST_UNITS: u32 = 56;
/// The smallest erase unit that is tried where none is asked for (our choice: 16 pages).
const LEAST_UNIT_BYTES: u64 = 64 << 10;

/// An erase unit and a size with which a drive of the profile is possible, for the message to someone who asked for one
/// that is not.
fn works(profile: &Profile) -> String {
    let is_drive = |changed: &Profile| changed.resolve("").is_ok();
    let units = std::iter::successors(Some(profile.unit_bytes() / 2), |bytes| Some(bytes / 2));
    let unit = units
        .take_while(|bytes| *bytes >= LEAST_UNIT_BYTES)
        .find(|&bytes| {
            let mut smaller = profile.clone();
            set_unit(&mut smaller, bytes).is_ok() && is_drive(&smaller)
        });
    let resized = |&bytes: &u64| {
        let mut other = profile.clone();
        resize(&mut other, bytes);
        is_drive(&other)
    };
    let sizes = || (20..48).map(|shift| 1_u64 << shift);
    // The next larger, or else the next smaller.
    let size = sizes()
        .filter(|bytes| *bytes > profile.logical_bytes())
        .find(resized);
    let size = size.or_else(|| sizes().rev().find(resized));
    let unit = unit.map(|bytes| format!("--unit {}", Bytes(bytes)));
    let size = size.map(|bytes| format!("--size {}", Bytes(bytes)));
    match (unit, size) {
        (None, None) => String::new(),
        (Some(one), None) | (None, Some(one)) => format!("; {one} works"),
        (Some(unit), Some(size)) => format!("; {unit} works, and {size}"),
    }
}

/// Every drive that the options describe.
///
/// # Errors
/// When a profile or a value is wrong by itself.
pub(crate) fn points(options: &DriveOptions, origin: &TraceOrigin) -> Result<Vec<DriveSpec>> {
    check_size(options.drives())?;
    bases(options, origin)?
        .into_iter()
        .try_fold(Vec::new(), |mut all, base| {
            all.extend(varied(base, options, origin.size)?);
            Ok(all)
        })
}

/// The profiles that the options are applied to.
pub(crate) fn bases(options: &DriveOptions, origin: &TraceOrigin) -> Result<Vec<DriveSpec>> {
    let point = |name: &str, profile| DriveSpec {
        name: name.to_owned(),
        options: Vec::new(),
        profile: Ok(profile),
        scaled: None,
    };
    match (&origin.recorded, options.profiles.as_slice()) {
        (Some(recorded), []) => Ok(vec![point(&recorded.device, recorded.profile.clone())]),
        (None, []) => Ok(vec![point(DEFAULT_PROFILE, load(DEFAULT_PROFILE)?)]),
        (_, names) => names
            .iter()
            .map(|name| Ok(point(name, load(name)?)))
            .collect(),
    }
}

/// A profile with every combination of the options.
pub(crate) fn varied(
    base: DriveSpec,
    options: &DriveOptions,
    size: Size,
) -> Result<Vec<DriveSpec>> {
    check_texts(options)?;
    let asked = options.size.as_deref().map(bytes).transpose()?;
    let whole = base.profile.clone();
    let mut grid = vec![base];
    multiply(
        &mut grid,
        "--over-provisioning",
        &options.over_provisioning,
        |profile, text| {
            profile.geometry.over_provisioning = share(text)?;
            Ok(())
        },
    );
    multiply(&mut grid, "--victim", &options.victim, |profile, rule| {
        profile.gc.victim = *rule;
        Ok(())
    });
    multiply(
        &mut grid,
        "--streams",
        &options.streams,
        |profile, streams| {
            profile.streams.host = *streams;
            Ok(())
        },
    );
    multiply(
        &mut grid,
        "--internal-streams",
        &options.internal_streams,
        |profile, streams| {
            profile.streams.internal = *streams;
            Ok(())
        },
    );
    multiply(
        &mut grid,
        "--levelling",
        &options.levelling,
        |profile, rule| {
            profile.wear.levelling = *rule;
            Ok(())
        },
    );
    for point in &mut grid {
        if let Ok(profile) = &mut point.profile {
            wear_out(profile, options)?;
        }
        point.size(size, asked);
    }
    multiply(&mut grid, "--unit", &options.unit, |profile, text| {
        set_unit(profile, bytes(text)?)
    });
    if size.decided(asked).is_none() || !options.unit.is_empty() {
        return Ok(grid);
    }
    let scaled_from = whole.ok().filter(|_| !options.profiles.is_empty());
    Ok(with_fitting_units(grid, scaled_from.as_ref()))
}

/// Refuses values that are invalid on every drive, before any is made.
fn check_texts(options: &DriveOptions) -> Result {
    for text in &options.over_provisioning {
        share(text)?;
    }
    for text in &options.unit {
        bytes(text)?;
    }
    Ok(())
}

/// Drives whose size the trace decides, with units that fit it: a named profile's in proportion, others' by halves.
fn with_fitting_units(grid: Vec<DriveSpec>, scaled_from: Option<&Profile>) -> Vec<DriveSpec> {
    let grid = grid.into_iter();
    match scaled_from {
        Some(whole) => grid.map(|point| point.scaled_from(whole)).collect(),
        None => grid.map(DriveSpec::with_enough_units).collect(),
    }
}

fn multiply<T: Serialize>(
    grid: &mut Vec<DriveSpec>,
    option: &str,
    values: &[T],
    set: impl Fn(&mut Profile, &T) -> Result,
) {
    if values.is_empty() {
        return;
    }
    let mut product = Vec::with_capacity(grid.len() * values.len());
    for point in grid.iter() {
        for value in values {
            let mut changed = point.clone();
            changed.set(option, &shown(value), |profile| set(profile, value));
            product.push(changed);
        }
    }
    *grid = product;
}

/// A value in the form that a person would give it.
fn shown(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
