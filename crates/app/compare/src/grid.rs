//! The drives of a question: profiles, changed by options, multiplied into a grid. One for replays,
//! sweeps, experiments, what is served, and Python.

use std::path::Path;

use anabranch_ssd::Config;
use anabranch_trace::Rate;

use crate::{
    drives::{ComparedDrive, DEFAULT_PROFILE, Size, TraceOrigin, load, share},
    error::{CompareError, Result},
    options::{DriveOptions, ReplayOptions},
    point::{DriveSpec, LEAST_UNITS, bases, check_size, points, varied},
    recorded::Recorded,
    sampling::Sampling,
};

/// The share of the drive that is filled by a trace which does not tell its device's size, unless an option does (our
/// choice: full enough that garbage is collected).
const FILL: &str = "90%";
/// The share of a profile's drive below which a trace that does not tell its device's size has it scaled (our choice: a
/// drive that was never fuller gives no answer).
const FULL: f64 = 0.75;

/// One drive of a question's grid.
#[derive(Debug, Clone)]
pub struct DriveQuery {
    /// The profile and its options, as a person would give them.
    pub label: String,
    /// The profile.
    pub profile: String,
    /// The options of the command that make this drive of the profile.
    pub options: Vec<String>,
    /// The share of the drive that the trace's written pages fill, where addresses are renumbered.
    pub fill: Option<f64>,
    /// Bytes of its pages.
    pub page_bytes: u32,
    /// The drive, or the reason why it is not possible.
    pub drive: Result<ComparedDrive>,
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
    let drive = &options.drive;
    let recorded = origin.sampled.map(|sampled| Sampling::Rate(sampled.rate));
    let sampling = options.comparison.sample.or(recorded);
    check_size(
        drive
            .drives()
            .saturating_mul(options.fill.len().max(1) as u128),
    )?;
    let mut all = Vec::new();
    for text in &options.fill {
        for base in bases(drive, origin)? {
            let fill = Some(share_of(text)?);
            let points = filled(base, drive, text, pages)?;
            all.extend(points.iter().map(|point| point.asked(fill, sampling)));
        }
    }
    if !options.fill.is_empty() {
        return Ok(all);
    }
    if matches!(origin.size, Size::Footprint) && drive.size.is_none() {
        let fill = Some(share_of(FILL)?);
        let is_named = !drive.profiles.is_empty();
        let mut followed = Vec::new();
        for base in bases(drive, origin)? {
            // A profile that the trace fills is taken as it is.
            if is_named && !is_far_larger(&base, pages)? {
                let points = varied(base, drive, origin.size)?;
                followed.extend(points.into_iter().map(|point| (None, point)));
            } else {
                let points = filled(base, drive, FILL, pages)?;
                followed.extend(points.into_iter().map(|point| (fill, point)));
            }
        }
        let units = |(fill, point): (Option<f64>, DriveSpec)| {
            if drive.unit.is_empty() && !is_named {
                Some((fill, point.with_units(LEAST_UNITS)?))
            } else {
                Some((fill, point))
            }
        };
        // What is too little for a drive of its own is put on the profile's.
        if let Some(points) = followed
            .into_iter()
            .map(units)
            .collect::<Option<Vec<(Option<f64>, DriveSpec)>>>()
        {
            let asked = points.iter();
            let asked = asked.map(|(fill, point)| point.asked(*fill, sampling));
            return Ok(asked.collect());
        }
    }
    let points = points(drive, origin)?;
    let asked = points.iter().map(|point| point.asked(None, sampling));
    Ok(asked.collect())
}

/// Whether a trace's pages leave a profile's drive so empty that no replay on it could answer.
fn is_far_larger(base: &DriveSpec, pages: &mut dyn FnMut(u32) -> Result<u64>) -> Result<bool> {
    let Ok(profile) = &base.profile else {
        return Ok(false);
    };
    let written = pages(base.page_bytes())?;
    Ok(written > 0 && (written as f64) < FULL * profile.logical_pages() as f64)
}

/// Parses a share of `--fill`.
fn share_of(text: &str) -> Result<f64> {
    match share(text)? {
        0.0 => Err(CompareError::wrong_use(
            "--fill 0% asks for an endless drive: give a share above 0",
        )),
        share => Ok(share),
    }
}

/// Drives just large enough that the pages a trace ever writes fill a share of them.
fn filled(
    mut base: DriveSpec,
    options: &DriveOptions,
    text: &str,
    pages: &mut dyn FnMut(u32) -> Result<u64>,
) -> Result<Vec<DriveSpec>> {
    let page_bytes = base.page_bytes();
    let written = pages(page_bytes)?;
    base.options.push(format!("--fill {text}"));
    if written == 0 {
        base.profile = Err(CompareError::wrong_use(format!(
            "{}: the trace writes nothing that could fill a drive: leave out --fill, or give a \
             --size",
            base.label()
        )));
    }
    let pages = (written as f64 / share_of(text)?).ceil() as u64;
    let size = Size::Fixed(pages.saturating_mul(u64::from(page_bytes)));
    varied(base, options, size)
}

