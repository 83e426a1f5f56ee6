//! The comparisons of a run: every combination of what its options may be.

use std::path::Path;

use clap::Parser;
use serde::Serialize;

use super::file::Run;
use crate::{
    arguments::{Arguments, ReplayArguments, Verb},
    failure::{Failure, Outcome},
};

/// One comparison.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its options, the trace among them.
    pub labels: Vec<(String, String)>,
    /// `anabranch` and what follows, as a person would call it.
    pub words: Vec<String>,
}

/// Every comparison of a run. Of flags, `true` is given and `false` is not.
pub fn cells(run: &Run) -> Vec<Cell> {
    let mut grid = vec![Vec::new()];
    multiply(&mut grid, "trace", &run.traces);
    for (option, values) in &run.options {
        multiply(&mut grid, option, values);
    }
    grid.into_iter()
        .map(|labels| Cell {
            words: words(&labels, &run.schemes),
            labels,
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

/// `anabranch` and what follows, for some of a run's schemes.
fn words(labels: &[(String, String)], schemes: &[String]) -> Vec<String> {
    let mut words = vec!["anabranch".to_owned(), "replay".to_owned()];
    for (key, value) in labels {
        match (key.as_str(), value.as_str()) {
            ("trace", trace) => words.push(trace.to_owned()),
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

impl Cell {
    /// The options, read as the command would, with traces found from `root`.
    pub fn arguments(&self, root: &Path) -> Outcome<ReplayArguments> {
        let read = Arguments::try_parse_from(&self.words).map_err(|error| {
            let told = error.to_string();
            Failure::say(format!("{}: {}", self.command(), told.trim()))
        })?;
        let Verb::Replay(mut arguments) = read.verb else {
            return Err(Failure::say("an experiment replays"));
        };
        for trace in &mut arguments.traces {
            if !is_synthetic(trace) {
                *trace = root.join(&*trace);
            }
        }
        Ok(arguments)
    }

    /// The command that makes this comparison.
    pub fn command(&self) -> String {
        command(&self.words)
    }

    /// The command that makes it with some of its schemes.
    pub fn again(&self, schemes: Vec<String>) -> Again {
        Again {
            labels: self.labels.clone(),
            schemes,
        }
    }
}

/// A comparison to be made again, with as many schemes as are looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Again {
    labels: Vec<(String, String)>,
    schemes: Vec<String>,
}

impl Again {
    /// Takes another's schemes as well, if that is the same comparison.
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

/// Words as a shell takes them.
fn command(words: &[String]) -> String {
    let quoted = |word: &String| match word.contains(['*', ' ', '(', ';', '&', '$']) {
        true => format!("'{word}'"),
        false => word.clone(),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn is_synthetic(trace: &Path) -> bool {
    trace
        .to_str()
        .is_some_and(|trace| trace.starts_with("synthetic:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_a_command_of_its_own() {
        let run: Run = toml::from_str(
            "name = \"a\"\ntrace = \"synthetic:cassandra\"\nscheme = [\"baseline\", \"pcstream*\"]\n\
             unit = [\"1MiB\", \"2MiB\"]\nno-discards = [false, true]",
        )
        .unwrap();
        let cells = cells(&run);
        let commands: Vec<String> = cells.iter().map(Cell::command).collect();
        assert_eq!(commands.len(), 4);
        assert_eq!(
            commands[3],
            "anabranch replay synthetic:cassandra --no-discards --unit 2MiB --scheme baseline \
             --scheme 'pcstream*'"
        );
        assert!(
            cells[3]
                .arguments(Path::new("x"))
                .unwrap()
                .options
                .no_discards
        );
    }
}
