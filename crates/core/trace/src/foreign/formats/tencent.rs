//! Tencent's Cloud Block Storage: 5,584 cloud volumes over ten days of October 2018.
//!
//! ```text
//! 1538323200,12910952,128,0,1063
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | time in seconds since 1970-01-01 UTC |
//! | 2, 3 | offset and length in sectors of 512 bytes |
//! | 4 | 0 read, 1 write: the opposite of MQSim |
//! | 5 | number of the volume |
//!
//! Source: README of the traces, SNIA IOTTA 27917; Zhang et al., "OSCA", USENIX ATC 2020.

use crate::foreign::fields::{Cells, SECOND_NS, SECTOR_BYTES, bytes, volume};
use crate::foreign::form::{READ_WRITE, SECTORS};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Headed, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::{Io, Operation};

pub(super) const ROW: FormatRow = FormatRow {
    name: "tencent",
    about: "Tencent CBS: sectors of 512 bytes, seconds, 0 read, 1 write",
    clock: Clock::Unix,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Headed::new(Tencent)))),
};

pub(super) const FORM: FormRow = FormRow::new(
    SECTORS.every(SECOND_NS).only(READ_WRITE),
    |started_unix_s| Box::new(TencentWriter { started_unix_s }),
);

/// Reads lines of Tencent's block traces.
#[derive(Debug)]
pub(super) struct Tencent;

impl LineReader for Tencent {
    fn line(&mut self, line: &[u8], _: &mut Names) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut cells = Cells::new(line, b',');
        let time_ns = cells.time_ns(SECOND_NS)?;
        let offset_bytes = bytes(cells.number("offset")?, SECTOR_BYTES, "offset")?;
        let length_bytes = bytes(cells.number("length")?, SECTOR_BYTES, "length")?;
        let operation = match cells.need("operation")? {
            b"0" => Operation::Read,
            b"1" => Operation::Write,
            _ => return Err(ParseError::Operation("0 (read) or 1 (write)")),
        };
        let disk = volume(cells.number("volume")?)?;
        cells.end("a line of five columns")?;
        Ok(Found::Io(Io {
            tenant: disk,
            ..request(time_ns, operation, offset_bytes, length_bytes)
        }))
    }
}

/// Writes lines of Tencent's block traces. Where the trace does not tell when it began, its time
/// counts from 1970.
#[derive(Debug)]
pub(super) struct TencentWriter {
    pub(super) started_unix_s: u64,
}

impl FormWriter for TencentWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let (seconds, _) = request.seconds();
        let time_s = self.started_unix_s.saturating_add(seconds);
        let (sector, sectors) = request.sectors();
        let is_write = u8::from(request.operation == Operation::Write);
        let volume = request.volume;
        text(
            bytes,
            format_args!("{time_s},{sector},{sectors},{is_write},{volume}\n"),
        );
    }
}
