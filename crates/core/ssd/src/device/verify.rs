//! The device's invariants, checked from outside its hot paths.

use super::Device;
use crate::{
    error::{Inconsistency, UnitPlace},
    observe::Observe,
    page_map::NONE,
};

impl<O: Observe> Device<O> {
    /// Checks that the device is consistent; costs a walk over all pages. For tests and for a
    /// state that was loaded.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn verify(&self) -> Result<(), Inconsistency> {
        let mut valid = vec![0_u32; self.config.physical_units as usize];
        for (page, address) in (0_u32..).zip(self.map.places()) {
            if address == NONE {
                continue;
            }
            let unit = address >> self.shift;
            let offset = address & ((1 << self.shift) - 1);
            if unit >= self.config.physical_units || offset >= self.config.pages_per_unit {
                return Err(Inconsistency::OutsideFlash { page });
            }
            let index = unit as usize * self.config.pages_per_unit as usize + offset as usize;
            // Nothing where places are not kept.
            let other = self.p2l.get(index).copied().unwrap_or(page);
            if other != page {
                return Err(Inconsistency::OtherPage { page, other });
            }
            valid[unit as usize] += 1;
        }
        self.verify_open(&valid)?;
        let places = self.places()?;
        for (unit, &expected) in (0_u32..).zip(&valid) {
            self.verify_unit(unit, expected, places[unit as usize])?;
        }
        self.verify_sums()
    }

    /// The place of each unit. A unit is in exactly one: free, open, closed or retired.
    fn places(&self) -> Result<Vec<UnitPlace>, Inconsistency> {
        let mut places = vec![None; self.config.physical_units as usize];
        let free = self.units.free_units().map(|unit| (unit, UnitPlace::Free));
        let open = self.open.iter().flatten();
        let open = open.map(|open| (open.unit, UnitPlace::Open));
        let closed = self.units.listed_units();
        let closed = closed.map(|unit| (unit, UnitPlace::Closed));
        let retired = self.units.retired().iter();
        let retired = retired.map(|&unit| (unit, UnitPlace::Retired));
        for (unit, place) in free.chain(open).chain(closed).chain(retired) {
            match places.get_mut(unit as usize) {
                None => return Err(Inconsistency::NoSuchUnit { unit }),
                Some(Some(other)) => {
                    let places = [*other, place];
                    return Err(Inconsistency::TwoPlaces { unit, places });
                }
                Some(none) => *none = Some(place),
            }
        }
        let known =
            |(unit, place): (u32, Option<UnitPlace>)| place.ok_or(Inconsistency::NoPlace { unit });
        (0..).zip(places).map(known).collect()
    }

    /// Checks that no open unit holds more pages than were written to it.
    fn verify_open(&self, valid: &[u32]) -> Result<(), Inconsistency> {
        for open in self.open.iter().flatten() {
            let valid = valid.get(open.unit as usize).copied().unwrap_or(0);
            if open.filled >= self.config.pages_per_unit || valid > open.filled {
                return Err(Inconsistency::OpenUnit {
                    unit: open.unit,
                    written: open.filled,
                    valid,
                });
            }
        }
        Ok(())
    }

    fn verify_unit(&self, unit: u32, expected: u32, place: UnitPlace) -> Result<(), Inconsistency> {
        let valid = self.units.valid(unit);
        if valid != expected {
            return Err(Inconsistency::ValidPages {
                unit,
                counted: valid,
                held: expected,
            });
        }
        if self.units.is_closed(unit) != (place == UnitPlace::Closed) {
            return Err(Inconsistency::Lists { unit, place });
        }
        let used = matches!(place, UnitPlace::Open | UnitPlace::Closed);
        if !used && valid > 0 {
            return Err(Inconsistency::NotEmpty { unit, place });
        }
        let stream = self.units.stream(unit);
        let group = self.units.group_of(unit);
        if used && (stream.index() >= self.open.len() || self.config.group_of(stream) != group) {
            return Err(Inconsistency::OtherGroup {
                unit,
                stream: stream.0,
            });
        }
        Ok(())
    }

    fn verify_sums(&self) -> Result<(), Inconsistency> {
        let mapped = self.map.places().filter(|&address| address != NONE).count() as u64;
        let counted = self.mapped;
        if mapped != counted {
            return Err(Inconsistency::Mapped { mapped, counted });
        }
        let sum = |of: fn(&crate::StreamCounters) -> u64| self.streams.iter().map(of).sum::<u64>();
        let sums = [
            (
                sum(|stream| stream.host_pages),
                self.counters.host_pages,
                "host pages",
            ),
            (
                sum(|stream| stream.copied_pages),
                self.counters.copied_pages,
                "copied pages",
            ),
            (
                sum(|stream| stream.erased_units),
                self.counters.erased_units,
                "erased units",
            ),
            (
                sum(|stream| stream.sealed_units),
                self.counters.sealed_units,
                "sealed units",
            ),
        ];
        for (streams, device, what) in sums {
            if streams != device {
                return Err(Inconsistency::Sum {
                    what,
                    streams,
                    device,
                });
            }
        }
        let internal = &self.streams[usize::from(self.config.host_streams)..];
        if internal.iter().any(|stream| stream.host_pages > 0) {
            return Err(Inconsistency::HostInInternalStream);
        }
        Ok(())
    }
}
