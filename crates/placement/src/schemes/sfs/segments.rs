//! The hotness of segments, from the pages that still live in them.

/// The segment number of a page that is in none.
const NONE: u32 = u32::MAX;

/// The pages of a unit, as far as the scheme can tell: those it sent to a class one after the
/// other.
#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    live_pages: u32,
    open: bool,
    /// Sums over its live pages: how often each was written, and when last.
    writes: u64,
    written_at: u64,
}

/// All segments, and the segment of each page. Their number is bounded; a page that finds none free
/// is in none until it moves again.
#[derive(Debug)]
pub(super) struct Segments {
    segment_of: Vec<u32>,
    segments: Vec<Segment>,
    free: Vec<u32>,
    /// For each class, the segment being filled and the pages in it.
    open: Vec<(u32, u32)>,
    pages_per_unit: u32,
}

impl Segments {
    /// Segments for twice the drive's units: where the drive closes a unit early, the scheme's
    /// segments no longer match its units.
    pub(super) fn new(logical_pages: u32, units: u32, pages_per_unit: u32, classes: usize) -> Self {
        let count = units.saturating_mul(2).saturating_add(classes as u32);
        Segments {
            segment_of: vec![NONE; logical_pages as usize],
            segments: vec![Segment::default(); count as usize],
            free: (0..count).rev().collect(),
            open: vec![(NONE, 0); classes],
            pages_per_unit: pages_per_unit.max(1),
        }
    }

    /// Takes a page, which was written `writes` times and last at `written_at`, out of its segment.
    pub(super) fn leave(&mut self, page: u32, writes: u16, written_at: u64) {
        let Some(slot) = self.segment_of.get_mut(page as usize) else {
            return;
        };
        let number = std::mem::replace(slot, NONE);
        let Some(segment) = self.segments.get_mut(number as usize) else {
            return;
        };
        segment.live_pages = segment.live_pages.saturating_sub(1);
        segment.writes = segment.writes.saturating_sub(u64::from(writes));
        segment.written_at = segment.written_at.saturating_sub(written_at);
        if segment.live_pages == 0 && !segment.open {
            *segment = Segment::default();
            self.free.push(number);
        }
    }

    /// Puts a page in the segment that its class is filling.
    pub(super) fn join(&mut self, page: u32, class: usize, writes: u16, written_at: u64) {
        let (Some(slot), Some((open, filled))) = (
            self.segment_of.get_mut(page as usize),
            self.open.get_mut(class),
        ) else {
            return;
        };
        if *filled == 0 {
            *open = self.free.pop().unwrap_or(NONE);
        }
        *filled += 1;
        let number = *open;
        let full = *filled == self.pages_per_unit;
        if full {
            *filled = 0;
        }
        if let Some(segment) = self.segments.get_mut(number as usize) {
            *slot = number;
            segment.live_pages += 1;
            segment.open = !full;
            segment.writes += u64::from(writes);
            segment.written_at += written_at;
        }
    }

    /// The hotness of each full segment with live pages: writes for each page of time that it
    /// rested.
    pub(super) fn hotness(&self, now_pages: u64) -> impl Iterator<Item = f64> {
        let full = self.segments.iter().filter(|segment| !segment.open);
        full.filter(|segment| segment.live_pages > 0)
            .map(move |segment| {
                let rested = now_pages
                    .saturating_mul(u64::from(segment.live_pages))
                    .saturating_sub(segment.written_at);
                segment.writes as f64 / rested.max(1) as f64
            })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.segment_of.capacity() + self.free.capacity()) * size_of::<u32>()
            + self.segments.capacity() * size_of::<Segment>()
            + self.open.capacity() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_as_hot_as_its_live_pages() {
        let mut segments = Segments::new(8, 4, 2, 1);
        segments.join(1, 0, 3, 10);
        assert_eq!(segments.hotness(20).count(), 0, "not full");
        segments.join(2, 0, 5, 14);
        assert_eq!(segments.hotness(20).collect::<Vec<_>>(), [0.5], "8 / 16");
        segments.leave(1, 3, 10);
        assert_eq!(segments.hotness(24).collect::<Vec<_>>(), [0.5], "5 / 10");
        segments.leave(2, 5, 14);
        assert_eq!(segments.hotness(24).count(), 0);
        assert_eq!(segments.free.len(), 9);
    }

    #[test]
    fn pages_without_a_segment_do_no_harm() {
        let mut segments = Segments::new(8, 0, 1, 1);
        segments.join(1, 0, 1, 0);
        segments.join(2, 0, 1, 0);
        let in_one = segments
            .segment_of
            .iter()
            .filter(|&&segment| segment != NONE);
        assert_eq!(in_one.count(), 1);
        segments.leave(2, 1, 0);
        segments.join(2, 7, 1, 0);
        segments.leave(70, 1, 0);
    }
}
