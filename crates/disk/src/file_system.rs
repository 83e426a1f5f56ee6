//! The file systems a drive can carry.

use std::fmt;
use std::io;
use std::process::{Command, Stdio};
use std::str::FromStr;

use std::os::unix::process::CommandExt;

use crate::error::DiskError;
use crate::loop_device::LoopDevice;
use crate::program::find_program;

/// Bytes of a file system block: the mapping unit of the drives we model, and the page of the kernel's cache.
pub(crate) const BLOCK_BYTES: u64 = 4096;

/// A file system that a drive can be formatted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FileSystemKind {
    /// ext4 with a journal.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
}

/// A name that stands for no file system known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown file system `{0}`: take ext4 or xfs")]
pub struct UnknownFileSystem(String);

impl FileSystemKind {
    /// Every kind.
    pub const ALL: [FileSystemKind; 2] = [FileSystemKind::Ext4, FileSystemKind::Xfs];

    /// The file system's name, as `mount -t` takes it.
    pub fn name(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "ext4",
            FileSystemKind::Xfs => "xfs",
        }
    }

    /// The smallest drive, in bytes, that can carry the file system.
    ///
    /// ext4: `mke2fs` leaves the journal away below 2,048 blocks, and a file system without a journal is not
    /// what people run. XFS: `mkfs.xfs` refuses less than 300 MiB since xfsprogs 5.19.
    pub fn minimum_bytes(self) -> u64 {
        match self {
            FileSystemKind::Ext4 => 8 << 20,
            FileSystemKind::Xfs => 300 << 20,
        }
    }

    /// Checks whether a drive of this size is possible, before anything is made.
    ///
    /// # Errors
    /// When the size is too small or not a whole number of blocks; the message names a size that works.
    pub fn check_size(self, bytes: u64) -> Result<(), DiskError> {
        let minimum_bytes = self.minimum_bytes();
        if bytes < minimum_bytes {
            return Err(DiskError::TooSmall {
                file_system: self,
                bytes,
                minimum_bytes,
            });
        }
        if !bytes.is_multiple_of(BLOCK_BYTES) {
            return Err(DiskError::NotWholeBlocks {
                bytes,
                block_bytes: BLOCK_BYTES,
                rounded_bytes: bytes.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES),
            });
        }
        Ok(())
    }

    /// Makes an empty file system on `device` and returns when all of it has been handed to the kernel.
    pub(crate) fn format(self, device: &LoopDevice) -> Result<(), DiskError> {
        let program = self.mkfs_program();
        let failed = |status: String, said: &str| DiskError::MkfsFailed {
            program,
            device: device.path().to_owned(),
            status,
            stderr: said.trim().to_owned(),
        };
        let not_started = |error: io::Error| failed(error.to_string(), "it could not be started");
        let found = find_program(program.as_ref(), &mkfs_search_path()).ok_or_else(|| {
            DiskError::MkfsMissing {
                program,
                package: self.mkfs_package(),
            }
        })?;
        let output = Command::new(found)
            .args(self.mkfs_arguments())
            .arg(device.path())
            // It reads nothing there, but holds the device: were we killed, the number could become another's
            // device before this process opens it by its name, and formats that.
            .stdin(Stdio::from(device.hold().map_err(not_started)?))
            // A group of its own: Ctrl-C is for the command, a half-made file system helps nobody.
            .process_group(0)
            .output()
            .map_err(not_started)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(output.status.to_string(), &said))
    }

    fn mkfs_program(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "mkfs.ext4",
            FileSystemKind::Xfs => "mkfs.xfs",
        }
    }

    fn mkfs_package(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "e2fsprogs",
            FileSystemKind::Xfs => "xfsprogs",
        }
    }

    /// The mount options: deleted files are discarded at once, and ext4 does not zero its inode tables in the
    /// background, which would disturb a measurement.
    pub(crate) fn mount_options(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "discard,noinit_itable",
            FileSystemKind::Xfs => "discard",
        }
    }

    fn mkfs_arguments(self) -> &'static [&'static str] {
        match self {
            // Nothing is zeroed that the fresh drive already reads as zeroes: such pages would lie on the
            // simulated drive as data that never dies, and cost half of a small drive's spare room.
            FileSystemKind::Ext4 => &[
                "-q",
                "-F",
                "-b",
                "4096",
                "-m",
                "0",
                "-E",
                "lazy_itable_init=1,lazy_journal_init=1",
            ],
            FileSystemKind::Xfs => &["-q", "-f", "-b", "size=4096"],
        }
    }
}

impl fmt::Display for FileSystemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FileSystemKind {
    type Err = UnknownFileSystem;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownFileSystem(text.to_owned()))
    }
}

/// The directories searched for the tool: `su` without `-` leaves the system directories out of root's PATH.
fn mkfs_search_path() -> std::ffi::OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_in_any_case() {
        for kind in FileSystemKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(kind.name().to_uppercase().parse(), Ok(kind));
        }
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let error = "btrfs".parse::<FileSystemKind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown file system `btrfs`: take ext4 or xfs"
        );
    }

    #[test]
    fn a_size_too_small_is_told_the_smallest_that_works() {
        let error = FileSystemKind::Xfs.check_size(1 << 20).unwrap_err();
        assert!(
            error.to_string().contains("314572800 bytes (300 MiB)"),
            "{error}"
        );
        assert!(FileSystemKind::Xfs.check_size(300 << 20).is_ok());
        assert!(FileSystemKind::Ext4.check_size((8 << 20) - 4096).is_err());
    }

    #[test]
    fn a_size_between_two_blocks_is_told_the_next_whole_one() {
        let error = FileSystemKind::Ext4.check_size((16 << 20) + 1).unwrap_err();
        assert!(error.to_string().contains("take 16781312"), "{error}");
        assert!(FileSystemKind::Ext4.check_size(u64::MAX).is_err());
    }
}
