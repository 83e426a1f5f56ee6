//! Numbers in messages: little-endian, at fixed offsets. What lies beyond the end reads as 0, and is not written: whoever
//! decodes a message checks its length first.

fn at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    std::array::from_fn(|number| bytes.get(offset + number).copied().unwrap_or(0))
}

/// The byte at an offset.
pub(crate) fn u8_at(bytes: &[u8], offset: usize) -> u8 {
    let [byte] = at(bytes, offset);
    byte
}

/// The 16-bit number at an offset.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(at(bytes, offset))
}

/// The 32-bit number at an offset.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(at(bytes, offset))
}

/// Puts bytes at an offset.
pub(crate) fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    let places = bytes.iter_mut().skip(offset);
    places.zip(value).for_each(|(place, byte)| *place = *byte);
}
