//! The mapping: the physical page of each logical page, and the time at which the host wrote it; or its unit alone.

use std::ops::Range;

use bytemuck::Pod;

use crate::table::Table;

/// Marks a logical page that is not mapped.
pub(crate) const NONE: u32 = u32::MAX;

/// The part of a mapping that a device keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// The place of each page, and the page at each place: eight bytes a page. Survivors of a unit are found there.
    Places,
    /// The unit of each page: two bytes. Survivors of a unit are sought among all pages of the device, in their order.
    /// Places are kept all the same where the relocation wants ages, and on a device of 65,536 units or more.
    Units,
}

impl Keeps {
    /// Whether units alone are kept, for a relocation that wants ages or does not.
    pub(crate) fn are_units(self, wants_ages: bool) -> bool {
        self == Keeps::Units && !wants_ages
    }
}

/// The unit of a logical page that is not mapped, where units alone are kept.
const NO_UNIT: u16 = u16::MAX;

/// The place of each logical page, `unit << shift | page in unit` or [`NONE`]. Where ages are kept, the time at which
/// the host wrote the page lies beside its place: who looks at both misses the cache once.
#[derive(Debug)]
pub(crate) enum PageMap {
    /// Places alone.
    Places(Table<[u32; 1]>),
    /// Places and times.
    Aged(Table<[u32; 2]>),
    /// Units alone, and the shift: a page counts as the first of its unit.
    Units(Table<u16>, u32),
}

/// Entry of a page.
trait Slot: Pod {
    fn place(self, shift: u32) -> u32;
    fn put(&mut self, place: u32, shift: u32);
    /// The host wrote the page at this time, which only some keep.
    fn date(&mut self, now: u32);
}

impl<const WORDS: usize> Slot for [u32; WORDS]
where
    [u32; WORDS]: Pod,
{
    #[inline]
    fn place(self, _shift: u32) -> u32 {
        self[0]
    }

    #[inline]
    fn put(&mut self, place: u32, _shift: u32) {
        self[0] = place;
    }

    #[inline]
    fn date(&mut self, now: u32) {
        if let Some(time) = self.get_mut(1) {
            *time = now;
        }
    }
}

impl Slot for u16 {
    #[inline]
    fn place(self, shift: u32) -> u32 {
        if self == NO_UNIT {
            NONE
        } else {
            u32::from(self) << shift
        }
    }

    #[inline]
    fn put(&mut self, place: u32, shift: u32) {
        *self = if place == NONE {
            NO_UNIT
        } else {
            (place >> shift) as u16
        };
    }

    #[inline]
    fn date(&mut self, _now: u32) {}
}

