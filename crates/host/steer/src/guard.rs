//! A process beside the server that kills it when it falls silent, since one that is stopped or stuck cannot end itself; and
//! that keeps the drive held while the block device waits for the next server, so that nobody mounts the drive itself.
//!
//! `unsafe` only to fork, before there is another thread, and to end the child.
#![allow(unsafe_code)]

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid, setsid};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
    sockopt,
};

use crate::drive::sequence;
use crate::surroundings::stay_in_memory;

/// Between two beats (our choice).
pub const BEAT: Duration = Duration::from_secs(1);
/// Between two looks at whether the block device still waits (our choice): a drive that goes away must not be kept for long.
const LOOK: Duration = Duration::from_millis(50);
/// The message of a beat; any other is a block device's number, with the drive to hold for it.
const BEAT_BYTES: [u8; 1] = [0];

/// The guard of the process that started it. It ends with that process, unless a block device waits then.
#[derive(Debug)]
pub struct Guard {
    socket: OwnedFd,
    process: Pid,
    /// Whether the server has ended it.
    was_ended: AtomicBool,
}

/// A drive that is held for a block device.
struct Held {
    drive: OwnedFd,
    device: u32,
}

/// The end of a server, seen from the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Silent,
    Gone,
}

impl Guard {
    /// From the first [`Guard::beat`] on, this process is killed when so many seconds pass without another; `told` is
    /// called then, in the guard's process. To be started before any thread.
    ///
    /// # Errors
    /// When the system gives no socket or no process.
    pub fn start(limit: Duration, told: impl FnOnce()) -> io::Result<Guard> {
        let (ours, its) = pair(BEAT)?;
        let watched = getpid();
        // SAFETY: no other thread is there, so that nobody holds a lock that the child might want.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Guard {
                socket: ours,
                process: child,
                was_ended: AtomicBool::new(false),
            }),
            ForkResult::Child => {
                drop(ours);
                keep_apart();
                let (end, held) = watch(its.as_fd(), limit.as_secs());
                // A process whose parent ended has another parent: the watched one is still there only if it is ours.
                if end == End::Silent && getppid() == watched {
                    let _ = kill(watched, Signal::SIGKILL);
                    told();
                }
                drop(its);
                if let Some(held) = held {
                    keep_held(&held);
                }
                // SAFETY: takes a number; what the parent registered for its own end is not the child's to do.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Says that the process lives.
    ///
    /// # Errors
    /// When somebody else has ended the guard.
    pub fn beat(&self) -> io::Result<()> {
        // A guard that was stopped must not stop us.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match rustix::net::send(&self.socket, &BEAT_BYTES, flags) {
            Err(error) if error != Errno::AGAIN && !self.was_ended.load(Ordering::Relaxed) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }

    /// Hands it the held drive: it keeps it held, should this process end while the block device of this number waits.
    pub(crate) fn hold(&self, drive: BorrowedFd<'_>, device: u32) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut files = SendAncillaryBuffer::new(&mut space);
        let drives = [drive];
        files.push(SendAncillaryMessage::ScmRights(&drives));
        let bytes = device.to_le_bytes();
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut files, flags)?;
        Ok(())
    }

    pub(crate) fn process(&self) -> i32 {
        self.process.as_raw()
    }

    /// Ends it, and waits for that: the drive is not held by it any more.
    pub(crate) fn end(&self) {
        // First: the thread that beats may find the guard gone at any moment from now on.
        self.was_ended.store(true, Ordering::Relaxed);
        if kill(self.process, Signal::SIGKILL).is_ok() {
            let _ = waitpid(self.process, None);
        }
    }
}

/// Makes a guard let go of a drive that it holds for a block device that waits; any other process is left alone.
pub(crate) fn release(guard: i32, device: u32) {
    let name = fs::read_to_string(format!("/proc/{guard}/comm")).unwrap_or_default();
    if guard > 1 && name.trim() == name_of(device) {
        let _ = kill(Pid::from_raw(guard), Signal::SIGKILL);
    }
}

/// The name of a guard while it holds a drive: whoever looks for what keeps the drive busy reads it.
fn name_of(device: u32) -> String {
    // The kernel keeps 15 bytes of it.
    format!("ublkb{device}-waits").chars().take(15).collect()
}

/// A socket for messages, whose second end waits for so long.
fn pair(wait: Duration) -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, its) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    sockopt::set_socket_timeout(&its, sockopt::Timeout::Recv, Some(wait))?;
    Ok((ours, its))
}

