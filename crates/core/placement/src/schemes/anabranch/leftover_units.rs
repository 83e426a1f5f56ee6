//! Open units after a change of leader: those it leaves open, and those that a stream is too rare for.

use anabranch_ssd::{Origin, StreamId};

use crate::geometry::HostGeometry;

/// A stream is rare if a capacity of writes fills less than a unit over this number of it (our choice on 73 recordings: with
/// 1, 2 and 8 mean copies are within 1 %).
const RARE_UNIT_PARTS: u32 = 4;

/// A stream's open unit.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Pages the device has appended to it; 0 where none is open.
    filled: u32,
    /// Pages on their way to it: lanes hand over several at a time (`docs/design.md`).
    coming: u32,
    /// Whether the present leader has named the stream.
    is_named: bool,
    /// Pages of the host meant for it, those of the present leader alone; halved as it leads on.
    wanted_pages: u64,
}

/// Streams that are written no more still have an open unit each, whose free pages are lost to the
/// drive. A stream that has no open unit finishes one of those before it opens its own.
///
/// A stream that the new leader seldom names would open a unit and keep it nearly empty for the rest of the run. Where few
/// units are spare, that costs more than to mix its few pages with others: it opens none, and they go to the busiest stream.
#[derive(Debug)]
pub(super) struct LeftoverUnits {
    streams: Vec<Open>,
    pages_per_unit: u32,
    /// Units left open.
    left: u32,
    /// Whether the host's pages that were on their way have come.
    has_arrived: bool,
    capacity: u64,
    /// Since when `wanted_pages` are counted; `None` before the first change of leader.
    since_pages: Option<u64>,
}

impl LeftoverUnits {
    pub fn new(streams: u16, geometry: &HostGeometry) -> LeftoverUnits {
        let open = Open {
            filled: 0,
            coming: 0,
            is_named: true,
            wanted_pages: 0,
        };
        LeftoverUnits {
            streams: vec![open; streams.into()],
            pages_per_unit: geometry.pages_per_unit.max(1),
            left: 0,
            has_arrived: true,
            capacity: u64::from(geometry.logical_pages).max(1),
            since_pages: None,
        }
    }

    /// Another leads from now on: every open unit is left, until its stream is named again.
    pub fn change(&mut self, now_pages: u64) {
        self.left = 0;
        self.since_pages = Some(now_pages);
        for open in &mut self.streams {
            open.is_named = false;
            open.wanted_pages = 0;
            self.left += u32::from(open.filled > 0);
        }
    }

    /// A page of the host is meant for a stream; only streams below `streams` may take it. Returns the one that does: the
    /// busiest in place of a rare one without an open unit.
    #[inline]
    pub fn place_new(&mut self, wanted: StreamId, streams: u16, now_pages: u64) -> StreamId {
        let stream = match self.since_pages {
            // why: under the first leader this costs more than it gains; units that a new drive opens fill up with data.
            None => wanted,
            Some(since_pages) => self.count(wanted, streams, since_pages, now_pages),
        };
        self.place(stream, streams)
    }

