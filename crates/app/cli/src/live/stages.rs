//! The stages of a run: one program, or a scenario's three verbs one after the other.

use std::ffi::OsString;

use anabranch_compare::{DEFAULT_PROFILE, bytes};

use crate::{
    arguments::RunArguments,
    failure::Result,
    scenario::{Scale, Scenario},
};

/// Bytes that XFS takes for its log on drives of the scenarios' size, and some for its own
/// reserves (mkfs.xfs: a log of at least 64 MiB where the file system has 300 MiB or more). A
/// scenario's drive is sized for ext4.
const XFS_TAKES_MIB: u64 = 96;

/// One command of a run.
pub struct Stage {
    /// The name of the stage.
    pub what: &'static str,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Whether it starts in the drive's directory, and not in the one this process was started in.
    pub starts_on_drive: bool,
}

/// The commands of a run.
pub struct Stages {
    /// The stage that runs first.
    pub first: Stage,
    /// The stages that run after it, one by one, as long as each ends well.
    pub others: Vec<Stage>,
    /// The stage that runs last, however the others ended.
    pub teardown: Option<Stage>,
    /// The command that the trace names.
    pub invocation: Vec<OsString>,
}

impl Stages {
    /// The stages that the options ask for.
    pub fn of(arguments: &RunArguments) -> Result<Stages> {
        let Some(scenario) = scenario(arguments)? else {
            return Ok(Stages {
                first: Stage {
                    what: "the program",
                    command: arguments.command.clone(),
                    starts_on_drive: arguments.chdir,
                },
                others: Vec::new(),
                teardown: None,
                invocation: arguments.command.clone(),
            });
        };
        scenario.check()?;
        let stage = |what, verb| Stage {
            what,
            command: scenario.command(verb),
            starts_on_drive: true,
        };
        Ok(Stages {
            first: stage("the workload's setup.sh", "setup"),
            others: vec![stage("the workload's run.sh", "run")],
            teardown: Some(stage("the workload's teardown.sh", "teardown")),
            invocation: scenario.invocation(),
        })
    }

    /// Whether the arguments of the first program show that it knows where the drive is.
    pub fn knows_the_drive(&self) -> bool {
        let names_it = |word: &OsString| {
            let word = word.to_string_lossy();
            word.contains("{dir}") || word.contains("ANABRANCH_DIR")
        };
        self.first.starts_on_drive || self.first.command.iter().any(names_it)
    }
}

/// Whether the options ask for the names of the scenarios.
pub fn list_wanted(arguments: &RunArguments) -> bool {
    arguments.workload.as_deref() == Some("list")
}

/// The options, with the scenario's drive if none is given.
pub fn fit(arguments: &RunArguments) -> Result<RunArguments> {
    let mut arguments = arguments.clone();
    let Some(scenario) = scenario(&arguments)? else {
        return Ok(arguments);
    };
    let drive = &mut arguments.drive;
    if drive.size.as_deref().is_none_or(is_scale) {
        let extra_mib = if arguments.file_system == "xfs" {
            XFS_TAKES_MIB
        } else {
            0
        };
        let bytes = bytes(&scenario.drive)? + (extra_mib << 20);
        drive.size = Some(bytes.to_string());
    }
    let is_default = drive.profiles.is_empty() || drive.profiles == [DEFAULT_PROFILE];
    if drive.unit.is_empty() && is_default {
        drive.unit = vec![scenario.unit];
    }
    Ok(arguments)
}

fn is_scale(text: &str) -> bool {
    Scale::from_name(text).is_some()
}

/// The scenario that the options name, with its settings, if there is one.
fn scenario(arguments: &RunArguments) -> Result<Option<Scenario>> {
    let Some(name) = &arguments.workload else {
        return Ok(None);
    };
    let scale = arguments.drive.size.as_deref().and_then(Scale::from_name);
    let mut scenario = Scenario::open(name, scale.unwrap_or(Scale::Quick))?;
    scenario.set(&arguments.set)?;
    Ok(Some(scenario))
}
