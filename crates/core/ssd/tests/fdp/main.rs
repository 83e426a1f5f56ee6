//! Flexible Data Placement, as a host sees it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod events;
mod isolation;
mod placement;
mod warp;
#[path = "../workload/mod.rs"]
#[allow(dead_code)]
mod workload;

use anabranch_ssd::Config;

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
        host_streams: handles * groups as u16,
        internal_streams: per_group * groups as u16,
        seed: 7,
        reclaim_groups: groups,
        persistently_isolated: isolated,
        ..Config::new(pages, per_unit, 0)
    };
    Config {
        physical_units: config.least_physical_units() as u32 + spare,
        ..config
    }
}
