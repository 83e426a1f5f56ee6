//! Measures of a trace by itself, and exports: advice, traces in other forms, pages.

use std::{io::Write as _, path::PathBuf, sync::Arc};

use anabranch_advice::{ExportOptions, Source, advise, convert};
use anabranch_compare::{CompareError, Files, Requests, Result};
use anabranch_report::{Look, answer, answers, comparison, heading};
use anabranch_trace::WholeFile;
use pyo3::{prelude::*, types::PyList};
use serde::Serialize;
use serde_json::json;

use crate::{
    errors::{raise, usage},
    patience::{Shared, patiently},
    replay::{Given, given},
    trace::parse_format,
};

/// Measures the contexts of a trace. Answers with the JSON of the command's `contexts --json`.
#[pyfunction]
#[pyo3(signature = (trace, streams, quick=false, format=None, progress=None))]
pub fn contexts(
    py: Python<'_>,
    trace: &Bound<'_, PyAny>,
    streams: u16,
    quick: bool,
    format: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let trace = given(trace, format.map(parse_format).transpose()?)?;
    let shared = Arc::new(Shared::default());
    patiently(py, &shared, progress.as_ref(), |watch| {
        let source = trace.open(quick)?;
        text(&anabranch_advice::contexts(&*source, streams, watch)?)
    })
}

/// Measures how well contexts, files and addresses predict lifetimes. Answers with the JSON of the
/// command's `coverage --json`.
#[pyfunction]
#[pyo3(signature = (traces, progress=None))]
pub fn coverage(
    py: Python<'_>,
    traces: &Bound<'_, PyList>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let traces = traces.iter().map(|trace| given(&trace, None));
    let traces = traces.collect::<PyResult<Vec<Given>>>()?;
    let shared = Arc::new(Shared::default());
    patiently(py, &shared, progress.as_ref(), |watch| {
        let sources = traces.into_iter().map(|one| one.open(false));
        let sources = sources.collect::<Result<Vec<Box<dyn Requests>>>>()?;
        let sources: Vec<&dyn Requests> = sources.iter().map(AsRef::as_ref).collect();
        text(&anabranch_advice::coverage(&sources, watch)?)
    })
}

/// Exports a trace, or the file of a result or of lifetimes, to `output`. Answers with the JSON of
/// the command's `export --json`. `options` is JSON, laid out as `ExportOptions`.
#[pyfunction]
#[pyo3(signature = (source, options, output, progress=None))]
pub fn export(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    options: &str,
    output: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: ExportOptions = serde_json::from_str(options).map_err(usage)?;
    let source = given(source, None)?;
    let form = options.form().map_err(raise)?;
    let files = Files::default()
        .reads(source.path())
        .reads(&options.trace)
        .reads(&options.lifetimes);
    let files = match form {
        Some(_) => files.writes("output", [&output]),
        None => files.fills("output", [&output]),
    };
    files.check().map_err(raise)?;
    let shared = Arc::new(Shared::default());
    patiently(py, &shared, progress.as_ref(), |watch| {
        let Some(form) = form else {
            let source = match source.path() {
                Some(path) => Source::File(path.to_owned()),
                None => Source::Trace(source.open(false)?),
            };
            let advice = advise(source, &options, watch)?;
            advice.write(&output)?;
            return Ok(advice.as_json().to_string());
        };
        text(&convert(&*source.open(false)?, form, &output, watch)?)
    })
}

/// Writes the page of results, each the JSON of one comparison or of several, or the page of
/// sweeps' directories. `read` are the files that they came from, which the page must not replace.
#[pyfunction]
pub fn report(
    py: Python<'_>,
    results: Vec<String>,
    sweeps: Vec<PathBuf>,
    read: Vec<PathBuf>,
    output: PathBuf,
) -> PyResult<()> {
    let files = Files::default().reads(&read).writes("output", [&output]);
    py.detach(|| {
        files.check()?;
        let page = if sweeps.is_empty() {
            let read = |text: &String| anabranch_compare::results("result", text);
            let results = results.iter().map(read).collect::<Result<Vec<_>>>()?;
            anabranch_report::page(&results.concat())
        } else {
            anabranch_report::fleet_page(&anabranch_sweep::fleet(&sweeps)?)
        };
        let mut file = WholeFile::create(&output)?;
        file.write_all(page.map_err(CompareError::work)?.as_bytes())
            .map_err(CompareError::work)?;
        Ok(file.finish()?)
    })
    .map_err(|fault: CompareError| raise(fault))
}

/// The heading, table and answer that the command prints for a result, as JSON.
#[pyfunction]
pub fn shown(result: &str) -> PyResult<String> {
    let results = anabranch_compare::results("result", result).map_err(raise)?;
    let look = Look::default();
    let line = results.first().map(|result| heading(result).line());
    Ok(json!({
        "heading": line.unwrap_or_default(),
        "table": comparison(&results, &look),
        "answer": match results.as_slice() {
            [one] => answer(one, &look),
            many => answers(many, &look),
        },
    })
    .to_string())
}

fn text(found: &impl Serialize) -> Result<String> {
    serde_json::to_string(found).map_err(CompareError::work)
}
