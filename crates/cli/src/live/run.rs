//! `anabranch run`: a program on a fresh drive, every scheme fed while it runs.

use std::{collections::BTreeMap, process::ExitStatus};

use anabranch_compare::{NamedDrive, Running, Size, drives};
use anabranch_disk::{
    DiskError, Drive, DriveOptions, FileSystemKind, Namespace, Workload, status_code,
};
use anabranch_placement::SchemeSpec;
use serde_json::{Value, json};

use super::{
    capture::Capturing,
    interrupt::Interrupt,
    output::{Voice, say},
    stages::{Stage, Stages, fit, list_wanted},
    view::View,
};
use crate::{
    arguments::{ListArguments, RunArguments},
    comparison::{live_schemes, publish},
    failure::{Failure, INTERRUPTED, Outcome},
    workloads::workloads,
};

/// Runs the program and prints what every scheme made of its writes.
pub fn run(arguments: &RunArguments) -> Outcome {
    if list_wanted(arguments) {
        return workloads(&ListArguments {
            json: arguments.comparison.json,
        });
    }
    let stages = Stages::of(arguments)?;
    let arguments = &fit(arguments)?;
    let plan = Plan::check(arguments)?;
    // Before any thread starts: only what comes later lives in the namespace.
    let namespace = Namespace::enter().map_err(Failure::work)?;
    let mut live = Live::start(&plan, namespace, arguments)?;
    let voice = Voice::open(arguments.log.as_deref(), live.view.terminal())?;
    let end = live.follow_all(&stages, &voice)?;
    let unmounted = live.settle()?;
    live.view.clear();
    voice.finish();
    let bytes = plan.model.config.logical_bytes();
    let (capture, contexts) =
        live.capturing
            .finish(bytes, plan.file_system.name(), &stages.invocation)?;
    live.running.name(contexts);
    let config = BTreeMap::from([
        ("verb".to_owned(), json!("run")),
        ("capture".to_owned(), json!(capture)),
        ("exit_status".to_owned(), json!(status_code(end.status))),
        ("interrupted".to_owned(), Value::Bool(end.was_interrupted)),
    ]);
    let result = live.running.finish(config, capture.lost_events)?;
    publish(&[result], &arguments.comparison)?;
    unmounted.map_err(Failure::work)?;
    conclude(end)
}

/// What was asked for, checked before anything is made.
struct Plan {
    file_system: FileSystemKind,
    specs: Vec<SchemeSpec>,
    model: NamedDrive,
}

impl Plan {
    fn check(arguments: &RunArguments) -> Outcome<Plan> {
        let plan = Plan {
            file_system: arguments.file_system.parse().map_err(Failure::usage)?,
            specs: live_schemes(&arguments.comparison)?,
            model: one_drive(arguments)?,
        };
        anabranch_probe::check().map_err(Failure::work)?;
        Ok(plan)
    }
}

/// A drive at work: watched, and every scheme fed with what is seen.
struct Live {
    drive: Drive,
    running: Running,
    capturing: Capturing,
    interrupt: Interrupt,
    view: View,
}

/// How a program ended.
struct End {
    what: &'static str,
    status: ExitStatus,
    was_interrupted: bool,
}

impl End {
    fn is_good(&self) -> bool {
        self.status.success() && !self.was_interrupted
    }
}

impl Live {
    /// Makes the drive, and its file system under the probe's eyes.
    fn start(plan: &Plan, namespace: Namespace, arguments: &RunArguments) -> Outcome<Live> {
        let mut interrupt = Interrupt::watch()?;
        let options = DriveOptions {
            bytes: plan.model.config.logical_bytes(),
            file_system: plan.file_system,
            backing_dir: arguments.backing.clone(),
        };
        let mut drive = Drive::create(namespace, &options).map_err(drive_failure)?;
        let running = Running::start(
            &plan.specs,
            &plan.model,
            &(&arguments.comparison).into(),
            &anabranch_replay::Start::default(),
        )?;
        let device = drive.device().path();
        let capturing = Capturing::start(device, &arguments.capture, arguments.trace.as_ref())?;
        format(&mut drive, &mut interrupt)?;
        let view = View::new(plan.specs.len());
        Ok(Live {
            drive,
            running,
            capturing,
            interrupt,
            view,
        })
    }

