//! The device and the run that a trace was captured from, and the tables beside its records.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{context::Context, sample::Sampled};

/// The device and the run a trace was captured from. Travels inside the trace file.
///
/// Fields are added, never renamed: a reader passes over those it does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Size of the captured device, in bytes; 0 when it is not known.
    pub device_bytes: u64,
    /// The file system on it (`ext4`, `xfs`), empty when there was none or it is not known.
    pub file_system: String,
    /// The command that was run, empty when the device was only watched.
    pub command: Vec<String>,
    /// Release of the kernel that was watched, as `uname -r` gives it.
    pub kernel: String,
    /// Name of the host it ran on; empty where it is not known.
    #[serde(default)]
    pub host: String,
    /// When the capture began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// Number of kernel events that did not reach the trace. Anything but 0 makes the bytes a lower bound, and figures
    /// computed from the trace wrong in either direction.
    pub lost_events: u64,
    /// Limits of the probe on that kernel, one sentence each.
    pub limitations: Vec<String>,
    /// The drive that the run was made on, described by whoever made the run (this crate knows no drives). Absent where
    /// a device was only watched, and from older traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<serde_json::Value>,
    /// Pages of the device that the trace holds, each at the size of all the pages it stands for; absent where it
    /// holds all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// The control group of each tenant's number, where control groups are tenants. Nobody is 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<Tenant>,
    /// Placements that programs named themselves, for each context that did: the program's own streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
}

/// A placement that a program named with its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The context of these writes: a row of the context table.
    pub context: u32,
    /// The directive specific value (DSPEC) of the write command (NVM Express Base 2.0, 8.7; TP4146).
    pub placement: u16,
}

/// The role of a context whose writes name a placement.
pub fn placed_role(role: &str, placement: u16) -> String {
    format!("{role} (placement {placement})")
}

/// The placement in a role that [`placed_role`] made.
pub fn placement_of_role(role: &str) -> Option<u16> {
    let (_, rest) = role.rsplit_once(" (placement ")?;
    rest.strip_suffix(')')?.parse().ok()
}

/// One of several programs on one drive: a control group with all below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    /// The number that the records have, from 1 on.
    pub number: u32,
    /// The control group's path below the mount of its hierarchy.
    pub control_group: String,
}

impl fmt::Display for Tenant {
    /// The name is text that others chose.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tenant {}: {}", self.number, self.control_group)
    }
}

/// The beginning of the first limitation of every imported trace.
const IMPORTED: &str = "imported (";

impl Capture {
    /// The limitation noted in a trace that was imported from a foreign format.
    #[cfg(feature = "files")]
    pub(crate) fn imported(format: &str) -> String {
        format!("{IMPORTED}{format}): contexts are names of processes, if anything")
    }

    /// Whether the trace was imported: its volumes have addresses of their own, which may lie
    /// anywhere.
    pub fn is_imported(&self) -> bool {
        self.limitations.iter().any(|one| one.starts_with(IMPORTED))
    }
}

/// A file that was written while the trace was captured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The file's own name, without the directory; empty when it is not known.
    pub name: String,
    /// The name that it was renamed to first, after it was written under this one; empty where it was not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next_name: String,
}

/// The tables beside a trace's records: contexts (index = `ContextId`), files (index = `FileId`,
/// row 0 is "no file") and the capture itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Program contexts; row 0 is [`Context::unknown`].
    pub contexts: Vec<Context>,
    /// Files; row 0 has the empty name.
    pub files: Vec<File>,
    /// The capture itself: device, command, time, losses.
    pub capture: Capture,
}

impl Tables {
    /// The tables of a trace without contexts or files: row 0 of each only.
    pub fn new(capture: Capture) -> Tables {
        Tables {
            contexts: vec![Context::unknown()],
            files: vec![File::default()],
            capture,
        }
    }

    /// A sentence where the tables cannot be used as indices; `None` if they can.
    #[cfg(feature = "files")]
    pub(crate) fn fault(&self) -> Option<String> {
        let Some(unknown) = self.contexts.first() else {
            return Some("the context table lacks row 0, the unknown context".into());
        };
        if unknown.kind != crate::ContextKind::Unknown {
            return Some("row 0 of the context table is not the unknown context".into());
        }
        let stray = (0u64..)
            .zip(&self.contexts)
            .find(|(row, context)| u64::from(context.id.0) != *row);
        if let Some((row, context)) = stray {
            return Some(format!(
                "row {row} of the context table has the id {}",
                context.id.0
            ));
        }
        match self.files.first() {
            None => Some("the file table lacks row 0, \"no file\"".into()),
            Some(none) if !none.name.is_empty() => {
                Some("row 0 of the file table has a name, but stands for \"no file\"".into())
            }
            Some(_) => None,
        }
    }
}
