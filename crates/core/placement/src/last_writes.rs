//! The time of the host's last write to each page.

use anabranch_ssd::PageRange;

use crate::by_page::{part, prefetch};

/// Number of values of the clock; value 0 marks a page without data.
const CLOCK: u64 = u32::MAX as u64;

/// The time of the last write of each page, 4 bytes a page. Times are kept modulo 2^32 - 1 pages
/// (16 TiB of 4 KiB pages): a page that rests longer than that looks younger than it is.
#[derive(Debug, Clone)]
pub(crate) struct LastWrites {
    stamps: Vec<u32>,
    live_pages: u64,
}

impl LastWrites {
    /// A table for a drive without data.
    pub(crate) fn new(logical_pages: u32) -> LastWrites {
        LastWrites {
            stamps: vec![0; logical_pages as usize],
            live_pages: 0,
        }
    }

    /// Number of pages that hold data.
    pub(crate) fn live_pages(&self) -> u64 {
        self.live_pages
    }

    /// The age of a page: pages the host has written since it wrote this one; `None` for a page
    /// without data.
    #[inline]
    pub(crate) fn age(&self, page: u32, now_pages: u64) -> Option<u64> {
        let stamp = *self.stamps.get(page as usize)?;
        (stamp != 0).then(|| elapsed(stamp, now_pages))
    }

    /// Reads the times of pages that are needed soon.
    pub(crate) fn prefetch(&self, pages: &[u32]) {
        prefetch(&self.stamps, pages);
    }

    /// Records that the host writes a page. Answers with the age of the data it replaces.
    #[inline]
    pub(crate) fn write(&mut self, page: u32, now_pages: u64) -> Option<u64> {
        let stamp = self.stamps.get_mut(page as usize)?;
        let before = std::mem::replace(stamp, (now_pages % CLOCK) as u32 + 1);
        if before == 0 {
            self.live_pages += 1;
            return None;
        }
        Some(elapsed(before, now_pages))
    }

    /// Records that pages are discarded.
    pub(crate) fn discard(&mut self, pages: PageRange) {
        for stamp in part(&mut self.stamps, pages) {
            self.live_pages -= u64::from(*stamp != 0);
            *stamp = 0;
        }
    }

    /// Bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.stamps.capacity() * size_of::<u32>()
    }
}

fn elapsed(stamp: u32, now_pages: u64) -> u64 {
    let then = u64::from(stamp) - 1;
    let now = now_pages % CLOCK;
    if now >= then {
        now - then
    } else {
        now + CLOCK - then
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_what_was_written_since() {
        let mut writes = LastWrites::new(4);
        assert_eq!(writes.write(1, 10), None);
        assert_eq!(writes.age(1, 25), Some(15));
        assert_eq!(writes.write(1, 30), Some(20));
        assert_eq!(writes.age(0, 30), None);
        assert_eq!(writes.live_pages(), 1);
    }

    #[test]
    fn a_discard_forgets_and_pages_beyond_the_drive_mean_nothing() {
        let mut writes = LastWrites::new(4);
        writes.write(1, 10);
        assert_eq!(writes.write(9, 11), None);
        writes.discard(PageRange::new(0, 100));
        writes.discard(PageRange::new(50, 100));
        assert_eq!((writes.age(1, 12), writes.live_pages()), (None, 0));
    }

    #[test]
    fn ages_are_right_when_the_clock_begins_anew() {
        let mut writes = LastWrites::new(1);
        for now in [CLOCK - 1, CLOCK, 7 * CLOCK, (1 << 45) + 5] {
            writes.write(0, now);
            assert_eq!(writes.age(0, now + 1000), Some(1000), "{now}");
        }
    }
}
