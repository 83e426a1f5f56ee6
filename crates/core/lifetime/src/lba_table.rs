//! Table of each logical page's writer, and the time of the write.

use std::ops::Range;

use anabranch_trace::ContextId;

/// Default bound on a table's memory: 64 MiB, our choice. It keeps every page of a 32 GiB drive
/// and one page in 32 of a 1 TiB drive. (FAST'19 keeps one entry per 1 MB to the same end.)
pub const DEFAULT_TABLE_BYTES: usize = 64 << 20;

/// Bits of an entry that hold the time; the rest hold the context plus one.
const TIME_BITS: u32 = 40;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// The highest context that fits an entry.
const MAX_CONTEXT: u32 = (1 << (u64::BITS - TIME_BITS)) - 2;
const EMPTY: u64 = 0;
/// 2^64 over the golden ratio: successive multiples fall evenly into any power-of-two interval.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A run of pages whose data was overwritten or discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Death {
    /// The context that had written the data.
    pub context: ContextId,
    /// The lifetime: pages the host wrote to the device between the data's write and its end.
    pub lifetime_pages: u64,
    /// Number of pages whose data ended.
    pub pages: u64,
}

/// The writer and the time of writing of each granule of a drive: one 8-byte entry per granule,
/// nothing else.
///
/// ```
/// use anabranch_lifetime::{DEFAULT_TABLE_BYTES, LbaTable};
/// use anabranch_trace::ContextId;
///
/// let mut table = LbaTable::new(1 << 20, DEFAULT_TABLE_BYTES);
/// table.write(0..10, ContextId(1), 0, |_| unreachable!("nothing was there"));
/// let mut ended = Vec::new();
/// table.write(0..4, ContextId(2), 10, |death| ended.push(death));
/// assert_eq!((ended[0].context, ended[0].pages, ended[0].lifetime_pages), (ContextId(1), 4, 10));
/// ```
///
/// A granule is the smallest power of two of pages with which the table fits its bound. Where it
/// is more than one page, the table *samples*: of each granule it follows one page, picked once
/// and for all by a fixed hash, and lets that page stand for all of them. A write or discard that
/// misses that page leaves the granule as it was; one that hits it ends, and records, the whole
/// granule. So each lifetime is one that a page really had, small writes into a large granule
/// do not look like its death, and over many granules the pages counted come out right.
///
/// Times are kept modulo 2^40 pages and subtracted modulo 2^40: any single life below 2^40
/// pages (4 PiB of writes) is exact however long the run is. Contexts from 2^24 - 1 on are
/// recorded as [`ContextId::UNKNOWN`].
#[derive(Debug, Clone)]
pub struct LbaTable {
    entries: Vec<u64>,
    logical_pages: usize,
    granule_shift: u32,
}

impl LbaTable {
    /// A table for an empty drive of `logical_pages` pages, in at most `max_bytes` bytes (but never
    /// less than one entry).
    pub fn new(logical_pages: u32, max_bytes: usize) -> LbaTable {
        let logical_pages = logical_pages as usize;
        let max_entries = (max_bytes / size_of::<u64>()).max(1);
        let mut granule_shift = 0;
        while logical_pages.div_ceil(1 << granule_shift) > max_entries {
            granule_shift += 1;
        }
        LbaTable {
            entries: vec![EMPTY; logical_pages.div_ceil(1 << granule_shift)],
            logical_pages,
            granule_shift,
        }
    }

    /// Pages per granule, a power of two.
    pub fn granule_pages(&self) -> u64 {
        1 << self.granule_shift
    }

