//! Needs of a block device's server from the system around it: memory that is always there, and no mount of its own
//! device.
//!
//! `unsafe` only for one prctl, which no safe wrapper covers.
#![allow(unsafe_code)]

use std::fs;
use std::io;

use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::mman::{MlockAllFlags, mlockall};

use crate::error::SteerError;

/// Of linux/prctl.h, since Linux 5.6.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Moves the calling thread, and all it starts later, into a mount namespace of its own. Mounts and unmounts made
/// outside still come in, so that no medium is kept busy. Call it before other threads are started.
///
/// # Errors
/// When the system does not allow it.
pub fn own_mounts() -> Result<(), SteerError> {
    const NOTHING: Option<&str> = None;
    let separate = || {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let receive_only = MsFlags::MS_REC | MsFlags::MS_SLAVE;
        mount(NOTHING, "/", NOTHING, receive_only, NOTHING)
    };
    separate().map_err(|error| SteerError::io("make a mount namespace for", "/")(error.into()))
}

/// Lets go of what is mounted from a block device, in our mount namespace alone: a server that held a mount of its own
/// device would keep it in use for ever.
pub fn let_go_of(block: &str) {
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else {
        return;
    };
    let own = mounts.lines().filter_map(|line| mounted_from(line, block));
    // The latest first: one may lie on another.
    for place in own.collect::<Vec<_>>().into_iter().rev() {
        let _ = umount2(place.as_str(), MntFlags::MNT_DETACH);
    }
}

/// The mount point of a line of mountinfo, where its source is `/dev/NAME` or a partition of it.
fn mounted_from(line: &str, name: &str) -> Option<String> {
    let (before, after) = line.split_once(" - ")?;
    let source = after.split(' ').nth(1)?.strip_prefix("/dev/")?;
    let rest = source.strip_prefix(name)?;
    let is_partition = rest
        .strip_prefix('p')
        .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
    if !rest.is_empty() && !is_partition {
        return None;
    }
    let place = before.split(' ').nth(4)?;
    // Blanks and backslashes stand in octal.
    Some(
        place
            .replace("\\040", " ")
            .replace("\\011", "\t")
            .replace("\\012", "\n")
            .replace("\\134", "\\"),
    )
}

/// All memory of the process stays in memory, what it will have included, and the kernel kills it last when memory runs
/// out: to write pages out, the system may need us.
///
/// # Errors
/// When the process may not lock that much memory.
pub fn stay_in_memory() -> Result<(), SteerError> {
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE)
        .map_err(|error| SteerError::io("keep in memory", "the server")(error.into()))?;
    let score = "/proc/self/oom_score_adj";
    fs::write(score, "-1000").map_err(SteerError::io("set", score))
}

/// Tells the kernel that the calling thread does what writing pages out waits for, so that its own need of memory never
/// waits for pages to be written out.
pub fn flushes_pages() -> io::Result<()> {
    // SAFETY: the call takes numbers alone.
    match unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_the_device_and_its_partitions_are_found() {
        let line = |source: &str| {
            format!("36 35 98:0 / /mnt\\040x rw,noatime shared:1 - ext4 {source} rw")
        };
        let found = |source: &str| mounted_from(&line(source), "ublkb1");
        assert_eq!(found("/dev/ublkb1"), Some("/mnt x".to_owned()));
        assert_eq!(found("/dev/ublkb1p2"), Some("/mnt x".to_owned()));
        assert_eq!(found("/dev/ublkb11"), None);
        assert_eq!(found("tmpfs"), None);
    }
}
