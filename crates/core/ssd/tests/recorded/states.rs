//! Saved drives with one number changed and sealed again: refused in the words they were, or the drives they were.

use std::{collections::BTreeSet, hash::Hasher};

use anabranch_ssd::{
    Config, Device, PageRange, StreamId, relocate::RelocationKind, state::SavedDrive,
};
use serde_json::Value;

use crate::{Sum, drawn, driven::Driven, flash::rules, hold, workload::Random};

/// A saved drive in its parts: the header, and runs as their bytes with the length before them.
struct Parts {
    header: Value,
    runs: Vec<Vec<u8>>,
}

/// Bytes before the header: the magic, the version and the header's length.
const BEFORE: usize = 16;

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = twox_hash::XxHash3_64::with_seed(0);
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// Bytes of a number of each run: the mapping and the ages; streams, two times, wear, retired and failing; of each
/// group three lists; what the relocation learned.
fn widths(groups: u32) -> Vec<usize> {
    let lists = std::iter::repeat_n(4, 3 * groups as usize);
    let units = [4, 4, 2, 8, 8, 4, 4, 4];
    units.into_iter().chain(lists).chain([8]).collect()
}

impl Parts {
    fn of(saved: &[u8], groups: u32) -> Parts {
        let length = u32::from_le_bytes(saved[12..BEFORE].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&saved[BEFORE..BEFORE + length]).unwrap();
        let mut rest = &saved[BEFORE + length + 8..];
        let mut runs = Vec::new();
        for width in widths(groups) {
            let count = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            let (run, after) = rest.split_at(8 + count * width);
            runs.push(run.to_vec());
            rest = &after[8..];
        }
        assert!(rest.is_empty());
        Parts { header, runs }
    }

    fn sealed(&self, saved: &[u8]) -> Vec<u8> {
        let header = serde_json::to_vec(&self.header).unwrap();
        let mut bytes = saved[..12].to_vec();
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header);
        bytes.extend(checksum(&bytes));
        for run in &self.runs {
            bytes.extend(run);
            bytes.extend(checksum(run));
        }
        bytes
    }
}

/// The places of all numbers in a header, as JSON pointers.
fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at.to_owned()),
        Value::Array(all) => {
            for (index, value) in all.iter().enumerate() {
                numbers(value, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(all) => {
            for (key, value) in all {
                numbers(value, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// The words of a refusal; those about the form of the header are the library's that reads it.
fn words(error: impl ToString) -> String {
    let words = error.to_string();
    match words.split_once("its header: ") {
        Some((before, _)) => format!("{before}its header"),
        None => words,
    }
}

/// Result of loading the bytes: a refusal, or a drive that is asked and used.
fn outcome_of(bytes: &[u8], kind: RelocationKind) -> Result<String, String> {
    let drive = SavedDrive::read(bytes).map_err(words)?;
    let config = drive.config().clone();
    // A drive that a changed header makes much larger is not built.
    if config.physical_units > 10_000 || config.pages_per_unit > 1000 {
        return Ok("large".to_owned());
    }
    let mut relocation = kind.build(&config);
    let device = drive.resume(&mut *relocation, ());
    let device = device.map_err(words)?;
    let mut device = Driven { device, relocation };
    let mut sum = Sum::default();
    sum.take(device.verify().map_err(|error| error.to_string()));
    let written = device.write(PageRange::new(0, 1), StreamId(0));
    sum.take(written.map_err(|error| error.to_string()));
    sum.take((device.counters(), device.locate(0), device.saved()));
    Ok(sum.text())
}

/// A drive that has seen collections.
fn used(random: &mut Random, kind: RelocationKind) -> (Config, Vec<u8>) {
    let victim_rule = rules()[random.below(rules().len() as u32) as usize];
    let config = Config {
        victim_rule,
        ..drawn(random)
    };
    let relocation = kind.build(&config);
    let device = Device::new(config.clone(), &*relocation).unwrap();
    let mut device = Driven { device, relocation };
    for _ in 0..6 * config.logical_pages {
        let page = PageRange::new(random.below(config.logical_pages), 1);
        let stream = random.below(u32::from(config.host_streams)) as u16;
        let _ = device.write(page, StreamId(stream));
    }
    let saved = device.saved();
    (config, saved)
}

#[test]
fn changed_drives_are_refused_as_they_were() {
    let mut random = Random(6);
    let (mut lines, mut refusals) = (Vec::new(), BTreeSet::new());
    for kind in RelocationKind::ALL {
        let (config, saved) = used(&mut random, kind);
        let parts = Parts::of(&saved, config.reclaim_groups);
        let mut sum = Sum::default();
        let mut take = |parts: &Parts| {
            let told = outcome_of(&parts.sealed(&saved), kind);
            sum.take(&told);
            refusals.extend(
                told.err()
                    .map(|words| words.replace(|letter: char| letter.is_ascii_digit(), "")),
            );
        };
        take(&parts);
        let mut places = Vec::new();
        numbers(&parts.header, "", &mut places);
        for place in places {
            let was = parts
                .header
                .pointer(&place)
                .and_then(Value::as_u64)
                .unwrap();
            for value in [0, 1, was.wrapping_add(1), 1 << 56, (1 << 56) + 1, u64::MAX] {
                let mut changed = Parts {
                    header: parts.header.clone(),
                    runs: parts.runs.clone(),
                };
                *changed.header.pointer_mut(&place).unwrap() = value.into();
                take(&changed);
            }
        }
        for (run, width) in widths(config.reclaim_groups).into_iter().enumerate() {
            for _ in 0..40 {
                let mut changed = Parts {
                    header: parts.header.clone(),
                    runs: parts.runs.clone(),
                };
                let bytes = &mut changed.runs[run];
                let at = width * random.below(((bytes.len() - 8) / width).max(1) as u32) as usize;
                let value = [
                    0,
                    1,
                    random.next() % 64,
                    1 << 30,
                    (1 << 30) + 1,
                    random.next(),
                ][random.below(6) as usize];
                if let Some(number) = bytes.get_mut(8 + at..8 + at + width) {
                    number.copy_from_slice(&value.to_le_bytes()[..width]);
                }
                take(&changed);
            }
            let mut changed = Parts {
                header: parts.header.clone(),
                runs: parts.runs.clone(),
            };
            let bytes = &mut changed.runs[run];
            let count = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            bytes.extend(vec![0; width]);
            bytes[..8].copy_from_slice(&(count + 1).to_le_bytes());
            take(&changed);
        }
        lines.push(format!("{}+{kind}: {}", config.victim_rule, sum.text()));
    }
    lines.extend(refusals);
    hold("states", &lines);
}
