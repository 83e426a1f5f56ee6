//! The kernel's own facts about a drive's disk: when it found it, what it wrote to it, and whether it may.

use std::fs;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

use fnv::FnvHasher;

use crate::take_over::Disk;

/// Reads the counts of a disk, below these places of sysfs: its own, and its paths'. Nothing where the kernel does not count,
/// or counts handed-through commands too.
pub fn counted(disks: &[PathBuf]) -> Option<Disk> {
    let mut life = FnvHasher::default();
    let mut others_sectors = 0_u64;
    for disk in disks {
        let is_on = |name: &str| line(&disk.join("queue").join(name)).is_some_and(|on| on == "1");
        if !is_on("iostats") || is_on("iostats_passthrough") {
            return None;
        }
        life.write(disk.as_os_str().as_encoded_bytes());
        life.write_u64(sequence(disk)?);
        let counts = line(&disk.join("stat"))?;
        others_sectors = others_sectors.checked_add(sectors(&counts)?)?;
    }
    Some(Disk {
        // 0 stands for none.
        life: life.finish().max(1),
        others_sectors,
    })
}

/// Sectors written and discarded: the fields 7 and 14 of a disk's `stat` (Documentation/block/stat.rst).
fn sectors(counts: &str) -> Option<u64> {
    let fields: Option<Vec<u64>> = counts
        .split_whitespace()
        .map(|field| field.parse().ok())
        .collect();
    let fields = fields?;
    fields
        .get(6)?
        .checked_add(fields.get(13).copied().unwrap_or(0))
}

/// The kernel's number of a disk, which no other gets until the next boot (Linux 5.15 or newer).
pub fn sequence(disk: &Path) -> Option<u64> {
    line(&disk.join("diskseq"))?.parse().ok()
}

/// Whether the kernel was told that nobody may write to it.
pub fn is_read_only(disk: &Path) -> bool {
    line(&disk.join("ro")).is_some_and(|read_only| read_only != "0")
}

fn line(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "  1 2 3 4 5 6 700 8 9 10 11 12 13 40 15 16 17\n";

    fn disk(directory: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(directory.join("queue")).unwrap();
        for (name, text) in files {
            fs::write(directory.join(name), text).unwrap();
        }
    }

    #[test]
    fn writes_and_discards_of_a_disk_and_its_paths_are_counted_together() {
        let directory = tempfile::tempdir().unwrap();
        let disks = ["nvme0n1", "nvme0c0n1"].map(|name| directory.path().join(name));
        for (place, number) in disks.iter().zip(["5\n", "6\n"]) {
            disk(
                place,
                &[
                    ("stat", STAT),
                    ("diskseq", number),
                    ("queue/iostats", "1\n"),
                ],
            );
        }
        let both = counted(&disks).unwrap();
        assert_eq!(both.others_sectors, 2 * 740);
        assert_eq!(counted(&disks[..1]).unwrap().others_sectors, 740);
        assert_ne!(counted(&disks[..1]).unwrap().life, both.life);
        // Found anew.
        disk(&disks[1], &[("diskseq", "7\n")]);
        assert_ne!(counted(&disks).unwrap().life, both.life);
        // A kernel before discards were counted.
        disk(&disks[0], &[("stat", "1 2 3 4 5 6 700 8 9 10 11\n")]);
        assert_eq!(counted(&disks[..1]).unwrap().others_sectors, 700);
    }

    #[test]
    fn a_disk_whose_writes_are_not_counted_apart_has_no_counts() {
        let all = [
            ("stat", STAT),
            ("diskseq", "5\n"),
            ("queue/iostats", "1\n"),
            ("queue/iostats_passthrough", "0\n"),
        ];
        for (name, text) in [
            ("queue/iostats", "0\n"),
            ("queue/iostats_passthrough", "1\n"),
            ("stat", "1 2 x\n"),
            ("diskseq", "\n"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let places = [directory.path().to_owned()];
            disk(directory.path(), &all);
            assert!(counted(&places).is_some());
            disk(directory.path(), &[(name, text)]);
            assert_eq!(counted(&places), None, "{name}");
        }
    }

    #[test]
    fn a_disk_that_nobody_may_write_to_is_read_only() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_read_only(directory.path()));
        disk(directory.path(), &[("ro", "0\n")]);
        assert!(!is_read_only(directory.path()));
        disk(directory.path(), &[("ro", "1\n")]);
        assert!(is_read_only(directory.path()));
    }
}
