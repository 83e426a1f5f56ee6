//! The hotness of units, from the pages that still live in them.

use anabranch_ssd::StreamId;

use crate::geometry::HostGeometry;

/// Marks a page that is in no unit.
const NOWHERE: u32 = u32::MAX;

/// A unit's live pages: how many there are, how often they were written in all, and the sum of the times at
/// which each was written last.
#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    live_pages: u32,
    writes: u64,
    written_at: u64,
}

/// The unit that a stream is filling, and the pages appended to it.
#[derive(Debug, Clone, Copy)]
struct Open {
    unit: u32,
    filled_pages: u32,
}

/// All units, and the unit of each page.
#[derive(Debug)]
pub(super) struct Segments {
    unit_of: Vec<u32>,
    segments: Vec<Segment>,
    /// For each stream, the unit being filled.
    open: Vec<Option<Open>>,
    pages_per_unit: u32,
}

impl Segments {
    pub(super) fn new(geometry: &HostGeometry) -> Segments {
        let streams = usize::from(geometry.host_streams) + usize::from(geometry.internal_streams);
        Segments {
            unit_of: vec![NOWHERE; geometry.logical_pages as usize],
            segments: vec![Segment::default(); geometry.physical_units as usize],
            open: vec![None; streams],
            pages_per_unit: geometry.pages_per_unit.max(1),
        }
    }

    /// Takes a page, which was written `writes` times and last at `written_at`, out of its unit.
    pub(super) fn leave(&mut self, page: u32, writes: u16, written_at: u64) {
        let Some(slot) = self.unit_of.get_mut(page as usize) else {
            return;
        };
        let unit = std::mem::replace(slot, NOWHERE);
        if let Some(segment) = self.segments.get_mut(unit as usize) {
            segment.live_pages = segment.live_pages.saturating_sub(1);
            segment.writes = segment.writes.saturating_sub(u64::from(writes));
            segment.written_at = segment.written_at.saturating_sub(written_at);
        }
    }

    /// Puts a page that is in no unit into the one that `stream` is filling.
    pub(super) fn enter(
        &mut self,
        page: u32,
        (unit, stream): (u32, StreamId),
        writes: u16,
        written_at: u64,
    ) {
        let (Some(slot), Some(segment)) = (
            self.unit_of.get_mut(page as usize),
            self.segments.get_mut(unit as usize),
        ) else {
            return;
        };
        *slot = unit;
        segment.live_pages += 1;
        segment.writes += u64::from(writes);
        segment.written_at += written_at;
        let Some(open) = self.open.get_mut(stream.index()) else {
            return;
        };
        let before = open.filter(|open| open.unit == unit);
        let filled_pages = before.map_or(0, |open| open.filled_pages) + 1;
        *open = (filled_pages < self.pages_per_unit).then_some(Open { unit, filled_pages });
    }

    /// A stream's unit is open no more.
    pub(super) fn gone(&mut self, stream: StreamId) {
        if let Some(open) = self.open.get_mut(stream.index()) {
            *open = None;
        }
    }

    /// The hotness of each full unit with live pages: writes for each page of time that it rested.
    pub(super) fn hotness(&self, now_pages: u64) -> impl Iterator<Item = f64> {
        let is_open = |unit: u32| self.open.iter().flatten().any(|open| open.unit == unit);
        let lives = |(_, segment): &(u32, &Segment)| segment.live_pages > 0;
        (0..)
            .zip(&self.segments)
            .filter(lives)
            .filter(move |&(unit, _)| !is_open(unit))
            .map(move |(_, segment)| {
                let rested = now_pages
                    .saturating_mul(u64::from(segment.live_pages))
                    .saturating_sub(segment.written_at);
                segment.writes as f64 / rested.max(1) as f64
            })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.unit_of.capacity() * size_of::<u32>()
            + self.segments.capacity() * size_of::<Segment>()
            + self.open.capacity() * size_of::<Option<Open>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::DRIVE;

    fn segments() -> Segments {
        Segments::new(&HostGeometry {
            pages_per_unit: 2,
            ..DRIVE
        })
    }

    #[test]
    fn a_unit_is_as_hot_as_its_live_pages() {
        let mut segments = segments();
        let place = (7, StreamId(0));
        segments.enter(1, place, 3, 10);
        assert_eq!(segments.hotness(20).count(), 0, "not full");
        segments.enter(2, place, 5, 14);
        assert_eq!(segments.hotness(20).collect::<Vec<_>>(), [0.5], "8 / 16");
        segments.leave(1, 3, 10);
        assert_eq!(segments.hotness(24).collect::<Vec<_>>(), [0.5], "5 / 10");
        segments.leave(2, 5, 14);
        assert_eq!(segments.hotness(24).count(), 0);
    }

    #[test]
    fn a_unit_that_its_stream_left_is_full() {
        let mut segments = segments();
        segments.enter(1, (7, StreamId(0)), 1, 10);
        segments.gone(StreamId(0));
        assert_eq!(segments.hotness(20).collect::<Vec<_>>(), [0.1]);
        segments.enter(2, (6, StreamId(0)), 1, 10);
        assert_eq!(segments.hotness(20).count(), 1, "the new one is open");
    }

    #[test]
    fn pages_and_units_that_there_are_not_do_no_harm() {
        let mut segments = segments();
        segments.enter(70, (1, StreamId(0)), 1, 0);
        segments.enter(1, (70, StreamId(0)), 1, 0);
        segments.enter(2, (1, StreamId(70)), 1, 0);
        segments.leave(1, 1, 0);
        segments.leave(70, 1, 0);
        assert_eq!(segments.hotness(1).count(), 1);
    }
}
