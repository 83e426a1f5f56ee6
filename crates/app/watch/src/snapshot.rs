//! What is known at one moment.

use anabranch_replay::{ContextLives, Source};
use anabranch_trace::Rate;
use serde::Serialize;

use crate::{answer::Answer, scheme_view::SchemeView};

/// Version of the snapshot's form. Fields are added, never renamed.
pub const SCHEMA: u32 = 1;

/// All that is known at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When it was taken, in seconds since 1970-01-01 UTC.
    pub unix_s: u64,
    /// Seconds this process has watched.
    pub watched_s: f64,
    /// The devices, in the order asked for.
    pub devices: Vec<DeviceView>,
    /// What watching costs.
    pub own: Own,
}

/// What is known of one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceView {
    /// Its path as it was asked for.
    pub device: String,
    /// What kind of device it is, and so where its requests are seen.
    pub kind: String,
    /// Whether it is there, and watched.
    pub is_watched: bool,
    /// Its bytes.
    pub device_bytes: u64,
    /// One page of how many its shadow drives have, as in `1/64`.
    pub rate: Rate,
    /// Pages an erase unit of them has.
    pub unit_pages: u32,
    /// What was asked of it: every request, whatever the rate.
    pub source: Source,
    /// What the kernel itself counts as written to it in the same time; null where it does not tell.
    pub kernel_write_bytes: Option<u64>,
    /// The share of the shadow drives that holds data.
    pub filled: f64,
    /// The answer.
    pub answer: Answer,
    /// The schemes, in the order asked for.
    pub schemes: Vec<SchemeView>,
    /// Who wrote most, and how long it lived, in the drive's measure.
    pub contexts: Vec<ContextLives>,
    /// Contexts that are not listed, because they wrote less.
    pub unlisted_contexts: u64,
    /// Bytes those wrote.
    pub unlisted_bytes: u64,
    /// What the drive below counts itself; null where it does not.
    pub drive: Option<DriveView>,
    /// What could not be seen, one sentence each.
    pub limitations: Vec<String>,
}

/// What a drive counted of its own writes since watching began, those of other hosts and partitions among them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DriveView {
    /// Which log that stands in.
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
    /// What a log that counts in so many bytes has counted.
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

/// What watching costs, and what was seen of it.
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

/// Where the requests of a kind of device are seen.
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
    /// What a device is, by its name in /sys/class/block.
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
