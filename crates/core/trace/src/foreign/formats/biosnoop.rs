//! The table that `biosnoop` prints, of bcc and of libbpf-tools.
//!
//! ```text
//! TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)
//! 0.000000    writerd        1200   vdb     W 4096       4096       0.41
//! ```
//!
//! | column | |
//! |---|---|
//! | `TIME(s)` | time in seconds since the first event |
//! | `COMM` | the process's name: the context; it may have blanks |
//! | `PID` | process |
//! | `DISK` | the volume |
//! | `T` | what is asked: a letter (bcc), or `RWBS` (libbpf-tools) |
//! | `SECTOR` | first sector, of 512 bytes; means nothing without bytes |
//! | `BYTES` | length in bytes |
//! | `QUE(ms)`, `LAT(ms)`, `P` | latencies and whether it is sequential; not kept |
//!
//! The heading says which columns there are; without one, these of bcc without options are taken. The table is printed
//! when requests complete, in that order.
//!
//! Source: bcc, `tools/biosnoop.py` and `tools/biosnoop_example.txt`; `libbpf-tools/biosnoop.c`.

use crate::foreign::fields::{SECOND_NS, SECTOR_BYTES, Words, bytes, number, time_ns};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Passed, is_comment, request};
use crate::foreign::row::{Clock, FormatRow, Reads, Uses};
use crate::foreign::rwbs;

pub(super) const ROW: FormatRow = FormatRow {
    name: "biosnoop",
    about: "table of biosnoop (bcc, libbpf-tools): sectors of 512 bytes, seconds",
    clock: Clock::Own,
    uses: Uses::NOTHING,
    reader: Reads::Lines(|_| Ok(Box::new(Biosnoop::default()))),
};

/// Columns behind the process's name that are needed.
const NEEDED: [&[u8]; 5] = [b"PID", b"DISK", b"T", b"SECTOR", b"BYTES"];

/// Columns behind the process's name where no heading names them.
const USUAL: [&[u8]; 6] = [b"PID", b"DISK", b"T", b"SECTOR", b"BYTES", b"LAT(ms)"];

/// Words of a line that are looked at. Our choice: a name has 15 letters, a table some ten columns.
const MOST_WORDS: usize = 32;

/// Reads lines of biosnoop.
#[derive(Debug)]
struct Biosnoop {
    /// The number of columns behind the process's name.
    columns: usize,
    /// The places of [`NEEDED`] among them.
    places: [usize; 5],
}

impl Default for Biosnoop {
    fn default() -> Biosnoop {
        Biosnoop {
            columns: USUAL.len(),
            places: [0, 1, 2, 3, 4],
        }
    }
}

impl LineReader for Biosnoop {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        let mut words = Words(line);
        let first = words.next().unwrap_or_default();
        if first.starts_with(b"TIME") {
            self.heading(words)?;
            return Ok(Found::Passed(Passed::Note));
        }
        if is_comment(line) || first == b"Tracing" {
            return Ok(Found::Passed(Passed::Note));
        }
        if let Some(events) = lost(line) {
            return Ok(Found::Lost(Some(events)));
        }
        let time_ns = time_ns(first, SECOND_NS)?;
        let rest: Vec<&[u8]> = words.take(MOST_WORDS).collect();
        // A name may have blanks: the columns are counted from the end.
        let split = rest.len().checked_sub(self.columns);
        if split == Some(0) && rest.first() == Some(&b"?".as_slice()) {
            // bcc did not see how the request began: it has no disk, and no sector.
            return Ok(Found::Passed(Passed::NoData));
        }
        let split = split
            .filter(|split| *split > 0)
            .ok_or(ParseError::Missing("columns"))?;
        let (command, columns) = rest.split_at(split);
        let column = |which: usize| columns.get(self.places[which]).copied().unwrap_or_default();
        number(column(0)).ok_or(ParseError::NotANumber("process"))?;
        let length_bytes = number(column(4)).ok_or(ParseError::NotANumber("length"))?;
        let Some(operation) = rwbs::operation(column(2), length_bytes > 0)? else {
            return Ok(Found::Passed(Passed::NoData));
        };
        let offset_bytes = if length_bytes == 0 {
            0
        } else {
            let sector = number(column(3)).ok_or(ParseError::NotANumber("sector"))?;
            bytes(sector, SECTOR_BYTES, "sector")?
        };
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        io.tenant = names.device_text(column(1))?;
        io.context = names.context(&command.join(&b' '))?;
        Ok(Found::Io(io))
    }
}

/// The number in `Possibly lost 12 samples` (bcc) and `lost 12 events on CPU #3` (libbpf-tools).
fn lost(line: &[u8]) -> Option<u64> {
    let line = line.strip_prefix(b"Possibly ").unwrap_or(line);
    let mut words = Words(line.strip_prefix(b"lost ")?);
    number(words.next()?)
}

impl Biosnoop {
    /// Takes the places of the columns from the heading, behind the time's and the process's name.
    fn heading(&mut self, mut words: Words<'_>) -> Result<(), ParseError> {
        words.need("COMM")?;
        let columns: Vec<&[u8]> = words.take(MOST_WORDS).collect();
        for (place, name) in self.places.iter_mut().zip(NEEDED) {
            let found = columns.iter().position(|column| *column == name);
            *place = found.ok_or(ParseError::Shape("the heading of biosnoop's table"))?;
        }
        self.columns = columns.len();
        Ok(())
    }
}
