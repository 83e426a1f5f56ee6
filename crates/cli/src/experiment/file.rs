//! The file of an experiment: what is replayed, and what was published.

use std::{collections::BTreeMap, path::Path};

use anabranch_compare::ReplayOptions;
use serde::{Deserialize, Serialize};

use super::{
    claim::{Called, Claim},
    pivot::Pivot,
};
use crate::failure::{Failure, Result};

/// An experiment as its file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// Its title.
    pub title: String,
    /// The authors of the figures, and the publication.
    pub source: String,
    /// The differences from the published set-up: sizes, flags, the program itself.
    pub setup: String,
    /// The publication's names for schemes.
    #[serde(default)]
    pub called: Called,
    /// The replays.
    #[serde(default)]
    pub run: Vec<Run>,
    /// The measurements of lifetimes.
    #[serde(default)]
    pub lifetimes: Vec<Lifetimes>,
    /// The tables, each of one figure.
    #[serde(default)]
    pub table: Vec<Pivot>,
    /// The claims.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// Replays of the same schemes: `anabranch replay` with every combination of the listed options.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct Run {
    /// The name by which claims refer to the run.
    pub name: String,
    /// The traces, one after the other.
    pub traces: Vec<String>,
    /// The scenario that makes the trace again (`--live`).
    pub workload: Option<String>,
    /// The schemes.
    pub schemes: Vec<String>,
    /// Other options of `replay`: each with the values it takes in turn.
    pub options: BTreeMap<String, Vec<String>>,
}

/// How long data lives, by what a scheme could go by.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lifetimes {
    /// What claims call it.
    pub name: String,
    /// The trace.
    pub trace: String,
    /// What pages are brought together by: `context`, `role` of the thread, `hint`, `file`, `address`
    /// (chunks of 1 MiB), `before` (how long what lay in the chunk lived the time before), or a
    /// scheme, whose streams are meant.
    pub by: Vec<String>,
    /// Streams the schemes have.
    #[serde(default = "eight")]
    pub streams: u16,
}

fn eight() -> u16 {
    8
}

impl Experiment {
    /// Reads an experiment's file.
    pub fn read(path: &Path) -> Result<Experiment> {
        let wrong =
            |problem: String| Failure::say(format!("experiment {}: {problem}", path.display()));
        let text = anabranch_compare::small_file::settings(path)
            .map_err(|error| wrong(error.to_string()))?;
        let mut experiment: Experiment =
            toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        experiment.name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        experiment.check().map_err(wrong)?;
        Ok(experiment)
    }

    /// The traces that the experiment reads, as it names them.
    pub fn into_traces(self) -> impl Iterator<Item = String> {
        let replayed = self.run.into_iter().flat_map(|run| run.traces);
        replayed.chain(self.lifetimes.into_iter().map(|asked| asked.trace))
    }

    /// Checks that names are unique, and that claims refer to what exists.
    fn check(&self) -> Result<(), String> {
        let runs = self.run.iter().map(|run| run.name.as_str());
        let lifetimes = self.lifetimes.iter().map(|one| one.name.as_str());
        let names: Vec<&str> = runs.chain(lifetimes).collect();
        if let Some(twice) = names
            .iter()
            .enumerate()
            .find(|(at, name)| names[..*at].contains(name))
        {
            return Err(format!("two runs are called \"{}\"", twice.1));
        }
        let spoken_of = self.claim.iter().flat_map(Claim::runs);
        let unknown = spoken_of.into_iter().find(|run| !names.contains(run));
        match unknown {
            Some(run) => Err(format!(
                "a claim speaks of \"{run}\", and no run is called so"
            )),
            None => {
                self.table
                    .iter()
                    .try_for_each(|table| table.check(&self.run))?;
                self.claim.iter().try_for_each(Claim::check)
            }
        }
    }
}

impl TryFrom<toml::Table> for Run {
    type Error = String;

    fn try_from(mut table: toml::Table) -> Result<Run, String> {
        let mut take = |key: &str| table.remove(key).map(|value| texts(key, value)).transpose();
        let name = take("name")?.unwrap_or_default().concat();
        let traces = take("trace")?.unwrap_or_default();
        let schemes = take("scheme")?.unwrap_or_default();
        let workload = take("workload")?.map(|words| words.concat());
        if name.is_empty() || traces.is_empty() || schemes.is_empty() {
            return Err("a run has a name, a trace and a scheme".to_owned());
        }
        let options = table.into_iter().map(|(key, value)| {
            is_option(&key)?;
            let values = texts(&key, value)?;
            Ok((key, values))
        });
        Ok(Run {
            name,
            traces,
            workload,
            schemes,
            options: options.collect::<Result<_, String>>()?,
        })
    }
}

/// Checks that `replay` has such an option, and that an experiment may use it.
fn is_option(key: &str) -> Result<(), String> {
    const NOT_HERE: [&str; 3] = ["threads", "profile", "scheme"];
    match ReplayOptions::has(key) && !NOT_HERE.contains(&key) {
        true => Ok(()),
        false => Err(format!(
            "a run has no key \"{key}\", nor has replay such an option"
        )),
    }
}

/// A value, or a list of values, as words of the command line.
fn texts(key: &str, value: toml::Value) -> Result<Vec<String>, String> {
    match value {
        toml::Value::Array(values) => values.into_iter().map(|value| text(key, value)).collect(),
        value => Ok(vec![text(key, value)?]),
    }
}

fn text(key: &str, value: toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(set) => Ok(set.to_string()),
        other => Err(format!(
            "{key} is a {}, not a value or a list of them",
            other.type_str()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<Run, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_is_options_of_replay_and_nothing_else() {
        let run_of = run(
            "name = \"a\"\ntrace = \"t\"\nscheme = [\"baseline\"]\nunit = [\"1MiB\", \"2MiB\"]\nfill = 0.9\nno-discards = true",
        );
        let options = run_of.unwrap().options;
        assert_eq!(options["unit"], ["1MiB", "2MiB"]);
        assert_eq!(options["no-discards"], ["true"]);
        let wrong = run("name = \"a\"\ntrace = \"t\"\nscheme = \"baseline\"\nunits = 1");
        assert!(wrong.unwrap_err().contains("no key \"units\""));
        assert!(run("name = \"a\"\nscheme = \"baseline\"").is_err());
    }
}
