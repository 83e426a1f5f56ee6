//! The file systems a drive can carry, by name.

use std::fmt;
use std::str::FromStr;

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

    /// The mount options: deleted files are discarded at once, and ext4 does not zero its inode tables in the
    /// background, which would disturb a measurement.
    pub(crate) fn mount_options(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "discard,noinit_itable",
            FileSystemKind::Xfs => "discard",
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
}
