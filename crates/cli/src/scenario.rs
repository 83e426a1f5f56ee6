//! Scenarios: real applications with a load, each described by `workloads/NAME/workload.toml`.

#![cfg_attr(
    not(feature = "live"),
    allow(dead_code, reason = "a listing needs a part, a run all")
)]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Outcome};

/// Where tools lie that no distribution has, seen from the folder that holds `workloads`:
/// `scripts/setup.sh workloads` puts them there.
const TOOLS: &str = "target/workloads";
/// Names the folder that holds `workloads`, where neither the working directory nor the program's
/// own place leads to it.
const HOME: &str = "ANABRANCH_HOME";
/// What describes a scenario.
const DESCRIPTION: &str = "workload.toml";

/// How much a scenario does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Some tens of seconds.
    Quick,
    /// Minutes, on a drive of GiB.
    Full,
}

impl Scale {
    /// The scale of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Scale> {
        [Scale::Quick, Scale::Full]
            .into_iter()
            .find(|scale| scale.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Full => "full",
        }
    }
}

/// A parameter of the scripts: a variable of their environment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Parameter {
    Number(i64),
    Text(String),
}

impl Parameter {
    fn text(&self) -> String {
        match self {
            Parameter::Number(number) => number.to_string(),
            Parameter::Text(text) => text.clone(),
        }
    }
}

/// A program or file that a scenario needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    /// A command; an absolute path, `*` allowed; or a file among the tools.
    program: String,
    /// What brings it.
    install: String,
}

impl Tool {
    fn is_there(&self, tools: &Path) -> bool {
        let name = Path::new(&self.program);
        if name.is_absolute() {
            return is_found(name);
        }
        is_found(&tools.join(name))
            || std::env::split_paths(&search_path()).any(|folder| folder.join(name).is_file())
    }
}

/// Whether there is a file or folder of that path, in which `*` may stand.
fn is_found(pattern: &Path) -> bool {
    glob::glob(&pattern.to_string_lossy())
        .is_ok_and(|mut found| found.any(|path| path.is_ok_and(|path| path.exists())))
}

/// Where the scripts' commands are looked for: servers lie where a user's PATH does not look.
fn search_path() -> std::ffi::OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

/// What is done at one scale, and on which drive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    drive: String,
    unit: String,
    #[serde(default)]
    parameters: BTreeMap<String, Parameter>,
}

/// What a folder's `workload.toml` says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    summary: String,
    writes: String,
    /// The scenario whose scripts it runs; its own where there is none.
    scripts: Option<String>,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    parameters: BTreeMap<String, Parameter>,
    quick: Extent,
    full: Extent,
}

/// A scenario at one scale.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its folder's name.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// What it writes, in a line.
    pub writes: String,
    /// How much it does.
    pub scale: Scale,
    /// Size of the drive it fits.
    pub drive: String,
    /// Erase unit that fits the drive.
    pub unit: String,
    /// What its scripts are told.
    pub parameters: BTreeMap<String, String>,
    scripts: PathBuf,
    tools_folder: PathBuf,
    tools: Vec<Tool>,
}

impl Scenario {
    /// Reads a scenario by its name, or by the path of its folder.
    pub fn open(name: &str, scale: Scale) -> Outcome<Scenario> {
        let folder = if name.contains('/') {
            std::path::absolute(name).map_err(Failure::work)?
        } else {
            home()?.join("workloads").join(name)
        };
        if !folder.join(DESCRIPTION).exists() {
            return Err(Failure::say(format!(
                "{name}: no such workload; `anabranch workloads` lists those there are"
            )));
        }
        Scenario::read(&folder, scale)
    }

    fn read(folder: &Path, scale: Scale) -> Outcome<Scenario> {
        let path = folder.join(DESCRIPTION);
        let complain =
            |error: &dyn std::fmt::Display| Failure::say(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| complain(&error))?;
        let description: Description = toml::from_str(&text).map_err(|error| complain(&error))?;
        let extent = match scale {
            Scale::Quick => description.quick,
            Scale::Full => description.full,
        };
        let workloads = folder.parent().unwrap_or(folder);
        let parameters = description.parameters.iter().chain(&extent.parameters);
        let name = folder.file_name().unwrap_or_default();
        Ok(Scenario {
            name: name.to_string_lossy().into_owned(),
            summary: description.summary,
            writes: description.writes,
            scale,
            parameters: parameters
                .map(|(key, value)| (key.clone(), value.text()))
                .collect(),
            drive: extent.drive,
            unit: extent.unit,
            scripts: description
                .scripts
                .map_or_else(|| folder.to_owned(), |other| workloads.join(other)),
            tools_folder: workloads.parent().unwrap_or(workloads).join(TOOLS),
            tools: description.tools,
        })
    }

