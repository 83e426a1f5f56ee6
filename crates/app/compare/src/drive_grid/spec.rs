//! One drive of a grid: a profile with its options.

use anabranch_placement::Bytes;
use anabranch_replay::WholeDrive;
use anabranch_ssd::{ConfigError, profile::Profile};
use serde::Serialize;
use serde_json::Value;

use super::size::{Size, fitting_unit, possible_size, possible_unit, resize, scale_unit, set_unit};
use crate::{
    compared_drive::ComparedDrive,
    error::{CompareError, Result},
    options::DriveOptions,
    recorded::Recorded,
    sampling::{Sampling, Thinned, check, coarsest},
    texts::{bytes, share},
};

/// One drive of a grid: a profile with its options.
#[derive(Debug, Clone)]
pub(super) struct DriveSpec {
    pub(super) name: String,
    /// The options, as a person would give them.
    pub(super) options: Vec<String>,
    pub(super) profile: Result<Profile>,
    /// The share of it that the trace's written pages fill, where addresses are renumbered.
    pub(super) fill: Option<f64>,
    /// The drive that it stands for, where it is scaled.
    scaled: Option<WholeDrive>,
    /// Whether it is as large as the device that was recorded.
    is_as_recorded: bool,
}

impl DriveSpec {
    /// The profile of that name, without options.
    pub(super) fn new(name: &str, profile: Profile) -> DriveSpec {
        DriveSpec {
            name: name.to_owned(),
            options: Vec::new(),
            profile: Ok(profile),
            fill: None,
            scaled: None,
            is_as_recorded: false,
        }
    }

    /// Bytes of a page of the drive.
    pub(super) fn page_bytes(&self) -> u32 {
        let geometry = self.profile.as_ref().map(|profile| &profile.geometry);
        geometry.map_or(4096, |geometry| geometry.page_bytes)
    }

    /// The profile and its options, for messages.
    pub(super) fn label(&self) -> String {
        let options = self.options.iter().map(|option| format!(" {option}"));
        format!("{}{}", self.name, options.collect::<String>())
    }

    /// Applies options of one value each to the profile, for a trace that gives the drive this size.
    ///
    /// # Errors
    /// When a value is wrong on every drive.
    pub(super) fn with(mut self, options: &DriveOptions, size: Size) -> Result<DriveSpec> {
        // A profile by name is scaled as it is; the units of others are halved.
        let whole = self.profile.clone().ok();
        let whole = whole.filter(|_| !options.profiles.is_empty());
        let asked = options.size.as_deref().map(bytes).transpose()?;
        if let Some(text) = options.over_provisioning.first() {
            let share = share(text)?;
            self.set("--over-provisioning", text, |profile| {
                profile.geometry.over_provisioning = share;
            });
        }
        if let Some(rule) = options.victim.first() {
            self.set("--victim", rule, |profile| profile.gc.victim = *rule);
        }
        if let Some(count) = options.streams.first() {
            self.set("--streams", count, |profile| profile.streams.host = *count);
        }
        if let Some(count) = options.internal_streams.first() {
            self.set("--internal-streams", count, |profile| {
                profile.streams.internal = *count;
            });
        }
        if let Some(rule) = options.levelling.first() {
            self.set("--levelling", rule, |profile| {
                profile.wear.levelling = *rule
            });
        }
        if let Ok(profile) = &mut self.profile {
            set_faults(profile, options)?;
        }
        let decided = size.decided(asked);
        self.is_as_recorded = decided.is_some() && matches!(size, Size::Captured(_));
        self.set_size(decided, asked);
        match options.unit.first() {
            Some(text) => self.set_unit(text, bytes(text)?),
            None if decided.is_some() => self.fit_units(whole.as_ref()),
            // A drive of a size that was asked for keeps its units, even if none is possible with them.
            None => {}
        }
        Ok(self)
    }

    fn set(&mut self, option: &str, value: &impl Serialize, set: impl FnOnce(&mut Profile)) {
        self.options.push(format!("{option} {}", shown(value)));
        if let Ok(profile) = &mut self.profile {
            set(profile);
        }
    }

    /// Makes the drive impossible, for a reason that follows its label.
    pub(super) fn refuse(&mut self, reason: impl std::fmt::Display) {
        let message = format!("{}: {reason}", self.label());
        self.profile = Err(CompareError::wrong_use(message));
    }

    /// Sets the drive's size: the one that the trace decides, else the one asked for.
    fn set_size(&mut self, decided: Option<u64>, asked: Option<u64>) {
        match (decided, asked, &mut self.profile) {
            (Some(bytes), _, Ok(profile)) => resize(profile, bytes),
            (None, Some(bytes), _) => self.set("--size", &Bytes(bytes).to_string(), |profile| {
                resize(profile, bytes);
            }),
            _ => {}
        }
    }

    fn set_unit(&mut self, text: &str, bytes: u64) {
        self.options.push(format!("--unit {text}"));
        if let Ok(profile) = &mut self.profile
            && let Err(fault) = set_unit(profile, bytes)
        {
            self.refuse(fault);
        }
    }

