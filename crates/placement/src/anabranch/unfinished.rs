//! Units that a change of setting leaves open.

use anabranch_ssd::{Origin, StreamId};

/// A stream's open unit.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Pages the device has appended to it; 0 where none is open.
    filled: u32,
    /// Pages on their way to it: lanes hand over several at a time (`docs/design.md`).
    coming: u32,
    /// The stream that takes what this one took, itself while it is used.
    heir: StreamId,
}

/// Streams that are written no more still have an open unit each, whose free pages are lost to
/// the drive. Pages of the stream nearest in life finish it.
#[derive(Debug)]
pub(super) struct Unfinished {
    streams: Vec<Open>,
    pages_per_unit: u32,
    /// Streams written no more that have an open unit.
    left: u32,
    /// Whether the host's pages that were on their way have come.
    has_arrived: bool,
}

impl Unfinished {
    pub fn new(streams: u16, pages_per_unit: u32) -> Unfinished {
        let open = |stream| Open {
            filled: 0,
            coming: 0,
            heir: StreamId(stream),
        };
        Unfinished {
            streams: (0..streams).map(open).collect(),
            pages_per_unit: pages_per_unit.max(1),
            left: 0,
            has_arrived: true,
        }
    }

    /// From now on streams are used as `heir` says: a stream's heir is the one that takes what it
    /// took, itself if it is used still.
    pub fn change(&mut self, heir: impl Fn(StreamId) -> StreamId) {
        self.left = 0;
        for (stream, open) in (0..).map(StreamId).zip(&mut self.streams) {
            open.heir = heir(stream);
            self.left += u32::from(open.heir != stream && open.filled > 0);
        }
    }

    /// A page is meant for a stream; only streams below `streams` may take it. Answers where it
    /// goes.
    #[inline]
    pub fn place(&mut self, wanted: StreamId, streams: u16) -> StreamId {
        match self.left {
            0 => wanted,
            _ => self.finish(wanted, streams),
        }
    }

    #[cold]
    fn finish(&mut self, wanted: StreamId, streams: u16) -> StreamId {
        if std::mem::take(&mut self.has_arrived) {
            self.streams.iter_mut().for_each(|open| open.coming = 0);
        }
        for (stream, open) in (0..streams).map(StreamId).zip(&mut self.streams) {
            let is_left = open.heir == wanted && stream != wanted && open.filled > 0;
            if is_left && open.filled + open.coming < self.pages_per_unit {
                open.coming += 1;
                return stream;
            }
        }
        wanted
    }

    /// The device appended pages to a stream's open unit.
    #[inline]
    pub fn appended(&mut self, stream: StreamId, pages: u32, origin: Origin) {
        self.has_arrived |= origin == Origin::Host;
        let Some(open) = self.streams.get_mut(stream.index()) else {
            return;
        };
        self.left += u32::from(open.heir != stream && open.filled == 0);
        open.filled += pages;
        open.coming = open.coming.saturating_sub(pages);
        if open.filled >= self.pages_per_unit {
            self.gone(stream);
        }
    }

    /// A stream's unit is open no more.
    pub fn gone(&mut self, stream: StreamId) {
        if let Some(open) = self.streams.get_mut(stream.index()) {
            self.left -= u32::from(open.heir != stream && open.filled > 0);
            open.filled = 0;
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.streams.capacity() * size_of::<Open>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u32 = 100;

    /// Streams 0 to 3 are used by the host, 4 and 5 by copies; each begins a unit.
    fn begun() -> Unfinished {
        let mut unfinished = Unfinished::new(6, UNIT);
        for stream in 0..6 {
            unfinished.appended(StreamId(stream), 70, Origin::Host);
        }
        unfinished
    }

    fn two_classes(stream: StreamId) -> StreamId {
        StreamId(stream.0.min(1))
    }

    /// Where pages meant for stream 1 go, each appended before the next is placed.
    fn placed(unfinished: &mut Unfinished, pages: u32, streams: u16) -> Vec<u16> {
        let mut place = |_| {
            let stream = unfinished.place(StreamId(1), streams);
            unfinished.appended(stream, 1, Origin::Host);
            stream.0
        };
        (0..pages).map(&mut place).collect()
    }

    #[test]
    fn a_stream_given_up_is_finished_by_its_heir() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        let taken = placed(&mut unfinished, 70, 4);
        assert_eq!(taken[..30], [2; 30]);
        assert_eq!(taken[30..60], [3; 30]);
        assert_eq!(taken[60..], [1; 10]);
        assert_eq!(unfinished.place(StreamId(0), 4), StreamId(0));
    }

    #[test]
    fn the_host_never_finishes_what_is_of_copies() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        let host = placed(&mut unfinished, 500, 4);
        assert!(host.iter().max() < Some(&4));
        let copies = placed(&mut unfinished, 60, 6);
        assert_eq!(copies[..30], [4; 30]);
        assert_eq!(copies[30..], [5; 30]);
    }

    #[test]
    fn pages_on_their_way_take_no_more_than_the_room_there_is() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        let sent: Vec<u16> = (0..64)
            .map(|_| unfinished.place(StreamId(1), 4).0)
            .collect();
        assert_eq!(sent[..30], [2; 30]);
        assert_eq!(sent[30..60], [3; 30]);
        assert_eq!(sent[60..], [1; 4]);
        unfinished.appended(StreamId(2), 30, Origin::Host);
        unfinished.appended(StreamId(3), 30, Origin::Host);
        assert_eq!(unfinished.left, 2, "of copies");
    }

    #[test]
    fn a_unit_that_the_device_took_needs_no_finishing() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        unfinished.gone(StreamId(2));
        assert_eq!(unfinished.place(StreamId(1), 4), StreamId(3));
    }

    #[test]
    fn what_went_elsewhere_than_it_was_meant_for_is_not_counted_where_it_was_meant() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        assert_eq!(unfinished.place(StreamId(1), 4), StreamId(2));
        // The device had no unit for it there.
        unfinished.appended(StreamId(0), 1, Origin::Host);
        let taken = placed(&mut unfinished, 31, 4);
        assert_eq!(taken[..30], [2; 30]);
        assert_eq!(taken[30], 3);
    }

    #[test]
    fn a_stream_given_up_that_is_opened_all_the_same_is_finished_too() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        placed(&mut unfinished, 60, 4);
        unfinished.appended(StreamId(2), 5, Origin::Host);
        let taken = placed(&mut unfinished, 96, 4);
        assert_eq!(taken[..95], [2; 95]);
        assert_eq!(taken[95], 1);
    }

    #[test]
    fn what_is_used_still_needs_none() {
        let mut unfinished = begun();
        unfinished.change(|stream| stream);
        assert!((0..4).all(|stream| unfinished.place(StreamId(stream), 4) == StreamId(stream)));
    }
}
