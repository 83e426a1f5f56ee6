//! The drives that options ask for: one way for replays, sweeps, experiments, served drives, and Python.
//!
//! ```text
//! drives(options, origin):
//!     refuse more combinations than a grid may have                     expand
//!     for each profile (named, else recorded, else the default)         expand
//!     and each combination of the options' values:                      expand
//!         set the values, one by one, then the faults                   spec
//!         set the size: the one asked for, or the trace's               spec -> size
//!         set the unit: the one asked for, or one that fits that size   spec -> size
//!     resolve each to a drive; an error names an option that works      spec -> size
//! grid(options, origin, pages):
//!     the same, for sizes that follow from the pages written            fill
//! ```
//!
//! Each module imports those below it alone: `expand`, then `spec`, then `size`.

mod expand;
mod fill;
mod size;
mod spec;

use std::path::Path;

use anabranch_ssd::Config;
use anabranch_trace::Rate;

pub use self::size::{Size, TraceOrigin};
use self::{
    expand::{bases, check_size, each_value, specs},
    fill::{filled, fitted},
    spec::DriveSpec,
};
use crate::{
    compared_drive::ComparedDrive,
    error::{CompareError, Result},
    options::{DriveOptions, ReplayOptions},
    profiles::{DEFAULT_PROFILE, load},
    recorded::Recorded,
    sampling::Sampling,
};

/// One drive of a question's grid.
#[derive(Debug, Clone)]
pub struct DriveQuery {
    /// The profile and its options, as a person would give them.
    pub label: String,
    /// Name of the profile, or path of its file.
    pub profile: String,
    /// The options of the command that make this drive of the profile.
    pub options: Vec<String>,
    /// The share of the drive that the trace's written pages fill, where addresses are renumbered.
    pub fill: Option<f64>,
    /// Size of a mapped page, by which requests are rounded.
    pub page_bytes: u32,
    /// The drive, or the reason why it is not possible.
    pub drive: Result<ComparedDrive>,
}

impl DriveQuery {
    fn of(spec: &DriveSpec, sampling: Option<Sampling>) -> DriveQuery {
        let words = spec.options.iter().flat_map(|option| option.split(' '));
        DriveQuery {
            label: spec.label(),
            profile: spec.name.clone(),
            options: words.map(str::to_owned).collect(),
            fill: spec.fill,
            page_bytes: spec.page_bytes(),
            drive: spec.resolve(sampling),
        }
    }
}

/// Every drive the options describe.
///
/// # Errors
/// When a drive of the grid is not possible.
pub fn drives(options: &DriveOptions, origin: &TraceOrigin) -> Result<Vec<ComparedDrive>> {
    let specs = specs(options, origin)?;
    specs.iter().map(|spec| spec.resolve(None)).collect()
}

/// The one drive that options describe, in the form that a trace carries. `otherwise` is the
/// message for options that describe several.
///
/// # Errors
/// When the drive is not possible, or there are several.
pub fn one_drive(
    options: &DriveOptions,
    origin: &TraceOrigin,
    otherwise: &str,
) -> Result<(ComparedDrive, Recorded)> {
    match specs(options, origin)?.as_slice() {
        [one] => Ok((one.resolve(None)?, one.recorded()?)),
        _ => Err(CompareError::wrong_use(otherwise)),
    }
}

/// The one drive that options describe for writes of that origin, sampled at `rate`.
///
/// # Errors
/// When the drive is not possible, or its units keep too few pages at that rate.
pub fn one_sampled(
    options: &DriveOptions,
    origin: &TraceOrigin,
    rate: Rate,
) -> Result<ComparedDrive> {
    let specs = specs(options, origin)?;
    let first = specs.first();
    let first = first.ok_or_else(|| CompareError::wrong_use("no drive is described"))?;
    first.resolve(Some(Sampling::Rate(rate)))
}

