//! Contents of the drive: bytes at their logical address.
//!
//! The translation layer moves no bytes, so contents lie where the host addresses them, in memory
//! or in a sparse file. That alone decides what a read answers: a page that was deallocated is
//! zeroed (a hole in the file), whatever the translation layer knows of it. So a drive that is
//! killed answers with what was written last, and never with what was there before.

mod file;
mod memory;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use thiserror::Error;
use tracing::warn;

use file::FileStore;
use memory::Memory;

/// A store that cannot be opened.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file cannot be opened, made or grown.
    #[error("data file {}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        problem: io::Error,
    },
    /// Another process serves it.
    #[error("data file {} is in use by another process", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is another drive's.
    #[error("data file {} has {found} bytes, and the drive {expected}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The drive's.
        expected: u64,
    },
}

/// Contents of a drive. Any number of threads may use it; two that write the same bytes at a time leave
/// either's, as on any drive.
pub trait Contents: fmt::Debug + Send + Sync {
    /// Whether what was written outlives the process.
    fn is_kept(&self) -> bool;

    /// Reads bytes at an address.
    ///
    /// # Errors
    /// When they lie beyond the end, or cannot be read.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes bytes at an address.
    ///
    /// # Errors
    /// When they lie beyond the end, or cannot be written; they may be there in part.
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes bytes zero, and gives their room back where it can.
    ///
    /// # Errors
    /// As [`Contents::write`].
    fn zero(&self, at: u64, length: u64) -> io::Result<()>;

    /// Makes safe what was written.
    ///
    /// # Errors
    /// When it cannot.
    fn flush(&self) -> io::Result<()>;

    /// As [`Store::data`].
    ///
    /// # Errors
    /// When it cannot be found out.
    fn data(&self) -> io::Result<Vec<(u64, u64)>>;
}

/// Contents of a drive.
#[derive(Debug)]
pub struct Store {
    contents: Box<dyn Contents>,
    /// They could not be made safe once.
    failed_to_flush: AtomicBool,
}

impl Store {
    /// An empty store in memory, of which only what is written takes room.
    pub fn memory(bytes: u64) -> Store {
        Store::of(Box::new(Memory::new(bytes)))
    }

    /// A sparse file, made if it is not there.
    ///
    /// # Errors
    /// When it cannot be opened, is in use, or has another length.
    pub fn file(path: &Path, bytes: u64) -> Result<Store, StoreError> {
        Ok(Store::of(Box::new(FileStore::open(path, bytes)?)))
    }

    /// Any that is as long as the drive.
    pub fn of(contents: Box<dyn Contents>) -> Store {
        Store {
            contents,
            failed_to_flush: AtomicBool::new(false),
        }
    }

    /// Whether what was written outlives the process.
    pub fn is_file(&self) -> bool {
        self.contents.is_kept()
    }

    /// Reads bytes at an address.
    ///
    /// # Errors
    /// As [`Contents::read`].
    pub fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.contents
            .read(at, into)
            .inspect_err(|error| failed("read", at, error))
    }

    /// Writes bytes at an address.
    ///
    /// # Errors
    /// As [`Contents::write`].
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.contents
            .write(at, bytes)
            .inspect_err(|error| failed("written", at, error))
    }

    /// Makes bytes zero, and gives their room back where it can.
    ///
    /// # Errors
    /// As [`Contents::write`].
    pub fn zero(&self, at: u64, length: u64) -> io::Result<()> {
        self.contents
            .zero(at, length)
            .inspect_err(|error| failed("zeroed", at, error))
    }

    /// Makes safe what was written (`fdatasync`). What could not be made safe once may be lost though a
    /// later call succeeds, since Linux counts pages that it failed to write as written. So after one
    /// failure every call fails.
    ///
    /// # Errors
    /// When the file's device cannot, or could not before.
    pub fn flush(&self) -> io::Result<()> {
        if self.failed_to_flush.load(Ordering::Relaxed) {
            return Err(io::Error::other("data could not be made safe before"));
        }
        let flushed = self.contents.flush();
        if let Err(error) = &flushed {
            warn!(%error, "contents cannot be made safe");
            self.failed_to_flush.store(true, Ordering::Relaxed);
        }
        flushed
    }

    /// The parts of a file that may hold data, in order: `(first byte, one past the last)`. All
    /// others read as zeroes. Of memory, nothing: it begins empty.
    ///
    /// # Errors
    /// When the file system does not report it.
    pub fn data(&self) -> io::Result<Vec<(u64, u64)>> {
        self.contents.data()
    }
}

