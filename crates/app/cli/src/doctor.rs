//! `anabranch doctor`: the conduits to a drive on this host.

use std::path::{Path, PathBuf};

use anabranch_doctor::{
    Conduit, Device, Findings, Proof, Reach, Verdict, Writes, device, disks_below, drive_behind,
    host, host_collection, prove, verdicts,
};
use anabranch_report::{bytes, line, message, ratio};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    error::{CommandError, Result},
    output::give,
};

pub const EXAMPLE: &str = "\
Examples, as root:
  anabranch doctor
  anabranch doctor /dev/nvme0n1
  anabranch doctor /dev/nvme0n1 --prove
Without --prove it changes nothing: it only asks. Exit status: 0 if `anabranch steer` would carry each write (without \
DEVICE: if the kernel has what it needs), 3 if not, 2 for wrong use.";

/// Exit status when no conduit carries each write to its stream.
const NOTHING_CARRIES: u8 = 3;

#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// The drive: a block device, or an NVMe namespace's character device. Of a RAID, a device mapper's or `steer`'s block
    /// device, each drive below it is examined, too
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
    let device = device.map_err(CommandError::wrong_use)?;
    let found = Findings { device, ..host() };
    let verdicts = verdicts(&found);
    let proofs = if arguments.prove {
        prove(&found, arguments.yes).map_err(CommandError::wrong_use)?
    } else {
        Vec::new()
    };
    let below = below(&found, asked)?;
    let mut json = as_json(&found, &verdicts, &proofs);
    if !below.is_empty() {
        let each = below
            .iter()
            .map(|(found, verdicts)| as_json(found, verdicts, &[]));
        json["below"] = each.collect();
    }
    give(&json, arguments.output.as_deref(), arguments.json, || {
        let mut told = text(&found, &verdicts, &proofs);
        for (found, verdicts) in &below {
            told += &format!("\nbelow it: {}", text(found, verdicts, &[]));
        }
        told
    })?;
    let all_carry = if below.is_empty() {
        carries(&verdicts, &proofs)
    } else {
        below.iter().all(|(_, verdicts)| carries(verdicts, &[]))
    };
    if all_carry {
        Ok(())
    } else {
        Err(CommandError {
            status: NOTHING_CARRIES,
            error: None,
        })
    }
}

