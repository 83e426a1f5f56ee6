//! A drive as the series see it: what it says of itself, writes, discards, and what it counts.

use anabranch_nvme_host::{
    Configuration, PlacementHandle, Queue, contents, opcode, placement, written,
};

use crate::link::{DriveCommand, Link};
use crate::series::Sample;
use crate::{CalibrateError, findings::Isolation};

/// Opcodes of the NVM Command Set Specification 1.1.
const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const DATASET_MANAGEMENT: u8 = 0x09;
const MANAGEMENT_SEND: u8 = 0x1d;

/// The largest write (our choice: what Linux takes of a passthrough command on any host, whose memory may lie in as many
/// pieces as it has pages).
const MOST_WRITE_BYTES: u64 = 128 << 10;
/// The longest discard of one command (our choice).
const MOST_DISCARD_BYTES: u64 = 1 << 30;
/// Bytes at the beginning that are looked at before anything is written.
pub(crate) const HEAD_BYTES: usize = contents::LOOKED_AT;
/// Handles and streams that are tried (our choice).
const MOST_HANDLES: usize = 16;

/// Directive by which writes to a drive are placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementMethod {
    /// Flexible Data Placement.
    Fdp {
        /// Reclaim groups of the configuration.
        groups: u32,
        /// Each handle's type as the configuration has it.
        told: Vec<Isolation>,
    },
    /// The Streams Directive.
    Streams,
    /// Not at all.
    None,
}

impl PlacementMethod {
    /// In a word.
    pub fn name(&self) -> &'static str {
        match self {
            PlacementMethod::Fdp { .. } => "fdp",
            PlacementMethod::Streams => "streams",
            PlacementMethod::None => "none",
        }
    }

    /// Reclaim groups; one where there is no such thing.
    pub fn groups(&self) -> u32 {
        match self {
            PlacementMethod::Fdp { groups, .. } => (*groups).max(1),
            PlacementMethod::Streams | PlacementMethod::None => 1,
        }
    }
}

/// Description that a drive gives of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Serial number.
    pub serial: String,
    /// Model number.
    pub model: String,
    /// Bytes of a logical block.
    pub block_bytes: u64,
    /// Bytes the host sees.
    pub logical_bytes: u64,
    /// Preferred write granularity, where it says.
    pub granularity_bytes: Option<u64>,
    /// Bytes of a reclaim unit, where it says.
    pub unit_bytes: Option<u64>,
    /// Directive by which writes to it are placed.
    pub placement: PlacementMethod,
    /// Identifiers that writes may carry, the first few.
    pub identifiers: Vec<u16>,
    /// Handles there are.
    pub handle_count: u16,
    /// Whether the drive takes Dataset Management deallocations.
    pub takes_discards: bool,
    /// Discarded blocks read as zeroes, it says.
    pub discards_read_as_zeroes: bool,
    /// Other namespaces, whose writes the counters count as well.
    pub other_namespaces: usize,
}

/// A write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// First byte that it writes.
    pub start_bytes: u64,
    /// Size of the namespace, in bytes.
    pub bytes: u64,
    /// The identifier it carries, if any.
    pub place: Option<u16>,
}

/// The log that counts what goes to the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counter {
    Fdp,
    Ocp,
}

/// A drive under series of writes.
pub struct CalibratedDrive<'a> {
    link: &'a mut dyn Link,
    about: About,
    endurance_group: u16,
    most_write_bytes: u64,
    counter: Counter,
    sent_bytes: u64,
    data: Vec<u8>,
}

