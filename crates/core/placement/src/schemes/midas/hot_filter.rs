//! The filter of hot pages, which are overwritten again and again while they lie in the hot group.

use anabranch_ssd::PageRange;

use crate::by_page::part;

/// The counter from which on a page is hot, and its highest value (two bits a page: §4.3).
const HOT: u8 = 3;
const COUNTER: u8 = 0b11;
const PLACE_SHIFT: u32 = 2;

/// The group that holds a page's data, as far as the filter must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Place {
    /// No group: the page holds no data.
    None,
    /// The hot group holds it.
    Hot,
    /// The group of the other writes holds it.
    First,
    /// Some group of copies holds it.
    Later,
}

/// A saturating counter for each page. It rises when a page is overwritten while in the hot group,
/// or in the first one no later than the hot group's units grow old; it sinks when the page is
/// overwritten later than that, or copied: by one out of the first group, by two out of the hot.
/// One byte a page, which also holds where the page lies.
#[derive(Debug)]
pub(super) struct HotFilter {
    pages: Vec<u8>,
    /// The age at which units of the hot group are collected, in pages the host writes.
    window_pages: u64,
    /// Number of overwrites until the window is measured again.
    left: u64,
    /// Number of overwrites until the filter begins to learn.
    cold: u64,
    age_sum: u64,
    units: u64,
}

impl HotFilter {
    /// The first window, and the time before learning begins, are the drive's capacity (the
    /// authors' simulator).
    pub(super) fn new(logical_pages: u32) -> HotFilter {
        HotFilter {
            pages: vec![0; logical_pages as usize],
            window_pages: u64::from(logical_pages).max(1),
            left: u64::from(logical_pages),
            cold: u64::from(logical_pages),
            age_sum: 0,
            units: 0,
        }
    }

    /// The group in a page's state.
    fn place(state: u8) -> Place {
        match state >> PLACE_SHIFT {
            0 => Place::None,
            1 => Place::Hot,
            2 => Place::First,
            _ => Place::Later,
        }
    }

    /// Notes that a page of that age is overwritten. Answers whether it is hot.
    pub(super) fn overwrite(&mut self, page: u32, age_pages: u64) -> bool {
        if self.cold > 0 {
            self.cold -= 1;
        } else {
            self.measure();
            self.left = self.left.saturating_sub(1);
            self.learn(page, age_pages);
        }
        self.is_hot(page)
    }

    fn learn(&mut self, page: u32, age_pages: u64) {
        let Some(state) = self.pages.get_mut(page as usize) else {
            return;
        };
        let counter = *state & COUNTER;
        let soon = age_pages <= self.window_pages;
        let counter = match HotFilter::place(*state) {
            Place::Hot => (counter + 1).min(HOT),
            Place::First if soon => (counter + 1).min(HOT),
            Place::First => counter.saturating_sub(1),
            Place::None | Place::Later => counter,
        };
        *state = *state & !COUNTER | counter;
    }

    pub(super) fn is_hot(&self, page: u32) -> bool {
        let state = self.pages.get(page as usize).copied().unwrap_or(0);
        state & COUNTER >= HOT
    }

    /// Notes the group that a page is put in.
    pub(super) fn put(&mut self, page: u32, place: Place) {
        if let Some(state) = self.pages.get_mut(page as usize) {
            *state = *state & COUNTER | (place as u8) << PLACE_SHIFT;
        }
    }

    /// Notes that a page is copied to the group after its own. Answers with that group.
    pub(super) fn copy(&mut self, page: u32) -> Place {
        let Some(state) = self.pages.get_mut(page as usize) else {
            return Place::Later;
        };
        let (sinks, to) = match HotFilter::place(*state) {
            Place::Hot => (2, Place::First),
            Place::First => (1, Place::Later),
            Place::None | Place::Later => (0, Place::Later),
        };
        let sinks = if self.cold > 0 { 0 } else { sinks };
        *state = (*state & COUNTER).saturating_sub(sinks) | (to as u8) << PLACE_SHIFT;
        to
    }

    pub(super) fn discard(&mut self, pages: PageRange) {
        for state in part(&mut self.pages, pages) {
            *state &= COUNTER;
        }
    }

    /// Notes that a unit of the hot group of that age is collected.
    pub(super) fn hot_victim(&mut self, age_pages: u64) {
        self.age_sum = self.age_sum.saturating_add(age_pages);
        self.units += 1;
    }

    /// Measures the window at its end: the next moves halfway from the old length to the age at
    /// which the hot group's units were collected, and is at most half as long again.
    fn measure(&mut self) {
        if self.left > 0 || self.units == 0 {
            return;
        }
        let age = self.age_sum / self.units;
        let old = self.window_pages;
        let new = if age >= old.saturating_mul(2) {
            old + old / 2
        } else {
            u64::midpoint(age, old)
        };
        self.window_pages = new.max(1);
        self.left = self.window_pages;
        (self.age_sum, self.units) = (0, 0);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.pages.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter that has waited its time, with a window of 10 pages.
    fn filter() -> HotFilter {
        let mut filter = HotFilter::new(10);
        filter.cold = 0;
        filter
    }

    #[test]
    fn three_early_overwrites_make_a_page_hot_and_one_late_one_cools_it() {
        let mut filter = filter();
        filter.put(1, Place::First);
        let hot: Vec<bool> = (0..4).map(|_| filter.overwrite(1, 10)).collect();
        assert_eq!(hot, [false, false, true, true]);
        assert!(!filter.overwrite(1, 11));
        assert!(filter.overwrite(1, 3));
    }

    #[test]
    fn in_the_hot_group_every_overwrite_counts_and_in_later_ones_none() {
        let mut filter = filter();
        filter.put(1, Place::Hot);
        filter.put(2, Place::Later);
        let hot = |filter: &mut HotFilter, page| (0..3).any(|_| filter.overwrite(page, 1000));
        assert!(hot(&mut filter, 1));
        assert!(!hot(&mut filter, 2));
        assert!(!hot(&mut filter, 3), "never written");
    }

    #[test]
    fn a_copy_costs_two_out_of_the_hot_group_and_one_out_of_the_first() {
        let mut filter = filter();
        filter.put(1, Place::Hot);
        (0..3).for_each(|_| {
            filter.overwrite(1, 1);
        });
        assert_eq!(filter.copy(1), Place::First);
        assert_eq!(filter.pages[1] & COUNTER, 1);
        assert_eq!(filter.copy(1), Place::Later);
        assert_eq!(filter.pages[1] & COUNTER, 0);
        assert_eq!(filter.copy(1), Place::Later);
    }

    #[test]
    fn the_window_follows_the_age_of_hot_units() {
        let mut filter = filter();
        filter.hot_victim(4);
        (0..11).for_each(|_| {
            filter.overwrite(1, 1);
        });
        assert_eq!(filter.window_pages, 7, "halfway from 10 to 4");
        filter.hot_victim(100);
        (0..8).for_each(|_| {
            filter.overwrite(1, 1);
        });
        assert_eq!(filter.window_pages, 10, "at most half as long again");
    }
}
