//! The output of `blktrace`: `sda.blktrace.0`, `sda.blktrace.1`, …, a file for each processor.
//!
//! A record is a head and `pdu_len` bytes of payload, in the byte order of the machine that
//! recorded; the magic number tells which.
//!
//! | version 7 | version 8 | |
//! |---|---|---|
//! | 0 | 0 | u32: 0x65617400 and the version |
//! | 4 | 4 | u32: number of the event; not kept |
//! | 8 | 8 | u64: time in nanoseconds |
//! | 16 | 16 | u64: first sector, of 512 bytes |
//! | 24 | 24 | u32: length in bytes |
//! | 28 | 32 | u32, in version 8 u64: action; the event in the lower half, categories above |
//! | 32 | 28 | u32: process |
//! | 36 | 40 | u32: device, major number << 20 + minor |
//! | 44 | 48 | u16: error of a completion; but for 0, the request does not count |
//! | 46 | 50 | u16: `pdu_len` |
//! | 48 | 64 | bytes of the head |
//!
//! One event of a request's life is taken, issue (7) if nothing else is asked for. A requeue (6) takes the issue before
//! it back, wherever it was recorded. After a split (13) old kernels queue the rest once more, which counts once. Of the
//! categories, bit 1 is a write, bit 2 a flush, bit 9 a passthrough command, bit 10 a notice, bit
//! 13 a discard; without bit 1 and 13, what has a length is a read. A notice 0 gives a process its
//! name, which is the context; it stands in the file of the processor the process ran on first.
//! Until all files were read that far, [`Io::context`](crate::Io) holds the process's number.
//!
//! Source: Linux `include/uapi/linux/blktrace_api.h` (`struct blk_io_trace`, since 6.19
//! `blk_io_trace2`); blktrace's `blkparse_fmt.c`, `fill_rwbs`; `MINORBITS` of Linux
//! `include/linux/kdev_t.h`.

use std::collections::HashSet;

use memchr::memmem;

use crate::foreign::error::ImportError;
use crate::foreign::fields::{SECTOR_BYTES, bytes};
use crate::foreign::form::{MOST_32_BIT_BYTES, SECTORS};
use crate::foreign::input::Input;
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Moment, Passed, request};
use crate::foreign::records::{Layout, Record, RecordReader, bad};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request};
use crate::io::{ContextId, Operation};

pub(super) const ROW: FormatRow = FormatRow {
    name: "blktrace",
    about: "binary of blktrace: sectors of 512 bytes, nanoseconds",
    clock: Clock::Shared,
    uses: Uses::NOTHING.events(),
    reader: Reads::Records(
        |options| {
            Box::new(Blktrace {
                event: options.event.unwrap_or_default(),
                volume: options.one_volume().map(str::to_owned),
            })
        },
        looks_like,
    ),
};

pub(super) const FORM: FormRow = FormRow::new(SECTORS.named().up_to(MOST_32_BIT_BYTES), |_| {
    Box::new(BlktraceWriter::default())
});

/// The magic number without the version, in both byte orders.
const MAGIC_BIG: &[u8] = b"eat";
const MAGIC_LITTLE: &[u8] = b"tae";

/// Categories of an action, from bit 16 on (`BLK_TC_…`).
const WRITE: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const PASSTHROUGH: u64 = 1 << 25;
const NOTICE: u64 = 1 << 26;
const DISCARD: u64 = 1 << 29;

/// The bit of an event that says that a cgroup is named (`__BLK_TA_CGROUP`).
const CGROUP: u64 = 1 << 8;

/// Bytes of the cgroup's number before a payload (Linux `kernel/trace/blktrace.c`, `__blk_add_trace`).
const CGROUP_BYTES: usize = 8;

/// A request that the driver gave back (`__BLK_TA_REQUEUE`), and one that was split (`__BLK_TA_SPLIT`), whose payload is
/// the first sector of its rest, in big-endian order.
const REQUEUE: u64 = 6;
const SPLIT: u64 = 13;

/// The notice that names a process (`__BLK_TN_PROCESS`).
const PROCESS: u64 = 0;

/// Bits of a device's minor number.
const MINOR_BITS: u32 = 20;

/// Bytes of a process's name (Linux `TASK_COMM_LEN`).
const COMMAND_BYTES: usize = 16;

/// Reads records of blktrace.
#[derive(Debug)]
pub(super) struct Blktrace {
    pub(super) event: Event,
    /// The only volume that is wanted.
    volume: Option<String>,
}

/// The byte order and layout of a record.
#[derive(Debug, Clone, Copy)]
struct Head {
    big_endian: bool,
    bytes: usize,
    action: usize,
    process: usize,
    device: usize,
    error: usize,
    payload_length: usize,
}

