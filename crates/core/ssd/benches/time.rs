//! Flash page-writes per second (host writes and copies) with time simulated, on the golden drive,
//! one core, closed loop: every page a request of its own, its latency recorded. Beside it the same
//! overwrites without time.

#![allow(missing_docs, clippy::unwrap_used)]

use anabranch_ssd::{
    Config, PageRange, StreamId,
    profile::Profile,
    relocate::{Relocate, RelocationKind},
    time::{Issue, Layout, Request, TimedDevice, Timing},
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[path = "../tests/driven/mod.rs"]
mod driven;
#[path = "../tests/workload/mod.rs"]
mod workload;

use driven::Driven;

const PAGES: u32 = 1 << 20;
/// Overwrites in one sample.
const WRITES: usize = 1 << 20;
const QUEUE_DEPTH: u32 = 32;

fn profile() -> Profile {
    Profile::shipped("golden").unwrap()
}

/// A device and its relocation.
type Timed = (TimedDevice, Box<dyn Relocate>);

/// The golden drive on that flash, with a buffer of two program operations for each die.
fn timed(config: &Config, layout: Layout) -> Timed {
    let timing = profile().timing.unwrap();
    let timing = Timing {
        write_buffer_bytes: 2 * layout.dies() * timing.program_bytes(),
        ..timing
    };
    let relocation = RelocationKind::Mixed.build(config);
    let device = TimedDevice::new(
        config.clone(),
        timing,
        layout,
        Issue::Closed {
            queue_depth: QUEUE_DEPTH,
        },
        &*relocation,
    );
    (device.unwrap(), relocation)
}

fn write((device, relocation): &mut Timed, first: u32, count: u32) {
    let request = Request::Write {
        pages: PageRange::new(first, count),
        stream: StreamId::DEFAULT,
    };
    device.submit(&mut **relocation, 0, request).unwrap();
}

fn fill(device: &mut Timed, overwrites: &[u32]) {
    for first in (0..PAGES).step_by(256) {
        write(device, first, 256);
    }
    for &page in overwrites {
        write(device, page, 1);
    }
}

fn time(criterion: &mut Criterion) {
    let config = profile().resolve("golden").unwrap();
    let layout = profile().layout();
    let wide = Layout {
        channels: 8,
        dies_per_channel: 8,
        dies_per_unit: 64,
    };
    let workloads = [
        ("uniform", workload::uniform(PAGES, 6, 1)),
        ("zipf 0.9", workload::zipf(PAGES, 6, 1)),
    ];
    for (name, overwrites) in &workloads {
        let sample = &overwrites[..WRITES];
        let mut group = criterion.benchmark_group(format!("flash page-writes, {name}"));
        group.sample_size(20);
        for (dies, layout) in [("8 dies", layout), ("64 dies", wide)] {
            let mut device = timed(&config, layout);
            fill(&mut device, overwrites);
            // In the steady state each sample of the same length costs as many copies.
            let before = *device.0.device().counters();
            sample.iter().for_each(|&page| write(&mut device, page, 1));
            let media_pages = device.0.device().counters().since(&before).media_pages();
            group.throughput(Throughput::Elements(media_pages));
            group.bench_function(format!("timed, {dies}, queue of 32"), |bencher| {
                bencher.iter(|| sample.iter().for_each(|&page| write(&mut device, page, 1)));
            });
        }
        let mut plain = Driven::new(&config, RelocationKind::Mixed).unwrap();
        let all = PageRange::new(0, PAGES);
        plain.write(all, StreamId::DEFAULT).unwrap();
        plain
            .write_scattered(overwrites, StreamId::DEFAULT)
            .unwrap();
        group.bench_function("not timed, page by page", |bencher| {
            bencher.iter(|| {
                for &page in sample {
                    let page = PageRange::new(page, 1);
                    plain.write(page, StreamId::DEFAULT).unwrap();
                }
            });
        });
        group.finish();
    }
}

criterion_group!(benches, time);
criterion_main!(benches);
