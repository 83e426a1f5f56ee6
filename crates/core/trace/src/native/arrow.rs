//! A trace in memory, in Arrow's columns.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use parquet::file::metadata::KeyValue;

use super::batch::{BatchError, Columns, decode, schema};
use super::{BATCH_ROWS, Reader, Writer, metadata};
use crate::capture::Tables;
use crate::error::TraceError;
use crate::io::Io;
use crate::record::Limits;

/// Records in memory with their tables, all checked. Columns from elsewhere stay where they are:
/// only a few thousand records at a time are copied, when they are decoded.
#[derive(Debug, Clone)]
pub struct ArrowTrace {
    name: PathBuf,
    tables: Tables,
    batches: Vec<RecordBatch>,
}

impl ArrowTrace {
    /// The columns of every batch: those of the trace file, `operation` and `hint` as u8 codes
    /// into a dictionary.
    pub fn columns() -> SchemaRef {
        schema()
    }

    /// A trace of batches whose columns must be [`ArrowTrace::columns`].
    ///
    /// # Errors
    /// [`TraceError::Damaged`] where the columns are others or hold nulls,
    /// [`TraceError::Record`] where a record cannot be used.
    pub fn new(
        name: &Path,
        tables: Tables,
        batches: Vec<RecordBatch>,
    ) -> Result<ArrowTrace, TraceError> {
        let trace = ArrowTrace {
            name: name.into(),
            tables,
            batches,
        };
        trace.each_batch::<TraceError>(|_| Ok(()))?;
        Ok(trace)
    }

    /// Reads a whole trace file.
    ///
    /// # Errors
    /// Those of [`Reader::open`] and [`Reader::read_batch`].
    pub fn read(path: &Path) -> Result<ArrowTrace, TraceError> {
        let mut reader = Reader::open(path)?;
        let tables = reader.tables().clone();
        let mut trace = ArrowTrace::gather(path, |ios| reader.read_batch(ios))?;
        trace.tables = tables;
        Ok(trace)
    }

    /// Takes the batches that `next` puts in its vector until it answers that there are no more.
    /// The tables are empty, and nothing is checked: the records must come from a reader that has
    /// checked them.
    ///
    /// # Errors
    /// Those of `next`.
    pub fn gather<E: From<TraceError>>(
        name: &Path,
        mut next: impl FnMut(&mut Vec<Io>) -> Result<bool, E>,
    ) -> Result<ArrowTrace, E> {
        let mut batches = Vec::new();
        let mut ios = Vec::new();
        while next(&mut ios)? {
            let mut columns = Columns::default();
            columns.extend(&ios);
            let batch = columns.into_batch(schema());
            batches.push(batch.map_err(|error| damaged(name, &error))?);
        }
        Ok(ArrowTrace {
            name: name.into(),
            tables: Tables::new(crate::Capture::default()),
            batches,
        })
    }

    /// The same records beside other tables.
    ///
    /// # Errors
    /// [`TraceError::Record`] where a record does not fit them.
    pub fn with_tables(self, tables: Tables) -> Result<ArrowTrace, TraceError> {
        ArrowTrace::new(&self.name, tables, self.batches)
    }

    /// The name that errors use for the trace.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The tables beside the records.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Returns the records, batch by batch in the order of the trace.
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Number of records.
    pub fn rows(&self) -> u64 {
        let rows = self.batches.iter().map(|batch| batch.num_rows() as u64);
        rows.sum()
    }

    /// Passes the records to `sink`, a few thousand at a time.
    ///
    /// # Errors
    /// Those of `sink`, and those of [`ArrowTrace::new`].
    pub fn each_batch<E: From<TraceError>>(
        &self,
        mut sink: impl FnMut(&[Io]) -> Result<(), E>,
    ) -> Result<(), E> {
        let limits = Limits::of(&self.tables);
        let mut ios = Vec::with_capacity(BATCH_ROWS);
        let mut before = 0;
        for batch in &self.batches {
            for first in (0..batch.num_rows()).step_by(BATCH_ROWS) {
                let rows = BATCH_ROWS.min(batch.num_rows() - first);
                ios.clear();
                decode(&batch.slice(first, rows), limits, &mut ios)
                    .map_err(|fault| self.refused(before + first as u64, fault))?;
                sink(&ios)?;
            }
            before += batch.num_rows() as u64;
        }
        Ok(())
    }

