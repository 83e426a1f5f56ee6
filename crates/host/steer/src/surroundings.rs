//! Needs of a block device's server from the system around it: memory that is always there, and no mount of what it
//! serves.
//!
//! `unsafe` only for one prctl, which no safe wrapper covers.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::path::Path;

use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::mman::{MlockAllFlags, mlockall};

use crate::error::SteerError;
use crate::stack::{kernel_name, layers};

/// Of linux/prctl.h, since Linux 5.6.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Moves the calling thread, and all it starts later, into a mount namespace of its own, without the mounts that stand on
/// block devices of `steer`'s, also through arrays and mappers. Mounts and unmounts made outside still come in where the
/// system shares them; where it does not, a server that kept such a mount would keep the device in use for ever. Call it
/// before other threads are started.
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
    separate().map_err(|error| SteerError::io("make a mount namespace for", "/")(error.into()))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let stacked = mounts.lines().filter_map(|line| {
        let (source, place) = source_and_place(line)?;
        let name = kernel_name(Path::new("/"), Path::new(source))?;
        let layers = layers(Path::new("/"), &name);
        layers.iter().any(|name| is_ublk(name)).then_some(place)
    });
    // The latest first: one may lie on another.
    for place in stacked.collect::<Vec<_>>().into_iter().rev() {
        let _ = umount2(place.as_str(), MntFlags::MNT_DETACH);
    }
    Ok(())
}

/// The source and the mount point of a line of mountinfo whose source is a device.
fn source_and_place(line: &str) -> Option<(&str, String)> {
    let (before, after) = line.split_once(" - ")?;
    let source = after
        .split(' ')
        .nth(1)
        .filter(|source| source.starts_with("/dev/"))?;
    let place = before.split(' ').nth(4)?;
    // Blanks and backslashes stand in octal.
    let place = place
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\");
    Some((source, place))
}

/// Whether the kernel's name is that of a block device of ublk, or of a partition of one.
fn is_ublk(name: &str) -> bool {
    let numbers = name.strip_prefix("ublkb").unwrap_or_default();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match numbers.split_once('p') {
        Some((disk, partition)) => is_number(disk) && is_number(partition),
        None => is_number(numbers),
    }
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
    fn a_mount_s_source_and_place_are_read() {
        let line = |source: &str| {
            format!("36 35 98:0 / /mnt\\040x rw,noatime shared:1 - ext4 {source} rw")
        };
        let device = line("/dev/md0");
        assert_eq!(
            source_and_place(&device),
            Some(("/dev/md0", "/mnt x".to_owned()))
        );
        assert_eq!(source_and_place(&line("tmpfs")), None);
        assert_eq!(source_and_place("no mount"), None);
    }

    #[test]
    fn block_devices_of_ublk_are_known_by_their_names() {
        assert!(is_ublk("ublkb1") && is_ublk("ublkb11p2"));
        for other in ["ublkb", "ublkc1", "ublkb1p", "ublkbp1", "sda1", ""] {
            assert!(!is_ublk(other), "{other}");
        }
    }
}
