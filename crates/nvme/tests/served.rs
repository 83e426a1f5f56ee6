//! A drive served, and used by the host of the tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use anabranch_initiator::{Host, HostOptions, Tag};
use anabranch_nvme::{
    Options, Server, Target, Totals,
    drive::{Drive, Placed, Watch},
    store::Store,
};
use anabranch_ssd::{Device, Profile, RelocationKind};

const NAME: &str = "nqn.2026-01.test:drive";

fn serve(drive: Drive) -> (Arc<Target>, Server) {
    let store = Store::memory(drive.config().logical_bytes());
    let target = Target::new(Options::new(NAME), drive, store, Totals::default(), None).unwrap();
    let server = Server::start(Arc::clone(&target), "127.0.0.1:0".parse().unwrap()).unwrap();
    (target, server)
}

fn streams() -> Drive {
    let profile = Profile::parse("demo", Profile::text("demo").unwrap()).unwrap();
    let config = profile.resolve("demo").unwrap();
    let fixed = Placed::fixed(RelocationKind::Gc, &config);
    Drive::streams(
        Device::watched(config, fixed, Watch::default()).unwrap(),
        false,
    )
}

#[test]
fn what_is_written_is_read() {
    let (target, server) = serve(streams());
    let mut host = Host::connect(server.address(), &HostOptions::numbered(NAME, 1)).unwrap();
    let data: Vec<u8> = (0..1 << 20).map(|step: u32| (step >> 8) as u8).collect();
    host.write(3, &data[..4096], Tag::default()).unwrap();
    host.write(1000, &data, Tag::default()).unwrap();
    assert_eq!(host.read(3, 1).unwrap(), &data[..4096]);
    assert_eq!(host.read(1000, 256).unwrap(), data);
    assert_eq!(target.drive().counters().host_pages, 257);
    host.flush().unwrap();
    host.shut_down().unwrap();
}