impl DriveSpec {
    fn asked(&self, fill: Option<f64>, sampling: Option<Sampling>) -> DriveQuery {
        let words = self.options.iter().flat_map(|option| option.split(' '));
        DriveQuery {
            label: self.label(),
            profile: self.name.clone(),
            options: words.map(str::to_owned).collect(),
            fill,
            page_bytes: self.page_bytes(),
            drive: self.sampled(sampling),
        }
    }
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

/// Every drive the options describe.
///
/// # Errors
/// When a drive of the grid is not possible.
pub fn drives(options: &DriveOptions, origin: &TraceOrigin) -> Result<Vec<ComparedDrive>> {
    points(options, origin)?
        .iter()
        .map(DriveSpec::resolve)
        .collect()
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
    match points(options, origin)?.as_slice() {
        [one] => Ok((one.resolve()?, one.recorded()?)),
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
    let sampling = Some(Sampling::Rate(rate));
    let points = points(options, origin)?;
    let sampled = points.first().map(|point| point.sampled(sampling));
    sampled.unwrap_or_else(|| Err(CompareError::wrong_use("no drive is described")))
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
    let or_own = |list: &[u16], own: u16| match list {
        [] => vec![own],
        list => list.to_vec(),
    };
    let mut grid = Vec::new();
    for host in or_own(&options.streams, saved.host_streams) {
        for internal in or_own(&options.internal_streams, saved.internal_streams) {
            let config = Config {
                host_streams: host,
                internal_streams: internal,
                ..saved.clone()
            };
            grid.push(config);
        }
    }
    let victims = |config: Config| match options.victim.as_slice() {
        [] => vec![config],
        rules => {
            let with = |&victim_rule| Config {
                victim_rule,
                ..config.clone()
            };
            rules.iter().map(with).collect()
        }
    };
    let levelled = |config: Config| match options.levelling.as_slice() {
        [] => vec![config],
        rules => {
            let with = |&rule| {
                let mut config = config.clone();
                config.wear.levelling = rule;
                config
            };
            rules.iter().map(with).collect()
        }
    };
    let named = |config: Config| ComparedDrive {
        profile: path.display().to_string(),
        over_provisioning: profile.geometry.over_provisioning,
        config,
        timing: profile.timing,
        layout: profile.layout(),
        thinned: None,
        scaled: None,
    };
    let grid = grid.into_iter().flat_map(victims).flat_map(levelled);
    Ok(grid.map(named).collect())
}

#[cfg(test)]
mod tests {
    use anabranch_trace::Capture;

    use super::*;

    #[test]
    fn the_demo_drive_has_the_size_and_spare_of_the_demo() {
        let config = &drives(&DriveOptions::default(), &TraceOrigin::default()).unwrap()[0].config;
        assert_eq!(config.logical_bytes(), 1250 << 20);
        assert_eq!(config.unit_bytes(), 24 << 20);
        assert_eq!(config.physical_units, 56);
    }

    #[test]
    fn comma_lists_multiply_into_a_grid() {
        let options = DriveOptions {
            streams: vec![2, 4],
            unit: ["4MiB", "8MiB", "16 MiB"].map(str::to_owned).into(),
            ..DriveOptions::default()
        };
        let origin = TraceOrigin {
            size: Size::Captured(1 << 30),
            ..TraceOrigin::default()
        };
        let grid = drives(&options, &origin).unwrap();
        assert_eq!(grid.len(), 6);
        assert!(
            grid.iter()
                .all(|drive| drive.config.logical_bytes() == 1 << 30)
        );
    }

    #[test]
    fn a_drive_that_cannot_be_is_told_with_its_options_and_such_as_work() {
        let asked = |size: &str, unit: &[&str]| {
            let options = DriveOptions {
                size: Some(size.to_owned()),
                unit: unit.iter().map(|&unit| unit.to_owned()).collect(),
                ..DriveOptions::default()
            };
            drives(&options, &TraceOrigin::default())
                .unwrap_err()
                .to_string()
        };
        let small = asked("32MiB", &[]);
        assert!(
            small.starts_with("demo --size 32MiB: 2 erase units"),
            "{small}"
        );
        let after = small.split("--unit ").nth(1).unwrap();
        let works = after.split(' ').next().unwrap();
        let options = DriveOptions {
            size: Some("32MiB".to_owned()),
            unit: vec![works.to_owned()],
            ..DriveOptions::default()
        };
        drives(&options, &TraceOrigin::default()).unwrap();
        assert!(asked("12", &[]).contains("less than a page of 4096; "));
        let large = asked("64TiB", &[]);
        assert!(large.contains("than the 2^32 pages of 4KiB"), "{large}");
        assert!(large.ends_with("; --size 8TiB works"), "{large}");
        // Its spare alone is too much.
        let full = asked("15900GiB", &[]);
        assert!(full.contains("than the 2^32 pages of 4KiB"), "{full}");
        assert!(full.ends_with("; --size 8TiB works"), "{full}");
        assert!(asked("1GiB", &["5000"]).contains("demo --size 1GiB --unit 5000"));
    }

    #[test]
    fn a_drive_whose_size_the_trace_decides_has_smaller_units_where_its_own_would_be_too_few() {
        let origin = |bytes| TraceOrigin {
            size: Size::Captured(bytes),
            ..TraceOrigin::default()
        };
        let unit = |options: &DriveOptions, bytes| {
            let found = drives(options, &origin(bytes));
            found.map(|drives| drives[0].config.unit_bytes())
        };
        let nothing = DriveOptions::default();
        assert_eq!(unit(&nothing, 1250 << 20).unwrap(), 24 << 20);
        assert_eq!(unit(&nothing, 256 << 20).unwrap(), 3 << 20);
        let options = ReplayOptions {
            fill: vec!["90%".to_owned()],
            ..ReplayOptions::default()
        };
        let few = grid(&options, &origin(1250 << 20), &mut |_| Ok(5_000)).unwrap();
        assert_eq!(few[0].options, ["--fill", "90%", "--unit", "384KiB"]);
        // A profile by name is scaled: as many units for its size as it has.
        let named = DriveOptions {
            profiles: vec!["demo".to_owned()],
            ..DriveOptions::default()
        };
        let scaled = unit(&named, 125 << 20).unwrap() as f64;
        assert!(
            (scaled / (2.4 * f64::from(1 << 20)) - 1.0).abs() < 0.01,
            "{scaled}"
        );
        // What was asked for is not changed.
        for asked in [
            DriveOptions {
                unit: vec!["24MiB".to_owned()],
                ..DriveOptions::default()
            },
            DriveOptions {
                size: Some("256MiB".to_owned()),
                ..DriveOptions::default()
            },
        ] {
            let fault = unit(&asked, 256 << 20).unwrap_err();
            assert!(fault.to_string().contains("erase units are too few"));
        }
    }

    #[test]
    fn what_a_trace_carries_is_the_drive_to_the_last_unit() {
        let options = DriveOptions {
            profiles: vec!["golden".to_owned()],
            streams: vec![3],
            ..DriveOptions::default()
        };
        let (drive, recorded) = one_drive(&options, &TraceOrigin::default(), "one").unwrap();
        let mut capture = Capture {
            device_bytes: drive.config.logical_bytes(),
            drive: Some(recorded.to_json()),
            ..Capture::default()
        };
        let origin = TraceOrigin::of(&capture, &DriveOptions::default()).unwrap();
        let again = drives(&DriveOptions::default(), &origin).unwrap();
        assert_eq!(again[0].config, drive.config);
        assert_eq!(again[0].profile, "golden");
        // A named device is another drive; what it tells in words of tomorrow is refused.
        let named = DriveOptions {
            profiles: vec!["demo".to_owned()],
            ..DriveOptions::default()
        };
        capture.drive = Some(serde_json::json!({ "version": 2 }));
        let origin = TraceOrigin::of(&capture, &named).unwrap();
        assert_eq!(
            drives(&named, &origin).unwrap()[0].config.logical_pages,
            1 << 20
        );
        let fault = TraceOrigin::of(&capture, &DriveOptions::default()).unwrap_err();
        assert!(fault.to_string().contains("version 2") && fault.to_string().contains("--device"));
    }

    #[test]
    fn a_fault_is_one_of_four_and_carries_a_number() {
        let with = |faults: &[&str]| {
            let fault = faults.iter().map(|&fault| fault.to_owned()).collect();
            let asked = DriveOptions {
                fault,
                ..DriveOptions::default()
            };
            drives(&asked, &TraceOrigin::default())
        };
        let config = with(&["program=1000", "factory=1"]).map(|drives| drives[0].config.clone());
        assert!(
            config.is_err_and(|fault| fault.kind == crate::CompareErrorKind::WrongUse),
            "56 units have none to spare"
        );
        for wrong in [
            "program",
            "program=",
            "erase=x",
            "worn",
            "",
            "factory=-1",
            "rust=3",
        ] {
            assert!(with(&[wrong]).is_err(), "{wrong}");
        }
    }
}