impl<'a> CalibratedDrive<'a> {
    /// Asks the drive what it is. Changes nothing, but for the Streams Directive, which is switched on.
    ///
    /// # Errors
    /// When it does not say, or counts nothing of its flash.
    pub fn open(link: &'a mut dyn Link) -> Result<CalibratedDrive<'a>, CalibrateError> {
        let controller = identify(link, 1, false)?;
        let namespace = identify(link, 0, true)?;
        let endurance_group = number(&namespace, 102, 2) as u16;
        let about = about(link, &controller, &namespace, endurance_group)?;
        let transfer = match number(&controller, 77, 1) {
            0 => MOST_WRITE_BYTES,
            // In pages of the controller, 4 KiB at least.
            shift => 4096 << (shift as u32).min(40),
        };
        let most_write_bytes = MOST_WRITE_BYTES.min(transfer);
        if about.block_bytes > most_write_bytes {
            return Err(CalibrateError::Unfit(format!(
                "the drive takes {most_write_bytes} bytes at a time, less than its logical block of {} bytes",
                about.block_bytes
            )));
        }
        let mut drive = CalibratedDrive {
            counter: Counter::Fdp,
            link,
            about,
            endurance_group,
            most_write_bytes,
            sent_bytes: 0,
            data: noise(most_write_bytes.max(HEAD_BYTES as u64) as usize),
        };
        drive.find_counter()?;
        Ok(drive)
    }

    /// Description that it gives of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The largest write.
    pub fn most_write_bytes(&self) -> u64 {
        self.most_write_bytes
    }

    /// Bytes sent until now.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Whether handles report the room left in their units.
    pub(crate) fn has_rooms(&self) -> bool {
        matches!(self.about.placement, PlacementMethod::Fdp { .. })
    }

    /// The log that counts what goes to the flash, by name.
    pub fn counter(&self) -> &'static str {
        match self.counter {
            Counter::Fdp => "FDP statistics (log 22h)",
            Counter::Ocp => "OCP SMART log (C0h)",
        }
    }

