//! Flash page-writes per second (host writes and copies) with time simulated, on the golden drive,
//! one core, closed loop: every page a request of its own, its latency recorded. Beside it the same
//! overwrites without time.

#![allow(missing_docs, clippy::unwrap_used)]

use anabranch_ssd::{
    Config, Device, Drive, PageRange, Profile, RelocationKind, Request, StreamId, TimedDevice,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[path = "../tests/workload/mod.rs"]
mod workload;

const PAGES: u32 = 1 << 20;
/// Overwrites in one sample.
const WRITES: usize = 1 << 20;
const QUEUE_DEPTH: u32 = 32;

fn profile() -> Profile {
    Profile::parse("golden", Profile::text("golden").unwrap()).unwrap()
}

fn timed(config: &Config) -> TimedDevice {
    let profile = profile();
    TimedDevice::new(
        config.clone(),
        profile.timing.unwrap(),
        profile.layout(),
        Drive::Closed {
            queue_depth: QUEUE_DEPTH,
        },
        RelocationKind::Mixed.build(config),
    )
    .unwrap()
}

fn write(device: &mut TimedDevice, first: u32, count: u32) {
    let request = Request::Write {
        pages: PageRange::new(first, count),
        stream: StreamId::DEFAULT,
    };
    device.submit(0, request).unwrap();
}

fn time(criterion: &mut Criterion) {
    let config = profile().resolve("golden").unwrap();
    let workloads = [
        ("uniform", workload::uniform(PAGES, 6, 1)),
        ("zipf 0.9", workload::zipf(PAGES, 6, 1)),
    ];
    for (name, overwrites) in &workloads {
        let mut plain = Device::new(config.clone(), RelocationKind::Mixed.build(&config)).unwrap();
        let mut device = timed(&config);
        for first in (0..PAGES).step_by(256) {
            write(&mut device, first, 256);
        }
        plain
            .write(PageRange::new(0, PAGES), StreamId::DEFAULT)
            .unwrap();
        plain
            .write_scattered(overwrites, StreamId::DEFAULT)
            .unwrap();
        for &page in overwrites {
            write(&mut device, page, 1);
        }
        // In the steady state each sample of the same length costs as many copies.
        let before = *device.device().counters();
        for &page in &overwrites[..WRITES] {
            write(&mut device, page, 1);
        }
        let media_pages = device.device().counters().since(&before).media_pages();
        let mut group = criterion.benchmark_group("flash page-writes");
        group
            .throughput(Throughput::Elements(media_pages))
            .sample_size(20);
        group.bench_function(format!("{name}, greedy, timed, queue of 32"), |bencher| {
            bencher.iter(|| {
                for &page in &overwrites[..WRITES] {
                    write(&mut device, page, 1);
                }
            });
        });
        group.bench_function(
            format!("{name}, greedy, not timed, page by page"),
            |bencher| {
                bencher.iter(|| {
                    for &page in &overwrites[..WRITES] {
                        plain
                            .write(PageRange::new(page, 1), StreamId::DEFAULT)
                            .unwrap();
                    }
                });
            },
        );
        group.finish();
    }
}

criterion_group!(benches, time);
criterion_main!(benches);
