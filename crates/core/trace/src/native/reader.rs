//! Reading a trace file.

use std::cell::Cell;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaData;

use super::batch::{BatchError, decode, schema};
use super::digest::Check;
use super::{BATCH_ROWS, metadata};
use crate::ahead::Ahead;
use crate::capture::Tables;
use crate::error::TraceError;
use crate::io::Io;
use crate::open::open_regular;
use crate::record::Limits;

/// The four bytes a Parquet file begins and ends with.
const MAGIC: [u8; 4] = *b"PAR1";

/// Reads a trace file, a batch at a time. Every record it yields keeps to the tables: its context
/// and file are rows of them, its range lies on the device.
///
/// After an error, and after the last record, it yields nothing more.
///
/// Bytes that contradict the Parquet format are an error, not a panic. Where the decoder itself
/// panics on them, that panic is caught here. The process's panic hook hears of it first, and may ask
/// [`contains_panics`] whether to print it.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    tables: Tables,
    limits: Limits,
    rows: u64,
    /// Rows decoded so far.
    decoded: u64,
    /// Compares records with their digest; `None` where the file has none.
    check: Option<Check>,
    /// The decoder; `None` after the last batch, or an error.
    batches: Option<ParquetRecordBatchReader>,
    ahead: Ahead<Io>,
}

impl Reader {
    /// Opens a trace file and checks all but its records.
    ///
    /// # Errors
    /// [`TraceError::Open`], [`TraceError::NotAFile`], [`TraceError::Empty`],
    /// [`TraceError::NotParquet`], [`TraceError::CutOff`], [`TraceError::Foreign`],
    /// [`TraceError::Schema`], [`TraceError::Column`], [`TraceError::Tables`],
    /// [`TraceError::Damaged`], each for what its name says.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader, TraceError> {
        let path = path.as_ref();
        let (file, length_bytes) = open_regular(path)?;
        Reader::of(path, file, length_bytes)
    }

    /// Reads an open file of that length, which errors call `path`.
    pub(super) fn of(path: &Path, mut file: File, length_bytes: u64) -> Result<Reader, TraceError> {
        check_ends(path, &mut file, length_bytes)?;
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let found = contained(path, || ArrowReaderMetadata::load(&file, options.clone()))?;
        let entries = found.metadata().file_metadata().key_value_metadata();
        let tables = metadata::tables(path, entries.map_or(&[], Vec::as_slice))?;
        let digests = metadata::digests(path, found.metadata().file_metadata())?;
        let wanted = wanted_schema(path, found.schema())?;
        let rows = count_rows(path, found.metadata())?;
        check_sizes(path, found.metadata())?;
        let batches = contained(path, || {
            let options = options.with_schema(Arc::new(wanted));
            let typed = ArrowReaderMetadata::try_new(found.metadata().clone(), options)?;
            let columns = ProjectionMask::roots(typed.parquet_schema(), 0..schema().fields().len());
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, typed)
                .with_projection(columns)
                .with_batch_size(BATCH_ROWS)
                .build()
        })?;
        Ok(Reader {
            path: path.into(),
            limits: Limits::of(&tables),
            tables,
            rows,
            decoded: 0,
            check: digests.map(Check::new),
            batches: Some(batches),
            ahead: Ahead::new(),
        })
    }

    /// The tables beside the records.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Number of records in the whole file.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether the file holds a digest of its records, with which they are compared as they are read. A file written by
    /// a version without digests, or by another program, has none: bits that flipped in it may change records
    /// unnoticed.
    pub fn has_digest(&self) -> bool {
        self.check.is_some()
    }

    /// Compares the records read so far with their digest; a caller that reads no further uses it. It may read some
    /// hundred thousand records more, and puts the reader at its end.
    ///
    /// # Errors
    /// As [`Reader::read_batch`].
    pub fn check_so_far(&mut self) -> Result<(), TraceError> {
        let mut rest = Vec::new();
        while self.check.as_ref().is_some_and(Check::is_within_block)
            && self.read_batch(&mut rest)?
        {}
        self.batches = None;
        Ok(())
    }

    /// Puts the next few thousand records into `ios`, in place of what was there. Answers `false` when there are no
    /// more, and `ios` is then empty.
    ///
    /// # Errors
    /// [`TraceError::Record`] when a record of the batch cannot be used, [`TraceError::Damaged`]
    /// when the batch cannot be decoded. The reader is at its end then.
    pub fn read_batch(&mut self, ios: &mut Vec<Io>) -> Result<bool, TraceError> {
        ios.clear();
        if self.ahead.take_all(ios) {
            return Ok(true);
        }
        let done = self.decode_batch(ios);
        if !matches!(done, Ok(true)) {
            self.batches = None;
        }
        done
    }

    fn decode_batch(&mut self, ios: &mut Vec<Io>) -> Result<bool, TraceError> {
        let Some(batches) = &mut self.batches else {
            return Ok(false);
        };
        let Some(batch) = contained(&self.path, || batches.next().transpose())? else {
            return self.at_end();
        };
        decode(&batch, self.limits, ios).map_err(|fault| self.refused(fault))?;
        self.decoded += batch.num_rows() as u64;
        let checked = self.check.as_mut().map_or(Ok(()), |check| check.add(ios));
        checked.map_err(|row| self.altered(row))?;
        Ok(true)
    }

    fn at_end(&mut self) -> Result<bool, TraceError> {
        if self.decoded == self.rows {
            let checked = self.check.as_mut().map_or(Ok(()), Check::finish);
            return checked.map(|()| false).map_err(|row| self.altered(row));
        }
        let reason = format!("it promises {} records and has {}", self.rows, self.decoded);
        Err(damaged(&self.path, reason))
    }

    fn altered(&self, row: u64) -> TraceError {
        let reason = format!(
            "records from {row} on are not those that were written: their digest is another"
        );
        damaged(&self.path, reason)
    }

    fn refused(&self, fault: BatchError) -> TraceError {
        match fault {
            BatchError::Columns => damaged(&self.path, "a column has nulls, or another type"),
            BatchError::Record { row, fault } => TraceError::Record {
                path: self.path.clone(),
                row: self.decoded + row as u64,
                fault,
            },
        }
    }
}

