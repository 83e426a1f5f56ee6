//! What a device is made of, in the units the translation layer counts in.

use serde::Serialize;

use crate::{error::ConfigError, victims::VictimRule};

/// Free units that garbage collection may never give to the host: it copies into one while the
/// victim is not yet erased.
pub const RESERVED_UNITS: u32 = 1;

/// A device, resolved: everything the translation layer needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Config {
    /// Pages the host can address.
    pub logical_pages: u32,
    /// Bytes in a page, the mapping unit.
    pub page_bytes: u32,
    /// Pages in a reclaim unit: what is erased as a whole.
    pub pages_per_unit: u32,
    /// Reclaim units there are, open ones and the reserve included.
    pub physical_units: u32,
    /// Streams the host may name, the default stream included.
    pub host_streams: u16,
    /// Streams only garbage collection writes.
    pub internal_streams: u16,
    /// Which closed unit is collected next.
    pub victim_rule: VictimRule,
    /// Chips that units are dealt to in turn; only [`VictimRule::PerChip`] asks.
    pub chips: u32,
    /// Seed of the rules that draw at random.
    pub seed: u64,
    /// Garbage collection starts when a unit is wanted and no more than this many are free.
    pub gc_start_free_units: u32,
    /// Garbage collection goes on until more than this many units are free.
    pub gc_stop_free_units: u32,
}

impl Config {
    /// Streams of the host and internal ones.
    pub fn streams(&self) -> u16 {
        self.host_streams.saturating_add(self.internal_streams)
    }

    /// Bytes the host can address.
    pub fn logical_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.page_bytes)
    }

    /// Bytes in a reclaim unit.
    pub fn unit_bytes(&self) -> u64 {
        u64::from(self.pages_per_unit) * u64::from(self.page_bytes)
    }

    /// Bytes of flash.
    pub fn physical_bytes(&self) -> u64 {
        u64::from(self.physical_units) * self.unit_bytes()
    }

    /// Units a completely written drive fills.
    pub fn logical_units(&self) -> u32 {
        self.logical_pages.div_ceil(self.pages_per_unit.max(1))
    }

    /// Fewest physical units with which a full drive still accepts overwrites for ever: the data,
    /// one unit for the write at hand, one half-filled unit of copies and the reserve.
    pub fn least_physical_units(&self) -> u64 {
        u64::from(self.logical_units()) + 2 + u64::from(RESERVED_UNITS)
    }

    /// Checks that such a device can exist and can never get stuck.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        for (name, value) in [
            ("logical_pages", self.logical_pages),
            ("page_bytes", self.page_bytes),
            ("pages_per_unit", self.pages_per_unit),
            ("host_streams", u32::from(self.host_streams)),
        ] {
            if value == 0 {
                return Err(ConfigError::Zero(name));
            }
        }
        if self
            .host_streams
            .checked_add(self.internal_streams)
            .is_none()
        {
            return Err(ConfigError::TooManyStreams {
                host_streams: self.host_streams,
                internal_streams: self.internal_streams,
            });
        }
        let least = self.least_physical_units() + u64::from(self.gc_start_free_units.max(1)) - 1;
        if u64::from(self.physical_units) < least {
            return Err(ConfigError::TooFewUnits {
                physical_units: self.physical_units,
                logical_units: self.logical_units(),
                least_units: least,
            });
        }
        if self.gc_start_free_units < RESERVED_UNITS
            || self.gc_stop_free_units < self.gc_start_free_units
        {
            return Err(ConfigError::Thresholds {
                start: self.gc_start_free_units,
                stop: self.gc_stop_free_units,
            });
        }
        let addresses = u64::from(self.physical_units) << self.unit_shift();
        if addresses >= u64::from(u32::MAX) {
            return Err(ConfigError::TooManyPages(addresses));
        }
        Ok(())
    }

    /// A physical page's address is `unit << shift | page in unit`, so that finding its unit
    /// takes a shift and not a division.
    pub(crate) fn unit_shift(&self) -> u32 {
        self.pages_per_unit.next_power_of_two().trailing_zeros()
    }
}
