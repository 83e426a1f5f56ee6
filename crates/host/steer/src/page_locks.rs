//! Locks of pages between foreground commands and rewrites, hashed in buckets. NVMe does not order commands, so a page must
//! not be rewritten with what it held before a write, a discard or zeroes that are under way.
//!
//! ```text
//! foreground, under the placer's lock:   a page is marked?   wait     else: count it in flight, change its version
//! foreground, when it is done:           count it out
//! survivor, before it is read:           keep its version
//! survivor, under the placer's lock:     version changed, or one in flight?   leave it     else: mark it, rewrite it
//! rewrite, when it is done:              take the mark away
//! ```
//!
//! The version is kept while nothing is in flight, so what is read then is what the page holds until the version changes.
//! Reads of the foreground take no lock: a rewrite does not change what a page holds.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Buckets (our choice: 768 KiB in all, and what is in flight meets few other pages by chance).
const BUCKETS: u64 = 1 << 16;

#[derive(Default)]
struct Bucket {
    in_flight: AtomicU32,
    version: AtomicU32,
    marks: AtomicU32,
}

/// The version of a page while nothing was in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(u32);

/// The locks of all pages, and of the streams' commands under way.
pub struct PageLocks {
    buckets: Vec<Bucket>,
    /// Requests under way that the drive is asked for.
    requests: AtomicU32,
    /// Writes under way to each stream, and those that began.
    streams: Vec<(AtomicU32, AtomicU64)>,
}

impl PageLocks {
    /// None is locked, and no stream of so many is written to.
    pub fn new(streams: usize) -> PageLocks {
        PageLocks {
            buckets: (0..BUCKETS).map(|_| Bucket::default()).collect(),
            requests: AtomicU32::new(0),
            streams: (0..streams).map(|_| Default::default()).collect(),
        }
    }

    fn buckets(&self, pages: Range<u64>) -> impl Iterator<Item = &Bucket> {
        let count = (pages.end - pages.start).min(BUCKETS);
        let pages = pages.start..pages.start + count;
        pages.map(|page| &self.buckets[(page % BUCKETS) as usize])
    }

    /// A foreground command about pages begins, unless a rewrite of one of them is under way. To be called under the placer's
    /// lock.
    pub fn begin(&self, pages: Range<u64>) -> bool {
        let is_marked = |bucket: &Bucket| bucket.marks.load(Ordering::Acquire) > 0;
        if self.buckets(pages.clone()).any(is_marked) {
            return false;
        }
        for bucket in self.buckets(pages) {
            bucket.in_flight.fetch_add(1, Ordering::AcqRel);
            bucket.version.fetch_add(1, Ordering::AcqRel);
        }
        true
    }

    /// A foreground command about pages has ended.
    pub fn end(&self, pages: Range<u64>) {
        for bucket in self.buckets(pages) {
            bucket.in_flight.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The version of a page that is about to be read; nothing while a foreground command about it is under way. To be called
    /// under the placer's lock.
    pub fn version(&self, page: u32) -> Option<Version> {
        let bucket = self.bucket(page);
        let is_in_flight = bucket.in_flight.load(Ordering::Acquire) > 0;
        (!is_in_flight).then(|| Version(bucket.version.load(Ordering::Acquire)))
    }

    /// Marks a page whose rewrite begins: one that has the version it had when it was read, and no command in flight. To be
    /// called under the placer's lock.
    pub fn mark(&self, page: u32) {
        self.bucket(page).marks.fetch_add(1, Ordering::AcqRel);
    }

    /// The rewrite of a page is done.
    pub fn unmark(&self, page: u32) {
        self.bucket(page).marks.fetch_sub(1, Ordering::AcqRel);
    }

    fn bucket(&self, page: u32) -> &Bucket {
        &self.buckets[(u64::from(page) % BUCKETS) as usize]
    }

    /// A request that the drive is asked for begins.
    pub fn arrived(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub fn answered(&self) {
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether no request waits for the drive.
    pub fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0
    }

    /// A write to a stream begins. To be called under the placer's lock.
    pub fn begin_write(&self, stream: usize) {
        if let Some((under_way, begun)) = self.streams.get(stream) {
            under_way.fetch_add(1, Ordering::AcqRel);
            begun.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// A write to a stream has ended.
    pub fn end_write(&self, stream: usize) {
        if let Some((under_way, _)) = self.streams.get(stream) {
            under_way.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Writes to a stream that began so far; nothing while one is under way.
    pub fn begun_writes(&self, stream: usize) -> Option<u64> {
        let (under_way, begun) = self.streams.get(stream)?;
        let is_quiet = under_way.load(Ordering::Acquire) == 0;
        is_quiet.then(|| begun.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_rewritten_only_as_it_was_read() {
        let locks = PageLocks::new(1);
        let read = locks.version(10);
        locks.mark(10);
        // What meets the mark waits for the rewrite's end; others do not.
        assert!(!locks.begin(10..12) && locks.begin(11..12));
        locks.unmark(10);
        assert!(locks.begin(10..11));
        assert_eq!(locks.version(10), None, "a command is in flight");
        locks.end(10..11);
        assert!(read.is_some() && locks.version(10).is_some());
        assert_ne!(locks.version(10), read, "it has been written since");
    }

    #[test]
    fn a_discard_of_everything_locks_each_bucket_once() {
        let locks = PageLocks::new(1);
        let all = 0..BUCKETS * 3;
        assert!(locks.begin(all.clone()));
        assert!(locks.version(0).is_none() && locks.version(u32::MAX).is_none());
        locks.end(all);
        let left = |bucket: &Bucket| bucket.in_flight.load(Ordering::Relaxed);
        assert!(locks.buckets.iter().all(|bucket| left(bucket) == 0));
    }

    #[test]
    fn a_streams_writes_are_counted_from_their_begin_to_their_end() {
        let locks = PageLocks::new(2);
        assert_eq!(locks.begun_writes(1), Some(0));
        locks.begin_write(1);
        assert_eq!(
            (locks.begun_writes(1), locks.begun_writes(0)),
            (None, Some(0))
        );
        locks.end_write(1);
        assert_eq!(locks.begun_writes(1), Some(1));
        assert_eq!(locks.begun_writes(2), None);
    }
}
