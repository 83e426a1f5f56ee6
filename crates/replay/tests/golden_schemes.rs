//! Published separation schemes against what SepBIT's simulator measured on the same workloads.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod golden;
#[path = "../../ssd/tests/workload/mod.rs"]
mod workload;

use anabranch_ssd::{Config, profile::Profile};
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
    let measured = waf(scheme, &drive(), overwrites);
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
    ] {
        assert_near(scheme, &overwrites, published, 0.02);
    }
    // Groups are found anew at a sixteenth of the simulator's rate, and no unit without live pages
    // enters their means: docs/schemes.md.
    assert_near("sfs", &overwrites, 3.374, 0.07);
}

#[test]
fn schemes_that_fit_themselves_to_the_drive_copy_less_than_sepbit() {
    let overwrites = workload::zipf(PAGES, ROUNDS, 1);
    let measured = ["sepbit", "midas", "dogi"].map(|scheme| waf(scheme, &drive(), &overwrites));
    println!("sepbit, midas, dogi: {measured:.3?}");
    // MiDAS has had one configuration by then, and its second is better; see docs/schemes.md.
    assert!(measured[1] < measured[0], "{measured:?}");
    assert!(measured[2] < 0.9 * measured[1], "{measured:?}");
}
