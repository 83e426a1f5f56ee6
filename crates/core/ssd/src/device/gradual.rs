//! A unit that is emptied little by little, while the host goes on writing.
//!
//! ```text
//! begin_emptying           takes a victim out of the lists, once few units are free
//! next_survivors           names some of its pages that live there still
//! copy_survivors           copies those of them that live there yet, and forgets the rest
//! end_emptying             erases the unit, once no page lives there
//! ```

use super::{BATCH, Device, collect::Choice};
use crate::{
    observe::Observe,
    relocate::{Destination, Relocate, Victim},
    types::StreamId,
};

/// A unit is emptied ahead of time if at least one in so many of its pages is won (our choice: else a drive full of data at
/// rest would be copied for ever).
const WORTH: u32 = 32;

/// Pages looked at in one go, most of which may lie elsewhere (our choice: some microseconds, for which others may wait).
const LOOKS: u32 = 1 << 14;

/// A unit that is being emptied.
#[derive(Debug, Clone, Copy)]
pub struct Emptying {
    unit: u32,
    /// Pages that were programmed, pages to look at, and those that were looked at.
    filled: u32,
    to_see: u32,
    seen: u32,
    moved: u32,
    victim: Victim,
    destination: Destination,
}

impl Emptying {
    /// Whether all of the unit's pages were looked at.
    pub fn is_seen(&self) -> bool {
        self.seen >= self.to_see
    }

    /// Pages that emptying the unit wins, as many as were dead when it began.
    pub fn gain(&self, pages_per_unit: u32) -> u32 {
        pages_per_unit.saturating_sub(self.victim.valid_pages)
    }
}

impl<O: Observe> Device<O> {
    /// Whether a write of so many pages to a stream has to wait for a collection.
    pub fn must_collect(&self, stream: StreamId, pages: u32) -> bool {
        let group = self.config.group_of(stream);
        self.room(stream) < pages && self.units.free_count(group) <= self.gc_start()
    }

    /// Takes a victim where no more units are free than the device needs and `ahead`. It is the caller's to empty.
    pub fn begin_emptying(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        ahead: u32,
    ) -> Option<Emptying> {
        let most = self.gc_start() + ahead as usize;
        let scarce = |&group: &u32| self.units.free_count(group) <= most;
        let group = (0..self.config.reclaim_groups).find(scarce)?;
        let wanting = self.config.default_stream(group);
        let choice = self.choose_victim(relocation, wanting, group)?;
        let is_needed = self.units.free_count(group) <= self.gc_start();
        // A victim that wins little is worth it only where the next write would have to collect it anyway.
        if !is_needed && !self.is_worth_it(choice) {
            return None;
        }
        let ((unit, filled), victim, destination) = self.take(relocation, choice)?;
        Some(Emptying {
            unit,
            filled,
            to_see: self.end_of_walk(filled),
            seen: 0,
            moved: 0,
            victim,
            destination,
        })
    }

    /// Whether emptying a unit wins enough to do it ahead of time.
    fn is_worth_it(&self, choice: Choice) -> bool {
        // `choose_victim` seals an open unit only for a gain.
        let Choice::Closed(unit) = choice else {
            return true;
        };
        let gain = self.config.pages_per_unit - self.units.valid(unit);
        gain.saturating_mul(WORTH) >= self.config.pages_per_unit
    }

    /// Pages that still live in a unit that is being emptied.
    pub fn living_pages(&self, emptying: &Emptying) -> u32 {
        self.units.valid(emptying.unit)
    }

    /// Pages of free units, those that the device needs among them, in the reclaim group that has the fewest.
    pub fn free_pages(&self) -> u64 {
        let groups = 0..self.config.reclaim_groups;
        let free = groups.map(|group| self.units.free_count(group)).min();
        free.unwrap_or(0) as u64 * u64::from(self.config.pages_per_unit)
    }

    /// Free units beyond those that the device needs, in the reclaim group that has the fewest.
    pub fn units_ahead(&self) -> u32 {
        let groups = 0..self.config.reclaim_groups;
        let free = groups.map(|group| self.units.free_count(group)).min();
        free.unwrap_or(0).saturating_sub(self.gc_start()) as u32
    }

    /// The next survivors of a unit, at most 64; none when all pages were [seen](Emptying::is_seen), or so many without one
    /// that others should have a turn.
    pub fn next_survivors(&mut self, emptying: &mut Emptying) -> Vec<u32> {
        let mut live = [0; BATCH];
        let mut found = Vec::new();
        // Nothing lives there any more: pages that lie elsewhere need no look.
        if self.units.valid(emptying.unit) == 0 {
            emptying.seen = emptying.to_see;
        }
        let is_sought = self.p2l.is_empty();
        let most = if is_sought { LOOKS } else { u32::MAX };
        let pause = emptying.to_see.min(emptying.seen.saturating_add(most));
        // Of all pages a batch has few survivors, so that several batches are named together.
        while emptying.seen < pause && (is_sought || found.is_empty()) {
            let end = pause.min(emptying.seen + BATCH as u32);
            let count = self.survivors(emptying.unit, emptying.seen..end, &mut live);
            if found.len() + count > BATCH {
                break;
            }
            found.extend_from_slice(&live[..count]);
            emptying.seen = end;
        }
        found
    }

