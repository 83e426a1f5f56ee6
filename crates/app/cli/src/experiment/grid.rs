//! The grid of a run: a comparison for every combination of its options' values.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anabranch_compare::ReplayOptions;
use serde::Serialize;
use serde_json::Value;

use super::run::Run;
use crate::error::{self, CommandError};

/// The key of a comparison's trace among its options.
const TRACE: &str = "trace";

/// A comparison of a run.
#[derive(Debug, Clone)]
pub struct ExperimentCell {
    /// The comparison's options, with its trace among them.
    pub labels: Vec<(String, String)>,
    /// The schemes it compares.
    pub schemes: Vec<String>,
}

/// The only one of a run's comparisons that has these options.
///
/// # Errors
/// When none has them, or several have.
pub fn only<T>(
    cells: impl IntoIterator<Item = T>,
    cell: impl Fn(&T) -> &ExperimentCell,
    run: &str,
    at: &BTreeMap<String, String>,
) -> Result<T, String> {
    let mut fitting = cells.into_iter().filter(|one| cell(one).is_at(at));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(format!("run {run} has no comparison at {at:?}")),
        (Some(_), Some(_)) => Err(format!("run {run} has several comparisons at {at:?}")),
    }
}

/// All comparisons of a run. A flag with the value `true` is given, one with `false` is not.
pub fn cells(run: &Run) -> Vec<ExperimentCell> {
    let mut grid = vec![Vec::new()];
    multiply(&mut grid, TRACE, &run.traces);
    for (option, values) in &run.options {
        multiply(&mut grid, option, values);
    }
    let schemes = &run.schemes;
    grid.into_iter()
        .map(|labels| ExperimentCell {
            labels,
            schemes: schemes.clone(),
        })
        .collect()
}

fn multiply(grid: &mut Vec<Vec<(String, String)>>, key: &str, values: &[String]) {
    let with = |labels: &Vec<(String, String)>, value: &String| {
        let mut labels = labels.clone();
        labels.push((key.to_owned(), value.clone()));
        labels
    };
    *grid = grid
        .iter()
        .flat_map(|labels| values.iter().map(move |value| with(labels, value)))
        .collect();
}

/// The words of the `anabranch` command, with some of a run's schemes.
fn words(labels: &[(String, String)], schemes: &[String]) -> Vec<String> {
    let mut words = vec!["anabranch".to_owned(), "replay".to_owned()];
    for (key, value) in labels {
        match (key.as_str(), value.as_str()) {
            (TRACE, trace) => words.push(trace.to_owned()),
            (_, "false") => {}
            (flag, "true") => words.push(format!("--{flag}")),
            (option, value) => words.extend([format!("--{option}"), value.to_owned()]),
        }
    }
    for scheme in schemes {
        words.extend(["--scheme".to_owned(), scheme.clone()]);
    }
    words
}

impl ExperimentCell {
    /// Whether it has all these options.
    fn is_at(&self, at: &BTreeMap<String, String>) -> bool {
        let has = |key: &String, value: &String| {
            self.labels
                .iter()
                .any(|(own, is)| own == key && is == value)
        };
        at.iter().all(|(key, value)| has(key, value))
    }

    pub fn options(&self) -> error::Result<ReplayOptions> {
        let labels = self.labels.iter().filter(|(key, _)| key != TRACE);
        let options = labels.map(|(key, text)| (key.clone(), value(text)));
        let schemes = Value::from(self.schemes.clone());
        let all = options.chain([("scheme".to_owned(), schemes)]);
        ReplayOptions::named(all)
            .map_err(|error| CommandError::wrong_use(format!("{}: {error}", self.command())))
    }

    /// The path of the trace, found from `root`.
    pub fn trace(&self, root: &Path) -> PathBuf {
        let trace = self.labels.iter().find(|(key, _)| key == TRACE);
        located(trace.map_or("", |(_, trace)| trace), root)
    }

    /// The command that repeats this comparison.
    pub fn command(&self) -> String {
        command(&words(&self.labels, &self.schemes))
    }

    /// The command that repeats it with some of its schemes.
    pub fn again(&self, schemes: Vec<String>) -> Again {
        Again {
            labels: self.labels.clone(),
            schemes,
        }
    }
}

/// A comparison to be repeated, with the schemes that were looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Again {
    labels: Vec<(String, String)>,
    schemes: Vec<String>,
}

impl Again {
    /// Adds another's schemes if it is the same comparison. Answers whether it is.
    pub fn join(&mut self, other: &Again) -> bool {
        let same = self.labels == other.labels;
        if same {
            for scheme in &other.schemes {
                if !self.schemes.contains(scheme) {
                    self.schemes.push(scheme.clone());
                }
            }
        }
        same
    }
}

impl From<Again> for String {
    fn from(again: Again) -> String {
        command(&words(&again.labels, &again.schemes))
    }
}

/// The words as a shell command, quoted where needed.
fn command(words: &[String]) -> String {
    let quoted = |word: &String| {
        if word.contains(['*', ' ', '(', ';', '&', '$']) {
            format!("'{word}'")
        } else {
            word.clone()
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A trace that an experiment names: a load by rule, or a file found from `root`.
pub fn located(trace: &str, root: &Path) -> PathBuf {
    if trace.starts_with("synthetic:") {
        PathBuf::from(trace)
    } else {
        root.join(trace)
    }
}

/// A value of an experiment's file in the form of options: a number, a flag, or words.
fn value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_a_command_of_its_own() {
        let run: Run = toml::from_str(
            "name = \"a\"\ntrace = \"synthetic:cassandra\"\nscheme = [\"baseline\", \"pcstream*\"]\n\
             unit = [\"1MiB\", \"2MiB\"]\nno-discards = [false, true]\ntime = \"open\"\ntime-scale = 0.5",
        )
        .unwrap();
        let cells = cells(&run);
        let commands: Vec<String> = cells.iter().map(ExperimentCell::command).collect();
        assert_eq!(commands.len(), 4);
        assert_eq!(
            commands[3],
            "anabranch replay synthetic:cassandra --no-discards --time open --time-scale 0.5 --unit \
             2MiB --scheme baseline --scheme 'pcstream*'"
        );
        let options = cells[3].options().unwrap();
        assert!(options.no_discards);
        assert_eq!(options.time.time_scale, Some(0.5));
        assert_eq!(options.drive.unit, ["2MiB"]);
        assert_eq!(options.comparison.schemes, ["baseline", "pcstream*"]);
        assert!(!cells[0].options().unwrap().no_discards);
    }
}
