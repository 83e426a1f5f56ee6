//! `anabranch run`: a program on a fresh drive, every scheme fed while it runs.

use std::{collections::BTreeMap, process::ExitStatus};

use anabranch_disk::{Drive, DriveOptions, FileSystemKind, Namespace, Workload, status_code};
use anabranch_trace::WholeFile;
use serde_json::{Value, json};

use super::{
    capture::Capturing,
    interrupt::Interrupt,
    output::{output, say},
    view::View,
};
use crate::{
    arguments::RunArguments,
    comparison::{Running, publish, schemes},
    drives::{NamedDrive, Size, drives},
    failure::{Failure, Outcome},
};

/// Exit status after an interruption, as shells have it: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// Runs the program and prints what every scheme made of its writes.
pub fn run(arguments: &RunArguments) -> Outcome {
    let file_system: FileSystemKind = arguments.file_system.parse().map_err(Failure::usage)?;
    let specs = schemes(&arguments.comparison)?;
    let model = one_drive(arguments)?;
    // A result that cannot be written is better known before the program runs than after.
    let result_file = arguments.comparison.output.as_ref();
    result_file.map(WholeFile::create).transpose()?;
    anabranch_probe::check().map_err(Failure::work)?;
    // Before any thread starts: only what comes later lives in the namespace.
    let namespace = Namespace::enter().map_err(Failure::work)?;
    let mut interrupt = Interrupt::watch()?;
    let options = DriveOptions {
        bytes: model.config.logical_bytes(),
        file_system,
        backing_dir: arguments.backing.clone(),
    };
    let mut drive = Drive::create(namespace, &options).map_err(drive_failure)?;
    let mut running = Running::start(&specs, &model, arguments.comparison.threads)?;
    let mut capturing = Capturing::start(
        drive.device().path(),
        &arguments.capture,
        arguments.trace.as_ref(),
    )?;
    format(&mut drive, &mut interrupt)?;
    let mut view = View::new(specs.len());
    let (output, passing) = output(arguments.log.as_deref(), view.terminal())?;
    let mut workload =
        Workload::spawn(&arguments.command, &drive, output).map_err(Failure::usage)?;
    let mut was_interrupted = false;
    let status = loop {
        capturing.poll(|ios| running.feed(ios))?;
        view.draw(&running, capturing.lost_events());
        if let Some(source) = interrupt.came() {
            was_interrupted = true;
            workload.interrupt(source);
        }
        if let Some(status) = workload.try_wait().map_err(Failure::work)? {
            break status;
        }
    };
    for left in workload.end_stragglers() {
        let words = "anabranch: ended what the program left running:";
        say(
            &view.terminal(),
            &format!("{words} {} ({})", left.name, left.pid),
        );
    }
    drive.sync().map_err(Failure::work)?;
    capturing.drain(|ios| running.feed(ios))?;
    view.clear();
    if let Some(passing) = passing {
        let _ = passing.join();
    }
    let command: Vec<String> = arguments
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let capture = capturing.finish(model.config.logical_bytes(), file_system.name(), &command)?;
    drive.unmount().map_err(Failure::work)?;
    let config = BTreeMap::from([
        ("verb".to_owned(), json!("run")),
        ("drive".to_owned(), json!(model.config)),
        ("capture".to_owned(), json!(capture)),
        ("exit_status".to_owned(), json!(status_code(status))),
        ("interrupted".to_owned(), Value::Bool(was_interrupted)),
    ]);
    let result = running.finish(config, arguments.comparison.seed, capture.lost_events)?;
    publish(&[result], &arguments.comparison)?;
    conclude(status, was_interrupted)
}

/// A live run has one drive: a grid is for replays.
fn one_drive(arguments: &RunArguments) -> Outcome<NamedDrive> {
    match drives(&arguments.drive, Size::Unknown)?.as_slice() {
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

fn drive_failure(error: anabranch_disk::DiskError) -> Failure {
    match error {
        anabranch_disk::DiskError::TooSmall { .. } => Failure::usage(error),
        _ => Failure::work(error),
    }
}

/// The program's own status is ours.
fn conclude(status: ExitStatus, was_interrupted: bool) -> Outcome {
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
                "the program ended with {status}; its status is passed on"
            )),
        }),
    }
}
