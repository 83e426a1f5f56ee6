//! What a host has.

use serde::{Serialize, Serializer};

/// What was asked, or why there is no answer: `{"answer": …}` or `{"refusal": "…"}`.
fn asked<T: Serialize, S: Serializer>(
    asked: &Result<T, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Asked<'a, T> {
        Answer(&'a T),
        Refusal(&'a str),
    }
    match asked {
        Ok(answer) => Asked::Answer(answer),
        Err(refusal) => Asked::Refusal(refusal),
    }
    .serialize(serializer)
}

/// The same of what may not have been asked at all: `null` then.
fn asked_if_possible<T: Serialize, S: Serializer>(
    possible: &Option<Result<T, String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match possible {
        Some(result) => asked(result, serializer),
        None => serializer.serialize_none(),
    }
}

/// What was found. What could not be asked says why, in the words of who refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Release of the running kernel; nothing is concluded from it.
    pub kernel: String,
    /// Whether eBPF programs see who writes.
    #[serde(serialize_with = "asked")]
    pub tracing: Result<Tracing, String>,
    /// The ublk driver's feature flags (`UBLK_U_CMD_GET_FEATURES`).
    #[serde(serialize_with = "asked")]
    pub ublk: Result<u64, String>,
    /// The device asked for.
    pub device: Option<Device>,
}

/// What eBPF programs see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tracing {
    /// The hook for requests is one that the kernel never skips.
    pub has_kprobes: bool,
    /// What is not seen, one sentence each.
    pub limitations: Vec<String>,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    /// As the kernel names it: `nvme0n1`.
    pub name: String,
    /// The whole disk's name where it is a partition, else the same.
    pub disk: String,
    /// `max_write_streams` of its queue; none where the kernel has no such thing.
    pub write_streams: Option<u32>,
    /// The character device for commands of one's own: `/dev/ng0n1`; none where it is no NVMe namespace.
    pub character: Option<String>,
    /// What the drive says of itself; none where there is no way to ask.
    #[serde(serialize_with = "asked_if_possible")]
    pub drive: Option<Result<Drive, String>>,
    /// Where it or a partition of it is mounted.
    pub mounts: Vec<Mount>,
    /// Devices made of it: its partitions, device mappers, RAIDs.
    pub holders: Vec<String>,
    /// Processes that have it, a partition, or its character device open: number and name.
    pub users: Vec<String>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// Where.
    pub place: String,
    /// `ext4`, `xfs`, `f2fs`, …
    pub file_system: String,
}

/// An NVMe drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drive {
    /// Model number.
    pub model: String,
    /// How many namespaces there may be.
    pub namespaces: u32,
    /// The namespace's endurance group; 0 for none.
    pub endurance_group: u16,
    /// Flexible Data Placement, where it is on for this namespace.
    pub fdp: Option<Placement>,
    /// The controller has Flexible Data Placement, on or off.
    pub has_fdp: bool,
    /// Streams that the Streams Directive offers; none where there is no such directive.
    pub streams: Option<u16>,
}

/// Flexible Data Placement of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Placement handles that the namespace has.
    pub handles: u16,
    /// Handles are persistently isolated: what is written by two of them never shares a unit, garbage collected or not.
    pub persistently_isolated: bool,
    /// Bytes of a reclaim unit; 0 where the drive does not say.
    pub unit_bytes: u64,
}
