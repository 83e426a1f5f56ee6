//! Bytes that have come and were not yet read.

/// Bytes of a buffer before a connection is an I/O queue's, and then (our choice: the one holds the
/// longest admin capsule, the other several PDUs).
const SMALL: usize = 16 << 10;
const LARGE: usize = 512 << 10;

/// A buffer that a PDU always fits in whole.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
    longest: usize,
    /// Bytes of memory it takes when it does not rest.
    full: usize,
}

impl Inbox {
    /// A small one, for PDUs up to `longest`.
    pub(super) fn new(longest: usize) -> Inbox {
        let full = SMALL.max(longest);
        Inbox {
            bytes: vec![0; full],
            begin: 0,
            end: 0,
            longest,
            full,
        }
    }

    /// Grows the buffer for PDUs up to `longest`.
    pub(super) fn grow(&mut self, longest: usize) {
        self.longest = longest;
        self.full = LARGE.max(2 * longest);
        self.bytes.resize(self.full, 0);
    }

    /// Frees the buffer of an idle connection, down to a small one.
    pub(super) fn shrink(&mut self) {
        if self.begin == self.end && self.bytes.len() > SMALL {
            self.bytes = vec![0; SMALL];
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Bytes of memory it takes.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes of the longest PDU it is for.
    #[inline]
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The bytes that have been received and not been taken.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.begin..self.end).unwrap_or_default()
    }

    /// The free part of the buffer, to read into.
    #[inline]
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Whether there is any.
    pub(super) fn has_room(&self) -> bool {
        self.end < self.bytes.len()
    }

    /// `count` more bytes were read into the buffer.
    #[inline]
    pub(super) fn fill(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
        if self.bytes.len() < self.full {
            self.bytes.resize(self.full, 0);
        }
    }

    /// `count` bytes at the front were used.
    #[inline]
    pub(super) fn take(&mut self, count: usize) {
        self.begin = (self.begin + count).min(self.end);
    }

    /// Makes room for the rest of the PDU at hand.
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