/// Separates the guard from the server's terminal; it keeps no directory busy, stays in memory, and is killed last.
fn keep_apart() {
    let _ = setsid();
    let _ = std::env::set_current_dir("/");
    // The server may serve the swap: whoever is to end it must not wait for that.
    let _ = stay_in_memory();
}

/// Waits until so many seconds pass without a beat once there was one, or the other end is gone; answers with the drive that
/// is to be held. Seconds are counted one by one: a machine that slept wakes server and guard together.
fn watch(socket: BorrowedFd<'_>, limit: u64) -> (End, Option<Held>) {
    let (mut missed, mut has_begun, mut held) = (0, false, None);
    while missed < limit {
        let mut bytes = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut files = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut files,
            RecvFlags::CMSG_CLOEXEC,
        );
        match received.map(|message| message.bytes) {
            Ok(0) => return (End::Gone, held),
            Ok(_) => (missed, has_begun) = (0, true),
            Err(Errno::AGAIN) => missed += u64::from(has_begun),
            Err(Errno::INTR) => {}
            Err(_) => return (End::Gone, held),
        }
        let drives = files.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(drives) => Some(drives),
            _ => None,
        });
        if let Some(drive) = drives.flatten().next() {
            let device = u32::from_le_bytes(bytes);
            held = Some(Held { drive, device });
        }
    }
    (End::Silent, held)
}

/// Keeps a drive held as long as both it and the block device are there.
fn keep_held(held: &Held) {
    // Whoever reads what the server printed must not wait for us.
    if let Ok(nowhere) = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
    {
        let _ = rustix::stdio::dup2_stdin(&nowhere);
        let _ = rustix::stdio::dup2_stdout(&nowhere);
        let _ = rustix::stdio::dup2_stderr(&nowhere);
    }
    let _ = fs::write("/proc/self/comm", name_of(held.device));
    let places = [
        Path::new("/sys/block").join(format!("ublkb{}", held.device)),
        place_of(held.drive.as_fd()),
    ];
    let sequences = || places.each_ref().map(|place| sequence(place));
    let began = sequences();
    while began.iter().all(Option::is_some) && sequences() == began {
        thread::sleep(LOOK);
    }
}

/// A block device's place in sysfs.
fn place_of(drive: BorrowedFd<'_>) -> PathBuf {
    let number = nix::sys::stat::fstat(drive).map_or(0, |found| found.st_rdev);
    let (major, minor) = (nix::sys::stat::major(number), nix::sys::stat::minor(number));
    PathBuf::from(format!("/sys/dev/block/{major}:{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard_of(socket: OwnedFd) -> Guard {
        Guard {
            socket,
            process: Pid::from_raw(i32::MAX),
            was_ended: AtomicBool::new(false),
        }
    }

    #[test]
    fn a_guard_that_is_gone_is_told_unless_the_server_has_ended_it() {
        let (ours, its) = pair(Duration::from_millis(1)).unwrap();
        let guard = guard_of(ours);
        drop(its);
        assert!(guard.beat().is_err());
        guard.end();
        assert!(guard.beat().is_ok());
    }

    #[test]
    fn silence_counts_from_the_first_beat_and_begins_anew_with_each() {
        let (ours, its) = pair(Duration::from_millis(1)).unwrap();
        let guard = guard_of(ours);
        let watching = thread::spawn(move || watch(its.as_fd(), 200).0);
        // Silent far longer than the limit, before the first beat.
        thread::sleep(Duration::from_millis(600));
        assert!(!watching.is_finished());
        guard.beat().unwrap();
        assert_eq!(watching.join().unwrap(), End::Silent);
        assert!(guard.beat().is_err(), "nobody listens");
    }

    #[test]
    fn who_ends_is_not_silent_and_leaves_the_drive_that_it_handed_over() {
        let (ours, its) = pair(Duration::from_millis(1)).unwrap();
        let guard = guard_of(ours);
        guard.beat().unwrap();
        let (drive, mark) = (tempfile::tempfile().unwrap(), *b"held");
        rustix::io::write(&drive, &mark).unwrap();
        guard.hold(drive.as_fd(), 7).unwrap();
        guard.beat().unwrap();
        drop((guard, drive));
        let (end, held) = watch(its.as_fd(), u64::MAX);
        assert_eq!(end, End::Gone);
        let held = held.unwrap();
        let mut read = [0; 4];
        rustix::io::pread(&held.drive, &mut read, 0).unwrap();
        assert_eq!((held.device, read), (7, mark));
    }

    #[test]
    fn only_a_guard_that_holds_for_this_device_is_made_to_let_go() {
        // Were it not for its name, this very process would be killed.
        release(std::process::id().cast_signed(), 0);
    }
}
