//! The mapping: the physical page of each logical page, and the time at which the host wrote it.

use std::ops::Range;

use bytemuck::Pod;

use crate::table::Table;

/// Marks a logical page that is not mapped.
pub(crate) const NONE: u32 = u32::MAX;

/// The place of each logical page, `unit << shift | page in unit` or [`NONE`]. Where ages are kept, the time at which
/// the host wrote the page lies beside its place: who looks at both misses the cache once.
#[derive(Debug)]
pub(crate) enum PageMap {
    /// Places alone.
    Places(Table<[u32; 1]>),
    /// Places and times.
    Aged(Table<[u32; 2]>),
}

/// The same for either form, built for each apart.
macro_rules! in_either {
    ($map:expr, $slots:ident => $answer:expr) => {
        match $map {
            PageMap::Places($slots) => $answer,
            PageMap::Aged($slots) => $answer,
        }
    };
}

impl PageMap {
    /// No page is mapped.
    pub(crate) fn empty(pages: usize, keeps_ages: bool) -> PageMap {
        if !keeps_ages {
            PageMap::Places(Table::filled([NONE], pages))
        } else {
            PageMap::Aged(Table::filled([NONE, 0], pages))
        }
    }

    /// Of the places and the times, of which there are as many or none.
    pub(crate) fn of(places: Vec<u32>, times: Vec<u32>) -> PageMap {
        if times.is_empty() {
            PageMap::Places(moved([places]))
        } else {
            PageMap::Aged(moved([places, times]))
        }
    }

    pub(crate) fn pages(&self) -> usize {
        in_either!(self, slots => slots.len())
    }

    pub(crate) fn keeps_ages(&self) -> bool {
        matches!(self, PageMap::Aged(_))
    }

    /// Keeps times from now on. Pages written until now count as written now.
    pub(crate) fn keep_ages(&mut self, now: u32) {
        if let PageMap::Places(places) = self {
            let mut aged = Table::filled([NONE, now], places.len());
            for (slot, &[place]) in aged.iter_mut().zip(places.iter()) {
                slot[0] = place;
            }
            *self = PageMap::Aged(aged);
        }
    }

    /// `None` for a page beyond the drive.
    #[inline]
    pub(crate) fn place(&self, page: u32) -> Option<u32> {
        in_either!(self, slots => slots.get(page as usize).map(|slot| slot[0]))
    }

    /// `None` where times are not kept, and for a page beyond the drive.
    #[inline]
    pub(crate) fn time(&self, page: u32) -> Option<u32> {
        match self {
            PageMap::Places(_) => None,
            PageMap::Aged(slots) => slots.get(page as usize).map(|slot| slot[1]),
        }
    }

    /// The places of all pages, in order.
    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = u32> {
        (0..self.pages() as u32).map(|page| self.place(page).unwrap_or(NONE))
    }

    /// The times of all pages, in order, where they are kept.
    pub(crate) fn times(&self) -> impl ExactSizeIterator<Item = u32> {
        let pages = if self.keeps_ages() { self.pages() } else { 0 };
        (0..pages as u32).map(|page| self.time(page).unwrap_or(0))
    }

    /// Appends places and times of those pages in the range that exist.
    pub(crate) fn copy(&self, pages: Range<u32>, places: &mut Vec<u32>, times: &mut Vec<u32>) {
        let end = (pages.end as usize).min(self.pages());
        let range = (pages.start as usize).min(end)..end;
        match self {
            PageMap::Places(slots) => places.extend_from_slice(slots[range].as_flattened()),
            PageMap::Aged(slots) => {
                places.extend(slots[range.clone()].iter().map(|slot| slot[0]));
                times.extend(slots[range].iter().map(|slot| slot[1]));
            }
        }
    }

    /// Looks at the pages once. The looks do not wait for one another, so that their cache misses overlap. Pages
    /// beyond the drive are passed over.
    #[inline]
    pub(crate) fn prefetch(&self, pages: &[u32]) {
        in_either!(self, slots => {
            let there = pages.iter().filter_map(|&page| slots.get(page as usize));
            std::hint::black_box(there.fold(0, |sum, slot| sum ^ slot[0]));
        });
    }

    /// The host writes a run of pages to places one behind the other; `dies` is told each place that it leaves.
    #[inline]
    pub(crate) fn write_run(
        &mut self,
        pages: Range<usize>,
        places: impl Iterator<Item = u32>,
        now: u32,
        mut dies: impl FnMut(u32),
    ) {
        in_either!(self, slots => {
            for (slot, place) in slots[pages].iter_mut().zip(places) {
                write(slot, place, now, &mut dies);
            }
        });
    }

    /// The same for single pages.
    #[inline]
    pub(crate) fn write_pages(
        &mut self,
        pages: &[u32],
        places: impl Iterator<Item = u32>,
        now: u32,
        mut dies: impl FnMut(u32),
    ) {
        in_either!(self, slots => {
            let slots = &mut slots[..];
            for (&page, place) in pages.iter().zip(places) {
                write(&mut slots[page as usize], place, now, &mut dies);
            }
        });
    }

