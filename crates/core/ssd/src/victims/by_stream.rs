//! Closed units stream by stream, for schemes that name their victims themselves.

use super::{Closing, Order, Rule, rings::Rings};
use crate::types::StreamId;

/// Marks the stream of a unit that is not closed.
const NOT_CLOSED: u32 = u32::MAX;

/// A closed unit, as a scheme sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedUnit {
    /// The unit, as [`Relocate::choose_victim`](crate::relocate::Relocate::choose_victim) names it.
    pub unit: u32,
    /// Pages that still hold data: those to copy before an erase.
    pub valid_pages: u32,
    /// Time of opening, in pages the host had written.
    pub opened_at: u64,
    /// When it was closed, in pages the host had written.
    pub closed_at: u64,
}

/// The closed units of a reclaim group. For each stream two orders are kept in flat arrays: by
/// number of valid pages, and by when the units were closed.
#[derive(Debug)]
pub struct ClosedUnits {
    by_valid: Rings,
    by_age: Rings,
    /// For each stream, a number of valid pages below which no ring holds a unit.
    lowest: Vec<u32>,
    count: Vec<u32>,
    stream: Vec<u32>,
    valid: Vec<u32>,
    opened_at: Vec<u64>,
    closed_at: Vec<u64>,
    pages_per_unit: u32,
}

impl ClosedUnits {
    pub(super) fn new(units: u32, pages_per_unit: u32, streams: u16) -> ClosedUnits {
        let all = units as usize;
        let streams = u32::from(streams);
        ClosedUnits {
            by_valid: Rings::new(units, streams * (pages_per_unit + 1)),
            by_age: Rings::new(units, streams),
            lowest: vec![pages_per_unit + 1; streams as usize],
            count: vec![0; streams as usize],
            stream: vec![NOT_CLOSED; all],
            valid: vec![0; all],
            opened_at: vec![0; all],
            closed_at: vec![0; all],
            pages_per_unit,
        }
    }

    fn ring(&self, stream: u32, valid: u32) -> u32 {
        stream * (self.pages_per_unit + 1) + valid
    }

    fn enter(&mut self, unit: u32, stream: u32, valid: u32) {
        self.valid[unit as usize] = valid;
        self.by_valid.push(unit, self.ring(stream, valid));
        let lowest = &mut self.lowest[stream as usize];
        *lowest = valid.min(*lowest);
    }

    pub(super) fn contains(&self, unit: u32) -> bool {
        let stream = self.stream.get(unit as usize);
        stream.is_some_and(|&stream| stream != NOT_CLOSED)
    }

    fn lowest_of(&mut self, stream: u32) -> Option<(u32, u32)> {
        while self.lowest[stream as usize] <= self.pages_per_unit {
            let valid = self.lowest[stream as usize];
            if let Some(unit) = self.by_valid.first(self.ring(stream, valid)) {
                return Some((valid, unit));
            }
            self.lowest[stream as usize] += 1;
        }
        None
    }

    /// Number of units in the reclaim group, open and free ones included.
    pub fn units(&self) -> u32 {
        self.stream.len() as u32
    }

    /// The unit's state; `None` if it is not closed.
    pub fn get(&self, unit: u32) -> Option<ClosedUnit> {
        self.contains(unit).then(|| self.view(unit))
    }

    fn view(&self, unit: u32) -> ClosedUnit {
        ClosedUnit {
            unit,
            valid_pages: self.valid[unit as usize],
            opened_at: self.opened_at[unit as usize],
            closed_at: self.closed_at[unit as usize],
        }
    }

    /// Number of closed units of a stream.
    pub fn count(&self, stream: StreamId) -> u32 {
        self.count.get(stream.index()).copied().unwrap_or(0)
    }

    /// The unit of a stream that was closed first.
    pub fn oldest(&self, stream: StreamId) -> Option<ClosedUnit> {
        if stream.index() >= self.count.len() {
            return None;
        }
        let unit = self.by_age.first(u32::from(stream.0))?;
        Some(self.view(unit))
    }

    /// The units of a stream, in the order in which they were closed. It takes a step for each, where the
    /// two above take one.
    pub fn of_stream(&self, stream: StreamId) -> impl Iterator<Item = ClosedUnit> {
        let ring = (stream.index() < self.count.len()).then_some(u32::from(stream.0));
        let units = ring.into_iter().flat_map(|ring| self.by_age.units_of(ring));
        units.map(|unit| self.view(unit))
    }

    /// The unit of a stream with the fewest valid pages; of equals the one longest unchanged.
    pub fn fewest_valid_of(&mut self, stream: StreamId) -> Option<ClosedUnit> {
        if stream.index() >= self.count.len() {
            return None;
        }
        let (_, unit) = self.lowest_of(u32::from(stream.0))?;
        Some(self.view(unit))
    }
}

