//! Life-time hints of files, as rules say.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use anabranch_placement::FileRules;
use anabranch_trace::WriteHint;
use nix::sys::stat::{SFlag, fstat};

use crate::error::SteerError;
use crate::file_handle::{FileHandle, hint, set_hint};
use crate::hints_left::HintsLeft;

/// The beginning of tenants' directories, right below the file system's root.
const TENANT: &str = "tenant-";

/// The hint that stands for a stream: none for 0, then the kernel's four from the shortest life on; a stream beyond
/// these has the last.
pub fn hint_of(stream: u16) -> WriteHint {
    const HINTS: [WriteHint; 4] = [
        WriteHint::NotSet,
        WriteHint::Short,
        WriteHint::Medium,
        WriteHint::Long,
    ];
    let hint = HINTS.get(usize::from(stream)).copied();
    hint.unwrap_or(WriteHint::Extreme)
}

/// Counts so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HintCounts {
    /// Files given each hint, in the order of the kernel's numbers.
    pub set: [u64; WriteHint::ALL.len()],
    /// Openings of files that had their hint already.
    pub had: u64,
    /// Openings of files for which the kernel refused it.
    pub refused: u64,
}

/// The hints of one file system's files.
pub struct FileHints {
    rules: FileRules,
    root: PathBuf,
    left: HintsLeft,
    counts: HintCounts,
}

impl FileHints {
    /// For the file system that is mounted at `root`.
    pub fn new(rules: FileRules, root: &Path, left: HintsLeft) -> FileHints {
        FileHints {
            rules,
            root: root.to_owned(),
            left,
            counts: HintCounts::default(),
        }
    }

    /// Sees to the hint of an open file. What is no file, or has no name any more, is passed over.
    ///
    /// # Errors
    /// When it cannot be kept what is set, and so nothing is set.
    pub fn meet(&mut self, file: BorrowedFd<'_>) -> Result<(), SteerError> {
        let is_file = |mode| SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == SFlag::S_IFREG;
        let found = fstat(file);
        if !found.is_ok_and(|found| is_file(found.st_mode) && found.st_nlink > 0) {
            return Ok(());
        }
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        let Ok(path) = fs::read_link(link) else {
            return Ok(());
        };
        // By another mount than the one that is watched, nobody can say whose it is.
        if self.rules.goes_by_tenant() && !path.starts_with(&self.root) {
            return Ok(());
        }
        let wanted = hint_of(self.stream(&path));
        match hint(file) {
            Ok(now) if now == wanted => self.counts.had += 1,
            Ok(now) => return self.set(file, now, wanted),
            Err(_) => self.counts.refused += 1,
        }
        Ok(())
    }

    fn stream(&self, path: &Path) -> u16 {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.rules.stream(&name, tenant(&self.root, path))
    }

    fn set(
        &mut self,
        file: BorrowedFd<'_>,
        now: WriteHint,
        wanted: WriteHint,
    ) -> Result<(), SteerError> {
        let kept = FileHandle::of(file).and_then(|handle| self.left.record(handle, now, wanted));
        let unkept = |error: io::Error| {
            SteerError::io("keep a list of what is set, to undo it, on", &self.root)(error)
        };
        kept.map_err(unkept)?;
        match set_hint(file, wanted) {
            Ok(()) => self.counts.set[wanted as usize] += 1,
            Err(_) => self.counts.refused += 1,
        }
        Ok(())
    }

    /// Counts so far.
    pub fn counts(&self) -> HintCounts {
        self.counts
    }

    /// The hints that are set, to undo or to inspect.
    pub fn left(&mut self) -> &mut HintsLeft {
        &mut self.left
    }

    /// The hints that are set, at the end.
    pub fn into_left(self) -> HintsLeft {
        self.left
    }
}

/// The tenant that a file belongs to: `tenant-N` below the root is N's; 0 if it is nobody's.
fn tenant(root: &Path, path: &Path) -> u32 {
    let below = path.strip_prefix(root).ok();
    let first = below.and_then(|below| below.iter().next()?.to_str());
    let number = first.and_then(|name| name.strip_prefix(TENANT)?.parse().ok());
    number.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_the_kernels_hints_in_order() {
        let hints = [0, 1, 2, 3, 4, 9].map(|stream| hint_of(stream).name());
        assert_eq!(
            hints,
            ["not-set", "short", "medium", "long", "extreme", "extreme"]
        );
    }

    #[test]
    fn tenants_are_told_by_the_directory_below_the_root() {
        let of = |path: &str| tenant(Path::new("/srv/db"), Path::new(path));
        let paths = [
            "/srv/db/tenant-7/a",
            "/srv/db/x/tenant-7/a",
            "/tenant-7/a",
            "/srv/db/tenant-x",
        ];
        assert_eq!(paths.map(of), [7, 0, 0, 0]);
    }
}