/// The drives of a question, for a trace of that origin. `pages` counts the pages that the trace ever writes, at a
/// given page size; it is called only where that decides a drive.
///
/// # Errors
/// When an option is wrong by itself, whatever the drive, or when `pages` fails.
pub fn grid(
    options: &ReplayOptions,
    origin: &TraceOrigin,
    pages: &mut dyn FnMut(u32) -> Result<u64>,
) -> Result<Vec<DriveQuery>> {
    let (drive, fills) = (&options.drive, options.fill.len().max(1) as u128);
    check_size(drive.drives().saturating_mul(fills))?;
    let is_free = matches!(origin.size, Size::Footprint) && drive.size.is_none();
    let decided = if !options.fill.is_empty() {
        Some(filled(&options.fill, drive, origin, pages)?)
    } else if is_free {
        fitted(drive, origin, pages)?
    } else {
        None
    };
    // A trace that is too little for a drive of its own is put on the profile's.
    let specs = decided.map_or_else(|| specs(drive, origin), Ok)?;
    let recorded = origin.sampled.map(|sampled| Sampling::Rate(sampled.rate));
    let sampling = options.comparison.sample.or(recorded);
    let queries = specs.iter().map(|spec| DriveQuery::of(spec, sampling));
    Ok(queries.collect())
}

impl TraceOrigin {
    /// Bytes of a page of the drive that is taken where no option names one.
    ///
    /// # Errors
    /// When the default profile cannot be read, which is a defect of this program.
    pub fn page_bytes(&self) -> Result<u32> {
        let bases = bases(&DriveOptions::default(), self)?;
        Ok(bases.first().map_or(4096, DriveSpec::page_bytes))
    }
}

/// The grid of drives that hold the data of a saved drive. Their timing is the profile's.
pub fn aged_drives(
    options: &DriveOptions,
    path: &Path,
    saved: &Config,
) -> Result<Vec<ComparedDrive>> {
    options.check_aged()?;
    check_size(options.drives())?;
    let profile = options.profiles.first();
    let profile = load(profile.map_or(DEFAULT_PROFILE, String::as_str))?;
    let grid = each_value(vec![options.clone()], |one| &mut one.streams);
    let grid = each_value(grid, |one| &mut one.internal_streams);
    let grid = each_value(grid, |one| &mut one.victim);
    let grid = each_value(grid, |one| &mut one.levelling);
    let drive = |one: DriveOptions| {
        let mut config = saved.clone();
        set_first(&mut config.host_streams, &one.streams);
        set_first(&mut config.internal_streams, &one.internal_streams);
        set_first(&mut config.victim_rule, &one.victim);
        set_first(&mut config.wear.levelling, &one.levelling);
        ComparedDrive::new(path.display().to_string(), &profile, config)
    };
    Ok(grid.into_iter().map(drive).collect())
}

fn set_first<T: Copy>(field: &mut T, values: &[T]) {
    *field = values.first().copied().unwrap_or(*field);
}

#[cfg(test)]
mod tests {
    use anabranch_trace::Capture;
    use serde_json::{Value, json};

    use super::*;

    fn options(keys: Value) -> DriveOptions {
        serde_json::from_value(keys).unwrap()
    }

    fn alone(keys: Value) -> Result<Vec<ComparedDrive>> {
        drives(&options(keys), &TraceOrigin::default())
    }

    fn captured(bytes: u64) -> TraceOrigin {
        TraceOrigin {
            size: Size::Captured(bytes),
            ..TraceOrigin::default()
        }
    }

    #[test]
    fn the_demo_drive_has_the_size_and_spare_of_the_demo() {
        let config = &alone(json!({})).unwrap()[0].config;
        assert_eq!(config.logical_bytes(), 1250 << 20);
        assert_eq!(config.unit_bytes(), 24 << 20);
        assert_eq!(config.physical_units, 56);
    }

