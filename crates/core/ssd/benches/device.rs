//! Flash page-writes per second (host writes and copies) of the device on the golden drive, one
//! core, beside the memory's own speed: random updates of a table of 4-byte entries as large as
//! the device's mapping.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use anabranch_ssd::{
    Config, Device, Keeps, PageRange, StreamId, profile::Profile, relocate::RelocationKind,
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

fn memory(criterion: &mut Criterion) {
    let updates = workload::uniform(PAGES, 1, 1);
    let mut table = vec![0_u32; PAGES as usize];
    let mut group = criterion.benchmark_group("memory");
    group.throughput(Throughput::Elements(updates.len() as u64));
    group.bench_function("random 4-byte updates, 4 MiB table", |bencher| {
        bencher.iter(|| {
            for &entry in &updates {
                table[entry as usize] = table[entry as usize].wrapping_add(1);
            }
            black_box(&mut table);
        });
    });
    group.finish();
}

fn device(criterion: &mut Criterion) {
    let profile = Profile::shipped("golden").unwrap();
    let config = profile.resolve("golden").unwrap();
    let workloads = [
        ("uniform", workload::uniform(PAGES, 6, 1)),
        ("zipf 0.9", workload::zipf(PAGES, 6, 1)),
    ];
    for (name, overwrites) in &workloads {
        for kind in [
            RelocationKind::Mixed,
            RelocationKind::Gc,
            RelocationKind::SUBSTREAM,
        ] {
            let mut device = Driven::new(&config, kind).unwrap();
            device
                .write(PageRange::new(0, PAGES), StreamId::DEFAULT)
                .unwrap();
            device
                .write_scattered(overwrites, StreamId::DEFAULT)
                .unwrap();
            // In the steady state each sample of the same length costs as many copies.
            let before = *device.counters();
            device
                .write_scattered(&overwrites[..WRITES], StreamId::DEFAULT)
                .unwrap();
            let media_pages = device.counters().since(&before).media_pages();
            let mut group = criterion.benchmark_group("device, flash page-writes");
            group
                .throughput(Throughput::Elements(media_pages))
                .sample_size(20);
            group.bench_function(format!("{name}, greedy, {kind}"), |bencher| {
                bencher.iter(|| {
                    device
                        .write_scattered(&overwrites[..WRITES], StreamId::DEFAULT)
                        .unwrap();
                });
            });
            group.finish();
        }
    }
}

/// Eight host streams by page number, survivors in substreams.
fn streams(criterion: &mut Criterion) {
    let profile = Profile::shipped("golden").unwrap();
    let mut config = profile.resolve("golden").unwrap();
    (config.host_streams, config.internal_streams) = (8, 8);
    let overwrites = workload::zipf(PAGES, 6, 1);
    let batches: Vec<(StreamId, Vec<u32>)> = overwrites
        .chunks(4096)
        .flat_map(|chunk| {
            (0..8_u16).map(|stream| {
                let own = |page: &&u32| **page % 8 == u32::from(stream);
                (
                    StreamId(stream),
                    chunk.iter().filter(own).copied().collect(),
                )
            })
        })
        .collect();
    let mut device = Driven::new(&config, RelocationKind::SUBSTREAM).unwrap();
    device
        .write(PageRange::new(0, PAGES), StreamId::DEFAULT)
        .unwrap();
    let mut write = |batches: &[(StreamId, Vec<u32>)]| {
        let before = *device.counters();
        for (stream, pages) in batches {
            device.write_scattered(pages, *stream).unwrap();
        }
        device.counters().since(&before).media_pages()
    };
    write(&batches);
    let sample = &batches[..WRITES / 4096 * 8];
    let media_pages = write(sample);
    let mut group = criterion.benchmark_group("device, flash page-writes");
    group
        .throughput(Throughput::Elements(media_pages))
        .sample_size(20);
    group.bench_function("zipf 0.9, greedy, 8 streams, substream", |bencher| {
        bencher.iter(|| write(sample));
    });
    group.finish();
}

/// Seeking a unit's survivors among the pages of a drive of 256 GiB that keeps units alone, half of which are dead, beside
/// reading a table as large.
fn sought(criterion: &mut Criterion) {
    const LARGE: u32 = 1 << 26;
    let config = Config::new(LARGE, 1 << 16, 1088);
    let mut device = Device::that_keeps(Keeps::Units, config, &()).unwrap();
    // An odd step: each page once, and those of a unit lie all over the drive.
    let pages = (0..LARGE).map(|step| step.wrapping_mul(2_654_435_761) % LARGE);
    let pages: Vec<u32> = pages.collect();
    device
        .write_scattered(&mut (), &pages, StreamId::DEFAULT)
        .unwrap();
    for &page in &pages[..1 << 15] {
        device.discard(PageRange::new(page, 1)).unwrap();
    }
    let unit = device.begin_emptying(&mut (), 1088).unwrap();
    let table = vec![1_u16; LARGE as usize];
    let mut group = criterion.benchmark_group("sought, pages looked at");
    group
        .throughput(Throughput::Elements(u64::from(LARGE)))
        .sample_size(10);
    group.bench_function("reading 2 bytes a page, 128 MiB table", |bencher| {
        bencher.iter(|| table.iter().fold(0_u16, |sum, &one| sum.wrapping_add(one)));
    });
    group.bench_function("survivors of one unit of 1,088", |bencher| {
        bencher.iter(|| {
            let mut unit = unit;
            while !unit.is_seen() {
                black_box(device.next_survivors(&mut unit));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, memory, device, streams, sought);
criterion_main!(benches);
