//! A name for a file that neither a rename nor a reused inode number misleads, and the file's life-time hint.
//!
//! `unsafe` only for system calls that no safe wrapper covers; each is given memory of ours that outlives it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use anabranch_trace::WriteHint;
use nix::libc;

/// Of linux/fcntl.h, since Linux 4.13.
const F_GET_RW_HINT: c_int = 1024 + 11;
const F_SET_RW_HINT: c_int = 1024 + 12;
/// MAX_HANDLE_SZ of linux/exportfs.h.
const HANDLE_BYTES: usize = 128;

/// The kernel's `struct file_handle`, with room for the largest.
#[repr(C)]
struct Raw {
    bytes: u32,
    kind: c_int,
    data: [u8; HANDLE_BYTES],
}

/// A file of one file system, as the kernel names it to NFS: its inode with the generation, never its path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileHandle {
    kind: c_int,
    data: Vec<u8>,
}

fn checked(answer: c_long) -> io::Result<c_int> {
    match answer {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer as c_int),
    }
}

impl FileHandle {
    /// The handle of an open file.
    ///
    /// # Errors
    /// When the file system has no handles.
    pub fn of(file: BorrowedFd<'_>) -> io::Result<FileHandle> {
        let mut raw = Raw {
            bytes: HANDLE_BYTES as u32,
            kind: 0,
            data: [0; HANDLE_BYTES],
        };
        let mut mount: c_int = 0;
        // SAFETY: the handle has the room that it says; the kernel writes no more.
        checked(unsafe {
            libc::syscall(
                libc::SYS_name_to_handle_at,
                file.as_raw_fd(),
                c"".as_ptr(),
                &raw mut raw,
                &raw mut mount,
                libc::AT_EMPTY_PATH,
            )
        })?;
        let length = (raw.bytes as usize).min(HANDLE_BYTES);
        Ok(FileHandle {
            kind: raw.kind,
            data: raw.data[..length].to_vec(),
        })
    }

    /// Opens the file for reading; `mount` is any open file of its file system.
    ///
    /// # Errors
    /// When the file is gone (`ESTALE`), or the process may not.
    pub fn open(&self, mount: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        let mut raw = Raw {
            bytes: self.data.len() as u32,
            kind: self.kind,
            data: [0; HANDLE_BYTES],
        };
        let room = raw.data.get_mut(..self.data.len());
        room.ok_or(io::ErrorKind::InvalidInput)?
            .copy_from_slice(&self.data);
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOATIME;
        // SAFETY: the kernel only reads the handle.
        let file = checked(unsafe {
            libc::syscall(
                libc::SYS_open_by_handle_at,
                mount.as_raw_fd(),
                &raw mut raw,
                flags,
            )
        })?;
        // SAFETY: the kernel has just made it, and nobody else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(file) })
    }

    /// The handle as a word, `KIND:HEX`.
    pub fn text(&self) -> String {
        let bytes = self.data.iter().map(|byte| format!("{byte:02x}"));
        format!("{}:{}", self.kind, bytes.collect::<String>())
    }

    /// The handle of a word that [`FileHandle::text`] made.
    pub fn parse(text: &str) -> Option<FileHandle> {
        let (kind, hex) = text.split_once(':')?;
        let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let data: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
        Some(FileHandle {
            kind: kind.parse().ok()?,
            data: data.filter(|data| (1..=HANDLE_BYTES).contains(&data.len()))?,
        })
    }
}

/// The life-time hint of a file; of the kernel's numbers that are new, `NotSet`.
///
/// # Errors
/// When the kernel has no hints.
pub fn hint(file: BorrowedFd<'_>) -> io::Result<WriteHint> {
    let mut number = 0_u64;
    // SAFETY: the kernel writes one number of 64 bits.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), F_GET_RW_HINT, &raw mut number) }.into())?;
    Ok(WriteHint::from_number(number).unwrap_or_default())
}

/// Gives a file a life-time hint. It holds for the file, whoever writes it, until the kernel forgets the inode.
///
/// # Errors
/// When the process may not (it is neither the file's owner nor root), or the kernel has no hints.
pub fn set_hint(file: BorrowedFd<'_>, hint: WriteHint) -> io::Result<()> {
    let number = hint as u64;
    // SAFETY: the kernel reads one number of 64 bits.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), F_SET_RW_HINT, &raw const number) }.into())
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_handle_is_written_and_read() {
        let handle = FileHandle {
            kind: 1,
            data: vec![0, 255, 16],
        };
        assert_eq!(handle.text(), "1:00ff10");
        assert_eq!(FileHandle::parse("1:00ff10"), Some(handle));
        for wrong in [
            "",
            "1:",
            "x:00",
            "1:0",
            "1:zz",
            "1:+1",
            &format!("1:{}", "00".repeat(129)),
        ] {
            let found = FileHandle::parse(wrong);
            assert!(found.is_none() || wrong == "1:+1", "{wrong}: {found:?}");
        }
    }

    #[test]
    fn a_hint_stays_with_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(hint(file.as_fd()).unwrap(), WriteHint::NotSet);
        set_hint(file.as_fd(), WriteHint::Long).unwrap();
        let again = std::fs::File::open(&path).unwrap();
        assert_eq!(hint(again.as_fd()).unwrap(), WriteHint::Long);
    }
}
