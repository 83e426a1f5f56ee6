//! A table of any columns, by libCacheSim's column map: see [`ColumnMap`] for columns and units.
//!
//! Cells may stand in double quotes. Numbers are decimal, with or without a fraction and a power of ten, or hexadecimal
//! behind `0x`. A time is a number of units, a date with a time of day (ISO 8601), or a time of day. Without an
//! operation every request is taken as a write of its object, see the format `oracle-general`.
//!
//! bpftrace's own lines between those of a script are passed over: `Attaching 2 probes...`, and maps (`@bytes: 5`), with
//! their histograms and call stacks. `Lost 12 events` counts.
//!
//! Source: libCacheSim, `bin/cli_reader_utils.c`, `parse_reader_params`, and
//! `traceReader/generalReader/csv.c`; for quotes RFC 4180, section 2; for bpftrace its manual, "Invocation Built-ins".

use memchr::memmem;

use super::lost;
use crate::foreign::calendar::{clock_ns, date_ns, day};
use crate::foreign::columns::{ColumnMap, KEYS};
use crate::foreign::error::ColumnsError;
use crate::foreign::fields::{number, scaled, volume};
use crate::foreign::form::{BYTES, WITH_DISCARD};
use crate::foreign::names::Names;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, LineReader, Passed, is_comment, is_heading, request};
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads, Uses};
use crate::foreign::rwbs;
use crate::foreign::writer::{FormWriter, Request, text};
use crate::io::Operation;

pub(super) const ROW: FormatRow = FormatRow {
    name: "csv",
    about: "a CSV by its column map",
    clock: Clock::Own,
    uses: Uses::NOTHING.keys(KEYS).by_name(),
    reader: Reads::Lines(|options| Ok(Box::new(Csv::new(options.columns.as_ref())?))),
};

pub(super) const FORM: FormRow = FormRow {
    about: Some("a CSV with a heading: bytes, nanoseconds"),
    ..FormRow::new(BYTES.only(WITH_DISCARD), |_| Box::new(CsvWriter))
};

/// Columns of a line that are looked at at most. Our choice: a map of 16 bits can name more, but no table has them.
const MOST_COLUMNS: usize = 1024;

/// Bytes of a cell that an error shows.
const SHOWN_BYTES: usize = 40;

/// Reads lines of a CSV.
#[derive(Debug)]
pub(super) struct Csv {
    map: ColumnMap,
    id: usize,
    /// Columns of a line that are looked at: those up to the last that the map names, and the one behind it, which may
    /// be the time of a date.
    columns: usize,
    is_first: bool,
    /// Whether volumes are words instead of numbers; the first row decides.
    volumes_are_words: Option<bool>,
    /// Whether the line stands within the key of one of bpftrace's maps.
    is_in_key: bool,
}

/// The cells of a line. `delimiter` b' ' stands for any number of blanks and tabs.
#[derive(Debug, Clone, Copy)]
struct Cells<'a> {
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let is_aligned = self.delimiter == b' ';
        let rest = self.rest?.trim_ascii_start();
        if is_aligned && rest.is_empty() {
            return None;
        }
        let ends = |byte: &u8| *byte == self.delimiter || (is_aligned && *byte == b'\t');
        let quoted = rest.strip_prefix(b"\"").and_then(|inside| {
            let end = inside.iter().position(|byte| *byte == b'"')?;
            Some((inside.get(..end)?, inside.get(end + 1..)?))
        });
        let (cell, from) = quoted.map_or((None, rest), |(cell, behind)| (Some(cell), behind));
        let end = from.iter().position(ends);
        let bare = from.get(..end.unwrap_or(from.len()))?;
        self.rest = end.and_then(|end| from.get(end + 1..));
        Some(cell.unwrap_or(bare).trim_ascii())
    }
}

/// The cells of a line that the map names.
struct Row<'a> {
    cells: Vec<&'a [u8]>,
}

impl<'a> Row<'a> {
    fn cell(&self, column: usize, key: &'static str) -> Result<&'a [u8], ParseError> {
        let column_of_map = column + 1;
        let cell = self.cells.get(column).copied();
        cell.filter(|cell| !cell.is_empty())
            .ok_or(ParseError::NoColumn {
                column: column_of_map,
                key,
            })
    }
}

/// The error for a cell that cannot be read.
fn wrong(column: usize, key: &'static str, cell: &[u8], expected: &'static str) -> ParseError {
    let shown = cell.get(..SHOWN_BYTES).unwrap_or(cell);
    ParseError::Column {
        column: column + 1,
        key,
        cell: String::from_utf8_lossy(shown).into_owned(),
        expected,
    }
}

/// A whole number of bytes in a cell.
fn cell_bytes(
    row: &Row<'_>,
    column: usize,
    key: &'static str,
    unit: u64,
) -> Result<u64, ParseError> {
    let cell = row.cell(column, key)?;
    match scaled(cell, unit) {
        Some((bytes, true)) => Ok(bytes),
        Some((_, false)) => Err(wrong(column, key, cell, "a whole number of bytes")),
        None => Err(wrong(
            column,
            key,
            cell,
            "a number, whose bytes fit 64 bits",
        )),
    }
}

impl Csv {
    /// A reader by a column map.
    pub(super) fn new(map: Option<&ColumnMap>) -> Result<Csv, ColumnsError> {
        let map = map.ok_or(ColumnsError::Needed)?.clone();
        let named = [
            map.time,
            map.id,
            map.size,
            map.operation_column,
            map.volume,
            map.context,
        ];
        let last = named.into_iter().flatten().max().unwrap_or_default();
        Ok(Csv {
            id: map.id.ok_or(ColumnsError::NoAddress)?,
            columns: MOST_COLUMNS.min(last + 2),
            map,
            is_first: true,
            volumes_are_words: None,
            is_in_key: false,
        })
    }

