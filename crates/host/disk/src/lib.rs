//! A fresh local drive with a real file system on it, and the program that runs there.
//!
//! The drive is a loop device, so that every write that reaches it can be watched from outside; this
//! crate does not know who watches. The order of things in a run:
//!
//! 1. [`MountNamespace::enter`], first thing in the command's main thread;
//! 2. [`Drive::create`]: a device without content, so that the watcher can attach before the first write;
//! 3. [`Drive::format_and_mount`];
//! 4. [`Workload::spawn`], [`Workload::try_wait`], [`Workload::end_stragglers`];
//! 5. [`Drive::sync`], [`Drive::unmount`], and the watcher's last look; dropping the drive ends it.
//!
//! Nothing of a run outlives it, even when the command is killed: the mount lives in a mount namespace
//! of the run's own, the loop device clears itself when its last user is gone, the backing file has no
//! name, and a guardian process ends what the workload left running.
//!
//! The example is compiled but not run as a test: it needs root, for the loop device and the mount.
//!
//! ```no_run
//! use std::time::Duration;
//! use anabranch_disk::{Drive, DriveOptions, FileSystemKind, MountNamespace, Output, Workload};
//!
//! let namespace = MountNamespace::enter()?;
//! let options = DriveOptions { bytes: 64 << 20, file_system: FileSystemKind::Ext4, backing_dir: None };
//! let mut drive = Drive::create(namespace, &options)?;
//! drive.format_and_mount()?;
//! // It starts in the drive's directory.
//! let mut program = Workload::spawn(&["cp", "/etc/hostname", "copy"], &drive, Output::inherited())?;
//! while program.try_wait()?.is_none() {
//!     std::thread::sleep(Duration::from_millis(10));
//! }
//! assert!(drive.mount_point().join("copy").exists());
//! program.end_stragglers();
//! drive.sync()?;
//! drive.unmount()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backing;
mod control_group;
mod drive;
mod error;
mod file_system;
mod guardian;
mod holder;
mod holders;
mod loop_device;
mod mkfs;
mod namespace;
mod place;
mod processes;
mod program;
mod swap;
mod workload;

pub use drive::{Drive, DriveOptions};
pub use error::DiskError;
pub use file_system::{FileSystemKind, UnknownFileSystem};
pub use holder::Holder;
pub use loop_device::LoopDevice;
pub use namespace::MountNamespace;
pub use place::BackingPlace;
pub use processes::Process;
pub use workload::{InterruptSource, Output, Workload, WorkloadError, status_code};
