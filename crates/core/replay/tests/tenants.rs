//! Several programs on one drive: what one does must not cost the others their streams.

#![allow(missing_docs, clippy::unwrap_used)]

use anabranch_replay::Lane;
use anabranch_ssd::{Config, profile::Profile};
use anabranch_trace::{Io, WriteHint};

const PAGES: u64 = 16_384;

fn drive() -> Config {
    let profile = Profile::shipped("golden").unwrap();
    Config {
        logical_pages: PAGES as u32,
        pages_per_unit: 64,
        physical_units: 300,
        host_streams: 4,
        ..profile.resolve("golden").unwrap()
    }
}

fn write(page: u64, hint: WriteHint, tenant: u32) -> Io {
    Io {
        hint,
        tenant,
        ..Io::write(page * 4096, 4096)
    }
}

/// Tenant 1 gives honest hints: a log of 512 pages over and over, and tables of 6,000 in turn.
/// Tenant 2 writes 8,000 pages at random under all hints.
fn requests() -> Vec<Io> {
    let mut requests = Vec::new();
    let mut state = 1_u64;
    for turn in 0..120_000_u64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let drawn = state >> 33;
        let hint = WriteHint::ALL[(drawn % 5) as usize + 1];
        requests.push(write(turn % 512, WriteHint::Short, 1));
        requests.push(write(1000 + turn % 6000, WriteHint::Medium, 1));
        requests.push(write(7000 + drawn / 8 % 8000, hint, 2));
    }
    requests
}

fn copied_pages(scheme: &str, requests: &[Io]) -> u64 {
    let mut lane = Lane::build(
        &scheme.parse().unwrap(),
        &drive(),
        &anabranch_replay::Start::default(),
    )
    .unwrap();
    for io in requests {
        lane.apply(io).unwrap();
    }
    lane.flush_batch().unwrap();
    lane.counters().copied_pages
}

#[test]
fn a_tenant_that_lies_costs_the_honest_one_less_when_streams_are_shared_out() {
    let requests = requests();
    let honest = requests.iter().filter(|io| io.tenant == 1);
    let honest: Vec<Io> = honest.copied().collect();
    assert_eq!(copied_pages("hints", &honest), 0, "alone it copies nothing");
    let mixed = copied_pages("hints", &requests);
    let shared = copied_pages("hints:tenants=2", &requests);
    assert!(
        shared * 10 < mixed * 9,
        "shared out {shared}, mixed {mixed}"
    );
}
