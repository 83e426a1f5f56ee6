//! Sparse addresses made dense, so that a drive can be made as full as wanted.

use anabranch_trace::{Io, Operation};

/// Ranges gathered before they are merged (our choice: some MiB).
const MERGE_AT: usize = 1 << 18;

/// Numbers the pages that a trace ever writes, in address order. It learns them in one pass over the trace, and
/// renumbers the same trace in a second: neighbours stay neighbours, holes vanish.
#[derive(Debug, Clone)]
pub struct Renumber {
    page_bytes: u64,
    /// Written page ranges: first page, one past the last, dense number of the first.
    ranges: Vec<(u64, u64, u64)>,
    merge_at: usize,
}

impl Renumber {
    /// A renumbering that has learned nothing yet.
    pub fn new(page_bytes: u32) -> Renumber {
        Renumber {
            page_bytes: u64::from(page_bytes.max(1)),
            ranges: Vec::new(),
            merge_at: MERGE_AT,
        }
    }

    /// Notes the pages that a request writes.
    pub fn learn(&mut self, io: &Io) {
        if io.operation != Operation::Write || io.length_bytes == 0 {
            return;
        }
        let end = io
            .offset_bytes
            .saturating_add(io.length_bytes)
            .div_ceil(self.page_bytes);
        self.ranges
            .push((io.offset_bytes / self.page_bytes, end, 0));
        if self.ranges.len() >= self.merge_at {
            self.merge();
            // Grows with what does not merge, so that merging stays cheap.
            self.merge_at = MERGE_AT.max(self.ranges.len() * 2);
        }
    }

    /// Ends the learning. Answers the distinct pages written.
    pub fn finish_learning(&mut self) -> u64 {
        self.merge();
        let mut dense = 0;
        for (first, end, number) in &mut self.ranges {
            *number = dense;
            dense += *end - *first;
        }
        dense
    }

    fn merge(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
    }

    /// Passes the request with dense addresses to `sink`, in as many pieces as the holes it spans leave. Pages of a
    /// discard or read that are never written are dropped.
    pub fn apply(&self, io: &Io, mut sink: impl FnMut(Io)) {
        if io.length_bytes == 0 {
            sink(*io);
            return;
        }
        let end_bytes = io.offset_bytes.saturating_add(io.length_bytes);
        let first = io.offset_bytes / self.page_bytes;
        let end = end_bytes.div_ceil(self.page_bytes);
        let start = self.ranges.partition_point(|range| range.1 <= first);
        for &(range_first, range_end, dense) in &self.ranges[start..] {
            if range_first >= end {
                break;
            }
            let offset = io.offset_bytes.max(range_first * self.page_bytes);
            let stop = end_bytes.min(range_end.saturating_mul(self.page_bytes));
            sink(Io {
                offset_bytes: offset - range_first * self.page_bytes + dense * self.page_bytes,
                length_bytes: stop - offset,
                ..*io
            });
        }
    }

    /// The original address of an address on the dense drive, both in bytes, after [`Renumber::finish_learning`].
    /// Addresses beyond all pages ever written continue behind the last of them.
    pub fn original_bytes(&self, dense_bytes: u64) -> u64 {
        let page = dense_bytes / self.page_bytes;
        let after = self.ranges.partition_point(|range| range.2 <= page);
        let range = after.checked_sub(1).and_then(|last| self.ranges.get(last));
        range.map_or(dense_bytes, |&(first, _, dense)| {
            (first + (page - dense)) * self.page_bytes + dense_bytes % self.page_bytes
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discard(offset_bytes: u64, length_bytes: u64) -> Io {
        Io {
            operation: Operation::Discard,
            ..Io::write(offset_bytes, length_bytes)
        }
    }

    fn applied(numbers: &Renumber, io: Io) -> Vec<(u64, u64)> {
        let mut pieces = Vec::new();
        numbers.apply(&io, |io| pieces.push((io.offset_bytes, io.length_bytes)));
        pieces
    }

    #[test]
    fn holes_vanish_and_neighbours_stay_neighbours() {
        let mut numbers = Renumber::new(10);
        for (offset, length) in [(1000, 20), (100, 30), (1020, 10), (500, 10)] {
            numbers.learn(&Io::write(offset, length));
        }
        assert_eq!(numbers.finish_learning(), 7);
        assert_eq!(applied(&numbers, Io::write(1000, 30)), [(40, 30)]);
        assert_eq!(applied(&numbers, Io::write(505, 5)), [(35, 5)]);
        assert_eq!(
            applied(&numbers, discard(0, u64::MAX)),
            [(0, 30), (30, 10), (40, 30)]
        );
        assert_eq!(applied(&numbers, discard(600, 100)), []);
        assert_eq!(applied(&numbers, discard(120, 400)), [(20, 10), (30, 10)]);
    }

    #[test]
    fn a_dense_address_is_the_one_it_was() {
        let mut numbers = Renumber::new(10);
        for (offset, length) in [(100, 30), (1000, 20)] {
            numbers.learn(&Io::write(offset, length));
        }
        numbers.finish_learning();
        let originals = [0, 29, 30, 45, 49, 50].map(|dense| numbers.original_bytes(dense));
        assert_eq!(originals, [100, 129, 1000, 1015, 1019, 1020]);
    }
}
