//! The verdicts: what a host's findings mean for each conduit, in plain sentences. A pure function.

mod company;

use anabranch_steer::{Shape, feature, require};
use serde::Serialize;

use crate::findings::{
    Device, DriveFindings, Findings, FrontFindings, Mount, PlacementFindings, is_the_systems,
};

/// A way by which writes, or information about them, get to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conduit {
    /// Tracing, for `record` and `run`: who writes is seen.
    Tracing,
    /// The drive itself: whether it has handles or streams.
    Drive,
    /// `steer`: a block device in front of the drive that puts each write in the handle of its
    /// context.
    Ublk,
    /// Life-time hints of files, passed on by the file system.
    FileHints,
    /// The kernel's block write streams: io_uring's `write_stream` on the raw device.
    WriteStreams,
    /// Raw NVMe commands of the application.
    Passthrough,
}

/// The reach of a conduit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The conduit works.
    Yes,
    /// The conduit works once the remedy is applied.
    Partly,
    /// The conduit does not work.
    No,
}

/// The verdict on one conduit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Way by which a host could name a placement.
    pub conduit: Conduit,
    /// Distance that a placement gets by this conduit.
    pub reach: Reach,
    /// A sentence on the finding.
    pub words: String,
    /// The remedy; `None` where nothing helps or nothing is missing.
    pub remedy: Option<String>,
}

impl Conduit {
    /// The conduit's name for people.
    pub fn name(self) -> &'static str {
        match self {
            Conduit::Tracing => "tracing",
            Conduit::Drive => "drive",
            Conduit::Ublk => "ublk",
            Conduit::FileHints => "file hints",
            Conduit::WriteStreams => "write streams",
            Conduit::Passthrough => "passthrough",
        }
    }
}

/// The verdicts: one for each conduit in question. Without a device, those on what the kernel
/// offers.
pub fn verdicts(found: &Findings) -> Vec<Verdict> {
    let mut verdicts = vec![tracing(found)];
    match &found.device {
        None => verdicts.push(ublk_driver(found)),
        Some(device) => verdicts.extend([
            drive(device),
            ublk(found, device),
            file_hints(device),
            write_streams(device),
            passthrough(device),
        ]),
    }
    verdicts
}

fn verdict(conduit: Conduit, reach: Reach, words: impl Into<String>) -> Verdict {
    Verdict {
        conduit,
        reach,
        words: words.into(),
        remedy: None,
    }
}

impl Verdict {
    fn remedy(self, words: impl Into<String>) -> Verdict {
        Verdict {
            remedy: Some(words.into()),
            ..self
        }
    }
}

fn tracing(found: &Findings) -> Verdict {
    let tracing = match &found.tracing {
        // The probe's own words name the remedy.
        Err(refusal) => return verdict(Conduit::Tracing, Reach::No, refusal),
        Ok(tracing) => tracing,
    };
    let hook = if tracing.has_kprobes {
        "`record`, `run` and `steer` see who writes; requests are seen by a kprobe, which is skipped only while its processor is in a call about an eBPF map, and counted."
    } else {
        "`record`, `run` and `steer` see who writes; there are no kprobes, so requests are seen by a tracepoint: on kernels that run it preemptibly (7.0 and later) some are skipped, and counted."
    };
    let reach = if tracing.limitations.is_empty() {
        Reach::Yes
    } else {
        Reach::Partly
    };
    let words: Vec<&str> = std::iter::once(hook)
        .chain(tracing.limitations.iter().map(String::as_str))
        .collect();
    verdict(Conduit::Tracing, reach, words.join(" "))
}

fn ublk_driver(found: &Findings) -> Verdict {
    let features = match &found.ublk {
        // The driver's own words name the remedy.
        Err(refusal) => return verdict(Conduit::Ublk, Reach::No, refusal),
        Ok(features) => *features,
    };
    // `steer` asks the same before it begins.
    if let Err(error) = require(features) {
        return verdict(
            Conduit::Ublk,
            Reach::No,
            format!("`steer` refuses: {error}."),
        )
        .remedy("boot a newer kernel: a file system must survive its server");
    }
    let copies = match features & feature::AUTO_BUFFER {
        0 => "each write is copied once more",
        _ => "no write is copied",
    };
    let words = format!(
        "The kernel has ublk (features {features:#x}): {copies}, and a killed server may be followed by another."
    );
    verdict(Conduit::Ublk, Reach::Yes, words)
}

