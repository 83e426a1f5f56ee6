//! The comparison of schemes for Python.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anabranch_compare::{Format, ReplayOptions, Requests, TraceFile, read_text, schemes};
use pyo3::{prelude::*, types::PyList};

use crate::{
    errors::{raise, usage, warn},
    patience::{Shared, patiently},
    scheme::{Trouble, python_scheme},
    trace::{InMemory, TraceCore, parse_format},
};

/// A trace as Python gave it: in memory, or in a file.
pub enum Given {
    Memory(InMemory),
    File(PathBuf, Option<Format>),
}

/// Compares schemes on traces. Answers with the JSON of the command's `--json`.
///
/// `traces` are paths or traces in memory; `options` is JSON, laid out as `ReplayOptions`, with
/// schemes of the catalogue; `guests` are schemes in Python, compared after them.
#[pyfunction]
#[pyo3(signature = (traces, options, guests, format=None, progress=None))]
pub fn replay(
    py: Python<'_>,
    traces: &Bound<'_, PyList>,
    options: &str,
    guests: &Bound<'_, PyList>,
    format: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: ReplayOptions = serde_json::from_str(options).map_err(usage)?;
    let format = format.map(parse_format).transpose()?;
    let traces = traces.iter().map(|trace| given(&trace, format));
    let traces = traces.collect::<PyResult<Vec<Given>>>()?;
    let shared = Arc::new(Shared::default());
    let trouble = Arc::new(Trouble::new(Arc::clone(&shared)));
    let known = options.drive_file.is_none();
    let mut specs = schemes(&options.comparison, known, &read_text).map_err(raise)?;
    for guest in guests.iter() {
        let spec = python_scheme(&guest, &trouble)?;
        if specs.contains(&spec) {
            return Err(usage(format!(
                "two schemes are called \"{}\": give one another name",
                spec.name()
            )));
        }
        specs.push(spec);
    }
    let done = patiently(py, &shared, progress.as_ref(), |watch| {
        let sources = traces.into_iter().map(|one| one.open(options.quick));
        let sources = sources.collect::<Result<Vec<Box<dyn Requests>>, _>>()?;
        let sources: Vec<&dyn Requests> = sources.iter().map(AsRef::as_ref).collect();
        let results = anabranch_compare::replay(&options, &specs, &sources, watch)?;
        let json = anabranch_compare::json(&results)?;
        let remarks: Vec<String> = sources.iter().flat_map(|one| one.remarks()).collect();
        Ok((format!("{json:#}\n"), remarks))
    });
    // What a scheme raised says more than that the work was ended for it.
    if let Some(error) = trouble.take() {
        return Err(error);
    }
    let (json, remarks) = done?;
    warn(py, &remarks)?;
    Ok(json)
}

/// The trace that a Python object stands for.
pub fn given(trace: &Bound<'_, PyAny>, format: Option<Format>) -> PyResult<Given> {
    if let Ok(core) = trace.cast::<TraceCore>() {
        return Ok(Given::Memory(InMemory(Arc::clone(&core.get().0))));
    }
    Ok(Given::File(trace.extract()?, format))
}

impl Given {
    /// The trace's path, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Given::Memory(_) => None,
            Given::File(path, _) => Some(path),
        }
    }

    /// Opens the trace; with `quick`, only its first GiB of writes is replayed.
    pub fn open(self, quick: bool) -> anabranch_compare::Result<Box<dyn Requests>> {
        Ok(match self {
            Given::Memory(trace) => Box::new(trace),
            Given::File(path, format) => Box::new(TraceFile::open(&path, format, quick)?),
        })
    }
}
