//! A target served to tests, in memory, on a port of its own.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anabranch_initiator::{Entry, Host, HostOptions, Queue, Transfer};
use anabranch_nvme::{
    Options, Server, Target, Totals,
    drive::{ServedDrive, Watch},
    store::Store,
};
use anabranch_ssd::{
    Config, Device,
    fdp::{FdpDevice, FdpOptions},
    profile::Profile,
    relocate::RelocationKind,
};

/// The subsystem's name.
pub const SUBSYSTEM: &str = "nqn.2014-08.org.example:drive";

/// A drive that is served as long as this lives.
pub struct Served {
    pub target: Arc<Target>,
    /// Address at which it listens.
    pub address: SocketAddr,
    server: Server,
}

/// A drive of 32 MiB in units of 512 KiB, with eight streams.
pub fn config() -> Config {
    let profile = Profile::shipped("demo").unwrap();
    Config {
        logical_pages: 8192,
        page_bytes: 4096,
        pages_per_unit: 128,
        physical_units: 64 + 24,
        host_streams: 8,
        internal_streams: 1,
        ..profile.resolve("demo").unwrap()
    }
}

/// A drive with the Streams Directive.
pub fn streams_drive(shared: bool) -> ServedDrive {
    let config = config();
    let relocation = RelocationKind::Gc.build(&config);
    let device = Device::watched(config, &*relocation, Watch::default()).unwrap();
    ServedDrive::streams(device, Box::new(relocation), shared)
        .whole(4096)
        .unwrap()
}

/// A drive with Flexible Data Placement: eight handles, initially isolated.
pub fn fdp_drive() -> ServedDrive {
    let device = FdpDevice::watched(&config(), &FdpOptions::default(), Watch::default()).unwrap();
    ServedDrive::fdp(device).whole(4096).unwrap()
}

impl Served {
    /// Serves a drive.
    pub fn new(drive: ServedDrive, change: impl FnOnce(&mut Options)) -> Served {
        let mut options = Options::new(SUBSYSTEM);
        change(&mut options);
        let store = Store::memory(drive.config().logical_bytes());
        let target = Target::new(options, drive, store, Totals::default(), None).unwrap();
        let server = Server::start(Arc::clone(&target), "127.0.0.1:0".parse().unwrap()).unwrap();
        Served {
            address: server.address(),
            target,
            server,
        }
    }

    /// With the Streams Directive.
    pub fn streams() -> Served {
        Served::new(streams_drive(false), |_| {})
    }

    /// With Flexible Data Placement.
    pub fn fdp() -> Served {
        Served::new(fdp_drive(), |_| {})
    }

    /// To some hosts alone.
    pub fn allowing(hosts: &[&str]) -> Served {
        Served::new(streams_drive(false), |options| {
            options.allowed_hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        })
    }

    /// With little patience.
    pub fn impatient(patience: Duration) -> Served {
        Served::new(streams_drive(false), |options| options.patience = patience)
    }

    /// With logical blocks of so many bytes.
    pub fn with_blocks_of(bytes: u32) -> Served {
        let drive = streams_drive(false).without_namespaces();
        Served::new(drive.whole(bytes).unwrap(), |_| {})
    }

    /// A host, by its number.
    pub fn host(&self, number: u8) -> Host {
        Host::connect(self.address, &HostOptions::numbered(SUBSYSTEM, number)).unwrap()
    }

    /// Pages written into each host stream of the device, the default stream first.
    pub fn pages_of_streams(&self) -> Vec<u64> {
        let drive = self.target.drive();
        let host = usize::from(drive.config().host_streams);
        drive.stream_counters()[..host]
            .iter()
            .map(|stream| stream.host_pages)
            .collect()
    }
}

/// Bytes that depend on a number and on their place.
pub fn pattern(number: u64, length: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(length);
    out
}

/// The status number of an admin command.
pub fn admin(host: &mut Host, entry: Entry, transfer: Transfer) -> u16 {
    status(&mut host.admin, entry, transfer)
}

/// The status number of an I/O command.
pub fn io(host: &mut Host, entry: Entry, transfer: Transfer) -> u16 {
    status(host.io().unwrap(), entry, transfer)
}

/// The status number of a queue's command.
pub fn status(queue: &mut Queue, entry: Entry, transfer: Transfer) -> u16 {
    queue.run(entry, transfer).unwrap().status.number()
}
