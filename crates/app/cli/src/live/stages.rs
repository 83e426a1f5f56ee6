//! The stages of a run: one program, or a scenario's three verbs one after the other.

use std::ffi::OsString;

use anabranch_compare::{DEFAULT_PROFILE, DriveOptions, TraceOrigin, bytes, one_drive};

use crate::{
    arguments::RunArguments,
    error::Result,
    scenario::{Scale, Scenario},
};

/// Bytes that XFS takes for its log on drives of the scenarios' size, and some for its own
/// reserves (mkfs.xfs: a log of at least 64 MiB where the file system has 300 MiB or more). A
/// scenario's drive is sized for ext4.
const XFS_TAKES_MIB: u64 = 96;

/// One command of a run.
pub struct WorkloadStep {
    /// The name of the stage.
    pub what: &'static str,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Whether it starts in the drive's directory, and not in the one this process was started in.
    pub starts_on_drive: bool,
}

/// The commands of a run.
pub struct WorkloadSteps {
    /// The stage that runs first.
    pub first: WorkloadStep,
    /// The stages that run after it, one by one, as long as each ends well.
    pub others: Vec<WorkloadStep>,
    /// The stage that runs last, however the others ended.
    pub teardown: Option<WorkloadStep>,
    /// The command that the trace names.
    pub invocation: Vec<OsString>,
}

impl WorkloadSteps {
    /// The stages that the options ask for.
    pub fn of(arguments: &RunArguments) -> Result<WorkloadSteps> {
        let Some(scenario) = scenario(arguments)? else {
            return Ok(WorkloadSteps {
                first: WorkloadStep {
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
        let stage = |what, verb| WorkloadStep {
            what,
            command: scenario.command(verb),
            starts_on_drive: true,
        };
        Ok(WorkloadSteps {
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
        scale_units(&mut arguments.drive);
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

/// The fewest erase units of a drive whose unit nobody asked for (our choice: as many as `demo` has, and as
/// `replay --fill` gives a drive).
const LEAST_UNITS: u32 = 56;
/// The smallest erase unit that is tried (our choice, as of `replay --fill`).
const LEAST_UNIT_BYTES: u64 = 64 << 10;

/// Makes the erase units of a small drive smaller, if only its size is given.
fn scale_units(drive: &mut DriveOptions) {
    if drive.size.is_none() || !drive.unit.is_empty() || !drive.profiles.is_empty() {
        return;
    }
    let config = |drive: &DriveOptions| {
        one_drive(drive, &TraceOrigin::default(), "one").map(|drive| drive.0.config)
    };
    // What is wrong with the options is reported where they are checked.
    let Ok(profile) = config(&DriveOptions::default()) else {
        return;
    };
    let halves = std::iter::successors(Some(profile.unit_bytes()), |bytes| Some(bytes / 2));
    let halves = halves.take_while(|bytes| *bytes >= LEAST_UNIT_BYTES);
    let mut scaled = halves.enumerate().map(|(halved, bytes)| DriveOptions {
        unit: if halved == 0 {
            Vec::new()
        } else {
            vec![bytes.to_string()]
        },
        ..drive.clone()
    });
    let is_enough =
        |drive: &DriveOptions| config(drive).is_ok_and(|drive| drive.physical_units >= LEAST_UNITS);
    if let Some(scaled) = scaled.find(is_enough) {
        *drive = scaled;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(drive: DriveOptions) -> Vec<String> {
        let mut drive = drive;
        scale_units(&mut drive);
        drive.unit
    }

    #[test]
    fn a_small_drive_has_as_many_units_as_the_profile() {
        let sized = |size: &str| DriveOptions {
            size: Some(size.to_owned()),
            ..DriveOptions::default()
        };
        assert_eq!(unit(sized("64MiB")), ["786432"]);
        assert!(unit(sized("8GiB")).is_empty());
        assert!(unit(DriveOptions::default()).is_empty());
        let own = DriveOptions {
            unit: vec!["4MiB".to_owned()],
            ..sized("64MiB")
        };
        assert_eq!(unit(own), ["4MiB"]);
    }
}
