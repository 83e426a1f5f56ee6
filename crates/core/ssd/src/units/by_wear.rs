//! The closed units of a reclaim group, the least worn first.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Stale entries that are kept however few units are closed (our choice).
const STALE_BORNE: usize = 64;

/// Entries of erases and unit. An entry is stale once its unit was erased; it is dropped when it
/// comes up, or when most entries are stale.
#[derive(Debug, Default)]
pub(super) struct ByWear {
    entries: BinaryHeap<Reverse<(u32, u32)>>,
}

impl ByWear {
    /// Adds a unit that was closed. `closed` is the number of closed units, and `current` tells
    /// whether an entry still holds.
    pub(super) fn push(
        &mut self,
        erases: u32,
        unit: u32,
        closed: u32,
        current: impl Fn(u32, u32) -> bool,
    ) {
        self.entries.push(Reverse((erases, unit)));
        if self.entries.len() > 2 * closed as usize + STALE_BORNE {
            self.entries
                .retain(|&Reverse((erases, unit))| current(erases, unit));
        }
    }

    /// The least worn unit and its erases, as (erases, unit).
    pub(super) fn first(&mut self, current: impl Fn(u32, u32) -> bool) -> Option<(u32, u32)> {
        while let Some(&Reverse((erases, unit))) = self.entries.peek() {
            if current(erases, unit) {
                return Some((erases, unit));
            }
            self.entries.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn entries_stay_in_proportion_to_closed_units_however_long_the_first_one_rests() {
        let mut order = ByWear::default();
        order.push(0, 99, 1, |_, _| true);
        for erases in 1..100_000 {
            // One unit is erased and closed again and again; its last entry alone is current.
            let current = |then, unit| unit == 99 || then == erases;
            order.push(erases, 7, 2, current);
            assert_eq!(order.first(current), Some((0, 99)));
        }
        assert!(order.entries.len() <= 4 + STALE_BORNE);
    }

    #[test]
    fn entries_are_looked_through_as_often_as_most_of_them_are_stale() {
        const CLOSED: u32 = 1000;
        let (mut order, looks) = (ByWear::default(), Cell::new(0_u32));
        for push in 0..100 * CLOSED {
            // Units are erased and closed again in turn.
            let current = |erases: u32, unit: u32| {
                looks.set(looks.get() + 1);
                erases * CLOSED + unit + CLOSED > push
            };
            order.push(push / CLOSED, push % CLOSED, CLOSED, current);
        }
        assert!(looks.get() < 3 * 100 * CLOSED, "{}", looks.get());
    }
}