impl Iterator for Reader {
    type Item = Result<Io, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(io) = self.ahead.take() {
            return Some(Ok(io));
        }
        let mut batch = self.ahead.lend();
        let read = self.read_batch(&mut batch);
        self.ahead.put(batch);
        match read {
            Ok(_) => self.ahead.take().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}

/// Tells a cut-off trace file from a file of another kind by its first and last bytes.
fn check_ends(path: &Path, file: &mut File, length_bytes: u64) -> Result<(), TraceError> {
    let mut ends = [[0; 4]; 2];
    if length_bytes >= MAGIC.len() as u64 {
        read_ends(file, &mut ends).map_err(|source| TraceError::Read {
            path: path.into(),
            source,
        })?;
    }
    let path = path.to_path_buf();
    match ends.map(|end| end == MAGIC) {
        [true, true] if length_bytes > MAGIC.len() as u64 => Ok(()),
        [true, _] => Err(TraceError::CutOff { path }),
        [false, _] => Err(TraceError::NotParquet { path }),
    }
}

fn read_ends(file: &mut File, ends: &mut [[u8; 4]; 2]) -> io::Result<()> {
    file.read_exact(&mut ends[0])?;
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut ends[1])
}

/// The types to read the file's columns as, if they begin with the columns of a trace.
fn wanted_schema(path: &Path, found: &Schema) -> Result<Schema, TraceError> {
    let ours = schema();
    let mut fields: Vec<_> = found.fields().iter().cloned().collect();
    for (place, field) in ours.fields().iter().enumerate() {
        let stored = stored_type(field);
        match fields.get_mut(place) {
            Some(there)
                if there.name() == field.name()
                    && *there.data_type() == stored
                    && !there.is_nullable() =>
            {
                *there = field.clone();
            }
            other => {
                return Err(wrong_column(
                    path,
                    field,
                    &stored,
                    other.map(|there| &**there),
                ));
            }
        }
    }
    Ok(Schema::new(fields))
}

