//! The text that MiDAS' and DOGI's simulators read.
//!
//! ```text
//! 0.000123 1 1048576 4096
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | time in seconds |
//! | 2 | 0 read, 1 write, 3 discard |
//! | 3 | first page, of 4,096 bytes |
//! | 4 | length in bytes |
//!
//! Source: sungkyun123/MiDAS-Simulation and dgist-datalab/MiDAS (FAST'24).

use crate::foreign::fields::{SECOND_NS, Words, bytes, time_ns};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormatRow, Reads, Uses};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "midas",
    about: "MiDAS and DOGI: pages of 4,096 bytes, seconds, 0 read, 1 write, 3 discard",
    clock: Clock::Own,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Midas))),
};

const PAGE_BYTES: u64 = 4096;

/// Reads lines of MiDAS' text.
#[derive(Debug)]
pub(super) struct Midas;

impl LineReader for Midas {
    fn line(&mut self, line: &[u8], _: &mut Names) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut words = Words(line);
        let time_ns = time_ns(words.need("time")?, SECOND_NS)?;
        let operation = match words.need("operation")? {
            b"0" => Operation::Read,
            b"1" => Operation::Write,
            b"3" => Operation::Discard,
            _ => return Err(ParseError::Operation("0, 1 or 3")),
        };
        let offset_bytes = bytes(words.number("page")?, PAGE_BYTES, "page")?;
        let length_bytes = words.number("length")?;
        if words.next().is_some() {
            return Err(ParseError::Shape("a line of four words"));
        }
        match length_bytes {
            0 => Ok(Found::Passed(Passed::NoData)),
            _ => Ok(Found::Io(request(
                time_ns,
                operation,
                offset_bytes,
                length_bytes,
            ))),
        }
    }
}
