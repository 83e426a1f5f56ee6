//! libCacheSim's `oracleGeneral`: requests to a cache, 24 bytes each, little-endian, packed.
//!
//! | bytes | | |
//! |---|---|---|
//! | 0 to 3 | u32 | time in seconds since the trace began |
//! | 4 to 11 | u64 | the object's number |
//! | 12 to 15 | u32 | the object's size in bytes |
//! | 16 to 23 | i64 | when the object is asked for next, in requests since the trace began; -1 or the largest number for never |
//!
//! The format knows neither operations nor addresses. Every request is taken as a write of its
//! object (what a cache that admits all of them writes at worst), and an object's number as the
//! number of the 4,096-byte block it begins at, as the conversions of block traces for libCacheSim
//! have it (`BLOCK_SIZE` of cacheMon/cache_dataset's conversion scripts). Others number sectors of 512 bytes. Which it is
//! is guessed from the first 256 records, and said: the unit in which more objects end where another begins, or else
//! sectors where all numbers are multiples of 8. A column map's `op`, `id-unit` and `time-unit` change that; numbers
//! that are hashes are no addresses and mostly do not fit 64 bits of bytes.
//!
//! Source: libCacheSim, `traceReader/customizedReader/oracle/oracleGeneralBin.h` and FAQ.md.

use std::collections::BTreeMap;

use crate::foreign::columns::ColumnMap;
use crate::foreign::error::ImportError;
use crate::foreign::fields::{SECOND_NS, SECTOR_BYTES, bytes};
use crate::foreign::form::{BYTES, Holds, MOST_32_BIT_BYTES};
use crate::foreign::input::Input;
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, request};
use crate::foreign::records::{Layout, Record, RecordReader, bad};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "oracle-general",
    about: "binary of libCacheSim: objects, seconds",
    clock: Clock::Own,
    uses: Uses::NOTHING.keys(&["op", "id-unit", "size-unit", "time-unit"]),
    reader: Reads::Records(
        |options| {
            Box::new(OracleGeneral {
                columns: options.columns.clone().unwrap_or_default(),
                is_to_be_guessed: options
                    .columns
                    .as_ref()
                    .is_none_or(|map| map.id_unit_bytes.is_none()),
                remark: None,
            })
        },
        looks_like,
    ),
};

pub(super) const FORM: FormRow = FormRow {
    about: Some("binary of libCacheSim: writes of 4 KiB objects, seconds"),
    ..FormRow::new(
        Holds {
            offset_unit_bytes: 4096,
            volumes: false,
            ..BYTES.every(SECOND_NS).only(&[Operation::Write]).ordered()
        }
        .up_to(MOST_32_BIT_BYTES),
        |_| Box::new(OracleGeneralWriter),
    )
};

const RECORD_BYTES: usize = 24;

/// Records from which the unit of objects' numbers is guessed.
pub(super) const GUESS_RECORDS: usize = 256;

/// Reads records of `oracleGeneral`.
#[derive(Debug)]
pub(super) struct OracleGeneral {
    pub(super) columns: ColumnMap,
    /// Whether no unit of objects' numbers was given, and no record was seen yet.
    is_to_be_guessed: bool,
    /// A sentence on the unit of objects' numbers, if it was guessed.
    remark: Option<&'static str>,
}

/// Different objects needed to guess that numbers count sectors (our choice: so many random numbers are all multiples
/// of 8 once in 2^48).
const GUESS_OBJECTS: usize = 16;

/// Neighbours needed to guess by them (our choice).
const GUESS_NEIGHBOURS: usize = 8;

impl RecordReader for OracleGeneral {
    fn record(&mut self, input: &mut Input, _: &mut Names) -> Result<Option<Record>, ImportError> {
        if std::mem::take(&mut self.is_to_be_guessed) {
            input.fill(RECORD_BYTES * GUESS_RECORDS)?;
            let (records, _) = input.unread().as_chunks::<RECORD_BYTES>();
            let objects = records.iter().map(|record| {
                let fields = fields(record);
                (fields.u64(4), u64::from(fields.u32(12)))
            });
            let (unit_bytes, remark) = guess(objects);
            self.columns.id_unit_bytes = Some(unit_bytes);
            self.remark = Some(remark);
        }
        if !input.fill(RECORD_BYTES)? {
            let rest = input.unread();
            let cut_off = (!rest.is_empty()).then(|| bad(ParseError::CutOff, rest));
            input.consume(RECORD_BYTES);
            return Ok(cut_off);
        }
        let bytes = input.unread().get(..RECORD_BYTES).unwrap_or_default();
        let found = self.understand(bytes);
        let record = found.map_or_else(|fault| bad(fault, bytes), Record::Found);
        input.consume(RECORD_BYTES);
        Ok(Some(record))
    }

