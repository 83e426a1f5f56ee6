//! Layers of the kernel that tell of the same request, and the one that counts.
//!
//! A write to an NVMe drive is `nvme_setup_cmd`, and right behind it `block_rq_issue` of the same task (Linux
//! `nvme_prep_rq`). One to a card is `block_rq_issue`, then `mmc_request_start` (`mmc_mq_queue_rq`). The events name the
//! drive in different words, `nvme0n1` and `259,0`, so that only such pairs tell which device a disk is.
//!
//! ```text
//! on a command to a disk:           let it wait
//! on an event of the block layer:   if the command before it asks for the same, the disk is this device, and the
//!                                   bytes tell the size of the drive's blocks
//! on one that carries no sectors:   the command before it is passthrough, and counts
//! once the disk is a device:        leave its other commands out
//! when 4,096 events wait, at the end: no event of the block layer is of the disk, and its commands count
//! ```

use std::collections::{HashMap, VecDeque};

use super::line::Source;
use crate::foreign::fields::{SECTOR_BYTES, bytes};
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Moment, Passed};
use crate::io::{Io, Operation};

/// Disks and devices whose state is kept, each. Our choice; a large machine has some thousands.
const MOST_DISKS: usize = 1 << 14;

/// Issues of the block layer that are remembered for the commands of cards. Our choice: more than the processors that
/// issue at a time.
const MOST_RECENT: usize = 64;

/// The command of a layer below the block layer. Its event's [`Io`] has no address yet.
#[derive(Debug)]
pub(super) struct DiskCommand {
    pub(super) disk: usize,
    pub(super) start: u64,
    pub(super) length: u64,
    /// Whether `start` and `length` count the drive's blocks; else bytes.
    pub(super) counts_blocks: bool,
    /// Queue and number, by which an NVMe drive's completion finds its command.
    pub(super) tag: (u64, u64),
    /// Whether a program passed it to the drive, past the block layer.
    pub(super) is_passthrough: bool,
    pub(super) state: Pairing,
}

/// The state of a command's search for its event of the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairing {
    Open,
    /// Another event of the block layer came.
    Alone,
    Paired,
}

/// The outcome of an event of a layer below the block layer.
pub(super) enum Below {
    Passed(Passed),
    Command(Moment, Io, DiskCommand),
}

/// The decision on a command.
pub(super) enum Fate {
    Taken,
    LeftOut,
}

/// The evidence in a pair of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// Whether it proves that the disk is the device.
    pub(super) names_device: bool,
    /// Bytes of a block of the drive.
    pub(super) block_bytes: Option<u64>,
}

/// The disks that commands go to.
#[derive(Debug)]
pub(super) struct Disks {
    /// The event that is taken as the request.
    taken: Event,
    /// Bytes of a block as the user names them.
    named_bytes: Option<u64>,
    places: HashMap<Box<[u8]>, usize>,
    all: Vec<Disk>,
    has_assumed: bool,
    /// Issues of the block layer, with a hash of their source.
    recent: VecDeque<(u64, Io)>,
}

#[derive(Debug)]
struct Disk {
    name: Box<[u8]>,
    layer: Layer,
    block_bytes: Option<u64>,
    left_out: u64,
    /// Those of them that no event of the block layer was found for.
    unpaired: u64,
}

/// The layer that counts for a disk.
#[derive(Debug)]
enum Layer {
    Undecided,
    Own,
    /// The block layer, with the device's volume and numbers.
    Block(u32, String),
}

impl DiskCommand {
    pub(super) fn is_open(&self) -> bool {
        self.state == Pairing::Open
    }

    /// The evidence in a request of the block layer; `None` where it asks for something else.
    pub(super) fn evidence(&self, own: &Io, request: &Io) -> Option<Evidence> {
        if own.operation != request.operation {
            return None;
        }
        // All flushes look alike, of whatever drive.
        if own.operation == Operation::Flush {
            return Some(Evidence::default());
        }
        let block_bytes = self.block_bytes(request.length_bytes)?;
        (self.start.checked_mul(block_bytes) == Some(request.offset_bytes)).then_some(Evidence {
            names_device: true,
            block_bytes: self.counts_blocks.then_some(block_bytes),
        })
    }

