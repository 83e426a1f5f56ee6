//! A drive formatted: the sizes that a file system takes, and the tool that makes it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::error::DiskError;
use crate::file_system::FileSystemKind;
use crate::loop_device::LoopDevice;
use crate::program::find_program;

/// Bytes of a file system block: the mapping unit of the drives we model, and the page of the kernel's cache.
const BLOCK_BYTES: u64 = 4096;

impl FileSystemKind {
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
