//! `anabranch record`: a block device watched, with no change to the data path.

use std::{
    fs::File,
    io::{Seek as _, SeekFrom},
    path::Path,
    process::{Child, Command},
};

use super::{capture::Capturing, interrupt::Interrupt};
use crate::{
    arguments::RecordArguments,
    comparison::print,
    failure::{FAILED, Failure, Outcome},
};

/// Records a device while a program runs, or until interrupted.
pub fn record(arguments: &RecordArguments) -> Outcome {
    anabranch_probe::check().map_err(Failure::work)?;
    let mut interrupt = Interrupt::watch()?;
    let mut capturing = Capturing::start(
        &arguments.device,
        &arguments.capture,
        Some(&arguments.output),
    )?;
    let device_bytes = device_bytes(&arguments.device)?;
    let mut child = start(arguments)?;
    let mut records = 0_u64;
    let mut count = |ios: &[anabranch_trace::Io]| {
        records += ios.len() as u64;
        Ok(())
    };
    let status = loop {
        capturing.poll(&mut count)?;
        if let Some(status) = child
            .as_mut()
            .map(Child::try_wait)
            .transpose()
            .map_err(Failure::work)?
            .flatten()
        {
            break Some(status);
        }
        // A child in our foreground group has had the same Ctrl-C, and is waited for.
        if interrupt.came().is_some() && child.is_none() {
            break None;
        }
    };
    capturing.drain(&mut count)?;
    let command: Vec<String> = arguments
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let capture = capturing.finish(device_bytes, "", &command)?;
    print(&format!(
        "{}: {records} requests, {} events lost\n",
        arguments.output.display(),
        capture.lost_events
    ))?;
    capture
        .limitations
        .iter()
        .try_for_each(|sentence| print(&format!("note: {sentence}\n")))?;
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
        .map_err(|error| Failure::work(anyhow::anyhow!("{}: {error}", device.display())))
}

fn start(arguments: &RecordArguments) -> Outcome<Option<Child>> {
    let Some((program, rest)) = arguments.command.split_first() else {
        return Ok(None);
    };
    let child = Command::new(program)
        .args(rest)
        .spawn()
        .map_err(|error| Failure {
            status: FAILED,
            error: Some(anyhow::anyhow!(
                "{}: cannot be started: {error}",
                program.to_string_lossy()
            )),
        })?;
    Ok(Some(child))
}