/// The drive behind a device, where it answered.
fn asked_drive(device: &Device) -> Option<&DriveFindings> {
    device.drive.as_ref()?.as_ref().ok()
}

/// Whether writes of this namespace can be told apart: by its handles where placement is on, else by its streams, of
/// which some drives tell the number only once they are enabled.
fn has_places(drive: &DriveFindings) -> bool {
    match (&drive.fdp, drive.streams) {
        (Some(fdp), _) => fdp.handles > 1,
        (None, Some(streams)) => streams != 1,
        (None, None) => false,
    }
}

/// Whether the disk is an NVMe one that has no character device here.
fn is_without_character(device: &Device) -> bool {
    device.character.is_none() && device.disk.starts_with("nvme")
}

const MAKE_CHARACTER: &str =
    "kernels since 5.13 make it; a container has it where it is handed in (`--device`)";
const BE_ROOT: &str = "run it as root: NVMe commands of one's own need it";

fn drive(device: &Device) -> Verdict {
    let none = |words: String| verdict(Conduit::Drive, Reach::No, words);
    let drive = match &device.drive {
        None if device.scsi_streams.is_some() => {
            return none(format!(
                "{} is a SCSI drive: its streams are reached by hints of files alone (below), and it has no handles.",
                device.disk
            ));
        }
        None if is_without_character(device) => {
            return none(format!(
                "{} has no NVMe character device here (/dev/ngXnY), by which drives are asked.",
                device.disk
            ))
            .remedy(MAKE_CHARACTER);
        }
        None => {
            return none(format!(
                "{} is no NVMe namespace: it has no handles and no streams.",
                device.disk
            ))
            .remedy("`anabranch serve` gives a drive with both over NVMe/TCP, to try on");
        }
        Some(Err(refusal)) => {
            return none(format!("The drive cannot be asked: {refusal}.")).remedy(BE_ROOT);
        }
        Some(Ok(drive)) => drive,
    };
    let group = match drive.endurance_group {
        0 => "no endurance group".to_owned(),
        group => format!("endurance group {group}"),
    };
    let which = format!(
        "{} (up to {} namespaces, {group})",
        drive.model, drive.namespaces
    );
    if let Some(fdp) = &drive.fdp {
        return placement(&which, fdp);
    }
    match drive.streams {
        Some(0) => verdict(Conduit::Drive, Reach::Yes, format!("{which} has the Streams Directive; how many streams, it says once that is enabled.")),
        Some(streams) => verdict(Conduit::Drive, Reach::Yes, format!("{which} has the Streams Directive: {streams} streams.")),
        None if drive.has_fdp => none(format!("{which} has Flexible Data Placement, but not switched on for this namespace."))
            .remedy(format!("it is switched on while its endurance group has no namespaces, so what is on them is lost: `nvme delete-ns`, `nvme set-feature -f 0x1d -V {} -c 1`, `nvme create-ns --nphndls`", drive.endurance_group.max(1))),
        None => none(format!("{which} has neither Flexible Data Placement nor the Streams Directive.")),
    }
}

/// The verdict on a drive, named by `which`, whose namespace has Flexible Data Placement.
fn placement(which: &str, fdp: &PlacementFindings) -> Verdict {
    let isolation = match fdp.persistently_isolated {
        None => "how they are isolated, the drive does not tell",
        Some(true) => "persistently isolated, so that garbage collection keeps them apart too",
        Some(false) => "initially isolated, so that garbage collection may mix them",
    };
    let unit = match fdp.unit_bytes {
        0 => String::new(),
        bytes => format!(", reclaim units of {} MiB", bytes >> 20),
    };
    let handles = match fdp.handles {
        1 => "1 handle".to_owned(),
        handles => format!("{handles} handles"),
    };
    let words = format!(
        "{which} has Flexible Data Placement: {handles}, {isolation}{unit}.{}",
        company::words(fdp)
    );
    if fdp.handles < 2 {
        return verdict(Conduit::Drive, Reach::Partly, words).remedy(
            "make the namespace anew with more placement handles (`nvme create-ns --nphndls`)",
        );
    }
    match company::remedy(fdp) {
        Some(remedy) => verdict(Conduit::Drive, Reach::Partly, words).remedy(remedy),
        None => verdict(Conduit::Drive, Reach::Yes, words),
    }
}

