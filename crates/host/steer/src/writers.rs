//! The writers of the pages that a request carries, page by page.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use anabranch_placement::Names;
use anabranch_trace::{ContextId, FileId, WriteHint};

/// The writer of a page, in the words of a recorded request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writer {
    /// The path of calls that wrote it.
    pub context: ContextId,
    /// The file it belongs to.
    pub file: FileId,
    /// The life-time hint the application asked for.
    pub hint: WriteHint,
    /// Number of one of several programs on a drive.
    pub tenant: u32,
}

/// Tells the writer of each page of a steered block device. Pages are 4 KiB, counted from the
/// first byte of the whole device. All queues ask the same object, each on its own thread, and wait
/// for one another meanwhile.
pub trait Writers: Send + Sync {
    /// Returns the writer of the data on their way to `page`; nothing where it was not seen. May wait for a
    /// moment where somebody writes for the first time.
    fn writer_of(&self, page: u64) -> Option<Writer>;

    /// Names of contexts and files that were not told yet, where these numbers of rows were.
    /// Nothing where they cannot be had at once: they are asked for again.
    fn news(&self, _contexts: usize, _files: usize) -> Option<Names> {
        None
    }

    /// A request of `pages` pages from `first_page` on is about to be acknowledged: what is known
    /// of them may be forgotten. Not called for a request that the device will be asked for again.
    fn done(&self, first_page: u64, pages: u64);
}

/// Nobody watches: no page has a known writer.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWriters;

impl Writers for NoWriters {
    fn writer_of(&self, _page: u64) -> Option<Writer> {
        None
    }

    fn done(&self, _first_page: u64, _pages: u64) {}
}

/// Writers told page by page: for tests.
#[derive(Debug, Default)]
pub struct KnownWriters(Mutex<HashMap<u64, Writer>>);

impl KnownWriters {
    /// Some pages have a writer from now on.
    pub fn record(&self, pages: std::ops::Range<u64>, writer: Writer) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(pages.map(|page| (page, writer)));
    }
}

impl Writers for KnownWriters {
    fn writer_of(&self, page: u64) -> Option<Writer> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&page).copied()
    }

    fn done(&self, first_page: u64, pages: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for page in first_page..first_page.saturating_add(pages) {
            known.remove(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_known_until_its_page_is_acknowledged() {
        let writer = Writer {
            context: ContextId(7),
            file: FileId(1),
            hint: WriteHint::NotSet,
            tenant: 0,
        };
        let writers = KnownWriters::default();
        writers.record(3..5, writer);
        assert_eq!(writers.writer_of(3), Some(writer));
        writers.done(3, 1);
        assert_eq!(writers.writer_of(3), None);
        assert_eq!(writers.writer_of(4), Some(writer));
        assert_eq!(NoWriters.writer_of(4), None);
    }
}
