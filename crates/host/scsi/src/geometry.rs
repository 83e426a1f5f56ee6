//! Sizes, limits and name of a unit, as hosts see them.

use std::hash::Hasher as _;

use anabranch_nvme::options::MOST_DATA;
use twox_hash::XxHash3_64;

/// Most bytes of data of one command (MAXIMUM TRANSFER LENGTH).
pub const MOST_TRANSFER: u32 = MOST_DATA;
/// Most bytes that one UNMAP gives up (MAXIMUM UNMAP LBA COUNT; our choice: what a host's other commands wait for).
pub const MOST_UNMAPPED: u64 = 1 << 30;
/// Descriptors of one UNMAP at most (MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT; our choice).
pub const MOST_DESCRIPTORS: u16 = 255;
/// Most bytes that one WRITE SAME writes (MAXIMUM WRITE SAME LENGTH; our choice).
pub const MOST_SAME: u64 = 32 << 20;
/// Group numbers there are: a field of six bits.
pub const GROUPS: u16 = 64;
/// Streams that are open for ever, stream 0 included: one for each of Linux's life-time hints, 0 to 5 (SBC-5: those with
/// the lowest identifiers).
pub const PERMANENT: u16 = 6;

/// Hashes bytes, to the same number in every process.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = XxHash3_64::new();
    hash.write(bytes);
    hash.finish()
}

/// Sizes that hosts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) blocks: u64,
    pub(crate) block_bytes: u32,
    pub(crate) page_bytes: u32,
    pub(crate) pages_per_unit: u32,
    /// Streams, stream 0 included; 0 of a unit that has none.
    pub(crate) streams: u16,
}

/// Identity of the unit, made of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// PRODUCT SERIAL NUMBER: 16 hexadecimal digits.
    pub serial: String,
    /// NAA, locally assigned (3h).
    pub naa: u64,
}

impl Identity {
    /// The identity of a unit with that name.
    pub fn of(name: &str) -> Identity {
        const LOCAL: u64 = 3 << 60;
        let number = hash(name.as_bytes());
        Identity {
            serial: format!("{number:016x}"),
            naa: LOCAL | number >> 4,
        }
    }
}