fn ublk(found: &Findings, device: &Device) -> Verdict {
    let kernel = ublk_driver(found);
    if kernel.reach == Reach::No {
        return kernel;
    }
    let unfit = unfit(device).or_else(|| unseen(found));
    let served = device.front.as_ref();
    if let Some(FrontFindings {
        block,
        process: Some(process),
    }) = served
        && unfit.is_none()
        && device.mounts.is_empty()
        && device.holders.is_empty()
    {
        return verdict(
            Conduit::Ublk,
            Reach::Yes,
            format!(
                "`anabranch steer` carries each write to {block}, which process {process} serves."
            ),
        );
    }
    if let Some(obstacle) = unfit.or_else(|| in_use(device)) {
        return obstacle;
    }
    let words = format!(
        "`anabranch steer` would carry each write, of any file system, in the handle that a scheme chooses for it. {}",
        kernel.words
    );
    Verdict { words, ..kernel }
}

fn no_ublk(words: String) -> Verdict {
    verdict(Conduit::Ublk, Reach::No, words)
}

/// Judges the drive's own obstacles to `steer`.
fn unfit(device: &Device) -> Option<Verdict> {
    if device.name != device.disk {
        let words = format!(
            "ublk is there, but `steer` takes whole drives, and {} is a partition of {}.",
            device.name, device.disk
        );
        return Some(no_ublk(words).remedy(format!("`anabranch doctor /dev/{}`", device.disk)));
    }
    let Some(drive) = asked_drive(device) else {
        let is_silent = device.drive.is_some() || is_without_character(device);
        let words = if is_silent {
            "ublk is there, but the drive cannot be asked what it has (above)."
        } else {
            "ublk is there, but the drive has nothing to steer to."
        };
        return Some(no_ublk(words.to_owned()));
    };
    if !has_places(drive) {
        let words = "ublk is there, but the drive has nothing to steer to.";
        return Some(no_ublk(words.to_owned()));
    }
    let shape = Shape {
        block_bytes: drive.block_bytes,
        metadata_bytes: drive.metadata_bytes,
        plain_format: drive.plain_format,
        bytes: drive.bytes,
    };
    let refusal = shape.refusal()?;
    let remedy = shape.remedy(&format!("/dev/{}", device.name));
    Some(no_ublk(format!("ublk is there, but the drive has {refusal}.")).remedy(remedy))
}

/// Judges the obstacles to seeing writers.
fn unseen(found: &Findings) -> Option<Verdict> {
    let refusal = found.tracing.as_ref().err()?;
    let words = format!("ublk is there, but nobody sees who writes: {refusal}.");
    Some(no_ublk(words).remedy(
        "schemes by address and age need no tracing: `anabranch steer --unwatched --scheme sepbit`",
    ))
}

/// Judges the drive's users.
fn in_use(device: &Device) -> Option<Verdict> {
    let carried = |words: String| no_ublk(format!("ublk would carry each write, but {words}."));
    if let Some(Mount { place, file_system }) = device.mounts.first() {
        let remedy = if is_the_systems(place) {
            "this system runs from it: steer another drive".to_owned()
        } else {
            format!("`umount {place}`, then `anabranch steer`, and mount the device it gives")
        };
        let words = format!("{file_system} is mounted on {place}");
        return Some(carried(words).remedy(remedy));
    }
    if let Some(holder) = device.holders.first() {
        let words = format!("{holder} lies on the drive");
        return Some(carried(words).remedy("steer a drive that nothing else is made of"));
    }
    let user = device.users.first()?;
    if user.starts_with(|first: char| first.is_ascii_digit()) {
        let words = format!("process {user} has the drive open");
        return Some(carried(words).remedy("end that process first"));
    }
    let uses = carried(format!("{user} uses the drive"));
    Some(if user.starts_with("the block device") {
        uses.remedy(
            "mount that block device and not the drive; `anabranch steer` with the same options goes on with one that \
             waits, `anabranch steer --device BLOCK_DEVICE --give-up` ends it",
        )
    } else {
        uses.remedy("take the drive from it first (`losetup -d`, `nvmetcli`, `swapoff`)")
    })
}

