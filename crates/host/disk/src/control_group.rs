//! A control group (cgroup v2) of the run's own.
//!
//! A program can leave a process tree, a session and a mount namespace, but everything it starts stays in its control
//! group. So a container that a run starts ends with the run.
//!
//! `unsafe` only for what a child does between its birth and its program, which no safe wrapper covers.
#![allow(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::write;

/// The type of mount data where a mount takes none.
pub(crate) type NoData = Option<&'static str>;
pub(crate) const NO_DATA: NoData = None;

/// The place of a group that does not exist yet. The process that will remove the group learns the place first.
#[derive(Debug)]
pub(crate) struct GroupPlace {
    /// The directory that the group will lie in. Its mount is detached: no program of the run sees it.
    parent: File,
    name: String,
}

impl GroupPlace {
    /// Finds a place below our own group, so that limits on us hold for the run. The hierarchy is mounted on
    /// `mount_point` for a moment; IMPORTANT: the calling thread must have a mount namespace of its own, or everybody
    /// sees that mount. The number of the namespace names the group.
    pub(crate) fn find(mount_point: &Path) -> io::Result<Self> {
        let hierarchy = Some("cgroup2");
        mount(hierarchy, mount_point, hierarchy, MsFlags::empty(), NO_DATA)?;
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
        // One outside of the namespace of groups that we see begins with `..`: the root is there.
        let own = own.filter(|own| !own.starts_with("..")).unwrap_or_default();
        let parent = File::open(mount_point.join(own));
        umount2(mount_point, MntFlags::MNT_DETACH)?;
        let namespace = fs::metadata("/proc/thread-self/ns/mnt")?.ino();
        Ok(GroupPlace {
            parent: parent?,
            name: format!("anabranch-{namespace}"),
        })
    }

    /// The directory that the group will lie in, for another process, and the group's name there.
    pub(crate) fn directory_and_name(&self) -> io::Result<(File, &str)> {
        Ok((self.parent.try_clone()?, &self.name))
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.parent.as_raw_fd())).join(&self.name)
    }
}

/// The run's control group. Dropping it removes the group, if nothing is left in it.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    place: GroupPlace,
    /// The file of members: a process that writes `0` to it moves into the group.
    members: File,
}

impl ControlGroup {
    pub(crate) fn create(place: GroupPlace) -> io::Result<Self> {
        match fs::create_dir(place.path()) {
            // Left by a run that was killed together with its guardian, whose namespace is no more.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => created?,
        }
        let members = place.path().join("cgroup.procs");
        Ok(ControlGroup {
            members: OpenOptions::new().write(true).open(members)?,
            place,
        })
    }

    /// Lets the process that `command` starts begin its life in the group.
    pub(crate) fn admit(&self, command: &mut Command) -> io::Result<()> {
        let members = self.members.try_clone()?;
        let enter = move || {
            write(&members, b"0")?;
            Ok(())
        };
        // SAFETY: between fork and exec the closure makes one system call on a descriptor that it owns, and
        // converts its error, which neither allocates nor takes a lock.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// The ids of all processes in the group, and in groups that they made below it.
    pub(crate) fn members(&self) -> Vec<u32> {
        let mut members = Vec::new();
        for directory in self.directories() {
            // A group of threads cannot be read: its processes are listed in the group above it.
            let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
            members.extend(text.lines().filter_map(|id| id.parse::<u32>().ok()));
        }
        members
    }

    /// Kills all members at once, also those being born. It needs Linux 5.14 or newer.
    pub(crate) fn kill(&self) -> io::Result<()> {
        fs::write(self.place.path().join("cgroup.kill"), "1")
    }

    /// The group's directory and those below it, each after the one it lies in.
    fn directories(&self) -> Vec<PathBuf> {
        let mut directories = vec![self.place.path()];
        let mut next = 0;
        while let Some(directory) = directories.get(next) {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
            directories.extend(below);
            next += 1;
        }
        directories
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for directory in self.directories().iter().rev() {
            // One that somebody still lives in stays; the guardian has tried what can be done about it.
            let _ = fs::remove_dir(directory);
        }
    }
}