    /// Names the data at its beginning; `None` where that is all zeroes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn contents(&mut self) -> Result<Option<&'static str>, CalibrateError> {
        let mut head = vec![0; HEAD_BYTES];
        let step = self.about.block_bytes.max(4096);
        for (place, part) in head.chunks_exact_mut(step as usize).enumerate() {
            self.read(place as u64 * step, part)?;
        }
        Ok(contents::found(&head))
    }

    /// Reads whole blocks.
    pub(crate) fn read(&mut self, start_bytes: u64, into: &mut [u8]) -> Result<(), CalibrateError> {
        let command = self.blocks("read", READ, start_bytes, into.len() as u64, None);
        self.link.ask(&command, into).map(drop)
    }

    /// Writes, in order as far as the link keeps it, and waits for the end of all.
    pub(crate) fn write(&mut self, pieces: &[Piece]) -> Result<(), CalibrateError> {
        let mut commands = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let mut done = 0;
            while done < piece.bytes {
                let bytes = self.most_write_bytes.min(piece.bytes - done);
                let start = piece.start_bytes + done;
                let command = self.blocks("write", WRITE, start, bytes, piece.place);
                commands.push((command, bytes as usize));
                done += bytes;
            }
            self.sent_bytes += piece.bytes;
        }
        self.link.send(&commands, &mut self.data)
    }

    /// Flushes all data that were sent to its media.
    pub(crate) fn flush(&mut self) -> Result<(), CalibrateError> {
        let command = DriveCommand {
            what: "flush",
            queue: Queue::Io,
            opcode: FLUSH,
            of_namespace: true,
            words: [0; 6],
        };
        self.link.ask(&command, &mut []).map(drop)
    }

    /// Has the default handle go on with an empty unit (Reclaim Unit Handle Update; NVMe Base Specification 2.1, §7.4).
    pub(crate) fn update_handle(&mut self) -> Result<(), CalibrateError> {
        const UPDATE: u32 = 1;
        let identifier = self.about.identifiers.first().copied().unwrap_or(0);
        let command = DriveCommand {
            what: "update a reclaim unit handle",
            queue: Queue::Io,
            opcode: MANAGEMENT_SEND,
            of_namespace: true,
            // One identifier, 0's based in bits 31:16.
            words: [UPDATE, 0, 0, 0, 0, 0],
        };
        let answer = self.link.ask(&command, &mut identifier.to_le_bytes());
        answer.map(drop)
    }

    /// Gives blocks up.
    pub(crate) fn discard(&mut self, start_bytes: u64, bytes: u64) -> Result<(), CalibrateError> {
        if !self.about.takes_discards {
            return Ok(());
        }
        let (mut at, end) = (start_bytes, start_bytes + bytes);
        while at < end {
            let bytes = MOST_DISCARD_BYTES.min(end - at);
            let mut range = [0; 16];
            let blocks = (bytes / self.about.block_bytes) as u32;
            range[4..8].copy_from_slice(&blocks.to_le_bytes());
            range[8..].copy_from_slice(&(at / self.about.block_bytes).to_le_bytes());
            let command = DriveCommand {
                what: "deallocate",
                queue: Queue::Io,
                opcode: DATASET_MANAGEMENT,
                of_namespace: true,
                // One range; attribute Deallocate.
                words: [0, 1 << 2, 0, 0, 0, 0],
            };
            self.link.ask(&command, &mut range)?;
            at += bytes;
        }
        Ok(())
    }

    /// Looks at the counters.
    pub(crate) fn sample(&mut self) -> Result<Sample, CalibrateError> {
        let media = self.count(self.counter)?;
        let media = media.ok_or_else(|| {
            CalibrateError::Unfit(format!("the drive no longer has its {}", self.counter()))
        })?;
        Ok(Sample {
            sent_bytes: self.sent_bytes,
            media_bytes: u64::try_from(media).unwrap_or(u64::MAX),
        })
    }

    /// Bytes that may still be written to the unit of each handle, in the order of the identifiers; nothing without FDP.
    pub(crate) fn rooms(&mut self) -> Result<Vec<u64>, CalibrateError> {
        let block_bytes = self.about.block_bytes;
        let handles = handles(self.link)?;
        let known = handles.iter().take(self.about.identifiers.len());
        Ok(known
            .map(|one| one.room_blocks.saturating_mul(block_bytes))
            .collect())
    }

    fn find_counter(&mut self) -> Result<(), CalibrateError> {
        let has_fdp = matches!(self.about.placement, PlacementMethod::Fdp { .. });
        let counters = [Counter::Fdp, Counter::Ocp];
        for counter in counters
            .into_iter()
            .filter(|one| has_fdp || *one != Counter::Fdp)
        {
            // A log that is not there is refused.
            if self.count(counter).ok().flatten().is_some() {
                self.counter = counter;
                return Ok(());
            }
        }
        Err(CalibrateError::Unfit(
            "the drive counts nothing of its flash, or not finely enough: it has neither FDP statistics (22h) nor OCP's log \
             (C0h); the endurance group log counts in billions of bytes"
                .to_owned(),
        ))
    }

    fn count(&mut self, counter: Counter) -> Result<Option<u128>, CalibrateError> {
        let group = self.endurance_group;
        let written = match counter {
            Counter::Fdp => written::of_fdp(&log(self.link, 0x22, group, 64)?),
            Counter::Ocp => {
                let smart = log(self.link, 0x02, 0, 512)?;
                written::of_ocp(&log(self.link, 0xc0, 0, 512)?, &smart)
            }
        };
        Ok(written.map(|written| written.media_bytes))
    }

    fn blocks(
        &self,
        what: &'static str,
        opcode: u8,
        start_bytes: u64,
        bytes: u64,
        place: Option<u16>,
    ) -> DriveCommand {
        let first = start_bytes / self.about.block_bytes;
        let count = (bytes / self.about.block_bytes).saturating_sub(1) as u32;
        // Directive type: 1 streams, 2 data placement.
        let kind = match (place, &self.about.placement) {
            (None, _) | (_, PlacementMethod::None) => 0,
            (Some(_), PlacementMethod::Streams) => 1,
            (Some(_), PlacementMethod::Fdp { .. }) => 2,
        };
        let place = u32::from(place.unwrap_or(0)) << 16;
        DriveCommand {
            what,
            queue: Queue::Io,
            opcode,
            of_namespace: true,
            words: [
                first as u32,
                (first >> 32) as u32,
                count | kind << 20,
                place,
                0,
                0,
            ],
        }
    }
}

