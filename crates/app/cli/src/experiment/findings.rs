//! The run of an experiment, and its findings.

use std::{cell::RefCell, collections::BTreeMap, path::Path};

use anabranch_replay::Comparison;
use serde::Serialize;

use super::{
    ExperimentArguments,
    basis::{Basis, RowSource},
    cell_findings::{CellFindings, RunFindings},
    claim::{Claim, ClaimAnswer, Figures},
    file::Experiment,
    grid::{ExperimentCell, cells, only},
    lifetimes::{LifetimesFindings, measure},
    pivot::PivotFindings,
    root,
    run::Run,
};
use crate::{
    error::{CommandError, Result},
    say,
};

#[derive(Debug, Serialize)]
pub struct ExperimentFindings {
    pub schema: u32,
    pub name: String,
    pub title: String,
    pub source: String,
    pub setup: String,
    /// The command that repeats the experiment.
    pub command: String,
    pub claims: Vec<ClaimAnswer>,
    pub tables: Vec<PivotFindings>,
    pub runs: Vec<RunFindings>,
    pub lifetimes: Vec<LifetimesFindings>,
}

impl ExperimentFindings {
    /// Runs an experiment, or the part of it that the claims asked for need.
    pub fn new(
        experiment: &Experiment,
        arguments: &ExperimentArguments,
    ) -> Result<ExperimentFindings> {
        let root = root(&arguments.directory);
        let asked = asked(experiment, &arguments.claim)?;
        let is_wanted = |run: &str, options: &[(String, String)]| {
            arguments.claim.is_empty() || asked.iter().any(|(_, claim)| claim.wants(run, options))
        };
        let runs = runs(experiment, arguments, &root, |run, cell| {
            is_wanted(&run.name, &cell.labels)
        })?;
        let lifetimes = experiment
            .lifetimes
            .iter()
            .filter(|one| is_wanted(&one.name, &[]))
            .map(|asked| measure(asked, &root))
            .collect::<Result<Vec<LifetimesFindings>>>()?;
        let mut found = ExperimentFindings {
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
        let wrong =
            |problem| CommandError::wrong_use(format!("experiment {}: {problem}", experiment.name));
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

    fn answer(
        &self,
        row: usize,
        claim: &Claim,
        experiment: &Experiment,
    ) -> Result<ClaimAnswer, String> {
        let figures = Looked {
            found: self,
            sources: RefCell::new(Vec::new()),
        };
        let answer = claim.answer(&figures, &experiment.called)?;
        let basis = Basis::new(&figures.sources.borrow());
        Ok(ClaimAnswer {
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
    ) -> Result<(f64, RowSource<'_>), String> {
        if let Some(lifetimes) = self.lifetimes.iter().find(|found| found.name == run) {
            return Ok((lifetimes.value(scheme, field)?, RowSource::Lifetimes));
        }
        let found = self.runs.iter().find(|found| found.name == run);
        let cells = found.map_or(&[][..], |found| &found.comparisons);
        let cell = only(cells, |found| &found.cell, run, at)?;
        let (value, scheme) = cell.value(scheme, field)?;
        Ok((value, RowSource::Scheme(cell, scheme)))
    }
}

/// Makes the comparisons of an experiment's runs whose labels are wanted.
fn runs(
    experiment: &Experiment,
    arguments: &ExperimentArguments,
    root: &Path,
    is_wanted: impl Fn(&Run, &ExperimentCell) -> bool,
) -> Result<Vec<RunFindings>> {
    let mut runs = Vec::new();
    let wanted = |run: &Run| -> Vec<ExperimentCell> {
        let mut cells = cells(run);
        cells.retain(|cell| is_wanted(run, cell));
        cells
    };
    let all: usize = experiment.run.iter().map(|run| wanted(run).len()).sum();
    let mut begun = 0;
    for run in &experiment.run {
        if wanted(run).is_empty() {
            continue;
        }
        let run = if arguments.live {
            run.again(root)?
        } else {
            run.clone()
        };
        let found = wanted(&run)
            .iter()
            .map(|cell| {
                begun += 1;
                say::print_note(&step(begun, all, &run.name, &cell.labels));
                CellFindings::new(&run, cell, root, arguments.threads)
            })
            .collect::<Result<Vec<CellFindings>>>()?;
        runs.push(RunFindings {
            name: run.name,
            comparisons: found,
        });
    }
    Ok(runs)
}

/// The line on a comparison that begins: a single one can take minutes.
fn step(number: usize, all: usize, run: &str, labels: &[(String, String)]) -> String {
    let options = labels
        .iter()
        .map(|(key, value)| format!(" --{key} {value}"));
    format!(
        "comparison {number} of {all}: {run}{}",
        options.collect::<String>()
    )
}

/// The findings, and the origins of the figures that were looked at.
struct Looked<'a> {
    found: &'a ExperimentFindings,
    sources: RefCell<Vec<RowSource<'a>>>,
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

/// The claims asked for, or all if none is named, with their places from 1.
fn asked<'a>(experiment: &'a Experiment, rows: &[usize]) -> Result<Vec<(usize, &'a Claim)>> {
    let claims = &experiment.claim;
    if let Some(row) = rows.iter().find(|row| !(1..=claims.len()).contains(row)) {
        return Err(CommandError::wrong_use(format!(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_that_begins_is_named_with_its_options_and_its_place() {
        let labels = [("unit".to_owned(), "8MiB".to_owned())];
        assert_eq!(
            step(2, 9, "demo", &labels),
            "comparison 2 of 9: demo --unit 8MiB"
        );
    }
}
