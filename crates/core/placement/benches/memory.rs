//! The memory each scheme holds: what a drive of any size costs, and what each GiB adds.
//! `cargo bench -p anabranch-placement --bench memory`

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints what it found"
)]

mod load;

use std::sync::Arc;

use anabranch_placement::{Assign, Future, HostGeometry};
use load::Load;

/// Sizes of the two drives, in GiB: what a GiB adds is the difference by them.
const SMALL_GIB: u32 = 1;
const LARGE_GIB: u32 = 9;
/// Times each drive is written.
const CAPACITIES: u64 = 2;
const PAGES_PER_GIB: u32 = 1 << 18;

/// Units of 4 MiB, a tenth of the data to spare.
fn drive(gib: u32) -> HostGeometry {
    HostGeometry {
        logical_pages: gib * PAGES_PER_GIB,
        page_bytes: 4096,
        host_streams: 8,
        internal_streams: 8,
        pages_per_unit: 1024,
        physical_units: gib * PAGES_PER_GIB / 1024 * 11 / 10,
    }
}

/// Memory of a scheme after the drive was written: tables may grow up to their bounds.
fn held_bytes(assign: &mut dyn Assign, drive: &HostGeometry) -> f64 {
    let mut load = Load::new();
    while load.now_pages < CAPACITIES * u64::from(drive.logical_pages) {
        assign.assign(&load.write(1, drive.logical_pages));
    }
    assign.memory_bytes() as f64
}

fn main() {
    let future = Arc::new(Future::new(Vec::new(), Vec::new()));
    let (small, large) = (drive(SMALL_GIB), drive(LARGE_GIB));
    println!("scheme, KiB for any drive, KiB for each GiB of it");
    let all = load::schemes(&small, &future).zip(load::schemes(&large, &future));
    for ((name, mut on_small), (_, mut on_large)) in all {
        let less = held_bytes(&mut *on_small, &small);
        let more = held_bytes(&mut *on_large, &large);
        let each = (more - less) / f64::from(LARGE_GIB - SMALL_GIB);
        let any = less - each * f64::from(SMALL_GIB);
        println!("{name}, {:.1}, {:.1}", any / 1024.0, each / 1024.0);
    }
}
