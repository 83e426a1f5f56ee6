//! Sweeps: the parts that a scheduler puts together (`python/anabranch/_sweep.py`), and whole
//! sweeps on the cores of this machine. What goes over a wire is JSON, and the file of a batch.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc, thread};

use anabranch_compare::CompareError;
use anabranch_sweep::{
    Batch, Done, Finished, Grid, Limits, Look, Plan, Reporter, Seen, keep, load_survey, local, run,
    save_survey, summary, survey_trace,
};
use pyo3::{prelude::*, types::PyBytes};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{
    errors::{raise, usage},
    patience::{Shared, patiently},
};

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(sweep_traces, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_looks, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_look, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_plan, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_run, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_singles, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_keep, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_local, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_summary, module)?)
}

fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(usage)
}

fn written(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(usage)
}

/// The traces that a grid names.
#[pyfunction]
fn sweep_traces(name: &str, grid: &str) -> PyResult<Vec<String>> {
    Ok(Grid::parse(name, grid).map_err(raise)?.traces)
}

/// The looks that are needed for traces (names and lengths), and what earlier looks have found
/// already.
#[pyfunction]
fn sweep_looks(
    name: &str,
    grid: &str,
    traces: Vec<(String, u64)>,
    directory: PathBuf,
) -> PyResult<Vec<(String, Option<String>)>> {
    let grid = Grid::parse(name, grid).map_err(raise)?;
    let looks = grid.looks(&traces).map_err(raise)?;
    let known = |look: &Look| {
        let seen = load_survey(&directory, look).map(|seen| written(&seen));
        Ok((written(look)?, seen.transpose()?))
    };
    looks.iter().map(known).collect()
}

/// Looks at a trace, which is read from `path`.
#[pyfunction]
fn sweep_look(py: Python<'_>, asked: &str, path: PathBuf) -> PyResult<String> {
    let asked: Look = read(asked)?;
    let shared = Arc::new(Shared::default());
    written(&patiently(py, &shared, None, |watch| {
        survey_trace(&asked, &path, watch)
    })?)
}

/// Keeps what was seen of traces, and plans the unfinished part of the grid. Answers with JSON.
#[pyfunction]
fn sweep_plan(
    name: &str,
    grid: &str,
    looks: Vec<(String, String)>,
    directory: PathBuf,
    cells: usize,
    memory_bytes: u64,
) -> PyResult<String> {
    let grid = Grid::parse(name, grid).map_err(raise)?;
    let mut all: Vec<Seen> = Vec::new();
    for (look, seen) in looks {
        let (look, seen): (Look, Seen) = (read(&look)?, read(&seen)?);
        save_survey(&directory, &look, &seen).map_err(raise)?;
        all.push(seen);
    }
    let finished = Finished::read(&directory).map_err(raise)?;
    let plan = grid.plan(&all, &finished, cells, memory_bytes);
    let plan = plan.map_err(raise)?;
    let batches = plan.batches.iter().map(written);
    let batches = batches.collect::<PyResult<Vec<String>>>()?;
    let names: Vec<String> = plan.batches.iter().map(Batch::name).collect();
    Ok(json!({
        "cells": plan.cells,
        "finished": plan.finished,
        "memory_bytes": plan.most_memory_bytes(),
        "impossible": named(&plan.impossible),
        "batches": batches,
        "names": names,
    })
    .to_string())
}

/// Performs a batch whose trace is read from `path`. Answers with the Parquet file of its rows.
#[pyfunction]
fn sweep_run<'py>(py: Python<'py>, batch: &str, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
    let batch: Batch = read(batch)?;
    let shared = Arc::new(Shared::default());
    let file = patiently(py, &shared, None, |watch| run(&batch, &path, watch))?;
    Ok(PyBytes::new(py, &file))
}

/// The cells of a batch, each as a batch; empty where the batch has only one.
#[pyfunction]
fn sweep_singles(batch: &str) -> PyResult<Vec<String>> {
    let batch: Batch = read(batch)?;
    match batch.schemes.len() {
        1 => Ok(Vec::new()),
        _ => batch.singles().iter().map(written).collect(),
    }
}

/// Writes the file of a batch; it is on disk, whole, when this returns. Answers with the number of
/// its cells.
#[pyfunction]
fn sweep_keep(directory: PathBuf, batch: &str, file: &[u8]) -> PyResult<usize> {
    let batch: Batch = read(batch)?;
    keep(&directory, &batch, file).map_err(raise)?;
    Ok(batch.schemes.len())
}

/// The cells that could not be done, each with its message.
fn named(failed: &[(String, CompareError)]) -> Vec<(String, String)> {
    let words = |(name, fault): &(String, CompareError)| (name.clone(), fault.to_string());
    failed.iter().map(words).collect()
}

/// Performs the unfinished part of a grid on threads of this machine. Answers with JSON of the
/// outcome.
#[pyfunction]
#[pyo3(signature = (name, grid, directory, workers, cells, memory_bytes, tell))]
#[allow(
    clippy::too_many_arguments,
    reason = "one call from one place, which has names for them"
)]
fn sweep_local(
    py: Python<'_>,
    name: &str,
    grid: &str,
    directory: PathBuf,
    workers: Option<NonZeroUsize>,
    cells: usize,
    memory_bytes: u64,
    tell: Py<PyAny>,
) -> PyResult<String> {
    let grid = Grid::parse(name, grid).map_err(raise)?;
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let limits = Limits {
        workers: workers.unwrap_or(cores),
        cells,
        memory_bytes,
    };
    let shared = Arc::new(Shared::default());
    let mut teller = Teller {
        shared: Arc::clone(&shared),
        tell,
        raised: None,
    };
    let swept = patiently(py, &shared, None, |_| {
        local(&grid, &directory, &limits, &mut teller)
    });
    if let Some(error) = teller.raised {
        return Err(error);
    }
    let swept = swept?;
    Ok(json!({
        "cells": swept.cells,
        "finished_before": swept.finished_before,
        "done": swept.done,
        "failed": named(&swept.failed),
    })
    .to_string())
}

/// Calls a Python function with each event: `("planned", cells, finished, memory)`, `("looked",
/// done, all, 0)`, `("done", cells, 0, 0)`, `("failed", cells, 0, 0)`.
struct Teller {
    shared: Arc<Shared>,
    tell: Py<PyAny>,
    raised: Option<PyErr>,
}

impl Teller {
    fn call(&mut self, what: &str, numbers: (u64, u64, u64)) {
        let (one, two, three) = numbers;
        let told = Python::attach(|py| self.tell.call1(py, (what, one, two, three)).map(|_| ()));
        if let Err(error) = told {
            self.raised.get_or_insert(error);
            self.shared.stop();
        }
    }
}

impl Reporter for Teller {
    fn planned(&mut self, plan: &Plan) {
        let (cells, finished) = (plan.cells as u64, plan.finished as u64);
        self.call("planned", (cells, finished, plan.most_memory_bytes()));
    }

    fn looked(&mut self, done: usize, all: usize) {
        self.call("looked", (done as u64, all as u64, 0));
    }

    fn done(&mut self, done: &Done<'_>) {
        let what = if done.fault.is_some() {
            "failed"
        } else {
            "done"
        };
        self.call(what, (done.batch.schemes.len() as u64, 0, 0));
    }

    fn is_over(&self) -> bool {
        self.shared.is_stopped()
    }
}

/// The distribution of figures over a sweep's traces, as JSON.
#[pyfunction]
fn sweep_summary(directory: PathBuf) -> PyResult<String> {
    written(&summary(&directory).map_err(raise)?)
}