    #[test]
    fn comma_lists_multiply_into_a_grid() {
        let options = options(json!({ "streams": [2, 4], "unit": ["4MiB", "8MiB", "16 MiB"] }));
        let grid = drives(&options, &captured(1 << 30)).unwrap();
        let configs = || grid.iter().map(|drive| &drive.config);
        assert!(configs().all(|config| config.logical_bytes() == 1 << 30));
        let shapes = configs().map(|config| (config.host_streams, config.unit_bytes() >> 20));
        let expected = [(2, 4), (2, 8), (2, 16), (4, 4), (4, 8), (4, 16)];
        assert_eq!(shapes.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_drive_that_cannot_be_is_told_with_its_options_and_such_as_work() {
        let refused = |keys| alone(keys).unwrap_err().to_string();
        let small = refused(json!({ "size": "32MiB" }));
        assert!(
            small.starts_with("demo --size 32MiB: 2 erase units"),
            "{small}"
        );
        let after = small.split("--unit ").nth(1).unwrap();
        let works = after.split(' ').next().unwrap();
        alone(json!({ "size": "32MiB", "unit": works })).unwrap();
        assert!(refused(json!({ "size": "12" })).contains("less than a page of 4096; "));
        // Of the second its spare alone is too much.
        for size in ["64TiB", "15900GiB"] {
            let large = refused(json!({ "size": size }));
            assert!(large.contains("than the 2^32 pages of 4KiB"), "{large}");
            assert!(large.ends_with("; --size 8TiB works"), "{large}");
        }
        let odd = refused(json!({ "size": "1GiB", "unit": "5000" }));
        assert!(odd.contains("demo --size 1GiB --unit 5000"), "{odd}");
    }

    #[test]
    fn a_drive_whose_size_the_trace_decides_has_smaller_units_where_its_own_would_be_too_few() {
        let unit = |keys, bytes| {
            let found = drives(&options(keys), &captured(bytes));
            found.map(|drives| drives[0].config.unit_bytes())
        };
        assert_eq!(unit(json!({}), 1250 << 20).unwrap(), 24 << 20);
        assert_eq!(unit(json!({}), 256 << 20).unwrap(), 3 << 20);
        let fill = ReplayOptions {
            fill: vec!["90%".to_owned()],
            ..ReplayOptions::default()
        };
        let few = grid(&fill, &captured(1250 << 20), &mut |_| Ok(5_000)).unwrap();
        assert_eq!(few[0].options, ["--fill", "90%", "--unit", "384KiB"]);
        // A profile by name is scaled: as many units for its size as it has.
        let scaled = unit(json!({ "device": "demo" }), 125 << 20).unwrap() as f64;
        assert!(
            (scaled / (2.4 * f64::from(1 << 20)) - 1.0).abs() < 0.01,
            "{scaled}"
        );
        // What was asked for is not changed.
        let refused = |asked| unit(asked, 256 << 20).unwrap_err().to_string();
        let large = refused(json!({ "unit": "24MiB" }));
        assert!(
            large.contains("erase units are too few") && large.contains("a drive of 256MiB"),
            "{large}"
        );
        // A command that answers, and no larger size, which the recording would leave empty.
        let helps = "Leave out --unit 24MiB and add --fill 90%";
        assert!(
            large.contains(helps) && !large.contains("--size"),
            "{large}"
        );
        let small = refused(json!({ "size": "256MiB" }));
        assert!(
            small.contains("erase units are too few") && !small.contains("--fill"),
            "{small}"
        );
    }

    #[test]
    fn what_a_trace_carries_is_the_drive_to_the_last_unit() {
        let asked = options(json!({ "device": "golden", "streams": 3 }));
        let (drive, recorded) = one_drive(&asked, &TraceOrigin::default(), "one").unwrap();
        let mut capture = Capture {
            device_bytes: drive.config.logical_bytes(),
            drive: Some(recorded.to_json()),
            ..Capture::default()
        };
        let nothing = DriveOptions::default();
        let origin = TraceOrigin::of(&capture, &nothing).unwrap();
        let again = drives(&nothing, &origin).unwrap();
        assert_eq!(again[0].config, drive.config);
        assert_eq!(again[0].profile, "golden");
        // A named device is another drive; what it tells in words of tomorrow is refused.
        let named = options(json!({ "device": "demo" }));
        capture.drive = Some(json!({ "version": 2 }));
        let origin = TraceOrigin::of(&capture, &named).unwrap();
        let logical_pages = drives(&named, &origin).unwrap()[0].config.logical_pages;
        assert_eq!(logical_pages, 1 << 20);
        let fault = TraceOrigin::of(&capture, &nothing).unwrap_err().to_string();
        assert!(fault.contains("version 2") && fault.contains("--device"));
    }

    #[test]
    fn a_fault_is_one_of_four_and_carries_a_number() {
        let spare = alone(json!({ "fault": ["program=1000", "factory=1"] }));
        assert!(
            spare.is_err_and(|fault| fault.kind == crate::CompareErrorKind::WrongUse),
            "56 units have none to spare"
        );
        for wrong in "program,program=,erase=x,worn,,factory=-1,rust=3".split(',') {
            assert!(alone(json!({ "fault": wrong })).is_err(), "{wrong}");
        }
    }
}
