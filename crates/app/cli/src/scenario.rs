//! Scenarios: real applications with a load, each described by `lab/workloads/NAME/workload.toml`.

#![cfg_attr(
    not(feature = "live"),
    allow(dead_code, reason = "a listing needs a part, a run all")
)]

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::error::{CommandError, Result};

/// The folder of tools that no distribution has, seen from the folder that holds `lab`; `scripts/setup.sh workloads`
/// fills it.
const TOOLS: &str = "target/workloads";
/// The variable that names the folder that holds `lab/workloads`, for when neither the working
/// directory nor the program's own path leads to it.
const HOME: &str = "ANABRANCH_HOME";
/// The folder of the scenarios, with a folder for each.
const FOLDER: &str = "lab/workloads";
/// The file that describes a scenario.
const DESCRIPTION: &str = "workload.toml";

/// The scale of a scenario.
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

    /// The name of the scale.
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
    /// A command, looked for among our own tools as well; an absolute path, in which `*` may stand;
    /// or, if it holds a slash, a file among the tools, likewise.
    program: String,
    /// The command or package that installs it.
    install: String,
}

impl Tool {
    fn is_there(&self, tools: &Path) -> bool {
        let name = &self.program;
        if name.starts_with('/') {
            return is_found(name);
        }
        if name.contains('/') {
            let tools = glob::Pattern::escape(&tools.to_string_lossy());
            return is_found(&format!("{tools}/{name}"));
        }
        std::env::split_paths(&search_path(tools)).any(|folder| is_command(&folder.join(name)))
    }
}

/// Whether a file or folder matches the path, in which `*` may stand.
fn is_found(pattern: &str) -> bool {
    glob::glob(pattern)
        .is_ok_and(|mut found| found.any(|path| path.is_ok_and(|path| path.exists())))
}

fn is_command(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The directories in which the scripts' commands are looked for: our own tools first, then also
/// those of servers, which a user's PATH leaves out.
fn search_path(tools: &Path) -> OsString {
    let mut path = tools.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path.push(":/usr/sbin:/sbin");
    path
}

/// The work at one scale, and the drive for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    drive: String,
    unit: String,
    #[serde(default)]
    parameters: BTreeMap<String, Parameter>,
}

/// The content of a folder's `workload.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    summary: String,
    writes: String,
    /// The scenario whose scripts it runs; `None` if they are its own.
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
    /// The name of its folder.
    pub name: String,
    /// A description in one line.
    pub summary: String,
    /// Its writes, in one line.
    pub writes: String,
    pub scale: Scale,
    /// The size of the drive that it fits.
    pub drive: String,
    /// The erase unit that fits the drive.
    pub unit: String,
    /// The parameters that its scripts get.
    pub parameters: BTreeMap<String, String>,
    scripts: PathBuf,
    tools_folder: PathBuf,
    tools: Vec<Tool>,
}

/// Programs by another name than the one a scenario has.
const ALIASES: [(&str, &str); 3] = [
    ("mysql", "mariadb"),
    ("innodb", "mariadb"),
    ("postgresql", "postgres"),
];

/// The question whether a scenario of a similar name was meant; empty where there is none.
fn near<'a>(asked: &str, known: impl Iterator<Item = &'a str>) -> String {
    let asked = asked.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(other, _)| asked.starts_with(other));
    let asked = alias.map_or(asked.as_str(), |(_, own)| own);
    // Of a misspelt name the beginning is mostly right.
    let begin = asked.get(..4).unwrap_or(asked);
    let names: Vec<&str> = known
        .filter(|name| !begin.is_empty() && name.contains(begin))
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("did you mean {}? ", names.join(" or "))
    }
}

impl Scenario {
    /// Reads a scenario by its name, or by the path of its folder.
    pub fn open(name: &str, scale: Scale) -> Result<Scenario> {
        let folder = if name.contains('/') {
            std::path::absolute(name).map_err(CommandError::work)?
        } else {
            home()?.join(FOLDER).join(name)
        };
        if !folder.join(DESCRIPTION).exists() {
            let known = all(Scale::Quick).unwrap_or_default();
            let near = near(name, known.iter().map(|one| one.name.as_str()));
            return Err(CommandError::wrong_use(format!(
                "{name}: no such workload, for there is no {}; {near}`anabranch workloads` lists those there are",
                folder.join(DESCRIPTION).display()
            )));
        }
        Scenario::read(&folder, scale)
    }

