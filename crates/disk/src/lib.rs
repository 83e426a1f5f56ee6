//! A fresh local drive with a real file system on it, and the program that runs there.
//!
//! The drive is a loop device, so that every write that reaches it can be watched from outside; this
//! crate does not know who watches. The order of things in a run:
//!
//! 1. [`Namespace::enter`], first thing in the command's main thread;
//! 2. [`Drive::create`]: a device without content, so that the watcher can attach before the first write;
//! 3. [`Drive::format_and_mount`];
//! 4. [`Workload::spawn`], [`Workload::try_wait`], [`Workload::end_stragglers`];
//! 5. [`Drive::sync`], [`Drive::unmount`], and the watcher's last look; dropping the drive ends it.
//!
//! Nothing of a run outlives it, even when the command is killed: the mount lives in a mount namespace
//! of the run's own, the loop device clears itself when its last user is gone, the backing file has no
//! name, and a guardian process ends what the workload left running.

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
pub use namespace::Namespace;
pub use place::BackingPlace;
pub use processes::Process;
pub use workload::{InterruptSource, Output, Workload, WorkloadError, status_code};
