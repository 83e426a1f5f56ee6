//! The file of an experiment: what is replayed, and what was published.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    claim::{Called, Claim, Figures},
    grid::{cells, only},
    pivot::Pivot,
    run::Run,
};
use crate::error::{CommandError, Result};

/// An experiment as its file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
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
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// Lifetimes of data, grouped by what a scheme could go by.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lifetimes {
    /// The name in claims.
    pub name: String,
    pub trace: String,
    /// The grouping of pages: `context`, `role` of the thread, `hint`, `file`, `address`
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
        let wrong = |problem: String| {
            CommandError::wrong_use(format!("experiment {}: {problem}", path.display()))
        };
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
                self.claim.iter().try_for_each(|claim| {
                    claim.check()?;
                    claim.answer(&Planned(self), &self.called).map(drop)
                })
            }
        }
    }
}

/// The places of figures before anything is replayed: each claim must name one comparison and schemes that are in it.
/// Every figure is 1.
struct Planned<'a>(&'a Experiment);

impl Figures for Planned<'_> {
    fn one(
        &self,
        run: &str,
        at: &BTreeMap<String, String>,
        scheme: &str,
        _: &str,
    ) -> Result<f64, String> {
        let Some(planned) = self.0.run.iter().find(|planned| planned.name == run) else {
            return Ok(1.0);
        };
        let cell = only(cells(planned), |cell| cell, run, at)?;
        // `all` is known when the drive is.
        if cell.schemes.iter().any(|one| one == scheme || one == "all") {
            Ok(1.0)
        } else {
            Err(format!("run {run} does not compare scheme {scheme}"))
        }
    }

    fn all(&self, _: &str, _: &str, _: &str) -> Result<Vec<f64>, String> {
        Ok(vec![1.0])
    }
}
