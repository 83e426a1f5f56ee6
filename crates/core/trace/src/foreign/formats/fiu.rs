//! The traces of Florida International University at SNIA, often called `.blkparse`: I/O
//! deduplication (mail, homes, web-vm) and SRCMap.
//!
//! ```text
//! 85564152538721 318 kjournald 194192 8 W 1 0 b2b0d4272e2645dc1658d5908c48d964
//! ```
//!
//! | word | |
//! |---|---|
//! | 1 | time in nanoseconds |
//! | 2 | process; not kept |
//! | 3 | the process's name: the context |
//! | 4, 5 | offset and length in sectors of 512 bytes |
//! | 6 | `R` or `W` |
//! | 7, 8 | major and minor number of the device: the volume |
//! | more | digests of the data, for each 4,096 or 512 bytes; not kept |
//!
//! Source: README of SNIA IOTTA 391 ("I/O Deduplication"); Koller and Rangaswami, FAST 2010.

use crate::foreign::fields::{SECTOR_BYTES, Words, bytes, time_ns};
use crate::foreign::form::{READ_WRITE, SECTORS};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "fiu",
    about: "FIU at SNIA: sectors of 512 bytes, nanoseconds",
    clock: Clock::Own,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Fiu))),
};

pub(super) const FORM: FormRow =
    FormRow::new(SECTORS.named().only(READ_WRITE), |_| Box::new(FiuWriter));

/// Reads lines of FIU's traces.
#[derive(Debug)]
pub(super) struct Fiu;

impl LineReader for Fiu {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut words = Words(line);
        let time_ns = time_ns(words.need("time")?, 1)?;
        words.number("process number")?;
        let command = words.need("process name")?;
        let offset_bytes = bytes(words.number("offset")?, SECTOR_BYTES, "offset")?;
        let length_bytes = bytes(words.number("length")?, SECTOR_BYTES, "length")?;
        let operation = match words.need("operation")? {
            b"R" => Operation::Read,
            b"W" => Operation::Write,
            _ => return Err(ParseError::Operation("R or W")),
        };
        let (major, minor) = (words.number("major number")?, words.number("minor number")?);
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.context = names.context(command)?;
        io.tenant = names.device(major, minor)?;
        Ok(Found::Io(io))
    }
}

/// Writes lines of FIU's traces, without digests: the data are not in a trace of ours.
#[derive(Debug)]
pub(super) struct FiuWriter;

impl FormWriter for FiuWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let Request {
            time_ns,
            process,
            name,
            ..
        } = request;
        let (sector, sectors) = request.sectors();
        let letters = request.letters();
        let (major, minor) = request.device();
        text(
            bytes,
            format_args!(
                "{time_ns} {process} {name} {sector} {sectors} {letters} {major} {minor}\n"
            ),
        );
    }
}
