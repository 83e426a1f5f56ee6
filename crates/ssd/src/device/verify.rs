//! The device's invariants, checked from outside its hot paths.

use super::{Device, NONE};
use crate::observe::Observe;

impl<O: Observe> Device<O> {
    /// Checks that the device is consistent; costs a walk over all pages. For tests and for a
    /// state that was loaded.
    ///
    /// # Errors
    /// When an invariant is broken: a sentence that names the first one found.
    pub fn verify(&self) -> Result<(), String> {
        let mut valid = vec![0_u32; self.config.physical_units as usize];
        for (page, &address) in self.l2p.iter().enumerate() {
            if address == NONE {
                continue;
            }
            let unit = address >> self.shift;
            let offset = address & ((1 << self.shift) - 1);
            if unit >= self.config.physical_units || offset >= self.config.pages_per_unit {
                return Err(format!("page {page} lies outside the flash"));
            }
            let index = unit as usize * self.config.pages_per_unit as usize + offset as usize;
            if self.p2l[index] as usize != page {
                let other = self.p2l[index];
                return Err(format!("page {page} lies where page {other} was written"));
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
    fn places(&self) -> Result<Vec<Place>, String> {
        let mut places = vec![None; self.config.physical_units as usize];
        let free = self.units.free_units().map(|unit| (unit, Place::Free));
        let open = self.open.iter().flatten();
        let open = open.map(|open| (open.unit, Place::Open));
        let closed = self.units.listed_units();
        let closed = closed.map(|unit| (unit, Place::Closed));
        let retired = self.units.retired().iter();
        let retired = retired.map(|&unit| (unit, Place::Retired));
        for (unit, place) in free.chain(open).chain(closed).chain(retired) {
            match places.get_mut(unit as usize) {
                None => return Err(format!("there is no unit {unit}")),
                Some(Some(other)) => {
                    return Err(format!("unit {unit} is {other:?} and {place:?}"));
                }
                Some(none) => *none = Some(place),
            }
        }
        let known = |(unit, place): (usize, Option<Place>)| {
            place.ok_or_else(|| format!("unit {unit} is not one of free, open, closed, retired"))
        };
        places.into_iter().enumerate().map(known).collect()
    }

    /// Checks that no open unit holds more pages than were written to it.
    fn verify_open(&self, valid: &[u32]) -> Result<(), String> {
        for open in self.open.iter().flatten() {
            let valid = valid.get(open.unit as usize).copied().unwrap_or(0);
            if open.filled >= self.config.pages_per_unit || valid > open.filled {
                return Err(format!(
                    "unit {} is open, {} of its pages are written and {valid} valid",
                    open.unit, open.filled
                ));
            }
        }
        Ok(())
    }

    fn verify_unit(&self, unit: u32, expected: u32, place: Place) -> Result<(), String> {
        let valid = self.units.valid(unit);
        if valid != expected {
            return Err(format!(
                "unit {unit} counts {valid} valid pages and holds {expected}"
            ));
        }
        if self.units.is_closed(unit) != (place == Place::Closed) {
            return Err(format!(
                "unit {unit} is {place:?} to the victims' lists only"
            ));
        }
        let used = matches!(place, Place::Open | Place::Closed);
        if !used && valid > 0 {
            return Err(format!("unit {unit} is {place:?} and holds valid pages"));
        }
        let stream = self.units.stream(unit);
        let group = self.units.group_of(unit);
        if used && (stream.index() >= self.open.len() || self.config.group_of(stream) != group) {
            return Err(format!(
                "unit {unit} holds stream {} of another reclaim group",
                stream.0
            ));
        }
        Ok(())
    }

    fn verify_sums(&self) -> Result<(), String> {
        let mapped = self.l2p.iter().filter(|&&address| address != NONE).count();
        if mapped as u64 != self.mapped {
            return Err(format!(
                "{mapped} pages are mapped and {} counted",
                self.mapped
            ));
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
        for (streams, device, name) in sums {
            if streams != device {
                return Err(format!(
                    "the streams' {name} sum to {streams}, the device's are {device}"
                ));
            }
        }
        let internal = &self.streams[usize::from(self.config.host_streams)..];
        if internal.iter().any(|stream| stream.host_pages > 0) {
            return Err("the host wrote to an internal stream".to_owned());
        }
        Ok(())
    }
}

/// The place of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Open,
    Closed,
    Retired,
}
