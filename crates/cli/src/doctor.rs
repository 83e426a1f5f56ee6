//! `anabranch doctor`: what reaches a drive on this host.

use std::path::PathBuf;

use anabranch_doctor::{
    Conduit, Device, Found, Proof, Reach, Verdict, device, host, prove, verdicts,
};
use anabranch_report::{line, message};
use clap::Args;
use serde_json::json;

use crate::{
    failure::{Failure, Result},
    output::give,
};

pub const EXAMPLE: &str = "\
Examples, as root:
  anabranch doctor
  anabranch doctor /dev/nvme0n1
  anabranch doctor /dev/nvme0n1 --prove
Without --prove it changes nothing: it only asks. Exit status: 0 if `anabranch steer` would carry each write (without
DEVICE: if the kernel has what it needs), 3 if not, 2 for wrong use.";

/// Exit status when no conduit carries each write to its stream.
const NOTHING_CARRIES: u8 = 3;

#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// The drive: a block device, or an NVMe namespace's character device
    pub device: Option<PathBuf>,
    /// Write 64 KiB through each conduit, and ask the drive where they arrived. What is written is what
    /// was there; refused where the drive is used or, without --yes, holds something
    #[arg(long, requires = "device")]
    pub prove: bool,
    /// Prove on a drive that holds something: nobody else may use it meanwhile
    #[arg(long, requires = "prove")]
    pub yes: bool,
    /// Write what was found and the verdicts to FILE, as JSON
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print what was found and the verdicts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints how far each conduit to a drive works, with the remedy where one does not.
pub fn doctor(arguments: &DoctorArguments) -> Result {
    let asked = arguments.device.as_deref();
    let device = asked.map(|path| device("/".as_ref(), path)).transpose();
    let device = device.map_err(Failure::wrong_use)?;
    let found = Found { device, ..host() };
    let verdicts = verdicts(&found);
    let proofs = match arguments.prove {
        true => prove(&found, arguments.yes).map_err(Failure::wrong_use)?,
        false => Vec::new(),
    };
    let json = json!({ "schema": 1, "found": found, "verdicts": verdicts, "proofs": proofs });
    give(&json, arguments.output.as_deref(), arguments.json, || {
        text(&found, &verdicts, &proofs)
    })?;
    match carries(&verdicts, &proofs) {
        true => Ok(()),
        false => Err(Failure {
            status: NOTHING_CARRIES,
            error: None,
        }),
    }
}

/// Whether some conduit carries each write to where a scheme sends it; a proof to the contrary counts.
fn carries(verdicts: &[Verdict], proofs: &[Proof]) -> bool {
    let is_there = |conduit| {
        verdicts
            .iter()
            .any(|verdict| verdict.conduit == conduit && verdict.reach != Reach::No)
    };
    let refuted = |proof: &Proof| proof.conduit == Conduit::Ublk && !proof.holds;
    is_there(Conduit::Ublk) && is_there(Conduit::Tracing) && !proofs.iter().any(refuted)
}

/// The text for people: a paragraph for each conduit.
fn text(found: &Found, verdicts: &[Verdict], proofs: &[Proof]) -> String {
    let mut text = format!("Linux {}\n", found.kernel);
    if let Some(device) = &found.device {
        let used = device.name.clone() + &surroundings(device);
        text += &(line(&used) + "\n");
    }
    for verdict in verdicts {
        let reach = match verdict.reach {
            Reach::Yes => "yes",
            Reach::Partly => "partly",
            Reach::No => "no",
        };
        text += &format!("\n{:<14} {reach}\n", verdict.conduit.name());
        text += &format!("  {}\n", message(&verdict.words));
        if let Some(remedy) = &verdict.remedy {
            text += &format!("  remedy: {}\n", line(remedy));
        }
        for proof in proofs
            .iter()
            .filter(|proof| proof.conduit == verdict.conduit)
        {
            let holds = if proof.holds { "proved" } else { "NOT proved" };
            text += &format!("  {holds}: {}\n", proof.words);
        }
    }
    text
}

/// A note on the mounts and users of the device.
fn surroundings(device: &Device) -> String {
    let mounts = device.mounts.iter();
    let mounts = mounts.map(|mount| format!("{} on {}", mount.file_system, mount.place));
    let all: Vec<String> = [
        ("mounted", mounts.collect()),
        ("holds", device.holders.clone()),
        ("open in", device.users.clone()),
    ]
    .into_iter()
    .filter(|(_, names): &(_, Vec<String>)| !names.is_empty())
    .map(|(word, names)| format!("{word} {}", names.join(", ")))
    .collect();
    match all.is_empty() {
        true => ": nobody uses it".to_owned(),
        false => format!(": {}", all.join("; ")),
    }
}
