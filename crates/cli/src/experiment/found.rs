//! An experiment, run.

use std::{collections::BTreeMap, path::Path};

use anabranch_replay::{Outcome as Comparison, TimeReport};
use serde::Serialize;
use serde_json::Value;

use super::{
    ExperimentArguments,
    claim::Answer,
    file::{Experiment, Run},
    grid::{Cell, cells},
    lifetimes::{LifetimesFound, measure},
    root,
};
use crate::{
    failure::{Failure, Outcome},
    replay::compare,
};

/// What an experiment found.
#[derive(Debug, Serialize)]
pub struct Found {
    pub schema: u32,
    pub name: String,
    pub title: String,
    pub source: String,
    pub setup: String,
    /// The command that makes all of this.
    pub command: String,
    pub claims: Vec<Answer>,
    pub runs: Vec<RunFound>,
    pub lifetimes: Vec<LifetimesFound>,
}

/// A run's comparisons.
#[derive(Debug, Serialize)]
pub struct RunFound {
    pub name: String,
    pub comparisons: Vec<CellFound>,
}

/// One comparison.
#[derive(Debug, Serialize)]
pub struct CellFound {
    /// The options that tell it from the others of its run.
    pub at: BTreeMap<String, String>,
    /// The command that makes it.
    pub command: String,
    /// Flash beyond what the host sees, as a share of that.
    pub over_provisioning: f64,
    /// The schemes as the experiment names them, in the order of the result's.
    pub schemes: Vec<String>,
    /// Of each scheme that was timed what [`Pace`] says.
    pub pace: Vec<Option<Pace>>,
    pub result: Comparison,
}

/// How fast a drive wrote, in MiB a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    /// Over the whole run.
    pub mib_per_second: f64,
    /// Over the second half of the time.
    pub late_mib_per_second: f64,
    /// Over the twentieth of the time that wrote most, and over that of the second half that wrote least.
    pub best_mib_per_second: f64,
    pub worst_mib_per_second: f64,
}

/// Stretches of time that a run's throughput is looked at in (our choice).
const STRETCHES: usize = 20;

impl Found {
    /// Runs it.
    pub fn new(experiment: &Experiment, arguments: &ExperimentArguments) -> Outcome<Found> {
        let root = root(&arguments.directory);
        let mut runs = Vec::new();
        for run in &experiment.run {
            let run = if arguments.live {
                again(run, &root)?
            } else {
                run.clone()
            };
            let found = cells(&run)
                .iter()
                .map(|cell| CellFound::new(&run, cell, &root, arguments))
                .collect::<Outcome<Vec<CellFound>>>()?;
            runs.push(RunFound {
                name: run.name,
                comparisons: found,
            });
        }
        let lifetimes = experiment
            .lifetimes
            .iter()
            .map(|asked| measure(asked, &root))
            .collect::<Outcome<Vec<LifetimesFound>>>()?;
        let mut found = Found {
            schema: 1,
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            setup: experiment.setup.clone(),
            command: format!("anabranch experiment {}", experiment.name),
            claims: Vec::new(),
            runs,
            lifetimes,
        };
        found.claims = experiment
            .claim
            .iter()
            .map(|claim| {
                claim.answer(&|run, at, scheme, field| found.value(run, at, scheme, field))
            })
            .collect::<Result<Vec<Answer>, String>>()
            .map_err(|problem| {
                Failure::say(format!("experiment {}: {problem}", experiment.name))
            })?;
        Ok(found)
    }

    /// Every comparison, for a page of pictures.
    pub fn into_comparisons(self) -> impl Iterator<Item = Comparison> {
        let cells = self.runs.into_iter().flat_map(|run| run.comparisons);
        cells.map(|cell| cell.result)
    }

    /// One figure of what was found.
    fn value(
        &self,
        run: &str,
        at: &BTreeMap<String, String>,
        scheme: &str,
        field: &str,
    ) -> Result<f64, String> {
        if let Some(lifetimes) = self.lifetimes.iter().find(|found| found.name == run) {
            return lifetimes.value(scheme, field);
        }
        let found = self.runs.iter().find(|found| found.name == run);
        let cells = found.map_or(&[][..], |found| &found.comparisons);
        let mut fitting = cells.iter().filter(|cell| {
            at.iter()
                .all(|(key, value)| cell.at.get(key).is_none_or(|own| own == value))
                && at.keys().all(|key| cell.at.contains_key(key))
        });
        match (fitting.next(), fitting.next()) {
            (Some(cell), None) => cell.value(scheme, field),
            (None, _) => Err(format!("run {run} has no comparison at {at:?}")),
            (Some(_), Some(_)) => Err(format!("run {run} has several comparisons at {at:?}")),
        }
    }
}

