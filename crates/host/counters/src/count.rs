//! One counter's value.

/// A quantity that a drive counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Written by hosts.
    Host,
    /// Written to the flash, for whatever reason.
    Flash,
    /// Written to one kind of the drive's flash cells. The sum of all kinds is what was written to the flash.
    Share,
    /// Written to the flash beside the hosts' own writes.
    Background,
}

impl Quantity {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Host => "host",
            Quantity::Flash => "flash",
            Quantity::Share => "flash_share",
            Quantity::Background => "background",
        }
    }
}

/// The unit of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// So many bytes.
    Bytes(u64),
    /// Logical blocks, whose size the drive reports elsewhere.
    Blocks,
    /// A unit whose size no source names. Two counters of one log that have the same such unit can be compared.
    Unnamed(&'static str),
}

/// A counter's value, and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Name of the log.
    pub log: &'static str,
    /// Quantity that is counted: the host's writes, or the flash's.
    pub quantity: Quantity,
    /// The value, in units.
    pub value: u128,
    /// Unit of the value.
    pub unit: Unit,
    /// The source of place and unit.
    pub source: &'static str,
}

impl Count {
    /// The value in bytes, at most 2^128 - 1; `None` where the unit has no known size.
    pub fn bytes(&self) -> Option<u128> {
        Some(self.value.saturating_mul(self.unit_bytes()?.into()))
    }

    /// Bytes of the unit, if its size is known.
    pub fn unit_bytes(&self) -> Option<u64> {
        match self.unit {
            Unit::Bytes(bytes) => Some(bytes),
            Unit::Blocks | Unit::Unnamed(_) => None,
        }
    }
}
