//! The layers of a device that is made of others, down to the drives.

use std::fs;
use std::path::{Path, PathBuf};

use anabranch_steer::{kernel_name, layers, slaves};

use crate::host::disk_of;

/// The disks that a device is made of, where it is a RAID, a device mapper's or a block device of `steer`'s: the lowest, by
/// their paths below `root`, in the order of their names; none of any other device. `behind` finds the drive behind a block
/// device of `steer`'s.
pub fn disks_below(
    root: &Path,
    path: &Path,
    behind: impl Fn(&Path) -> Option<PathBuf>,
) -> Vec<PathBuf> {
    let class = root.join("sys/class/block");
    let name = kernel_name(root, path);
    let below = name.iter().flat_map(|name| layers(root, name).split_off(1));
    let mut layer: Vec<String> = below
        .filter(|name| slaves(root, name).next().is_none())
        .collect();
    layer.sort();
    let mut disks: Vec<PathBuf> = layer.iter().map(|one| root.join("dev").join(one)).collect();
    if disks.is_empty() {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        return behind(&real).into_iter().collect();
    }
    for (disk, name) in disks.iter_mut().zip(&layer) {
        let whole = disk_of(&class.join(name), name);
        if let Some(drive) = behind(&root.join("dev").join(whole)) {
            *disk = drive;
        }
    }
    disks
}

/// The NVMe character device of the drive behind a block device of `steer`'s; `None` of any other device, and where it cannot
/// be asked.
pub fn drive_behind(block: &Path) -> Option<PathBuf> {
    anabranch_steer::behind(block).ok()?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A file below a root, with all directories above it.
    fn put(root: &Path, path: &str, words: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, words).unwrap();
    }

    #[test]
    fn a_raid_of_drives_and_a_mapper_on_it_are_looked_through() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for (path, words) in [
            ("dev/nvme7n1", ""),
            ("dev/md0", ""),
            ("dev/dm-3", ""),
            ("sys/class/block/md0/slaves/nvme8n1/dev", "7:251\n"),
            ("sys/class/block/md0/slaves/nvme7n1/dev", "7:250\n"),
            ("sys/class/block/dm-3/slaves/md0/dev", "9:0\n"),
        ] {
            put(root, path, words);
        }
        let drives = ["dev/nvme7n1", "dev/nvme8n1"].map(|path| root.join(path));
        let none = |_: &Path| None;
        assert_eq!(disks_below(root, &root.join("dev/md0"), none), drives);
        assert_eq!(disks_below(root, &root.join("dev/dm-3"), none), drives);
        assert!(disks_below(root, &root.join("dev/nvme7n1"), none).is_empty());
    }

    #[test]
    fn a_raid_of_steered_drives_is_looked_through_to_the_drives_behind_their_block_devices() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        put(root, "sys/class/block/md0/slaves/ublkb0/dev", "259:1\n");
        put(root, "sys/class/block/md0/slaves/sda/dev", "8:0\n");
        let behind = |path: &Path| {
            let name = path.file_name()?.to_str()?;
            let number = name.strip_prefix("ublkb")?;
            Some(format!("/dev/ng{number}n1").into())
        };
        let found = disks_below(root, &root.join("dev/md0"), behind);
        assert_eq!(found, [root.join("dev/sda"), "/dev/ng0n1".into()]);
        // A partition is looked through, too.
        put(root, "sys/devices/ublkb2/ublkb2p1/partition", "1\n");
        put(root, "sys/class/block/md1/slaves/ublkb2p1/dev", "259:3\n");
        let partition = root.join("sys/class/block/ublkb2p1");
        symlink(root.join("sys/devices/ublkb2/ublkb2p1"), partition).unwrap();
        let found = disks_below(root, &root.join("dev/md1"), behind);
        assert_eq!(found, [PathBuf::from("/dev/ng2n1")]);
        let found = disks_below(root, &root.join("dev/ublkb1"), behind);
        assert_eq!(found, [PathBuf::from("/dev/ng1n1")]);
    }
}
