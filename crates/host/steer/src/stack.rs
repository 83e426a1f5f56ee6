//! Block devices that are made of others. All paths lie below a root, so that tests can make their own.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use nix::sys::stat::{major, minor};

/// Most devices of a stack that are looked at (our choice).
const MOST_LAYERS: usize = 1024;

/// The kernel's name of the block device at a path, where links are followed: by its number, as a node may have any
/// name. Of anything else, the file's name.
pub fn kernel_name(root: &Path, path: &Path) -> Option<String> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let found = fs::metadata(&real).ok();
    let device = found.filter(|found| found.file_type().is_block_device());
    let by_number = device.and_then(|device| {
        let number = format!("{}:{}", major(device.rdev()), minor(device.rdev()));
        fs::canonicalize(root.join("sys/dev/block").join(number)).ok()
    });
    let named = by_number.as_deref().unwrap_or(&real);
    named.file_name()?.to_str().map(str::to_owned)
}

/// The kernel's names of a block device, and of all that it is made of (RAID, device mapper): itself first.
pub fn layers(root: &Path, name: &str) -> Vec<String> {
    let mut found = vec![name.to_owned()];
    let mut at = 0;
    while at < found.len() && found.len() < MOST_LAYERS {
        let below = slaves(root, &found[at]);
        let new: Vec<String> = below.filter(|name| !found.contains(name)).collect();
        found.extend(new);
        at += 1;
    }
    found
}

/// The kernel's names of the devices that one is made of.
pub fn slaves(root: &Path, name: &str) -> impl Iterator<Item = String> {
    let directory = root.join("sys/class/block").join(name).join("slaves");
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_layers_are_found_once() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for (upper, lower) in [("dm-0", "md0"), ("md0", "a"), ("md0", "b"), ("dm-0", "a")] {
            let place = root.join("sys/class/block").join(upper).join("slaves");
            fs::create_dir_all(place.join(lower)).unwrap();
        }
        let mut found = layers(root, "dm-0");
        assert_eq!(found[0], "dm-0");
        found.sort();
        assert_eq!(found, ["a", "b", "dm-0", "md0"]);
        assert_eq!(layers(root, "a"), ["a"]);
        // One that is made of itself, as no kernel allows, ends too.
        fs::create_dir_all(root.join("sys/class/block/a/slaves/dm-0")).unwrap();
        assert_eq!(layers(root, "dm-0").len(), 4);
    }

    #[test]
    fn a_device_is_named_by_the_kernel_and_a_file_by_itself() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("nvme0n1");
        fs::write(&file, "").unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(kernel_name(root.path(), &link).as_deref(), Some("nvme0n1"));
        let gone = root.path().join("gone");
        assert_eq!(kernel_name(root.path(), &gone).as_deref(), Some("gone"));
    }
}
