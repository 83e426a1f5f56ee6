//! Garbage collection: choosing a victim, copying what lives, erasing.

use super::{BATCH, Device};
use crate::{relocate::Victim, types::StreamId};

/// An open unit is sealed and collected in place of the best closed one when that gives this many
/// times as many free pages (our choice; the papers' drives have spare units enough never to
/// need it). It happens where streams hold most of the spare space in half-filled units.
const SEAL_GAIN: u32 = 8;

impl Device {
    /// Collects until more units are free than the stop threshold, or until `wanting`, the
    /// stream whose write waits, has room and no threshold is undercut, or nothing is to be won.
    pub(super) fn collect(&mut self, wanting: StreamId) {
        let stop = self.config.gc_stop_free_units as usize;
        loop {
            let free = self.units.free_count();
            let enough = free > stop || (self.room(wanting) > 0 && free >= stop);
            if enough && !self.units.is_mid_round() {
                return;
            }
            let Some(victim) = self.choose_victim(wanting) else {
                return;
            };
            self.empty(victim);
        }
    }

    /// The closed unit the victim rule names; or, where that would win next to nothing, the open
    /// unit that was written longest ago.
    fn choose_victim(&mut self, wanting: StreamId) -> Option<Choice> {
        let closed = self.units.choose_victim(self.counters.host_pages);
        let gain = closed.map_or(0, |(_, gain)| gain);
        let worth_sealing = gain.saturating_mul(SEAL_GAIN);
        if worth_sealing <= self.config.pages_per_unit
            && let Some((stream, seal_gain)) = self.sealable(wanting)
            && seal_gain >= worth_sealing
        {
            return Some(Choice::Seal(stream));
        }
        closed.map(|(unit, _)| Choice::Closed(unit))
    }

    /// The stream whose open unit was written longest ago, and the free pages that collecting it
    /// would give. Not the stream that waits for room, nor the default stream, which takes in
    /// the survivors of sealed units.
    fn sealable(&self, wanting: StreamId) -> Option<(StreamId, u32)> {
        let (index, open) = self
            .open
            .iter()
            .enumerate()
            .filter(|&(index, _)| index != wanting.index() && index != StreamId::DEFAULT.index())
            .filter_map(|(index, open)| open.map(|open| (index, open)))
            .min_by_key(|&(_, open)| open.written_at)?;
        let gain = self.config.pages_per_unit - self.units.valid(open.unit);
        Some((StreamId(index as u16), gain))
    }

    fn empty(&mut self, choice: Choice) {
        match choice {
            Choice::Closed(unit) => {
                let victim = Victim {
                    stream: self.units.stream(unit),
                    valid_pages: self.units.valid(unit),
                };
                let destination = self.relocation.destination(victim);
                self.units.take(unit);
                self.copy_and_erase(unit, self.config.pages_per_unit, destination);
            }
            Choice::Seal(stream) => {
                let Some(open) = self.open[stream.index()].take() else {
                    return;
                };
                self.counters.sealed_units += 1;
                self.streams[stream.index()].sealed_units += 1;
                self.copy_and_erase(open.unit, open.filled, StreamId::DEFAULT);
            }
        }
    }

    /// Copies the valid ones of a unit's first `filled` pages to `destination`, then erases it.
    fn copy_and_erase(&mut self, unit: u32, filled: u32, destination: StreamId) {
        let start = unit as usize * self.config.pages_per_unit as usize;
        let address = unit << self.shift;
        let mut left = self.units.valid(unit);
        let mut live = [0_u32; BATCH];
        let mut offset = 0;
        while left > 0 && offset < filled {
            let count = (BATCH as u32).min(filled - offset);
            let range = start + offset as usize..start + (offset + count) as usize;
            let found = self.survivors(range, address + offset, &mut live);
            self.append_copies(&live[..found], destination);
            left -= found as u32;
            offset += count;
        }
        let (stream, units_left) = self.units.erase(unit);
        self.relocation.erased(stream, units_left);
        self.counters.erased_units += 1;
        self.streams[stream.index()].erased_units += 1;
    }

    /// Gathers, without a branch per page, the logical pages of a part of a unit that still live
    /// there. Answers how many.
    fn survivors(
        &self,
        range: std::ops::Range<usize>,
        address: u32,
        live: &mut [u32; BATCH],
    ) -> usize {
        let mut found = 0;
        for (expected, &page) in (address..).zip(&self.logical[range]) {
            live[found % BATCH] = page;
            found += usize::from(self.physical[page as usize] == expected);
        }
        found
    }

    fn append_copies(&mut self, pages: &[u32], destination: StreamId) {
        let mut rest = pages;
        while !rest.is_empty() {
            if self.room(destination) == 0 && self.open_unit(destination).is_err() {
                // The reserve makes this impossible: one victim fills at most one new unit.
                debug_assert!(false, "garbage collection ran out of its reserve");
                return;
            }
            let room = self.room(destination) as usize;
            let (now, later) = rest.split_at(room.min(rest.len()));
            let Some(claim) = self.claim(destination, now.len() as u32) else {
                return;
            };
            self.logical[claim.index..claim.index + now.len()].copy_from_slice(now);
            for (address, &page) in (claim.address..).zip(now) {
                self.physical[page as usize] = address;
            }
            if claim.closes {
                self.units.close(claim.unit, self.counters.host_pages);
            }
            let count = now.len() as u64;
            self.counters.copied_pages += count;
            self.streams[destination.index()].copied_pages += count;
            rest = later;
        }
    }
}

/// What is collected next.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// A closed unit.
    Closed(u32),
    /// The open unit of a stream, before it is full.
    Seal(StreamId),
}
