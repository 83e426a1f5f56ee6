//! Numbers on the wire: little-endian, at fixed offsets.
//!
//! Neither function fails: what lies beyond the end reads as 0 and is not written. Whoever decodes
//! a structure checks its length first; these only make sure that a mistake there is no panic.

/// The byte at an offset.
#[inline]
pub fn u8_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The 16-bit number at an offset.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

/// The 32-bit number at an offset.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

/// The 64-bit number at an offset.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

/// The 128-bit number at an offset.
#[inline]
pub fn u128_at(bytes: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(array_at(bytes, at))
}

/// `N` bytes at an offset.
#[inline]
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = at.checked_add(N).and_then(|end| bytes.get(at..end));
    found
        .and_then(|slice| slice.try_into().ok())
        .unwrap_or([0; N])
}

/// Puts bytes (mostly a number's `to_le_bytes`) at an offset.
#[inline]
pub fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    let end = at.saturating_add(value.len());
    if let Some(slot) = bytes.get_mut(at..end) {
        slot.copy_from_slice(value);
    }
}

/// Puts text into a field of so many bytes, filled up with `padding`: NUL in names, spaces in the
/// ASCII fields of Identify (§1.4.2).
pub fn put_text(bytes: &mut [u8], at: usize, length: usize, text: &str, padding: u8) {
    let Some(slot) = bytes.get_mut(at..at.saturating_add(length)) else {
        return;
    };
    slot.fill(padding);
    let kept = text.len().min(length);
    slot[..kept].copy_from_slice(&text.as_bytes()[..kept]);
}

/// Text in a field that ends at its first NUL, or at the field's end; `None` if it is no UTF-8.
pub fn text(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|&byte| byte == 0);
    std::str::from_utf8(&field[..end.unwrap_or(field.len())]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian_and_zero_beyond_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(u16_at(&bytes, 1), 0x0302);
        assert_eq!(u64_at(&bytes, 0), 0x0807_0605_0403_0201);
        assert_eq!(u32_at(&bytes, 5), 0);
        assert_eq!(u32_at(&bytes, usize::MAX), 0);
    }

    #[test]
    fn text_is_cut_at_its_field_and_read_to_its_first_nul() {
        let mut bytes = [0xff; 8];
        put_text(&mut bytes, 2, 4, "abcdef", b' ');
        assert_eq!(&bytes, b"\xff\xffabcd\xff\xff");
        put_text(&mut bytes, 0, 8, "ab", 0);
        assert_eq!(text(&bytes), Some("ab"));
        put_text(&mut bytes, 7, 8, "beyond", 0);
        assert_eq!(text(&[0xc3]), None);
    }
}
