//! Writing a trace file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::batch::{Columns, schema};
use super::digest::Blocks;
use super::encoder::Encoder;
use super::{ROW_GROUP_ROWS, metadata, row_group};
use crate::capture::Tables;
use crate::error::TraceError;
use crate::io::Io;
use crate::record::{Limits, RecordError, end_bytes};
use crate::whole_file::WholeFile;

/// Bytes that a record is taken to need in a file as long as none is written. Our choice: those of the traces in the
/// tree have 8 to 20.
const ROW_BYTES: u64 = 16;

/// Writes a trace file, record by record, in bounded memory: two row groups, of which a second thread encodes one.
///
/// The file appears at [`Writer::finish`]. If the writer is dropped before that, nothing is left
/// and nothing was replaced (see [`WholeFile`]). A file of [`Writer::scratch`] never appears.
#[derive(Debug)]
pub struct Writer<F: Write + Send + 'static = WholeFile> {
    path: PathBuf,
    encoder: Encoder<F>,
    columns: Columns,
    rows: u64,
    needs: Needs,
    blocks: Blocks,
}

/// The rows that the records need in the tables that are written after them.
#[derive(Debug, Default)]
struct Needs {
    end_bytes: u64,
    context: u32,
    file: u32,
}

impl Writer {
    /// Begins a trace that will appear at `path`.
    ///
    /// # Errors
    /// [`TraceError::Create`] when there can be no file.
    pub fn create(path: impl AsRef<Path>) -> Result<Writer, TraceError> {
        let path = path.as_ref();
        Writer::to(path, WholeFile::create(path)?)
    }

    /// Ends the trace, and lets it appear.
    ///
    /// # Errors
    /// [`TraceError::Tables`] when the tables do not hold what the records name, or are not
    /// numbered from row 0; [`TraceError::Write`] when the disk is full. There is no file then.
    pub fn finish(self, tables: &Tables) -> Result<(), TraceError> {
        self.end(tables)?.finish()
    }
}

impl<F: Write + Send + 'static> Writer<F> {
    /// Begins a trace in a file that errors call `path`.
    pub(super) fn to(path: &Path, file: F) -> Result<Writer<F>, TraceError> {
        let failed = |error| unwritten(path, error);
        // Without Arrow's own metadata every reader sees plain columns of numbers and strings.
        let columns = ArrowSchemaConverter::new().convert(&schema());
        let root = columns.map_err(failed)?.root_schema_ptr();
        let properties = Arc::new(properties().map_err(failed)?);
        let parquet = SerializedFileWriter::new(file, root, properties).map_err(failed)?;
        Ok(Writer {
            path: path.into(),
            encoder: Encoder::new(parquet),
            columns: Columns::default(),
            rows: 0,
            needs: Needs::default(),
            blocks: Blocks::default(),
        })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// As [`Writer::push_all`].
    pub fn push(&mut self, io: &Io) -> Result<(), TraceError> {
        self.push_all(std::slice::from_ref(io))
    }

    /// Appends records.
    ///
    /// # Errors
    /// [`TraceError::Record`] when no reader would accept one; it is left out with those behind it, and the writer can
    /// go on. [`TraceError::Write`] when the disk is full, which may be noticed some records later.
    pub fn push_all(&mut self, mut ios: &[Io]) -> Result<(), TraceError> {
        while !ios.is_empty() {
            let room = ROW_GROUP_ROWS - self.columns.len();
            let (fitting, later) = ios.split_at(room.min(ios.len()));
            let fault = self.needs.add(fitting).err();
            let sound = fault
                .as_ref()
                .map_or(fitting, |(place, _)| &fitting[..*place]);
            self.columns.extend(sound);
            self.blocks.add(sound);
            self.rows += sound.len() as u64;
            if let Some((_, fault)) = fault {
                return Err(self.refused(fault));
            }
            if self.columns.len() == ROW_GROUP_ROWS {
                let group = std::mem::take(&mut self.columns);
                let next = self.encoder.take(group);
                self.columns = next.map_err(|error| unwritten(&self.path, error))?;
            }
            ios = later;
        }
        Ok(())
    }

    /// Bytes of the trace so far; those not yet written are estimated.
    pub fn size_bytes(&self) -> u64 {
        let written_bytes = self.encoder.written_bytes() as u64;
        let waiting = self.columns.len() as u64;
        let written = self.rows - waiting;
        let row_bytes = written_bytes
            .checked_div(written)
            .filter(|bytes| *bytes > 0);
        written_bytes + waiting * row_bytes.unwrap_or(ROW_BYTES)
    }

    /// Ends the trace with its tables, and hands back its file.
    pub(super) fn end(self, tables: &Tables) -> Result<F, TraceError> {
        self.needs
            .check(tables)
            .map_err(|fault| TraceError::Tables {
                path: self.path.clone(),
                reason: format!("a record does not fit them: {fault}"),
            })?;
        let failed = |error| unwritten(&self.path, error);
        let mut parquet = self.encoder.finish(&self.columns).map_err(failed)?;
        let mut entries = metadata::entries(&self.path, tables)?;
        entries.push(metadata::digest_entry(&self.path, &entries, self.blocks)?);
        for entry in entries {
            parquet.append_key_value_metadata(entry);
        }
        parquet.into_inner().map_err(failed)
    }

    /// The name that errors use for the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn refused(&self, fault: RecordError) -> TraceError {
        TraceError::Record {
            path: self.path.clone(),
            row: self.rows,
            fault,
        }
    }
}

impl Needs {
    /// Notes records up to the first that contradicts itself; fails with its place.
    fn add(&mut self, ios: &[Io]) -> Result<(), (usize, RecordError)> {
        for (place, io) in ios.iter().enumerate() {
            let end_bytes = end_bytes(io).map_err(|fault| (place, fault))?;
            self.end_bytes = self.end_bytes.max(end_bytes);
            self.context = self.context.max(io.context.0);
            self.file = self.file.max(io.file.0);
        }
        Ok(())
    }

    fn check(&self, tables: &Tables) -> Result<(), RecordError> {
        let limits = Limits::of(tables);
        limits.check_end(self.end_bytes)?;
        limits.check_context(self.context)?;
        limits.check_file(self.file)
    }
}

fn properties() -> Result<WriterProperties, ParquetError> {
    // Measured on the traces of the tree. Times hardly repeat, but follow each other closely. In all columns but
    // offsets, whose pages are made here, a few values repeat: a dictionary is smallest.
    let time = ColumnPath::from("time_ns");
    let builder = WriterProperties::builder()
        .set_compression(row_group::compression()?)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("anabranch ", env!("CARGO_PKG_VERSION")).into())
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED);
    Ok(builder.build())
}

fn unwritten(path: &Path, error: ParquetError) -> TraceError {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(system) => *system,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    };
    TraceError::Write {
        path: path.into(),
        source,
    }
}
