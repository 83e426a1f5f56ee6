//! The write buffer: what the host wrote and the flash has not yet programmed.

use std::collections::VecDeque;

use super::{die::Operation, pending::Pending};

/// A program operation whose last pages have not all found room in the buffer yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    /// Number of the operation's last host page.
    upto: u64,
    pub(super) die: u32,
    pub(super) operation: Operation,
}

/// A write some of whose pages have no room in the buffer yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingWrite {
    /// Number of the write's last page.
    upto: u64,
    pub(super) since: u64,
    pub(super) write: Pending,
}

/// Host pages are numbered as they are written, and take room in the buffer in that order; the
/// room is free again when they are programmed.
#[derive(Debug)]
pub(super) struct WriteBuffer {
    pages: u64,
    written: u64,
    freed: u64,
    /// Writes that wait for room.
    writes: VecDeque<WaitingWrite>,
    held: VecDeque<Held>,
    /// Program operations unfinished, by the number of flushes asked for before them, from
    /// `first_epoch` on.
    unfinished: VecDeque<u64>,
    first_epoch: u64,
    /// Flushes that wait, one for each epoch but the last.
    flushes: VecDeque<Pending>,
}

impl WriteBuffer {
    pub(super) fn new(pages: u64) -> WriteBuffer {
        WriteBuffer {
            pages,
            written: 0,
            freed: 0,
            writes: VecDeque::new(),
            held: VecDeque::new(),
            unfinished: VecDeque::from([0]),
            first_epoch: 0,
            flushes: VecDeque::new(),
        }
    }

    /// Numbers the pages that the host wrote.
    #[inline]
    pub(super) fn write(&mut self, pages: u32) {
        self.written += u64::from(pages);
    }

    /// Number of the last host page that has room.
    #[inline]
    fn admitted(&self) -> u64 {
        self.freed + self.pages
    }

    /// Whether all pages written so far have room; if not, the write waits for it.
    #[inline]
    pub(super) fn admit(&mut self, write: Pending, now: u64) -> bool {
        let admitted = self.written <= self.admitted();
        if !admitted {
            self.writes.push_back(WaitingWrite {
                upto: self.written,
                since: now,
                write,
            });
        }
        admitted
    }

    /// Takes a program operation of host pages. Answers with it if all its pages have room, so that
    /// it can go to its die now; holds it otherwise.
    pub(super) fn hold(&mut self, die: u32, operation: Operation) -> Option<Operation> {
        if let Some(count) = self.unfinished.back_mut() {
            *count += 1;
        }
        if self.held.is_empty() && self.written <= self.admitted() {
            return Some(operation);
        }
        self.held.push_back(Held {
            upto: self.written,
            die,
            operation,
        });
        None
    }

    /// Host pages have left the buffer.
    pub(super) fn free(&mut self, pages: u32) {
        self.freed += u64::from(pages);
    }

    /// The next write that has found room.
    #[inline]
    pub(super) fn next_write(&mut self) -> Option<WaitingWrite> {
        let first = self.writes.front()?;
        if first.upto <= self.admitted() {
            self.writes.pop_front()
        } else {
            None
        }
    }

    /// The next program operation whose pages have found room.
    #[inline]
    pub(super) fn next_held(&mut self) -> Option<Held> {
        let first = self.held.front()?;
        if first.upto <= self.admitted() {
            self.held.pop_front()
        } else {
            None
        }
    }

    /// The epoch, the number of flushes so far, that a new program operation is marked with.
    pub(super) fn epoch(&self) -> u64 {
        self.first_epoch + self.flushes.len() as u64
    }

    /// Whether nothing is on its way to the flash; if something is, the flush waits for it.
    pub(super) fn flush(&mut self, flush: Pending) -> bool {
        let clean = self.flushes.is_empty() && self.unfinished.back() == Some(&0);
        if !clean {
            self.flushes.push_back(flush);
            self.unfinished.push_back(0);
        }
        clean
    }

    /// A program operation of host pages is done.
    pub(super) fn finish(&mut self, epoch: u64) {
        if let Some(count) = self.unfinished.get_mut((epoch - self.first_epoch) as usize) {
            *count -= 1;
        }
    }

    /// The next flush all of whose pages are safe.
    #[inline]
    pub(super) fn next_flush(&mut self) -> Option<Pending> {
        if self.unfinished.front() != Some(&0) {
            return None;
        }
        let flush = self.flushes.pop_front()?;
        self.unfinished.pop_front();
        self.first_epoch += 1;
        Some(flush)
    }
}
