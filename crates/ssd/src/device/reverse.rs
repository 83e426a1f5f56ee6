//! The table from physical pages to logical ones, made of the one from logical pages to physical ones.
//!
//! Stores at random into a table of a GiB miss the caches nearly every time. So pages are first sorted by the part
//! of the table that they belong to, and then put into one part after the other, each of which fits a cache. Until
//! then the table itself holds what is sorted, and no memory is taken besides: four bytes have a place in the part,
//! and how much further the page is than the one sorted before it.

use super::NONE;
use crate::{config::Config, state::StateError};

/// Log2 of the places of a part: 4 MiB of the table, which a processor's last cache holds, and 270 parts to write
/// to in turn for 1 TiB (our choice: of 16 to 22 the fastest).
pub(super) const PART_SHIFT: u32 = 20;

/// Tables that follow from where each logical page lies.
#[derive(Debug)]
pub(super) struct Reverse {
    /// Logical page of each physical one, 0 where there is none.
    pub(super) p2l: Vec<u32>,
    /// Valid pages of each unit.
    pub(super) valid: Vec<u32>,
    pub(super) mapped: u64,
}

/// Pages sorted into a part.
#[derive(Debug, Clone, Default)]
struct Part {
    count: u32,
    last: u32,
    /// Those that are further from the one before than four bytes can say: of pages at random one in a million at
    /// 1 TiB, one in fifty at 4 TiB.
    far: Vec<u32>,
}

impl Reverse {
    /// Checks a mapping, and makes its reverse. Of each unit the first pages are `usable`; no other may be mapped.
    ///
    /// # Errors
    /// When a page lies where none was written, or two lie at one place.
    pub(super) fn of(
        config: &Config,
        l2p: &[u32],
        usable: &[u32],
        part_shift: u32,
    ) -> Result<Reverse, StateError> {
        let (shift, pages_per_unit) = (config.unit_shift(), config.pages_per_unit);
        let mut sorted = Sorted::new(usable.len() * pages_per_unit as usize, part_shift);
        let (mut mapped, mut first) = (0, None);
        for (page, &address) in (0_u32..).zip(l2p) {
            if address == NONE {
                continue;
            }
            let unit = (address >> shift) as usize;
            let offset = address & ((1 << shift) - 1);
            if unit >= usable.len() || offset >= pages_per_unit {
                return Err(unwritten(page));
            }
            mapped += 1;
            let index = unit * pages_per_unit as usize + offset as usize;
            match page {
                // A place without a page looks like the first page's, which is looked at last.
                0 => first = Some(index),
                _ => sorted.add(page, index)?,
            }
        }
        let p2l = sorted.placed()?;
        let mut valid = counted(&p2l, pages_per_unit as usize, usable)?;
        if let Some(index) = first {
            let unit = index / pages_per_unit as usize;
            if index % pages_per_unit as usize >= usable[unit] as usize {
                return Err(unwritten(0));
            }
            if p2l[index] != 0 {
                return Err(twice(0, p2l[index]));
            }
            valid[unit] += 1;
        }
        Ok(Reverse { p2l, valid, mapped })
    }
}

/// How many pages each unit holds, the first page apart.
fn counted(p2l: &[u32], pages_per_unit: usize, usable: &[u32]) -> Result<Vec<u32>, StateError> {
    let units = p2l.chunks(pages_per_unit).zip(usable);
    let count = units.map(|(unit, &usable)| {
        let (written, rest) = unit.split_at(usable as usize);
        match rest.iter().find(|&&page| page != 0) {
            Some(&page) => Err(unwritten(page)),
            None => Ok(written.iter().map(|&page| u32::from(page != 0)).sum()),
        }
    });
    count.collect()
}

fn unwritten(page: u32) -> StateError {
    StateError::Inconsistent(format!("page {page} lies where none was written"))
}

fn twice(one: u32, other: u32) -> StateError {
    StateError::Inconsistent(format!("pages {one} and {other} lie at one place"))
}

/// A table in which each part begins with what is sorted into it.
struct Sorted {
    table: Vec<u32>,
    parts: Vec<Part>,
    part_shift: u32,
}

impl Sorted {
    fn new(places: usize, part_shift: u32) -> Sorted {
        Sorted {
            table: vec![0; places],
            parts: vec![Part::default(); places.div_ceil(1 << part_shift)],
            part_shift,
        }
    }

    /// Sorts a page that lies at a place of the table. Pages come in ascending order, from 1 on.
    #[inline]
    fn add(&mut self, page: u32, index: usize) -> Result<(), StateError> {
        let number = index >> self.part_shift;
        let begin = number << self.part_shift;
        let part = &mut self.parts[number];
        let at = begin + part.count as usize;
        if part.count >> self.part_shift > 0 || at >= self.table.len() {
            return Err(self.overfull(page, index));
        }
        let most = u32::MAX >> self.part_shift;
        let further = page - part.last;
        if further >= most {
            part.far.push(page);
        }
        self.table[at] = further.min(most) << self.part_shift | (index - begin) as u32;
        part.count += 1;
        part.last = page;
        Ok(())
    }

