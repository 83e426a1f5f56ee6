//! Numbers by which the kernel knows a device, and a file system on it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use nix::sys::stat::{major, minor};

use crate::error::ProbeError;

/// The number the kernel knows a block device by: major << 20 | minor.
pub(crate) fn device_number(path: &Path) -> Result<u32, ProbeError> {
    let metadata = fs::metadata(path).map_err(|source| ProbeError::Read {
        path: path.to_owned(),
        source,
    })?;
    if !metadata.file_type().is_block_device() {
        return Err(ProbeError::NotABlockDevice {
            path: path.to_owned(),
        });
    }
    Ok(kernel_number(metadata.rdev()))
}

/// A device's number as the kernel keeps it: 12 bits of major, 20 bits of minor number.
fn kernel_number(number: u64) -> u32 {
    ((major(number) as u32 & 0xfff) << 20) | (minor(number) as u32 & 0xf_ffff)
}

/// Whether a whole device is a namespace of an NVMe drive, by the kernel's name of it.
pub(crate) fn is_nvme(device: u32) -> bool {
    let node = format!("/sys/dev/block/{}:{}", device >> 20, device & 0xf_ffff);
    let place = fs::canonicalize(node).unwrap_or_default();
    let name = place.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("nvme"))
}

/// The number of the btrfs that this thread sees mounted from a device or a partition of it; 0 where there is none. Its super
/// block names no device, since it may lie on several. The mount names one of these alone. The kernel side learns the number
/// from the first request to any of them.
pub(crate) fn file_system_number(device: u32) -> u32 {
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap_or_default();
    let found = mounts.lines().filter_map(btrfs_mount);
    let mut own = found.filter(|(_, source)| lies_on(source, device));
    own.next().map_or(0, |(number, _)| number)
}

/// Number and source of a mount of btrfs (proc_pid_mountinfo(5)).
fn btrfs_mount(line: &str) -> Option<(u32, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    if after.next() != Some("btrfs") {
        return None;
    }
    Some((parse_number(before.split(' ').nth(2)?)?, after.next()?))
}

fn parse_number(text: &str) -> Option<u32> {
    let (major, minor) = text.trim_end().split_once(':')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    Some((major & 0xfff) << 20 | minor & 0xf_ffff)
}

/// Whether a path is that of a device, or of a partition of it.
fn lies_on(path: &str, device: u32) -> bool {
    let Ok(found) = fs::metadata(path) else {
        return false;
    };
    let own = kernel_number(found.rdev());
    let node = format!("/sys/dev/block/{}:{}", own >> 20, own & 0xf_ffff);
    let disk = fs::read_to_string(format!("{node}/../dev"));
    own == device || disk.is_ok_and(|number| parse_number(&number) == Some(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_block_device() {
        let error = device_number(Path::new("/dev/null")).unwrap_err();
        assert!(matches!(error, ProbeError::NotABlockDevice { .. }));
        assert!(error.to_string().contains("/dev/null"));
    }

    #[test]
    fn a_device_that_does_not_exist_is_named() {
        let error = device_number(Path::new("/dev/nothing-here")).unwrap_err();
        assert!(error.to_string().contains("/dev/nothing-here"));
    }

    #[test]
    fn a_mount_of_btrfs_has_a_number_and_a_source() {
        let line = "61 29 0:48 /@home /home rw,relatime shared:31 - btrfs /dev/vdb1 rw,compress=zstd:3,subvol=/@home";
        assert_eq!(btrfs_mount(line), Some((48, "/dev/vdb1")));
    }

    #[test]
    fn other_lines_have_none() {
        for line in [
            "61 29 8:1 / /home rw - ext4 /dev/sda1 rw",
            "61 29 0:48 / /home rw - btrfs",
            "61 29 x:48 / /home rw - btrfs /dev/sda1 rw",
            "btrfs",
            "",
        ] {
            assert_eq!(btrfs_mount(line), None, "{line}");
        }
    }
}