    fn remark(&self) -> Option<&'static str> {
        self.remark
    }
}

/// The unit that objects' numbers seem to count, in bytes, and a sentence on it, by the first objects and their sizes.
pub(super) fn guess(objects: impl Iterator<Item = (u64, u64)>) -> (u64, &'static str) {
    let objects: BTreeMap<u64, u64> = objects.take(GUESS_RECORDS).collect();
    let (sectors, blocks) = (
        neighbours(&objects, SECTOR_BYTES),
        neighbours(&objects, OBJECT_BYTES),
    );
    let are_multiples =
        objects.len() >= GUESS_OBJECTS && objects.keys().all(|number| number % 8 == 0);
    if sectors > blocks && sectors >= GUESS_NEIGHBOURS {
        let remark = "objects' numbers are taken for sectors of 512 bytes, since so most objects end where another begins; \
             --columns id-unit=block takes them for blocks of 4,096";
        (SECTOR_BYTES, remark)
    } else if blocks > sectors && blocks >= GUESS_NEIGHBOURS {
        let remark = "objects' numbers are taken for blocks of 4,096 bytes, since so most objects end where another begins; \
             --columns id-unit=sector takes them for sectors of 512";
        (OBJECT_BYTES, remark)
    } else if are_multiples {
        let remark = "objects' numbers are taken for sectors of 512 bytes, since the first ones are all multiples of 8; \
             --columns id-unit=block takes them for blocks of 4,096";
        (SECTOR_BYTES, remark)
    } else {
        let remark = "objects' numbers are taken for blocks of 4,096 bytes, since nothing in them says what they count; \
             --columns id-unit=sector takes them for sectors of 512";
        (OBJECT_BYTES, remark)
    }
}

/// Objects that end where the next one begins, if their numbers count such units.
fn neighbours(objects: &BTreeMap<u64, u64>, unit_bytes: u64) -> usize {
    let next = objects.iter().skip(1);
    let pairs = objects.iter().zip(next);
    pairs
        .filter(|((number, size_bytes), (next, _))| {
            next.abs_diff(**number) == size_bytes.div_ceil(unit_bytes)
        })
        .count()
}

impl OracleGeneral {
    fn understand(&self, record: &[u8]) -> Result<Found, ParseError> {
        let fields = fields(record);
        let time_ns = u64::from(fields.u32(0)).checked_mul(self.columns.time_unit_ns());
        let offset_bytes = bytes(fields.u64(4), self.columns.id_unit_bytes(), "object number")?;
        let length_bytes = bytes(
            u64::from(fields.u32(12)),
            self.columns.size_unit_bytes(),
            "size",
        )?;
        Ok(Found::Io(request(
            time_ns.ok_or(ParseError::Time)?,
            self.columns.operation,
            offset_bytes,
            length_bytes,
        )))
    }
}

fn fields(record: &[u8]) -> Layout<'_> {
    Layout {
        bytes: record,
        big_endian: false,
    }
}

/// Whether bytes look like the beginning of `oracleGeneral`: times never go back, sizes are not
/// zero, and each next request is behind its own or never.
pub(super) fn looks_like(head: &[u8]) -> bool {
    let (records, rest) = head.as_chunks::<RECORD_BYTES>();
    let mut last_time = 0;
    let plausible = |(place, record): (i64, &[u8; RECORD_BYTES])| {
        let fields = fields(record);
        let time = fields.u32(0);
        let next = fields.u64(16).cast_signed();
        let ok = time >= last_time && fields.u32(12) > 0 && (next == -1 || next > place);
        last_time = time;
        ok
    };
    let whole = !records.is_empty() && (rest.is_empty() || records.len() > GUESS_RECORDS);
    whole && (0..).zip(records).take(GUESS_RECORDS).all(plausible)
}

/// Bytes of each object written: the block that a reader takes an object's number for.
const OBJECT_BYTES: u64 = 4096;

/// The value written for the time of an object's next request, which is not known.
const NEVER: i64 = -1;

/// Writes records of `oracleGeneral`, one for each write; reads would come back as writes. The time of an object's next
/// request is not told, for it takes the whole trace to know.
#[derive(Debug)]
pub(super) struct OracleGeneralWriter;

impl FormWriter for OracleGeneralWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let (seconds, _) = request.seconds();
        let most = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        bytes.extend(most(seconds).to_le_bytes());
        bytes.extend((request.offset_bytes / OBJECT_BYTES).to_le_bytes());
        bytes.extend(most(request.length_bytes).to_le_bytes());
        bytes.extend(NEVER.to_le_bytes());
    }
}
