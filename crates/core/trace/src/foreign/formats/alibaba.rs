//! Alibaba's block traces: 1,000 cloud disks over January 2020.
//!
//! ```text
//! 419,W,8792731648,16384,1577808144360767
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | number of the virtual disk: the volume |
//! | 2 | `R` or `W` |
//! | 3, 4 | offset and length in bytes |
//! | 5 | time in microseconds since 1970-01-01 UTC |
//!
//! Source: README of github.com/alibaba/block-traces; Li et al., "An In-Depth Analysis of Cloud
//! Block Storage Workloads in Large-Scale Production", IISWC 2020.

use crate::foreign::fields::{Cells, MICROSECOND_NS, volume};
use crate::foreign::form::{BYTES, READ_WRITE};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Headed, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::{Io, Operation};

pub(super) const ROW: FormatRow = FormatRow {
    name: "alibaba",
    about: "Alibaba block traces: bytes, microseconds since 1970",
    clock: Clock::Unix,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Headed::new(Alibaba)))),
};

pub(super) const FORM: FormRow =
    FormRow::new(BYTES.every(1000).only(READ_WRITE), |started_unix_s| {
        Box::new(AlibabaWriter { started_unix_s })
    });

/// Reads lines of Alibaba's block traces.
#[derive(Debug)]
pub(super) struct Alibaba;

impl LineReader for Alibaba {
    fn line(&mut self, line: &[u8], _: &mut Names) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut cells = Cells::new(line, b',');
        let disk = volume(cells.number("volume")?)?;
        let operation = match cells.need("operation")? {
            b"R" => Operation::Read,
            b"W" => Operation::Write,
            _ => return Err(ParseError::Operation("R or W")),
        };
        let offset_bytes = cells.number("offset")?;
        let length_bytes = cells.number("length")?;
        let time_ns = cells.time_ns(MICROSECOND_NS)?;
        cells.end("a line of five columns")?;
        Ok(Found::Io(Io {
            tenant: disk,
            ..request(time_ns, operation, offset_bytes, length_bytes)
        }))
    }
}

/// Writes lines of Alibaba's block traces. Where the trace does not tell when it began, its time
/// counts from 1970.
#[derive(Debug)]
pub(super) struct AlibabaWriter {
    pub(super) started_unix_s: u64,
}

impl FormWriter for AlibabaWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let Request {
            offset_bytes,
            length_bytes,
            volume,
            ..
        } = request;
        let letters = request.letters();
        let started_us = self.started_unix_s.saturating_mul(1_000_000);
        let time_us = started_us.saturating_add(request.time_ns / MICROSECOND_NS);
        text(
            bytes,
            format_args!("{volume},{letters},{offset_bytes},{length_bytes},{time_us}\n"),
        );
    }
}
