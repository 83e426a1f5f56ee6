//! A row of the table of known counters, and its decoder.

use crate::count::{Count, Quantity, Unit};

/// A counter that some drives have.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Name of the log, as it is reported.
    pub log: &'static str,
    /// The drives that have it.
    pub drives: Drives,
    /// Place in a log page, an attribute or a document.
    pub place: Place,
    /// Quantity that stands there.
    pub quantity: Quantity,
    /// Unit in which it stands there.
    pub unit: Unit,
    /// Whether 0 is a count. Where it is not, a drive that does not count reports 0.
    pub may_be_zero: bool,
    /// The source of place and unit.
    pub source: &'static str,
}

/// Drives that have a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drives {
    /// Any may have it; a guard, or the drive's refusal, tells.
    Any,
    /// Those with Flexible Data Placement.
    Placement,
    /// Those of these vendors (PCI vendor ID, bytes 0 and 1 of Identify Controller).
    Vendors(&'static [u16]),
}

/// A counter's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Little-endian bytes of a log page.
    Field {
        /// Log page identifier.
        page: u8,
        /// Offset of the first byte.
        at: usize,
        /// Number of bytes, at most 16.
        width: usize,
        /// A sign that the page is the one that is meant.
        guard: Guard,
    },
    /// Little-endian bytes of an entry of 12 bytes, which begins with its key.
    Entry {
        /// Log page identifier.
        page: u8,
        /// Offset of the first entry.
        first: usize,
        /// The key.
        key: u8,
        /// Offset in the entry.
        at: usize,
        /// Number of bytes.
        width: usize,
        /// A sign that the page is the one that is meant.
        guard: Guard,
    },
    /// A SATA attribute, by its name in smartmontools' database, which is chosen by the drive's model.
    Attribute {
        /// Numbers that it may have.
        ids: &'static [u8],
        /// The name.
        name: &'static str,
    },
    /// An entry of ATA's Device Statistics log (04h).
    Statistic {
        /// The page.
        page: u64,
        /// The offset.
        offset: u64,
    },
    /// A member of the JSON object that has its form's mark.
    Member(&'static str),
    /// An object of the list that is its form's mark, with this `attribute_name`; its `attribute_value` counts.
    Named(&'static str),
    /// A path of JSON members from the object that has its form's mark. A number with three decimals, counted in thousandths.
    Thousandths(&'static [&'static str]),
    /// Two members of the JSON object that has its form's mark, of 64 bits each.
    Halves {
        /// The more significant half.
        high: &'static str,
        /// The less significant half.
        low: &'static str,
    },
}

/// A sign of a log page's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// None: the page is a standard's, or the vendor's own.
    None,
    /// A GUID in bytes 496 to 511, as a little-endian number.
    Guid(u128),
    /// A version of at least this in bytes 0 and 1.
    Version(u128),
}

impl Guard {
    fn allows(self, page: &[u8]) -> bool {
        match self {
            Guard::None => true,
            Guard::Guid(guid) => number(page, 496, 16) == Some(guid),
            Guard::Version(least) => number(page, 0, 2).is_some_and(|version| version >= least),
        }
    }
}

/// Bytes of an entry.
const ENTRY: usize = 12;

impl Row {
    /// The log page, for a counter that lies in one.
    pub fn page(&self) -> Option<u8> {
        match self.place {
            Place::Field { page, .. } | Place::Entry { page, .. } => Some(page),
            _ => None,
        }
    }

    /// Reads the counter from its log page; `None` where it is not there.
    pub fn decode(&self, page: &[u8]) -> Option<Count> {
        let value = match self.place {
            Place::Field {
                at, width, guard, ..
            } if guard.allows(page) => number(page, at, width),
            Place::Entry {
                first,
                key,
                at,
                width,
                guard,
                ..
            } if guard.allows(page) => {
                let (entries, _) = page.get(first..)?.as_chunks::<ENTRY>();
                let entry = entries.iter().find(|entry| entry[0] == key)?;
                number(entry, at, width)
            }
            _ => None,
        }?;
        self.count(value)
    }

    /// The count of a value, unless it says that the drive does not count.
    pub(crate) fn count(&self, value: u128) -> Option<Count> {
        (self.may_be_zero || value > 0).then_some(Count {
            log: self.log,
            quantity: self.quantity,
            value,
            unit: self.unit,
            source: self.source,
        })
    }
}

/// A little-endian number of at most 16 bytes.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u128> {
    let field = bytes.get(at..at.checked_add(width)?)?;
    let mut number = [0; 16];
    number.get_mut(..width)?.copy_from_slice(field);
    Some(u128::from_le_bytes(number))
}
