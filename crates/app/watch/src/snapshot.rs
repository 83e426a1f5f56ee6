//! Snapshot of one moment.

use anabranch_replay::{ContextLives, Source};
use anabranch_trace::Rate;
use serde::Serialize;

use crate::{answer::Answer, scheme_view::SchemeView};

/// Version of the snapshot's form. Fields are added, never renamed.
pub const SCHEMA: u32 = 1;

/// All that is known at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// Version of this form: [`SCHEMA`].
    pub schema: u32,
    /// When it was taken, in seconds since 1970-01-01 UTC.
    pub unix_s: u64,
    /// Seconds this process has watched.
    pub watched_s: f64,
    /// The devices, in the order asked for.
    pub devices: Vec<DeviceView>,
    /// Cost of watching.
    pub own: Own,
}

/// State of one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceView {
    /// Its path as it was asked for.
    pub device: String,
    /// Kind of the device, which decides where its requests are seen.
    pub kind: String,
    /// Whether it is there, and watched.
    pub is_watched: bool,
    /// Size of the device, in bytes.
    pub device_bytes: u64,
    /// One page of how many its shadow drives have, as in `1/64`.
    pub rate: Rate,
    /// Pages an erase unit of them has.
    pub unit_pages: u32,
    /// Requests to it: all of them, whatever the rate.
    pub source: Source,
    /// Bytes written to it in the same time by the kernel's own count; null where it has none.
    pub kernel_write_bytes: Option<u64>,
    /// The share of the shadow drives that holds data.
    pub filled: f64,
    /// Answer to whether streams pay on this device.
    pub answer: Answer,
    /// The schemes, in the order asked for.
    pub schemes: Vec<SchemeView>,
    /// Largest writers, and the lifetimes of their data, in the drive's measure.
    pub contexts: Vec<ContextLives>,
    /// Contexts that are not listed, because they wrote less.
    pub unlisted_contexts: u64,
    /// Bytes those wrote.
    pub unlisted_bytes: u64,
    /// Counters of the drive below; null where it has none.
    pub drive: Option<DriveView>,
    /// Limits of what was seen, one sentence each.
    pub limitations: Vec<String>,
}

/// The drive's own counts since watching began, writes of other hosts and partitions included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DriveView {
    /// Name of the log.
    pub log: &'static str,
    /// Bytes hosts wrote.
    pub host_bytes: u64,
    /// Bytes it wrote on its flash; null where it counts the host's alone.
    pub media_bytes: Option<u64>,
    /// Its write amplification; null until it has counted a hundred of the units that it counts in.
    pub waf: Option<f64>,
}

/// From so many of what a log counts in a ratio is told (our choice: a hundredth is known then).
const GRAINS: u64 = 100;

impl DriveView {
    /// Counts of a log whose unit is so many bytes.
    pub fn new(
        log: &'static str,
        host_bytes: u64,
        media_bytes: Option<u64>,
        grain_bytes: u64,
    ) -> DriveView {
        let known = match grain_bytes {
            0 | 1 => 1,
            grain => grain.saturating_mul(GRAINS),
        };
        let media = media_bytes.filter(|_| host_bytes >= known);
        DriveView {
            log,
            host_bytes,
            media_bytes,
            waf: media.map(|media| media as f64 / host_bytes as f64),
        }
    }
}

/// Cost of watching, and coverage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Own {
    /// Processor time this process has used, seconds. What the probe takes of the programs that write is
    /// theirs, and not in it.
    pub cpu_s: f64,
    /// The share of one processor it used since the last snapshot.
    pub cpu: f64,
    /// Memory of this process that no file stands behind, bytes.
    pub memory_bytes: u64,
    /// Memory the kernel holds for the probe's maps, bytes.
    pub kernel_bytes: u64,
}

/// Layer at which the requests of a kind of device are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A whole drive: its own, and those of its partitions.
    Disk,
    /// A partition: its own alone.
    Partition,
    /// Device-mapper (LVM, dm-crypt, multipath): those that enter it, before they are mapped.
    Mapped,
    /// An array of md: those that enter it, without parity and resync.
    Array,
    /// A loop device: those that enter it, before its file.
    Loop,
}

impl Seen {
    /// Returns the kind of a device, by its name in /sys/class/block.
    pub fn of(name: &str, is_partition: bool) -> Seen {
        match name {
            _ if is_partition => Seen::Partition,
            name if name.starts_with("dm-") => Seen::Mapped,
            name if name.starts_with("md") => Seen::Array,
            name if name.starts_with("loop") => Seen::Loop,
            _ => Seen::Disk,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Seen::Disk => "whole drive",
            Seen::Partition => "partition",
            Seen::Mapped => "device-mapper, above its mapping",
            Seen::Array => "md array, above its members",
            Seen::Loop => "loop device, above its file",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drives_waf_is_told_once_it_has_counted_enough() {
        let waf = |host, media, grain| DriveView::new("x", host, media, grain).waf;
        assert_eq!(waf(99 * 512, Some(200 * 512), 512), None);
        assert_eq!(waf(100 * 512, Some(150 * 512), 512), Some(1.5));
        assert_eq!(waf(1, Some(3), 1), Some(3.0));
        assert_eq!(waf(1 << 40, None, 512), None);
        assert_eq!(waf(0, Some(0), 1), None);
    }

    #[test]
    fn a_device_is_known_by_its_name() {
        assert_eq!(Seen::of("nvme0n1", false), Seen::Disk);
        assert_eq!(Seen::of("nvme0n1p1", true), Seen::Partition);
        assert_eq!(Seen::of("dm-3", false), Seen::Mapped);
        assert_eq!(Seen::of("md127", false), Seen::Array);
    }
}
