//! `anabranch calibrate`: a drive learned from outside, kept as a profile.

mod drive_link;
mod summary;

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::PathBuf,
    time::Duration,
};

use anabranch_calibrate::{CalibrateError, CalibratedDrive, Findings, Settings, most_sent_bytes};
use anabranch_report::{bytes, line};
use anabranch_trace::WholeFile;
use clap::Args;
use serde_json::json;

use crate::{
    error::{CommandError, Result},
    output::is_standard_output,
    output::print,
    say,
};

pub const EXAMPLE: &str = "\
Examples: a drive of this host, as root; one over NVMe/TCP
  anabranch calibrate /dev/nvme0n1 --erase S64FNE0R123456 -o mine.toml
  anabranch calibrate 127.0.0.1:4420 --nqn nqn.2026-01.local.anabranch:fdp-8ruh
  anabranch replay app.parquet --device mine.toml
EVERYTHING ON THE DRIVE IS LOST: it is named by its serial number, which is asked for where --erase does not say it.
A drive that is mounted or used is refused; one that has partitions or holds something is, too, without --yes.";

#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// The drive: an NVMe namespace (/dev/nvme0n1 or /dev/ng0n1), or ADDRESS:PORT of an NVMe/TCP target
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// At an address: the name of the subsystem
    #[arg(long, value_name = "NQN")]
    pub nqn: Option<String>,
    /// The serial number of the drive, which is overwritten several times; all that is on it is lost
    #[arg(long, value_name = "SERIAL")]
    pub erase: Option<String>,
    /// Overwrite a drive that holds a file system, a partition table, or other data
    #[arg(long)]
    pub yes: bool,
    /// Seed of what is drawn: the places of overwrites
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Seconds of a pause without writes, after which the drive is asked whether it copied meanwhile; 0: no pause
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=3600))]
    pub idle: u64,
    /// Print what was learned as JSON
    #[arg(long)]
    pub json: bool,
    /// The profile to write
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FILE",
        default_value = "calibrated.toml"
    )]
    pub output: PathBuf,
}

impl CalibrateArguments {
    /// The drive where it is a file.
    pub fn device_file(&self) -> Option<PathBuf> {
        drive_link::address(&self.device)
            .is_none()
            .then(|| self.device.clone().into())
    }
}

/// Learns a drive and writes its profile.
pub fn calibrate(arguments: &CalibrateArguments) -> Result {
    let mut file = WholeFile::create(&arguments.output)?;
    let mut way = drive_link::open(&arguments.device, arguments.nqn.as_deref(), arguments.yes)?;
    let mut drive = CalibratedDrive::open(way.link()).map_err(failed)?;
    let title = title(&drive);
    if !arguments.yes
        && let Some(what) = drive.contents().map_err(failed)?
    {
        return Err(CommandError::wrong_use(format!(
            "{title} holds {what}: say --yes to overwrite it; nothing was written"
        )));
    }
    confirm(arguments, &drive, &title)?;
    let mut tell = |what: &'static str| say::line(what);
    let settings = Settings {
        seed: arguments.seed,
        idle: Duration::from_secs(arguments.idle),
    };
    let found = anabranch_calibrate::calibrate(&mut drive, settings, &mut tell);
    let found = found.map_err(failed)?;
    let profile = found.profile();
    let kept = match &profile {
        Ok(text) => file
            .write_all(text.as_bytes())
            .map_err(|error| error.to_string())
            .and_then(|()| file.finish().map_err(|error| error.to_string())),
        Err(_) => Ok(()),
    };
    // Whatever becomes of the profile, what was learned is told.
    publish(arguments, &found, profile.is_ok() && kept.is_ok())?;
    kept.map_err(|error| {
        CommandError::work(anyhow::anyhow!("{}: {error}", arguments.output.display()))
    })?;
    profile.map(drop).map_err(failed)
}

/// The findings beside the profile.
fn publish(arguments: &CalibrateArguments, found: &Findings, is_kept: bool) -> Result {
    if is_kept && is_standard_output(&arguments.output) {
        return Ok(());
    }
    let kept = is_kept.then_some(&arguments.output);
    if arguments.json {
        let json = json!({ "schema": 1, "seed": arguments.seed, "profile": kept, "found": found });
        print(&format!("{json:#}\n"))
    } else {
        print(&summary::render(found, kept.map(PathBuf::as_path)))
    }
}

fn title(drive: &CalibratedDrive<'_>) -> String {
    let about = drive.about();
    line(&format!(
        "{} (serial number {}, {})",
        about.model,
        about.serial,
        bytes(about.logical_bytes)
    ))
}

/// Has the drive named by its serial number by whoever gives it up.
fn confirm(arguments: &CalibrateArguments, drive: &CalibratedDrive<'_>, title: &str) -> Result {
    let serial = drive.about().serial.as_str();
    say::line(&format!(
        "{title}: at most {} will be written, and everything on it is lost",
        bytes(most_sent_bytes(drive.about()))
    ));
    let named = match &arguments.erase {
        Some(named) => named.clone(),
        None if io::stdin().is_terminal() && io::stderr().is_terminal() => ask()?,
        None => {
            return Err(CommandError::wrong_use(format!(
                "calibrating overwrites {title}: say --erase {} to have that; nothing was written",
                line(serial)
            )));
        }
    };
    if named.trim() == serial && !serial.is_empty() {
        Ok(())
    } else {
        Err(CommandError::wrong_use(format!(
            "{} is not the serial number of {title}; nothing was written",
            line(named.trim())
        )))
    }
}

/// The serial number, from whoever sits at the terminal.
fn ask() -> Result<String> {
    say::line("its serial number, to go on:");
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(CommandError::work)?;
    Ok(answer)
}

/// A drive that cannot be learned is wrong use; one that fails, failed work.
fn failed(error: CalibrateError) -> CommandError {
    match error {
        CalibrateError::Unfit(_) => CommandError::usage(error),
        CalibrateError::Refused { .. } | CalibrateError::Link { .. } => CommandError::work(error),
    }
}
