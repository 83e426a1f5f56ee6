//! Contents in a sparse file.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt as _},
    path::Path,
    sync::{PoisonError, RwLock},
};

use nix::{
    errno::Errno,
    fcntl::{FallocateFlags, Flock, FlockArg, fallocate},
    unistd::{Whence, lseek},
};

use super::{Contents, StoreError, check};

/// Bytes of zeroes written at a time where the file's system cannot make holes (our choice).
const ZEROES: usize = 64 << 10;

/// Bytes of a stripe, and how many locks there are for them (our choice: a transfer touches two
/// stripes at most, and two transfers seldom meet at a lock). Logical blocks lie within stripes.
const STRIPE: u64 = 1 << 20;
const LOCKS: u64 = 1024;

/// A file of the drive's length that nobody else serves.
///
/// The system's reads and writes of a file are not atomic to one another: a read may see the one half
/// of a block as it was and the other as it is. A drive writes a block whole or not at all to its
/// readers (NVM §2.1.4.1, AWUN), so readers share a stripe's lock, and a writer has it alone.
#[derive(Debug)]
pub(super) struct FileStore {
    file: Flock<File>,
    bytes: u64,
    locks: Vec<RwLock<()>>,
}

/// The stripes that bytes lie in, each with the part of the bytes in it.
fn stripes(at: u64, length: u64) -> impl Iterator<Item = (u64, u64, usize)> {
    let (mut at, mut left) = (at, length);
    std::iter::from_fn(move || {
        let stripe = at / STRIPE;
        let now = left.min(STRIPE - at % STRIPE);
        let part = (stripe, at, now as usize);
        (at, left) = (at + now, left - now);
        (now > 0).then_some(part)
    })
}

impl FileStore {
    pub(super) fn open(path: &Path, bytes: u64) -> Result<FileStore, StoreError> {
        let wrong = |problem| StoreError::File {
            path: path.to_owned(),
            problem,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // A new file is its owner's alone: it holds what a host's file permissions guard.
        options.mode(0o600);
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
        Ok(FileStore {
            file,
            bytes,
            locks: (0..LOCKS).map(|_| RwLock::default()).collect(),
        })
    }

    fn lock(&self, stripe: u64) -> Option<&RwLock<()>> {
        self.locks.get((stripe % LOCKS) as usize)
    }

    /// Changes bytes, stripe by stripe, each alone.
    fn change(
        &self,
        (at, length): (u64, u64),
        mut change: impl FnMut(u64, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        check(at, length, self.bytes)?;
        for (stripe, at, length) in stripes(at, length) {
            let lock = self.lock(stripe);
            let _alone = lock.map(|lock| lock.write().unwrap_or_else(PoisonError::into_inner));
            change(at, length)?;
        }
        Ok(())
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
}

impl Contents for FileStore {
    fn is_kept(&self) -> bool {
        true
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        check(at, into.len() as u64, self.bytes)?;
        let mut rest = into;
        for (stripe, at, length) in stripes(at, rest.len() as u64) {
            let (now, later) = rest.split_at_mut(length);
            let lock = self.lock(stripe);
            let _shared = lock.map(|lock| lock.read().unwrap_or_else(PoisonError::into_inner));
            self.file.read_exact_at(now, at)?;
            rest = later;
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        self.change((at, bytes.len() as u64), |at, length| {
            let (now, later) = rest.split_at(length);
            rest = later;
            self.file.write_all_at(now, at)
        })
    }

    /// A hole where whole blocks of the file's system are zeroed; zeroes else.
    fn zero(&self, at: u64, length: u64) -> io::Result<()> {
        let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        self.change((at, length), |at, length| {
            match fallocate(&*self.file, flags, at as i64, length as i64) {
                Err(Errno::EOPNOTSUPP) => self.write_zeroes(at, length as u64),
                result => Ok(result?),
            }
        })
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn data(&self) -> io::Result<Vec<(u64, u64)>> {
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