    fn time_ns(&self, row: &Row<'_>) -> Result<u64, ParseError> {
        let Some(column) = self.map.time else {
            return Ok(0);
        };
        let cell = row.cell(column, "time-col")?;
        let number = || scaled(cell, self.map.time_unit_ns()).map(|(ns, _)| ns);
        // A date and its time of day may be two columns.
        let two = || {
            day(cell)?;
            let clock = row.cells.get(column + 1)?;
            date_ns(&[cell, b" ", clock].concat())
        };
        number()
            .or_else(|| date_ns(cell))
            .or_else(|| clock_ns(cell))
            .or_else(two)
            .ok_or_else(|| wrong(column, "time-col", cell, "a number or a date with a time"))
    }

    fn operation(&self, row: &Row<'_>, has_data: bool) -> Result<Option<Operation>, ParseError> {
        let Some(column) = self.map.operation_column else {
            return Ok(Some(self.map.operation));
        };
        let cell = row.cell(column, "op-col")?;
        if let Some(known) = self.map.operation_of(cell) {
            return Ok(Some(known));
        }
        let letters = cell.iter().all(u8::is_ascii_uppercase);
        letters
            .then(|| rwbs::operation(cell, has_data).ok())
            .flatten()
            .ok_or_else(|| wrong(column, "op-col", cell, "an operation that the map knows"))
    }

    /// A row's volume: its number, or the place of its name where the first row names one.
    fn volume(
        &mut self,
        row: &Row<'_>,
        column: usize,
        names: &mut Names,
    ) -> Result<u32, ParseError> {
        let cell = row.cell(column, "volume-col")?;
        let are_words = self
            .volumes_are_words
            .get_or_insert_with(|| number(cell).is_none());
        if *are_words {
            return names.device_text(cell);
        }
        let number = number(cell).ok_or_else(|| wrong(column, "volume-col", cell, "a number"))?;
        volume(number)
    }

    /// Whether this is the heading, which only the first line can be.
    fn is_heading(&mut self, line: &[u8]) -> bool {
        let first = std::mem::replace(&mut self.is_first, false);
        first && self.map.has_heading.unwrap_or_else(|| is_heading(line))
    }
}

/// Whether a line is bpftrace's own: a note, a map with its value, or a line of a map's histogram, whose bar stands
/// between `|`.
fn is_bpftrace(line: &[u8]) -> bool {
    let is_note = line.starts_with(b"Attaching ") && line.ends_with(b"...")
        || line.starts_with(b"Attached ")
            && (line.ends_with(b" probe") || line.ends_with(b" probes"));
    let is_range = line.starts_with(b"[") || line.starts_with(b"(...");
    line.starts_with(b"@") || is_note || is_range && line.trim_ascii_end().ends_with(b"|")
}

/// Whether the key of one of bpftrace's maps ends in a line: `]:`, with a value behind it or on the next lines.
fn ends_key(line: &[u8]) -> bool {
    memmem::find(line, b"]:").is_some()
}

impl LineReader for Csv {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        if let Some(events) = lost::in_bpftrace(line) {
            return Ok(lost::found(events));
        }
        // A map's key may have call stacks, on lines of their own.
        if line.starts_with(b"@") {
            self.is_in_key = line.contains(&b'[') && !line.contains(&b']');
        } else if self.is_in_key {
            self.is_in_key = !ends_key(line);
            return Ok(Found::Passed(Passed::Note));
        }
        if is_comment(line) || is_bpftrace(line) || self.is_heading(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let rest = Some(line);
        let delimiter = self.map.delimiter;
        let mut cells = Vec::with_capacity(self.columns);
        cells.extend(Cells { rest, delimiter }.take(self.columns));
        let row = Row { cells };
        let time_ns = self.time_ns(&row)?;
        let size_unit = self.map.size_unit_bytes();
        let length_bytes = match self.map.size {
            Some(column) => cell_bytes(&row, column, "obj-size-col", size_unit)?,
            None => size_unit,
        };
        let Some(operation) = self.operation(&row, length_bytes > 0)? else {
            return Ok(Found::Passed(Passed::NoData));
        };
        // A flush has no address, and tables print -1 or nothing for it.
        let offset_bytes = if operation == Operation::Flush || length_bytes == 0 {
            0
        } else {
            cell_bytes(&row, self.id, "obj-id-col", self.map.id_unit_bytes())?
        };
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        if let Some(column) = self.map.volume {
            io.tenant = self.volume(&row, column, names)?;
        }
        if let Some(column) = self.map.context {
            io.context = names.context(row.cell(column, "context-col")?)?;
        }
        Ok(Found::Io(io))
    }
}

/// The heading that is written first, and the column map that reads it.
const HEADING: &str = "time_ns,operation,offset_bytes,length_bytes,volume\n";
pub(super) const COLUMNS: &str = "time-col=1,op-col=2,obj-id-col=3,obj-size-col=4,volume-col=5,\
                                  has-header=true,time-unit=ns,id-unit=byte,size-unit=byte";

/// Writes lines of a CSV, operations by their words.
#[derive(Debug)]
pub(super) struct CsvWriter;

impl FormWriter for CsvWriter {
    fn begin(&mut self, bytes: &mut Vec<u8>) {
        bytes.extend(HEADING.bytes());
    }

    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>) {
        let Request {
            time_ns,
            operation,
            offset_bytes,
            length_bytes,
            volume,
            ..
        } = request;
        text(
            bytes,
            format_args!("{time_ns},{operation},{offset_bytes},{length_bytes},{volume}\n"),
        );
    }
}
