//! What is served in a run: a drive drawn from the seed, made new or from its state.

use std::{path::Path, sync::Arc};

use anabranch_nvme::{
    Checkpoint, Found,
    drive::{Drive, Watch},
    store::Contents,
};
use anabranch_ssd::{
    Config, Counters, Device, Faults, FdpDevice, FdpOptions, RelocationKind, StreamCounters,
};

use super::{disk::Disk, random::Random};

/// How the drive places writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Streams { shared: bool },
    Fdp,
}

/// What counts as a drive's state where hosts see it.
pub type Counted = (Counters, Vec<StreamCounters>);

#[derive(Debug)]
pub struct Plan {
    pub kind: Kind,
    pub config: Config,
    pub block_bytes: u64,
}

impl Plan {
    pub fn draw(random: &mut Random) -> Plan {
        let kind = random.of(&[
            Kind::Plain,
            Kind::Streams { shared: false },
            Kind::Streams { shared: false },
            Kind::Streams { shared: true },
            Kind::Fdp,
            Kind::Fdp,
        ]);
        let wears = random.one_in(8);
        let groups = if kind == Kind::Fdp {
            random.of(&[1, 1, 2])
        } else {
            1
        };
        let config = Config {
            host_streams: if kind == Kind::Plain { 1 } else { 8 },
            internal_streams: 1,
            reclaim_groups: groups,
            seed: random.draw(),
            faults: Faults {
                erases_per_failure: if wears { 6 } else { 0 },
                ..Faults::default()
            },
            ..Config::new(random.of(&[128, 128, 512]), 8, 0)
        };
        // So little spare that garbage is collected soon.
        let config = Config {
            physical_units: config.least_physical_units() as u32 + 3,
            ..config
        };
        Plan {
            kind,
            config,
            block_bytes: random.of(&[4096, 4096, 4096, 512]),
        }
    }

    pub fn blocks(&self) -> u64 {
        self.config.logical_bytes() / self.block_bytes
    }

    /// Pages that blocks touch, and one past the last.
    pub fn touched(&self, first: u64, count: u32) -> (u64, u64) {
        let (begin, end) = self.bytes(first, count);
        (begin / 4096, end.div_ceil(4096))
    }

    /// Pages that lie within blocks.
    pub fn covered(&self, first: u64, count: u32) -> (u64, u64) {
        let (begin, end) = self.bytes(first, count);
        (begin.div_ceil(4096), end / 4096)
    }

    fn bytes(&self, first: u64, count: u32) -> (u64, u64) {
        let begin = first * self.block_bytes;
        (begin, begin + u64::from(count) * self.block_bytes)
    }

    pub fn checkpoint(&self, disk: &Disk) -> Checkpoint {
        Checkpoint::at(Path::new("/drive/state"), "simulated").within(Arc::new(disk.clone()))
    }

    /// The drive as its state says, or a new one.
    pub fn drive(&self, found: Option<Found>) -> Drive {
        let config = self.config.clone();
        if self.kind == Kind::Fdp {
            let options = FdpOptions::default();
            let device = match found {
                None => FdpDevice::watched(&config, &options, Watch::default()).unwrap(),
                Some(found) => {
                    let cleared_at = found.header.cleared_at;
                    FdpDevice::resume(found.drive, &options, cleared_at, Watch::default()).unwrap()
                }
            };
            return Drive::fdp(device).unwrap();
        }
        let mut relocation = RelocationKind::Gc.build(&config);
        let device = match found {
            None => Device::watched(config, &*relocation, Watch::default()).unwrap(),
            Some(found) => found
                .drive
                .resume(&mut *relocation, Watch::default())
                .unwrap(),
        };
        match self.kind {
            Kind::Streams { shared } => Drive::streams(device, Box::new(relocation), shared),
            _ => Drive::plain(device, Box::new(relocation)),
        }
    }
}

pub fn counted(drive: &Drive) -> Counted {
    (*drive.counters(), drive.stream_counters().to_vec())
}

/// The pages that a disk has data of, as a drive takes them in.
pub fn held(disk: &Disk) -> Result<Vec<(u64, u64)>, String> {
    disk.data().map_err(|error| error.to_string())
}