/// The same for each form, built for each apart.
macro_rules! in_each {
    ($map:expr, $slots:ident, $shift:ident => $answer:expr) => {
        match $map {
            PageMap::Places($slots) => {
                let $shift = 0;
                $answer
            }
            PageMap::Aged($slots) => {
                let $shift = 0;
                $answer
            }
            PageMap::Units($slots, shift) => {
                let $shift = *shift;
                $answer
            }
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

    /// No page is mapped, and units alone are kept; `None` where there are too many of them to be told apart.
    pub(crate) fn empty_of_units(pages: usize, units: u32, shift: u32) -> Option<PageMap> {
        (units <= NO_UNIT.into()).then(|| PageMap::Units(Table::filled(NO_UNIT, pages), shift))
    }

    /// Units alone, of places; `None` as for [`PageMap::empty_of_units`].
    pub(crate) fn units_of(places: &[u32], units: u32, shift: u32) -> Option<PageMap> {
        let mut map = PageMap::empty_of_units(places.len(), units, shift)?;
        if let PageMap::Units(slots, _) = &mut map {
            for (slot, &place) in slots.iter_mut().zip(places) {
                slot.put(place, shift);
            }
        }
        Some(map)
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
        in_each!(self, slots, _shift => slots.len())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        in_each!(self, slots, _shift => slots.memory_bytes())
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
        in_each!(self, slots, shift => slots.get(page as usize).map(|slot| slot.place(shift)))
    }

    /// `None` where times are not kept, and for a page beyond the drive.
    #[inline]
    pub(crate) fn time(&self, page: u32) -> Option<u32> {
        match self {
            PageMap::Aged(slots) => slots.get(page as usize).map(|slot| slot[1]),
            PageMap::Places(_) | PageMap::Units(..) => None,
        }
    }

    /// The places of all pages, in order. Where units alone are kept, each page has the next place of its unit.
    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = u32> {
        let is_made_up = matches!(self, PageMap::Units(..));
        let mut taken: Vec<u32> = if is_made_up {
            vec![0; usize::from(NO_UNIT)]
        } else {
            vec![]
        };
        (0..self.pages() as u32).map(move |page| match (self, self.place(page)) {
            (PageMap::Units(_, shift), Some(place)) if place != NONE => {
                let next = &mut taken[(place >> shift) as usize];
                *next += 1;
                place | (*next - 1)
            }
            (_, place) => place.unwrap_or(NONE),
        })
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
            PageMap::Units(slots, shift) => {
                places.extend(slots[range].iter().map(|slot| slot.place(*shift)));
            }
        }
    }

    /// Looks at the pages once. The looks do not wait for one another, so that their cache misses overlap. Pages
    /// beyond the drive are passed over.
    #[inline]
    pub(crate) fn prefetch(&self, pages: &[u32]) {
        in_each!(self, slots, shift => {
            let there = pages.iter().filter_map(|&page| slots.get(page as usize));
            std::hint::black_box(there.fold(0, |sum, slot| sum ^ slot.place(shift)));
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
        in_each!(self, slots, shift => {
            for (slot, place) in slots[pages].iter_mut().zip(places) {
                write(slot, (place, shift), now, &mut dies);
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
        in_each!(self, slots, shift => {
            let slots = &mut slots[..];
            for (&page, place) in pages.iter().zip(places) {
                write(&mut slots[page as usize], (place, shift), now, &mut dies);
            }
        });
    }

    /// Pages are moved to other places. When the host wrote them stays.
    #[inline]
    pub(crate) fn move_pages(&mut self, pages: &[u32], places: impl Iterator<Item = u32>) {
        in_each!(self, slots, shift => {
            let slots = &mut slots[..];
            for (&page, place) in pages.iter().zip(places) {
                slots[page as usize].put(place, shift);
            }
        });
    }

    /// The pages of a run lie nowhere from now on; `dies` is told each place that one leaves.
    pub(crate) fn discard(&mut self, pages: Range<usize>, mut dies: impl FnMut(u32)) {
        in_each!(self, slots, shift => {
            for slot in slots[pages].iter_mut() {
                let place = slot.place(shift);
                if place != NONE {
                    dies(place);
                    slot.put(NONE, shift);
                }
            }
        });
    }

    /// Gathers in `live` those of the pages that lie in a unit, where units alone are kept. Answers how many. No more than
    /// `live` has room for may be asked about.
    #[inline]
    pub(crate) fn sought<const MOST: usize>(
        &self,
        unit: u32,
        pages: Range<u32>,
        live: &mut [u32; MOST],
    ) -> usize {
        let PageMap::Units(slots, _) = self else {
            return 0;
        };
        let slots = &slots[pages.start as usize..pages.end as usize];
        let is_there = |&slot: &u16| u32::from(slot) == unit;
        // Few pages lie there, mostly none of these: counting compares many at a time, and gathering does not.
        let there = slots.iter().map(|slot| u16::from(is_there(slot)));
        if there.sum::<u16>() == 0 {
            return 0;
        }
        let mut found = 0;
        for (page, slot) in pages.zip(slots) {
            live[found % MOST] = page;
            found += usize::from(is_there(slot));
        }
        found
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
        in_each!(self, slots, shift => {
            let slots = &slots[..];
            let mut found = 0;
            for (&page, place) in pages.iter().zip(places) {
                live[found % MOST] = page;
                found += usize::from(slots[page as usize].place(shift) == place);
            }
            found
        })
    }
}

#[inline]
fn write<S: Slot>(slot: &mut S, (place, shift): (u32, u32), now: u32, mut dies: impl FnMut(u32)) {
    let before = slot.place(shift);
    if before != NONE {
        dies(before);
    }
    slot.put(place, shift);
    slot.date(now);
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
    fn units_alone_are_kept_in_two_bytes_and_sought() {
        let mut map = PageMap::empty_of_units(200, 9, 4).unwrap();
        let mut died = Vec::new();
        map.write_run(1..4, 3 << 4.., 5, |place| died.push(place));
        map.write_pages(&[3, 150, 3], (8 << 4) + 2.., 6, |place| died.push(place));
        map.move_pages(&[150], 4 << 4..);
        map.discard(2..3, |place| died.push(place));
        // A page counts as the first of its unit.
        assert_eq!(died, [3 << 4, 8 << 4, 3 << 4]);
        assert_eq!(map.place(2), Some(NONE));
        let mapped: Vec<_> = (0..)
            .zip(map.places())
            .filter(|one| one.1 != NONE)
            .collect();
        assert_eq!(mapped, [(1, 3 << 4), (3, 8 << 4), (150, 4 << 4)]);
        let mut live = [0; 64];
        let mut sought = |unit, pages: Range<u32>| {
            let found = map.sought(unit, pages, &mut live);
            live[..found].to_vec()
        };
        assert_eq!(sought(3, 0..64), [1]);
        assert_eq!(sought(4, 140..200), [150]);
        assert!(sought(4, 0..64).is_empty());
        assert_eq!((map.memory_bytes(), map.time(1)), (400, None));
        let again = PageMap::units_of(&map.places().collect::<Vec<_>>(), 9, 4).unwrap();
        assert!(again.places().eq(map.places()));
        assert!(PageMap::empty_of_units(1, 65_536, 4).is_none());
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
