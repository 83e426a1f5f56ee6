//! A request is the host's, for every scheme, however its pages are placed.

#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use anabranch_placement::{SCHEMES, SchemeSpec};
use anabranch_replay::{Clock, Foresight, Lane, Start, TimeReport};
use anabranch_ssd::{
    profile::Profile,
    time::{Issue, LatencySummary},
};
use anabranch_trace::{Io, Operation};

const PAGE_BYTES: u64 = 4096;
const PAGES: u64 = 16_384;
const QUEUE_DEPTH: u32 = 8;

/// Three drive's worths of writes of 1 to 32 pages with reads, discards and flushes between them.
fn requests() -> Vec<Io> {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let request = |turn: u64| {
        let count = 1 + draw(32);
        let first = draw(PAGES - count);
        Io {
            operation: match turn % 16 {
                3 | 9 => Operation::Read,
                5 => Operation::Discard,
                11 => Operation::Flush,
                _ => Operation::Write,
            },
            ..Io::write(first * PAGE_BYTES, count * PAGE_BYTES)
        }
    };
    (0..4000).map(request).collect()
}

/// Placement of a scheme's requests.
fn run(spec: &SchemeSpec, ios: &[Io]) -> TimeReport {
    let mut profile = Profile::shipped("golden").unwrap();
    profile.geometry.blocks_per_die = None;
    profile.geometry.logical_bytes = Some(PAGES * PAGE_BYTES);
    profile.geometry.pages_per_block = 64;
    let drive = profile.resolve("golden").unwrap();
    let clock = Clock {
        timing: profile.timing.unwrap(),
        layout: profile.layout(),
        issue: Issue::Closed {
            queue_depth: QUEUE_DEPTH,
        },
    };
    let mut foresight = Foresight::new(&drive);
    ios.iter().for_each(|io| foresight.record(io).unwrap());
    let start = Start {
        future: Some(&Arc::new(foresight.finish())),
        clock: Some(&clock),
        ..Start::default()
    };
    let mut lane = Lane::build(spec, &drive, &start).unwrap();
    ios.iter().for_each(|io| lane.apply(io).unwrap());
    lane.finish().unwrap();
    lane.engine().report().unwrap()
}

#[test]
fn every_scheme_answers_as_many_requests_as_the_host_made_and_keeps_littles_law() {
    let ios = requests();
    let asked = |operation| ios.iter().filter(|io| io.operation == operation).count() as u64;
    for scheme in SCHEMES {
        let report = run(&scheme.name.parse().unwrap(), &ios);
        let latency = report.latency;
        let kinds = [
            (latency.read, Operation::Read),
            (latency.write, Operation::Write),
            (latency.discard, Operation::Discard),
            (latency.flush, Operation::Flush),
        ];
        for (found, operation) in kinds {
            let name = scheme.name;
            assert_eq!(found.requests, asked(operation), "{name}, {operation:?}");
        }
        // Little (1961): requests under way are their rate times their mean latency.
        let waited_ns = |found: LatencySummary| found.requests as f64 * found.mean_ns;
        let mean_ns =
            kinds.map(|(found, _)| waited_ns(found)).iter().sum::<f64>() / ios.len() as f64;
        let rate = ios.len() as f64 / report.elapsed_ns as f64;
        let depth = rate * mean_ns;
        // The last requests, and what the flash still does when all are answered, take time too.
        let close = (f64::from(QUEUE_DEPTH) * 0.97..=f64::from(QUEUE_DEPTH)).contains(&depth);
        assert!(close, "{}: {depth} requests under way", scheme.name);
    }
}
