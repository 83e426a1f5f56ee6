//! Text of Windows' event traces (ETW), as SNIA's Microsoft traces have it (`*.trace.csv`, `xperf -a dumper`).
//!
//! ```text
//! BeginHeader
//!   DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, IrpFlags, …
//! EndHeader
//!   DiskWrite, 133001, System ( 4), 2260, 0xfffffa80087ec4c0, 0x0a9a6b4000, 0x00001000, 152, 2, 0x060a00, …
//! ```
//!
//! | column | |
//! |---|---|
//! | 1 | `DiskRead`, `DiskWrite`, `DiskFlush`: a request that is done; all other events are passed over |
//! | `TimeStamp` | microseconds since the trace began |
//! | `Process Name ( PID)` | the process's name: the context |
//! | `ByteOffset`, `IOSize` | offset and length in bytes, hexadecimal |
//! | `DiskNum` | number of the disk: the volume |
//!
//! The heading names the columns of each event; without one, those above are taken.
//!
//! Source: the README of SNIA's "Microsoft Production Server Traces" and "Microsoft Enterprise Traces"; Kavalanekar,
//! Worthington, Zhang and Sharda, "Characterization of Storage Workload Traces from Production Windows Servers",
//! IISWC 2008.

use super::lost;
use crate::foreign::fields::{Cells, MICROSECOND_NS, hexadecimal, number, time_ns, volume};
use crate::foreign::names::Names;
use crate::foreign::options::Event;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormatRow, Reads, Uses};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "etw",
    about: "text of Windows' event traces (SNIA's Microsoft traces): bytes, microseconds",
    clock: Clock::Own,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Etw::default()))),
};

/// The columns that are read, and their places without a heading.
const COLUMNS: [(&[u8], usize); 5] = [
    (b"TimeStamp", 1),
    (b"Process Name", 2),
    (b"ByteOffset", 5),
    (b"IOSize", 6),
    (b"DiskNum", 8),
];

/// The place of the time in a flush, which has no offset and no length.
const FLUSH_TIME: usize = 1;

/// Cells of a line that are looked at. Our choice: events have some 15 columns.
const MOST_CELLS: usize = 64;

/// The part of the file that a line stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// No heading was seen.
    Bare,
    Heading,
    Events,
}

/// Reads lines of events.
#[derive(Debug)]
struct Etw {
    part: Part,
    places: [usize; COLUMNS.len()],
}

impl Default for Etw {
    fn default() -> Etw {
        Etw {
            part: Part::Bare,
            places: COLUMNS.map(|(_, place)| place),
        }
    }
}

impl LineReader for Etw {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        let trimmed = line.trim_ascii();
        let next = match trimmed {
            b"BeginHeader" => Some(Part::Heading),
            b"EndHeader" => Some(Part::Events),
            _ => None,
        };
        if let Some(part) = next {
            self.part = part;
            return Ok(Found::Passed(Passed::Note));
        }
        if self.part == Part::Heading {
            self.heading(trimmed);
            return Ok(Found::Passed(Passed::Note));
        }
        if trimmed.starts_with(b"OS Version") {
            return Ok(lost::found(lost::in_heading(trimmed)));
        }
        if is_comment(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let cells: Vec<&[u8]> = Cells::new(line, b',').take(MOST_CELLS).collect();
        let operation = match cells.first().copied().unwrap_or_default() {
            b"DiskRead" => Operation::Read,
            b"DiskWrite" => Operation::Write,
            b"DiskFlush" => return flush(&cells),
            b"DiskReadInit" | b"DiskWriteInit" | b"DiskFlushInit" => {
                return Ok(Found::Passed(Passed::Untaken(Event::Queue)));
            }
            // Only a heading makes other words names of events.
            _ if self.part == Part::Events => return Ok(Found::Passed(Passed::OtherEvent)),
            _ => return Err(ParseError::Shape("an event of a disk")),
        };
        self.request(&cells, operation, names)
    }
}

impl Etw {
    /// Takes the places of the columns of reads and writes, which are the same.
    fn heading(&mut self, line: &[u8]) {
        let cells: Vec<&[u8]> = Cells::new(line, b',').take(MOST_CELLS).collect();
        if cells.first() != Some(&b"DiskRead".as_slice()) {
            return;
        }
        for (place, (name, _)) in self.places.iter_mut().zip(COLUMNS) {
            let found = cells.iter().position(|cell| cell.starts_with(name));
            *place = found.unwrap_or(*place);
        }
    }

    fn request(
        &self,
        cells: &[&[u8]],
        operation: Operation,
        names: &mut Names,
    ) -> Result<Found, ParseError> {
        let [time, process, offset, length, disk] = self
            .places
            .map(|place| cells.get(place).copied().unwrap_or_default());
        let number_of = |cell: &[u8], what| {
            let found = hexadecimal(cell).or_else(|| number(cell));
            found.ok_or(ParseError::NotANumber(what))
        };
        let time_ns = time_ns(time, MICROSECOND_NS)?;
        let offset_bytes = number_of(offset, "offset")?;
        let length_bytes = number_of(length, "size")?;
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.tenant = volume(number_of(disk, "disk's number")?)?;
        io.context = names.context(name(process))?;
        Ok(Found::Io(io))
    }
}

fn flush(cells: &[&[u8]]) -> Result<Found, ParseError> {
    let time = cells.get(FLUSH_TIME).copied().unwrap_or_default();
    let time_ns = time_ns(time, MICROSECOND_NS)?;
    Ok(Found::Io(request(time_ns, Operation::Flush, 0, 0)))
}

/// The name in `sqlservr.exe (1234)`.
fn name(process: &[u8]) -> &[u8] {
    let end = process.iter().rposition(|byte| *byte == b'(');
    process
        .get(..end.unwrap_or(process.len()))
        .unwrap_or(process)
        .trim_ascii()
}