impl Blktrace {
    fn understand(
        &self,
        head: Head,
        record: &[u8],
        names: &mut Names,
    ) -> Result<Found, ParseError> {
        let fields = Layout {
            bytes: record,
            big_endian: head.big_endian,
        };
        let action = match head.bytes {
            64 => fields.u64(head.action),
            _ => u64::from(fields.u32(head.action)),
        };
        let (event, process) = (action & 0xffff & !CGROUP, fields.u32(head.process));
        if action & NOTICE != 0 {
            if event == PROCESS {
                let payload = record.get(head.bytes..).unwrap_or_default();
                names.name_process(process, command(payload))?;
            }
            return Ok(Found::Passed(Passed::Note));
        }
        let Some(moment) = moment(event) else {
            return Ok(Found::Passed(Passed::OtherEvent));
        };
        let device = fields.u32(head.device);
        let (major, minor) = (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1));
        if let Some(passed) = moment.useless_for(self.event) {
            let Some(wanted) = self.volume.as_deref() else {
                return Ok(Found::Passed(passed));
            };
            let device = format!("{major},{minor}");
            return Ok(Found::Passed(
                passed.of_device(device.as_bytes(), Some(wanted)),
            ));
        }
        let has_cgroup = action & CGROUP != 0;
        let payload = record.get(head.bytes..).unwrap_or_default();
        let payload = payload
            .get(if has_cgroup { CGROUP_BYTES } else { 0 }..)
            .unwrap_or_default();
        let length_bytes = u64::from(fields.u32(24));
        let (sector, length_bytes) = match (moment, payload.first_chunk()) {
            (Moment::Split, Some(rest)) => (u64::from_be_bytes(*rest), 0),
            (Moment::Split, None) => return Ok(Found::Passed(Passed::OtherEvent)),
            // Without data the sector may be -1: it means nothing.
            _ if length_bytes == 0 => (0, 0),
            _ => (fields.u64(16), length_bytes),
        };
        let has_data = length_bytes > 0 || moment == Moment::Split;
        let Some(operation) = operation(action, has_data) else {
            return Ok(Found::Passed(if moment == Moment::Of(self.event) {
                Passed::NoData
            } else {
                Passed::OtherEvent
            }));
        };
        let offset_bytes = bytes(sector, SECTOR_BYTES, "sector")?;
        let mut io = request(fields.u64(8), operation, offset_bytes, length_bytes);
        io.tenant = names.device(u64::from(major), u64::from(minor))?;
        if moment == Moment::Of(Event::Complete) && fields.u16(head.error) != 0 {
            return Ok(Found::Event(Moment::Failed, io));
        }
        if self.event != Event::Complete {
            // Another processor's file may hold its name: it is looked up when all were read so far.
            io.context = ContextId(process);
        }
        Ok(Found::Event(moment, io))
    }
}

/// The moment of a request's life that an event is (`__BLK_TA_…`).
fn moment(event: u64) -> Option<Moment> {
    let chosen = Event::ALL
        .into_iter()
        .find(|one| u64::from(one.number()) == event);
    match event {
        REQUEUE => Some(Moment::Requeue),
        SPLIT => Some(Moment::Split),
        _ => chosen.map(Moment::Of),
    }
}

/// The name in a notice's payload, which a zero ends.
fn command(payload: &[u8]) -> &[u8] {
    let most = payload.get(..COMMAND_BYTES).unwrap_or(payload);
    most.split(|byte| *byte == 0).next().unwrap_or_default()
}

impl RecordReader for Blktrace {
    fn record(
        &mut self,
        input: &mut Input,
        names: &mut Names,
    ) -> Result<Option<Record>, ImportError> {
        input.fill(4)?;
        if input.unread().is_empty() {
            return Ok(None);
        }
        let Some(head) = head(input.unread()) else {
            let record = bad(
                ParseError::Shape("a record of blktrace, version 7 or 8"),
                input.unread(),
            );
            let only_zeros = pass_to_magic(input)?;
            // A file that was made long before it was filled ends with zeros.
            if only_zeros && input.unread().is_empty() {
                return Ok(None);
            }
            return Ok(Some(record));
        };
        if !input.fill(head.bytes)? {
            return Ok(Some(cut_off(input)));
        }
        let fields = Layout {
            bytes: input.unread(),
            big_endian: head.big_endian,
        };
        let length = head.bytes + usize::from(fields.u16(head.payload_length));
        if !input.fill(length)? {
            return Ok(Some(cut_off(input)));
        }
        let record = input.unread().get(..length).unwrap_or_default();
        let found = self.understand(head, record, names);
        let record = found.map_or_else(|fault| bad(fault, record), Record::Found);
        input.consume(length);
        Ok(Some(record))
    }
}

/// Whether bytes begin with the magic number of a record of blktrace.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    head(bytes).is_some()
}

fn head(bytes: &[u8]) -> Option<Head> {
    let (big_endian, version) = match bytes.first_chunk::<4>()? {
        [magic @ .., version] if magic == MAGIC_BIG => (true, version),
        [version, magic @ ..] if magic == MAGIC_LITTLE => (false, version),
        _ => return None,
    };
    match version {
        7 => Some(Head {
            big_endian,
            bytes: 48,
            action: 28,
            process: 32,
            device: 36,
            error: 44,
            payload_length: 46,
        }),
        8 => Some(Head {
            big_endian,
            bytes: 64,
            action: 32,
            process: 28,
            device: 40,
            error: 48,
            payload_length: 50,
        }),
        _ => None,
    }
}

