//! Which files of a file system programs open, as they open them: fanotify. No program waits for us.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};

use crate::error::SteerError;

/// A queue of the files of one file system that are opened, by whichever mount.
pub struct Opened {
    queue: Fanotify,
    own: i32,
}

impl Opened {
    /// Watches the file system that is mounted at `mount`. It can be unmounted all the same.
    ///
    /// # Errors
    /// When the process is not root, or the kernel does not let this file system be watched.
    pub fn watch(mount: &Path) -> Result<Opened, SteerError> {
        let refused = |error: Errno| {
            SteerError::io("watch, as root, which files are opened on", mount)(error.into())
        };
        let queue = Fanotify::init(
            InitFlags::FAN_CLASS_NOTIF | InitFlags::FAN_CLOEXEC | InitFlags::FAN_NONBLOCK,
            EventFFlags::O_RDONLY | EventFFlags::O_CLOEXEC | EventFFlags::O_NOATIME,
        )
        .map_err(refused)?;
        let flags = MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_FILESYSTEM;
        let here = fs::File::open(mount).map_err(SteerError::io("open", mount))?;
        queue
            .mark(flags, MaskFlags::FAN_OPEN, &here, None::<&Path>)
            .map_err(refused)?;
        Ok(Opened {
            queue,
            own: std::process::id().cast_signed(),
        })
    }

    /// Shows each file that was opened, held open, to `meet`; waits at most `timeout` for some. True when the kernel
    /// had to drop some, because more were opened than its queue holds: look at [`open_files`] then.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub fn poll(
        &self,
        timeout: Duration,
        meet: &mut dyn FnMut(BorrowedFd<'_>),
    ) -> Result<bool, SteerError> {
        let wait = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        // A signal ends the wait, as the time does.
        let _ = poll(
            &mut [PollFd::new(self.queue.as_fd(), PollFlags::POLLIN)],
            wait,
        );
        let mut dropped = false;
        loop {
            let events = match self.queue.read_events() {
                Ok(events) => events,
                Err(Errno::EAGAIN) => return Ok(dropped),
                // Gone, or not to be opened by anybody, before it could be shown: the kernel has dropped that event.
                Err(Errno::EINTR | Errno::ESTALE | Errno::ENOENT | Errno::ENXIO | Errno::EPERM) => {
                    continue;
                }
                Err(error) => {
                    return Err(SteerError::io("read", "the queue of opened files")(
                        error.into(),
                    ));
                }
            };
            for event in &events {
                dropped |= event.mask().contains(MaskFlags::FAN_Q_OVERFLOW);
                if let Some(file) = event.fd().filter(|_| event.pid() != self.own) {
                    meet(file);
                }
            }
        }
    }
}

/// Shows each file of a file system that a program has open or mapped, held open, to `meet`: each once. `device` is the
/// file system's number as `stat` gives it.
pub fn open_files(device: u64, meet: &mut dyn FnMut(BorrowedFd<'_>)) {
    let own = std::process::id().to_string();
    let mut seen = HashSet::new();
    for process in entries(Path::new("/proc")) {
        let is_process = process.file_name().and_then(|name| name.to_str());
        if !is_process.is_some_and(|name| name != own && name.parse::<u32>().is_ok()) {
            continue;
        }
        // Links to the open files themselves: a rename cannot mislead.
        for link in ["fd", "map_files"]
            .iter()
            .flat_map(|of| entries(&process.join(of)))
        {
            let Ok(found) = fs::metadata(&link) else {
                continue;
            };
            if found.dev() != device || !found.is_file() || !seen.insert(found.ino()) {
                continue;
            }
            let flags = libc::O_NONBLOCK | libc::O_NOATIME;
            if let Ok(file) = OpenOptions::new()
                .read(true)
                .custom_flags(flags)
                .open(&link)
            {
                meet(file.as_fd());
            }
        }
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}