    /// Bytes of memory that the table holds.
    pub fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
    }

    /// Records that `context` writes `pages` at logical time `now_pages` (pages written before this
    /// request; it must never decrease). The data there before ends first: `on_death` is called
    /// once for each run of neighbours with one writer and one time. Pages beyond the drive are
    /// ignored.
    #[inline]
    pub fn write(
        &mut self,
        pages: Range<usize>,
        context: ContextId,
        now_pages: u64,
        on_death: impl FnMut(Death),
    ) {
        self.replace(pages, entry(context, now_pages), now_pages, on_death);
    }

    /// Records that the host discards `pages` at logical time `now_pages`: the data there ends, as
    /// in [`LbaTable::write`], and no other takes its place.
    #[inline]
    pub fn discard(&mut self, pages: Range<usize>, now_pages: u64, on_death: impl FnMut(Death)) {
        self.replace(pages, EMPTY, now_pages, on_death);
    }

    #[inline]
    fn replace(
        &mut self,
        pages: Range<usize>,
        with: u64,
        now_pages: u64,
        mut on_death: impl FnMut(Death),
    ) {
        let granules = self.granules_before(pages.start)..self.granules_before(pages.end);
        let Some(entries) = self.entries.get_mut(granules) else {
            return;
        };
        for run in entries.chunk_by(|a, b| a == b) {
            if run[0] != EMPTY {
                on_death(Death {
                    context: ContextId((run[0] >> TIME_BITS) as u32 - 1),
                    lifetime_pages: now_pages.wrapping_sub(run[0]) & TIME_MASK,
                    pages: (run.len() as u64) << self.granule_shift,
                });
            }
        }
        entries.fill(with);
    }

    /// The number of granules whose followed page lies before `page`: the granules followed within
    /// `a..b` are `granules_before(a)..granules_before(b)`.
    fn granules_before(&self, page: usize) -> usize {
        if page >= self.logical_pages {
            return self.entries.len();
        }
        let granule = page >> self.granule_shift;
        granule + usize::from(self.followed_page(granule) < page)
    }

    /// The one page of `granule` that the table follows.
    fn followed_page(&self, granule: usize) -> usize {
        let hash = (granule as u64).wrapping_mul(GOLDEN);
        // Two shifts: a shift of a u64 by 64 bits is an error.
        let offset = (hash >> 1 >> (u64::BITS - 1 - self.granule_shift)) as usize;
        ((granule << self.granule_shift) + offset).min(self.logical_pages - 1)
    }
}

