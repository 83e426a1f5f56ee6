//! A block device, by what sysfs tells of it.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use anabranch_watch::Seen;
use nix::sys::stat::{major, minor};

use crate::error::{CommandError, Result};

/// Bytes of a sector of sysfs, whatever the drive's are.
const SECTOR_BYTES: u64 = 512;
/// The field of `stat` that counts sectors written (Documentation/block/stat.rst).
const SECTORS_WRITTEN: usize = 6;
/// Files in which the kernel identifies a device, the surest first; below the device's own directory.
const IDENTITIES: [&str; 6] = [
    "wwid",
    "device/wwid",
    "device/serial",
    "dm/uuid",
    "md/uuid",
    "loop/backing_file",
];

/// A block device.
#[derive(Debug, Clone)]
pub struct Block {
    /// Its path as it was asked for.
    pub path: PathBuf,
    /// The kernel's name of it.
    pub name: String,
    /// Its directory in sysfs.
    class: PathBuf,
    /// Its bytes when it was found.
    pub bytes: u64,
    /// Kind of the device.
    pub seen: Seen,
    /// Identity that lasts over a restart, as far as the kernel has one; else the name.
    pub identity: String,
    /// The kernel's count of disks, which no two have in common.
    sequence: Option<u64>,
}

impl Block {
    /// Finds a device.
    pub fn find(path: &Path) -> Result<Block> {
        let none = |why: &dyn std::fmt::Display| {
            CommandError::wrong_use(format!(
                "{}: {why}; `lsblk` lists the block devices there are",
                path.display()
            ))
        };
        // By its numbers: a node of /dev/mapper may have a name of its own, as containers make them.
        let metadata = fs::metadata(path).map_err(|error| none(&error))?;
        if !metadata.file_type().is_block_device() {
            return Err(none(&"it is not a block device"));
        }
        let device = metadata.rdev();
        let link = format!("/sys/dev/block/{}:{}", major(device), minor(device));
        let real = fs::canonicalize(&link).map_err(|_| none(&"the kernel has no such device"))?;
        let name = real
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let class = Path::new("/sys/class/block").join(&name);
        let bytes = number(&class.join("size")).unwrap_or(0) * SECTOR_BYTES;
        if bytes == 0 {
            return Err(none(&"nothing is bound to it"));
        }
        let partition = number(&class.join("partition"));
        Ok(Block {
            path: path.to_owned(),
            bytes,
            seen: Seen::of(&name, partition.is_some()),
            identity: identity(&class, partition).unwrap_or_else(|| name.clone()),
            sequence: number(&class.join("diskseq")),
            name,
            class,
        })
    }

    /// Whether it is still there, as it was found.
    pub fn is_there(&self) -> bool {
        number(&self.class.join("size")) == Some(self.bytes / SECTOR_BYTES)
            && number(&self.class.join("diskseq")) == self.sequence
    }

    /// The device that is back at its path, if it is the same; its size may be another.
    pub fn back(&self) -> Option<Block> {
        let found = Block::find(&self.path).ok()?;
        // A name alone may be another device's by now: one of another size is.
        let is_named_only = found.identity == found.name;
        let is_same =
            found.identity == self.identity && (!is_named_only || found.bytes == self.bytes);
        is_same.then_some(found)
    }

    /// The character device of the NVMe drive that it is, or is a part of.
    #[cfg(feature = "steer")]
    pub fn character(&self) -> Option<PathBuf> {
        let disk = disk(&fs::canonicalize(&self.class).ok()?);
        let name = disk.file_name()?.to_str()?.strip_prefix("nvme")?.to_owned();
        Some(Path::new("/dev").join(format!("ng{name}")))
    }

    /// Bytes written to it since it came, by the kernel's own count.
    pub fn written_bytes(&self) -> Option<u64> {
        let stat = fs::read_to_string(self.class.join("stat")).ok()?;
        let sectors = stat.split_whitespace().nth(SECTORS_WRITTEN)?;
        Some(sectors.parse::<u64>().ok()?.saturating_mul(SECTOR_BYTES))
    }
}

/// The disk of a partition, by its directory in sysfs; a device that is no partition is its own disk.
fn disk(own: &Path) -> PathBuf {
    match own.parent() {
        Some(parent) if own.join("partition").exists() => parent.to_owned(),
        _ => own.to_owned(),
    }
}

/// A partition is known by its disk and its number.
fn identity(class: &Path, partition: Option<u64>) -> Option<String> {
    let disk = disk(&fs::canonicalize(class).ok()?);
    let told = IDENTITIES.iter().find_map(|name| {
        let text = fs::read_to_string(disk.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    });
    match partition {
        Some(number) => Some(format!("{} partition {number}", told?)),
        None => told,
    }
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
