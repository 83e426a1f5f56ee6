//! The hints set on a file system, and those before them, so that they can be undone, also by another process
//! after ours was killed. A file in `/run`: the kernel keeps hints in memory too, and a restart ends both.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anabranch_trace::WriteHint;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::{ENOENT, ESTALE};

use crate::error::SteerError;
use crate::file_handle::{FileHandle, hint, set_hint};

/// The first line of the file: what it is, and the version of its form.
const TITLE: &str = "anabranch-hints 1";
/// With so many lines, or twice as many as there were, it is looked which files are still there (our choice).
const FEW: usize = 4096;

/// A file's hint before we came, and the one that we set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    before: WriteHint,
    set: WriteHint,
}

/// Counts of files, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that have the hint again that they had.
    pub restored: u64,
    /// Files that are gone, or whose hint the kernel has forgotten.
    pub vanished: u64,
    /// Files with another hint than ours by now: left as they are.
    pub changed: u64,
    /// Files that could not be opened, or not be given their hint: they stay in the list.
    pub refused: u64,
}

/// The hints that are set, of one file system.
pub struct HintsLeft {
    path: PathBuf,
    file: Flock<File>,
    changes: HashMap<FileHandle, Change>,
    /// Lines of the file. A file whose hint changes has several.
    lines: usize,
    /// The count of lines at which it is next checked which files are left.
    look_at: usize,
}

impl HintsLeft {
    /// The place of a file system's list, by its number as `stat` gives it.
    pub fn place(device: u64) -> PathBuf {
        let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
        format!("/run/anabranch-hints/{major}:{minor}").into()
    }

    /// Reads what is there, or begins anew; nobody else may until this is dropped.
    ///
    /// # Errors
    /// When another process has it, it is something else, or it cannot be made.
    pub fn open(path: &Path) -> Result<HintsLeft, SteerError> {
        if let Some(directory) = path.parent() {
            let made = fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory);
            made.map_err(SteerError::io("make, as root,", directory))?;
        }
        let mut file = lock(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(SteerError::io("read", path))?;
        let changes = if text.is_empty() {
            writeln!(file, "{TITLE}").map_err(SteerError::io("write", path))?;
            HashMap::new()
        } else {
            parse(&text).ok_or_else(|| {
                SteerError::Unfit(format!(
                    "{} is not a list of hints that were set: move it away",
                    path.display()
                ))
            })?
        };
        // What comes next must not stand behind a line that was not written to its end.
        if let Some(last) = text.rfind('\n') {
            file.set_len(last as u64 + 1)
                .map_err(SteerError::io("shorten", path))?;
        }
        let lines = text.lines().count();
        Ok(HintsLeft {
            path: path.to_owned(),
            file,
            look_at: FEW.max(2 * changes.len()),
            lines,
            changes,
        })
    }

    /// The number of files whose hints are set.
    pub fn files(&self) -> usize {
        self.changes.len()
    }

    /// Notes what is about to be set.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub fn record(
        &mut self,
        file: FileHandle,
        before: WriteHint,
        set: WriteHint,
    ) -> io::Result<()> {
        if self.changes.get(&file).is_some_and(|one| one.set == set) {
            return Ok(());
        }
        self.file
            .write_all(written(&file, before, set).as_bytes())?;
        self.lines += 1;
        let change = self.changes.entry(file);
        change
            .and_modify(|one| one.set = set)
            .or_insert(Change { before, set });
        Ok(())
    }

    /// Forgets files that are gone once there are many; `root` is the file system's root directory.
    ///
    /// # Errors
    /// When the shorter list cannot be kept.
    pub fn tend(&mut self, root: &Path) -> Result<(), SteerError> {
        if self.lines < self.look_at {
            return Ok(());
        }
        let mount = File::open(root).map_err(SteerError::io("open", root))?;
        self.changes.retain(|file, change| {
            // What cannot be opened now may be later.
            found(file, mount.as_fd()).map_or(true, |found| {
                found.is_some_and(|(_, now)| now == change.set)
            })
        });
        self.keep()?;
        self.lines = self.changes.len();
        self.look_at = FEW.max(2 * self.lines);
        Ok(())
    }

    /// Writes the list anew, beside the old one until it is whole.
    fn keep(&mut self) -> Result<(), SteerError> {
        let beside = self.path.with_extension("new");
        let _ = fs::remove_file(&beside);
        let mut file = lock(&beside)?;
        let lines = self.changes.iter();
        let lines = lines.map(|(file, change)| written(file, change.before, change.set));
        let text = format!("{TITLE}\n{}", lines.collect::<String>());
        file.write_all(text.as_bytes())
            .and_then(|()| fs::rename(&beside, &self.path))
            .map_err(SteerError::io("write", &beside))?;
        self.file = file;
        Ok(())
    }

    /// Gives all files the hints that they had; `root` is the file system's root directory. The list ends with it, unless
    /// files are left that could not be given theirs.
    ///
    /// # Errors
    /// When the root cannot be opened, or the list can neither be kept nor taken away.
    pub fn restore(mut self, root: &Path) -> Result<Restored, SteerError> {
        let mount = File::open(root).map_err(SteerError::io("open", root))?;
        let mut done = Restored::default();
        self.changes.retain(|file, change| {
            match restore(file, *change, mount.as_fd()) {
                Ok(Some(true)) => done.restored += 1,
                Ok(Some(false)) => done.changed += 1,
                Ok(None) => done.vanished += 1,
                Err(_) => {
                    done.refused += 1;
                    return true;
                }
            }
            false
        });
        if self.changes.is_empty() {
            self.forget()?;
        } else {
            self.keep()?;
        }
        Ok(done)
    }

    /// Ends without undoing anything: where the file system is gone.
    ///
    /// # Errors
    /// When the list cannot be taken away.
    pub fn forget(self) -> Result<(), SteerError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(SteerError::io("remove", &self.path)(error))
            }
            _ => Ok(()),
        }
    }
}