/// Bytes that compress to nothing less: a drive that compresses would count fewer.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = std::iter::repeat_with(|| {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(bytes).collect()
}

fn about(
    link: &mut dyn Link,
    controller: &[u8],
    namespace: &[u8],
    endurance_group: u16,
) -> Result<About, CalibrateError> {
    let format = (number(namespace, 26, 1) & 0xf) as usize;
    let shift = number(namespace, 128 + 4 * format + 2, 1) as u32;
    let metadata = number(namespace, 128 + 4 * format, 2);
    if !(9..=16).contains(&shift) || metadata != 0 {
        return Err(CalibrateError::Unfit(format!(
            "the namespace has logical blocks of {} bytes with metadata of {metadata}: blocks of 512 to 65536 bytes \
             without metadata can be calibrated (`nvme format`)",
            1_u64.checked_shl(shift).unwrap_or(0)
        )));
    }
    let block_bytes = 1_u64 << shift;
    let logical_bytes = (number(namespace, 0, 8) as u64).saturating_mul(block_bytes);
    // NSFEAT bit 4: the preferred granularities are told, 0's based, in blocks.
    let tells = number(namespace, 24, 1) >> 4 & 1 == 1;
    let (placement, identifiers, unit_bytes, handle_count) =
        placement(link, controller, endurance_group)?;
    Ok(About {
        serial: text(controller, 4, 20),
        model: text(controller, 24, 40),
        granularity_bytes: tells.then(|| (number(namespace, 64, 2) as u64 + 1) * block_bytes),
        block_bytes,
        logical_bytes,
        unit_bytes,
        placement,
        identifiers,
        handle_count,
        takes_discards: number(controller, 520, 2) >> 2 & 1 == 1,
        // DLFEAT bits 2:0: 1 is zeroes.
        discards_read_as_zeroes: number(namespace, 33, 1) & 7 == 1,
        other_namespaces: namespaces(link).saturating_sub(1),
    })
}

/// Reads the drive's placement: identifiers, the told unit, and how many handles there are.
type Placed = (PlacementMethod, Vec<u16>, Option<u64>, u16);

fn placement(
    link: &mut dyn Link,
    controller: &[u8],
    endurance_group: u16,
) -> Result<Placed, CalibrateError> {
    let has_fdp = number(controller, 96, 4) >> 19 & 1 == 1;
    if has_fdp && let Ok(handles) = handles(link) {
        return placed_by_configuration(link, endurance_group, &handles);
    }
    let has_directives = number(controller, 256, 2) >> 5 & 1 == 1;
    if has_directives && let Some(count) = enable_streams(link) {
        let most = count.min(MOST_HANDLES as u16);
        return Ok((PlacementMethod::Streams, (1..=most).collect(), None, count));
    }
    Ok((PlacementMethod::None, Vec::new(), None, 0))
}

/// Reads the configuration in force for these placement handles of the namespace.
fn placed_by_configuration(
    link: &mut dyn Link,
    endurance_group: u16,
    handles: &[PlacementHandle],
) -> Result<Placed, CalibrateError> {
    let configuration = Configuration::in_force(endurance_group, asking(link))?;
    let groups = configuration.as_ref().map_or(0, Configuration::groups);
    match groups {
        0 => {
            return Err(CalibrateError::Unfit(
                "the drive does not tell by feature 1Dh and log 20h which FDP configuration is in force: how many reclaim groups it has is not known"
                    .to_owned(),
            ));
        }
        1 => {}
        _ => {
            return Err(CalibrateError::Unfit(format!(
                "the drive has {groups} reclaim groups: drives of one can be calibrated"
            )));
        }
    }
    // A placement handle of the namespace stands for one of the drive's handles.
    let isolation = |one: &PlacementHandle| {
        let configuration = configuration.as_ref();
        match configuration.and_then(|found| found.is_persistent(one.handle)) {
            Some(true) => Isolation::Persistent,
            Some(false) | None => Isolation::Initial,
        }
    };
    let tried = || handles.iter().take(MOST_HANDLES);
    let told = tried().map(isolation).collect();
    Ok((
        PlacementMethod::Fdp { groups, told },
        tried().map(|one| one.identifier).collect(),
        configuration.as_ref().and_then(Configuration::unit_bytes),
        handles.len() as u16,
    ))
}

