//! Copying what still lives in a unit about to be erased.

use std::ops::Range;

use super::{BATCH, Device, append::Claim};
use crate::{
    observe::{Observe, Origin},
    relocate::{Destination, Relocate, Survivor, Victim},
    types::StreamId,
};

impl<O: Observe> Device<O> {
    /// Copies the valid ones of a unit's first `filled` pages. Answers whether all found room.
    pub(super) fn copy(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        (unit, filled): (u32, u32),
        victim: &Victim,
        destination: Destination,
    ) -> bool {
        let mut left = self.units.valid(unit);
        let mut live = [0_u32; BATCH];
        let mut offset = 0;
        let end = self.end_of_walk(filled);
        // `left` ends the walk at the last valid page: the rest of the unit is dead and need not be read.
        while left > 0 && offset < end {
            let count = (BATCH as u32).min(end - offset);
            let found = self.survivors(unit, offset..offset + count, &mut live);
            let copied = self.append_survivors(relocation, &live[..found], victim, destination);
            if copied < found {
                // Those that found room live elsewhere now; the unit stays with the others.
                self.units.lose(unit, copied as u32);
                return false;
            }
            self.units.lose(unit, found as u32);
            left -= found as u32;
            offset += count;
        }
        true
    }

    /// Pages to walk over for the survivors of a unit, so many of whose pages are filled: those, or all of the device where
    /// the map leads from pages to units alone.
    pub(super) fn end_of_walk(&self, filled: u32) -> u32 {
        if self.p2l.is_empty() {
            self.config.logical_pages
        } else {
            filled
        }
    }

    /// Gathers, without a branch per page, the logical pages of a part of the walk over a unit that still live there.
    /// Answers how many.
    pub(super) fn survivors(
        &mut self,
        unit: u32,
        offsets: Range<u32>,
        live: &mut [u32; BATCH],
    ) -> usize {
        if self.p2l.is_empty() {
            return self.map.sought(unit, offsets, live);
        }
        let start = unit as usize * self.config.pages_per_unit as usize;
        let range = start + offsets.start as usize..start + offsets.end as usize;
        let address = unit << self.shift | offsets.start;
        let pages = &self.p2l[range.clone()];
        let found = self.map.living(pages, address.., live);
        // A walk of its own: the one before has no branch per page, and most devices are not watched.
        if O::WANTS_COPIES {
            for (offset, index) in offsets.zip(range) {
                let page = self.p2l[index];
                if self.map.place(page) == Some(unit << self.shift | offset) {
                    self.observer.copied(unit, offset);
                }
            }
        }
        found
    }

    /// Copies pages to where they are destined. Answers how many found room.
    pub(super) fn append_survivors(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        pages: &[u32],
        victim: &Victim,
        destination: Destination,
    ) -> usize {
        match destination {
            Destination::Stream(stream) => self.append_copies(relocation, pages, stream, victim),
            Destination::Each => {
                relocation.prefetch_survivors(pages);
                self.append_each(relocation, pages, victim)
            }
        }
    }

    /// Copies each page to the stream the relocation names, neighbours of one stream together.
    /// Answers how many found room.
    fn append_each(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        pages: &[u32],
        victim: &Victim,
    ) -> usize {
        let mut start = 0;
        let first = pages.first();
        let mut next = first.map(|&page| self.survivor(relocation, page, victim));
        while let Some(stream) = next {
            let mut end = start + 1;
            next = None;
            while let Some(&page) = pages.get(end) {
                let other = self.survivor(relocation, page, victim);
                if other != stream {
                    next = Some(other);
                    break;
                }
                end += 1;
            }
            let copied = self.append_copies(relocation, &pages[start..end], stream, victim);
            if copied < end - start {
                return start + copied;
            }
            start = end;
        }
        pages.len()
    }

    fn survivor(
        &self,
        relocation: &mut (impl Relocate + ?Sized),
        page: u32,
        victim: &Victim,
    ) -> StreamId {
        let age_pages = match self.map.time(page) {
            // Ticks are 32 bits and wrap around on a drive that is written for long; the difference is right.
            Some(then) => u64::from(self.tick().wrapping_sub(then)) << self.tick_bits,
            None => 0,
        };
        relocation.survivor(victim, Survivor { page, age_pages })
    }

    /// Appends copies to a stream, or where no unit is left for it to another of its group.
    /// Answers how many found room.
    fn append_copies(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        pages: &[u32],
        wanted: StreamId,
        victim: &Victim,
    ) -> usize {
        let wanted = self.own_group(wanted, victim.stream);
        let mut rest = pages;
        while !rest.is_empty() {
            let Some(stream) = self.copy_stream(relocation, wanted) else {
                break;
            };
            let room = self.room(stream) as usize;
            let (now, later) = rest.split_at(room.min(rest.len()));
            let Some(claim) = self.claim(relocation, stream, now.len() as u32, Origin::Copy) else {
                break;
            };
            self.place(relocation, now, claim);
            let count = now.len() as u64;
            self.counters.copied_pages += count;
            self.counters.redirected_pages += if stream == wanted { 0 } else { count };
            self.streams[stream.index()].copied_pages += count;
            rest = later;
        }
        pages.len() - rest.len()
    }

    pub(super) fn place(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        pages: &[u32],
        claim: Claim,
    ) {
        if let Some(reverse) = self.reverse_of(claim, pages.len()) {
            reverse.copy_from_slice(pages);
        }
        self.map.move_pages(pages, claim.address..);
        self.tell_places(relocation, pages.iter().copied(), claim.unit);
        if claim.closes {
            self.units.close(claim.unit, self.clock_pages());
        }
    }

    /// The stream that a scheme answered with, or the victim's own where the answer is no stream of
    /// its group.
    pub(super) fn own_group(&self, wanted: StreamId, own: StreamId) -> StreamId {
        let fits = wanted.index() < self.open.len()
            && self.config.group_of(wanted) == self.config.group_of(own);
        if fits { wanted } else { own }
    }

    /// The stream that copies meant for `wanted` join: that one while it has room or a unit is
    /// free, then the open unit of the stream nearest in number, since classes of age are numbered
    /// in order. The reserve sees to it that a device without faults always finds one.
    fn copy_stream(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        wanted: StreamId,
    ) -> Option<StreamId> {
        loop {
            self.fail_if_due(relocation, wanted);
            if self.room(wanted) > 0 {
                return Some(wanted);
            }
            if self.open_unit(relocation, wanted).is_ok() {
                // Round again: the next page to be programmed may be the one that fails.
                continue;
            }
            let refuge = self.refuge(relocation, wanted)?;
            self.fail_if_due(relocation, refuge);
            if self.room(refuge) > 0 {
                return Some(refuge);
            }
        }
    }

    fn refuge(&self, relocation: &(impl Relocate + ?Sized), wanted: StreamId) -> Option<StreamId> {
        self.open_units(self.config.group_of(wanted))
            .map(|(stream, _)| stream)
            .filter(|&stream| relocation.may_join(wanted, stream))
            .min_by_key(|stream| (stream.0.abs_diff(wanted.0), stream.0))
    }
}
