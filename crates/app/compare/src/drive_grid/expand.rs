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
    let all = product(all, &options.over_provisioning, |one, share| {
        one.over_provisioning = vec![share.clone()];
    });
    let all = product(all, &options.victim, |one, rule| one.victim = vec![*rule]);
    let all = product(all, &options.streams, |one, number| {
        one.streams = vec![*number];
    });
    let all = product(all, &options.internal_streams, |one, number| {
        one.internal_streams = vec![*number];
    });
    let all = product(all, &options.levelling, |one, rule| {
        one.levelling = vec![*rule];
    });
    product(all, &options.unit, |one, bytes| {
        one.unit = vec![bytes.clone()];
    })
}

/// Every item with every value; the items as they are where there is no value.
pub(super) fn product<I: Clone, V>(
    items: Vec<I>,
    values: &[V],
    set: impl Fn(&mut I, &V),
) -> Vec<I> {
    if values.is_empty() {
        return items;
    }
    let mut product = Vec::with_capacity(items.len() * values.len());
    for item in &items {
        for value in values {
            let mut changed = item.clone();
            set(&mut changed, value);
            product.push(changed);
        }
    }
    product
}
