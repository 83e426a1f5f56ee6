//! The place of a drive's bytes.

use std::fmt;
use std::path::PathBuf;

/// Memory is used when it has room for this many times the drive's size: the drive itself, the page cache of the file
/// system on it, and the program. Our choice.
pub(crate) const MEMORY_FACTOR: u64 = 3;

/// The place of a drive's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackingPlace {
    /// In memory: fast, and without wear of a real drive. Not in /dev/shm, which containers limit to 64 MiB.
    Memory,
    /// In a nameless file in this directory.
    Directory(PathBuf),
}

impl fmt::Display for BackingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackingPlace::Memory => f.write_str("memory"),
            BackingPlace::Directory(path) => write!(f, "{}", path.display()),
        }
    }
}