fn entry(context: ContextId, now_pages: u64) -> u64 {
    let context = if context.0 > MAX_CONTEXT {
        ContextId::UNKNOWN
    } else {
        context
    };
    (u64::from(context.0) + 1) << TIME_BITS | now_pages & TIME_MASK
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const A: ContextId = ContextId(1);
    const B: ContextId = ContextId(2);

    fn deaths_of_write(
        table: &mut LbaTable,
        pages: Range<usize>,
        context: ContextId,
        now_pages: u64,
    ) -> Vec<Death> {
        let mut deaths = Vec::new();
        table.write(pages, context, now_pages, |death| deaths.push(death));
        deaths
    }

    #[test]
    fn neighbours_of_one_write_die_in_one_call() {
        let mut table = LbaTable::new(100, DEFAULT_TABLE_BYTES);
        assert!(deaths_of_write(&mut table, 0..40, A, 0).is_empty());
        assert!(deaths_of_write(&mut table, 40..60, B, 40).is_empty());
        let deaths = deaths_of_write(&mut table, 30..70, A, 60);
        let expected = [(A, 60, 10), (B, 20, 20)].map(|(context, lifetime_pages, pages)| Death {
            context,
            lifetime_pages,
            pages,
        });
        assert_eq!(deaths, expected);
    }

    #[test]
    fn a_table_tells_the_eight_bytes_of_each_entry() {
        let bytes = |pages, most| LbaTable::new(pages, most).memory_bytes();
        assert_eq!([bytes(100, 1 << 20), bytes(100, 400)], [800, 400]);
    }

    #[test]
    fn a_discard_ends_a_life_once() {
        let mut table = LbaTable::new(100, DEFAULT_TABLE_BYTES);
        table.write(10..20, A, 5, |_| ());
        let mut deaths = Vec::new();
        table.discard(0..100, 25, |death| deaths.push(death));
        table.discard(0..100, 30, |death| deaths.push(death));
        assert_eq!(
            deaths,
            [Death {
                context: A,
                lifetime_pages: 20,
                pages: 10
            }]
        );
    }

    #[test]
    fn pages_beyond_the_drive_mean_nothing() {
        let mut table = LbaTable::new(10, DEFAULT_TABLE_BYTES);
        assert!(deaths_of_write(&mut table, 8..2000, A, 0).is_empty());
        assert_eq!(deaths_of_write(&mut table, 0..10, A, 7)[0].pages, 2);
        assert!(deaths_of_write(&mut table, 10..11, A, 8).is_empty());
        assert!(deaths_of_write(&mut LbaTable::new(0, 0), 0..1, A, 8).is_empty());
    }

    #[test]
    fn a_run_longer_than_the_clock_keeps_its_lifetimes_right() {
        let mut table = LbaTable::new(10, DEFAULT_TABLE_BYTES);
        let late = 5 * (1 << TIME_BITS) - 3;
        table.write(0..1, A, late, |_| ());
        let deaths = deaths_of_write(&mut table, 0..1, A, late + (1 << 33));
        assert_eq!(deaths[0].lifetime_pages, 1 << 33);
    }

    #[test]
    fn a_context_too_large_to_name_is_nobody() {
        // The highest of 24 bits, less one: an entry holds the context plus one.
        assert_eq!(MAX_CONTEXT, 0xFF_FFFE);
        let mut table = LbaTable::new(10, DEFAULT_TABLE_BYTES);
        table.write(0..1, ContextId(MAX_CONTEXT), 0, |_| ());
        table.write(1..2, ContextId(u32::MAX), 1, |_| ());
        let deaths = deaths_of_write(&mut table, 0..2, A, 2);
        assert_eq!(deaths[0].context, ContextId(MAX_CONTEXT));
        assert_eq!(deaths[1].context, ContextId::UNKNOWN);
    }

    #[test]
    fn the_granule_is_the_smallest_that_fits() {
        assert_eq!(LbaTable::new(1 << 23, 64 << 20).granule_pages(), 1);
        assert_eq!(LbaTable::new((1 << 23) + 1, 64 << 20).granule_pages(), 2);
        assert_eq!(LbaTable::new(1 << 28, 64 << 20).granule_pages(), 32);
        assert_eq!(LbaTable::new(1000, 0).granule_pages(), 1024);
        let largest = LbaTable::new(u32::MAX, 1 << 20);
        assert!(largest.memory_bytes() <= 1 << 20);
    }

    #[test]
    fn a_write_beside_the_followed_page_is_not_a_death() {
        let mut table = LbaTable::new(1 << 10, 64 * 8);
        assert_eq!(table.granule_pages(), 16);
        table.write(0..1 << 10, A, 0, |_| ());
        let mut pages = 0;
        for page in 0..1 << 10 {
            table.write(page..page + 1, B, 1024 + page as u64, |death| {
                assert_eq!(death.context, A);
                pages += death.pages;
            });
        }
        assert_eq!(pages, 1 << 10);
    }

    /// One operation of the model test: pages, context (none: a discard).
    fn operations() -> impl Strategy<Value = Vec<(usize, usize, Option<u32>)>> {
        let operation = (
            0_usize..70,
            1_usize..30,
            prop::option::weighted(0.8, 0_u32..5),
        );
        prop::collection::vec(operation, 1..200)
    }

    proptest! {
        #[test]
        fn lives_agree_with_a_page_by_page_model(
            operations in operations(),
            max_entries in prop::sample::select(vec![64_usize, 32, 8, 1]),
        ) {
            let mut table = LbaTable::new(64, max_entries * 8);
            let granule = table.granule_pages();
            let followed: Vec<usize> =
                (0..table.entries.len()).map(|g| table.followed_page(g)).collect();
            let mut model = BTreeMap::new();
            let mut now = 0;
            for (first, count, context) in operations {
                let pages = first..first + count;
                let mut expected = BTreeMap::new();
                for page in pages.clone().filter(|page| followed.contains(page)) {
                    let before = match context {
                        Some(context) => model.insert(page, (context, now)),
                        None => model.remove(&page),
                    };
                    if let Some((context, written)) = before {
                        *expected.entry((context, now - written)).or_insert(0) += granule;
                    }
                }
                let mut found = BTreeMap::new();
                let on_death = |d: Death| {
                    *found.entry((d.context.0, d.lifetime_pages)).or_insert(0) += d.pages;
                };
                match context {
                    Some(context) => table.write(pages, ContextId(context), now, on_death),
                    None => table.discard(pages, now, on_death),
                }
                prop_assert_eq!(found, expected);
                now += count as u64;
            }
        }
    }
}