    fn refused(&self, before: u64, fault: BatchError) -> TraceError {
        match fault {
            BatchError::Columns => damaged(&self.name, &"a column has nulls, or another type"),
            BatchError::Record { row, fault } => TraceError::Record {
                path: self.name.clone(),
                row: before + row as u64,
                fault,
            },
        }
    }

    /// Writes the trace file, which appears whole or not at all.
    ///
    /// # Errors
    /// Those of [`Writer::create`], [`Writer::push`] and [`Writer::finish`].
    pub fn write(&self, path: &Path) -> Result<(), TraceError> {
        let mut writer = Writer::create(path)?;
        self.each_batch(|ios| writer.push_all(ios))?;
        writer.finish(&self.tables)
    }

    /// The columns, with the tables as the schema's metadata, under the keys they have in a trace
    /// file.
    ///
    /// # Errors
    /// [`TraceError::Tables`] when they cannot be numbered.
    pub fn schema_with_tables(&self) -> Result<SchemaRef, TraceError> {
        let entries = metadata::entries(&self.name, &self.tables)?;
        let pairs = entries.into_iter().map(|one| (one.key, one.value));
        let metadata: HashMap<String, String> = pairs
            .filter_map(|(key, value)| Some((key, value?)))
            .collect();
        let fields = schema().fields().clone();
        Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
    }

    /// The tables in a schema's metadata; `None` where it has none.
    ///
    /// # Errors
    /// [`TraceError::Tables`] when the tables there cannot be used; [`TraceError::Schema`] when a
    /// later version wrote them.
    pub fn tables_of(name: &Path, schema: &Schema) -> Result<Option<Tables>, TraceError> {
        let pairs = schema.metadata().iter();
        let entries = pairs.map(|(key, value)| KeyValue::new(key.to_string(), value.to_string()));
        let entries: Vec<KeyValue> = entries.collect();
        match metadata::tables(name, &entries) {
            Ok(tables) => Ok(Some(tables)),
            Err(TraceError::Foreign { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn damaged(name: &Path, reason: &dyn std::fmt::Display) -> TraceError {
    TraceError::Damaged {
        path: name.into(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Capture, ContextId, RecordError};

    fn gathered(ios: &[Io]) -> ArrowTrace {
        let mut left = vec![ios.to_vec()];
        ArrowTrace::gather::<TraceError>(Path::new("memory"), |batch| {
            *batch = left.pop().unwrap_or_default();
            Ok(!batch.is_empty())
        })
        .unwrap()
    }

    #[test]
    fn records_come_out_as_they_went_in_however_many() {
        let ios: Vec<Io> = (0..20_000).map(|at| Io::write(at * 4096, 4096)).collect();
        let trace = gathered(&ios);
        assert_eq!(trace.rows(), 20_000);
        let mut out = Vec::new();
        trace
            .each_batch::<TraceError>(|ios| {
                out.extend_from_slice(ios);
                Ok(())
            })
            .unwrap();
        assert_eq!(out, ios);
    }

    #[test]
    fn a_record_that_does_not_fit_the_tables_is_named() {
        let mut io = Io::write(0, 4096);
        io.context = ContextId(7);
        let trace = gathered(&[Io::write(0, 4096), io]);
        let error = trace.with_tables(Tables::new(Capture::default()));
        let fault = RecordError::Context {
            context: 7,
            contexts: 1,
        };
        assert!(matches!(
            error,
            Err(TraceError::Record { row: 1, fault: found, .. }) if found == fault
        ));
    }

    #[test]
    fn tables_travel_in_the_schema() {
        let trace = gathered(&[Io::write(0, 4096)]);
        let schema = trace.schema_with_tables().unwrap();
        let found = ArrowTrace::tables_of(trace.name(), &schema).unwrap();
        assert_eq!(found.as_ref(), Some(trace.tables()));
        let none = ArrowTrace::tables_of(trace.name(), &Schema::empty()).unwrap();
        assert_eq!(none, None);
    }
}