/// A file and its hint; `None` where the file is gone.
///
/// # Errors
/// When the file cannot be opened now: somebody has a lease of it, or there are too many open files.
fn found(file: &FileHandle, mount: BorrowedFd<'_>) -> io::Result<Option<(OwnedFd, WriteHint)>> {
    match file.open(mount) {
        Ok(file) => {
            let hint = hint(file.as_fd())?;
            Ok(Some((file, hint)))
        }
        Err(error) if matches!(error.raw_os_error(), Some(ESTALE | ENOENT)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a file has its hint again; `None` where there is nothing to undo.
///
/// # Errors
/// When the file cannot be opened now, or not be given its hint.
fn restore(file: &FileHandle, change: Change, mount: BorrowedFd<'_>) -> io::Result<Option<bool>> {
    match found(file, mount)? {
        None => Ok(None),
        // The kernel has forgotten the inode meanwhile, and with it every hint.
        Some((_, WriteHint::NotSet)) if change.set != WriteHint::NotSet => Ok(None),
        Some((_, now)) if now != change.set => Ok(Some(false)),
        Some((file, _)) => {
            set_hint(file.as_fd(), change.before)?;
            Ok(Some(true))
        }
    }
}

/// Opens a list, makes it if need be, and has it alone.
fn lock(path: &Path) -> Result<Flock<File>, SteerError> {
    loop {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path);
        let file = file.map_err(SteerError::io("open, as root,", path))?;
        let locked = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| {
            SteerError::Unfit(format!(
                "another process sets hints on this file system (it holds {}): end that first",
                path.display()
            ))
        })?;
        // Whoever had it may have put another in its place.
        let number = |found: io::Result<fs::Metadata>| found.map(|one| one.ino()).ok();
        if number(locked.metadata()) == number(fs::metadata(path)) {
            return Ok(locked);
        }
    }
}

fn written(file: &FileHandle, before: WriteHint, set: WriteHint) -> String {
    format!("{} {} {}\n", file.text(), before.name(), set.name())
}

/// The files of a list: what a file had before it is first named, and what it was given last. A last line that was not
/// written to its end counts as not written: its hint was not set either.
fn parse(text: &str) -> Option<HashMap<FileHandle, Change>> {
    let (whole, _) = text.rsplit_once('\n')?;
    let mut lines = whole.lines();
    if lines.next() != Some(TITLE) {
        return None;
    }
    let mut changes = HashMap::new();
    for line in lines {
        let mut words = line.split(' ');
        let file = FileHandle::parse(words.next()?)?;
        let before = WriteHint::from_name(words.next()?)?;
        let set = WriteHint::from_name(words.next()?)?;
        let change = changes.entry(file).or_insert(Change { before, set });
        change.set = set;
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_hint_before_and_the_last_one_set_are_kept() {
        let text =
            format!("{TITLE}\n1:aa not-set short\n1:bb long short\n1:aa short extreme\n1:cc no");
        let found = parse(&text).unwrap();
        let of = |name: &str| found.get(&FileHandle::parse(name).unwrap()).copied();
        let change = |before, set| Some(Change { before, set });
        assert_eq!(of("1:aa"), change(WriteHint::NotSet, WriteHint::Extreme));
        assert_eq!(of("1:bb"), change(WriteHint::Long, WriteHint::Short));
        assert_eq!(found.len(), 2);
        assert!(parse("something\n").is_none() && parse("").is_none());
        assert!(parse(&format!("{TITLE}\n1:aa soon short\n")).is_none());
    }

    #[test]
    fn a_list_has_one_holder_and_no_foreign_file_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hints-1:2");
        let first = HintsLeft::open(&path).unwrap();
        let Err(error) = HintsLeft::open(&path) else {
            panic!("two hold it");
        };
        assert!(error.to_string().contains("another process"), "{error}");
        drop(first);
        assert_eq!(HintsLeft::open(&path).unwrap().files(), 0);
        // A line that was cut off is taken away, so that the next one stands by itself.
        fs::write(&path, format!("{TITLE}\n1:aa not-set short\n1:bb not-s")).unwrap();
        let mut cut = HintsLeft::open(&path).unwrap();
        let file = |name| FileHandle::parse(name).unwrap();
        cut.record(file("1:cc"), WriteHint::NotSet, WriteHint::Long)
            .unwrap();
        // What is set already is not noted again.
        cut.record(file("1:cc"), WriteHint::NotSet, WriteHint::Long)
            .unwrap();
        drop(cut);
        let text = format!("{TITLE}\n1:aa not-set short\n1:cc not-set long\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::write(&path, "mine\n").unwrap();
        assert!(HintsLeft::open(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    }
}
