//! A CSV of any columns, by libCacheSim's column map: see [`ColumnMap`] for columns and units.
//!
//! Cells are not quoted, as in libCacheSim's own traces. Without an operation every request is
//! taken as a write of its object, see the format `oracle-general`.
//!
//! Source: libCacheSim, `bin/cli_reader_utils.c`, `parse_reader_params`, and
//! `traceReader/generalReader/csv.c`.

use crate::foreign::columns::ColumnMap;
use crate::foreign::error::ColumnsError;
use crate::foreign::fault::Fault;
use crate::foreign::fields::{Cells, bytes, number, time_ns, volume};
use crate::foreign::form::{BYTES, WITH_DISCARD};
use crate::foreign::found::{Found, LineReader, Passed, is_comment, is_heading, request};
use crate::foreign::names::Names;
use crate::foreign::row::{Clock, FormRow, FormatRow, Reads};
use crate::foreign::writer::{FormWriter, Request, text};

/// The format.
pub(super) const ROW: FormatRow = FormatRow {
    name: "csv",
    about: "a CSV by its column map",
    clock: Clock::Own,
    reader: Reads::Lines(|options| Ok(Box::new(Csv::new(options.columns.as_ref())?))),
};

pub(super) const FORM: FormRow = FormRow {
    about: Some("a CSV with a heading: bytes, nanoseconds"),
    ..FormRow::new(BYTES.only(WITH_DISCARD), |_| Box::new(CsvWriter))
};

/// Reads lines of a CSV.
#[derive(Debug)]
pub(super) struct Csv {
    map: ColumnMap,
    id: usize,
    is_first: bool,
    /// Whether volumes are words instead of numbers; the first row decides.
    volumes_are_words: Option<bool>,
}

/// The cells of a line that the map names.
#[derive(Default)]
struct Row<'a> {
    time: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    size: Option<&'a [u8]>,
    operation: Option<&'a [u8]>,
    volume: Option<&'a [u8]>,
}

impl Csv {
    /// A reader by a column map.
    pub(super) fn new(map: Option<&ColumnMap>) -> Result<Csv, ColumnsError> {
        let map = map.ok_or(ColumnsError::Needed)?.clone();
        Ok(Csv {
            id: map.id.ok_or(ColumnsError::NoAddress)?,
            map,
            is_first: true,
            volumes_are_words: None,
        })
    }

    fn row<'a>(&self, line: &'a [u8]) -> Row<'a> {
        let mut row = Row::default();
        for (index, cell) in Cells::new(line, self.map.delimiter).enumerate() {
            // One column may mean several things: an address that is a volume, too.
            if index == self.id {
                row.id = Some(cell);
            }
            for (column, field) in [
                (self.map.time, &mut row.time),
                (self.map.size, &mut row.size),
                (self.map.operation_column, &mut row.operation),
                (self.map.volume, &mut row.volume),
            ] {
                if column == Some(index) {
                    *field = Some(cell);
                }
            }
        }
        row
    }

    /// A row's volume: its number, or the place of its name where the first row names one.
    fn volume(&mut self, cell: Option<&[u8]>, names: &mut Names) -> Result<u32, Fault> {
        let cell = cell
            .filter(|cell| !cell.is_empty())
            .ok_or(Fault::Missing("volume"))?;
        let are_words = self
            .volumes_are_words
            .get_or_insert_with(|| number(cell).is_none());
        match are_words {
            true => names.device_text(cell),
            false => volume(whole(Some(cell), "volume")?),
        }
    }

    /// Whether this is the heading, which only the first line can be.
    fn is_heading(&mut self, line: &[u8]) -> bool {
        let first = std::mem::replace(&mut self.is_first, false);
        first && self.map.has_heading.unwrap_or_else(|| is_heading(line))
    }
}

impl LineReader for Csv {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, Fault> {
        if is_comment(line) || self.is_heading(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        let row = self.row(line);
        let map = &self.map;
        let time_ns = match map.time {
            Some(_) => time_ns(row.time.ok_or(Fault::Missing("time"))?, map.time_unit_ns)?,
            None => 0,
        };
        let id = whole(row.id, "object number")?;
        let offset_bytes = bytes(id, map.id_unit_bytes, "object number")?;
        let size = match map.size {
            Some(_) => whole(row.size, "size")?,
            None => 1,
        };
        let operation = match map.operation_column {
            Some(_) => map
                .operation_of(row.operation.ok_or(Fault::Missing("operation"))?)
                .ok_or(Fault::Operation("one the column map knows"))?,
            None => map.operation,
        };
        let length_bytes = bytes(size, map.size_unit_bytes, "size")?;
        let mut io = request(time_ns, operation, offset_bytes, length_bytes);
        if map.volume.is_some() {
            io.tenant = self.volume(row.volume, names)?;
        }
        Ok(Found::Io(io))
    }
}

fn whole(cell: Option<&[u8]>, what: &'static str) -> Result<u64, Fault> {
    number(cell.ok_or(Fault::Missing(what))?).ok_or(Fault::NotANumber(what))
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
