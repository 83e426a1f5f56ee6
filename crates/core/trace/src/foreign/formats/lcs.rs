//! libCacheSim's `.lcs`: a heading of 8,192 bytes and records of one size, little-endian, packed.
//!
//! | bytes of the heading | | |
//! |---|---|---|
//! | 0 to 7 | u64 | 0x123456789abcdef0, as in the last eight |
//! | 8 to 15 | u64 | version, from 1 to 8 |
//! | 16 to 8,015 | | statistics; the sixth number is when the trace began, in seconds; not kept |
//!
//! | bytes of a record, version 1 | version 2 | version 3 and later | |
//! |---|---|---|---|
//! | 0, u32 | 0, u32 | 0, u32 | time in seconds |
//! | 4, u64 | 4, u64 | 4, u64 | the object's number |
//! | 12, u32 | 12, u32 | 12, i64 | the object's size in bytes |
//! | | 16, u8 | 20, u8 | operation |
//! | | 17, 24 bits | 21, 24 bits | tenant: the volume |
//! | 24 bytes | 28 | 36, with 1, 2, 4, 8, 16 u32 more from version 4 to 8 | size of a record |
//!
//! Operations: get, gets and read are reads; delete is a discard; set, add, cas, replace, append, prepend, increments,
//! write and update are writes. A record without one (version 1, `nop`) is a write, see the format `oracle-general`; a
//! column map's `op` takes all for that operation. Objects' numbers are guessed to count sectors or blocks as there.
//!
//! Source: libCacheSim, `traceReader/customizedReader/lcs.h` and `include/libCacheSim/enum.h` (`req_op_e`).

use super::oracle_general::{GUESS_RECORDS, guess};
use crate::foreign::columns::ColumnMap;
use crate::foreign::error::ImportError;
use crate::foreign::fields::bytes;
use crate::foreign::input::Input;
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Passed, request};
use crate::foreign::records::{Layout, Record, RecordReader, bad};
use crate::foreign::row::{Clock, FormatRow, Reads, Uses};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "lcs",
    about: "binary of libCacheSim with a heading: objects, seconds",
    clock: Clock::Own,
    uses: Uses::NOTHING.keys(&["op", "id-unit", "size-unit", "time-unit"]),
    reader: Reads::Records(
        |options| {
            Box::new(Lcs {
                columns: options.columns.clone().unwrap_or_default(),
                version: None,
                remark: None,
            })
        },
        looks_like,
    ),
};

/// The first and last eight bytes of the heading.
const MAGIC: u64 = 0x1234_5678_9abc_def0;

const HEADING_BYTES: usize = 8192;

/// Bytes of a record of each version, from 1 on.
const RECORD_BYTES: [usize; 8] = [24, 28, 36, 40, 44, 52, 68, 100];

/// Reads records of `.lcs`.
#[derive(Debug)]
struct Lcs {
    columns: ColumnMap,
    /// The version of the heading, once it was read.
    version: Option<usize>,
    remark: Option<&'static str>,
}

impl RecordReader for Lcs {
    fn record(&mut self, input: &mut Input, _: &mut Names) -> Result<Option<Record>, ImportError> {
        let Some(version) = self.version else {
            return self.heading(input).map(Some);
        };
        let length = record_bytes(version);
        if !input.fill(length)? {
            let rest = input.unread();
            let cut_off = (!rest.is_empty()).then(|| bad(ParseError::CutOff, rest));
            input.consume(length);
            return Ok(cut_off);
        }
        let bytes = input.unread().get(..length).unwrap_or_default();
        let found = self.understand(version, fields(bytes));
        let record = found.map_or_else(|fault| bad(fault, bytes), Record::Found);
        input.consume(length);
        Ok(Some(record))
    }

    fn remark(&self) -> Option<&'static str> {
        self.remark
    }
}

impl Lcs {
    fn heading(&mut self, input: &mut Input) -> Result<Record, ImportError> {
        input.fill(HEADING_BYTES)?;
        let Some(version) = version(input.unread()) else {
            let record = bad(
                ParseError::Shape("a heading of lcs, version 1 to 8"),
                input.unread(),
            );
            let rest = input.unread().len();
            input.consume(rest);
            // What follows would be read as records of a version that is not known.
            while input.more()? {
                let rest = input.unread().len();
                input.consume(rest);
            }
            self.version = Some(1);
            return Ok(record);
        };
        input.consume(HEADING_BYTES);
        self.version = Some(version);
        if self.columns.id_unit_bytes.is_none() {
            let length = record_bytes(version);
            input.fill(length * GUESS_RECORDS)?;
            let records = input.unread().chunks_exact(length).map(fields);
            let objects = records.map(|record| (record.u64(4), size(version, record)));
            let (unit_bytes, remark) = guess(objects);
            self.columns.id_unit_bytes = Some(unit_bytes);
            self.remark = Some(remark);
        }
        Ok(Record::Found(Found::Passed(Passed::Note)))
    }

    fn understand(&self, version: usize, record: Layout<'_>) -> Result<Found, ParseError> {
        let time_ns = u64::from(record.u32(0)).checked_mul(self.columns.time_unit_ns());
        let offset_bytes = bytes(record.u64(4), self.columns.id_unit_bytes(), "object number")?;
        let length_bytes = bytes(
            size(version, record),
            self.columns.size_unit_bytes(),
            "size",
        )?;
        let word = match version {
            1 => 0,
            2 => record.u32(16),
            _ => record.u32(20),
        };
        let has_operation = !self.columns.given.iter().any(|key| key == "op");
        let operation = has_operation.then(|| operation(word & 0xff)).flatten();
        let mut io = request(
            time_ns.ok_or(ParseError::Time)?,
            operation.unwrap_or(self.columns.operation),
            offset_bytes,
            length_bytes,
        );
        io.tenant = word >> 8;
        Ok(Found::Io(io))
    }
}

/// The operation of a code; `None` for `nop` and codes that are not known.
fn operation(code: u32) -> Option<Operation> {
    match code {
        1 | 2 | 12 => Some(Operation::Read),
        3..=8 | 10 | 11 | 13 | 14 => Some(Operation::Write),
        9 => Some(Operation::Discard),
        _ => None,
    }
}

fn record_bytes(version: usize) -> usize {
    let place = version.saturating_sub(1).min(RECORD_BYTES.len() - 1);
    RECORD_BYTES[place]
}

fn size(version: usize, record: Layout<'_>) -> u64 {
    if version < 3 {
        u64::from(record.u32(12))
    } else {
        record.u64(12)
    }
}

fn fields(bytes: &[u8]) -> Layout<'_> {
    Layout {
        bytes,
        big_endian: false,
    }
}

/// The version of a heading, if it is one.
fn version(head: &[u8]) -> Option<usize> {
    let heading = fields(head.get(..HEADING_BYTES)?);
    let is_heading = heading.u64(0) == MAGIC && heading.u64(HEADING_BYTES - 8) == MAGIC;
    let version = usize::try_from(heading.u64(8)).ok()?;
    (is_heading && (1..=RECORD_BYTES.len()).contains(&version)).then_some(version)
}

/// Whether bytes begin with the heading.
fn looks_like(head: &[u8]) -> bool {
    version(head).is_some()
}
