//! Flexible Data Placement, as a host sees it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod events;
mod isolation;
mod placement;
mod warp;
#[path = "../workload/mod.rs"]
#[allow(dead_code)]
mod workload;

use anabranch_ssd::{Config, Faults, VictimRule, Wear};

/// The namespace of these tests.
const NAMESPACE: u32 = 1;

/// A drive with the least spare its handles need, and `spare` units more.
fn drive(
    pages: u32,
    per_unit: u32,
    groups: u32,
    handles: u16,
    isolated: u16,
    spare: u32,
) -> Config {
    let per_group = u16::from(isolated < handles) + isolated;
    let config = Config {
        logical_pages: pages,
        page_bytes: 4096,
        pages_per_unit: per_unit,
        physical_units: 0,
        host_streams: handles * groups as u16,
        internal_streams: per_group * groups as u16,
        victim_rule: VictimRule::Greedy,
        chips: 1,
        seed: 7,
        gc_start_free_units: 1,
        gc_stop_free_units: 1,
        reclaim_groups: groups,
        persistently_isolated: isolated,
        streams_off_permille: 1000,
        wear: Wear::default(),
        faults: Faults::default(),
    };
    Config {
        physical_units: config.least_physical_units() as u32 + spare,
        ..config
    }
}
