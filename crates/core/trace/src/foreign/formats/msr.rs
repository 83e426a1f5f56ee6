//! MSR Cambridge: 36 volumes of 13 servers over a week of 2007, a CSV file each.
//!
//! ```text
//! 128166372003061629,hm,0,Read,383496192,32768,41286
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | time in units of 100 ns since 1601-01-01 UTC ("Windows filetime") |
//! | 2, 3 | host and disk number: together the volume |
//! | 4 | `Read` or `Write` |
//! | 5, 6 | offset and length in bytes |
//! | 7 | response time in units of 100 ns; not kept |
//!
//! Source: README.txt of the traces, SNIA IOTTA 388; Narayanan et al., "Write Off-Loading", FAST
//! 2008.

use crate::foreign::fields::{Cells, SECOND_NS};
use crate::foreign::form::{BYTES, READ_WRITE};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Headed, LineReader, Passed, is_comment, request};
use crate::foreign::row::WINDOWS_TO_UNIX_S;
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "msr",
    about: "MSR Cambridge: bytes, 100 nanoseconds since 1601",
    clock: Clock::Windows,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Headed::new(Msr::default())))),
};

pub(super) const FORM: FormRow =
    FormRow::new(BYTES.every(100).only(READ_WRITE), |started_unix_s| {
        Box::new(MsrWriter { started_unix_s })
    });

/// Nanoseconds of a unit of Windows' file time.
const FILETIME_NS: u64 = 100;

/// Reads lines of MSR Cambridge.
#[derive(Debug, Default)]
pub(super) struct Msr {
    /// Host and disk of the last line as its cells hold them, each with its delimiter; most lines repeat them.
    cells: Vec<u8>,
    /// The number of that volume.
    volume: u32,
}

impl LineReader for Msr {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut cells = Cells::new(line, b',');
        let time_ns = cells.time_ns(FILETIME_NS)?;
        let named = if !self.cells.is_empty() && cells.pass(&self.cells) {
            None
        } else {
            Some([cells.need("host")?, cells.need("disk number")?])
        };
        let operation = operation(&mut cells)?;
        let offset_bytes = cells.number("offset")?;
        let length_bytes = cells.number("length")?;
        if let Some(named) = named {
            self.volume(named, names)?;
        }
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.tenant = self.volume;
        Ok(Found::Io(io))
    }
}

fn operation(cells: &mut Cells<'_>) -> Result<Operation, ParseError> {
    // As the published traces write them.
    if cells.pass(b"Write,") {
        return Ok(Operation::Write);
    }
    if cells.pass(b"Read,") {
        return Ok(Operation::Read);
    }
    match cells.need("operation")? {
        kind if kind.eq_ignore_ascii_case(b"read") => Ok(Operation::Read),
        kind if kind.eq_ignore_ascii_case(b"write") => Ok(Operation::Write),
        _ => Err(ParseError::Operation("Read or Write")),
    }
}

impl Msr {
    /// Takes the number of the volume that has the name of the files: host and disk, as in `hm_0`.
    fn volume(&mut self, [host, disk]: [&[u8]; 2], names: &mut Names) -> Result<(), ParseError> {
        self.cells.clear();
        self.volume = names.device_text(&[host, b"_", disk].concat())?;
        self.cells = [host, b",", disk, b","].concat();
        Ok(())
    }
}

/// The host's name that is written, since a trace of ours does not hold one. Our choice.
const HOST: &str = "anabranch";

/// Writes lines of MSR Cambridge. The volume is the disk's number, and the response time, which is
/// not known, 0. Where the trace does not tell when it began, its time counts from 1970.
#[derive(Debug)]
pub(super) struct MsrWriter {
    pub(super) started_unix_s: u64,
}

impl FormWriter for MsrWriter {
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let kind = match request.operation {
            Operation::Write => "Write",
            _ => "Read",
        };
        let since_1601_s = self.started_unix_s.saturating_add(WINDOWS_TO_UNIX_S);
        let started = since_1601_s.saturating_mul(SECOND_NS / FILETIME_NS);
        let time = started.saturating_add(request.time_ns / FILETIME_NS);
        let Request {
            offset_bytes,
            length_bytes,
            volume,
            ..
        } = request;
        text(
            bytes,
            format_args!("{time},{HOST},{volume},{kind},{offset_bytes},{length_bytes},0\n"),
        );
    }
}
