//! The device's invariants, checked from outside its hot paths.

use super::{Device, NONE};
use crate::{observe::Observe, relocate::Relocate};

impl<R: Relocate, O: Observe> Device<R, O> {
    /// Checks that the device is consistent; costs a walk over all pages. For tests and for a
    /// state that was loaded.
    ///
    /// # Errors
    /// The first invariant found broken, in words.
    pub fn verify(&self) -> Result<(), String> {
        let mut valid = vec![0_u32; self.config.physical_units as usize];
        for (page, &address) in self.physical.iter().enumerate() {
            if address == NONE {
                continue;
            }
            let unit = address >> self.shift;
            let offset = address & ((1 << self.shift) - 1);
            if unit >= self.config.physical_units || offset >= self.config.pages_per_unit {
                return Err(format!("page {page} lies outside the flash"));
            }
            let index = unit as usize * self.config.pages_per_unit as usize + offset as usize;
            if self.logical[index] as usize != page {
                return Err(format!(
                    "page {page} lies where page {} was written",
                    self.logical[index]
                ));
            }
            valid[unit as usize] += 1;
        }
        for (unit, &expected) in (0_u32..).zip(&valid) {
            self.verify_unit(unit, expected)?;
        }
        self.verify_sums()
    }

    fn verify_unit(&self, unit: u32, expected: u32) -> Result<(), String> {
        let valid = self.units.valid(unit);
        if valid != expected {
            return Err(format!(
                "unit {unit} counts {valid} valid pages and holds {expected}"
            ));
        }
        let open = self.open.iter().flatten().any(|open| open.unit == unit);
        let free = self.units.is_free(unit);
        let retired = self.units.retired().contains(&unit);
        let states = [free, open, self.units.is_closed(unit), retired];
        if states.iter().filter(|&&state| state).count() != 1 {
            return Err(format!(
                "unit {unit} is not exactly one of free, open, closed, retired: {states:?}"
            ));
        }
        if (free || retired) && valid > 0 {
            return Err(format!("unit {unit} is out of use and holds valid pages"));
        }
        Ok(())
    }

    fn verify_sums(&self) -> Result<(), String> {
        let mapped = self
            .physical
            .iter()
            .filter(|&&address| address != NONE)
            .count();
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
