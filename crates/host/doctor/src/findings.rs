//! The findings about a host.

use anabranch_counters::{Amplification, Count};
use serde::{Serialize, Serializer};

use crate::lvm::LvmFindings;

/// Writes an answer, or the reason why there is none: `{"answer": …}` or `{"refusal": "…"}`.
fn asked<T: Serialize, S: Serializer>(
    asked: &Result<T, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Outcome<'a, T> {
        Answer(&'a T),
        Refusal(&'a str),
    }
    match asked {
        Ok(answer) => Outcome::Answer(answer),
        Err(refusal) => Outcome::Refusal(refusal),
    }
    .serialize(serializer)
}

/// Writes an answer as [`asked`] does, or `null` where there was no way to ask.
fn asked_if_possible<T: Serialize, S: Serializer>(
    possible: &Option<Result<T, String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match possible {
        Some(result) => asked(result, serializer),
        None => serializer.serialize_none(),
    }
}

/// The findings about a host. A question without an answer has the message of what refused it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// Release of the running kernel, for people only: no verdict depends on it.
    pub kernel: String,
    /// Whether eBPF programs can see who writes.
    #[serde(serialize_with = "asked")]
    pub tracing: Result<Tracing, String>,
    /// The ublk driver's feature flags (`UBLK_U_CMD_GET_FEATURES`).
    #[serde(serialize_with = "asked")]
    pub ublk: Result<u64, String>,
    /// The device that was asked about.
    pub device: Option<Device>,
}

/// The view that eBPF programs have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tracing {
    /// Whether requests are seen through a hook that the kernel never skips.
    pub has_kprobes: bool,
    /// Sentences on what cannot be seen.
    pub limitations: Vec<String>,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Device {
    /// The device's name in the kernel: `nvme0n1`.
    pub name: String,
    /// The name of the whole disk if the device is a partition, otherwise the same name.
    pub disk: String,
    /// `max_write_streams` of the device's queue; `None` where the kernel does not have it.
    pub write_streams: Option<u32>,
    /// The streams that a SCSI drive tells apart by the GROUP NUMBER of a write; `None` where it does not, or where the
    /// kernel does not ask.
    pub scsi_streams: Option<u16>,
    /// The character device for raw NVMe commands, `/dev/ng0n1`; `None` where the device is no NVMe namespace.
    pub character: Option<String>,
    /// The drive's answers about itself; `None` where there is no way to ask.
    #[serde(serialize_with = "asked_if_possible")]
    pub drive: Option<Result<DriveFindings, String>>,
    /// The mounts of the device and its partitions.
    pub mounts: Vec<Mount>,
    /// Devices that use this one: its partitions, device mappers, RAIDs.
    pub holders: Vec<String>,
    /// Those of the holders that are its partitions.
    pub partitions: Vec<String>,
    /// Processes that have the device, a partition or the character device open, by number and name; and what of the
    /// kernel itself uses them, in words.
    pub users: Vec<String>,
    /// The block device that `steer` made in front of it.
    pub front: Option<FrontFindings>,
    /// LVM's view of the physical volume that it or a partition of it has; `None` where it has none.
    #[serde(serialize_with = "asked_if_possible")]
    pub lvm: Option<Result<LvmFindings, String>>,
}

/// A block device of `steer`'s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FrontFindings {
    /// Its path: `/dev/ublkb0`.
    pub block: String,
    /// The process that serves it; `None` where it waits for one.
    pub process: Option<i32>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// The mount point.
    pub place: String,
    /// The type of the file system: `ext4`, `xfs`, `f2fs`, …
    pub file_system: String,
}

/// An NVMe drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveFindings {
    /// The drive's model number.
    pub model: String,
    /// Bytes of the namespace.
    pub bytes: u64,
    /// Bytes of a logical block; 0 where the drive names none.
    pub block_bytes: u64,
    /// Bytes of metadata beside each block.
    pub metadata_bytes: u16,
    /// Number of a format without metadata that `nvme format` can give it; `None` where it has none.
    pub plain_format: Option<u8>,
    /// The most namespaces that the drive supports.
    pub namespaces: u32,
    /// The namespace's endurance group; 0 for none.
    pub endurance_group: u16,
    /// The namespace's Flexible Data Placement, if it is on.
    pub fdp: Option<PlacementFindings>,
    /// Whether the controller supports Flexible Data Placement, on or off.
    pub has_fdp: bool,
    /// Streams of the Streams Directive; `None` where the drive does not support it.
    pub streams: Option<u16>,
    /// Its own counts of writes.
    pub writes: Writes,
}

/// Writes since a drive counts, by its own counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Writes {
    /// Bytes that hosts wrote; `None` where they are not known.
    pub host_bytes: Option<u64>,
    /// Bytes written to the flash; `None` where they are not known.
    pub flash_bytes: Option<u64>,
    /// Write amplification; `None` without two counts in one unit.
    pub waf: Option<f64>,
    /// Names of the logs that the counts are from.
    pub logs: Vec<&'static str>,
}

impl Writes {
    /// Reads the writes of a drive's counts.
    pub(crate) fn of(counts: &[Count]) -> Writes {
        let known = Amplification::of(counts);
        let small = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
        let logs = [known.host, known.flash];
        let mut logs: Vec<&str> = logs.iter().flatten().map(|count| count.log).collect();
        logs.dedup();
        Writes {
            host_bytes: known.host_bytes().map(small),
            flash_bytes: known.flash_bytes().map(small),
            waf: known.waf(),
            logs,
        }
    }
}

/// Flexible Data Placement of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlacementFindings {
    /// Number of the namespace's placement handles.
    pub handles: u16,
    /// The index of the configuration in force; `None` where the drive does not tell it; then `drive_handles`,
    /// `persistently_isolated` and `unit_bytes` are not known either.
    pub configuration: Option<u8>,
    /// Number of the drive's reclaim unit handles, of which some are the namespace's; 0 where the drive does not tell.
    pub drive_handles: u16,
    /// Whether all handles of the namespace are persistently isolated: data written through two of them never share a unit, even after
    /// garbage collection. `None` where it is not known.
    pub persistently_isolated: Option<bool>,
    /// Bytes of a reclaim unit; 0 where the drive does not tell.
    pub unit_bytes: u64,
    /// The namespace's placement handles.
    pub own: Vec<Handle>,
    /// The use of each of the drive's reclaim unit handles (log 21h), in order: `unused`, `host_specified` or
    /// `controller_specified` by some namespace, or `reserved` for a value without a meaning yet. Empty where it does not tell.
    pub usage: Vec<&'static str>,
    /// The other namespaces of the endurance group that this host sees.
    pub neighbours: Vec<Neighbour>,
}

/// A placement handle of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Handle {
    /// The placement identifier that a write carries.
    pub identifier: u16,
    /// The drive's reclaim unit handle that it stands for.
    pub handle: u16,
}

/// Another namespace that this host sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    /// Its character device.
    pub device: String,
    /// The drive's reclaim unit handles that it writes to.
    #[serde(serialize_with = "asked")]
    pub handles: Result<Vec<u16>, String>,
}

/// Whether a running system needs what is mounted there (Filesystem Hierarchy Standard 3.0, section 3).
pub(crate) fn is_the_systems(place: &str) -> bool {
    ["/", "/boot", "/boot/efi", "/etc", "/usr", "/var"].contains(&place)
}
