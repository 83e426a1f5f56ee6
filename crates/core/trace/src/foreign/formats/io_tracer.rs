//! Block events of cacheMon's io-tracer-linux: `ds/ds_*.csv.gz` of its output.
//!
//! ```text
//! 2024-01-15 10:30:45.123456,1234,python3,2048000,write,8192,1.234,1235,16,0,1233
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | when it was completed, local time, in microseconds |
//! | 2 | process; not kept |
//! | 3 | the process's name, cut to 16 letters: the context |
//! | 4 | first sector, of 512 bytes |
//! | 5 | `read`, `write`, `flush`, `discard`, `secure_erase`, `none` |
//! | 6 | length in bytes |
//! | 7 to 11 | latency in milliseconds, thread, sectors, processor, parent process; not kept |
//!
//! A secure erase discards. Which file a request is of stands in another file (`fs/`), by inode and not by
//! sector, so that it is not known here.
//!
//! Source: cacheMon/io-tracer, `docs/TRACE_FORMAT.md`, "Block Device Traces".

use crate::foreign::calendar::date_ns;
use crate::foreign::fields::{Cells, SECTOR_BYTES, bytes};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Headed, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormatRow, Reads, Uses};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "io-tracer",
    about: "io-tracer-linux: sectors of 512 bytes, local time",
    clock: Clock::Shared,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Headed::new(IoTracer)))),
};

/// Columns of a line.
const COLUMNS: usize = 11;

/// Reads lines of io-tracer-linux.
#[derive(Debug)]
pub(super) struct IoTracer;

impl LineReader for IoTracer {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let mut cells = Cells::new(line, b',');
        let time_ns = date_ns(cells.need("time")?)
            .ok_or(ParseError::Shape("a time like 2024-01-15 10:30:45.123456"))?;
        cells.number("process")?;
        let command = cells.need("command")?;
        let sector = cells.number("sector")?;
        let operation = match cells.need("operation")? {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"flush" => Operation::Flush,
            b"discard" | b"secure_erase" => Operation::Discard,
            b"none" => return Ok(Found::Passed(Passed::NoData)),
            _ => return Err(ParseError::Operation("read, write, flush or discard")),
        };
        let length_bytes = cells.number("size")?;
        if cells.count() + 6 != COLUMNS {
            return Err(ParseError::Shape("a line of eleven columns"));
        }
        if length_bytes == 0 && operation != Operation::Flush {
            return Ok(Found::Passed(Passed::NoData));
        }
        let offset_bytes = match operation {
            Operation::Flush => 0,
            _ => bytes(sector, SECTOR_BYTES, "sector")?,
        };
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.context = names.context(command)?;
        Ok(Found::Io(io))
    }
}
