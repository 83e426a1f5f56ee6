//! Host page-writes per second of a lane, on the demo's recorded RocksDB trace, one core.

#![allow(missing_docs, clippy::unwrap_used)]

use anabranch_replay::Lane;
use anabranch_ssd::{Config, profile::Profile};
use anabranch_trace::{Io, Reader};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../traces/rocksdb-demo.parquet"
);

fn lane(scheme: &str, drive: &Config) -> Lane {
    Lane::build(
        &scheme.parse().unwrap(),
        drive,
        &anabranch_replay::Start::default(),
    )
    .unwrap()
}

fn replay(criterion: &mut Criterion) {
    let ios: Vec<Io> = Reader::open(TRACE).unwrap().map(Result::unwrap).collect();
    let profile = Profile::shipped("demo").unwrap();
    let drive = profile.resolve("demo").unwrap();
    let mut whole = lane("baseline", &drive);
    ios.iter().for_each(|io| whole.apply(io).unwrap());
    let mut group = criterion.benchmark_group("replay of rocksdb-demo, host pages");
    group
        .throughput(Throughput::Elements(whole.counters().host_pages))
        .sample_size(10);
    for scheme in [
        "baseline",
        "baseline+gc",
        "hints",
        "autostream-sfr",
        "pcstream*",
        "pcstream",
    ] {
        group.bench_function(scheme, |bencher| {
            bencher.iter_batched(
                || lane(scheme, &drive),
                |mut lane| {
                    ios.iter().for_each(|io| lane.apply(io).unwrap());
                    lane
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, replay);
criterion_main!(benches);
