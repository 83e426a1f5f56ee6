//! A table of one figure over a run: values of an option down, schemes or values of another option
//! across.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    cell_findings::{CellFindings, RunFindings, percent},
    run::Run,
};

/// A table as an experiment's file asks for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pivot {
    /// The table's title.
    pub title: String,
    /// The run's name.
    pub run: String,
    /// The option whose values go down.
    pub rows: String,
    /// The option whose values go across; the run's schemes without it.
    #[serde(default)]
    pub columns: Option<String>,
    /// The scheme, if values of an option go across.
    #[serde(default)]
    pub scheme: String,
    /// The options, with their values, that select comparisons of the run.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    /// The field of a scheme's result that is shown.
    pub field: String,
}

/// A table with its figures.
#[derive(Debug, Serialize)]
pub struct PivotFindings {
    pub title: String,
    /// The head: the corner, then the values across.
    pub head: Vec<String>,
    /// The rows: the value down, then its figures.
    pub rows: Vec<Vec<String>>,
    /// Whether the WAF of everything shown had settled.
    pub steady: bool,
}

impl Pivot {
    /// Checks that the run has what the table asks for.
    pub fn check(&self, runs: &[Run]) -> Result<(), String> {
        let wrong = |problem: &str| Err(format!("table \"{}\" {problem}", self.title));
        let Some(run) = runs.iter().find(|run| run.name == self.run) else {
            return wrong(&format!("is of \"{}\", and no run is called so", self.run));
        };
        let mut options = self.columns.iter().chain([&self.rows]);
        if let Some(option) = options.find(|option| !run.options.contains_key(*option)) {
            return wrong(&format!("goes by {option}, which the run does not vary"));
        }
        if self.columns.is_some() == self.scheme.is_empty() {
            wrong("has either columns and a scheme, or neither")
        } else {
            Ok(())
        }
    }

    /// Makes the table from the findings.
    ///
    /// # Errors
    /// When a scheme or a field does not exist, or several comparisons fit one place.
    pub fn found(&self, runs: &[RunFindings]) -> Result<PivotFindings, String> {
        let run = runs.iter().find(|run| run.name == self.run);
        let run = run.ok_or_else(|| format!("no run is called {}", self.run))?;
        let cells: Vec<&CellFindings> = run
            .comparisons
            .iter()
            .filter(|cell| {
                self.at
                    .iter()
                    .all(|(key, value)| cell.at.get(key) == Some(value))
            })
            .collect();
        let across = match &self.columns {
            Some(option) => values(&cells, option),
            None => cells
                .first()
                .map_or_else(Vec::new, |cell| cell.schemes.clone()),
        };
        let mut steady = true;
        let mut rows = Vec::new();
        for down in values(&cells, &self.rows) {
            let mut row = vec![label(&self.rows, &down)];
            for column in &across {
                let (cell, scheme) = self.place(&cells, &down, column)?;
                let (value, index) = cell.value(scheme, &self.field)?;
                steady &= cell.result.schemes.get(index).is_some_and(|one| one.steady);
                row.push(format!("{value:.3}"));
            }
            rows.push(row);
        }
        let name = |column: &String| match &self.columns {
            Some(option) => format!("{} {}", column, option.replace('-', " ")),
            None => column.clone(),
        };
        let corner = self.rows.replace('-', " ");
        Ok(PivotFindings {
            title: self.title.clone(),
            head: std::iter::once(corner)
                .chain(across.iter().map(name))
                .collect(),
            rows,
            steady,
        })
    }

    /// The only comparison that fits a place of the table, and the scheme that is shown there.
    fn place<'a>(
        &'a self,
        cells: &[&'a CellFindings],
        down: &str,
        across: &'a str,
    ) -> Result<(&'a CellFindings, &'a str), String> {
        let is_there = |cell: &&&CellFindings| {
            let is_column = |option: &String| cell.at.get(option).is_some_and(|own| own == across);
            cell.at.get(&self.rows).is_some_and(|own| own == down)
                && self.columns.as_ref().is_none_or(is_column)
        };
        let mut fitting = cells.iter().filter(is_there);
        match (fitting.next(), fitting.next()) {
            (Some(cell), None) if self.columns.is_some() => Ok((cell, &self.scheme)),
            (Some(cell), None) => Ok((cell, across)),
            (None, _) => Err(format!(
                "table \"{}\": nothing at {down}, {across}",
                self.title
            )),
            _ => Err(format!(
                "table \"{}\": several at {down}, {across}",
                self.title
            )),
        }
    }
}

/// The values of an option, in the order in which they were run.
fn values(cells: &[&CellFindings], option: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in cells.iter().filter_map(|cell| cell.at.get(option)) {
        if !found.contains(value) {
            found.push(value.clone());
        }
    }
    found
}

/// A value as text for people: shares of the drive in percent.
fn label(option: &str, value: &str) -> String {
    match (option, value.parse::<f64>()) {
        ("fill", Ok(share)) => percent(share, 0),
        _ => value.to_owned(),
    }
}
