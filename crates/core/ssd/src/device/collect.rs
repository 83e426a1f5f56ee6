//! Garbage collection: choosing a victim, emptying it, erasing.

use super::Device;
use crate::{
    observe::Observe,
    relocate::{Destination, Erased, Relocate, Victim},
    types::StreamId,
};

/// An open unit is sealed and collected in place of the best closed one when that gives this many
/// times as many free pages (our choice; the papers' drives have spare units enough never to
/// need it). It happens where streams hold most of the spare space in half-filled units.
const SEAL_GAIN: u32 = 8;

impl<O: Observe> Device<O> {
    /// Collects until more units are free than the stop threshold, or until `wanting`, the
    /// stream whose write waits, has room and no threshold is undercut, or nothing is to be won.
    pub(super) fn collect(&mut self, relocation: &mut (impl Relocate + ?Sized), wanting: StreamId) {
        let group = self.config.group_of(wanting);
        let stop = self.gc_start().max(self.config.gc_stop_free_units as usize);
        loop {
            let free = self.units.free_count(group);
            // A waiting stream without room opens a unit next, which takes one of the free ones.
            let enough = free > stop || (self.room(wanting) > 0 && free >= stop);
            // `greedy-per-chip` takes a victim of each chip, and is not stopped in the middle of such a round.
            if enough && !self.units.is_mid_round(group) {
                return;
            }
            let Some(victim) = self.choose_victim(relocation, wanting, group) else {
                return;
            };
            // Its copies found no room. The next round would choose the same unit and fail in the same way.
            if !self.empty(relocation, victim) {
                return;
            }
            self.level(relocation, group);
        }
    }

    /// Collects one victim in the background, while the host is idle, if no more units than the
    /// stop threshold are free somewhere. Answers whether it did.
    pub fn collect_idle(&mut self, relocation: &mut (impl Relocate + ?Sized)) -> bool {
        let stop = self.gc_start().max(self.config.gc_stop_free_units as usize);
        let scarce = |&group: &u32| self.units.free_count(group) <= stop;
        let Some(group) = (0..self.config.reclaim_groups).find(scarce) else {
            return false;
        };
        let wanting = self.config.default_stream(group);
        !self.read_only
            && self
                .choose_victim(relocation, wanting, group)
                .is_some_and(|victim| self.empty(relocation, victim))
    }

    /// Empties the units of a group in which a program operation failed.
    pub(super) fn empty_failing(&mut self, relocation: &mut (impl Relocate + ?Sized), group: u32) {
        while let Some(unit) = self.units.failing_in(group) {
            if !self.empty(relocation, Choice::Closed(unit)) {
                return;
            }
        }
    }

    /// The closed unit the victim rule names; or, where that would win next to nothing, the open
    /// unit that was written longest ago.
    pub(super) fn choose_victim(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        wanting: StreamId,
        group: u32,
    ) -> Option<Choice> {
        let now = self.clock_pages();
        let closed = self.units.choose_victim(group, now, relocation);
        let gain = closed.map_or(0, |(_, gain)| gain);
        let worth_sealing = gain.saturating_mul(SEAL_GAIN);
        if worth_sealing <= self.config.pages_per_unit
            && let Some((stream, target, seal_gain)) = self.sealable(relocation, wanting, group)
            && seal_gain >= worth_sealing
        {
            return Some(Choice::Seal(stream, target));
        }
        closed.map(|(unit, _)| Choice::Closed(unit))
    }

    /// The stream whose open unit was written longest ago, the stream its survivors would join,
    /// and the free pages that would give. Not the stream that waits for room, nor one that would
    /// take in the survivors itself (the default stream, mostly) or whose pages join no other's.
    fn sealable(
        &self,
        relocation: &(impl Relocate + ?Sized),
        wanting: StreamId,
        group: u32,
    ) -> Option<(StreamId, StreamId, u32)> {
        let default = self.config.default_stream(group);
        let (stream, target, open) = self
            .open_units(group)
            .filter_map(|(stream, open)| {
                let target = self.own_group(relocation.seal(stream, default)?, stream);
                (stream != wanting && stream != target).then_some((stream, target, open))
            })
            .min_by_key(|&(_, _, open)| open.written_at)?;
        let gain = self.config.pages_per_unit - self.units.valid(open.unit);
        Some((stream, target, gain))
    }

    /// Empties and erases a unit. Answers whether that was done; where there is no room for its
    /// valid pages, those not yet copied stay.
    pub(super) fn empty(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        choice: Choice,
    ) -> bool {
        let Some((place, victim, destination)) = self.take(relocation, choice) else {
            return false;
        };
        self.copy_and_erase(relocation, place, &victim, destination)
    }

    /// Takes a unit out of the lists, to be emptied: the unit and its pages that were programmed, what the relocation is
    /// told of it, and where its survivors go.
    pub(super) fn take(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        choice: Choice,
    ) -> Option<((u32, u32), Victim, Destination)> {
        match choice {
            Choice::Closed(unit) => {
                let victim = self.victim(unit);
                let destination = relocation.destination(&victim);
                self.units.take(unit);
                Some(((unit, self.config.pages_per_unit), victim, destination))
            }
            Choice::Seal(stream, target) => {
                let open = self.open[stream.index()].take()?;
                relocation.abandoned(stream);
                self.counters.sealed_units += 1;
                self.streams[stream.index()].sealed_units += 1;
                let victim = self.victim(open.unit);
                let place = (open.unit, open.filled);
                Some((place, victim, Destination::Stream(target)))
            }
        }
    }

    fn victim(&self, unit: u32) -> Victim {
        Victim {
            stream: self.units.stream(unit),
            valid_pages: self.units.valid(unit),
            opened_at: self.units.opened_at(unit),
            now: self.clock_pages(),
        }
    }

    /// Copies the valid ones of a unit's first `filled` pages, then erases it.
    fn copy_and_erase(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        (unit, filled): (u32, u32),
        victim: &Victim,
        destination: Destination,
    ) -> bool {
        if !self.copy(relocation, (unit, filled), victim, destination) {
            // A sealed unit is no stream's open one any more: it goes back as a closed one.
            if filled < self.config.pages_per_unit {
                self.observer.finished(unit);
            }
            self.units.close(unit, self.clock_pages());
            return false;
        }
        relocation.moved(victim.stream, victim.valid_pages);
        self.erase(relocation, unit);
        true
    }

    pub(super) fn erase(&mut self, relocation: &mut (impl Relocate + ?Sized), unit: u32) {
        let failed = self.erase_failures.strikes();
        // A unit is retired by a failed erase, by an earlier failed program, or by its rated erases: `erase` decides.
        let retired = self.units.retired().len();
        let erased = self.units.erase(unit, failed);
        self.observer.erased(unit);
        self.counters.erased_units += 1;
        self.counters.failed_erases += u64::from(failed);
        self.streams[erased.stream.index()].erased_units += 1;
        if self.units.retired().len() > retired {
            self.count_retired();
        }
        relocation.erased(&Erased {
            stream: erased.stream,
            units_left: erased.units_left,
            opened_at: erased.opened_at,
            now: self.clock_pages(),
        });
    }
}

/// Next unit to collect.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    /// A closed unit.
    Closed(u32),
    /// The open unit of the first stream, before it is full; the second takes in its survivors.
    Seal(StreamId, StreamId),
}
