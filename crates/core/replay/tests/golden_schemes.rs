//! Published separation schemes against what SepBIT's simulator measured on the same workloads.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod golden;
#[path = "../../ssd/tests/workload/mod.rs"]
mod workload;

use anabranch_ssd::{Config, profile::Profile, victims::VictimRule};
use golden::{PAGES, ROUNDS, waf};

/// The golden drive with six host streams, as the simulator has six open segments, and internal
/// ones for schemes that keep copies apart.
fn drive() -> Config {
    let profile = Profile::shipped("golden").unwrap();
    Config {
        host_streams: 6,
        internal_streams: 5,
        ..profile.resolve("golden").unwrap()
    }
}

fn assert_near(scheme: &str, overwrites: &[u32], published: f64, tolerance: f64) {
    assert_near_on(&drive(), scheme, overwrites, published, tolerance);
}

fn assert_near_on(
    drive: &Config,
    scheme: &str,
    overwrites: &[u32],
    published: f64,
    tolerance: f64,
) {
    let measured = waf(scheme, drive, overwrites);
    let apart = measured / published - 1.0;
    println!(
        "{scheme}: measured {measured:.4}, published {published:.3}: {:+.2} %",
        apart * 100.0
    );
    assert!(
        apart.abs() < tolerance,
        "{scheme}: measured {measured:.4}, published {published:.3}: {:+.2} % apart",
        apart * 100.0
    );
}

#[test]
fn uniform_overwrites_cost_what_the_simulator_says() {
    let overwrites = workload::uniform(PAGES, ROUNDS, 1);
    for (scheme, published) in [("dac", 3.510), ("sepbit", 3.511), ("warcip", 3.510)] {
        assert_near(scheme, &overwrites, published, 0.02);
    }
}

#[test]
fn zipf_overwrites_cost_what_the_simulator_says() {
    let overwrites = workload::zipf(PAGES, ROUNDS, 1);
    for (scheme, published) in [
        ("dac", 3.066),
        ("sepbit", 3.111),
        ("warcip", 3.800),
        ("fadac", 2.995),
        ("multilog", 3.315),
        ("eti", 3.417),
    ] {
        assert_near(scheme, &overwrites, published, 0.02);
    }
    // Copies that find no unit for their group join a neighbour's, which the simulator never needs: docs/schemes.md.
    assert_near("sfs", &overwrites, 3.374, 0.03);
    let by_age = Config {
        victim_rule: VictimRule::CostBenefitRoot,
        ..drive()
    };
    assert_near_on(&by_age, "sfs", &overwrites, 2.537, 0.03);
    // Before its first configuration; the authors' simulator has 2.73 to 2.74.
    assert_near("midas:epoch=64", &overwrites, 2.735, 0.03);
}

#[test]
fn schemes_that_fit_themselves_to_the_drive_copy_less_than_sepbit() {
    let overwrites = workload::zipf(PAGES, ROUNDS, 1);
    let measured = ["sepbit", "midas", "dogi"].map(|scheme| waf(scheme, &drive(), &overwrites));
    println!("sepbit, midas, dogi: {measured:.3?}");
    assert!(measured[1] < 0.9 * measured[0], "{measured:?}");
    assert!(measured[2] < measured[1], "{measured:?}");
}
