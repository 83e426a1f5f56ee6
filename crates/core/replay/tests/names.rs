//! Names that become known while requests are fed.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{num::NonZeroUsize, ops::Range, sync::Arc};

use anabranch_placement::{ContextName, Names, SchemeSpec};
use anabranch_replay::{Fleet, Lane};
use anabranch_ssd::{Config, Counters, profile::Profile};
use anabranch_trace::{ContextId, ContextKind, FileId, Io};

const PAGES: u64 = 16_384;

fn drive() -> Config {
    let profile = Profile::shipped("golden").unwrap();
    Config {
        logical_pages: PAGES as u32,
        pages_per_unit: 64,
        physical_units: 300,
        host_streams: 8,
        ..profile.resolve("golden").unwrap()
    }
}

/// Names of files and contexts of these numbers.
fn names(ids: Range<u32>) -> Arc<Names> {
    let file = |id: u32| {
        let extension = ["log", "sst", "ibd"][id as usize % 3];
        (FileId(id), format!("{id}.{extension}"))
    };
    let context = |id: u32| ContextName {
        id: ContextId(id),
        signature: id.into(),
        kind: ContextKind::Journal,
        role: String::new(),
    };
    Arc::new(Names {
        files: ids.clone().map(file).collect(),
        contexts: ids.map(context).collect(),
    })
}

/// Overwrites by those files and contexts.
fn requests(ids: Range<u32>) -> Arc<[Io]> {
    let of = |turn: u64| Io {
        file: FileId(ids.start + turn as u32 * 7 % ids.len() as u32),
        context: ContextId(if turn.is_multiple_of(9) { ids.start } else { 0 }),
        ..Io::write(turn * 5 % PAGES * 4096, 4096)
    };
    (0..40_000).map(of).collect()
}

/// The counters of each lane, and how many of its streams the host wrote to.
fn counts(is_early: bool) -> Vec<(Counters, usize)> {
    let specs = SchemeSpec::parse_list("manual,fstream,vstream:by=file,pcstream").unwrap();
    let drive = drive();
    let lane = |spec| Lane::build(spec, &drive, &anabranch_replay::Start::default()).unwrap();
    let two = NonZeroUsize::new(2).unwrap();
    let fleet = Fleet::start(specs.iter().map(lane).collect(), two);
    if is_early {
        fleet.learn(&names(1..30)).unwrap();
    }
    for ids in [1..10, 10..30] {
        if !is_early {
            fleet.learn(&names(ids.clone())).unwrap();
        }
        fleet.send(&requests(ids)).unwrap();
    }
    let used = |lane: &Lane| {
        let streams = lane.engine().stream_counters().iter();
        streams.filter(|stream| stream.host_pages > 0).count()
    };
    let lanes = fleet.finish().unwrap();
    lanes
        .iter()
        .map(|lane| (*lane.counters(), used(lane)))
        .collect()
}

#[test]
fn names_told_as_they_come_give_the_counts_of_names_told_at_once() {
    let early = counts(true);
    assert_eq!(early, counts(false));
    assert!(early[..2].iter().all(|(_, streams)| *streams > 2));
}
