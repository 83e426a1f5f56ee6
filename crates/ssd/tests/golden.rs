//! Other people's figures for the same workloads. NoSep (one stream, copies mixed) and SepGC
//! (copies in a unit of their own) are SepBIT's simulator's; an independent one and a closed form
//! agree on NoSep to a part in a thousand.

mod workload;

use anabranch_ssd::{Device, PageRange, Profile, RelocationKind, StreamId};

/// WAF over the last five of ten rounds of overwrites on the golden drive.
fn waf(overwrites: &[u32], kind: RelocationKind) -> f64 {
    let profile = Profile::parse("golden", Profile::text("golden").unwrap()).unwrap();
    let config = profile.resolve("golden").unwrap();
    let mut device = Device::new(config.clone(), kind.build(&config)).unwrap();
    device
        .write(PageRange::new(0, config.logical_pages), StreamId::DEFAULT)
        .unwrap();
    let (first, last) = overwrites.split_at(overwrites.len() / 2);
    device.write_scattered(first, StreamId::DEFAULT).unwrap();
    let half = *device.counters();
    device.write_scattered(last, StreamId::DEFAULT).unwrap();
    device.counters().since(&half).waf().unwrap()
}

fn assert_near(measured: f64, published: f64, tolerance: f64) {
    let error = (measured / published - 1.0).abs();
    assert!(
        error < tolerance,
        "measured {measured:.4}, published {published}: {:.2} % apart",
        error * 100.0
    );
}

const PAGES: u32 = 1 << 20;
const ROUNDS: u32 = 10;

#[test]
fn uniform_overwrites_cost_what_two_simulators_say() {
    let overwrites = workload::uniform(PAGES, ROUNDS, 1);
    assert_near(waf(&overwrites, RelocationKind::Mixed), 3.510, 0.005);
    assert_near(waf(&overwrites, RelocationKind::Gc), 3.510, 0.01);
}

#[test]
fn zipf_overwrites_cost_what_two_simulators_say() {
    let overwrites = workload::zipf(PAGES, ROUNDS, 1);
    assert_near(waf(&overwrites, RelocationKind::Mixed), 4.895, 0.005);
    assert_near(waf(&overwrites, RelocationKind::Gc), 3.864, 0.01);
}
