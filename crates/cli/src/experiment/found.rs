//! The run of an experiment, and its findings.

use std::{cell::RefCell, collections::BTreeMap, path::Path};

use anabranch_replay::{Comparison, TimeReport};
use serde::Serialize;
use serde_json::Value;

use super::{
    ExperimentArguments,
    basis::{Basis, Source, percent},
    claim::{Answer, Claim, Figures},
    file::{Experiment, Run},
    grid::{Again, Cell, cells},
    lifetimes::{LifetimesFound, measure},
    pivot::PivotFound,
    root,
};
use crate::{
    failure::{Failure, Result},
    replay::compare,
};

/// The findings of an experiment.
#[derive(Debug, Serialize)]
pub struct Found {
    pub schema: u32,
    pub name: String,
    pub title: String,
    pub source: String,
    pub setup: String,
    /// The command that repeats the experiment.
    pub command: String,
    pub claims: Vec<Answer>,
    pub tables: Vec<PivotFound>,
    pub runs: Vec<RunFound>,
    pub lifetimes: Vec<LifetimesFound>,
}

/// The comparisons of a run.
#[derive(Debug, Serialize)]
pub struct RunFound {
    pub name: String,
    pub comparisons: Vec<CellFound>,
}

/// One comparison.
#[derive(Debug, Serialize)]
pub struct CellFound {
    /// The options that tell it from the run's other comparisons.
    pub at: BTreeMap<String, String>,
    /// The command that repeats it.
    pub command: String,
    /// Flash beyond the bytes the host sees, as a share of these.
    pub over_provisioning: f64,
    /// Its options, from which it can be repeated with fewer schemes.
    #[serde(skip)]
    cell: Cell,
    /// The schemes as the experiment names them, in the order of the result's.
    pub schemes: Vec<String>,
    /// The pace of each scheme whose time was simulated.
    pub pace: Vec<Option<Pace>>,
    pub result: Comparison,
}

/// How fast a drive wrote, in MiB a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    /// The pace over the whole run.
    pub mib_per_second: f64,
    /// The pace over the second half of the time.
    pub late_mib_per_second: f64,
    /// The pace over the twentieth of the time that wrote most; the field below is that over the twentieth of the
    /// second half that wrote least.
    pub best_mib_per_second: f64,
    pub worst_mib_per_second: f64,
}

/// Number of stretches of time in which a run's throughput is measured (our choice).
const STRETCHES: usize = 20;

impl Found {
    /// Runs an experiment, or the part of it that the claims asked for need.
    pub fn new(experiment: &Experiment, arguments: &ExperimentArguments) -> Result<Found> {
        let root = root(&arguments.directory);
        let asked = asked(experiment, &arguments.claim)?;
        let is_wanted = |run: &str, options: &[(String, String)]| {
            arguments.claim.is_empty() || asked.iter().any(|(_, claim)| claim.wants(run, options))
        };
        let mut runs = Vec::new();
        for run in &experiment.run {
            let wanted = |run: &Run| -> Vec<Cell> {
                let mut cells = cells(run);
                cells.retain(|cell| is_wanted(&run.name, &cell.labels));
                cells
            };
            if wanted(run).is_empty() {
                continue;
            }
            let run = if arguments.live {
                again(run, &root)?
            } else {
                run.clone()
            };
            let found = wanted(&run)
                .iter()
                .map(|cell| CellFound::new(&run, cell, &root, arguments))
                .collect::<Result<Vec<CellFound>>>()?;
            runs.push(RunFound {
                name: run.name,
                comparisons: found,
            });
        }
        let lifetimes = experiment
            .lifetimes
            .iter()
            .filter(|one| is_wanted(&one.name, &[]))
            .map(|asked| measure(asked, &root))
            .collect::<Result<Vec<LifetimesFound>>>()?;
        let mut found = Found {
            schema: 1,
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            setup: experiment.setup.clone(),
            command: format!("anabranch experiment {}", experiment.name),
            claims: Vec::new(),
            tables: Vec::new(),
            runs,
            lifetimes,
        };
        let wrong = |problem| Failure::say(format!("experiment {}: {problem}", experiment.name));
        let answers = asked
            .iter()
            .map(|(row, claim)| found.answer(*row, claim, experiment));
        found.claims = answers.collect::<Result<_, String>>().map_err(wrong)?;
        // A part of the comparisons makes no table.
        if arguments.claim.is_empty() {
            let tables = experiment
                .table
                .iter()
                .map(|table| table.found(&found.runs));
            found.tables = tables.collect::<Result<_, String>>().map_err(wrong)?;
        }
        Ok(found)
    }

    fn answer(&self, row: usize, claim: &Claim, experiment: &Experiment) -> Result<Answer, String> {
        let figures = Looked {
            found: self,
            sources: RefCell::new(Vec::new()),
        };
        let answer = claim.answer(&figures, &experiment.called)?;
        let basis = Basis::new(&figures.sources.borrow());
        Ok(Answer {
            row,
            basis,
            ..answer
        })
    }

    /// All comparisons, for a page of pictures.
    pub fn into_comparisons(self) -> impl Iterator<Item = Comparison> {
        let cells = self.runs.into_iter().flat_map(|run| run.comparisons);
        cells.map(|cell| cell.result)
    }

