//! Flexible Data Placement: a namespace with two reclaim unit handles, writes with placement identifiers, and what the
//! device tells of them. `cargo run --release --example fdp`

#![allow(clippy::print_stdout)]

use anabranch_ssd::{
    PageRange,
    fdp::{FdpDevice, FdpEventKinds, PlacementIdentifier},
    profile::Profile,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut profile = Profile::shipped("fdp-8ruh")?;
    // Its 64 GiB are made 4 GiB, its reclaim units 16 MiB.
    profile.geometry.blocks_per_die = None;
    profile.geometry.logical_bytes = Some(4 << 30);
    profile.geometry.pages_per_block /= 16;
    let fdp = profile.fdp.as_mut().ok_or("the profile has no [fdp]")?;
    fdp.runs = None;
    let options = fdp.options();
    let mut device = FdpDevice::new(&profile.resolve("fdp-8ruh")?, &options)?;
    let pages = device.device().config().logical_pages;

    // Placement handles 0 and 1 of namespace 1 are the device's reclaim unit handles 2 and 5.
    device.create_namespace(1, &[2, 5])?;
    device.enable_events(1, 0, FdpEventKinds::ALL, true)?;
    let log = Some(PlacementIdentifier(1));
    device.write(1, PageRange::new(0, pages), None)?;
    for _ in 0..8 {
        device.write(1, PageRange::new(0, pages / 4), log)?;
    }
    // No handle has that identifier: the write is done, and the device records an event.
    device.write(1, PageRange::new(0, 1), Some(PlacementIdentifier(7)))?;

    println!(
        "write amplification: {:.3}",
        device.statistics().waf().unwrap_or_default()
    );
    for event in device.events().host() {
        println!("host event: {:?}", event.kind);
    }
    for unit in device.status(1)? {
        println!("{unit:?}");
    }
    Ok(())
}