/// Switches the Streams Directive on; how many streams there are.
fn enable_streams(link: &mut dyn Link) -> Option<u16> {
    const STREAMS: u32 = 1 << 8;
    let enable = DriveCommand {
        what: "enable streams",
        queue: Queue::Admin,
        opcode: opcode::DIRECTIVE_SEND,
        of_namespace: true,
        words: [0, 1, 1 | STREAMS, 0, 0, 0],
    };
    link.ask(&enable, &mut []).ok()?;
    let parameters = DriveCommand {
        what: "ask for streams",
        opcode: opcode::DIRECTIVE_RECEIVE,
        words: [32 / 4 - 1, 1 | STREAMS, 0, 0, 0, 0],
        ..enable
    };
    let mut data = [0; 32];
    link.ask(&parameters, &mut data).ok()?;
    Some(number(&data, 0, 2) as u16).filter(|&count| count > 0)
}

/// Number of active namespaces (CNS 02h); one where the drive does not say.
fn namespaces(link: &mut dyn Link) -> usize {
    let list = identify(link, 2, false).unwrap_or_default();
    list.chunks_exact(4)
        .take_while(|one| number(one, 0, 4) != 0)
        .count()
        .max(1)
}

fn identify(
    link: &mut dyn Link,
    structure: u32,
    namespace: bool,
) -> Result<Vec<u8>, CalibrateError> {
    let mut data = vec![0; 4096];
    let command = DriveCommand {
        what: "identify",
        queue: Queue::Admin,
        opcode: opcode::IDENTIFY,
        of_namespace: namespace,
        words: [structure, 0, 0, 0, 0, 0],
    };
    link.ask(&command, &mut data)?;
    Ok(data)
}

fn log(
    link: &mut dyn Link,
    page: u8,
    specific: u16,
    bytes: usize,
) -> Result<Vec<u8>, CalibrateError> {
    let mut data = vec![0; bytes];
    let dwords = (bytes / 4 - 1) as u32;
    let command = DriveCommand {
        what: "get a log page",
        queue: Queue::Admin,
        opcode: opcode::GET_LOG,
        of_namespace: false,
        words: [
            u32::from(page) | dwords << 16,
            u32::from(specific) << 16,
            0,
            0,
            0,
            0,
        ],
    };
    link.ask(&command, &mut data)?;
    Ok(data)
}

fn handles(link: &mut dyn Link) -> Result<Vec<PlacementHandle>, CalibrateError> {
    placement::handles(asking(link))
}

/// Sends commands as [`placement`] has them.
fn asking(
    link: &mut dyn Link,
) -> impl FnMut(&'static str, placement::CommandKind, [u32; 6], &mut [u8]) -> Result<u32, CalibrateError>
{
    |what, (queue, opcode, of_namespace), words, data| {
        let command = DriveCommand {
            what,
            queue,
            opcode,
            of_namespace,
            words,
        };
        link.ask(&command, data)
    }
}

/// A little-endian number; what lies beyond the end is zero.
fn number(bytes: &[u8], at: usize, length: usize) -> u128 {
    let field = bytes.get(at..at + length).unwrap_or_default();
    let places = field.iter().enumerate();
    places.fold(0, |sum, (place, &byte)| {
        sum | u128::from(byte) << (8 * place)
    })
}

fn text(bytes: &[u8], at: usize, length: usize) -> String {
    let found = bytes.get(at..at + length).unwrap_or_default();
    let shown = found
        .iter()
        .filter(|byte| byte.is_ascii_graphic() || **byte == b' ');
    shown
        .map(|&byte| char::from(byte))
        .collect::<String>()
        .trim()
        .to_owned()
}
