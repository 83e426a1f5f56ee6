//! Numbers as SCSI has them: big-endian, at fixed offsets. What lies beyond the end reads as 0 and is not written.

use anabranch_nvme::wire::array_at;
pub(crate) use anabranch_nvme::wire::{put, u8_at};

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array_at(bytes, at))
}

/// A number in a narrower field: its largest where it does not fit.
pub(crate) fn narrow<T: TryFrom<u64>>(number: u64, largest: T) -> T {
    T::try_from(number).unwrap_or(largest)
}