    /// Which two pages lie at one place, where a page is more than its part has places for.
    #[cold]
    fn overfull(&mut self, page: u32, index: usize) -> StateError {
        let parts = self.table.chunks_mut(1 << self.part_shift);
        for (places, part) in parts.zip(&self.parts) {
            if let Err(error) = place(places, part, self.part_shift, &mut Vec::new()) {
                return error;
            }
        }
        twice(self.table[index], page)
    }

    /// The table, each page in its place.
    fn placed(mut self) -> Result<Vec<u32>, StateError> {
        let mut entries = Vec::new();
        let parts = self.table.chunks_mut(1 << self.part_shift);
        for (places, part) in parts.zip(&self.parts) {
            place(places, part, self.part_shift, &mut entries)?;
        }
        Ok(self.table)
    }
}

/// Puts the pages of a part into their places. `entries` is memory to do it in.
fn place(
    places: &mut [u32],
    part: &Part,
    part_shift: u32,
    entries: &mut Vec<u32>,
) -> Result<(), StateError> {
    let sorted = &mut places[..part.count as usize];
    entries.clear();
    entries.extend_from_slice(sorted);
    sorted.fill(0);
    let most = u32::MAX >> part_shift;
    let mut far = part.far.iter();
    let mut page = 0;
    for &entry in &*entries {
        page = match entry >> part_shift {
            further if further < most => page + further,
            _ => far.next().copied().unwrap_or(page),
        };
        let slot = &mut places[(entry & ((1 << part_shift) - 1)) as usize];
        if *slot != 0 {
            return Err(twice(*slot, page));
        }
        *slot = page;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::tests::small;

    /// One page after the other, as the words say.
    fn plainly(config: &Config, l2p: &[u32], usable: &[u32]) -> Option<(Vec<u32>, Vec<u32>, u64)> {
        let mut p2l = vec![None; usable.len() * config.pages_per_unit as usize];
        let (mut valid, mut mapped) = (vec![0; usable.len()], 0);
        for (page, &address) in (0..).zip(l2p) {
            if address != NONE {
                let unit = (address >> config.unit_shift()) as usize;
                let offset = address & ((1 << config.unit_shift()) - 1);
                if offset >= *usable.get(unit)? {
                    return None;
                }
                let slot = &mut p2l[unit * config.pages_per_unit as usize + offset as usize];
                if slot.replace(page).is_some() {
                    return None;
                }
                valid[unit] += 1;
                mapped += 1;
            }
        }
        let p2l = p2l.into_iter().map(|page| page.unwrap_or(0)).collect();
        Some((p2l, valid, mapped))
    }

    proptest! {
        /// Mappings of few pages and many, whole and spoilt, with units that are no power of two.
        #[test]
        fn a_sorted_table_is_the_one_made_page_by_page(
            pages_per_unit in 1_u32..40,
            units in 1_u32..30,
            part_shift in prop::sample::select(vec![1_u32, 3, 6, 17, 28, 31]),
            keys in prop::collection::vec(any::<u32>(), 1..600),
            spoilt in prop::collection::vec((any::<usize>(), any::<usize>()), 0..2),
            short in any::<prop::sample::Index>(),
        ) {
            let config = Config { pages_per_unit, physical_units: units, ..small() };
            let mut usable = vec![pages_per_unit; units as usize];
            usable[short.index(units as usize)] /= 2;
            let all = usable.iter().zip(0_u32..);
            let mut places: Vec<u32> = all
                .flat_map(|(&usable, unit)| (0..usable).map(move |at| (unit, at)))
                .map(|(unit, at)| unit << config.unit_shift() | at)
                .collect();
            places.sort_by_key(|&place| keys[place as usize % keys.len()].wrapping_mul(place | 1));
            // Every third page is mapped, or every one.
            let step = 1 + 2 * (keys[0] % 2) as usize;
            let mut l2p = vec![NONE; places.len() * step + 1];
            for (slot, place) in l2p.iter_mut().skip(keys[0] as usize % 3 % step).step_by(step).zip(places) {
                *slot = place;
            }
            for (to, from) in spoilt {
                let (to, from) = (to % l2p.len(), from % l2p.len());
                l2p[to] = if from % 7 == 0 { from as u32 } else { l2p[from] };
            }
            let found = Reverse::of(&config, &l2p, &usable, part_shift).ok();
            let found = found.map(|found| (found.p2l, found.valid, found.mapped));
            prop_assert_eq!(found, plainly(&config, &l2p, &usable));
        }
    }
}
