//! The file behind the loop device: sparse, nameless, in memory or on a disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};

use crate::error::DiskError;
use crate::place::{BackingPlace, MEMORY_FACTOR};

/// The directory of the backing file when memory is short: on a disk by the Filesystem Hierarchy Standard, unlike /tmp.
const DISK_DIRECTORY: &str = "/var/tmp";

/// A sparse file without a name: it disappears with its last descriptor, however its owner ends.
#[derive(Debug)]
pub(crate) struct BackingFile {
    pub(crate) file: File,
    pub(crate) place: BackingPlace,
}

impl BackingFile {
    /// Makes a file of `bytes` in `directory`, or in the place that fits best when none is named.
    pub(crate) fn create(bytes: u64, directory: Option<&Path>) -> Result<Self, DiskError> {
        let memory_bytes = memory_available_bytes();
        let place = choose_place(bytes, directory, memory_bytes);
        check_room(bytes, &place, directory.is_some(), memory_bytes)?;
        let failed = |source| DiskError::Backing {
            place: place.clone(),
            source,
        };
        let file = open(&place).map_err(failed)?;
        file.set_len(bytes).map_err(failed)?;
        tracing::debug!(?place, memory_bytes, "the drive's bytes lie there");
        Ok(BackingFile { file, place })
    }
}

fn open(place: &BackingPlace) -> io::Result<File> {
    match place {
        BackingPlace::Memory => Ok(File::from(memfd_create(
            "anabranch",
            MFdFlags::MFD_CLOEXEC,
        )?)),
        // O_TMPFILE where the file system can, else created and unlinked at once.
        BackingPlace::Directory(path) => tempfile::tempfile_in(path),
    }
}

fn choose_place(bytes: u64, directory: Option<&Path>, memory_bytes: u64) -> BackingPlace {
    match directory {
        Some(path) => BackingPlace::Directory(path.to_owned()),
        None if memory_bytes >= bytes.saturating_mul(MEMORY_FACTOR) => BackingPlace::Memory,
        None => BackingPlace::Directory(PathBuf::from(DISK_DIRECTORY)),
    }
}

/// Checks that a full drive would fit. The file is sparse, so that a shortage would show only later, as an I/O error
/// and not as an ENOSPC to the program.
fn check_room(
    bytes: u64,
    place: &BackingPlace,
    named: bool,
    memory_bytes: u64,
) -> Result<(), DiskError> {
    let BackingPlace::Directory(path) = place else {
        return Ok(());
    };
    let status = statfs(path.as_path()).map_err(|source| DiskError::Backing {
        place: place.clone(),
        source: source.into(),
    })?;
    let block_bytes = u64::try_from(status.block_size()).unwrap_or(0);
    let mut free_bytes = status.blocks_available().saturating_mul(block_bytes);
    if status.filesystem_type() == TMPFS_MAGIC {
        free_bytes = free_bytes.min(memory_bytes);
    }
    if free_bytes >= bytes {
        return Ok(());
    }
    Err(DiskError::NoRoom {
        place: place.clone(),
        free_bytes,
        needed_bytes: bytes,
        memory_available_bytes: (!named).then_some(memory_bytes),
    })
}

/// Bytes that programs can still allocate without swapping; 0 where the kernel does not tell.
fn memory_available_bytes() -> u64 {
    fs::read_to_string("/proc/meminfo").map_or(0, |text| parse_memory_available(&text))
}

fn parse_memory_available(meminfo: &str) -> u64 {
    meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .and_then(|kibibytes| kibibytes.trim().parse::<u64>().ok())
        .map_or(0, |kibibytes| kibibytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_only_when_three_drives_fit() {
        assert_eq!(choose_place(100, None, 300), BackingPlace::Memory);
        let disk = BackingPlace::Directory(PathBuf::from(DISK_DIRECTORY));
        assert_eq!(choose_place(100, None, 299), disk);
        assert_eq!(choose_place(u64::MAX, None, u64::MAX - 1), disk);
    }

    #[test]
    fn a_named_directory_is_always_taken() {
        let named = BackingPlace::Directory(PathBuf::from("/srv/drives"));
        assert_eq!(
            choose_place(1, Some(Path::new("/srv/drives")), u64::MAX),
            named
        );
    }

    #[test]
    fn available_memory_is_read_in_bytes_and_garbage_is_none() {
        let text = "MemTotal:  100 kB\nMemAvailable:     42 kB\n";
        assert_eq!(parse_memory_available(text), 42 * 1024);
        assert_eq!(parse_memory_available("MemAvailable: lots\n"), 0);
        assert_eq!(parse_memory_available(""), 0);
    }

    #[test]
    fn a_drive_without_room_is_told_what_is_free_and_what_was_needed() {
        let petabyte = 1 << 50;
        let error = BackingFile::create(petabyte, None).unwrap_err().to_string();
        assert!(
            error.contains("no room for a drive of 1073741824 MiB"),
            "{error}"
        );
        assert!(
            error.contains("/var/tmp has") && error.contains("memory has"),
            "{error}"
        );
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error_with_its_name() {
        let error = BackingFile::create(4096, Some(Path::new("/nowhere/at-all"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at-all"), "{error}");
    }
}
