//! What is served in a run: a drive drawn from the seed, made new or from its state.

use std::{path::Path, sync::Arc};

use anabranch_initiator::NewNamespace;
use anabranch_nvme::{
    Checkpoint, Found,
    drive::{Drive, Watch},
    namespace::Wanted,
    store::Contents,
};
use anabranch_ssd::{
    Config, Counters, Device, StreamCounters,
    fdp::{FdpDevice, FdpOptions},
    relocate::RelocationKind,
    wear::Faults,
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

/// A namespace, with the pages of the drive that are its, and its handles.
#[derive(Debug, Clone)]
pub struct Part {
    pub id: u32,
    pub first_page: u64,
    pub pages: u64,
    pub handles: Vec<u16>,
}

/// Blocks are numbered over the whole drive: a namespace has those from its first page on.
#[derive(Debug)]
pub struct Plan {
    pub kind: Kind,
    pub config: Config,
    pub block_bytes: u64,
    pub parts: Vec<Part>,
}

impl Plan {
    pub fn draw(random: &mut Random) -> Plan {
        let kind = random.one_of(&[
            Kind::Plain,
            Kind::Streams { shared: false },
            Kind::Streams { shared: false },
            Kind::Streams { shared: true },
            Kind::Fdp,
            Kind::Fdp,
        ]);
        let wears = random.one_in(8);
        let groups = if kind == Kind::Fdp {
            random.one_of(&[1, 1, 2])
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
            ..Config::new(random.one_of(&[128, 128, 512]), 8, 0)
        };
        // So little spare that garbage is collected soon.
        let config = Config {
            physical_units: config.least_physical_units() as u32 + 3,
            ..config
        };
        Plan {
            block_bytes: random.one_of(&[4096, 4096, 4096, 512]),
            parts: Plan::parts(random, kind, &config),
            kind,
            config,
        }
    }

    /// One namespace, or several that may share handles.
    fn parts(random: &mut Random, kind: Kind, config: &Config) -> Vec<Part> {
        let count = random.one_of(&[1_u32, 1, 2, 3]);
        let (all, mut first_page) = (u64::from(config.logical_pages), 0);
        let mut parts = Vec::new();
        for id in 1..=count {
            let pages = if id == count {
                all - first_page
            } else {
                all / 8 + random.below(all / 4)
            };
            let handles = config.host_streams / config.reclaim_groups as u16;
            let (start, most) = match count {
                1 => (0, handles),
                _ => (
                    random.below(handles.into()) as u16,
                    1 + random.below(handles.into()) as u16,
                ),
            };
            parts.push(Part {
                id,
                first_page,
                pages,
                handles: match kind {
                    Kind::Fdp => (0..most).map(|handle| (start + handle) % handles).collect(),
                    _ => Vec::new(),
                },
            });
            first_page += pages;
        }
        parts
    }

    /// The namespace that has a block, and the block's number there.
    pub fn part(&self, block: u64) -> (&Part, u64) {
        let part = self.part_of_page(block * self.block_bytes / 4096);
        (part, block - self.first_block(part))
    }

    pub fn part_of_page(&self, page: u64) -> &Part {
        let has = |part: &&Part| (part.first_page..part.first_page + part.pages).contains(&page);
        self.parts.iter().find(has).unwrap()
    }

    pub fn first_block(&self, part: &Part) -> u64 {
        part.first_page * 4096 / self.block_bytes
    }

    /// What a host says of a namespace that it makes.
    pub fn made(&self, id: u32) -> Vec<u8> {
        let part = &self.parts[id as usize - 1];
        let new = NewNamespace {
            format: u8::from(self.block_bytes == 4096),
            handles: part.handles.clone(),
            ..NewNamespace::of(part.pages * 4096 / self.block_bytes)
        };
        new.to_bytes()
    }

    /// Namespaces as they are asked for.
    fn wanted(&self) -> Vec<Wanted> {
        let wanted = |part: &Part| Wanted {
            bytes: Some(part.pages * 4096),
            block_shift: self.block_bytes.trailing_zeros(),
            shared: true,
            handles: part.handles.clone(),
        };
        self.parts.iter().map(wanted).collect()
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
        let header = found.as_ref().map(|found| found.header.clone());
        let drive = self.device(found);
        match header {
            Some(header) => header.namespaces(drive).unwrap(),
            None => drive.with(&self.wanted()).unwrap(),
        }
    }

    fn device(&self, found: Option<Found>) -> Drive {
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
            return Drive::fdp(device);
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
