//! Latency of requests: random writes and reads on a small drive with simulated flash.
//! `cargo run --release --example latency`

#![allow(clippy::print_stdout)]

use anabranch_ssd::{
    PageRange, StreamId,
    profile::Profile,
    time::{Issue, Request, TimedDevice},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let profile = Profile::shipped("demo")?;
    let config = profile.resolve("demo")?;
    let timing = profile.timing.ok_or("the profile has no [timing]")?;
    let pages = config.logical_pages;
    let issue = Issue::Closed { queue_depth: 32 };
    let mut device = TimedDevice::new(config, timing, profile.layout(), issue, &())?;
    let stream = StreamId::DEFAULT;
    for first in (0..pages - 64).step_by(64) {
        let pages = PageRange::new(first, 64);
        device.submit(&mut (), 0, Request::Write { pages, stream })?;
    }
    // The report is of what follows.
    device.restart_report();
    let mut random = 1_u32;
    for step in 0..2 * pages {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pages = PageRange::new((random >> 8) % pages, 1);
        let request = match step % 2 {
            0 => Request::Write { pages, stream },
            _ => Request::Read { pages },
        };
        device.submit(&mut (), 0, request)?;
    }
    device.drain();
    let report = device.report();
    for (name, latency) in [
        ("write", report.latency.write),
        ("read", report.latency.read),
    ] {
        let (p50_us, p99_us) = (latency.p50_ns / 1000, latency.p99_ns / 1000);
        println!("{name}: half within {p50_us} us, 99 % within {p99_us} us");
    }
    println!("dies busy: {:.0} %", 100.0 * report.die_utilisation);
    Ok(())
}