/// The findings and verdicts on each disk that the device is made of.
fn below(found: &Findings, asked: Option<&Path>) -> Result<Vec<(Findings, Vec<Verdict>)>> {
    let root = "/".as_ref();
    let disks = asked.map_or_else(Vec::new, |path| disks_below(root, path, drive_behind));
    let each = disks.iter().map(|path| {
        let device = device(root, path).map_err(CommandError::wrong_use)?;
        let found = Findings {
            device: Some(device),
            ..found.clone()
        };
        let verdicts = verdicts(&found);
        Ok((found, verdicts))
    });
    each.collect()
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

/// All of it for programs.
fn as_json(found: &Findings, verdicts: &[Verdict], proofs: &[Proof]) -> Value {
    let host_collection = found.device.as_ref().and_then(host_collection);
    let lvm = found.device.as_ref().and_then(lvm);
    let lvm = lvm.map(|(words, remedy)| json!({ "words": words, "remedy": remedy }));
    json!({
        "schema": 1, "found": found, "verdicts": verdicts, "proofs": proofs, "host_collection": host_collection,
        "lvm": lvm,
    })
}

/// The obstacle that LVM's settings are to a drive with a physical volume, and the remedy.
fn lvm(device: &Device) -> Option<(String, String)> {
    match device.lvm.as_ref()? {
        Ok(found) => found.obstacle(),
        Err(error) => {
            let words =
                format!("which places of a physical volume LVM looks at is not known: {error}");
            Some((words, "run it as root, and mend that file".to_owned()))
        }
    }
}

/// The text for people: a paragraph for each conduit.
fn text(found: &Findings, verdicts: &[Verdict], proofs: &[Proof]) -> String {
    let mut text = format!("Linux {}\n", found.kernel);
    if let Some(device) = &found.device {
        let used = device.name.clone() + &surroundings(device);
        text += &(line(&used) + "\n");
        if let Some(Ok(drive)) = &device.drive {
            text += &(writes(&drive.writes) + "\n");
        }
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
    if let Some(words) = found.device.as_ref().and_then(host_collection) {
        text += &format!("\n{words}\n");
    }
    if let Some((words, remedy)) = found.device.as_ref().and_then(lvm) {
        text += &format!("\n{}\n  remedy: {}\n", message(&words), line(&remedy));
    }
    text
}

/// A line on the drive's own counts of writes.
fn writes(writes: &Writes) -> String {
    let size = |counted: Option<u64>| counted.map_or("not known".to_owned(), bytes);
    format!(
        "its counters: by hosts {}, to the flash {}, WAF {}{}",
        size(writes.host_bytes),
        size(writes.flash_bytes),
        ratio(writes.waf),
        match &writes.logs[..] {
            [] => String::new(),
            logs => format!(" ({})", logs.join(", ")),
        }
    )
}

/// A note on the mounts and users of the device.
fn surroundings(device: &Device) -> String {
    let mounts = device.mounts.iter();
    let mounts = mounts.map(|mount| format!("{} on {}", mount.file_system, mount.place));
    let all: Vec<String> = [
        ("mounted", mounts.collect()),
        ("holds", device.holders.clone()),
        ("used by", device.users.clone()),
    ]
    .into_iter()
    .filter(|(_, names): &(_, Vec<String>)| !names.is_empty())
    .map(|(word, names)| format!("{word} {}", names.join(", ")))
    .collect();
    if all.is_empty() {
        ": nobody uses it".to_owned()
    } else {
        format!(": {}", all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use anabranch_doctor::{LvmFindings, Mount, Tracing};

    use super::*;

    /// A host that lacks all it can, or one whose kernel lacks nothing, with a device that is no drive.
    fn hosts() -> [Findings; 2] {
        let device = Device {
            name: "vda".into(),
            disk: "vda".into(),
            write_streams: Some(0),
            scsi_streams: None,
            character: None,
            drive: None,
            mounts: vec![Mount {
                place: "/data".into(),
                file_system: "ext4".into(),
            }],
            holders: vec!["dm-0".into()],
            partitions: Vec::new(),
            users: vec!["17 (fio)".into()],
            front: None,
            lvm: None,
        };
        let nvme = Device {
            name: "nvme0n1".into(),
            disk: "nvme0n1".into(),
            write_streams: None,
            character: Some("/dev/ng0n1".into()),
            drive: Some(Err("cannot open /dev/ng0n1: Permission denied".into())),
            mounts: Vec::new(),
            holders: Vec::new(),
            users: Vec::new(),
            ..device.clone()
        };
        let lacking = Findings {
            kernel: "5.4".into(),
            tracing: Err("no BTF".into()),
            ublk: Err("no ublk".into()),
            device: Some(nvme),
        };
        let tracing = Tracing {
            has_kprobes: true,
            limitations: vec!["A limit.".into()],
        };
        let whole = Findings {
            kernel: "7.3".into(),
            tracing: Ok(tracing),
            ublk: Ok(0x7fff),
            device: Some(device),
        };
        [lacking, whole]
    }

    #[test]
    fn text_and_json_have_each_conduits_words_and_remedy() {
        for found in hosts() {
            let verdicts = verdicts(&found);
            assert!(verdicts.iter().any(|verdict| verdict.remedy.is_some()));
            let shown = text(&found, &verdicts, &[]);
            let mut paragraphs = shown.split("\n\n").skip(1);
            let json = as_json(&found, &verdicts, &[]);
            for (at, verdict) in verdicts.iter().enumerate() {
                let reach = format!("{:?}", verdict.reach).to_lowercase();
                let name = verdict.conduit.name();
                let mut told = format!("{name:<14} {reach}\n  {}", verdict.words);
                let json = &json["verdicts"][at];
                assert_eq!(
                    (&json["words"], &json["reach"]),
                    (&json!(verdict.words), &json!(reach))
                );
                assert_eq!(json["remedy"], json!(verdict.remedy));
                if let Some(remedy) = &verdict.remedy {
                    told += &format!("\n  remedy: {remedy}");
                }
                assert_eq!(paragraphs.next().map(str::trim_end), Some(told.as_str()));
            }
            assert_eq!(paragraphs.next(), None, "{shown}");
        }
    }

    #[test]
    fn a_volume_that_lvm_sees_twice_is_told_in_text_and_json() {
        let [mut found, _] = hosts();
        let seen = LvmFindings {
            volume: "/dev/nvme0n1".into(),
            front: "/dev/ublkb0".into(),
            sees_drive: true,
            sees_front: true,
            by_devices_file: false,
            has_global_filter: false,
        };
        let give = |found: &mut Findings, lvm| found.device.as_mut().unwrap().lvm = Some(lvm);
        give(&mut found, Ok(seen.clone()));
        let shown = text(&found, &[], &[]);
        let line = "global_filter = [ \"a|^/dev/ublkb|\", \"r|^/dev/nvme0n1|\" ]";
        assert!(
            shown.contains("takes either") && shown.contains(line),
            "{shown}"
        );
        let json = as_json(&found, &[], &[]);
        assert!(json["lvm"]["remedy"].as_str().unwrap().contains(line));
        give(&mut found, Err("cannot read it".into()));
        assert!(text(&found, &[], &[]).contains("not known: cannot read it"));
        let filtered = LvmFindings {
            sees_drive: false,
            ..seen
        };
        give(&mut found, Ok(filtered));
        assert!(!text(&found, &[], &[]).contains("LVM"));
        assert!(as_json(&found, &[], &[])["lvm"].is_null());
    }

    #[test]
    fn the_head_names_who_uses_the_device() {
        let [nobody, used] = hosts().map(|found| text(&found, &[], &[]));
        assert_eq!(nobody, "Linux 5.4\nnvme0n1: nobody uses it\n");
        assert_eq!(
            used,
            "Linux 7.3\nvda: mounted ext4 on /data; holds dm-0; used by 17 (fio)\n"
        );
    }

    #[test]
    fn a_drives_counters_are_a_line_and_unknown_ones_say_so() {
        let known = Writes {
            host_bytes: Some(2 << 30),
            flash_bytes: None,
            waf: Some(1.5),
            logs: vec!["Intel's log CAh"],
        };
        assert_eq!(
            writes(&known),
            "its counters: by hosts 2.00 GiB, to the flash not known, WAF 1.500 (Intel's log CAh)"
        );
        let none = writes(&Writes::default());
        assert_eq!(
            none,
            "its counters: by hosts not known, to the flash not known, WAF -"
        );
    }

    #[test]
    fn what_is_proved_and_what_is_not_stands_with_its_conduit() {
        let proof = |holds, words: &str| Proof {
            conduit: Conduit::Ublk,
            holds,
            words: words.into(),
        };
        let [_, found] = hosts();
        let verdicts = verdicts(&found);
        let proofs = [proof(true, "arrived"), proof(false, "nowhere")];
        let shown = text(&found, &verdicts, &proofs);
        assert!(
            shown.contains("\n  proved: arrived\n  NOT proved: nowhere\n"),
            "{shown}"
        );
        let reaches = |reach| {
            [Conduit::Tracing, Conduit::Ublk].map(|conduit| Verdict {
                conduit,
                reach,
                words: String::new(),
                remedy: None,
            })
        };
        assert!(carries(&reaches(Reach::Yes), &[proof(true, "")]));
        assert!(carries(&reaches(Reach::Partly), &[]));
        assert!(!carries(&reaches(Reach::Yes), &[proof(false, "")]));
        assert!(!carries(&reaches(Reach::No), &[]));
        assert!(!carries(&[], &[]));
    }
}
