//! Configuration of a device, in the units the translation layer counts in.

use serde::{Deserialize, Serialize};

use crate::{
    error::ConfigError,
    types::StreamId,
    victim_rule::VictimRule,
    wear::{Faults, Wear},
};

/// Free units that garbage collection may never give to the host: it copies into one while the
/// victim is not yet erased.
pub const RESERVED_UNITS: u32 = 1;

/// Pages' ages are told apart over this many times the drive's capacity, as a power of two (our
/// choice); beyond that they begin anew.
const AGE_CAPACITIES_BITS: u32 = 6;

/// Lists of victims a page of flash may have, and a number that is always allowed (our choice).
const LISTS_PER_PAGE: u64 = 4;
const FEW_LISTS: u64 = 1 << 20;

/// A device, resolved: everything the translation layer needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Pages the host can address.
    pub logical_pages: u32,
    /// Bytes in a page, the mapping unit.
    pub page_bytes: u32,
    /// Pages in a reclaim unit: what is erased as a whole.
    #[doc(alias = "reclaim unit")]
    #[doc(alias = "superblock")]
    #[doc(alias = "band")]
    pub pages_per_unit: u32,
    /// Reclaim units there are, open ones and the reserve included.
    #[doc(alias = "superblocks")]
    #[doc(alias = "bands")]
    pub physical_units: u32,
    /// Streams the host may name, the default stream included.
    pub host_streams: u16,
    /// Streams only garbage collection writes.
    pub internal_streams: u16,
    /// Rule that chooses the next closed unit to collect.
    pub victim_rule: VictimRule,
    /// Chips that units are dealt to in turn; only [`VictimRule::PerChip`] asks.
    pub chips: u32,
    /// Seed of the rules that draw at random.
    pub seed: u64,
    /// Garbage collection starts when a unit is wanted and no more than this many are free.
    pub gc_start_free_units: u32,
    /// Garbage collection goes on until more than this many units are free.
    pub gc_stop_free_units: u32,
    /// Reclaim groups, a power of two: parts of the flash that collect garbage each for itself
    /// (FDP). Streams `0..handles` belong to the first, the next as many to the second, and so
    /// on; internal streams likewise. Units are dealt to groups in turn.
    pub reclaim_groups: u32,
    /// Number of each reclaim group's host streams (its reclaim unit handles) that are persistently
    /// isolated, the last ones; [`RelocationKind::Fdp`](crate::relocate::RelocationKind::Fdp) heeds
    /// that.
    pub persistently_isolated: u16,
    /// While more than this share of the drive holds data, in thousandths, all host writes go to
    /// the default stream: the multi-stream eMMC's rule. At 1000 that never happens.
    pub streams_off_permille: u16,
    /// Wear of units.
    pub wear: Wear,
    /// Faults to inject.
    pub faults: Faults,
}

impl Config {
    /// A plain device: pages of 4 KiB, one stream, greedy victims, and garbage collection that
    /// starts when one unit is free. Other values are set afterwards: `Config { host_streams: 8,
    /// ..Config::new(…) }`.
    ///
    /// ```
    /// use anabranch_ssd::{Config, Device};
    /// // 1 GiB in units of 8 MiB, with a sixteenth more flash.
    /// let config = Config::new(262_144, 2048, 128 + 8);
    /// let device = Device::new(config, &()).unwrap();
    /// assert_eq!(device.config().logical_bytes(), 1 << 30);
    /// ```
    pub fn new(logical_pages: u32, pages_per_unit: u32, physical_units: u32) -> Config {
        Config {
            logical_pages,
            page_bytes: 4096,
            pages_per_unit,
            physical_units,
            host_streams: 1,
            internal_streams: 0,
            victim_rule: VictimRule::Greedy,
            chips: 1,
            seed: 0,
            gc_start_free_units: 1,
            gc_stop_free_units: 1,
            reclaim_groups: 1,
            persistently_isolated: 0,
            streams_off_permille: 1000,
            wear: Wear::default(),
            faults: Faults::default(),
        }
    }

    /// Number of all streams, the host's and the internal ones.
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

    /// Units beyond those that the data of a completely written drive fill.
    pub fn spare_units(&self) -> u32 {
        self.physical_units.saturating_sub(self.logical_units())
    }

    /// Fewest physical units with which a full drive still accepts overwrites for ever: the units
    /// of the data and the spare units of each reclaim group. Where there are several groups, each
    /// counts one unit more, since it may be left with a unit's worth of room.
    pub fn least_physical_units(&self) -> u64 {
        let groups = u64::from(self.reclaim_groups);
        let group = u64::from(self.spare_units_of_group()) + u64::from(groups > 1);
        u64::from(self.logical_units()) + groups * group
    }

    /// Units of a reclaim group that its data must leave free: one for the write at hand, one
    /// half-filled with copies, and the reserve. Where handles are persistently isolated, their
    /// data cannot move to another stream's open unit, so that every stream may keep a unit open
    /// for ever.
    pub fn spare_units_of_group(&self) -> u32 {
        let open = match self.persistently_isolated {
            0 => 2,
            _ => u32::from(self.streams()) / self.reclaim_groups.max(1),
        };
        open.max(2) + self.reserved_units()
    }

    /// Free units of each reclaim group that the host may never have. A device that can lose units
    /// keeps two more, since a unit that fails in the midst of a collection gives nothing back (our
    /// choice).
    pub fn reserved_units(&self) -> u32 {
        let fragile = self.faults.can_lose_units() || self.wear.retire_at_rating;
        RESERVED_UNITS + if fragile { 2 } else { 0 }
    }