    /// Counts a page that is meant for a stream. Returns the busiest stream if this one is too rare to open a unit.
    fn count(&mut self, wanted: StreamId, streams: u16, since: u64, now: u64) -> StreamId {
        let mut counted_pages = now.saturating_sub(since);
        if counted_pages >= self.capacity {
            counted_pages = self.capacity / 2;
            self.since_pages = Some(now - counted_pages);
            self.streams
                .iter_mut()
                .for_each(|open| open.wanted_pages /= 2);
        }
        let Some(open) = self.streams.get_mut(wanted.index()) else {
            return wanted;
        };
        open.wanted_pages += 1;
        let rare_pages = u64::from(self.pages_per_unit / RARE_UNIT_PARTS) * counted_pages;
        if open.filled > 0 || open.wanted_pages >= rare_pages.div_ceil(self.capacity) {
            return wanted;
        }
        let wanted_pages = |stream: &StreamId| self.streams[stream.index()].wanted_pages;
        let busiest = (0..streams.min(self.streams.len() as u16)).map(StreamId);
        busiest.max_by_key(wanted_pages).unwrap_or(wanted)
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
        let Some(open) = self.streams.get_mut(wanted.index()) else {
            return wanted;
        };
        if !std::mem::replace(&mut open.is_named, true) && open.filled > 0 {
            self.left -= 1;
        }
        let budget = self.pages_per_unit;
        if (1..budget).contains(&(open.filled + open.coming)) {
            open.coming += 1;
            return wanted;
        }
        for (stream, open) in (0..streams).map(StreamId).zip(&mut self.streams) {
            if !open.is_named && open.filled > 0 && open.filled + open.coming < budget {
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
        self.left += u32::from(!open.is_named && open.filled == 0);
        open.filled += pages;
        open.coming = open.coming.saturating_sub(pages);
        if open.filled >= self.pages_per_unit {
            self.gone(stream);
        }
    }

    /// A stream's unit is open no more.
    pub fn gone(&mut self, stream: StreamId) {
        if let Some(open) = self.streams.get_mut(stream.index()) {
            self.left -= u32::from(!open.is_named && open.filled > 0);
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
    use crate::geometry::tests::DRIVE;

    /// Streams 0 to 3 are used by the host, 4 and 5 by copies; each has begun a unit, and another
    /// leader follows.
    fn left() -> LeftoverUnits {
        let mut leftovers = LeftoverUnits::new(6, &DRIVE);
        for stream in 0..6 {
            leftovers.appended(StreamId(stream), 70, Origin::Host);
        }
        leftovers.change(0);
        leftovers
    }

    /// Streams of pages meant for stream 1, each appended before the next is placed.
    fn placed(leftovers: &mut LeftoverUnits, pages: u32, streams: u16) -> Vec<u16> {
        let mut place = |_| {
            let stream = leftovers.place(StreamId(1), streams);
            leftovers.appended(stream, 1, Origin::Host);
            stream.0
        };
        (0..pages).map(&mut place).collect()
    }

    #[test]
    fn a_stream_fills_its_own_unit_then_those_that_were_left() {
        let mut leftovers = left();
        let taken = placed(&mut leftovers, 130, 4);
        assert_eq!(taken[..30], [1; 30]);
        assert_eq!(taken[30..60], [0; 30]);
        assert_eq!(taken[60..90], [2; 30]);
        assert_eq!(taken[90..120], [3; 30]);
        assert_eq!(taken[120..], [1; 10]);
    }

    #[test]
    fn a_stream_that_is_named_keeps_its_unit() {
        let mut leftovers = left();
        assert_eq!(leftovers.place(StreamId(0), 4), StreamId(0));
        let taken = placed(&mut leftovers, 91, 4);
        assert_eq!(taken[..30], [1; 30]);
        assert_eq!(taken[30..60], [2; 30]);
        assert_eq!(taken[60..90], [3; 30]);
        assert_eq!(taken[90], 1);
    }

    #[test]
    fn the_host_never_finishes_what_is_of_copies() {
        let mut leftovers = left();
        let host = placed(&mut leftovers, 500, 4);
        assert!(host.iter().max() < Some(&4));
        let copies = placed(&mut leftovers, 200, 6);
        assert_eq!(copies.iter().filter(|&&stream| stream == 4).count(), 30);
        assert_eq!(copies.iter().filter(|&&stream| stream == 5).count(), 30);
    }

    #[test]
    fn pages_on_their_way_take_no_more_than_the_room_there_is() {
        let mut leftovers = left();
        let sent: Vec<u16> = (0..64).map(|_| leftovers.place(StreamId(1), 4).0).collect();
        assert_eq!(sent[..30], [1; 30]);
        assert_eq!(sent[30..60], [0; 30]);
        assert_eq!(sent[60..], [2; 4]);
    }

    #[test]
    fn a_unit_that_the_device_took_needs_no_finishing() {
        let mut leftovers = left();
        placed(&mut leftovers, 30, 4);
        leftovers.gone(StreamId(0));
        assert_eq!(leftovers.place(StreamId(1), 4), StreamId(2));
    }

    #[test]
    fn what_went_elsewhere_than_it_was_meant_for_is_not_counted_where_it_was_meant() {
        let mut leftovers = left();
        placed(&mut leftovers, 30, 4);
        assert_eq!(leftovers.place(StreamId(1), 4), StreamId(0));
        // The device had no unit for it there.
        leftovers.appended(StreamId(3), 1, Origin::Host);
        let taken = placed(&mut leftovers, 31, 4);
        assert_eq!(taken[..30], [0; 30]);
        assert_eq!(taken[30], 2);
    }

    #[test]
    fn a_stream_nobody_names_that_is_opened_all_the_same_is_finished_too() {
        let mut leftovers = left();
        placed(&mut leftovers, 120, 4);
        leftovers.appended(StreamId(2), 5, Origin::Host);
        let taken = placed(&mut leftovers, 96, 4);
        assert_eq!(taken[..95], [2; 95]);
        assert_eq!(taken[95], 1);
    }

    #[test]
    fn before_any_change_none_is_left() {
        let mut leftovers = LeftoverUnits::new(6, &DRIVE);
        leftovers.appended(StreamId(2), 70, Origin::Host);
        assert!((0..4).all(|stream| leftovers.place(StreamId(stream), 4) == StreamId(stream)));
    }

    /// Streams of a page meant for stream 0 and of those for stream 1, a page of each of `writes` in turn after a change.
    fn taken(leftovers: &mut LeftoverUnits, writes: impl Iterator<Item = (u64, u16)>) -> Vec<u16> {
        let mut place = |(now, wanted)| {
            let stream = leftovers.place_new(StreamId(wanted), 4, now);
            leftovers.appended(stream, 1, Origin::Host);
            stream.0
        };
        writes.map(&mut place).collect()
    }

    #[test]
    fn after_a_change_a_stream_seldom_named_opens_no_unit_until_it_is_named_more_often() {
        // 10,000 pages are a capacity, in which a stream that fills a quarter of a unit has 25 pages.
        let busy = |pages: std::ops::Range<u64>| pages.map(|now| (now, 1));
        let mut new = LeftoverUnits::new(6, &DRIVE);
        assert_eq!(taken(&mut new, [(0, 1), (5000, 0)].into_iter()), [1, 0]);
        let mut leftovers = LeftoverUnits::new(6, &DRIVE);
        leftovers.change(0);
        taken(&mut leftovers, busy(0..5000));
        assert_eq!(
            taken(&mut leftovers, (5000..5012).map(|now| (now, 0))),
            [1; 12]
        );
        assert_eq!(
            taken(&mut leftovers, (5012..5015).map(|now| (now, 0))),
            [0; 3]
        );
        // It keeps the unit that it has.
        taken(&mut leftovers, busy(5015..60_000));
        assert_eq!(taken(&mut leftovers, [(60_000, 0)].into_iter()), [0]);
        leftovers.gone(StreamId(0));
        assert_eq!(taken(&mut leftovers, [(60_001, 0)].into_iter()), [1]);
    }
}