impl Rule for ClosedUnits {
    fn insert(&mut self, unit: u32, closing: Closing) {
        let stream = u32::from(closing.stream.0);
        let index = unit as usize;
        self.stream[index] = stream;
        self.opened_at[index] = closing.opened_at;
        self.closed_at[index] = closing.now;
        self.count[stream as usize] += 1;
        self.by_age.push(unit, stream);
        self.enter(unit, stream, closing.valid);
    }

    fn remove(&mut self, unit: u32) {
        self.by_valid.take(unit);
        self.by_age.take(unit);
        let stream = std::mem::replace(&mut self.stream[unit as usize], NOT_CLOSED);
        self.count[stream as usize] -= 1;
    }

    fn moved(&mut self, unit: u32, valid: u32) {
        self.by_valid.take(unit);
        self.enter(unit, self.stream[unit as usize], valid);
    }

    /// Victim where the scheme names none: the unit with the fewest valid pages among all streams', if
    /// any unit has a dead page.
    fn choose(&mut self, _now: u64) -> Option<u32> {
        let streams = 0..self.lowest.len() as u32;
        let best = streams.filter_map(|stream| self.lowest_of(stream));
        let (valid, unit) = best.min_by_key(|&(valid, _)| valid)?;
        (valid < self.pages_per_unit).then_some(unit)
    }

    /// Each stream's units in the order they were closed, and each stream's by valid pages in the
    /// order they came to have them.
    fn order(&self) -> Order {
        Order {
            entered: self.by_age.listed(),
            changed: self.by_valid.listed(),
            chance: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units 5, 1 and 3 of stream 1, closed in this order, and unit 2 of stream 0, of 8 pages each.
    fn closed() -> ClosedUnits {
        let mut closed = ClosedUnits::new(6, 8, 3);
        for (unit, stream, valid, now) in
            [(5, 1, 4, 10), (1, 1, 2, 20), (2, 0, 3, 30), (3, 1, 2, 40)]
        {
            let closing = Closing {
                valid,
                stream: StreamId(stream),
                opened_at: now - 5,
                now,
            };
            closed.insert(unit, closing);
        }
        closed
    }

    fn units_of(closed: &ClosedUnits, stream: u16) -> Vec<u32> {
        let units = closed.of_stream(StreamId(stream));
        units.map(|closed| closed.unit).collect()
    }

    #[test]
    fn a_scheme_sees_the_closed_units_of_each_stream() {
        let mut closed = closed();
        assert_eq!(closed.units(), 6);
        let oldest = ClosedUnit {
            unit: 5,
            valid_pages: 4,
            opened_at: 5,
            closed_at: 10,
        };
        assert_eq!(closed.get(5), Some(oldest));
        assert_eq!(closed.oldest(StreamId(1)), Some(oldest));
        assert_eq!([0, 6].map(|unit| closed.get(unit)), [None, None]);
        let emptiest = [0, 1, 2, 3].map(|stream| closed.fewest_valid_of(StreamId(stream)));
        assert_eq!(
            emptiest.map(|unit| unit.map(|unit| unit.unit)),
            [Some(2), Some(1), None, None]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|stream| closed.count(StreamId(stream))),
            [1, 3, 0, 0]
        );
        let units = [0, 1, 2, 3].map(|stream| units_of(&closed, stream));
        assert_eq!(units, [vec![2], vec![5, 1, 3], vec![], vec![]]);
        assert_eq!(closed.choose(0), Some(1));
    }

    #[test]
    fn units_whose_pages_die_and_units_that_are_taken_are_found_no_more_where_they_were() {
        let mut closed = closed();
        closed.moved(5, 1);
        let emptiest = |closed: &mut ClosedUnits| {
            let unit = closed.fewest_valid_of(StreamId(1));
            unit.map(|unit| (unit.unit, unit.valid_pages))
        };
        assert_eq!(emptiest(&mut closed), Some((5, 1)));
        assert_eq!(units_of(&closed, 1), [5, 1, 3]);
        closed.remove(5);
        assert_eq!(emptiest(&mut closed), Some((1, 2)));
        closed.remove(1);
        assert_eq!((closed.count(StreamId(1)), closed.get(1)), (1, None));
        assert_eq!(units_of(&closed, 1), [3]);
        closed.remove(3);
        assert_eq!(
            (closed.count(StreamId(1)), emptiest(&mut closed)),
            (0, None)
        );
        closed.moved(2, 8);
        assert_eq!(closed.choose(0), None, "nothing in it is dead");
    }
}
