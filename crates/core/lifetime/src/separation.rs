//! Measures how well the labels of a write predict the life of its data.

use std::collections::HashMap;

use crate::LifetimeHistogram;

/// A group is narrow if nine tenths of its data live at most this many times as long as a tenth of it (our choice:
/// quartiles would not see a tenth of short-lived data that spoils an erase unit).
pub const NARROW_FACTOR: u64 = 8;

/// The labels of a write: for each way of grouping, the number of the group it falls into.
pub type Labels<const WAYS: usize> = [u32; WAYS];

/// Measures how similar lifetimes are within each group, for several ways of grouping writes.
///
/// A page's life begins with its write and ends with its overwrite or discard; only lives that end count. Beside the
/// `WAYS` that the caller labels writes with, one more is measured: the length of the previous life on the same page,
/// in octaves, which is what schemes that go by address know.
///
/// ```
/// use anabranch_lifetime::Separation;
///
/// // Writes are labelled in one way: by who wrote. Writer 0 rewrites one page, writer 1 many in turn.
/// let mut separation = Separation::<1>::new(1000);
/// for now_pages in 0..10_000_u64 {
///     let writer = (now_pages % 2) as u32;
///     let page = if writer == 0 { 0 } else { 1 + now_pages as usize / 2 % 900 };
///     separation.write(page..page + 1, [writer], now_pages);
/// }
/// assert!(separation.ended_pages() > 9000);
/// let [by_writer] = separation.ways();
/// println!("{by_writer:?}");
/// ```
///
/// Memory: 16 bytes for each page of the drive, and a histogram for each group.
#[derive(Debug, Clone)]
pub struct Separation<const WAYS: usize> {
    pages: Vec<Page>,
    combinations: HashMap<Labels<WAYS>, u32>,
    labels: Vec<Labels<WAYS>>,
    all: Group,
    ways: [HashMap<u32, Group>; WAYS],
    history: HashMap<u32, Group>,
}

/// The data on a page, and the life before it.
#[derive(Debug, Clone, Copy, Default)]
struct Page {
    /// When the data was written, plus 1; 0 where the page holds none.
    born: u64,
    /// The index of its combination of labels.
    combination: u32,
    /// The octave of the life that ended before this data was written, plus 1; 0 where there was none.
    before: u8,
    /// The same value for the data that will be written next.
    next: u8,
}

/// Lives of one group that have ended.
#[derive(Debug, Clone, Default)]
struct Group {
    lives: f64,
    sum: f64,
    sum_of_squares: f64,
    histogram: LifetimeHistogram,
}

impl Group {
    fn add(&mut self, lifetime_pages: u64) {
        let octaves = (lifetime_pages as f64).log2();
        self.lives += 1.0;
        self.sum += octaves;
        self.sum_of_squares += octaves * octaves;
        self.histogram.record(lifetime_pages, 1);
    }

    /// The sum of squared distances from the group's mean, in octaves.
    fn scatter(&self) -> f64 {
        if self.lives > 0.0 {
            (self.sum_of_squares - self.sum * self.sum / self.lives).max(0.0)
        } else {
            0.0
        }
    }

    fn is_narrow(&self) -> bool {
        let range = (
            self.histogram.quantile_pages(0.1),
            self.histogram.quantile_pages(0.9),
        );
        matches!(range, (Some(low), Some(high)) if high <= low.saturating_mul(NARROW_FACTOR))
    }
}

/// The result for one way of grouping.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Achieved {
    /// Groups in which a life has ended.
    pub groups: usize,
    /// The share of ended lives that are in narrow groups ([`NARROW_FACTOR`]), 0 to 1.
    pub narrow_share: f64,
    /// The share of the variance of log2 lifetime that lies between the groups and not within them, 0 to 1: 1 if the
    /// group tells the lifetime, 0 if it tells nothing or all lives are equal.
    pub explained: f64,
}

impl<const WAYS: usize> Separation<WAYS> {
    /// Measures a drive on which nothing was written yet.
    pub fn new(logical_pages: u32) -> Self {
        Separation {
            pages: vec![Page::default(); logical_pages as usize],
            combinations: HashMap::new(),
            labels: Vec::new(),
            all: Group::default(),
            ways: std::array::from_fn(|_| HashMap::new()),
            history: HashMap::new(),
        }
    }

    /// Records that pages are written; `now_pages` counts the pages written to the drive before. Pages beyond the drive
    /// are passed over.
    pub fn write(
        &mut self,
        pages: impl Iterator<Item = usize>,
        labels: Labels<WAYS>,
        now_pages: u64,
    ) {
        let next = self.labels.len() as u32;
        let combination = *self.combinations.entry(labels).or_insert(next);
        if combination == next {
            self.labels.push(labels);
        }
        for page in pages {
            self.end(page, now_pages);
            if let Some(page) = self.pages.get_mut(page) {
                page.born = now_pages + 1;
                page.combination = combination;
                page.before = page.next;
            }
        }
    }

