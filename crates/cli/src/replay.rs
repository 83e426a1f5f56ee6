//! `anabranch replay`: the comparison, from traces.

use std::collections::BTreeMap;

use anabranch_placement::SchemeSpec;
use anabranch_replay::{Outcome as Comparison, Renumber};
use serde_json::{Value, json};

use crate::{
    arguments::ReplayArguments,
    comparison::{Running, publish, schemes},
    drives::{NamedDrive, Size, drives, share},
    failure::{Failure, Outcome},
    progress,
    source::Source,
};

/// Compares schemes on every trace and drive asked for.
pub fn replay(arguments: &ReplayArguments) -> Outcome {
    let specs = schemes(&arguments.comparison)?;
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
    let mut results = Vec::new();
    for path in &arguments.traces {
        let source = Source::new(path, arguments.format, arguments.quick);
        if fills.is_empty() {
            let captured = source
                .tables()?
                .map_or(0, |tables| tables.capture.device_bytes);
            let size = if captured > 0 {
                Size::Captured(captured)
            } else {
                Size::Unknown
            };
            for drive in drives(&arguments.drive, size)? {
                results.push(one(arguments, &specs, &source, &drive, None)?);
            }
        }
        for &fill in &fills {
            results.extend(filled(arguments, &specs, &source, fill)?);
        }
    }
    publish(&results, &arguments.comparison)
}

/// One trace on drives just large enough that it fills a share of them.
fn filled(
    arguments: &ReplayArguments,
    specs: &[SchemeSpec],
    source: &Source,
    fill: f64,
) -> Outcome<Vec<Comparison>> {
    let mut results = Vec::new();
    // The profiles may differ in their pages: renumber for each.
    for profile in &arguments.drive.profiles {
        let page_bytes = crate::drives::load(profile)?.geometry.page_bytes;
        let mut numbers = Renumber::new(page_bytes);
        source.each_batch(|ios, _| {
            ios.iter().for_each(|io| numbers.learn(io));
            Ok(())
        })?;
        let pages = (numbers.settle() as f64 / fill).ceil() as u64;
        let size = Size::Fixed(pages.saturating_mul(u64::from(page_bytes)));
        let mut drive_arguments = arguments.drive.clone();
        drive_arguments.profiles = vec![profile.clone()];
        for drive in drives(&drive_arguments, size)? {
            results.push(one(
                arguments,
                specs,
                source,
                &drive,
                Some((&numbers, fill)),
            )?);
        }
    }
    Ok(results)
}

fn one(
    arguments: &ReplayArguments,
    specs: &[SchemeSpec],
    source: &Source,
    drive: &NamedDrive,
    numbers: Option<(&Renumber, f64)>,
) -> Outcome<Comparison> {
    let mut running = Running::start(specs, drive, &arguments.comparison)?;
    let bar = progress::bar(&source.path.display().to_string());
    let mut dense = Vec::new();
    source.each_batch(|ios, done| {
        bar.set_position((done * 1000.0) as u64);
        let Some((numbers, _)) = numbers else {
            return running.feed(ios);
        };
        dense.clear();
        ios.iter()
            .for_each(|io| numbers.apply(io, |io| dense.push(io)));
        running.feed(&dense)
    })?;
    bar.finish_and_clear();
    let tables = source.tables()?;
    let lost_events = tables
        .as_ref()
        .map_or(0, |tables| tables.capture.lost_events);
    let mut config: BTreeMap<String, Value> = BTreeMap::from([
        ("verb".to_owned(), json!("replay")),
        ("trace".to_owned(), json!(source.path)),
        ("quick".to_owned(), json!(source.quick)),
    ]);
    if let Some((_, fill)) = numbers {
        config.insert("fill".to_owned(), json!(fill));
    }
    if let Some(tables) = tables {
        config.insert("capture".to_owned(), json!(tables.capture));
    }
    running.finish(config, arguments.comparison.seed, lost_events)
}
