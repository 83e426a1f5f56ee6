//! Cost of a write on drives of 4 GiB to 16 TB: uniform overwrites, greedy, one stream, beside
//! random updates of a table as large as the drive's mapping, in ordinary memory and in huge pages, by turns. Time is the
//! thread's on a processor.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

use std::{hint::black_box, time::Duration};

use anabranch_ssd::{Config, PageRange, StreamId, relocate::RelocationKind};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memmap2::{Advice, MmapMut};

mod cpu_time;
#[path = "../tests/driven/mod.rs"]
mod driven;

use cpu_time::CpuTime;
use driven::Driven;

/// Turns of both, since what else runs takes of the caches.
const ROUNDS: u32 = 3;

/// Overwrites in one sample.
const WRITES: u64 = 1 << 22;
/// Overwrites before the first sample at most.
const MOST_AGING: u64 = 1 << 29;
/// Page numbers drawn at a time, so that drawing them costs no memory.
const CHUNK: usize = 4096;

/// Spare flash as a share of all flash, as on the golden drive.
const SPARE: f64 = 0.15;

struct Size {
    name: &'static str,
    logical_pages: u32,
    page_bytes: u32,
    unit_bytes: u64,
}

const SIZES: [Size; 4] = [
    Size {
        name: "4 GiB",
        logical_pages: 1 << 20,
        page_bytes: 4096,
        unit_bytes: 4 << 20,
    },
    Size {
        name: "64 GiB",
        logical_pages: 1 << 24,
        page_bytes: 4096,
        unit_bytes: 16 << 20,
    },
    Size {
        name: "1 TiB",
        logical_pages: 1 << 28,
        page_bytes: 4096,
        unit_bytes: 64 << 20,
    },
    Size {
        name: "16 TB, 16 KiB pages",
        logical_pages: 976_562_500,
        page_bytes: 16_384,
        unit_bytes: 1 << 30,
    },
];

/// Vigna's splitmix64, and Lemire's multiplication for a number below a bound.
struct Draw(u64);

impl Draw {
    fn page(&mut self, pages: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((mixed ^ (mixed >> 31)) >> 32) * u64::from(pages)) >> 32) as u32
    }
}

fn drive(size: &Size) -> Config {
    let pages_per_unit = (size.unit_bytes / u64::from(size.page_bytes)) as u32;
    let units = f64::from(size.logical_pages) / (1.0 - SPARE) / f64::from(pages_per_unit);
    Config {
        page_bytes: size.page_bytes,
        ..Config::new(size.logical_pages, pages_per_unit, units.ceil() as u32)
    }
}

fn overwrite(device: &mut Driven, draw: &mut Draw, writes: u64) {
    let mut chunk = [0; CHUNK];
    let pages = device.config().logical_pages;
    for _ in 0..writes / CHUNK as u64 {
        chunk.fill_with(|| draw.page(pages));
        device.write_scattered(&chunk, StreamId::DEFAULT).unwrap();
    }
}

/// Bytes this process holds in memory.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

type Group<'a> = criterion::BenchmarkGroup<'a, CpuTime>;

fn group<'a>(criterion: &'a mut Criterion<CpuTime>, name: &str, elements: u64) -> Group<'a> {
    let mut group = criterion.benchmark_group(name);
    group
        .throughput(Throughput::Elements(elements))
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    group
}

fn overwrite_table(table: &mut [u32], draw: &mut Draw, updates: u64) {
    for _ in 0..updates {
        let entry = draw.page(table.len() as u32) as usize;
        table[entry] = table[entry].wrapping_add(1);
    }
    black_box(table);
}

/// A device after so many overwrites that victims are what they will be, and the flash pages that `WRITES` more take.
fn aged(size: &Size, draw: &mut Draw) -> (Driven, u64) {
    let before = resident_bytes();
    let config = drive(size);
    let mut device = Driven::new(&config, RelocationKind::Mixed).unwrap();
    let all = PageRange::new(0, size.logical_pages);
    device.write(all, StreamId::DEFAULT).unwrap();
    // After two capacities victims are what they will be for ever, to a few percent. The largest
    // drive gets fewer, so that the whole ends in minutes; its WAF says how far it has come.
    let aging = (2 * u64::from(size.logical_pages)).min(MOST_AGING);
    overwrite(&mut device, draw, aging);
    let then = *device.counters();
    overwrite(&mut device, draw, WRITES);
    let since = device.counters().since(&then);
    let bytes = (resident_bytes() - before) as f64 / f64::from(size.logical_pages);
    eprintln!(
        "{}: WAF {:.3}, {bytes:.2} bytes of memory a logical page",
        size.name,
        since.waf().unwrap()
    );
    (device, since.media_pages())
}

fn by_turns(criterion: &mut Criterion<CpuTime>, size: &Size) {
    let mut draw = Draw(1);
    let (mut device, media_pages) = aged(size, &mut draw);
    let mut ordinary = vec![0_u32; size.logical_pages as usize];
    let mut huge = MmapMut::map_anon(4 * size.logical_pages as usize).unwrap();
    huge.advise(Advice::HugePage).unwrap();
    let mut tables = [
        ("random 4-byte updates", &mut ordinary[..]),
        (
            "random 4-byte updates in huge pages",
            bytemuck::cast_slice_mut(&mut huge),
        ),
    ];
    for (_, table) in &mut tables {
        overwrite_table(table, &mut draw, u64::from(size.logical_pages));
    }
    for round in 1..=ROUNDS {
        let name = format!("{}, round {round}", size.name);
        for (what, table) in &mut tables {
            let mut updates = group(criterion, &format!("sizes, {what}"), WRITES);
            updates.bench_function(&name, |bencher| {
                bencher.iter(|| overwrite_table(table, &mut draw, WRITES));
            });
            updates.finish();
        }
        let mut writes = group(criterion, "sizes, flash page-writes", media_pages);
        writes.bench_function(&name, |bencher| {
            bencher.iter(|| overwrite(&mut device, &mut draw, WRITES));
        });
        writes.finish();
    }
}

fn sizes(criterion: &mut Criterion<CpuTime>) {
    for size in &SIZES {
        by_turns(criterion, size);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = sizes
}
criterion_main!(benches);
