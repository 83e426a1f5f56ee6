//! SYSTOR '17: an enterprise's virtual desktops, six logical units over 2016.
//!
//! ```text
//! Timestamp,Response,IOType,LUN,Offset,Size
//! 1456095145.133076000,0.000806000,R,0,899056122368,131072
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | time in seconds since 1970-01-01 UTC; nine digits of which six are true |
//! | 2 | seconds it took; not kept |
//! | 3 | `R`, `W`, or nothing: neither, and passed over |
//! | 4 | logical unit: the volume |
//! | 5, 6 | offset and length in bytes |
//!
//! Source: README of the traces at SNIA (iotta.snia.org/traces/block-io/4928); Lee et al., "Understanding storage traffic
//! characteristics on enterprise virtual desktop infrastructure", SYSTOR '17.

use crate::foreign::fields::{Cells, MICROSECOND_NS, SECOND_NS, volume};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Headed, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormatRow, Reads, Uses};
use crate::io::{Io, Operation};

pub(super) const ROW: FormatRow = FormatRow {
    name: "systor17",
    about: "SYSTOR '17: bytes, seconds since 1970 in microseconds",
    clock: Clock::Unix,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Headed::new(Systor17)))),
};

/// Reads lines of SYSTOR '17.
#[derive(Debug)]
pub(super) struct Systor17;

impl LineReader for Systor17 {
    fn line(&mut self, line: &[u8], _: &mut Names) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut cells = Cells::new(line, b',');
        let time_ns = cells.time_ns(SECOND_NS)? / MICROSECOND_NS * MICROSECOND_NS;
        cells.need("response")?;
        let operation = match cells.need("operation")? {
            b"R" => Some(Operation::Read),
            b"W" => Some(Operation::Write),
            b"" => None,
            _ => return Err(ParseError::Operation("R, W or nothing")),
        };
        let unit = volume(cells.number("logical unit")?)?;
        let offset_bytes = cells.number("offset")?;
        let length_bytes = cells.number("size")?;
        cells.end("a line of six columns")?;
        let Some(operation) = operation else {
            return Ok(Found::Passed(Passed::OtherEvent));
        };
        if length_bytes == 0 {
            return Ok(Found::Passed(Passed::NoData));
        }
        Ok(Found::Io(Io {
            tenant: unit,
            ..request(time_ns, operation, offset_bytes, length_bytes)
        }))
    }
}