    /// Copies survivors that live in the unit yet. Answers whether all found room.
    pub fn copy_survivors(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        emptying: &mut Emptying,
        pages: &[u32],
    ) -> bool {
        let unit = emptying.unit;
        let lives_there = |&page: &u32| {
            let place = self.map.place(page);
            place.is_some_and(|address| address >> self.shift == unit)
        };
        // The host may have written or discarded some since they were read.
        let living: Vec<u32> = pages.iter().copied().filter(lives_there).collect();
        let copied =
            self.append_survivors(relocation, &living, &emptying.victim, emptying.destination);
        self.units.lose(unit, copied as u32);
        emptying.moved += copied as u32;
        copied == living.len()
    }

    /// Erases a unit in which no page lives any more, or gives it back to the lists.
    pub fn end_emptying(&mut self, relocation: &mut (impl Relocate + ?Sized), emptying: Emptying) {
        let unit = emptying.unit;
        // Copies found no room: what still lives keeps the unit, which may become a victim again.
        if self.units.valid(unit) > 0 {
            if emptying.filled < self.config.pages_per_unit {
                self.observer.finished(unit);
            }
            self.units.close(unit, self.clock_pages());
            return;
        }
        relocation.moved(emptying.victim.stream, emptying.moved);
        self.erase(relocation, unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Device, Keeps, PageRange, random::Random, relocate::RelocationKind};

    #[test]
    fn a_unit_that_is_emptied_while_the_host_writes_loses_no_page() {
        [Keeps::Places, Keeps::Units]
            .into_iter()
            .for_each(loses_no_page);
    }

    fn loses_no_page(keeps: Keeps) {
        let config = Config {
            host_streams: 2,
            internal_streams: 1,
            ..Config::new(512, 8, 80)
        };
        let mut relocation = RelocationKind::Gc.build(&config);
        let mut device = Device::that_keeps(keeps, config, &*relocation).unwrap();
        let mut random = Random::new(7);
        let mut units: Vec<Emptying> = Vec::new();
        let mut read: Vec<u32> = Vec::new();
        for step in 0..20_000 {
            let page = random.below(512);
            let stream = StreamId((page % 2) as u16);
            if random.below(16) == 0 {
                device.discard(PageRange::new(page, 1)).unwrap();
            } else {
                let written = PageRange::new(page, 1);
                device.write(&mut *relocation, written, stream).unwrap();
            }
            if units.is_empty() {
                units.extend(device.begin_emptying(&mut *relocation, 3));
            }
            let Some(unit) = units.last_mut() else {
                continue;
            };
            // Read now, copied later: the host writes meanwhile.
            if step % 3 == 0 {
                assert!(device.copy_survivors(&mut *relocation, unit, &read));
                read = device.next_survivors(unit);
                if read.is_empty() && unit.is_seen() {
                    assert_eq!(device.living_pages(unit), 0);
                    device.end_emptying(&mut *relocation, *unit);
                    units.clear();
                    device.verify().unwrap();
                }
            }
        }
        let counters = device.counters();
        assert!(counters.copied_pages > 0 && counters.erased_units > 1000);
    }

    #[test]
    fn survivors_that_are_sought_among_many_pages_are_named_in_several_turns() {
        let config = Config::new(8 * LOOKS, LOOKS, 12);
        let mut device = Device::that_keeps(Keeps::Units, config, &()).unwrap();
        let write = |device: &mut Device, first, count| {
            let pages = PageRange::new(first, count);
            device.write(&mut (), pages, StreamId::DEFAULT).unwrap();
        };
        // Of the first unit 81 pages live on, which are looked at late, one of them later than the others.
        write(&mut device, 5 * LOOKS + 7, 1);
        (0..80).for_each(|page| write(&mut device, 6 * LOOKS + 70 * page, 1));
        write(&mut device, 0, LOOKS - 81);
        write(&mut device, 0, LOOKS - 81);
        let mut unit = device.begin_emptying(&mut (), 12).unwrap();
        let victim = unit.unit;
        let mut turns = Vec::new();
        assert_eq!(device.living_pages(&unit), 81);
        while !unit.is_seen() {
            let found = device.next_survivors(&mut unit);
            assert!(device.copy_survivors(&mut (), &mut unit, &found));
            turns.push(found.len());
        }
        // Sixty-four at most are named together, though they lie far from one another.
        assert_eq!(turns, [0, 0, 0, 0, 0, 1, 64, 16, 0]);
        let lives_there = |page: &u32| device.locate(*page).is_some_and(|(unit, _)| unit == victim);
        assert_eq!((0..8 * LOOKS).find(lives_there), None);
        device.end_emptying(&mut (), unit);
        device.verify().unwrap();
    }

    #[test]
    fn a_unit_that_wins_next_to_nothing_is_not_emptied_ahead_of_time() {
        let config = Config::new(64, 32, 8);
        let mut device = Device::new(config, &()).unwrap();
        device
            .write(&mut (), PageRange::new(0, 64), StreamId::DEFAULT)
            .unwrap();
        assert!(device.begin_emptying(&mut (), 6).is_none());
        device.discard(PageRange::new(3, 1)).unwrap();
        let unit = device.begin_emptying(&mut (), 6).unwrap();
        assert_eq!((device.living_pages(&unit), unit.gain(32)), (31, 1));
        // Given back, it is as it was.
        device.end_emptying(&mut (), unit);
        device.verify().unwrap();
        assert!(device.begin_emptying(&mut (), 0).is_none());
    }
}
