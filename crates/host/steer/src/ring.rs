//! An io_uring of wide entries, as commands of the block device and of NVMe need them.
//!
//! `unsafe` only to hand entries that name memory to the ring: who pushes one keeps that memory until its completion has
//! been seen.
#![allow(unsafe_code)]

use std::io;

use io_uring::{IoUring, cqueue, squeue, types};
use nix::libc::{EBUSY, ETIME};

use crate::error::SteerError;

/// A ring of one thread.
pub struct Ring(IoUring<squeue::Entry128, cqueue::Entry32>);

impl Ring {
    /// One for so many entries, and so many completions that were not seen; to be made on the thread that uses it.
    pub fn new(entries: u32, completions: u32) -> Result<Ring, SteerError> {
        let ring = IoUring::builder()
            .setup_cqsize(completions)
            .setup_single_issuer()
            // Completions are made in the wait for them, all that are there at once, and interrupt nothing else.
            .setup_defer_taskrun()
            .build(entries);
        ring.map(Ring).map_err(SteerError::Ring)
    }

    /// Makes so many places for memory that the kernel lends.
    pub fn make_places(&self, count: u16) -> Result<(), SteerError> {
        let made = self.0.submitter().register_buffers_sparse(count.into());
        made.map_err(SteerError::Ring)
    }

    /// Adds an entry; the kernel has it from the next [`Ring::submit`] or [`Ring::wait`] on.
    pub fn push(&mut self, entry: &squeue::Entry128) -> Result<(), SteerError> {
        loop {
            // SAFETY: see the head of this file.
            if unsafe { self.0.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit()?;
        }
    }

    /// Hands all entries to the kernel.
    pub fn submit(&mut self) -> Result<(), SteerError> {
        self.0.submit().map(drop).map_err(SteerError::Ring)
    }

    /// Hands all entries to the kernel, and waits for a completion.
    pub fn wait(&mut self) -> Result<(), SteerError> {
        waited(self.0.submit_and_wait(1))
    }

    /// The same, so long at most. Each such wait sets a timer, and takes it away again.
    pub fn wait_at_most(&mut self, longest: &types::Timespec) -> Result<(), SteerError> {
        let waiting = types::SubmitArgs::new().timespec(longest);
        waited(self.0.submitter().submit_with_args(1, &waiting))
    }

    /// The next completion, if there is one: its entry's user data, and the result.
    pub fn completion(&mut self) -> Option<(u64, i32)> {
        let one = self.0.completion().next()?;
        Some((one.user_data(), one.result()))
    }

    /// Moves all completions there are to `seen`.
    pub fn take_completions(&mut self, seen: &mut Vec<(u64, i32)>) {
        let completions = self.0.completion();
        seen.extend(completions.map(|one| (one.user_data(), one.result())));
    }
}

/// The outcome of a wait: what ends it without a completion is no error.
fn waited(submitted: io::Result<usize>) -> Result<(), SteerError> {
    match submitted {
        Ok(_) => Ok(()),
        Err(error) if error.raw_os_error() == Some(ETIME) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        // The kernel has no room for more completions until these are seen.
        Err(error) if error.raw_os_error() == Some(EBUSY) => Ok(()),
        Err(error) => Err(SteerError::Ring(error)),
    }
}
