//! Static wear levelling: units whose data lie still are made to take part in wear.

use super::{BATCH, Device, append::Claim, collect::Choice};
use crate::{
    observe::{Observe, Origin},
    relocate::Relocate,
};

/// Data are at rest in a unit while at least this share of its pages live (our choice): 7 of 8.
/// Moved as they are, fewer would leave their new unit the emptiest of all, and the next victim.
const AT_REST: (u32, u32) = (7, 8);

impl<O: Observe> Device<O> {
    /// If the least worn closed unit of a group lies too far behind the most worn free one: moves
    /// the data at rest there from one to the other; data that are dying are collected as any
    /// victim's. Either way the unit is then free, and as the least worn the next to be written.
    ///
    /// It may borrow a unit of the reserve, and gives one back unless that one's erase is its last.
    pub(super) fn level(&mut self, relocation: &mut (impl Relocate + ?Sized), group: u32) {
        // Levelling may borrow one unit of the reserve, and only a whole reserve has one to lend.
        if self.units.free_count(group) < self.config.reserved_units() as usize {
            return;
        }
        let Some(cold) = self.units.cold_unit(group) else {
            return;
        };
        let copied = self.counters.copied_pages;
        let valid = u64::from(self.units.valid(cold));
        let (of, all) = AT_REST;
        if valid * u64::from(all) >= u64::from(self.config.pages_per_unit) * u64::from(of) {
            self.swap(relocation, cold, group);
        } else {
            self.empty(relocation, Choice::Closed(cold));
        }
        self.counters.levelled_pages += self.counters.copied_pages - copied;
    }

    /// Moves a unit's data into the most worn free unit, where no program operation is due to fail
    /// on the way.
    fn swap(&mut self, relocation: &mut (impl Relocate + ?Sized), cold: u32, group: u32) {
        let (stream, valid) = (self.units.stream(cold), self.units.valid(cold));
        // The move is not split over two units: another collection levels once the failure is past.
        if valid > self.program_failures.left() {
            return;
        }
        let now = self.clock_pages();
        let Some(worn) = self.units.open_most_worn(group, stream, now) else {
            return;
        };
        self.units.take(cold);
        self.move_all(relocation, cold, worn);
        self.units.close(worn, now);
        // Closed short of its last page: observers must learn that no page follows.
        if valid < self.config.pages_per_unit {
            self.observer.finished(worn);
        }
        self.counters.copied_pages += u64::from(valid);
        self.streams[stream.index()].copied_pages += u64::from(valid);
        relocation.moved(stream, valid);
        self.erase(relocation, cold);
    }

    /// Moves the valid pages of one unit to the beginning of another.
    fn move_all(&mut self, relocation: &mut (impl Relocate + ?Sized), from: u32, to: u32) {
        let pages_per_unit = self.config.pages_per_unit;
        let mut live = [0_u32; BATCH];
        let (mut offset, mut filled) = (0, 0);
        while offset < pages_per_unit {
            let count = (BATCH as u32).min(pages_per_unit - offset);
            let found = self.survivors(from, offset..offset + count, &mut live);
            offset += count;
            if found == 0 {
                continue;
            }
            let claim = Claim {
                unit: to,
                address: to << self.shift | filled,
                index: to as usize * pages_per_unit as usize + filled as usize,
                closes: false,
            };
            self.observer
                .programmed(to, filled, found as u32, Origin::Copy);
            self.place(relocation, &live[..found], claim);
            self.units.lose(from, found as u32);
            self.units.gain(to, found as u32);
            self.program_failures.pass(found as u32);
            filled += found as u32;
        }
    }
}
