//! What can go wrong with a drive, each with its remedy.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

use crate::backing::BackingPlace;
use crate::file_system::FileSystemKind;
use crate::holder::{Holder, words};

/// Why there is no drive, or why it cannot be used or released.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// Mounts and loop devices are for root.
    #[error("a drive needs root (mount, loop device): run the command again with sudo")]
    NotRoot,

    /// Root, but not allowed to mount: a container without the capability.
    #[error(
        "no mount namespace of our own ({0}): CAP_SYS_ADMIN is needed; in a container, start it with --privileged"
    )]
    NamespaceDenied(#[source] Errno),

    /// None of the directories that may carry the mount point can do so.
    #[error(
        "no directory to mount the drive in (tried {tried}): make one of them, for example `mkdir /mnt`"
    )]
    NoMountPoint {
        /// The directories that were tried, each with what was wrong.
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
        /// What the kernel said.
        source: io::Error,
    },

    /// Other processes were faster, each time.
    #[error("no free loop device after {attempts} attempts: `losetup -a` shows who holds them")]
    NoFreeLoopDevice {
        /// How often a device was asked for.
        attempts: u32,
    },

    /// The loop device refused the backing file.
    #[error(
        "{}: cannot be bound to its backing file ({source}): LOOP_CONFIGURE needs Linux 5.8 or newer", path.display()
    )]
    LoopConfigure {
        /// The device node.
        path: PathBuf,
        /// What the kernel said.
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

    /// The file system does not fit.
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

    /// The backing file would not fit when the drive is full.
    #[error(
        "no room for a drive of {} MiB: {place} has {} MiB free{}; free some, take a smaller drive (--size), or name a directory with more room for the backing file (--backing)",
        needed_bytes.div_ceil(1 << 20), free_bytes >> 20, memory_note(*memory_available_bytes)
    )]
    NoRoom {
        /// Where the backing file was to lie.
        place: BackingPlace,
        /// What is free there.
        free_bytes: u64,
        /// The drive's size.
        needed_bytes: u64,
        /// The memory available, when it was looked at first and found too small (`None`: a directory was named).
        memory_available_bytes: Option<u64>,
    },

    /// The backing file cannot be made.
    #[error("no backing file in {place} ({source}): name another directory for it (--backing)")]
    Backing {
        /// Where the backing file was to lie.
        place: BackingPlace,
        /// What the kernel said.
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
        /// The tool.
        program: &'static str,
        /// The device node.
        device: PathBuf,
        /// Its exit status in words.
        status: String,
        /// What it said.
        stderr: String,
    },

    /// The kernel does not mount it.
    #[error("{} cannot be mounted as {file_system} on {} ({source}): {}", device.display(), mount_point.display(),
        mount_remedy(*source, *file_system))]
    Mount {
        /// The device node.
        device: PathBuf,
        /// The file system it was formatted with.
        file_system: FileSystemKind,
        /// Where it was to appear.
        mount_point: PathBuf,
        /// What the kernel said.
        source: Errno,
    },

    /// Somebody still uses the file system.
    #[error("{} is still in use by {}: end them first", mount_point.display(), words(holders))]
    Busy {
        /// Where the drive is mounted.
        mount_point: PathBuf,
        /// Who was found.
        holders: Vec<Holder>,
    },

    /// The file system is unmounted here, and still mounted elsewhere.
    #[error(
        "{} is still held by {}: what it writes from now on is not seen, and the device stays until it ends", device.display(),
        words(holders)
    )]
    Held {
        /// The device node.
        device: PathBuf,
        /// Who was found.
        holders: Vec<Holder>,
    },

    /// Another mount lies over the drive and cannot be taken away.
    #[error("{} cannot be uncovered ({source}): a program mounted over it or unmounted it", mount_point.display())]
    Covered {
        /// Where the drive is mounted.
        mount_point: PathBuf,
        /// What the kernel said.
        source: Errno,
    },

    /// The file system could not be written out or unmounted.
    #[error("{} cannot be {what} ({source}): the last writes may be missing; look at `dmesg`", mount_point.display())]
    Release {
        /// "synced" or "unmounted".
        what: &'static str,
        /// Where the drive is mounted.
        mount_point: PathBuf,
        /// What the kernel said.
        source: Errno,
    },
}

fn memory_note(memory_available_bytes: Option<u64>) -> String {
    memory_available_bytes.map_or_else(String::new, |bytes| {
        format!(
            ", and memory has {} MiB, less than the {} times the drive's size that we ask for",
            bytes >> 20,
            crate::backing::MEMORY_FACTOR
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
