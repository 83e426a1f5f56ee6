//! Units that a change of setting leaves open.

use anabranch_ssd::StreamId;

/// Pages that may have been placed and not yet reached the device when it opens a unit for them:
/// lanes hand over so many at a time (`docs/design.md`).
const IN_FLIGHT_PAGES: u32 = 64;

/// Streams that are written no more still have an open unit each, whose free pages are lost to
/// the drive. Pages of the stream nearest in life finish it.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// Pages written to each stream's open unit.
    filled: Vec<u32>,
    pages_per_unit: u32,
    /// A stream to be finished, and the stream whose pages do that.
    open: Vec<(StreamId, StreamId)>,
}

impl Unfinished {
    pub fn new(streams: u16, pages_per_unit: u32) -> Unfinished {
        Unfinished {
            filled: vec![0; usize::from(streams)],
            pages_per_unit: pages_per_unit.max(1),
            open: Vec::with_capacity(usize::from(streams)),
        }
    }

    /// From now on streams are used as `heir` says: a stream's heir is the one that takes what it
    /// took, itself if it is used still.
    pub fn change(&mut self, heir: impl Fn(StreamId) -> StreamId) {
        self.open.clear();
        for (stream, &filled) in (0..).map(StreamId).zip(&self.filled) {
            let heir = heir(stream);
            if filled > 0 && heir != stream {
                self.open.push((stream, heir));
            }
        }
    }

    /// A page is meant for a stream; only streams below `streams` may take it. Answers where it
    /// goes.
    #[inline]
    pub fn place(&mut self, wanted: StreamId, streams: u16) -> StreamId {
        let mut stream = wanted;
        let fits =
            |&&(unfinished, heir): &&(StreamId, StreamId)| heir == wanted && unfinished.0 < streams;
        if let Some(&(unfinished, _)) = self.open.iter().find(fits) {
            stream = unfinished;
        }
        if let Some(filled) = self.filled.get_mut(stream.index()) {
            *filled += 1;
            if *filled >= self.pages_per_unit {
                *filled = 0;
                self.open.retain(|(unfinished, _)| *unfinished != stream);
            }
        }
        stream
    }

    /// The device opened a unit for a stream.
    pub fn opened(&mut self, stream: StreamId) {
        self.open.retain(|(unfinished, _)| *unfinished != stream);
        if let Some(filled) = self.filled.get_mut(stream.index())
            && *filled > IN_FLIGHT_PAGES
        {
            // The device had closed the last one before it was full.
            *filled = 0;
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.filled.capacity() * size_of::<u32>()
            + self.open.capacity() * size_of::<(StreamId, StreamId)>()
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
            for _ in 0..70 {
                unfinished.place(StreamId(stream), 6);
            }
        }
        unfinished
    }

    fn two_classes(stream: StreamId) -> StreamId {
        StreamId(stream.0.min(1))
    }

    #[test]
    fn a_stream_given_up_is_finished_by_its_heir() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        let taken: Vec<u16> = (0..70)
            .map(|_| unfinished.place(StreamId(1), 4).0)
            .collect();
        assert_eq!(taken[..30], [2; 30]);
        assert_eq!(taken[30..60], [3; 30]);
        assert_eq!(taken[60..], [1; 10]);
        assert_eq!(unfinished.place(StreamId(0), 4), StreamId(0));
    }

    #[test]
    fn the_host_never_finishes_what_is_of_copies() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        let host = (0..500).map(|_| unfinished.place(StreamId(1), 4).0);
        assert!(host.max() < Some(4));
        let copies: Vec<u16> = (0..60)
            .map(|_| unfinished.place(StreamId(1), 6).0)
            .collect();
        assert_eq!(copies[..30], [4; 30]);
        assert_eq!(copies[30..], [5; 30]);
    }

    #[test]
    fn a_unit_that_the_device_replaced_needs_no_finishing() {
        let mut unfinished = begun();
        unfinished.change(two_classes);
        unfinished.opened(StreamId(2));
        assert_eq!(unfinished.place(StreamId(1), 4), StreamId(3));
    }

    #[test]
    fn what_is_used_still_needs_none() {
        let mut unfinished = begun();
        unfinished.change(|stream| stream);
        assert!((0..4).all(|stream| unfinished.place(StreamId(stream), 4) == StreamId(stream)));
    }
}
