//! A process beside the server that kills it when it falls silent: one that is stopped or stuck cannot end itself.
//!
//! `unsafe` only to fork, before there is another thread, and to end the child.
#![allow(unsafe_code)]

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, fork, getpid, getppid, setsid};

use crate::surroundings::stay_in_memory;

/// Between two beats (our choice).
pub const BEAT: Duration = Duration::from_secs(1);

/// The guard of the process that started it. It ends with that process.
#[derive(Debug)]
pub struct Guard(UnixStream);

impl Guard {
    /// From the first [`Guard::beat`] on, this process is killed when so many seconds pass without another; `told` is
    /// called then, in the guard's process. To be started before any thread.
    ///
    /// # Errors
    /// When the system gives no socket or no process.
    pub fn start(limit: Duration, told: impl FnOnce()) -> io::Result<Guard> {
        let (ours, its) = UnixStream::pair()?;
        // A guard that was stopped must not stop us.
        ours.set_nonblocking(true)?;
        its.set_read_timeout(Some(BEAT))?;
        let watched = getpid();
        // SAFETY: no other thread is there, so that nobody holds a lock that the child might want.
        match unsafe { fork() }? {
            ForkResult::Parent { .. } => Ok(Guard(ours)),
            ForkResult::Child => {
                drop(ours);
                keep_apart();
                // A process whose parent ended has another parent: the watched one is still there only if it is ours.
                if falls_silent(&its, limit.as_secs()) && getppid() == watched {
                    let _ = kill(watched, Signal::SIGKILL);
                    told();
                }
                // SAFETY: takes a number; what the parent registered for its own end is not the child's to do.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Says that the process lives.
    ///
    /// # Errors
    /// When the guard has ended.
    pub fn beat(&self) -> io::Result<()> {
        match (&self.0).write(&[0]) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

/// What is typed at the server's terminal is not for the guard; it keeps no directory busy, stays in memory, and is
/// killed last.
fn keep_apart() {
    let _ = setsid();
    let _ = std::env::set_current_dir("/");
    // The server may serve the swap: whoever is to end it must not wait for that.
    let _ = stay_in_memory();
}

/// Whether so many seconds pass without a beat once there was one; false when the other end is gone. Seconds are counted
/// one by one: a machine that slept wakes server and guard together.
fn falls_silent(mut beats: &UnixStream, limit: u64) -> bool {
    let (mut missed, mut has_begun) = (0, false);
    while missed < limit {
        match beats.read(&mut [0; 64]) {
            Ok(0) => return false,
            Ok(_) => (missed, has_begun) = (0, true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => missed += u64::from(has_begun),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_from_the_first_beat_and_begins_anew_with_each() {
        let (ours, its) = UnixStream::pair().unwrap();
        its.set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let guard = Guard(ours);
        let watching = std::thread::spawn(move || falls_silent(&its, 200));
        // Silent far longer than the limit, before the first beat.
        std::thread::sleep(Duration::from_millis(600));
        assert!(!watching.is_finished());
        guard.beat().unwrap();
        assert!(watching.join().unwrap());
        assert!(guard.beat().is_err(), "nobody listens");
    }

    #[test]
    fn who_ends_is_not_silent() {
        let (ours, its) = UnixStream::pair().unwrap();
        its.set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        Guard(ours.try_clone().unwrap()).beat().unwrap();
        drop(ours);
        assert!(!falls_silent(&its, u64::MAX));
    }
}
