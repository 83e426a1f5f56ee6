//! `anabranch replay`: the comparison, from traces.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use anabranch_placement::{Future, Names, SchemeSpec};
use anabranch_replay::{FleetError, Foresight, Outcome as Comparison, Start};
use anabranch_ssd::SavedDrive;
use anabranch_trace::{Io, Operation};
use serde_json::{Value, json};

use crate::{
    arguments::ReplayArguments,
    comparison::{Running, publish, schemes},
    drives::{NamedDrive, Size, aged_drives, drives, share},
    failure::{Failure, Outcome},
    numbers::{Learned, Numbers, learn},
    precondition, progress,
    source::Source,
};

/// Compares schemes on every trace and drive asked for, and shows what was found.
pub fn replay(arguments: &ReplayArguments) -> Outcome {
    publish(&compare(arguments)?, &arguments.comparison)
}

/// Compares schemes on every trace and drive asked for.
pub fn compare(arguments: &ReplayArguments) -> Outcome<Vec<Comparison>> {
    let specs = schemes(&arguments.comparison, arguments.drive_file.is_none())?;
    let fills = arguments
        .fill
        .iter()
        .map(|text| share(text))
        .collect::<Outcome<Vec<f64>>>()?;
    if fills.contains(&0.0) {
        return Err(Failure::say(
            "--fill 0% asks for an endless drive: give a share above 0",
        ));
    }
    if arguments.comparison.profile.is_some() && is_grid(arguments) {
        return Err(Failure::say(
            "--profile is of one trace on one drive: leave out what multiplies them",
        ));
    }
    let aged = aged(arguments, &specs)?;
    let mut results = Vec::new();
    for path in &arguments.traces {
        let source = Source::new(path, arguments.format, arguments.quick)?;
        if fills.is_empty() {
            let grid = match &aged {
                Some((path, saved)) => aged_drives(&arguments.drive, path, saved.config())?,
                None => drives(&arguments.drive, captured(&source))?,
            };
            let aged = aged.as_ref().map(|(_, saved)| saved);
            for drive in grid {
                results.push(one(arguments, &specs, &source, &drive, None, aged)?);
            }
        } else {
            results.extend(filled(arguments, &specs, &source, &fills)?);
        }
    }
    Ok(results)
}

/// The drive that every scheme begins with, where one is given.
fn aged<'a>(
    arguments: &'a ReplayArguments,
    specs: &[SchemeSpec],
) -> Outcome<Option<(&'a Path, SavedDrive)>> {
    let Some(path) = &arguments.drive_file else {
        return Ok(None);
    };
    if let Some(bound) = specs.iter().find(|spec| spec.needs_future()) {
        return Err(Failure::say(format!(
            "--drive: {} must know when all data on the drive will die, and the trace does not tell \
             of those it begins with",
            bound.name()
        )));
    }
    let saved = precondition::open(path)?;
    if saved.is_read_only() {
        return Err(Failure::say(format!(
            "saved drive {} is read-only: its units have failed",
            path.display()
        )));
    }
    Ok(Some((path, saved)))
}

/// Whether more than one comparison is asked for.
fn is_grid(arguments: &ReplayArguments) -> bool {
    let drive = &arguments.drive;
    let lengths = [
        arguments.traces.len(),
        arguments.fill.len(),
        drive.profiles.len(),
        drive.over_provisioning.len(),
        drive.unit.len(),
        drive.victim.len(),
        drive.streams.len(),
        drive.internal_streams.len(),
    ];
    lengths.iter().any(|length| *length > 1)
}

fn captured(source: &Source) -> Size {
    match &source.tables {
        Some(tables) if tables.capture.device_bytes > 0 => {
            Size::Captured(tables.capture.device_bytes)
        }
        _ => Size::Unknown,
    }
}

