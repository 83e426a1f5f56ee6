//! The memory that schemes tell beside what an allocator counts.

#![allow(missing_docs, clippy::unwrap_used)]
#![allow(
    unsafe_code,
    reason = "an allocator that counts cannot be written without"
)]

#[path = "../benches/load/mod.rs"]
mod load;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::Arc,
};

use anabranch_placement::{
    Assign, ContextName, Future, HostGeometry, KnownLifetime, KnownLifetimes, Names, SCHEMES,
    SchemeSpec, Site,
};
use anabranch_trace::{ContextId, ContextKind, FileId};
use load::Load;

thread_local! {
    /// Bytes this thread has allocated and not freed.
    static HELD_BYTES: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: isize) {
    HELD_BYTES.set(HELD_BYTES.get() + bytes);
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn drive(logical_pages: u32, streams: u16) -> HostGeometry {
    HostGeometry {
        logical_pages,
        page_bytes: 4096,
        host_streams: streams,
        internal_streams: streams,
        pages_per_unit: 64,
        physical_units: logical_pages / 64 * 5 / 4,
    }
}

/// Bytes that a scheme holds and leaves out of its account whatever the drive: itself, patterns of rules over names, and
/// of a table of hashes what stays empty.
fn left_out_bytes(scheme: &str) -> isize {
    match scheme.split(':').next() {
        Some("manual" | "anabranch") => 7_900,
        Some("dogi") => 9_800,
        _ => 0,
    }
}

/// Tolerance of an account: bytes, and parts of its figure. Names of files count as if each were as long as it
/// may be, of a table of hashes an eighth is empty, and how much a miniature drive takes is worked out and not counted.
const BAND_BYTES: isize = 512;
const BAND_PARTS: isize = 64;
const BAND_PARTS_OF_MINIATURES: isize = 14;

/// Writes a drive three times over, and holds what the scheme tells beside what was `held` before it was made.
fn assert_told(name: &str, assign: &mut dyn Assign, drive: &HostGeometry, held: isize) {
    let mut load = Load::new();
    while load.now_pages < 3 * u64::from(drive.logical_pages) {
        assign.assign(&load.write(1, drive.logical_pages));
    }
    let counted = HELD_BYTES.get() - held;
    let told = assign.memory_bytes() as isize;
    let missed = counted - told - left_out_bytes(name);
    let over_parts = if name.starts_with("anabranch") {
        BAND_PARTS_OF_MINIATURES
    } else {
        BAND_PARTS
    };
    let band = -BAND_BYTES - told / over_parts..=BAND_BYTES + told / BAND_PARTS;
    assert!(
        band.contains(&missed),
        "{name} on {drive:?}: told {told}, counted {counted}"
    );
}

#[test]
fn schemes_tell_the_memory_that_they_hold() {
    let future = Arc::new(Future::new(Vec::new(), Vec::new()));
    for (pages, streams) in [(256, 2), (256, 64), (2048, 8), (32_768, 8), (32_768, 64)] {
        let drive = drive(pages, streams);
        let mut schemes = load::schemes(&drive, &future);
        let mut tried = 0;
        loop {
            let held = HELD_BYTES.get();
            let Some((name, mut assign)) = schemes.next() else {
                break;
            };
            assert_told(name, &mut *assign, &drive, held);
            tried += 1;
        }
        assert_eq!(tried, SCHEMES.len() + load::VARIANTS.len());
    }
}

/// A thousand contexts whose lifetimes an earlier run knew, and files of so many kinds.
#[test]
fn what_pcstream_learned_in_another_run_is_told_too() {
    const CONTEXTS: u32 = 1000;
    let known = |signature| KnownLifetime {
        signature,
        lifetime_bytes: 1 << 20,
        written_bytes: 1 << 30,
        idle_runs: 0,
    };
    let profile = KnownLifetimes::new((0..u64::from(CONTEXTS)).map(known).collect());
    let context = |id: u32| ContextName {
        id: ContextId(id),
        signature: id.into(),
        kind: ContextKind::Application,
        role: String::new(),
    };
    let names = Names {
        files: (0..16)
            .map(|id| (FileId(id), format!("{id}.kind-of-file-{id}")))
            .collect(),
        contexts: (0..CONTEXTS).map(context).collect(),
    };
    let drive = drive(1024, 4096);
    for name in ["pcstream", "pcstream:by=both,max-contexts=2000"] {
        let held = HELD_BYTES.get();
        let spec: SchemeSpec = name.parse().unwrap();
        let config = drive.drive();
        let halves = spec.build(&Site::new(&config, spec.relocation()));
        let mut assign = halves.unwrap().into_assign();
        drop(spec);
        assign.restore_lifetimes(&profile);
        assign.learn(&names);
        assert_told(name, &mut *assign, &drive, held);
    }
}