    /// Host streams of each reclaim group.
    pub fn handles(&self) -> u16 {
        (u32::from(self.host_streams) / self.reclaim_groups.max(1)).max(1) as u16
    }

    /// The reclaim group a stream belongs to.
    pub fn group_of(&self, stream: StreamId) -> u32 {
        let internal = u32::from(self.internal_streams) / self.reclaim_groups;
        match stream.0.checked_sub(self.host_streams) {
            None => u32::from(stream.0 / self.handles()),
            Some(_) if internal == 0 => 0,
            Some(slot) => u32::from(slot) / internal,
        }
    }

    /// The stream of a reclaim group that takes the writes without a hint.
    pub fn default_stream(&self, group: u32) -> StreamId {
        StreamId(group as u16 * self.handles())
    }

    /// Checks that such a device can exist and can never get stuck.
    pub fn validate(&self) -> Result<(), ConfigError> {
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
        self.validate_groups()?;
        let groups = u64::from(self.reclaim_groups);
        let start = self.gc_start_free_units.max(self.reserved_units());
        let more = groups * u64::from(start - self.reserved_units());
        let least = self.least_physical_units() + more + u64::from(self.faults.factory_bad_units);
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
        self.validate_lists()
    }

    /// Checks that the lists of victims do not outweigh the mapping: one for each number of valid
    /// pages, and one such set for each stream where a scheme chooses the victim.
    fn validate_lists(&self) -> Result<(), ConfigError> {
        let by = match self.victim_rule {
            VictimRule::Scheme => u64::from(self.streams()),
            _ => 1,
        };
        let pages = u64::from(self.physical_units) * u64::from(self.pages_per_unit);
        let lists = by * (u64::from(self.pages_per_unit) + 1);
        let nodes = lists + u64::from(self.physical_units);
        if nodes > u64::from(u32::MAX) || lists > LISTS_PER_PAGE * pages + FEW_LISTS {
            return Err(ConfigError::TooManyLists {
                streams: self.streams(),
                pages_per_unit: self.pages_per_unit,
                physical_units: self.physical_units,
            });
        }
        Ok(())
    }

    /// Checks that streams divide into reclaim groups.
    fn validate_groups(&self) -> Result<(), ConfigError> {
        let groups = self.reclaim_groups;
        let divides = |streams: u16| u32::from(streams).is_multiple_of(groups);
        if !groups.is_power_of_two()
            || !divides(self.host_streams)
            || !divides(self.internal_streams)
        {
            return Err(ConfigError::ReclaimGroups {
                reclaim_groups: groups,
                host_streams: self.host_streams,
                internal_streams: self.internal_streams,
            });
        }
        Ok(())
    }

    /// Ages of pages are counted in ticks of `1 << tick_bits` host pages, so coarse that 32 bits
    /// tell them apart over [`AGE_CAPACITIES_BITS`].
    pub(crate) fn tick_bits(&self) -> u32 {
        let page_bits = u32::BITS - self.logical_pages.leading_zeros();
        (page_bits + AGE_CAPACITIES_BITS).saturating_sub(u32::BITS)
    }

    /// A physical page's address is `unit << shift | page in unit`, so that finding its unit
    /// takes a shift and not a division.
    pub(crate) fn unit_shift(&self) -> u32 {
        self.pages_per_unit.next_power_of_two().trailing_zeros()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A device of 64 pages in units of 8, with 8 units to spare.
    pub(crate) fn small() -> Config {
        Config {
            host_streams: 4,
            internal_streams: 4,
            seed: 1,
            ..Config::new(64, 8, 16)
        }
    }

    #[test]
    fn ticks_are_as_fine_as_thirty_two_bits_allow() {
        let ticks = |logical_pages| {
            let config = Config {
                logical_pages,
                ..small()
            };
            config.tick_bits()
        };
        // A page number of 26 bits and 64 capacities are 32 bits.
        assert_eq!(ticks((1 << 26) - 1), 0);
        assert_eq!(ticks(1 << 26), 1);
        assert_eq!(ticks(u32::MAX), 6);
    }

    #[test]
    fn lists_of_victims_are_bounded_by_the_flash() {
        let with = |victim_rule, host_streams, pages_per_unit, physical_units| {
            let config = Config {
                victim_rule,
                host_streams,
                ..Config::new(pages_per_unit, pages_per_unit, physical_units)
            };
            config.validate().is_ok()
        };
        use VictimRule::{Greedy, Scheme};
        // 8 TiB in units of 8 MiB.
        assert!(with(Scheme, 64, 1 << 11, 1 << 20));
        // 16 units of 4,096 pages: 4,097 lists a stream, four a page and 2^20.
        let of_few = [319, 320].map(|streams| with(Scheme, streams, 1 << 12, 16));
        assert_eq!(of_few, [true, false]);
        assert!(with(Greedy, 320, 1 << 12, 16), "one set for all streams");
        // Few for each page, and with the units more than 32 bits number.
        let of_many = [65_534, 65_535].map(|streams| with(Scheme, streams, 1 << 16, 1 << 14));
        assert_eq!(of_many, [true, false]);
    }

    #[test]
    fn streams_belong_to_groups_in_runs() {
        let mut config = small();
        config.reclaim_groups = 2;
        let groups: Vec<u32> = (0..8)
            .map(|stream| config.group_of(StreamId(stream)))
            .collect();
        assert_eq!(groups, [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(config.default_stream(1), StreamId(2));
        assert_eq!(config.validate(), Ok(()));
        config.host_streams = 3;
        assert!(config.validate().is_err());
    }
}
