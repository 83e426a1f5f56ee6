//! A trace in memory.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anabranch_compare::{CompareError, Format, Requests, Result, Sink, TraceFile};
use anabranch_trace::{
    ArrowTrace, Capture, Context, ContextId, ContextKind, File, Io, Tables, TraceError,
};
use arrow_array::{
    RecordBatch, RecordBatchIterator, RecordBatchReader, cast::AsArray, types::UInt32Type,
};
use arrow_pyarrow::{IntoPyArrow, PyArrowType};
use arrow_schema::ArrowError;
use pyo3::prelude::*;

use crate::{
    columns::traced,
    errors::{raise, usage, warn},
};

/// The most rows of tables that are made up for a trace which only numbers its contexts and files
/// (our choice: a larger number is more likely a wrong column).
const MOST_MADE_UP: u32 = 1 << 20;

/// Requests in memory, with their tables.
#[pyclass(frozen, module = "anabranch._core")]
pub struct TraceCore(pub Arc<ArrowTrace>);

/// A trace in memory as a source that can be replayed.
pub struct InMemory(pub Arc<ArrowTrace>);

impl Requests for InMemory {
    fn name(&self) -> String {
        self.0.name().display().to_string()
    }

    fn tables(&self) -> Option<&Tables> {
        Some(self.0.tables())
    }

    fn each_batch(&self, sink: &mut Sink<'_>) -> Result {
        let all = self.0.rows().max(1) as f64;
        let mut done = 0;
        self.0.each_batch(|ios| {
            done += ios.len();
            sink(ios, done as f64 / all)
        })
    }
}

#[pymethods]
impl TraceCore {
    /// Reads a trace file of any form that can be replayed.
    #[staticmethod]
    #[pyo3(signature = (path, format=None))]
    fn read(py: Python<'_>, path: PathBuf, format: Option<&str>) -> PyResult<TraceCore> {
        let format = format.map(parse_format).transpose()?;
        let (trace, remarks) = py.detach(|| read(&path, format)).map_err(raise)?;
        warn(py, &remarks)?;
        Ok(TraceCore(Arc::new(trace)))
    }

    /// Makes a trace from any object that exports Arrow batches. `tables` is JSON with `contexts`,
    /// `files` and `device_bytes`; what is missing comes from the schema's metadata, or is made up.
    #[staticmethod]
    fn from_arrow(
        py: Python<'_>,
        batches: PyArrowType<arrow_array::ffi_stream::RecordBatchStreamReader>,
        tables: &str,
        name: PathBuf,
    ) -> PyResult<TraceCore> {
        let reader = batches.0;
        let schema = reader.schema();
        let given: Given = serde_json::from_str(tables).map_err(usage)?;
        let trace = py.detach(|| {
            let known = ArrowTrace::tables_of(&name, &schema).map_err(raise)?;
            let batches = reader.collect::<Result<Vec<RecordBatch>, ArrowError>>();
            let batches = batches.map_err(usage)?;
            let batches = batches.iter().map(traced);
            let batches = batches.collect::<PyResult<Vec<RecordBatch>>>()?;
            let tables = given.tables(known, &batches)?;
            ArrowTrace::new(&name, tables, batches).map_err(raise)
        })?;
        Ok(TraceCore(Arc::new(trace)))
    }

    /// The records as a `pyarrow.RecordBatchReader`, the tables in its schema's metadata.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.0.schema_with_tables().map_err(raise)?;
        let own = Arc::clone(&schema);
        let batches: Vec<RecordBatch> = self.0.batches().to_vec();
        let told = batches
            .into_iter()
            .map(move |batch| RecordBatch::try_new(Arc::clone(&own), batch.columns().to_vec()));
        let reader: Box<dyn RecordBatchReader + Send> =
            Box::new(RecordBatchIterator::new(told, schema));
        reader.into_pyarrow(py)
    }

    /// Writes the trace file.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.write(&path)).map_err(raise)
    }

    /// Contexts, files and capture, as JSON.
    fn tables(&self) -> PyResult<String> {
        let tables = self.0.tables();
        let all = serde_json::json!({
            "contexts": tables.contexts, "files": tables.files, "capture": tables.capture,
        });
        Ok(all.to_string())
    }

    /// The name of the trace.
    #[getter]
    fn name(&self) -> String {
        self.0.name().display().to_string()
    }

    fn __len__(&self) -> usize {
        self.0.rows() as usize
    }
}