    /// Records that pages are discarded.
    pub fn discard(&mut self, pages: impl Iterator<Item = usize>, now_pages: u64) {
        pages.for_each(|page| self.end(page, now_pages));
    }

    fn end(&mut self, index: usize, now_pages: u64) {
        let Some(page) = self.pages.get_mut(index) else {
            return;
        };
        let Some(born) = page.born.checked_sub(1) else {
            return;
        };
        // Written and overwritten by one request: less than any other life, but not nothing.
        let lifetime_pages = now_pages.saturating_sub(born).max(1);
        self.all.add(lifetime_pages);
        if let Some(labels) = self.labels.get(page.combination as usize) {
            for (way, label) in self.ways.iter_mut().zip(labels) {
                way.entry(*label).or_default().add(lifetime_pages);
            }
        }
        let before = self.history.entry(page.before.into());
        before.or_default().add(lifetime_pages);
        page.next = lifetime_pages.ilog2() as u8 + 1;
        page.born = 0;
    }

    /// Lives that have ended, in pages.
    pub fn ended_pages(&self) -> u64 {
        self.all.lives as u64
    }

    /// The result for each way of grouping, in the order of the labels.
    pub fn ways(&self) -> [Achieved; WAYS] {
        std::array::from_fn(|way| self.achieved(&self.ways[way]))
    }

    /// The result for grouping by the previous life on the same page.
    pub fn history(&self) -> Achieved {
        self.achieved(&self.history)
    }

    fn achieved(&self, groups: &HashMap<u32, Group>) -> Achieved {
        let total = self.all.scatter();
        // Summed in the order of labels, so that the last digit is the same in every run.
        let mut sorted: Vec<(&u32, &Group)> = groups.iter().collect();
        sorted.sort_by_key(|(label, _)| **label);
        let within: f64 = sorted.iter().map(|(_, group)| group.scatter()).sum();
        let narrow = sorted.iter().filter(|(_, group)| group.is_narrow());
        // A sum of nothing would be -0.
        let narrow_lives = narrow.fold(0.0, |sum, (_, group)| sum + group.lives);
        Achieved {
            groups: groups.len(),
            narrow_share: narrow_lives / self.all.lives.max(1.0),
            explained: if total > 0.0 {
                (1.0 - within / total).clamp(0.0, 1.0)
            } else {
                0.0
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of 10 pages and tables of 1,000, in turn; label 0 tells them apart, label 1 does not.
    fn log_and_tables() -> Separation<2> {
        let mut separation = Separation::new(2000);
        let mut now_pages = 0;
        for turn in 0..1000 {
            separation.write(turn % 10..turn % 10 + 1, [1, 7], now_pages);
            let table = 1000 + turn % 1000;
            separation.write(table..table + 1, [2, 7], now_pages + 1);
            now_pages += 2;
        }
        separation.discard(0..2000, now_pages);
        separation
    }

    #[test]
    fn a_way_that_parts_lifetimes_explains_them_and_one_that_does_not_explains_nothing() {
        let separation = log_and_tables();
        assert_eq!(separation.ended_pages(), 2000);
        let [parts, mixes] = separation.ways();
        assert_eq!((parts.groups, mixes.groups), (2, 1));
        assert!(parts.explained > 0.7, "{parts:?}");
        assert_eq!(mixes.explained, 0.0);
        // The log's half: tables, discarded together at the end, live from 2 pages to 2,000.
        assert_eq!(parts.narrow_share, 0.5);
        assert_eq!(mixes.narrow_share, 0.0);
    }

    #[test]
    fn the_life_before_tells_the_next_on_the_same_page_where_data_is_rewritten_in_place() {
        let mut separation = Separation::<1>::new(1100);
        for now_pages in 0..20_000 {
            let turn = now_pages as usize;
            let page = match turn % 2 {
                0 => turn / 2 % 10,
                _ => 100 + turn / 2 % 1000,
            };
            separation.write(page..page + 1, [0], now_pages);
        }
        let history = separation.history();
        assert!(history.explained > 0.9, "{history:?}");
        assert_eq!(history.groups, 3, "none before, 20 pages, 2,000 pages");
    }

    #[test]
    fn a_life_of_one_page_is_told_from_no_life_before() {
        let mut separation = Separation::<1>::new(1);
        for now_pages in [0, 1, 1001] {
            separation.write(0..1, [0], now_pages);
        }
        assert_eq!(separation.history().groups, 2);
    }

    #[test]
    fn data_that_never_dies_counts_for_nothing_and_pages_beyond_the_drive_are_passed_over() {
        let mut separation = Separation::<1>::new(10);
        separation.write(0..20, [1], 0);
        assert_eq!(separation.ended_pages(), 0);
        assert_eq!(separation.ways()[0], Achieved::default());
        separation.discard(15..20, 20);
        separation.discard(5..6, 20);
        assert_eq!(separation.ended_pages(), 1);
        assert_eq!(separation.ways()[0].explained, 0.0, "all lives are equal");
        assert_eq!(separation.ways()[0].narrow_share, 1.0);
    }
}
