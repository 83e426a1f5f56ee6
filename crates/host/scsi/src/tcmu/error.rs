//! Errors of the kernel's target.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::RingError;

/// A unit that cannot be given to the kernel, or no longer.
#[derive(Debug, Error)]
pub enum TcmuError {
    /// The name cannot be a directory's and a configuration's.
    #[error("\"{0}\" is no name of a SCSI drive: use 1 to 32 letters, digits, - and _")]
    Name(String),
    /// The kernel's target is not there.
    #[error(
        "{} is missing: load the kernel's target (modprobe -a target_core_user tcm_loop) and mount configfs \
         (mount -t configfs none /sys/kernel/config)",
        .0.display()
    )]
    NoTarget(PathBuf),
    /// Another process serves it.
    #[error("another process serves a SCSI drive of this name: choose another")]
    Busy,
    /// The unit left of that name had its contents in a memory that is gone.
    #[error(
        "{} is left of a server whose contents were in its memory: take it away by hand ({by_hand}), or choose \
         another name",
        path.display()
    )]
    Memory {
        /// Its directory.
        path: PathBuf,
        /// The commands that take it away.
        by_hand: String,
    },
    /// It is no longer served, and the host still has it.
    #[error("{problem}; the drive is left to the host: {remedy}")]
    Left {
        /// Reason for which it is no longer served.
        problem: Box<TcmuError>,
        /// Remedy: to go on with it, or to take it away.
        remedy: String,
    },
    /// The unit left of that name is another drive.
    #[error(
        "{} is left of another drive (\"{found}\"): serve that again and stop it, or choose another name",
        path.display()
    )]
    Other {
        /// Its directory.
        path: PathBuf,
        /// The kernel's description of it.
        found: String,
    },
    /// The kernel made no character device for the ring.
    #[error("the kernel has made no device for the ring of {0}: is the module uio there?")]
    NoRing(String),
    /// The kernel made no block device.
    #[error("no block device has appeared for {}: is the module sd_mod there?", .0.display())]
    NoDevice(PathBuf),
    /// A step was refused.
    #[error("{}: {problem}", path.display())]
    Step {
        /// Path that was to be made, written or taken away.
        path: PathBuf,
        /// The system's error.
        problem: io::Error,
    },
    /// The ring cannot be mapped, waited for, or written to.
    #[error("the ring of commands: {0}")]
    Device(#[from] io::Error),
    /// The ring holds what it cannot.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The thread has panicked.
    #[error("the thread that answers SCSI commands has failed")]
    Thread,
}
