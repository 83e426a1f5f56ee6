//! Bytes that have come and were not yet read.

/// Bytes of a buffer before a connection is an I/O queue's, and then (our choice: the one holds the
/// longest admin capsule, the other several units of data).
const SMALL: usize = 16 << 10;
const LARGE: usize = 512 << 10;

/// A buffer that a unit always fits in whole.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
    longest: usize,
}

impl Inbox {
    /// A small one, for units up to `longest`.
    pub(super) fn new(longest: usize) -> Inbox {
        Inbox {
            bytes: vec![0; SMALL.max(longest)],
            begin: 0,
            end: 0,
            longest,
        }
    }

    /// From now on units may be longer.
    pub(super) fn grow(&mut self, longest: usize) {
        self.longest = longest;
        self.bytes.resize(LARGE.max(2 * longest), 0);
    }

    /// Bytes of the longest unit it is for.
    #[inline]
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// What has come.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.begin..self.end).unwrap_or_default()
    }

    /// Where more may come.
    #[inline]
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// So many more have come.
    #[inline]
    pub(super) fn fill(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
    }

    /// So many were read.
    #[inline]
    pub(super) fn take(&mut self, count: usize) {
        self.begin = (self.begin + count).min(self.end);
    }

    /// Makes room for the rest of the unit at hand.
    #[inline]
    pub(super) fn make_room(&mut self) {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.bytes.len() - self.begin < self.longest {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
    }
}
