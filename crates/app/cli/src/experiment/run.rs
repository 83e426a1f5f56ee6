//! A run of an experiment: the replays of the same schemes.

use std::{collections::BTreeMap, path::Path, process};

use anabranch_compare::ReplayOptions;
use serde::Deserialize;

use crate::error::{CommandError, Result};

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
    pub schemes: Vec<String>,
    /// Other options of `replay`: each with the values it takes in turn.
    pub options: BTreeMap<String, Vec<String>>,
}

impl Run {
    /// The run on a trace that its program makes now.
    pub fn again(&self, root: &Path) -> Result<Run> {
        let Some(workload) = &self.workload else {
            return Ok(self.clone());
        };
        let directory = root.join("out").join("experiments");
        let trace = directory.join(format!("{}.parquet", self.name));
        let program = std::env::current_exe().map_err(CommandError::work)?;
        let status = std::fs::create_dir_all(&directory).and_then(|()| {
            process::Command::new(program)
                .args([
                    "run",
                    "--scheme",
                    "baseline",
                    "--workload",
                    workload,
                    "--trace",
                ])
                .arg(&trace)
                .stdout(process::Stdio::null())
                .status()
        });
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => {
                return Err(CommandError::work(anyhow::anyhow!(
                    "workload {workload} of run {} ended with {status}",
                    self.name
                )));
            }
            Err(error) => return Err(CommandError::work(error)),
        }
        let trace = trace.strip_prefix(root).unwrap_or(&trace);
        Ok(Run {
            traces: vec![trace.display().to_string()],
            ..self.clone()
        })
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
    if ReplayOptions::has(key) && !NOT_HERE.contains(&key) {
        Ok(())
    } else {
        Err(format!(
            "a run has no key \"{key}\", nor has replay such an option"
        ))
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
