//! Cost of learning: the lifetime table per page, a clustering per call.
//! `cargo bench -p anabranch-lifetime`

#![allow(missing_docs)]

use std::hint::black_box;

use anabranch_lifetime::{Averaging, ContextStats, DEFAULT_TABLE_BYTES, LbaTable, Weighted};
use anabranch_trace::ContextId;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const DRIVE_PAGES: u32 = 300_000;
const WRITES: u32 = 4096;

/// A multiplicative generator: cheap beside what is measured, the same on every run.
fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    (*state >> 33) as usize
}

fn table(c: &mut Criterion) {
    let mut group = c.benchmark_group("lba_table");
    for extent_pages in [1, 92] {
        let mut table = LbaTable::new(DRIVE_PAGES, DEFAULT_TABLE_BYTES);
        let mut stats = vec![ContextStats::default(); 16];
        let averaging = Averaging::new(0.125, 256);
        let (mut now, mut state) = (0, 1);
        group.throughput(Throughput::Elements(u64::from(WRITES) * extent_pages));
        group.bench_function(format!("write_{extent_pages}_pages"), |b| {
            b.iter(|| {
                for _ in 0..WRITES {
                    let slots = DRIVE_PAGES as usize / extent_pages as usize;
                    let first = next(&mut state) % slots * extent_pages as usize;
                    let pages = first..first + extent_pages as usize;
                    let context = ContextId(next(&mut state) as u32 % 16);
                    table.write(pages, context, now, |d| {
                        let stats = &mut stats[d.context.0 as usize];
                        stats.record_death(d.pages, d.lifetime_pages, averaging);
                    });
                    now += extent_pages;
                }
            })
        });
    }
}

fn cluster(c: &mut Criterion) {
    let mut state = 1;
    let mut points = Vec::new();
    for _ in 0..1024 {
        points.push(Weighted {
            value: next(&mut state) as f64 / f64::from(1 << 26),
            weight: (1 + next(&mut state) % 100_000) as f64,
        });
    }
    c.bench_function("cluster_1024_values_in_8_groups", |b| {
        b.iter(|| anabranch_lifetime::cluster(black_box(&points), 8, 0.0))
    });
    c.bench_function("cluster_20_values_in_7_groups", |b| {
        b.iter(|| anabranch_lifetime::cluster(black_box(&points[..20]), 7, 0.0))
    });
}

criterion_group!(benches, table, cluster);
criterion_main!(benches);
