//! Free pages of a drive, given out and taken back.

use std::collections::BTreeMap;

/// A run of pages: the first, and how many.
pub(crate) type Extent = (u64, u64);

/// The free runs of a drive. Pages are given out in pieces where no single run is long enough.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    free: BTreeMap<u64, u64>,
    free_pages: u64,
    cursor: u64,
}

impl Space {
    /// A space in which the `pages` pages from `first` on are free.
    pub(crate) fn new(first: u64, pages: u64) -> Space {
        Space {
            free: BTreeMap::from([(first, pages)]),
            free_pages: pages,
            cursor: first,
        }
    }

    pub(crate) fn free_pages(&self) -> u64 {
        self.free_pages
    }

    /// Takes the lowest free pages; `None` where fewer are free.
    pub(crate) fn take_lowest(&mut self, pages: u64) -> Option<Vec<Extent>> {
        self.cursor = 0;
        self.take(pages)
    }

    /// Takes free pages from where the last ones ended (next fit), then from the beginning; `None`
    /// where fewer are free.
    pub(crate) fn take(&mut self, pages: u64) -> Option<Vec<Extent>> {
        if pages > self.free_pages {
            return None;
        }
        let mut taken = Vec::new();
        let mut left = pages;
        while left > 0 {
            let from = self.free.range(self.cursor..).next();
            let (&first, &length) = from.or_else(|| self.free.iter().next())?;
            let now = left.min(length);
            self.free.remove(&first);
            if now < length {
                self.free.insert(first + now, length - now);
            }
            self.cursor = first + now;
            taken.push((first, now));
            left -= now;
        }
        self.free_pages -= pages;
        Some(taken)
    }

    /// Makes pages free again, joined with their free neighbours.
    pub(crate) fn give(&mut self, (mut first, mut pages): Extent) {
        self.free_pages += pages;
        if let Some((&before, &length)) = self.free.range(..first).next_back()
            && before + length == first
        {
            self.free.remove(&before);
            (first, pages) = (before, length + pages);
        }
        if let Some(behind) = self.free.remove(&(first + pages)) {
            pages += behind;
        }
        self.free.insert(first, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_joins_its_neighbours() {
        let mut space = Space::new(0, 100);
        let first = space.take(30).unwrap();
        let second = space.take(30).unwrap();
        assert_eq!(
            (first.as_slice(), second.as_slice()),
            (&[(0, 30)][..], &[(30, 30)][..])
        );
        space.give((0, 30));
        space.give((30, 30));
        assert_eq!(space.free, BTreeMap::from([(0, 100)]));
        assert_eq!(space.take(70).unwrap(), [(0, 70)]);
        assert_eq!(space.take(31), None);
    }

    #[test]
    fn a_file_is_cut_where_free_runs_are_short() {
        let mut space = Space::new(0, 40);
        space.take(40).unwrap();
        for first in [0, 20, 30] {
            space.give((first, 5));
        }
        assert_eq!(space.take(12).unwrap(), [(0, 5), (20, 5), (30, 2)]);
        space.give((2, 3));
        assert_eq!(space.take_lowest(4).unwrap(), [(2, 3), (32, 1)]);
    }
}