    /// The evidence in a request of the block layer that carries no sectors, but perhaps bytes.
    pub(super) fn passthrough_evidence(&self, request_bytes: Option<u64>) -> Option<Evidence> {
        let block_bytes = match request_bytes {
            // A flush, and kernels that do not print the bytes.
            None | Some(0) => None,
            Some(length) => Some(self.block_bytes(length)?),
        };
        Some(Evidence {
            names_device: true,
            block_bytes: block_bytes.filter(|_| self.counts_blocks),
        })
    }

    /// The size of a block if so many bytes are the command's; 1 where it counts bytes.
    fn block_bytes(&self, length_bytes: u64) -> Option<u64> {
        let one = length_bytes.checked_div(self.length)?;
        let is_size = if self.counts_blocks {
            one.is_power_of_two() && one >= SECTOR_BYTES
        } else {
            one == 1
        };
        (is_size && one.checked_mul(self.length) == Some(length_bytes)).then_some(one)
    }
}

impl Disks {
    pub(super) fn new(taken: Event, named_bytes: Option<u64>) -> Disks {
        Disks {
            taken,
            named_bytes,
            places: HashMap::new(),
            all: Vec::new(),
            has_assumed: false,
            recent: VecDeque::new(),
        }
    }

    /// The place of a disk.
    pub(super) fn place(&mut self, name: &[u8]) -> Result<usize, ParseError> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        let place = self.all.len();
        if place >= MOST_DISKS {
            return Err(ParseError::TooManyNames {
                what: "disk",
                most_bytes: MOST_DISKS,
            });
        }
        self.places.insert(name.into(), place);
        self.all.push(Disk {
            name: name.into(),
            layer: Layer::Undecided,
            block_bytes: None,
            left_out: 0,
            unpaired: 0,
        });
        Ok(place)
    }

    /// Bytes of a block of a disk: as the user names them, as a pair of events showed, else those of a sector.
    pub(super) fn block_bytes(&self, disk: usize) -> u64 {
        let shown = self.all.get(disk).and_then(|disk| disk.block_bytes);
        self.named_bytes.or(shown).unwrap_or(SECTOR_BYTES)
    }

    pub(super) fn is_undecided(&self, command: &DiskCommand) -> bool {
        let disk = self.all.get(command.disk);
        disk.is_some_and(|disk| matches!(disk.layer, Layer::Undecided))
    }

    /// Notes that a disk is a device of the block layer, whose volume is known.
    pub(super) fn is_device(
        &mut self,
        disk: usize,
        volume: u32,
        evidence: Evidence,
        names: &Names,
    ) {
        let Some(disk) = self.all.get_mut(disk) else {
            return;
        };
        if evidence.names_device && !matches!(disk.layer, Layer::Block(..)) {
            let name = names.volumes().get(volume as usize).cloned();
            disk.layer = Layer::Block(volume, name.unwrap_or_default());
        }
        disk.block_bytes = disk.block_bytes.or(evidence.block_bytes);
    }

    /// Remembers an issue of the block layer.
    pub(super) fn remember(&mut self, source: Source<'_>, io: &Io) {
        if self.recent.len() == MOST_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((source.hash(), *io));
    }

    /// Looks for the issue of the block layer that a command follows, in the same task on the same processor.
    pub(super) fn follow(
        &mut self,
        source: Source<'_>,
        own: &Io,
        command: &mut DiskCommand,
        names: &Names,
    ) {
        let source = source.hash();
        let place = self.recent.iter().rposition(|(of, _)| *of == source);
        let Some((_, io)) = place.and_then(|place| self.recent.remove(place)) else {
            return;
        };
        if let Some(evidence) = command.evidence(own, &io) {
            command.state = Pairing::Paired;
            self.is_device(command.disk, io.tenant, evidence, names);
        }
    }

    /// Decides on a command, and completes its request with volume and address.
    pub(super) fn fate(
        &mut self,
        command: &DiskCommand,
        moment: Moment,
        io: &mut Io,
        names: &mut Names,
    ) -> Result<Fate, ParseError> {
        let block_bytes = if command.counts_blocks {
            self.block_bytes(command.disk)
        } else {
            1
        };
        let Some(disk) = self.all.get_mut(command.disk) else {
            return Ok(Fate::LeftOut);
        };
        io.tenant = match &disk.layer {
            Layer::Block(..) if !command.is_passthrough => {
                let is_request = moment == Moment::Of(self.taken);
                disk.left_out += u64::from(is_request);
                disk.unpaired += u64::from(is_request && command.state != Pairing::Paired);
                return Ok(Fate::LeftOut);
            }
            Layer::Block(volume, _) => *volume,
            Layer::Undecided | Layer::Own => {
                disk.layer = Layer::Own;
                names.device_text(&disk.name)?
            }
        };
        if io.operation != Operation::Flush {
            io.offset_bytes = bytes(command.start, block_bytes, "slba")?;
            io.length_bytes = bytes(command.length, block_bytes, "length")?;
            let is_known = self.named_bytes.or(disk.block_bytes).is_some();
            self.has_assumed |= command.counts_blocks && !is_known;
        }
        Ok(Fate::Taken)
    }

    /// Sentences on the size of blocks, where it was assumed, and on commands that were left out.
    pub(super) fn remarks(&self) -> Vec<String> {
        let assumed = self.has_assumed.then(|| {
            format!(
                "NVMe commands count logical blocks, whose size the trace does not tell: {SECTOR_BYTES} bytes are taken; \
                 where the namespace has others (`nvme id-ns`), say so, as in --columns id-unit=4096"
            )
        });
        let left_out = self.all.iter().filter_map(Disk::remark);
        assumed.into_iter().chain(left_out).collect()
    }
}