    /// Gives the drive units that fit the size that the trace decides: in proportion to `whole` where that is given, by
    /// halves where it is not and the drive is not possible.
    fn fit_units(&mut self, whole: Option<&Profile>) {
        match (&mut self.profile, whole) {
            (Ok(profile), Some(whole)) => self.scaled = scale_unit(profile, whole),
            (Ok(profile), None) if profile.resolve("").is_err() => {
                self.shrink_units();
            }
            _ => {}
        }
    }

    /// Halves the drive's erase units until they are enough; `false` where they cannot be.
    pub(super) fn shrink_units(&mut self) -> bool {
        let Ok(profile) = &self.profile else {
            return false;
        };
        let (own_bytes, fitting) = (profile.unit_bytes(), fitting_unit(profile));
        if let Some(bytes) = fitting.filter(|bytes| *bytes < own_bytes) {
            self.set_unit(&Bytes(bytes).to_string(), bytes);
        }
        fitting.is_some()
    }

    /// Resolves the drive, whole or as it is sampled; `auto` begins with the coarsest rate.
    ///
    /// # Errors
    /// When it is not possible. The message names its options, and one that works.
    pub(super) fn resolve(&self, sampling: Option<Sampling>) -> Result<ComparedDrive> {
        let profile = self.profile.as_ref().map_err(Clone::clone)?;
        let rate = sampling.map(|sampling| match sampling {
            Sampling::Auto => coarsest(profile),
            Sampling::Rate(rate) => rate,
        });
        if let Some(rate) = rate {
            check(profile, rate)?;
        }
        let one_of = rate.map_or(1, |rate| rate.pages());
        let config = profile.resolve_sampled(&self.name, one_of);
        let config = config.map_err(|error| self.impossible(&error, profile, one_of))?;
        Ok(ComparedDrive {
            thinned: rate.map(|rate| Thinned {
                rate,
                logical_pages: profile.logical_pages(),
            }),
            scaled: self.scaled,
            ..ComparedDrive::new(self.name.clone(), profile, config)
        })
    }

    /// The error for a drive whose configuration is not possible.
    fn impossible(&self, error: &ConfigError, profile: &Profile, one_of: u32) -> CompareError {
        let page_bytes = profile.geometry.page_bytes;
        let reason = match error {
            ConfigError::TooFewUnits { .. } if self.is_as_recorded => self.smaller(error, profile),
            ConfigError::TooFewUnits { .. } => format!("{error}{}", works(profile)),
            ConfigError::Zero("logical_pages") => format!(
                "a drive of {} bytes is less than a page of {page_bytes}{}",
                profile.logical_bytes(),
                works(profile)
            ),
            ConfigError::Zero("host_streams") => {
                "a drive has the default stream at least: --streams 1 is one without placement"
                    .to_owned()
            }
            ConfigError::TooManyPages(_) => format!(
                "{} and their spare have more than the 2^32 pages of {} that a drive can have{}",
                Bytes(profile.logical_bytes()),
                Bytes(u64::from(page_bytes) * u64::from(one_of)),
                works(profile)
            ),
            other => other.to_string(),
        };
        CompareError::wrong_use(format!("{}: {reason}", self.label()))
    }

    /// The reason that there is no answer for units of a large drive, where the recording is of a small one, and the options
    /// that have one. No larger size is among them: the same writes would leave it empty.
    fn smaller(&self, error: &ConfigError, profile: &Profile) -> String {
        let unit = Bytes(profile.unit_bytes());
        let works = possible_unit(profile).map_or_else(String::new, |bytes| {
            format!("; --unit {} works on the recording's own", Bytes(bytes))
        });
        format!(
            "no answer for units of {unit}, since the recording is of a drive of {}: {error}. Leave out --unit {unit} and \
             add --fill 90%, for a drive that the recording fills, with units in proportion{works}",
            Bytes(profile.logical_bytes())
        )
    }

    /// The drive in the form that a trace carries.
    pub(super) fn recorded(&self) -> Result<Recorded> {
        Ok(Recorded {
            device: self.name.clone(),
            profile: self.profile.clone()?,
        })
    }
}

/// A value in the form that a person would give it.
fn shown(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// Sets the faults that the options ask for, and the erases that units are rated for.
fn set_faults(profile: &mut Profile, options: &DriveOptions) -> Result {
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

/// An erase unit and a size with which a drive of the profile is possible, for the message to someone who asked for one
/// that is not.
fn works(profile: &Profile) -> String {
    let unit = possible_unit(profile).map(|bytes| format!("--unit {}", Bytes(bytes)));
    let size = possible_size(profile).map(|bytes| format!("--size {}", Bytes(bytes)));
    match (unit, size) {
        (None, None) => String::new(),
        (Some(one), None) | (None, Some(one)) => format!("; {one} works"),
        (Some(unit), Some(size)) => format!("; {unit} works, and {size}"),
    }
}
