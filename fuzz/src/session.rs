//! What must hold whatever a host says: on its admin queue's connection, then on an I/O queue's.
//!
//! The fuzz target and the tests of `crates/host/nvme` share this.

use std::sync::Arc;

use anabranch_nvme::{
    Options, Target, Totals, converse,
    drive::{ServedDrive, Watch},
    namespace::Wanted,
    pdu::{Digests, Framing, Pdu, Side},
    store::Store,
};
use anabranch_ssd::{
    Config, Device,
    fdp::{FdpDevice, FdpOptions},
    profile::Profile,
    relocate::RelocationKind,
};

/// The name of the target.
pub const SUBSYSTEM: &str = "nqn.2014-08.org.example:fuzz";

/// A drive of 4 MiB, with streams or with placement identifiers.
fn target(fdp: bool) -> Arc<Target> {
    let text = Profile::text("demo").unwrap_or_default();
    let config = Profile::parse("demo", text).and_then(|profile| profile.resolve("demo"));
    let config = Config {
        logical_pages: 1024,
        pages_per_unit: 32,
        physical_units: 32 + 24,
        internal_streams: 1,
        ..config.expect("a shipped profile")
    };
    let drive = if fdp {
        let device = FdpDevice::watched(&config, &FdpOptions::default(), Watch::default());
        ServedDrive::fdp(device.expect("a drive"))
    } else {
        let relocation = RelocationKind::Gc.build(&config);
        let device = Device::watched(config, &*relocation, Watch::default());
        ServedDrive::streams(device.expect("a drive"), Box::new(relocation), false)
    };
    let drive = parted(drive);
    let store = Store::memory(drive.config().logical_bytes());
    Target::new(
        Options::new(SUBSYSTEM),
        drive,
        store,
        Totals::default(),
        None,
    )
    .expect("a target")
}

/// Two namespaces, the second of blocks of 512 bytes, and a quarter that is none's.
fn parted(drive: ServedDrive) -> ServedDrive {
    let handles =
        |handles: std::ops::Range<u16>| drive.as_fdp().map_or(vec![], |_| handles.collect());
    let wanted = |bytes, block_shift, handles| Wanted {
        bytes: Some(bytes),
        block_shift,
        shared: true,
        handles,
    };
    let parts = [
        wanted(2 << 20, 12, handles(0..4)),
        wanted(1 << 20, 9, handles(2..6)),
    ];
    drive.with(&parts).expect("room for both")
}

/// ICReq without digests, and Connect to a queue.
pub fn greeting(queue: u16, controller: u16) -> Vec<u8> {
    let mut out = vec![0; 128];
    (out[2], out[4]) = (128, 128);
    let mut entry = [0; 64];
    (entry[0], entry[1], entry[4]) = (0x7f, 0x40, 0x01);
    entry[32..36].copy_from_slice(&1024_u32.to_le_bytes());
    entry[39] = 0x01;
    entry[42..44].copy_from_slice(&queue.to_le_bytes());
    entry[44] = 31;
    let mut data = [0; 1024];
    data[0] = 7;
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + SUBSYSTEM.len()].copy_from_slice(SUBSYSTEM.as_bytes());
    data[512..520].copy_from_slice(b"nqn.host");
    capsule(&mut out, &entry, &data);
    out
}

/// CapsuleCmd.
pub fn capsule(out: &mut Vec<u8>, entry: &[u8; 64], data: &[u8]) {
    out.extend_from_slice(&[0x04, 0, 72, if data.is_empty() { 0 } else { 72 }]);
    out.extend_from_slice(&(72 + data.len() as u32).to_le_bytes());
    out.extend_from_slice(entry);
    out.extend_from_slice(data);
}

/// Property Set of CC: enabled.
pub fn enable() -> Vec<u8> {
    let mut entry = [0; 64];
    (entry[0], entry[1], entry[44]) = (0x7f, 0x40, 0x14);
    entry[48..52].copy_from_slice(&0x0046_0001_u32.to_le_bytes());
    let mut out = Vec::new();
    capsule(&mut out, &entry, &[]);
    out
}

/// Both connections' bytes. The first byte says what the drive is and whether greetings go before, so that a
/// fuzzer need not find them; the next two, how many bytes are the admin queue's.
pub fn session(input: &[u8]) -> Vec<Vec<u8>> {
    let Some((&[how, low, high], rest)) = input.split_first_chunk() else {
        return Vec::new();
    };
    let length = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
    let (admin, io) = rest.split_at(length);
    let (mut admin, mut io) = (admin.to_vec(), io.to_vec());
    if how & 2 == 0 {
        admin.splice(0..0, [greeting(0, 0xffff), enable()].concat());
        io.splice(0..0, greeting(1, 1));
    }
    let target = target(how & 1 != 0);
    let said = converse(&target, &[&admin, &io]);
    for answers in &said {
        well_formed(answers);
    }
    target.drive().verify().expect("the drive is consistent");
    assert!(
        target.hosts().is_empty(),
        "a host is left: {:?}",
        target.hosts()
    );
    said
}

/// What a controller says is made of whole units that a host can read. Digests are what was agreed on.
fn well_formed(answers: &[u8]) {
    let mut framing = Framing {
        sender: Side::Controller,
        digests: Digests::default(),
        most_data: 1 << 20,
    };
    let mut rest = answers;
    while !rest.is_empty() {
        let length = framing
            .length(rest)
            .expect("a unit of a controller")
            .expect("a whole header");
        let (unit, later) = rest.split_at(length);
        if let Pdu::InitializeResponse(agreed) =
            framing.decode(unit).expect("a unit that can be read")
        {
            framing.digests = agreed.digests;
        }
        rest = later;
    }
}
