//! The words the device and its callers share: pages and streams.

use serde::{Deserialize, Serialize};

/// A stream's number. Host streams are `0..host`, 0 being the default (no hint); internal
/// streams follow them. In FDP terms a host stream is a placement identifier.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct StreamId(pub u16);

impl StreamId {
    /// The stream of writes that carry no hint.
    pub const DEFAULT: StreamId = StreamId(0);

    /// The stream's number as an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// `count` logical pages from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PageRange {
    /// The first logical page.
    pub first: u32,
    /// Number of pages.
    pub count: u32,
}

impl PageRange {
    /// `count` pages from `first` on.
    pub fn new(first: u32, count: u32) -> PageRange {
        PageRange { first, count }
    }

    /// One page past the last, wide enough never to overflow.
    pub fn end(self) -> u64 {
        u64::from(self.first) + u64::from(self.count)
    }

    /// The range as indices of a per-page table.
    pub fn indices(self) -> std::ops::Range<usize> {
        self.first as usize..self.end() as usize
    }
}
