//! The fewest valid pages, without a search: closed units in lists by their number of them.

use super::{Closing, Order, Rule, rings::Rings};

/// A ring for each number of valid pages. Within a ring the unit that came first leaves first.
#[derive(Debug)]
pub(crate) struct Greedy {
    rings: Rings,
    /// No ring below this one holds a unit.
    lowest: u32,
    highest: u32,
}

impl Greedy {
    pub(super) fn new(units: u32, pages_per_unit: u32) -> Greedy {
        Greedy {
            rings: Rings::new(units, pages_per_unit + 1),
            lowest: pages_per_unit + 1,
            highest: pages_per_unit,
        }
    }

    /// A unit was closed with `valid` valid pages.
    #[inline]
    pub(super) fn enter(&mut self, unit: u32, valid: u32) {
        self.rings.push(unit, valid);
        self.lowest = self.lowest.min(valid);
    }

    /// The unit with the fewest valid pages. The search for the lowest ring that holds one climbs
    /// no further than invalidations had lowered it: constant time per page over a run.
    fn fewest_valid(&mut self) -> Option<u32> {
        while self.lowest <= self.highest {
            if let Some(first) = self.rings.first(self.lowest) {
                return Some(first);
            }
            self.lowest += 1;
        }
        None
    }

    /// The unit with the fewest valid pages, if it has a dead page at all.
    pub(super) fn choose_with_gain(&mut self) -> Option<u32> {
        let unit = self.fewest_valid()?;
        (self.lowest < self.highest).then_some(unit)
    }

    /// Every listed unit, ring by ring, each in its order.
    pub(super) fn listed(&self) -> Vec<u32> {
        self.rings.listed()
    }
}

impl Rule for Greedy {
    fn insert(&mut self, unit: u32, closing: Closing) {
        self.enter(unit, closing.valid);
    }

    #[inline]
    fn remove(&mut self, unit: u32) {
        self.rings.take(unit);
    }

    #[inline]
    fn moved(&mut self, unit: u32, valid: u32) {
        self.rings.take(unit);
        self.enter(unit, valid);
    }

    fn choose(&mut self, _now: u64) -> Option<u32> {
        self.fewest_valid()
    }

    fn order(&self) -> Order {
        Order::entered(self.listed())
    }
}
