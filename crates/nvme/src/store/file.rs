//! Contents in a sparse file.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use nix::{
    errno::Errno,
    fcntl::{FallocateFlags, Flock, FlockArg, fallocate},
    unistd::{Whence, lseek},
};

use super::{StoreError, check};

/// Bytes of zeroes written at a time where the file's system cannot make holes (our choice).
const ZEROES: usize = 64 << 10;

/// A file of the drive's length that nobody else serves.
#[derive(Debug)]
pub(super) struct FileStore {
    file: Flock<File>,
    bytes: u64,
}

impl FileStore {
    pub(super) fn open(path: &Path, bytes: u64) -> Result<FileStore, StoreError> {
        let wrong = |problem| StoreError::File {
            path: path.to_owned(),
            problem,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(wrong)?;
        let busy = || StoreError::Busy {
            path: path.to_owned(),
        };
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| busy())?;
        match file.metadata().map_err(wrong)?.len() {
            0 => file.set_len(bytes).map_err(wrong)?,
            found if found != bytes => {
                return Err(StoreError::Size {
                    path: path.to_owned(),
                    found,
                    expected: bytes,
                });
            }
            _ => {}
        }
        Ok(FileStore { file, bytes })
    }

    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        check(at, into.len() as u64, self.bytes)?;
        self.file.read_exact_at(into, at)
    }

    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        check(at, bytes.len() as u64, self.bytes)?;
        self.file.write_all_at(bytes, at)
    }

    /// A hole where whole blocks of the file's system are zeroed; zeroes else.
    pub(super) fn zero(&self, at: u64, length: u64) -> io::Result<()> {
        check(at, length, self.bytes)?;
        let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        match fallocate(&*self.file, flags, at as i64, length as i64) {
            Err(Errno::EOPNOTSUPP) => self.write_zeroes(at, length),
            result => Ok(result?),
        }
    }

    fn write_zeroes(&self, at: u64, length: u64) -> io::Result<()> {
        let (mut at, mut left) = (at, length);
        while left > 0 {
            let now = left.min(ZEROES as u64);
            self.file.write_all_at(&[0; ZEROES][..now as usize], at)?;
            at += now;
            left -= now;
        }
        Ok(())
    }

    pub(super) fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    pub(super) fn data(&self) -> io::Result<Vec<(u64, u64)>> {
        let seek = |at: u64, whence| match lseek(&*self.file, at as i64, whence) {
            Ok(found) => Ok(found as u64),
            // No data from there to the end.
            Err(Errno::ENXIO) => Ok(self.bytes),
            Err(error) => Err(io::Error::from(error)),
        };
        let mut parts = Vec::new();
        let mut at = 0;
        while at < self.bytes {
            let begin = seek(at, Whence::SeekData)?;
            if begin >= self.bytes {
                break;
            }
            at = seek(begin, Whence::SeekHole)?.min(self.bytes);
            parts.push((begin, at));
        }
        Ok(parts)
    }
}
