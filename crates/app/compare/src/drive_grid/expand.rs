//! Options as drives: every combination of their values, on every profile.

use super::{
    size::{Size, TraceOrigin},
    spec::DriveSpec,
};
use crate::{
    error::{CompareError, Result},
    options::DriveOptions,
    profiles::{DEFAULT_PROFILE, load},
    texts::{bytes, share},
};

/// The most drives of a grid (our choice: a hundred times what was ever compared on one trace).
const MOST_DRIVES: u128 = 100_000;

/// Refuses a grid that is too large, before it is made.
pub(super) fn check_size(drives: u128) -> Result {
    if drives <= MOST_DRIVES {
        Ok(())
    } else {
        Err(CompareError::wrong_use(format!(
            "the lists multiply to {drives} drives, and a grid may have {MOST_DRIVES}: give fewer values, or several \
             grids"
        )))
    }
}

/// Every drive that the options describe.
///
/// # Errors
/// When a profile or a value is wrong by itself.
pub(super) fn specs(options: &DriveOptions, origin: &TraceOrigin) -> Result<Vec<DriveSpec>> {
    check_size(options.drives())?;
    let mut all = Vec::new();
    for base in bases(options, origin)? {
        all.extend(varied(&base, options, origin.size)?);
    }
    Ok(all)
}

/// The profiles that the options are applied to.
pub(super) fn bases(options: &DriveOptions, origin: &TraceOrigin) -> Result<Vec<DriveSpec>> {
    let named = |name: &str| Ok(DriveSpec::new(name, load(name)?));
    match (&origin.recorded, options.profiles.as_slice()) {
        (Some(recorded), []) => {
            let profile = recorded.profile.clone();
            Ok(vec![DriveSpec::new(&recorded.device, profile)])
        }
        (None, []) => Ok(vec![named(DEFAULT_PROFILE)?]),
        (_, names) => names.iter().map(|name| named(name)).collect(),
    }
}

/// A profile with every combination of the options.
pub(super) fn varied(
    base: &DriveSpec,
    options: &DriveOptions,
    size: Size,
) -> Result<Vec<DriveSpec>> {
    // A value that is wrong on every drive is reported before any drive is made.
    for text in &options.over_provisioning {
        share(text)?;
    }
    for text in &options.unit {
        bytes(text)?;
    }
    let each = combinations(options).into_iter();
    each.map(|one| base.clone().with(&one, size)).collect()
}

/// Every combination of the options' values: options of one value each, where there is any.
fn combinations(options: &DriveOptions) -> Vec<DriveOptions> {
    let all = vec![options.clone()];
    let all = each_value(all, |one| &mut one.over_provisioning);
    let all = each_value(all, |one| &mut one.victim);
    let all = each_value(all, |one| &mut one.streams);
    let all = each_value(all, |one| &mut one.internal_streams);
    let all = each_value(all, |one| &mut one.levelling);
    each_value(all, |one| &mut one.unit)
}

/// Splits options at a list, into options for each of its values; they stay as they are where it is empty.
pub(super) fn each_value<T: Clone>(
    all: Vec<DriveOptions>,
    list: impl Fn(&mut DriveOptions) -> &mut Vec<T>,
) -> Vec<DriveOptions> {
    let mut split = Vec::new();
    for mut options in all {
        let values = list(&mut options).clone();
        if values.is_empty() {
            split.push(options);
            continue;
        }
        for value in values {
            *list(&mut options) = vec![value];
            split.push(options.clone());
        }
    }
    split
}
