//! Errors of a drive, each with its remedy.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

use crate::file_system::FileSystemKind;
use crate::holder::{Holder, words};
use crate::place::{BackingPlace, MEMORY_FACTOR};

/// Reason that there is no drive, or that it cannot be used or released.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// The process is not root, as mounts and loop devices require.
    #[error("a drive needs root (mount, loop device): run the command again with sudo")]
    NotRoot,

    /// The process is root, but may not mount: a container without the capability.
    #[error(
        "no mount namespace of our own ({0}): CAP_SYS_ADMIN is needed; in a container, start it with --privileged"
    )]
    NamespaceDenied(#[source] Errno),

    /// No directory can carry the mount point.
    #[error(
        "no directory to mount the drive in (tried {tried}): make one of them, for example `mkdir /mnt`"
    )]
    NoMountPoint {
        /// The directories that were tried, each with its error.
        tried: String,
    },

    /// The process that cleans up after a killed run could not be started.
    #[error("/bin/sh, which cleans up after a killed run, cannot be started ({0}): install dash")]
    Guardian(#[source] io::Error),

    /// The kernel has no loop devices, or hides them.
    #[error(
        "/dev/loop-control: no loop devices here ({0}): run `modprobe loop`; in a container, start it with --privileged"
    )]
    NoLoopSupport(#[source] io::Error),

    /// The node of a loop device cannot be made or opened.
    #[error(
        "{}: cannot be opened ({source}): in a container, start it with --privileged", path.display()
    )]
    LoopNode {
        /// The device node.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },

    /// No loop device could be had: other processes were faster each time.
    #[error("no free loop device after {attempts} attempts: `losetup -a` shows who holds them")]
    NoFreeLoopDevice {
        /// The number of attempts.
        attempts: u32,
    },

    /// The loop device refused the backing file.
    #[error(
        "{}: cannot be bound to its backing file ({source}): LOOP_CONFIGURE needs Linux 5.8 or newer", path.display()
    )]
    LoopConfigure {
        /// The device node.
        path: PathBuf,
        /// The kernel's error.
        source: Errno,
    },

    /// The wanted size is not a whole number of file system blocks.
    #[error("a drive of {bytes} bytes is not a multiple of {block_bytes}: take {rounded_bytes}")]
    NotWholeBlocks {
        /// The wanted size.
        bytes: u64,
        /// The file system's block size.
        block_bytes: u64,
        /// The nearest size above that works.
        rounded_bytes: u64,
    },

    /// The drive is too small for the file system.
    #[error(
        "a drive of {bytes} bytes is too small for {file_system}: the smallest that works is {minimum_bytes} bytes ({} MiB)",
        minimum_bytes >> 20
    )]
    TooSmall {
        /// The wanted file system.
        file_system: FileSystemKind,
        /// The wanted size.
        bytes: u64,
        /// The smallest size that works.
        minimum_bytes: u64,
    },

    /// The backing file would not fit if the drive were full.
    #[error(
        "no room for a drive of {} MiB: {place} has {} MiB free{}; free some, take a smaller drive (--size), or name a directory with more room for the backing file (--backing)",
        needed_bytes.div_ceil(1 << 20), free_bytes >> 20, memory_note(*memory_available_bytes)
    )]
    NoRoom {
        /// Path that the backing file would have had.
        place: BackingPlace,
        /// Bytes that are free there.
        free_bytes: u64,
        /// The drive's size in bytes.
        needed_bytes: u64,
        /// The memory available in bytes, if memory was considered first and found too small (`None` where a directory
        /// was named).
        memory_available_bytes: Option<u64>,
    },

    /// The backing file cannot be made.
    #[error("no backing file in {place} ({source}): name another directory for it (--backing)")]
    Backing {
        /// Path that the backing file would have had.
        place: BackingPlace,
        /// The kernel's error.
        source: io::Error,
    },

    /// The tool that makes the file system is not installed.
    #[error("{program} is missing: install it, `apt-get install {package}`")]
    MkfsMissing {
        /// The tool.
        program: &'static str,
        /// The Debian package that holds it.
        package: &'static str,
    },

    /// The tool that makes the file system failed.
    #[error(
        "{program} failed on {} ({status}): {stderr}; look at `dmesg`, or try the other file system", device.display()
    )]
    MkfsFailed {
        /// The tool that failed.
        program: &'static str,
        /// The device node.
        device: PathBuf,
        /// Its exit status as text.
        status: String,
        /// Its standard error.
        stderr: String,
    },

    /// The kernel does not mount the new file system.
    #[error("{} cannot be mounted as {file_system} on {} ({source}): {}", device.display(), mount_point.display(),
        mount_remedy(*source, *file_system))]
    Mount {
        /// The device node.
        device: PathBuf,
        /// The file system it was formatted with.
        file_system: FileSystemKind,
        /// The directory where it should have appeared.
        mount_point: PathBuf,
        /// The kernel's error.
        source: Errno,
    },

    /// Somebody still uses the file system.
    #[error("{} is still in use by {}: end them first", mount_point.display(), words(holders))]
    Busy {
        /// Mount point of the drive.
        mount_point: PathBuf,
        /// The users that were found.
        holders: Vec<Holder>,
    },

    /// The file system is unmounted here, but still mounted elsewhere.
    #[error(
        "{} is still held by {}: what it writes from now on is not seen, and the device stays until it ends", device.display(),
        words(holders)
    )]
    Held {
        /// The device node.
        device: PathBuf,
        /// The users that were found.
        holders: Vec<Holder>,
    },

    /// Another mount lies over the drive and cannot be taken away.
    #[error("{} cannot be uncovered ({source}): a program mounted over it or unmounted it", mount_point.display())]
    Covered {
        /// Mount point of the drive.
        mount_point: PathBuf,
        /// The kernel's error.
        source: Errno,
    },

    /// The file system could not be written out or unmounted.
    #[error("{} cannot be {what} ({source}): the last writes may be missing; look at `dmesg`", mount_point.display())]
    Release {
        /// Failed operation: "synced" or "unmounted".
        what: &'static str,
        /// Mount point of the drive.
        mount_point: PathBuf,
        /// The kernel's error.
        source: Errno,
    },
}

fn memory_note(memory_available_bytes: Option<u64>) -> String {
    memory_available_bytes.map_or_else(String::new, |bytes| {
        format!(
            ", and memory has {} MiB, less than the {} times the drive's size that we ask for",
            bytes >> 20,
            MEMORY_FACTOR
        )
    })
}

fn mount_remedy(source: Errno, file_system: FileSystemKind) -> String {
    if source == Errno::ENODEV {
        format!("this kernel lacks {file_system}, try `modprobe {file_system}` or the other one")
    } else {
        "look at `dmesg`".to_owned()
    }
}