    /// One figure of the findings.
    fn value(
        &self,
        run: &str,
        at: &BTreeMap<String, String>,
        scheme: &str,
        field: &str,
    ) -> Result<(f64, Source<'_>), String> {
        if let Some(lifetimes) = self.lifetimes.iter().find(|found| found.name == run) {
            return Ok((lifetimes.value(scheme, field)?, Source::Lifetimes));
        }
        let found = self.runs.iter().find(|found| found.name == run);
        let cells = found.map_or(&[][..], |found| &found.comparisons);
        let mut fitting = cells.iter().filter(|cell| {
            at.iter()
                .all(|(key, value)| cell.at.get(key).is_none_or(|own| own == value))
                && at.keys().all(|key| cell.at.contains_key(key))
        });
        match (fitting.next(), fitting.next()) {
            (Some(cell), None) => {
                let (value, scheme) = cell.value(scheme, field)?;
                Ok((value, Source::Scheme(cell, scheme)))
            }
            (None, _) => Err(format!("run {run} has no comparison at {at:?}")),
            (Some(_), Some(_)) => Err(format!("run {run} has several comparisons at {at:?}")),
        }
    }
}

/// The findings, and the origins of the figures that were looked at.
struct Looked<'a> {
    found: &'a Found,
    sources: RefCell<Vec<Source<'a>>>,
}

impl Figures for Looked<'_> {
    fn one(
        &self,
        run: &str,
        at: &BTreeMap<String, String>,
        scheme: &str,
        field: &str,
    ) -> Result<f64, String> {
        let (value, source) = self.found.value(run, at, scheme, field)?;
        self.sources.borrow_mut().push(source);
        Ok(value)
    }

    fn all(&self, run: &str, scheme: &str, field: &str) -> Result<Vec<f64>, String> {
        let runs = self.found.runs.iter().filter(|found| found.name == run);
        let cells = runs.flat_map(|found| &found.comparisons);
        cells.map(|cell| Ok(cell.value(scheme, field)?.0)).collect()
    }
}

impl CellFound {
    fn new(
        run: &Run,
        cell: &Cell,
        root: &Path,
        arguments: &ExperimentArguments,
    ) -> Result<CellFound> {
        let mut options = cell.options()?;
        options.comparison.threads = arguments.threads;
        let [result] = <[Comparison; 1]>::try_from(compare(&options, &[cell.trace(root)], None)?)
            .map_err(|results| {
            Failure::say(format!("{}: {} comparisons", cell.command(), results.len()))
        })?;
        let schemes = match run.schemes.len() == result.schemes.len() {
            true => run.schemes.clone(),
            // `all`, or one named twice.
            false => result.schemes.iter().map(|one| one.name.clone()).collect(),
        };
        let pace = |scheme: &anabranch_replay::SchemeResult| scheme.time.as_ref().map(Pace::new);
        let device = &result.device;
        let spare = device.physical_bytes as f64 / device.logical_bytes.max(1) as f64 - 1.0;
        Ok(CellFound {
            at: cell.labels.iter().cloned().collect(),
            command: cell.command(),
            cell: cell.clone(),
            over_provisioning: spare,
            schemes,
            pace: result.schemes.iter().map(pace).collect(),
            result,
        })
    }

    /// How full the drive is: at its fullest moment if the run says so, otherwise as the first scheme left it.
    pub fn fill(&self) -> String {
        if let Some(Ok(share)) = self.at.get("fill").map(|fill| fill.parse::<f64>()) {
            return percent(share, 0);
        }
        let device = &self.result.device;
        let mapped = self
            .result
            .schemes
            .first()
            .map_or(0, |one| one.mapped_bytes);
        let share = mapped as f64 / device.logical_bytes.max(1) as f64;
        format!("{} at the end", percent(share, 0))
    }

    /// The command that repeats the comparison with some of its schemes, given by their places.
    pub fn again(&self, schemes: &[usize]) -> Again {
        let named = |scheme: &usize| self.schemes.get(*scheme).cloned();
        self.cell.again(schemes.iter().filter_map(named).collect())
    }

    /// One figure of one scheme, and the scheme's place.
    pub fn value(&self, scheme: &str, field: &str) -> Result<(f64, usize), String> {
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
        Ok((number(&shown, field)?, index))
    }
}

/// The claims asked for, or all if none is named, with their places from 1.
fn asked<'a>(experiment: &'a Experiment, rows: &[usize]) -> Result<Vec<(usize, &'a Claim)>> {
    let claims = &experiment.claim;
    if let Some(row) = rows.iter().find(|row| !(1..=claims.len()).contains(row)) {
        return Err(Failure::say(format!(
            "experiment {} has claims 1 to {}, and no {row}",
            experiment.name,
            claims.len()
        )));
    }
    let all = (1..).zip(claims);
    Ok(all
        .filter(|(row, _)| rows.is_empty() || rows.contains(row))
        .collect())
}

/// The number at a path of names and indices.
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
fn again(run: &Run, root: &Path) -> Result<Run> {
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