impl CellFound {
    fn new(
        run: &Run,
        cell: &Cell,
        root: &Path,
        arguments: &ExperimentArguments,
    ) -> Outcome<CellFound> {
        let mut replayed = cell.arguments(root)?;
        replayed.comparison.threads = arguments.threads;
        let [result] = <[Comparison; 1]>::try_from(compare(&replayed)?).map_err(|results| {
            Failure::say(format!("{}: {} comparisons", cell.command(), results.len()))
        })?;
        let schemes = match run.schemes.len() == result.schemes.len() {
            true => run.schemes.clone(),
            // `all`, or one named twice.
            false => result.schemes.iter().map(|one| one.name.clone()).collect(),
        };
        let pace = |scheme: &anabranch_replay::SchemeOutcome| scheme.time.as_ref().map(Pace::new);
        let device = &result.device;
        let spare = device.physical_bytes as f64 / device.logical_bytes.max(1) as f64 - 1.0;
        Ok(CellFound {
            at: cell.labels.iter().cloned().collect(),
            command: cell.command(),
            over_provisioning: spare,
            schemes,
            pace: result.schemes.iter().map(pace).collect(),
            result,
        })
    }

    /// One figure of one scheme.
    fn value(&self, scheme: &str, field: &str) -> Result<f64, String> {
        let index = self
            .schemes
            .iter()
            .position(|name| name == scheme)
            .ok_or_else(|| format!("scheme {scheme} was not compared"))?;
        let shown = match field.strip_prefix("pace.") {
            Some(_) => serde_json::json!({ "pace": self.pace[index] }),
            None => serde_json::to_value(&self.result.schemes[index])
                .map_err(|error| error.to_string())?,
        };
        number(&shown, field)
    }
}

/// The number at a path of names and places.
pub fn number(value: &Value, field: &str) -> Result<f64, String> {
    let pointer = format!("/{}", field.replace('.', "/"));
    value
        .pointer(&pointer)
        .and_then(Value::as_f64)
        .ok_or_else(|| format!("there is no number called {field}"))
}

impl Pace {
    fn new(report: &TimeReport) -> Pace {
        let intervals = &report.intervals;
        // The last interval is cut short.
        let whole = &intervals[..intervals.len().saturating_sub(1)];
        let rates: Vec<f64> = whole.iter().map(|one| one.write_mib_per_second).collect();
        let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        let stretch = (rates.len() / STRETCHES).max(1);
        let stretches: Vec<f64> = rates.chunks_exact(stretch).map(mean).collect();
        let late = &stretches[stretches.len() / 2..];
        Pace {
            mib_per_second: mean(&rates),
            late_mib_per_second: mean(&rates[rates.len() / 2..]),
            best_mib_per_second: stretches.iter().copied().fold(0.0, f64::max),
            worst_mib_per_second: late.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }
}

/// The run on a trace that its program makes now.
fn again(run: &Run, root: &Path) -> Outcome<Run> {
    let Some(workload) = &run.workload else {
        return Ok(run.clone());
    };
    let directory = root.join("out").join("experiments");
    let trace = directory.join(format!("{}.parquet", run.name));
    let program = std::env::current_exe().map_err(Failure::work)?;
    let status = std::fs::create_dir_all(&directory).and_then(|()| {
        std::process::Command::new(program)
            .args([
                "run",
                "--scheme",
                "baseline",
                "--workload",
                workload,
                "--trace",
            ])
            .arg(&trace)
            .stdout(std::process::Stdio::null())
            .status()
    });
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            return Err(Failure::work(anyhow::anyhow!(
                "workload {workload} of run {} ended with {status}",
                run.name
            )));
        }
        Err(error) => return Err(Failure::work(error)),
    }
    let trace = trace.strip_prefix(root).unwrap_or(&trace);
    Ok(Run {
        traces: vec![trace.display().to_string()],
        ..run.clone()
    })
}
