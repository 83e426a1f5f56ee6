//! Writing pages to open units.

use super::{Device, OpenUnit};
use crate::{
    error::DeviceError,
    observe::{Observe, Origin},
    relocate::Relocate,
    types::{PageRange, StreamId},
    units::Units,
};

/// Pages of an open unit, claimed for data about to be appended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) unit: u32,
    /// Address of the first page, and its index in `p2l`.
    pub(super) address: u32,
    pub(super) index: usize,
    pub(super) closes: bool,
}

impl<O: Observe> Device<O> {
    /// Free pages in a stream's open unit, as far as they can be programmed before one fails.
    #[inline]
    pub(super) fn room(&self, stream: StreamId) -> u32 {
        self.open[stream.index()].map_or(0, |open| {
            // A run ends before the page that will fail, so that failures are handled between runs alone.
            (self.config.pages_per_unit - open.filled).min(self.program_failures.left())
        })
    }

    /// The stream that host writes to `wanted` join now, and its room, at least 1; after opening
    /// a unit, and collecting garbage for it, where needed.
    pub(super) fn host_room(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        wanted: StreamId,
    ) -> Result<(StreamId, u32), DeviceError> {
        // The multi-stream eMMC ignores streams while it is nearly full (`streams_off_permille`).
        let stream = if self.mapped > self.streams_off_above {
            self.config.default_stream(self.config.group_of(wanted))
        } else {
            wanted
        };
        match self.room(stream) {
            0 => self.make_room(relocation, stream),
            room => Ok((stream, room)),
        }
    }

    #[cold]
    fn make_room(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        wanted: StreamId,
    ) -> Result<(StreamId, u32), DeviceError> {
        let mut stream = wanted;
        loop {
            self.fail_if_due(relocation, stream);
            if self.room(stream) > 0 {
                return Ok((stream, self.room(stream)));
            }
            stream = self.group_with_room(wanted);
            let group = self.config.group_of(stream);
            // First, whatever the victim rule ranks higher: a failing unit may be full of valid pages.
            self.empty_failing(relocation, group);
            if self.units.free_count(group) <= self.gc_start() {
                self.collect(relocation, stream);
            }
            self.check_writable()?;
            // Copies may have opened a unit of this very stream, and may have filled it up to the
            // page whose programming will fail.
            if self.open[stream.index()].is_none() {
                // IMPORTANT: the reserve is for copies. A host write that takes it leaves no room to collect.
                if self.units.free_count(group) <= self.config.reserved_units() as usize {
                    return Err(self.out_of_units());
                }
                self.open_unit(relocation, stream)?;
            }
        }
    }

    /// The error for a device on which nothing can be freed. Only a drive that has lost units gets
    /// here.
    fn out_of_units(&mut self) -> DeviceError {
        // A drive that has lost units wears out, and says so for ever; one that has lost none must never get here.
        if !self.units.has_lost() {
            return DeviceError::Full;
        }
        self.read_only = true;
        self.read_only_error()
    }

    /// The same handle of another reclaim group, where its own is full of valid pages: of all
    /// groups the one with the most room.
    fn group_with_room(&self, wanted: StreamId) -> StreamId {
        let groups = self.config.reclaim_groups;
        let own = self.config.group_of(wanted);
        if groups == 1 || self.group_room(own) >= i64::from(self.config.pages_per_unit) {
            return wanted;
        }
        // Among equals the own group, so that data move only where that gains room.
        let best = (0..groups).max_by_key(|&group| (self.group_room(group), group == own));
        let handle = wanted.0 - self.config.default_stream(own).0;
        StreamId(self.config.default_stream(best.unwrap_or(own)).0 + handle)
    }

    /// Pages that a reclaim group can still take in before collecting gets hard; none or less
    /// where it holds more than its share already.
    pub fn group_room(&self, group: u32) -> i64 {
        let units = i64::from(self.units.in_service(group));
        let spare = i64::from(self.config.spare_units_of_group());
        let most = (units - spare) * i64::from(self.config.pages_per_unit);
        let valid = |(_, open): (StreamId, OpenUnit)| u64::from(self.units.valid(open.unit));
        let open_live: u64 = self.open_units(group).map(valid).sum();
        most - (self.units.closed_live_pages(group) + open_live) as i64
    }

