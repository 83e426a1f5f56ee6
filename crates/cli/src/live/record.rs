//! `anabranch record`: a block device watched, with no change to the data path.

use std::{
    ffi::OsString,
    fs::File,
    io::{Seek as _, SeekFrom},
    path::Path,
    process::{Child, Command},
};

use anabranch_disk::InterruptSource;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{capture::Capturing, interrupt::Interrupt};
use crate::{
    arguments::RecordArguments,
    comparison::print,
    failure::{Failure, Outcome},
    files::is_standard_output,
};

/// Records a device while a program runs, or until interrupted.
pub fn record(arguments: &RecordArguments) -> Outcome {
    anabranch_probe::check().map_err(Failure::work)?;
    let mut interrupt = Interrupt::watch()?;
    let device_bytes = device_bytes(&arguments.device)?;
    let mut capturing = Capturing::start(
        &arguments.device,
        &arguments.capture,
        Some(&arguments.output),
    )?;
    let mut program = Program::start(&arguments.command)?;
    let mut records = 0_u64;
    let mut count = |_, ios: &[anabranch_trace::Io]| records += ios.len() as u64;
    let status = loop {
        capturing.poll(&mut count)?;
        match (&mut program, interrupt.came()) {
            (None, Some(_)) => break None,
            (Some(program), Some(source)) => program.interrupt(source)?,
            (_, None) => {}
        }
        if let Some(program) = &mut program
            && let Some(status) = program.child.try_wait().map_err(Failure::work)?
        {
            break Some(status);
        }
    };
    capturing.drain(&mut count)?;
    let recorded = capturing.finish(device_bytes, "", &arguments.command);
    let capture = recorded.tables.capture.clone();
    let older = recorded.keep(&arguments.output)?;
    let older = older.map_or_else(String::new, |older| {
        format!(" (the older one is now {})", older.display())
    });
    // The trace itself may be on standard output.
    let told = |line: &str| match is_standard_output(&arguments.output) {
        true => Ok(()),
        false => print(line),
    };
    told(&format!(
        "{}{older}: {records} requests, {} events lost\n",
        arguments.output.display(),
        capture.lost_events
    ))?;
    capture
        .limitations
        .iter()
        .try_for_each(|sentence| told(&format!("note: {sentence}\n")))?;
    match status.map(anabranch_disk::status_code) {
        None | Some(0) => Ok(()),
        Some(status) => Err(Failure {
            status,
            error: None,
        }),
    }
}

/// The size of a block device: where its end is.
fn device_bytes(device: &Path) -> Outcome<u64> {
    File::open(device)
        .and_then(|mut file| file.seek(SeekFrom::End(0)))
        .map_err(|error| {
            Failure::say(format!(
                "{}: {error}; `lsblk` lists the block devices there are",
                device.display()
            ))
        })
}

/// The program that runs while the device is recorded.
struct Program {
    child: Child,
    was_interrupted: bool,
}

impl Program {
    fn start(command: &[OsString]) -> Outcome<Option<Program>> {
        let Some((name, arguments)) = command.split_first() else {
            return Ok(None);
        };
        let child = Command::new(name).args(arguments).spawn();
        let child = child.map_err(|error| {
            Failure::say(format!(
                "{}: cannot be started ({error}): is it installed, and on the PATH that sudo leaves?",
                name.to_string_lossy()
            ))
        })?;
        Ok(Some(Program {
            child,
            was_interrupted: false,
        }))
    }

    /// The first interruption asks it to end, unless the terminal has done so; the second kills it.
    /// It is waited for either way.
    fn interrupt(&mut self, source: InterruptSource) -> Outcome {
        if self.was_interrupted {
            self.child.kill().map_err(Failure::work)?;
        } else if let (InterruptSource::Process, Ok(pid)) = (source, i32::try_from(self.child.id()))
        {
            // It may have ended since: nothing to do then.
            let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
        }
        self.was_interrupted = true;
        Ok(())
    }
}