    fn read(folder: &Path, scale: Scale) -> Result<Scenario> {
        let path = folder.join(DESCRIPTION);
        let complain = |error: &dyn std::fmt::Display| {
            CommandError::wrong_use(format!("{}: {error}", path.display()))
        };
        let text =
            anabranch_compare::small_file::settings(&path).map_err(|error| complain(&error))?;
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
            tools_folder: workloads
                .ancestors()
                .nth(Path::new(FOLDER).iter().count())
                .unwrap_or(workloads)
                .join(TOOLS),
            tools: description.tools,
        })
    }

    /// Changes parameters, each given as KEY=VALUE.
    pub fn set(&mut self, settings: &[String]) -> Result {
        for setting in settings {
            let known = setting
                .split_once('=')
                .and_then(|(key, value)| Some((self.parameters.get_mut(key)?, value)));
            let Some((parameter, value)) = known else {
                let keys: Vec<&str> = self.parameters.keys().map(String::as_str).collect();
                return Err(CommandError::wrong_use(format!(
                    "--set {setting}: KEY=VALUE is wanted, where {} has the keys {}",
                    self.name,
                    keys.join(", ")
                )));
            };
            value.clone_into(parameter);
        }
        Ok(())
    }

    /// The tools that are missing, each with what installs it.
    pub fn missing(&self) -> Vec<String> {
        let gone = |tool: &&Tool| !tool.is_there(&self.tools_folder);
        self.tools
            .iter()
            .filter(gone)
            .map(|tool| format!("{} (`{}`)", tool.program, tool.install))
            .collect()
    }

    /// Fails if a tool is missing.
    pub fn check(&self) -> Result {
        match self.missing().as_slice() {
            [] => Ok(()),
            missing => Err(CommandError::wrong_use(format!(
                "the workload {} needs what is not installed: {}",
                self.name,
                missing.join(", ")
            ))),
        }
    }

    /// The command of one of its three verbs: `setup`, `run` or `teardown`.
    pub fn command(&self, verb: &str) -> Vec<OsString> {
        let mut command = vec![
            "env".into(),
            variable("PATH", search_path(&self.tools_folder)),
        ];
        command.push(variable("ANABRANCH_TOOLS", &self.tools_folder));
        // Temporary files are the application's writes as well, and go with the drive.
        command.push(variable("TMPDIR", "{dir}"));
        for (key, value) in &self.parameters {
            command.push(variable(key, value));
        }
        command.push("bash".into());
        command.push(self.scripts.join(format!("{verb}.sh")).into());
        command.push("{dir}".into());
        command
    }

    /// The command that a trace of the scenario names.
    pub fn invocation(&self) -> Vec<OsString> {
        let mut words = ["--workload", &self.name, "--size", self.scale.name()]
            .map(OsString::from)
            .to_vec();
        for (key, value) in &self.parameters {
            words.push("--set".into());
            words.push(variable(key, value));
        }
        words
    }
}

fn variable(key: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut word = OsString::from(key);
    word.push("=");
    word.push(value);
    word
}

/// All scenarios, by name.
pub fn all(scale: Scale) -> Result<Vec<Scenario>> {
    folders(&home()?)
        .iter()
        .map(|folder| Scenario::read(folder, scale))
        .collect()
}

/// The folders of a home's scenarios, by name; empty if the folder is no home.
fn folders(home: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.join(FOLDER));
    let entries = entries.into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|folder| folder.join(DESCRIPTION).is_file())
        .collect();
    folders.sort();
    folders
}

/// The folder that holds `workloads`: the one the variable names, otherwise the working directory
/// or one above it, otherwise one above the program itself.
fn home() -> Result<PathBuf> {
    let here = std::env::current_dir().ok();
    let program = std::env::current_exe().ok();
    find_home(
        std::env::var_os(HOME).map(PathBuf::from),
        here.as_deref(),
        program.as_deref().and_then(Path::parent),
    )
}