    /// The open units of a group and their streams.
    pub(super) fn open_units(&self, group: u32) -> impl Iterator<Item = (StreamId, OpenUnit)> {
        self.open
            .iter()
            .enumerate()
            .filter_map(|(stream, open)| open.map(|open| (StreamId(stream as u16), open)))
            .filter(move |&(_, open)| self.units.group_of(open.unit) == group)
    }

    /// Free units at which collection starts.
    pub(super) fn gc_start(&self) -> usize {
        let start = self.config.gc_start_free_units;
        start.max(self.config.reserved_units()) as usize
    }

    pub(super) fn open_unit(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        let now = self.clock_pages();
        let group = self.config.group_of(stream);
        let unit = self.units.open(group, stream, now);
        self.open[stream.index()] = Some(OpenUnit {
            unit: unit.ok_or(DeviceError::Full)?,
            filled: 0,
            written_at: now,
        });
        relocation.opened(stream);
        Ok(())
    }

    /// Claims `count` pages of a stream's open unit, which has that room.
    #[inline]
    pub(super) fn claim(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        stream: StreamId,
        count: u32,
        origin: Origin,
    ) -> Option<Claim> {
        let now = self.clock_pages();
        let slot = &mut self.open[stream.index()];
        let open = slot.as_mut()?;
        let claim = Claim {
            unit: open.unit,
            address: open.unit << self.shift | open.filled,
            index: open.unit as usize * self.config.pages_per_unit as usize + open.filled as usize,
            closes: open.filled + count == self.config.pages_per_unit,
        };
        self.observer
            .programmed(open.unit, open.filled, count, origin);
        relocation.appended(stream, count, origin);
        open.filled += count;
        open.written_at = now;
        if claim.closes {
            // The caller closes the unit once its pages are mapped: before that no victim rule may see it.
            *slot = None;
        }
        self.units.gain(claim.unit, count);
        self.program_failures.pass(count);
        Some(claim)
    }

    pub(super) fn append_run(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        stream: StreamId,
        pages: PageRange,
    ) {
        let Some(claim) = self.claim(relocation, stream, pages.count, Origin::Host) else {
            return;
        };
        let written = pages.first..pages.first + pages.count;
        if let Some(reverse) = self.reverse_of(claim, pages.count as usize) {
            for (back, page) in reverse.iter_mut().zip(written.clone()) {
                *back = page;
            }
        }
        let (now, shift) = (self.tick(), self.shift);
        let mut dying = Dying::new(&mut self.units);
        let dies = |address| dying.page(address >> shift);
        self.map
            .write_run(pages.indices(), claim.address.., now, dies);
        let died = dying.finish();
        self.tell_places(relocation, written, claim.unit);
        self.count_host_pages(stream, pages.count, died, claim);
    }

    pub(super) fn append_pages(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        stream: StreamId,
        pages: &[u32],
    ) {
        let Some(claim) = self.claim(relocation, stream, pages.len() as u32, Origin::Host) else {
            return;
        };
        if let Some(reverse) = self.reverse_of(claim, pages.len()) {
            reverse.copy_from_slice(pages);
        }
        let (now, shift) = (self.tick(), self.shift);
        let mut died = 0;
        // Without `Dying`: scattered pages mostly die in different units, so that there is nothing to gather.
        let dies = |address| {
            self.units.lose(address >> shift, 1);
            died += 1;
        };
        self.map.write_pages(pages, claim.address.., now, dies);
        self.tell_places(relocation, pages.iter().copied(), claim.unit);
        self.count_host_pages(stream, pages.len() as u32, died, claim);
    }

    /// Entries of claimed pages in the reverse of the mapping, where that is kept.
    #[inline]
    pub(super) fn reverse_of(&mut self, claim: Claim, pages: usize) -> Option<&mut [u32]> {
        self.p2l.get_mut(claim.index..claim.index + pages)
    }