    /// Changes parameters, each given as KEY=VALUE.
    pub fn set(&mut self, settings: &[String]) -> Outcome {
        for setting in settings {
            let known = setting
                .split_once('=')
                .and_then(|(key, value)| Some((self.parameters.get_mut(key)?, value)));
            let Some((parameter, value)) = known else {
                let keys: Vec<&str> = self.parameters.keys().map(String::as_str).collect();
                return Err(Failure::say(format!(
                    "--set {setting}: KEY=VALUE is wanted, where {} has the keys {}",
                    self.name,
                    keys.join(", ")
                )));
            };
            value.clone_into(parameter);
        }
        Ok(())
    }

    /// Tools that are not there, each with what brings it.
    pub fn missing(&self) -> Vec<String> {
        let gone = |tool: &&Tool| !tool.is_there(&self.tools_folder);
        self.tools
            .iter()
            .filter(gone)
            .map(|tool| format!("{} (`{}`)", tool.program, tool.install))
            .collect()
    }

    /// Refuses where a tool is missing.
    pub fn check(&self) -> Outcome {
        match self.missing().as_slice() {
            [] => Ok(()),
            missing => Err(Failure::say(format!(
                "the workload {} needs what is not installed: {}",
                self.name,
                missing.join(", ")
            ))),
        }
    }

    /// The command of one of its three verbs: `setup`, `run` or `teardown`.
    pub fn command(&self, verb: &str) -> Vec<std::ffi::OsString> {
        let mut command = vec!["env".into(), variable("PATH", search_path())];
        command.push(variable("ANABRANCH_TOOLS", &self.tools_folder));
        for (key, value) in &self.parameters {
            command.push(variable(key, value));
        }
        command.push("bash".into());
        command.push(self.scripts.join(format!("{verb}.sh")).into());
        command.push("{dir}".into());
        command
    }

    /// What a trace of it says was run.
    pub fn invocation(&self) -> Vec<std::ffi::OsString> {
        let mut words = ["--workload", &self.name, "--size", self.scale.name()]
            .map(std::ffi::OsString::from)
            .to_vec();
        for (key, value) in &self.parameters {
            words.push("--set".into());
            words.push(variable(key, value));
        }
        words
    }
}

fn variable(key: &str, value: impl AsRef<std::ffi::OsStr>) -> std::ffi::OsString {
    let mut word = std::ffi::OsString::from(key);
    word.push("=");
    word.push(value);
    word
}

/// Every scenario there is, by name.
pub fn all(scale: Scale) -> Outcome<Vec<Scenario>> {
    let pattern = home()?.join("workloads/*").join(DESCRIPTION);
    let found = glob::glob(&pattern.to_string_lossy()).map_err(Failure::work)?;
    let mut folders: Vec<PathBuf> = found
        .filter_map(|path| Some(path.ok()?.parent()?.to_owned()))
        .collect();
    folders.sort();
    folders
        .iter()
        .map(|folder| Scenario::read(folder, scale))
        .collect()
}

/// The folder that holds `workloads`: as the variable says, or the working directory, or one above
/// the program itself.
fn home() -> Outcome<PathBuf> {
    if let Some(home) = std::env::var_os(HOME) {
        return Ok(home.into());
    }
    let places = [std::env::current_dir(), std::env::current_exe()];
    let mut above = places
        .iter()
        .flatten()
        .flat_map(|place| place.ancestors())
        .filter(|folder| folder.join("workloads").is_dir());
    above.next().map(Path::to_owned).ok_or_else(|| {
        Failure::say(format!(
            "no folder `workloads` here: run this in Anabranch's own folder, or name that in {HOME}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(program: &str) -> Tool {
        Tool {
            program: program.to_owned(),
            install: "make it".to_owned(),
        }
    }

    #[test]
    fn a_tool_is_found_as_a_command_a_pattern_or_among_the_tools() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine"), "").unwrap();
        for (program, is_there) in [
            ("sh", true),
            ("mine", true),
            ("/usr/b*/sh", true),
            ("no-such-program", false),
            ("/usr/no-such-*/sh", false),
        ] {
            assert_eq!(tool(program).is_there(folder.path()), is_there, "{program}");
        }
    }

    #[test]
    fn every_scenario_can_be_read_and_has_its_three_scripts() {
        for scale in [Scale::Quick, Scale::Full] {
            let scenarios = all(scale).unwrap_or_default();
            assert!(scenarios.len() > 10);
            for scenario in scenarios {
                for verb in ["setup", "run", "teardown"] {
                    let script = scenario.scripts.join(format!("{verb}.sh"));
                    assert!(script.exists(), "{}", script.display());
                }
            }
        }
    }

    #[test]
    fn parameters_are_changed_by_name_and_no_others() {
        let mut scenario = Scenario::open("sqlite-wal", Scale::Quick).ok().unwrap();
        assert!(scenario.set(&["ROWS=7".to_owned()]).is_ok());
        assert_eq!(scenario.parameters["ROWS"], "7");
        let refused = scenario.set(&["ROW=7".to_owned()]).unwrap_err();
        let words = refused.error.unwrap().to_string();
        assert!(words.contains("ROWS"), "{words}");
    }
}