/// One trace on drives just large enough that it fills a share of them.
fn filled(
    arguments: &ReplayArguments,
    specs: &[SchemeSpec],
    source: &Source,
    fills: &[f64],
) -> Outcome<Vec<Comparison>> {
    // The profiles may differ in their pages: renumber for each.
    let profiles = &arguments.drive.profiles;
    let learned = profiles
        .iter()
        .map(|profile| learn(source, profile, arguments.pack))
        .collect::<Outcome<Vec<Learned>>>()?;
    let mut results = Vec::new();
    for &fill in fills {
        for (profile, learned) in profiles.iter().zip(&learned) {
            let pages = (learned.pages as f64 / fill).ceil() as u64;
            let size = Size::Fixed(pages.saturating_mul(u64::from(learned.page_bytes)));
            let mut drive_arguments = arguments.drive.clone();
            drive_arguments.profiles = vec![profile.clone()];
            for drive in drives(&drive_arguments, size)? {
                let numbers = Some((&learned.numbers, fill));
                results.push(one(arguments, specs, source, &drive, numbers, None)?);
            }
        }
    }
    Ok(results)
}

/// Reads the trace ahead, for schemes that must know when data will die.
fn foresee(
    arguments: &ReplayArguments,
    source: &Source,
    drive: &NamedDrive,
    numbers: Option<&Numbers>,
) -> Outcome<Arc<Future>> {
    source.check_twice()?;
    let mut foresight = Foresight::new(&drive.config);
    pass(arguments, source, "reading ahead: ", numbers, |ios| {
        let noted = ios.iter().try_for_each(|io| foresight.note(io));
        noted.map_err(|error| FleetError::from(error).into())
    })?;
    Ok(Arc::new(foresight.finish()))
}

/// One pass over a trace under a progress bar: renumbered where that was asked for, and without
/// discards where the drive is not to hear of them.
fn pass(
    arguments: &ReplayArguments,
    source: &Source,
    what: &str,
    numbers: Option<&Numbers>,
    mut sink: impl FnMut(&[Io]) -> Outcome,
) -> Outcome {
    let bar = progress::bar(&format!("{what}{}", source.path.display()));
    let mut numbers = numbers.cloned();
    let mut told = Vec::new();
    source.each_batch(|ios, done| {
        bar.set_position((done * 1000.0) as u64);
        if numbers.is_none() && !arguments.no_discards {
            return sink(ios);
        }
        told.clear();
        for io in ios {
            match &mut numbers {
                Some(numbers) => numbers.apply(io, |io| told.push(io)),
                None => told.push(*io),
            }
        }
        if arguments.no_discards {
            told.retain(|io| io.operation != Operation::Discard);
        }
        sink(&told)
    })?;
    bar.finish_and_clear();
    Ok(())
}

fn one(
    arguments: &ReplayArguments,
    specs: &[SchemeSpec],
    source: &Source,
    drive: &NamedDrive,
    fill: Option<(&Numbers, f64)>,
    aged: Option<&SavedDrive>,
) -> Outcome<Comparison> {
    let numbers = fill.map(|(numbers, _)| numbers);
    let clock = drive.clock(&arguments.time)?;
    let needed = specs.iter().any(SchemeSpec::needs_future);
    let future = needed
        .then(|| foresee(arguments, source, drive, numbers))
        .transpose()?;
    let start = Start {
        future: future.as_ref(),
        clock: clock.as_ref(),
        aged,
    };
    let mut running = Running::start(specs, drive, &arguments.comparison, &start)?;
    if let Some(tables) = &source.tables {
        running.learn(Names::of(tables));
    }
    pass(arguments, source, "", numbers, |ios| {
        running.feed(ios);
        Ok(())
    })?;
    let capture = source.tables.as_ref().map(|tables| &tables.capture);
    let mut config: BTreeMap<String, Value> = BTreeMap::from([
        ("verb".to_owned(), json!("replay")),
        ("trace".to_owned(), json!(source.path)),
        ("quick".to_owned(), json!(source.quick)),
    ]);
    if let Some((_, fill)) = fill {
        config.insert("fill".to_owned(), json!(fill));
        config.insert("pack".to_owned(), json!(arguments.pack));
    }
    if arguments.no_discards {
        config.insert("no_discards".to_owned(), json!(true));
    }
    if let Some(path) = &arguments.drive_file {
        config.insert("drive_file".to_owned(), json!(path));
    }
    if let Some(capture) = capture {
        config.insert("capture".to_owned(), json!(capture));
    }
    running.finish(config, capture.map_or(0, |capture| capture.lost_events))
}