/// Judges the reach of life-time hints of files.
pub fn file_hints(device: &Device) -> Verdict {
    let streams = device.write_streams.unwrap_or(0);
    let system = device
        .mounts
        .first()
        .map(|mount| mount.file_system.as_str());
    if let Some(streams) = device.scsi_streams {
        return scsi_hints(streams, system);
    }
    if streams == 0 {
        let words = "The kernel hands no life-time hint of a file to this drive: all of them end in its default place.";
        return verdict(Conduit::FileHints, Reach::No, words);
    }
    match system {
        Some("f2fs") => verdict(
            Conduit::FileHints,
            Reach::Partly,
            "F2FS hands hints on in newer kernels only (7.2 and 7.3 did: four hints to three handles; 6.18 did not); no kernel says which. The drive's own counters tell. `anabranch steer --mount` sets hints.",
        ),
        Some(system) => verdict(
            Conduit::FileHints,
            Reach::No,
            format!("Hints of {system} end in handle 0 on every kernel tried (6.12 to 7.3)."),
        )
        .remedy("a block device in front of the drive carries each write, where ublk reaches it (above)"),
        None => verdict(
            Conduit::FileHints,
            Reach::Partly,
            "Nothing is mounted: hints on the raw device reach handles with O_DIRECT, and are ignored without.",
        ),
    }
}

/// The verdict where the kernel writes a hint into each SCSI command, of all file systems that give their writes one.
fn scsi_hints(streams: u16, system: Option<&str>) -> Verdict {
    let words = format!(
        "The drive is SCSI and tells {streams} streams apart by GROUP NUMBER, and the kernel writes each file's life-time hint there"
    );
    let (reach, which) = match system {
        None | Some("xfs") => (
            Reach::Partly,
            "those of XFS arrive (6.12, 7.3), if the drive has permanent streams, which no page of the kernel tells",
        ),
        Some("ext4") => (
            Reach::Partly,
            "of ext4 those of writes past the page cache arrive (6.12, 7.3), buffered ones in newer kernels only (7.3 did, 6.12 did not), and no kernel says which",
        ),
        Some(_) => (
            Reach::Partly,
            "whether this file system hands hints on was not tried",
        ),
    };
    let words = format!(
        "{words}; {which}. `anabranch steer --mount` sets hints, and the drive's own counters tell."
    );
    verdict(Conduit::FileHints, reach, words)
}

fn write_streams(device: &Device) -> Verdict {
    let none = |words: &str| verdict(Conduit::WriteStreams, Reach::No, words);
    match device.write_streams {
        None => {
            none("The kernel has no block write streams.").remedy("kernels since 6.16 have them")
        }
        Some(0) => none(
            "The kernel has block write streams, and none for this drive (max_write_streams is 0).",
        ),
        Some(streams) => verdict(
            Conduit::WriteStreams,
            Reach::Yes,
            format!(
                "{streams} block write streams: programs of one's own reach {streams} handles of the raw device by io_uring."
            ),
        ),
    }
}

fn passthrough(device: &Device) -> Verdict {
    let told = |reach, words: String| verdict(Conduit::Passthrough, reach, words);
    match (&device.character, asked_drive(device)) {
        (None, _) => {
            let words = "There is no NVMe character device for commands of one's own.";
            let none = told(Reach::No, words.to_owned());
            if is_without_character(device) {
                none.remedy(MAKE_CHARACTER)
            } else {
                none
            }
        }
        (Some(path), None) => told(
            Reach::No,
            format!("{path} is there, and refuses this process."),
        )
        .remedy(BE_ROOT),
        (Some(path), Some(drive)) if !has_places(drive) => told(
            Reach::Partly,
            format!("{path} takes commands; the drive has no handles to name in them."),
        ),
        (Some(path), Some(_)) => told(
            Reach::Yes,
            format!("{path} takes writes with a handle or stream named in each, on any kernel."),
        ),
    }
}

#[cfg(test)]
mod tests;
