//! VMware's `vscsi` traces, binary, of versions 1 and 2: CloudPhysics' traces, and libCacheSim's sample of them.
//!
//! Little-endian records of 32 and 40 bytes:
//!
//! | version 1 | version 2 | |
//! |---|---|---|
//! | 12 | 0 | u16: the SCSI command |
//! | 14 | 2 | u16: the version in the upper byte |
//! | 0 | 4 | u32: serial number; not kept |
//! | 4 | 8 | u32: length in bytes |
//! | 8 | 12 | u32: elements of the scatter list; not kept |
//! | 16 | 16 | u64: first block, of 512 bytes |
//! | 24 | 24 | u64: time in microseconds |
//! | - | 32 | u64: how long it took; not kept |
//!
//! Reads and writes of 6, 10, 12 and 16 bytes are taken, Write Same as a write, Synchronize Cache as a flush; other
//! commands are passed over, Unmap too: its blocks are in a list of its own, which the record has not.
//!
//! Source: libCacheSim, `traceReader/include/vscsi.h` and `vscsi.c`; operation codes: SPC-4, annex E.

use crate::foreign::error::ImportError;
use crate::foreign::fields::{MICROSECOND_NS, SECTOR_BYTES, bytes};
use crate::foreign::input::Input;
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Passed, request};
use crate::foreign::records::{Layout, Record, RecordReader, bad};
use crate::foreign::row::{Clock, FormatRow, Reads, Uses};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "vscsi",
    about: "binary of VMware's vscsi: blocks of 512 bytes, microseconds",
    clock: Clock::Own,
    uses: Uses::NOTHING,
    reader: Reads::Records(|_| Box::new(Vscsi { version: None }), looks_like),
};

/// The positions of the fields in the records of a version.
#[derive(Debug, PartialEq)]
struct Version {
    number: u16,
    bytes: usize,
    command: usize,
    version: usize,
    length: usize,
}

const VERSIONS: [Version; 2] = [
    Version {
        number: 2,
        bytes: 40,
        command: 0,
        version: 2,
        length: 8,
    },
    Version {
        number: 1,
        bytes: 32,
        command: 12,
        version: 14,
        length: 4,
    },
];

/// Position of the first block, in both versions, and of the time.
const BLOCK: usize = 16;
const TIME: usize = 24;

/// The most records a version is guessed from, and the fewest; libCacheSim looks at two.
const GUESS_RECORDS: usize = 64;
const LEAST_RECORDS: usize = 2;

/// Reads records of vscsi.
#[derive(Debug)]
pub(super) struct Vscsi {
    /// The version, once a record was seen.
    version: Option<&'static Version>,
}

impl RecordReader for Vscsi {
    fn record(&mut self, input: &mut Input, _: &mut Names) -> Result<Option<Record>, ImportError> {
        if self.version.is_none() {
            // Of a file that is cut short, too, the beginning tells the version.
            input.fill(VERSIONS[0].bytes * GUESS_RECORDS)?;
            self.version = version(input.unread());
        }
        let Some(version) = self.version else {
            let record = bad(
                ParseError::Shape("a record of vscsi, version 1 or 2"),
                input.unread(),
            );
            let rest = input.unread().len();
            input.consume(rest);
            return Ok((rest > 0).then_some(record));
        };
        if !input.fill(version.bytes)? {
            let rest = input.unread();
            let cut_off = (!rest.is_empty()).then(|| bad(ParseError::CutOff, rest));
            input.consume(version.bytes);
            return Ok(cut_off);
        }
        let bytes = input.unread().get(..version.bytes).unwrap_or_default();
        let record =
            understand(version, bytes).map_or_else(|fault| bad(fault, bytes), Record::Found);
        input.consume(version.bytes);
        Ok(Some(record))
    }
}

fn understand(version: &Version, record: &[u8]) -> Result<Found, ParseError> {
    let fields = fields(record);
    if fields.u16(version.version) >> 8 != version.number {
        return Err(ParseError::Shape(
            "a record of the version of those before it",
        ));
    }
    let Some(operation) = operation(fields.u16(version.command)) else {
        return Ok(Found::Passed(Passed::OtherEvent));
    };
    let time_ns = fields
        .u64(TIME)
        .checked_mul(MICROSECOND_NS)
        .ok_or(ParseError::Time)?;
    if operation == Operation::Flush {
        return Ok(Found::Io(request(time_ns, operation, 0, 0)));
    }
    let length_bytes = u64::from(fields.u32(version.length));
    if length_bytes == 0 {
        return Ok(Found::Passed(Passed::NoData));
    }
    let offset_bytes = bytes(fields.u64(BLOCK), SECTOR_BYTES, "block")?;
    Ok(Found::Io(request(
        time_ns,
        operation,
        offset_bytes,
        length_bytes,
    )))
}

/// The operation of a SCSI command; `None` for one that is passed over.
fn operation(command: u16) -> Option<Operation> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Operation::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x41 | 0x93 => Some(Operation::Write),
        0x35 | 0x91 => Some(Operation::Flush),
        _ => None,
    }
}

fn fields(bytes: &[u8]) -> Layout<'_> {
    Layout {
        bytes,
        big_endian: false,
    }
}

/// The version that all records at the beginning of a file agree on.
fn version(head: &[u8]) -> Option<&'static Version> {
    let fits = |version: &&Version| {
        let records = head.chunks_exact(version.bytes).take(GUESS_RECORDS);
        let is_named = |record| fields(record).u16(version.version) >> 8 == version.number;
        let (named, all) = (
            records.clone().filter(|record| is_named(record)).count(),
            records.count(),
        );
        named == all && all > 0
    };
    VERSIONS.iter().find(fits)
}

/// Whether bytes look like the beginning of vscsi: all records name one version, and most a command that is known.
pub(super) fn looks_like(head: &[u8]) -> bool {
    let Some(version) = version(head) else {
        return false;
    };
    let records = head.chunks_exact(version.bytes).take(GUESS_RECORDS);
    let is_known = |record: &&[u8]| {
        let command = fields(record).u16(version.command);
        operation(command).is_some() || command == 0
    };
    let all = records.clone().count();
    all >= LEAST_RECORDS && 2 * records.filter(is_known).count() > all
}