/// Logs the error of contents that could not be reached: the host gets no more than a status.
fn failed(what: &str, at: u64, error: &io::Error) {
    warn!(%error, at, "contents cannot be {what}");
}

/// Checks that bytes lie within a store.
fn check(at: u64, length: u64, bytes: u64) -> io::Result<()> {
    if at.checked_add(length).is_some_and(|end| end <= bytes) {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "beyond the end of the drive",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const BYTES: u64 = 1 << 20;

    fn stores() -> (tempfile::TempDir, [Store; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let file = Store::file(&directory.path().join("data"), BYTES).unwrap();
        (directory, [Store::memory(BYTES), file])
    }

    fn read(store: &Store, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0xff; length];
        store.read(at, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_was_written_is_read_and_all_else_is_zero() {
        let (_directory, stores) = stores();
        for store in &stores {
            let bytes: Vec<u8> = (0..200_000_u32).map(|step| step as u8 | 1).collect();
            store.write(65_000, &bytes).unwrap();
            assert_eq!(read(store, 65_000, bytes.len()), bytes);
            assert_eq!(read(store, 64_488, 512), [0; 512]);
            assert_eq!(read(store, 265_000, 100), [0; 100]);
            store.zero(70_000, 100_000).unwrap();
            assert_eq!(read(store, 70_000, 100_000), vec![0; 100_000]);
            assert_eq!(read(store, 65_000, 5000), bytes[..5000]);
            assert_eq!(read(store, 170_000, 500), bytes[105_000..105_500]);
        }
    }

    #[test]
    fn nothing_lies_beyond_the_end() {
        let (_directory, stores) = stores();
        for store in &stores {
            assert!(store.write(BYTES - 1, &[1, 2]).is_err());
            assert!(store.read(u64::MAX, &mut [0]).is_err());
            assert!(store.zero(0, BYTES + 1).is_err());
            assert_eq!(read(store, BYTES - 1, 1), [0]);
        }
    }

    #[test]
    fn a_file_knows_where_it_holds_data() {
        let (_directory, [memory, file]) = stores();
        assert!(memory.data().unwrap().is_empty());
        assert!(file.data().unwrap().is_empty());
        file.write(8192, &[1; 4096]).unwrap();
        file.write(65_536, &[1; 8192]).unwrap();
        assert_eq!(file.data().unwrap(), [(8192, 12_288), (65_536, 73_728)]);
        file.zero(8192, 4096).unwrap();
        assert_eq!(file.data().unwrap(), [(65_536, 73_728)]);
    }

    /// The system alone gave two torn reads in 334,704.
    #[test]
    fn a_block_is_read_whole_while_it_is_written() {
        const READS: u32 = 200_000;
        let (_directory, stores) = stores();
        for store in &stores {
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut byte = 0_u8;
                    while !done.load(Ordering::Relaxed) {
                        byte = byte.wrapping_add(1);
                        store.write(12_288, &[byte; 4096]).unwrap();
                    }
                });
                let mut block = [0; 4096];
                let torn = (0..READS).filter(|_| {
                    store.read(12_288, &mut block).unwrap();
                    block.iter().any(|&byte| byte != block[0])
                });
                let torn = torn.count();
                done.store(true, Ordering::Relaxed);
                assert_eq!(torn, 0, "of {READS} reads");
            });
        }
    }

    #[test]
    fn a_file_has_one_owner_and_one_length() {
        let (directory, [_, _file]) = stores();
        let path = directory.path().join("data");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = Store::file(&path, BYTES);
        assert!(matches!(again, Err(StoreError::Busy { .. })));
        drop(_file);
        let other = Store::file(&path, BYTES * 2);
        assert!(matches!(other, Err(StoreError::Size { .. })));
        assert!(Store::file(&path, BYTES).is_ok());
    }
}
