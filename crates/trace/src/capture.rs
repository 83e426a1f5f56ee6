//! What a trace says about its own making.

use serde::{Deserialize, Serialize};

use crate::context::Context;

/// The device and the run a trace was captured from. Travels inside the trace file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Size of the captured device, in bytes.
    pub device_bytes: u64,
    /// The file system on it (`ext4`, `xfs`), empty when there was none or it is not known.
    pub file_system: String,
    /// The command that was run, empty when the device was only watched.
    pub command: Vec<String>,
    /// Release of the kernel that was watched, as `uname -r` gives it.
    pub kernel: String,
    /// When the capture began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// Kernel events that did not reach the trace: anything but 0 makes the figures a lower bound.
    pub lost_events: u64,
    /// What the probe could not do on that kernel, one sentence each.
    pub limitations: Vec<String>,
}

/// A file that was written while the trace was captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The file's own name, without the directory; empty when it is not known.
    pub name: String,
}

/// The tables beside a trace's records: contexts (index = `ContextId`), files (index = `FileId`,
/// row 0 is "no file") and the capture itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Program contexts; row 0 is [`Context::unknown`].
    pub contexts: Vec<Context>,
    /// Files; row 0 has the empty name.
    pub files: Vec<File>,
    /// The capture.
    pub capture: Capture,
}