/// The type that a trace's column has in a file: dictionaries exist in memory only.
fn stored_type(field: &Field) -> DataType {
    match field.data_type() {
        DataType::Dictionary(_, word) => word.as_ref().clone(),
        plain => plain.clone(),
    }
}

fn wrong_column(
    path: &Path,
    field: &Field,
    stored: &DataType,
    found: Option<&Field>,
) -> TraceError {
    let found = match found {
        None => "nothing".into(),
        Some(found) if found.is_nullable() => {
            format!("{} {} with nulls", found.name(), found.data_type())
        }
        Some(found) => format!("{} {}", found.name(), found.data_type()),
    };
    TraceError::Column {
        path: path.into(),
        column: field.name().clone(),
        expected: stored.to_string(),
        found,
    }
}

/// The number of records, if the file's figures agree about it.
fn count_rows(path: &Path, metadata: &ParquetMetaData) -> Result<u64, TraceError> {
    let promised = metadata.file_metadata().num_rows();
    let mut sum = Some(0i64);
    for group in metadata.row_groups() {
        let rows = group.num_rows();
        let agree = rows >= 0 && group.columns().iter().all(|one| one.num_values() == rows);
        sum = sum.filter(|_| agree).and_then(|sum| sum.checked_add(rows));
    }
    match u64::try_from(promised) {
        Ok(rows) if sum == Some(promised) => Ok(rows),
        _ => Err(damaged(path, "its row counts contradict each other")),
    }
}

/// Bytes that a value of a trace's columns has at most, with what is stored beside it: the longest word has seven, and
/// four of its length. Our choice: several times that.
const MOST_VALUE_BYTES: i64 = 64;

/// Bytes that a column may have beside its values: pages' heads, dictionaries, statistics. Our choice.
const MOST_COLUMN_BYTES: i64 = 1 << 20;

/// Refuses columns that unpack to more than values of a trace have: some kilobytes may unpack to gigabytes.
fn check_sizes(path: &Path, metadata: &ParquetMetaData) -> Result<(), TraceError> {
    let columns = schema().fields().len();
    for group in metadata.row_groups() {
        let values = group.num_rows().saturating_mul(MOST_VALUE_BYTES);
        let most = values.saturating_add(MOST_COLUMN_BYTES);
        let mut ours = group.columns().iter().take(columns);
        if let Some(large) = ours.find(|one| one.uncompressed_size() > most) {
            let reason = format!(
                "its column {} unpacks to {} bytes, more than any value of a trace has",
                large.column_path(),
                large.uncompressed_size()
            );
            return Err(damaged(path, reason));
        }
    }
    Ok(())
}

thread_local! {
    static CONTAINS: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread, now, becomes an error of the reader: a panic hook need not print it.
pub fn contains_panics() -> bool {
    CONTAINS.get()
}

/// Runs a part of the decoder, and turns its panics on bad bytes into an error.
fn contained<T, E: Into<ArrowError>>(
    path: &Path,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, TraceError> {
    // The decoder is not written for bytes that lie: it holds its bounds by panics. What it was
    // working on is not used again, so nothing half-done is seen.
    let before = CONTAINS.replace(true);
    let done = catch_unwind(AssertUnwindSafe(decode));
    CONTAINS.set(before);
    let Ok(done) = done else {
        return Err(damaged(path, "it contradicts the Parquet format"));
    };
    done.map_err(|error| match error.into() {
        ArrowError::ParquetError(reason) => damaged(path, reason),
        other => damaged(path, other),
    })
}

fn damaged(path: &Path, reason: impl Display) -> TraceError {
    TraceError::Damaged {
        path: path.into(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_decoder_is_an_error_that_a_hook_can_tell_from_others() {
        let path = Path::new("bad.parquet");
        let mut inside = false;
        let decoded = contained(path, || -> Result<(), ArrowError> {
            inside = contains_panics();
            panic!("bytes that lie");
        });
        let error = decoded.unwrap_err().to_string();
        assert!(error.contains("contradicts the Parquet format"), "{error}");
        assert!(inside && !contains_panics());
    }
}