fn operation(action: u64, has_data: bool) -> Option<Operation> {
    if action & PASSTHROUGH != 0 {
        return None;
    }
    if !has_data {
        return (action & FLUSH != 0).then_some(Operation::Flush);
    }
    Some(if action & DISCARD != 0 {
        Operation::Discard
    } else if action & WRITE != 0 {
        Operation::Write
    } else {
        Operation::Read
    })
}

fn cut_off(input: &mut Input) -> Record {
    let rest = input.unread();
    let (record, length) = (bad(ParseError::CutOff, rest), rest.len());
    input.consume(length);
    record
}

/// Passes over bytes up to the next magic number, or to the end. Answers whether all were zeros.
fn pass_to_magic(input: &mut Input) -> Result<bool, ImportError> {
    let mut only_zeros = input.unread().first() == Some(&0);
    input.consume(1);
    loop {
        let unread = input.unread();
        only_zeros &= unread.iter().all(|byte| *byte == 0);
        let little = memmem::find(unread, MAGIC_LITTLE).map(|at| at.saturating_sub(1));
        let next = little
            .into_iter()
            .chain(memmem::find(unread, MAGIC_BIG))
            .min();
        match next {
            Some(at) if head(unread.get(at..).unwrap_or_default()).is_some() => {
                input.consume(at);
                return Ok(false);
            }
            Some(at) if unread.len() >= at + 4 => input.consume(at + 1),
            _ => {
                // The last bytes may begin a magic number that ends in the next window.
                input.consume(unread.len().saturating_sub(3));
                if !input.more()? {
                    input.consume(4);
                    return Ok(only_zeros);
                }
            }
        }
    }
}

/// The category of a read (`BLK_TC_READ`); a reader tells a read by its length instead.
const READ: u64 = 1 << 16;
/// The categories of events (`BLK_TC_QUEUE`, `BLK_TC_ISSUE`, `BLK_TC_COMPLETE`), and that of requests of file systems
/// (`BLK_TC_FS`), which all are that carry data.
const QUEUED: u64 = 1 << 20;
const ISSUED: u64 = 1 << 22;
const COMPLETED: u64 = 1 << 23;
const FILE_SYSTEM: u64 = 1 << 24;

/// The time of an event at 0. fio does not wait behind a time of 0, which means "none yet" to it (`iolog.c`,
/// `delay_since_ttime`); blkparse and btt count from the first event.
const FIRST_NS: u64 = 1;

/// Writes records of version 7, little-endian, on processor 0: for each request its queue, issue and completion event,
/// and a notice with the name before the first request of each process. fio replays queue events, btt wants all three.
/// A trace of ours does not tell when a request ended, so that all three have one time.
#[derive(Debug, Default)]
pub(super) struct BlktraceWriter {
    events: u32,
    named: HashSet<u32>,
}

impl BlktraceWriter {
    fn record(&mut self, request: &Request<'_>, action: u64, payload: &[u8], bytes: &mut Vec<u8>) {
        self.events = self.events.wrapping_add(1);
        let is_notice = action & NOTICE != 0;
        let (sector, length_bytes) = if is_notice {
            (0, 0)
        } else {
            (request.offset_bytes / SECTOR_BYTES, request.length_bytes)
        };
        let (major, minor) = request.device();
        bytes.extend([7]);
        bytes.extend(MAGIC_LITTLE);
        bytes.extend(self.events.to_le_bytes());
        bytes.extend(request.time_ns.saturating_add(FIRST_NS).to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        // Lengths and actions of version 7 have 32 bits; the exporter splits what is longer.
        bytes.extend((length_bytes as u32).to_le_bytes());
        bytes.extend((action as u32).to_le_bytes());
        bytes.extend(request.process.to_le_bytes());
        bytes.extend((major << MINOR_BITS | minor).to_le_bytes());
        // Processor, then error.
        bytes.extend([0; 6]);
        bytes.extend((payload.len() as u16).to_le_bytes());
        bytes.extend(payload);
    }
}

impl FormWriter for BlktraceWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        if request.process != 0 && self.named.insert(request.process) {
            let mut name = [0; COMMAND_BYTES];
            for (place, letter) in name.iter_mut().zip(request.name.bytes()) {
                *place = letter;
            }
            self.record(request, NOTICE | PROCESS, &name, bytes);
        }
        let category = match request.operation {
            Operation::Read => READ,
            Operation::Write => WRITE,
            Operation::Discard => WRITE | DISCARD,
            Operation::Flush => FLUSH,
        };
        for (event, of_event) in [
            (Event::Queue, QUEUED),
            (Event::Issue, ISSUED),
            (Event::Complete, COMPLETED),
        ] {
            let action = category | FILE_SYSTEM | of_event | u64::from(event.number());
            self.record(request, action, &[], bytes);
        }
    }
}