    /// Feeds the schemes until all stages and everything they started have ended. Answers how the
    /// first ended that did not end well, else the last.
    fn follow_all(&mut self, stages: &Stages, voice: &Voice) -> Outcome<End> {
        let (mut end, mut workload) = self.follow(&stages.first, voice)?;
        for stage in &stages.others {
            if end.is_good() {
                (end, workload) = self.follow(stage, voice)?;
            }
        }
        if let Some(stage) = &stages.teardown {
            let last;
            (last, workload) = self.follow(stage, voice)?;
            if end.is_good() {
                end = last;
            }
        }
        for left in workload.end_stragglers() {
            let words = "anabranch: ended what the program left running:";
            let line = format!("{words} {} ({})", left.name, left.pid);
            say(&self.view.terminal(), &line);
        }
        Ok(end)
    }

    /// Feeds the schemes until a program has ended.
    fn follow(&mut self, stage: &Stage, voice: &Voice) -> Outcome<(End, Workload)> {
        let output = voice.output()?;
        let mut workload =
            Workload::spawn(&stage.command, &self.drive, output).map_err(Failure::usage)?;
        let mut was_interrupted = false;
        let status = loop {
            self.capturing.poll(|names, ios| {
                self.running.learn(names);
                self.running.feed(ios);
            })?;
            self.view.draw(&self.running, self.capturing.lost_events());
            if let Some(source) = self.interrupt.came() {
                was_interrupted = true;
                workload.interrupt(source);
            }
            if let Some(status) = workload.try_wait().map_err(Failure::work)? {
                break status;
            }
        };
        let end = End {
            what: stage.what,
            status,
            was_interrupted,
        };
        Ok((end, workload))
    }

    /// Brings the drive to rest and feeds the last of it: XFS discards only as it is unmounted.
    /// Answers how the unmounting went, which is no reason to keep the table back.
    fn settle(&mut self) -> Outcome<Result<(), DiskError>> {
        self.drive.sync().map_err(Failure::work)?;
        let unmounted = self.drive.unmount();
        self.capturing.drain(|names, ios| {
            self.running.learn(names);
            self.running.feed(ios);
        })?;
        Ok(unmounted)
    }
}

/// A live run has one drive: a grid is for replays.
fn one_drive(arguments: &RunArguments) -> Outcome<NamedDrive> {
    match drives(&(&arguments.drive).into(), Size::Unknown)?.as_slice() {
        [drive] => Ok(drive.clone()),
        _ => Err(Failure::say(
            "a live run has one drive: keep its trace with -t, and replay that on many",
        )),
    }
}

/// Ctrl-C reaches mkfs as well, which then fails through no fault of the drive.
fn format(drive: &mut Drive, interrupt: &mut Interrupt) -> Outcome {
    let formatted = drive.format_and_mount().map_err(Failure::work);
    match interrupt.came() {
        Some(_) => Err(Failure {
            status: INTERRUPTED,
            error: Some(anyhow::anyhow!("interrupted before the program began")),
        }),
        None => formatted,
    }
}

fn drive_failure(error: DiskError) -> Failure {
    match error {
        DiskError::TooSmall { .. } => Failure::usage(error),
        _ => Failure::work(error),
    }
}

/// The program's own status is ours.
fn conclude(end: End) -> Outcome {
    let End {
        what,
        status,
        was_interrupted,
    } = end;
    let code = if was_interrupted {
        INTERRUPTED
    } else {
        status_code(status)
    };
    match code {
        0 => Ok(()),
        _ if was_interrupted => Err(Failure {
            status: code,
            error: Some(anyhow::anyhow!(
                "interrupted; the table holds what was seen until then"
            )),
        }),
        _ => Err(Failure {
            status: code,
            error: Some(anyhow::anyhow!(
                "{what} ended with {status}; its status is passed on"
            )),
        }),
    }
}
