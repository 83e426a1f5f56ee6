//! A mount namespace of the run's own, with a place in it to mount the drive.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::geteuid;

use crate::control_group::{ControlGroup, GroupPlace, NO_DATA};
use crate::error::DiskError;
use crate::guardian::Guardian;
use crate::processes::{Process, RunProcesses};

/// The name of the mount point, below one of [`PARENTS`].
const NAME: &str = "anabranch";
/// The directories that may hold the mount point. /mnt comes first: the Filesystem Hierarchy Standard gives it for
/// temporary mounts and says that its content should not affect how any program runs. The others are for systems
/// without it.
const PARENTS: [&str; 4] = ["/mnt", "/media", "/srv", "/opt"];

/// A private view of the system's mounts, shared by the calling thread and everything it starts, and a control group
/// for the run's processes.
///
/// A mount made in it is seen by nobody outside and by no other run, and disappears with the last process in it: a
/// killed run leaves no mount and no directory behind. Mounts and unmounts made outside still show inside, so that a
/// run keeps no other medium busy.
#[derive(Debug)]
pub struct MountNamespace {
    mount_point: PathBuf,
    guardian: Guardian,
    processes: RunProcesses,
    ungrouped: Option<io::Error>,
}

impl MountNamespace {
    /// Moves the calling thread into a new mount namespace, and starts the guardian of the run's processes.
    ///
    /// IMPORTANT: call it once, in the main thread, before other threads are started. Threads and processes started
    /// later are in the namespace; earlier threads are not. There is no way back, and none is needed.
    ///
    /// The mount point is a directory `anabranch` in a small memory file system over /mnt. The content of /mnt is bound
    /// into it and stays visible; a program that tries to make something new beside it gets `EROFS`.
    ///
    /// When the value is dropped (or the process dies) every other process in the namespace and every process in the
    /// group is killed.
    ///
    /// # Errors
    /// When the process is not root or may not mount, when no directory is usable, or when there is no /bin/sh.
    pub fn enter() -> Result<Self, DiskError> {
        if !geteuid().is_root() {
            return Err(DiskError::NotRoot);
        }
        unshare(CloneFlags::CLONE_NEWNS).map_err(DiskError::NamespaceDenied)?;
        let receive_only = MsFlags::MS_REC | MsFlags::MS_SLAVE;
        mount(NO_DATA, "/", NO_DATA, receive_only, NO_DATA).map_err(DiskError::NamespaceDenied)?;
        let mount_point = make_mount_point()?;
        let place = GroupPlace::find(&mount_point);
        let guardian = Guardian::start(place.as_ref().ok(), &mount_point)?;
        let (group, ungrouped) = match place.and_then(ControlGroup::create) {
            Ok(group) => (Some(Arc::new(group)), None),
            Err(error) => (None, Some(error)),
        };
        let processes =
            RunProcesses::of_this_thread(guardian.pid(), group).map_err(DiskError::Guardian)?;
        Ok(MountNamespace {
            mount_point,
            guardian,
            processes,
            ungrouped,
        })
    }

    /// The reason why the run has no control group of its own, if it has none: a program that makes its own mount
    /// namespace (a container) can then outlive the run.
    pub fn ungrouped(&self) -> Option<&io::Error> {
        self.ungrouped.as_ref()
    }

    /// The empty directory, visible in this namespace only, on which the drive is mounted.
    pub fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// The run's processes that live now, without this one.
    pub fn processes(&self) -> Vec<Process> {
        self.processes.list()
    }

    pub(crate) fn run_processes(&self) -> &RunProcesses {
        &self.processes
    }

    pub(crate) fn end_all(&mut self) {
        self.guardian.end_all();
    }
}

fn make_mount_point() -> Result<PathBuf, DiskError> {
    let mut tried = Vec::new();
    for parent in PARENTS {
        match cover(Path::new(parent)) {
            Ok(mount_point) => return Ok(mount_point),
            Err(error) => tried.push(format!("{parent}: {error}")),
        }
    }
    Err(DiskError::NoMountPoint {
        tried: tried.join("; "),
    })
}

/// Covers `parent` with a memory file system that holds our directory, and shows the previous content in it.
fn cover(parent: &Path) -> io::Result<PathBuf> {
    // Opened before they are covered; afterwards there is no other way to them.
    let entries = open_entries(parent)?;
    let options = Some("mode=755");
    mount(
        Some("anabranch"),
        parent,
        Some("tmpfs"),
        MsFlags::empty(),
        options,
    )?;
    let filled = fill(parent, &entries);
    if filled.is_err() {
        // The next candidate is tried: leave this one as it was.
        umount2(parent, MntFlags::MNT_DETACH)?;
    }
    filled
}

fn open_entries(parent: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if path.file_name() == Some(OsStr::new(NAME)) {
            continue;
        }
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&path)?;
        entries.push((path, file));
    }
    Ok(entries)
}

fn fill(parent: &Path, entries: &[(PathBuf, File)]) -> io::Result<PathBuf> {
    for (path, file) in entries {
        show_again(path, file)?;
    }
    let mount_point = parent.join(NAME);
    fs::create_dir(&mount_point)?;
    // What a program writes beside the drive would vanish with the run: better an error than a loss.
    let read_only = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(NO_DATA, parent, NO_DATA, read_only, NO_DATA)?;
    Ok(mount_point)
}

fn show_again(path: &Path, file: &File) -> io::Result<()> {
    let through_descriptor = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let kind = file.metadata()?.file_type();
    if kind.is_symlink() {
        let target = nix::fcntl::readlinkat(file, "")?;
        return symlink(target, path);
    }
    if kind.is_dir() {
        fs::create_dir(path)?;
    } else {
        // Made without opening it: a descriptor for writing, copied by a fork, would hinder the read-only remount.
        mknod(path, SFlag::S_IFREG, Mode::empty(), 0)?;
    }
    let with_mounts_below = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(
        Some(&through_descriptor),
        path,
        NO_DATA,
        with_mounts_below,
        NO_DATA,
    )?;
    Ok(())
}