/// The home that is named, if it is one; otherwise the first at or above these places. A home must
/// hold scenarios, so that a user's own folder `workloads` for something else does not give an
/// empty list.
fn find_home(
    named: Option<PathBuf>,
    here: Option<&Path>,
    program: Option<&Path>,
) -> Result<PathBuf> {
    let is_home = |folder: &Path| !folders(folder).is_empty();
    let wanted = format!("{FOLDER}/NAME/{DESCRIPTION}");
    if let Some(named) = named {
        return if is_home(&named) {
            Ok(named)
        } else {
            Err(CommandError::wrong_use(format!(
                "{HOME} names {}, where there is no {wanted}",
                named.display()
            )))
        };
    }
    let places = [here, program].into_iter().flatten();
    let mut above = places.clone().flat_map(Path::ancestors);
    let found = above.find(|folder| is_home(folder));
    found.map(Path::to_owned).ok_or_else(|| {
        let looked: Vec<String> = places.map(|place| place.display().to_string()).collect();
        CommandError::wrong_use(format!(
            "no {wanted} was found in or above {}: run this in Anabranch's own folder, or name that in {HOME}",
            looked.join(", nor in or above ")
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
    fn a_workload_of_another_name_is_asked_about() {
        let known = || ["mariadb-tpcc", "postgres-pgbench"].into_iter();
        assert_eq!(near("mysql", known()), "did you mean mariadb-tpcc? ");
        assert_eq!(
            near("postgress", known()),
            "did you mean postgres-pgbench? "
        );
        assert_eq!(near("x", known()), "");
    }

    #[test]
    fn a_tool_is_found_as_a_command_a_pattern_or_among_the_tools() {
        // The folder's name begins a character class of a pattern, and would not match itself as one.
        let folder = tempfile::Builder::new().prefix("[x").tempdir().unwrap();
        let file = |name: &str, mode| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        file("mine", 0o755);
        file("no-program", 0o644);
        file("lib/jar-1.jar", 0o644);
        for (program, is_there) in [
            ("sh", true),
            ("mine", true),
            ("no-program", false),
            ("lib/jar-*.jar", true),
            ("lib/war-*.jar", false),
            ("/usr/b*/sh", true),
            ("no-such-program", false),
            ("/usr/no-such-*/sh", false),
        ] {
            assert_eq!(tool(program).is_there(folder.path()), is_there, "{program}");
        }
    }

    /// A folder with these files in it, all empty.
    fn folder_with(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn a_home_holds_scenarios_and_not_any_folder_of_that_name() {
        let ours = folder_with(&[
            "lab/workloads/redis/workload.toml",
            "somebody/lab/workloads/redis/notes",
        ]);
        let below = ours.path().join("somebody");
        let found = |here: &Path, program: &Path| find_home(None, Some(here), Some(program));
        assert_eq!(found(&below, &below).ok().unwrap(), ours.path());
        let other = folder_with(&["lab/workloads/notes.txt", "bin/anabranch"]);
        // Nothing where one stands, but above the program.
        assert_eq!(found(other.path(), &below).ok().unwrap(), ours.path());
        let words = |result: Result<PathBuf>| result.unwrap_err().error.unwrap().to_string();
        let lost = words(found(other.path(), &other.path().join("bin")));
        for place in [other.path(), &other.path().join("bin")] {
            assert!(lost.contains(&place.display().to_string()), "{lost}");
        }
        assert!(lost.contains("ANABRANCH_HOME"), "{lost}");
    }

    #[test]
    fn a_home_that_is_named_is_taken_or_refused_by_name() {
        let ours = folder_with(&["lab/workloads/redis/workload.toml"]);
        let other = folder_with(&["lab/workloads/notes.txt"]);
        let named = |folder: &Path| find_home(Some(folder.to_owned()), Some(ours.path()), None);
        assert_eq!(named(ours.path()).ok().unwrap(), ours.path());
        let refused = named(other.path()).unwrap_err().error.unwrap().to_string();
        assert!(
            refused.contains(&other.path().display().to_string()),
            "{refused}"
        );
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