impl Disk {
    fn remark(&self) -> Option<String> {
        let Layer::Block(_, device) = &self.layer else {
            return None;
        };
        let unpaired = match self.unpaired {
            0 => String::new(),
            some => format!(", though {some} of them have no event of it beside them"),
        };
        (self.left_out > 0).then(|| {
            format!(
                "{} is the device {device}: {} of its commands are left out, since the block layer tells the same \
                 requests{unpaired}",
                String::from_utf8_lossy(&self.name),
                self.left_out
            )
        })
    }
}

/// The block layer's devices, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Devices {
    places: HashMap<Box<[u8]>, usize>,
    all: Vec<BlockDevice>,
    /// The device looked up last, which is mostly asked for again.
    last: Option<(Box<[u8]>, usize)>,
}

/// A device of the block layer.
#[derive(Debug, Default)]
pub(super) struct BlockDevice {
    /// Whether an event that is taken was seen of it.
    pub(super) is_taken: bool,
    /// Whether its completions are those of bios, once one was seen.
    ends_bios: Option<bool>,
}

impl BlockDevice {
    /// Whether a completion is of bios where those of requests are taken, or the reverse.
    pub(super) fn is_other_end(&mut self, event: &[u8]) -> bool {
        let ends_bio = event == b"block_bio_complete";
        *self.ends_bios.get_or_insert(ends_bio) != ends_bio
    }
}

impl Devices {
    pub(super) fn of(&mut self, name: &[u8]) -> Result<&mut BlockDevice, ParseError> {
        let last = self.last.as_ref().filter(|(last, _)| **last == *name);
        let place = match last.map(|(_, place)| *place) {
            Some(place) => place,
            None => {
                let known = self.places.get(name).copied();
                let place = known.unwrap_or(self.all.len());
                self.last = Some((name.into(), place));
                place
            }
        };
        if place == self.all.len() {
            if place >= MOST_DISKS {
                return Err(ParseError::TooManyNames {
                    what: "device",
                    most_bytes: MOST_DISKS,
                });
            }
            self.places.insert(name.into(), place);
            self.all.push(BlockDevice::default());
        }
        // The place was found or made above.
        self.all.get_mut(place).ok_or(ParseError::Missing("device"))
    }
}
