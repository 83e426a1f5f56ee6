//! The comparisons of a run, and the figures in them.

use std::{collections::BTreeMap, num::NonZeroUsize, path::Path};

use anabranch_replay::{Comparison, SchemeResult, TimeReport};
use serde::Serialize;
use serde_json::Value;

use super::{
    grid::{Again, ExperimentCell},
    run::Run,
};
use crate::{
    error::{CommandError, Result},
    source::compare,
};

/// The comparisons of a run.
#[derive(Debug, Serialize)]
pub struct RunFindings {
    pub name: String,
    pub comparisons: Vec<CellFindings>,
}

/// One comparison.
#[derive(Debug, Serialize)]
pub struct CellFindings {
    /// The options that tell it from the run's other comparisons.
    pub at: BTreeMap<String, String>,
    /// The command that repeats it.
    pub command: String,
    /// Flash beyond the bytes the host sees, as a share of these.
    pub over_provisioning: f64,
    /// Its options, from which it can be repeated with fewer schemes.
    #[serde(skip)]
    pub cell: ExperimentCell,
    /// The schemes as the experiment names them, in the order of the result's.
    pub schemes: Vec<String>,
    /// The throughput of each scheme whose time was simulated.
    pub throughput: Vec<Option<Throughput>>,
    pub result: Comparison,
}

/// The throughput of a drive, in MiB a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Throughput {
    /// The throughput over the whole run.
    pub mib_per_second: f64,
    /// The throughput over the second half of the time.
    pub late_mib_per_second: f64,
    /// The throughput over the twentieth of the time that wrote most; the field below is that over the twentieth of the
    /// second half that wrote least.
    pub best_mib_per_second: f64,
    pub worst_mib_per_second: f64,
}

/// Number of stretches of time in which a run's throughput is measured (our choice).
const STRETCHES: usize = 20;

impl CellFindings {
    pub fn new(
        run: &Run,
        cell: &ExperimentCell,
        root: &Path,
        threads: Option<NonZeroUsize>,
    ) -> Result<CellFindings> {
        let mut options = cell.options()?;
        options.comparison.threads = threads;
        let [result] = <[Comparison; 1]>::try_from(compare(&options, &[cell.trace(root)], None)?)
            .map_err(|results| {
            CommandError::wrong_use(format!("{}: {} comparisons", cell.command(), results.len()))
        })?;
        let schemes = if run.schemes.len() == result.schemes.len() {
            run.schemes.clone()
        } else {
            result.schemes.iter().map(|one| one.name.clone()).collect()
        };
        let throughput = |scheme: &SchemeResult| scheme.time.as_ref().map(Throughput::new);
        let device = &result.device;
        let spare = device.physical_bytes as f64 / device.logical_bytes.max(1) as f64 - 1.0;
        Ok(CellFindings {
            at: cell.labels.iter().cloned().collect(),
            command: cell.command(),
            cell: cell.clone(),
            over_provisioning: spare,
            schemes,
            throughput: result.schemes.iter().map(throughput).collect(),
            result,
        })
    }

    /// Fill of the drive: at its fullest moment if the run says so, otherwise as the first scheme left it.
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
        let shown = match field.split_once('.') {
            // `pace` is the older name of the key.
            Some((key @ ("throughput" | "pace"), _)) => {
                serde_json::json!({ key: self.throughput[index] })
            }
            _ => serde_json::to_value(&self.result.schemes[index])
                .map_err(|error| error.to_string())?,
        };
        Ok((number(&shown, field)?, index))
    }
}

impl Throughput {
    fn new(report: &TimeReport) -> Throughput {
        let intervals = &report.intervals;
        // The last interval is cut short.
        let whole = &intervals[..intervals.len().saturating_sub(1)];
        let rates: Vec<f64> = whole.iter().map(|one| one.write_mib_per_second).collect();
        let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        let stretch = (rates.len() / STRETCHES).max(1);
        let stretches: Vec<f64> = rates.chunks_exact(stretch).map(mean).collect();
        let late = &stretches[stretches.len() / 2..];
        Throughput {
            mib_per_second: mean(&rates),
            late_mib_per_second: mean(&rates[rates.len() / 2..]),
            best_mib_per_second: stretches.iter().copied().fold(0.0, f64::max),
            worst_mib_per_second: late.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }
}

/// The number at a path of names and indices.
pub fn number(value: &Value, field: &str) -> Result<f64, String> {
    let pointer = format!("/{}", field.replace('.', "/"));
    value
        .pointer(&pointer)
        .and_then(Value::as_f64)
        .ok_or_else(|| format!("there is no number called {field}"))
}

/// A share as text, in percent.
pub fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", 100.0 * share)
}