/// The form of that name.
pub fn parse_format(name: &str) -> PyResult<Format> {
    let parsed = name.parse::<Format>();
    parsed.map_err(|words| usage(format!("format \"{name}\": {words}")))
}

/// A trace file's requests, and what was found to doubt in it.
fn read(path: &Path, format: Option<Format>) -> Result<(ArrowTrace, Vec<String>)> {
    let file = TraceFile::open(path, format, false)?;
    if file.format == Format::Native {
        return Ok((ArrowTrace::read(path)?, Vec::new()));
    }
    if let Format::Foreign(named) = file.format {
        return import(path, named);
    }
    let mut batches: Vec<Vec<Io>> = Vec::new();
    file.each_batch(|ios, _| {
        batches.push(ios.to_vec());
        Ok::<(), CompareError>(())
    })?;
    let mut batches = batches.into_iter();
    let trace = ArrowTrace::gather::<TraceError>(path, |ios| {
        *ios = batches.next().unwrap_or_default();
        Ok(!ios.is_empty())
    })?;
    Ok((trace, Vec::new()))
}

/// Imports a foreign trace, with the tables that the import makes.
fn import(
    path: &Path,
    format: anabranch_trace::foreign::Format,
) -> Result<(ArrowTrace, Vec<String>)> {
    use anabranch_trace::foreign::{Importer, Input, Options};
    let mut importer = Importer::new(vec![Input::open(path)?], format, &Options::default())?;
    let trace = ArrowTrace::gather::<CompareError>(path, |ios| Ok(importer.read_batch(ios)?))?;
    let trace = trace.with_tables(importer.tables())?;
    Ok((trace, importer.remarks()))
}

/// The tables as the caller gave them.
#[derive(serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Given {
    contexts: Option<Vec<Context>>,
    files: Option<Vec<File>>,
    device_bytes: Option<u64>,
}

impl Given {
    /// The tables: the given ones, otherwise the known ones, otherwise rows without names for all
    /// numbers.
    fn tables(self, known: Option<Tables>, batches: &[RecordBatch]) -> PyResult<Tables> {
        let is_known = known.is_some();
        let mut tables = known.unwrap_or_else(|| Tables::new(Capture::default()));
        match self.contexts {
            Some(contexts) => tables.contexts = contexts,
            None if !is_known => {
                let last = largest("context", batches)?;
                tables.contexts.extend((1..=last).map(nameless));
            }
            None => {}
        }
        match self.files {
            Some(files) => tables.files = files,
            None if !is_known => {
                let last = largest("file", batches)?;
                tables.files.extend((1..=last).map(|_| File::default()));
            }
            None => {}
        }
        if let Some(bytes) = self.device_bytes {
            tables.capture.device_bytes = bytes;
        }
        Ok(tables)
    }
}

/// A context of which only the number is known.
fn nameless(id: u32) -> Context {
    Context {
        id: ContextId(id),
        signature: u64::from(id),
        kind: ContextKind::Application,
        ..Context::unknown()
    }
}

/// The largest number in a column.
fn largest(column: &str, batches: &[RecordBatch]) -> PyResult<u32> {
    let columns = batches.iter().filter_map(|one| one.column_by_name(column));
    let numbers = columns.filter_map(|one| one.as_primitive_opt::<UInt32Type>());
    let largest = numbers.flat_map(|one| one.values().iter().copied()).max();
    match largest.unwrap_or(0) {
        large if large > MOST_MADE_UP => Err(usage(format!(
            "column {column} goes up to {large}: give a table of {column}s, or number them densely"
        ))),
        last => Ok(last),
    }
}