    /// Tells the relocation where pages were put, if it wants to hear of it.
    #[inline]
    pub(super) fn tell_places(
        &self,
        relocation: &mut (impl Relocate + ?Sized),
        pages: impl Iterator<Item = u32>,
        unit: u32,
    ) {
        if self.tells_places {
            let stream = self.units.stream(unit);
            pages.for_each(|page| relocation.placed(page, unit, stream));
        }
    }

    fn count_host_pages(&mut self, stream: StreamId, count: u32, died: u64, claim: Claim) {
        if claim.closes {
            self.units.close(claim.unit, self.clock_pages());
        }
        // A page written anew dies at its former place, and stays mapped.
        self.mapped = self.mapped + u64::from(count) - died;
        self.counters.host_pages += u64::from(count);
        self.streams[stream.index()].host_pages += u64::from(count);
    }

    /// Counts pages that joined another reclaim group's stream than `wanted`.
    #[inline]
    pub(super) fn count_misplaced(&mut self, wanted: StreamId, joined: StreamId, pages: u32) {
        // Writes that join the default stream of their own group, as with streams off, are not misplaced.
        if joined != wanted && self.config.group_of(joined) != self.config.group_of(wanted) {
            self.counters.misplaced_pages += u64::from(pages);
        }
    }

    /// The current time, in ticks.
    pub(super) fn tick(&self) -> u32 {
        (self.clock_pages() >> self.tick_bits) as u32
    }

    /// Reads the mapping of a batch once before it is written: the reads do not wait for one
    /// another, so that their cache misses overlap. Pages beyond the drive are passed over.
    #[inline]
    pub fn prefetch(&self, pages: &[u32]) {
        self.map.prefetch(pages);
    }
}

/// Gathers dying pages of one unit, since neighbours mostly die together: one change of the
/// valid count, and of the victims' lists, for a run of them.
pub(super) struct Dying<'a> {
    units: &'a mut Units,
    unit: u32,
    pages: u32,
    /// Pages that have died so far.
    died: u64,
}

impl<'a> Dying<'a> {
    pub(super) fn new(units: &'a mut Units) -> Dying<'a> {
        Dying {
            units,
            unit: 0,
            pages: 0,
            died: 0,
        }
    }

    #[inline]
    pub(super) fn page(&mut self, unit: u32) {
        if unit != self.unit {
            self.flush();
            self.unit = unit;
        }
        self.pages += 1;
    }

    #[inline]
    fn flush(&mut self) {
        if self.pages > 0 {
            self.units.lose(self.unit, self.pages);
            self.died += u64::from(self.pages);
            self.pages = 0;
        }
    }

    /// Records the last run, and answers how many pages died.
    pub(super) fn finish(mut self) -> u64 {
        self.flush();
        self.died
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, config::tests::small};

    #[test]
    fn where_all_groups_are_as_full_each_keeps_its_writes() {
        let config = Config {
            reclaim_groups: 2,
            ..small()
        };
        let mut device = Device::new(config, &()).unwrap();
        // Without lost units one of the groups always has room.
        [14, 15]
            .into_iter()
            .for_each(|unit| device.units.retire_free(unit));
        for first in (0..64).step_by(8) {
            let stream = StreamId(if first < 32 { 0 } else { 2 });
            let pages = PageRange::new(first, 8);
            device.write(&mut (), pages, stream).unwrap();
        }
        let rooms = [0, 1].map(|group| device.group_room(group));
        assert_eq!(rooms, [0, 0]);
        for stream in (0..4).map(StreamId) {
            assert_eq!(device.group_with_room(stream), stream);
        }
    }
    #[test]
    fn a_page_that_joins_another_stream_of_its_own_group_is_not_misplaced() {
        let config = Config {
            streams_off_permille: 0,
            ..small()
        };
        let mut device = Device::new(config, &()).unwrap();
        let pages = PageRange::new(0, 2);
        device.write(&mut (), pages, StreamId(1)).unwrap();
        device.write(&mut (), pages, StreamId(1)).unwrap();
        let written = [0, 1].map(|stream: usize| device.streams[stream].host_pages);
        assert_eq!(
            written,
            [2, 2],
            "the second write joined the default stream"
        );
        assert_eq!(device.counters.misplaced_pages, 0);
    }
}
