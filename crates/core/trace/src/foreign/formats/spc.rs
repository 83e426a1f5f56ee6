//! The trace format of the Storage Performance Council: UMass' Financial and WebSearch traces.
//!
//! ```text
//! 0,20941264,8192,W,0.551706,Alpha/NT
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | application specific unit: the volume |
//! | 2 | offset in blocks |
//! | 3 | length in bytes; 0 is legal, and no data |
//! | 4 | `R` or `W`, of either case |
//! | 5 | time in seconds since the trace began |
//! | more | not defined, not kept |
//!
//! Blanks may follow a comma. The specification leaves the size of a block to the description of
//! each trace; it is 512 bytes in those of UMass, and here.
//!
//! Source: "SPC Trace File Format Specification", revision 1.0.1, 2002.

use crate::foreign::fields::{Cells, SECOND_NS, SECTOR_BYTES, bytes, volume};
use crate::foreign::form::{Holds, READ_WRITE, SECTORS};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Headed, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "spc",
    about: "SPC: blocks of 512 bytes, lengths in bytes, seconds",
    clock: Clock::Own,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Headed::new(Spc)))),
};

pub(super) const FORM: FormRow = FormRow::new(
    Holds {
        length_unit_bytes: 1,
        ..SECTORS.only(READ_WRITE)
    },
    |_| Box::new(SpcWriter),
);

/// Reads lines of SPC traces.
#[derive(Debug)]
pub(super) struct Spc;

impl LineReader for Spc {
    fn line(&mut self, line: &[u8], _: &mut Names) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut cells = Cells::new(line, b',');
        let unit = volume(cells.number("application specific unit")?)?;
        let offset_bytes = bytes(
            cells.number("block address")?,
            SECTOR_BYTES,
            "block address",
        )?;
        let length_bytes = cells.number("length")?;
        let operation = match cells.need("operation")? {
            b"R" | b"r" => Operation::Read,
            b"W" | b"w" => Operation::Write,
            _ => return Err(ParseError::Operation("R or W")),
        };
        let time_ns = cells.time_ns(SECOND_NS)?;
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.tenant = unit;
        Ok(Found::Io(io))
    }
}

/// Writes lines of SPC traces.
#[derive(Debug)]
pub(super) struct SpcWriter;

impl FormWriter for SpcWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let Request {
            volume,
            length_bytes,
            ..
        } = request;
        let (block, _) = request.sectors();
        let letters = request.letters();
        let (seconds, ns) = request.seconds();
        text(
            bytes,
            format_args!("{volume},{block},{length_bytes},{letters},{seconds}.{ns:09}\n"),
        );
    }
}
