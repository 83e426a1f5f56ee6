//! Cost of a decision, in processor time per page written, of every scheme. `cargo bench -p
//! anabranch-placement --bench assign`

#![allow(missing_docs)]

#[path = "../../ssd/benches/cpu_time/mod.rs"]
mod cpu_time;
mod load;

use std::sync::Arc;

use anabranch_placement::{
    Assign, DeviceHalf, Future, Halves, HostGeometry, SCHEMES, SchemeSpec, Site, Whole, Write,
};
use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Survivor, Victim},
};
use anabranch_trace::{ContextId, FileId, WriteHint};
use cpu_time::CpuTime;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use load::Load;

const DRIVE: HostGeometry = HostGeometry {
    logical_pages: 300_000,
    page_bytes: 4096,
    host_streams: 8,
    internal_streams: 8,
    pages_per_unit: 100,
    physical_units: 3_300,
};
const WRITES: u64 = 4096;
/// Writes that a lane looks ahead.
const AHEAD: usize = 64;

/// Places requests of so many pages each, as a lane does: single pages are read ahead.
fn place(assign: &mut dyn Assign, request_pages: u32, load: &mut Load) {
    let (mut writes, mut pages) = (Vec::with_capacity(AHEAD), Vec::with_capacity(AHEAD));
    for _ in 0..WRITES / AHEAD as u64 {
        writes.clear();
        writes.extend((0..AHEAD).map(|_| load.write(request_pages, DRIVE.logical_pages)));
        if request_pages == 1 {
            pages.clear();
            pages.extend(writes.iter().map(|write| write.pages.first));
            assign.prefetch(&pages);
        }
        for write in &writes {
            std::hint::black_box(assign.assign(write));
        }
    }
}

/// Future for the schemes that know it: lives of one capacity in the mean, for as many writes as
/// take some 256 MB. After those nothing dies, and they decide faster than they would.
fn future() -> Arc<Future> {
    const TOLD: usize = 1 << 26;
    let mut load = Load::new();
    let mut life = || 1 + load.draw() % (2 * DRIVE.logical_pages);
    let lives = (0..TOLD).map(|_| life()).collect();
    let means = (0..DRIVE.logical_pages).map(|_| life()).collect();
    Arc::new(Future::new(lives, means))
}

fn assign(c: &mut Criterion<CpuTime>) {
    let future = future();
    for request_pages in [1, 92] {
        let mut group = c.benchmark_group(format!("assign_{request_pages}_pages"));
        group.throughput(Throughput::Elements(WRITES * u64::from(request_pages)));
        for (name, mut assign) in load::schemes(&DRIVE, &future) {
            let mut load = Load::new();
            group.bench_function(name, |b| {
                b.iter(|| place(&mut *assign, request_pages, &mut load));
            });
        }
    }
}

fn page_write(page: u32, now_pages: u64) -> Write {
    Write {
        pages: PageRange::new(page, 1),
        context: ContextId(0),
        file: FileId(0),
        hint: WriteHint::NotSet,
        tenant: 0,
        now_pages,
    }
}

/// Schemes that hold both halves, on a drive that was filled once.
fn wholes() -> Vec<(&'static str, Box<dyn Whole>)> {
    let mut wholes = Vec::new();
    for scheme in SCHEMES {
        let spec = scheme.name.parse::<SchemeSpec>();
        let drive = DRIVE.drive();
        let halves = spec.map(|spec| spec.build(&Site::new(&drive, DeviceHalf::Own)));
        if let Ok(Ok(Halves::Whole(mut whole))) = halves {
            for page in 0..DRIVE.logical_pages {
                whole.assign(&page_write(page, u64::from(page)));
            }
            wholes.push((scheme.name, whole));
        }
    }
    wholes
}

/// A victim of a hundred pages, all alive, at random addresses.
fn survivor(c: &mut Criterion<CpuTime>) {
    let mut group = c.benchmark_group("survivor");
    group.throughput(Throughput::Elements(u64::from(DRIVE.pages_per_unit)));
    for (name, mut whole) in wholes() {
        let mut now = u64::from(DRIVE.logical_pages);
        let mut load = Load::new();
        group.bench_function(name, |b| {
            b.iter(|| {
                now += 10;
                let victim = Victim {
                    stream: StreamId(load.draw() as u16 % 8),
                    valid_pages: DRIVE.pages_per_unit,
                    opened_at: now / 2,
                    now,
                };
                if whole.destination(&victim) == Destination::Each {
                    for _ in 0..DRIVE.pages_per_unit {
                        let page = load.draw() % DRIVE.logical_pages;
                        let survivor = Survivor { page, age_pages: 0 };
                        std::hint::black_box(whole.survivor(&victim, survivor));
                    }
                }
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = assign, survivor
}
criterion_main!(benches);