    /// Pages are moved to other places. When the host wrote them stays.
    #[inline]
    pub(crate) fn move_pages(&mut self, pages: &[u32], places: impl Iterator<Item = u32>) {
        in_either!(self, slots => {
            let slots = &mut slots[..];
            for (&page, place) in pages.iter().zip(places) {
                slots[page as usize][0] = place;
            }
        });
    }

    /// The pages of a run lie nowhere from now on; `dies` is told each place that one leaves.
    pub(crate) fn discard(&mut self, pages: Range<usize>, mut dies: impl FnMut(u32)) {
        in_either!(self, slots => {
            for slot in slots[pages].iter_mut().filter(|slot| slot[0] != NONE) {
                dies(slot[0]);
                slot[0] = NONE;
            }
        });
    }

    /// Gathers in `live`, without a branch a page, those of the pages that lie at their place. Answers how many. No
    /// more than `live` has room for may be asked about.
    #[inline]
    pub(crate) fn living<const MOST: usize>(
        &self,
        pages: &[u32],
        places: impl Iterator<Item = u32>,
        live: &mut [u32; MOST],
    ) -> usize {
        in_either!(self, slots => {
            let slots = &slots[..];
            let mut found = 0;
            for (&page, place) in pages.iter().zip(places) {
                live[found % MOST] = page;
                found += usize::from(slots[page as usize][0] == place);
            }
            found
        })
    }
}

#[inline]
fn write<const WORDS: usize>(
    slot: &mut [u32; WORDS],
    place: u32,
    now: u32,
    mut dies: impl FnMut(u32),
) {
    if slot[0] != NONE {
        dies(slot[0]);
    }
    slot[0] = place;
    if let Some(time) = slot.get_mut(1) {
        *time = now;
    }
}

/// Pages moved at a time, which is how many lie twice meanwhile (our choice).
const MOVED: usize = 16 << 20;

/// Runs of words as one table, and their memory given back as they are moved.
fn moved<const WORDS: usize>(mut runs: [Vec<u32>; WORDS]) -> Table<[u32; WORDS]>
where
    [u32; WORDS]: Pod,
{
    let mut table = Table::filled([0; WORDS], runs[0].len());
    let mut end = table.len();
    while end > 0 {
        let start = end.saturating_sub(MOVED);
        for (word, run) in runs.iter_mut().enumerate() {
            for (slot, &number) in table[start..end].iter_mut().zip(&run[start..]) {
                slot[word] = number;
            }
            run.truncate(start);
            run.shrink_to_fit();
        }
        end = start;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(map: &PageMap, pages: Range<u32>) -> (Vec<u32>, Vec<u32>) {
        let (mut places, mut times) = (Vec::new(), Vec::new());
        map.copy(pages, &mut places, &mut times);
        (places, times)
    }

    #[test]
    fn both_forms_hold_places_and_one_holds_times() {
        for keeps_ages in [false, true] {
            let mut map = PageMap::empty(6, keeps_ages);
            let mut died = Vec::new();
            map.write_run(1..4, 10.., 5, |place| died.push(place));
            map.write_pages(&[3, 5, 3], 20.., 6, |place| died.push(place));
            map.move_pages(&[5, 1], 30..);
            map.discard(2..4, |place| died.push(place));
            assert_eq!(died, [12, 20, 11, 22]);
            let places = [NONE, 31, NONE, NONE, NONE, 30];
            assert_eq!(map.places().collect::<Vec<_>>(), places);
            let times = if !keeps_ages {
                vec![]
            } else {
                vec![0, 5, 5, 6, 0, 6]
            };
            assert_eq!(map.times().collect::<Vec<_>>(), times);
            assert_eq!(copied(&map, 0..6), (places.to_vec(), times.clone()));
            assert_eq!(copied(&map, 5..9).0, [30]);
            assert!(copied(&map, 7..9).0.is_empty());
            let again = PageMap::of(places.to_vec(), times.clone());
            assert_eq!(copied(&again, 0..6), (places.to_vec(), times));
            let mut live = [0; 4];
            let found = map.living(&[1, 2, 5, 5], [31, 0, 30, 7].into_iter(), &mut live);
            assert_eq!(live[..found], [1, 5]);
            map.keep_ages(9);
            assert_eq!(map.time(1), Some(if keeps_ages { 5 } else { 9 }));
            assert_eq!(map.places().collect::<Vec<_>>(), places);
        }
    }

    #[test]
    fn what_is_moved_in_parts_arrives_whole() {
        let count = MOVED as u32 + 3;
        let map = PageMap::of((0..count).collect(), (1..=count).collect());
        assert_eq!(map.pages(), count as usize);
        assert!(
            (0..count)
                .all(|page| map.place(page) == Some(page) && map.time(page) == Some(page + 1))
        );
    }
}
