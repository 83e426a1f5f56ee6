//! The reclaim units: which are free, open or closed, what they hold, and how much of it lives.

use std::collections::VecDeque;

use crate::{config::Config, types::StreamId, victims::Victims};

/// Set beside a unit's valid count while the unit is not in the victims' lists.
const UNLISTED: u32 = 1 << 31;

/// All units of a device.
#[derive(Debug)]
pub(crate) struct Units {
    /// Valid pages of each unit, with [`UNLISTED`] set while the unit is free or open.
    valid: Vec<u32>,
    /// The stream whose pages a unit holds.
    stream: Vec<StreamId>,
    /// Units that hold pages of each stream, the open one included.
    held: Vec<u32>,
    victims: Victims,
    /// Units in the victims' lists, and the dead pages in them.
    closed: u32,
    closed_dead_pages: u64,
    pages_per_unit: u32,
    /// First in, first out, so that erases spread over all units.
    free: VecDeque<u32>,
}

impl Units {
    pub(crate) fn new(config: &Config) -> Units {
        let units = config.physical_units as usize;
        let streams = usize::from(config.streams());
        Units {
            valid: vec![UNLISTED; units],
            stream: vec![StreamId::DEFAULT; units],
            held: vec![0; streams],
            victims: Victims::new(config),
            closed: 0,
            closed_dead_pages: 0,
            pages_per_unit: config.pages_per_unit,
            free: (0..config.physical_units).collect(),
        }
    }

    pub(crate) fn free_count(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn is_free(&self, unit: u32) -> bool {
        self.free.contains(&unit)
    }

    pub(crate) fn stream(&self, unit: u32) -> StreamId {
        self.stream[unit as usize]
    }

    pub(crate) fn valid(&self, unit: u32) -> u32 {
        self.valid[unit as usize] & !UNLISTED
    }

    pub(crate) fn is_closed(&self, unit: u32) -> bool {
        self.valid[unit as usize] & UNLISTED == 0
    }

    /// Takes a free unit for `stream`.
    pub(crate) fn open(&mut self, stream: StreamId) -> Option<u32> {
        let unit = self.free.pop_front()?;
        self.stream[unit as usize] = stream;
        self.held[stream.index()] += 1;
        Some(unit)
    }

    /// `pages` valid pages were appended to an open unit.
    pub(crate) fn gain(&mut self, unit: u32, pages: u32) {
        self.valid[unit as usize] += pages;
    }

    /// `pages` pages of a unit died.
    #[inline]
    pub(crate) fn lose(&mut self, unit: u32, pages: u32) {
        let valid = self.valid[unit as usize] - pages;
        self.valid[unit as usize] = valid;
        if valid & UNLISTED == 0 {
            self.closed_dead_pages += u64::from(pages);
            self.victims.moved(unit, valid);
        }
    }

    /// An open unit takes no more writes, at logical time `now`.
    pub(crate) fn close(&mut self, unit: u32, now: u64) {
        let valid = self.valid(unit);
        self.valid[unit as usize] = valid;
        self.closed += 1;
        self.closed_dead_pages += u64::from(self.pages_per_unit - valid);
        self.victims.insert(unit, valid, now);
    }

    /// The closed unit to collect next at logical time `now`, and the free pages that promises:
    /// its own, or the average where the rule does not look at them.
    pub(crate) fn choose_victim(&mut self, now: u64) -> Option<(u32, u32)> {
        if self.closed_dead_pages == 0 {
            return None;
        }
        let unit = self.victims.choose(now)?;
        let average = (self.closed_dead_pages / u64::from(self.closed)) as u32;
        Some((unit, average.max(self.pages_per_unit - self.valid(unit))))
    }

    /// Whether the victim rule wants another victim before collection ends.
    pub(crate) fn is_mid_round(&self) -> bool {
        self.victims.is_mid_round()
    }

    /// A closed unit is about to be emptied: it leaves the lists.
    pub(crate) fn take(&mut self, unit: u32) {
        self.victims.remove(unit);
        self.closed -= 1;
        self.closed_dead_pages -= u64::from(self.pages_per_unit - self.valid(unit));
        self.valid[unit as usize] |= UNLISTED;
    }

    /// An emptied unit is erased and free. Answers with its stream and the units left to it.
    pub(crate) fn erase(&mut self, unit: u32) -> (StreamId, u32) {
        self.valid[unit as usize] = UNLISTED;
        self.free.push_back(unit);
        let stream = self.stream[unit as usize];
        self.held[stream.index()] -= 1;
        (stream, self.held[stream.index()])
    }
}
