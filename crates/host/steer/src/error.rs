//! Errors of a steered drive.

use std::io;
use std::path::PathBuf;

use anabranch_nvme_host::NamespaceError;
use thiserror::Error;

/// A reason that a drive is not steered, or no longer.
#[derive(Debug, Error)]
pub enum SteerError {
    /// No control device.
    #[error(
        "/dev/ublk-control cannot be opened ({0}): as root, `modprobe ublk_drv` (CONFIG_BLK_DEV_UBLK)"
    )]
    NoDriver(#[source] io::Error),
    /// The kernel's ublk lacks what nothing here works without.
    #[error(
        "this kernel's ublk lacks {what} (its features: {features:#x}): Linux 6.4 or newer has it"
    )]
    OldDriver {
        /// The feature that it lacks.
        what: &'static str,
        /// The features that it has.
        features: u64,
    },
    /// The kernel refused a control command.
    #[error("ublk refuses to {what}: {source}")]
    Control {
        /// The command.
        what: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An io_uring cannot be had or used.
    #[error("io_uring: {0}")]
    Ring(#[source] io::Error),
    /// A system call failed.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The action.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The drive or the kernel refused a command.
    #[error(transparent)]
    Asked(#[from] NamespaceError),
    /// The drive cannot be steered as asked.
    #[error("{0}")]
    Unfit(String),
    /// Somebody uses the drive itself.
    #[error(
        "{name} is mounted or held by another program: it cannot be steered while it is used directly"
    )]
    Held {
        /// Path, model and serial number.
        name: String,
    },
    /// There is something on it.
    #[error(
        "{name} holds {what}: say --yes to steer it with what is on it (nothing is written to it by that)"
    )]
    Holds {
        /// Path, model and serial number.
        name: String,
        /// The contents found.
        what: &'static str,
    },
    /// A block device waits for a server, and the drive is another one.
    #[error(
        "{} waits for a server, and {name} is not the drive that it was made for: {what}. Save what its file system's \
         memory holds (copy changed files off it: what is not in memory waits), then end it with `anabranch steer \
         --device {} --give-up` and steer this drive anew",
        block.display(), block.display()
    )]
    Another {
        /// Path, model and serial number.
        name: String,
        /// The block device.
        block: PathBuf,
        /// The fact that changed.
        what: String,
    },
    /// A block device waits for a server, and the drive was written meanwhile.
    #[error(
        "{} waits for a server, and {name} was written meanwhile ({what}): what the page cache and the journal of {} hold \
         would go over that. Save what its file system's memory holds (copy changed files off it: what is not in memory \
         waits). Then either `anabranch steer --device {} --give-up` keeps what is on the drive, and steer anew; or \
         `--take-over` goes on with the block device, and what was written meanwhile is damaged",
        block.display(), block.display(), block.display()
    )]
    Written {
        /// Path, model and serial number.
        name: String,
        /// The block device.
        block: PathBuf,
        /// The evidence.
        what: String,
    },
    /// It is steered already.
    #[error("{name} is steered already, as {} by process {process}", block.display())]
    Steered {
        /// Path, model and serial number.
        name: String,
        /// The block device.
        block: PathBuf,
        /// Its server.
        process: i32,
    },
}

impl SteerError {
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> SteerError {
        let path = path.into();
        move |source| SteerError::Io { what, path, source }
    }
}
