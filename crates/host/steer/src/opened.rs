//! Files of a file system that programs open, as they open them: fanotify. No program waits for us.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use nix::sys::stat::makedev;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

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
            // With O_NONBLOCK no pipe and no lease makes us wait for its user.
            EventFFlags::O_RDONLY
                | EventFFlags::O_CLOEXEC
                | EventFFlags::O_NOATIME
                | EventFFlags::O_NONBLOCK,
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

    /// Shows some files that were opened, held open, to `meet`; waits at most `timeout` for the first. True when the kernel
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
        let events = match self.queue.read_events() {
            Ok(events) => events,
            Err(error @ (Errno::EBADF | Errno::EINVAL | Errno::EFAULT)) => {
                let read = SteerError::io("read", "the queue of opened files");
                return Err(read(error.into()));
            }
            // There are none; or a file is gone, leased or not to be opened by anybody, and the kernel has dropped its event.
            Err(_) => return Ok(false),
        };
        let mut dropped = false;
        for event in &events {
            dropped |= event.mask().contains(MaskFlags::FAN_Q_OVERFLOW);
            if let Some(file) = event.fd().filter(|_| event.pid() != self.own) {
                meet(file);
            }
        }
        Ok(dropped)
    }
}

/// Shows each file of a file system that a program has open or mapped, held open, to `meet`: each once. `device` is the
/// file system's number as `stat` gives it.
pub fn open_files(device: u64, meet: &mut dyn FnMut(BorrowedFd<'_>)) {
    let own = std::process::id().to_string();
    let mut seen = HashSet::new();
    let wanted = StatxFlags::TYPE | StatxFlags::INO;
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
            // A file system's server elsewhere, which may be away, is not asked.
            let Ok(found) = statx(CWD, &link, AtFlags::STATX_DONT_SYNC, wanted) else {
                continue;
            };
            let number = makedev(found.stx_dev_major.into(), found.stx_dev_minor.into());
            let is_file = FileType::from_raw_mode(found.stx_mode.into()).is_file();
            if number != device || !is_file || !seen.insert(found.stx_ino) {
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
