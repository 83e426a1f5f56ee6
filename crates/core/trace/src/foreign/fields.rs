//! Fields of a line, and the numbers in them.

use super::parse_error::ParseError;

/// Bytes of a sector, the unit of Linux block traces whatever the device's own sectors are
/// (Linux `include/linux/blk_types.h`, `SECTOR_SHIFT`), and of most public traces.
pub(super) const SECTOR_BYTES: u64 = 512;

/// Nanoseconds of a microsecond.
pub(super) const MICROSECOND_NS: u64 = 1_000;

/// Nanoseconds of a second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// The words of a line, divided by any number of blanks and tabs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a>(pub(super) &'a [u8]);

impl<'a> Words<'a> {
    /// The part of the line not taken yet, without blanks in front.
    pub(super) fn remaining(self) -> &'a [u8] {
        self.0.trim_ascii_start()
    }

    /// The next word, which the record must have.
    pub(super) fn need(&mut self, what: &'static str) -> Result<&'a [u8], ParseError> {
        self.next().ok_or(ParseError::Missing(what))
    }

    /// The next word, which must be a whole number.
    pub(super) fn number(&mut self, what: &'static str) -> Result<u64, ParseError> {
        let rest = self.remaining();
        let (value, length) = leading_digits(rest);
        if let (1..=MOST_SURE_DIGITS, Some(b' ' | b'\t')) = (length, rest.get(length)) {
            self.0 = rest.get(length..).unwrap_or_default();
            return Ok(value);
        }
        number(self.need(what)?).ok_or(ParseError::NotANumber(what))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.remaining();
        if rest.is_empty() {
            self.0 = rest;
            return None;
        }
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t'));
        let (word, left) = rest.split_at(end.unwrap_or(rest.len()));
        self.0 = left;
        Some(word)
    }
}

/// The cells of a line, divided by one delimiter; blanks around a cell are not part of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells<'a> {
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

impl<'a> Cells<'a> {
    pub(super) fn new(line: &'a [u8], delimiter: u8) -> Cells<'a> {
        Cells {
            rest: Some(line),
            delimiter,
        }
    }

    /// The next cell, which the record must have.
    pub(super) fn need(&mut self, what: &'static str) -> Result<&'a [u8], ParseError> {
        self.next().ok_or(ParseError::Missing(what))
    }

    /// Takes cells that are exactly these bytes, each with the delimiter behind it, if they come next.
    pub(super) fn pass(&mut self, cells: &[u8]) -> bool {
        let rest = self.rest.and_then(|rest| rest.strip_prefix(cells));
        self.rest = rest.or(self.rest);
        rest.is_some()
    }

    /// The next cell, which must be a whole number.
    pub(super) fn number(&mut self, what: &'static str) -> Result<u64, ParseError> {
        match self.plain_number() {
            Some(value) => Ok(value),
            None => number(self.need(what)?).ok_or(ParseError::NotANumber(what)),
        }
    }

    /// The next cell, which must be a time; see [`time_ns`].
    pub(super) fn time_ns(&mut self, unit_ns: u64) -> Result<u64, ParseError> {
        match self.plain_number() {
            Some(units) => units.checked_mul(unit_ns).ok_or(ParseError::Time),
            None => time_ns(self.need("time")?, unit_ns),
        }
    }

    /// Takes the next cell if it is digits up to the delimiter, as most are: they are read and divided in one pass.
    fn plain_number(&mut self) -> Option<u64> {
        let rest = self.rest?;
        let (value, length) = leading_digits(rest);
        let is_whole = rest.get(length).is_none_or(|next| *next == self.delimiter);
        if !is_whole || !(1..=MOST_SURE_DIGITS).contains(&length) {
            return None;
        }
        self.rest = rest.get(length + 1..);
        Some(value)
    }

    /// There are no more cells: a record of another shape is refused.
    pub(super) fn end(&mut self, shape: &'static str) -> Result<(), ParseError> {
        match self.next() {
            Some(_) => Err(ParseError::Shape(shape)),
            None => Ok(()),
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = rest.iter().position(|byte| *byte == self.delimiter);
        let (cell, left) = match end {
            Some(end) => (rest.get(..end)?, rest.get(end + 1..)),
            None => (rest, None),
        };
        self.rest = left;
        Some(cell.trim_ascii())
    }
}

/// Digits of a decimal number that fits 64 bits whatever they are.
const MOST_SURE_DIGITS: usize = 19;

/// Digits behind the point that a nanosecond can need.
const FRACTION_DIGITS: usize = 9;

/// Powers of ten below 10^8.
const TENS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Reads the decimal digits that a text begins with. Gives their value, modulo 2^64 beyond [`MOST_SURE_DIGITS`] digits,
/// and how many there are.
///
/// ```text
/// while eight bytes are left:
///     find the first of them that is no digit, all eight at once
///     if there is none: add their value, again
///     else: add the value of those before it, and end
/// add the last bytes one by one
/// ```
pub(super) fn leading_digits(text: &[u8]) -> (u64, usize) {
    let (mut value, mut rest) = (0_u64, text);
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        // A digit's byte becomes its value, 0 to 9, and any other at least 10.
        let word = u64::from_le_bytes(*eight) ^ 0x3030_3030_3030_3030;
        // A carry out of a byte above 0x7f changes only bytes behind the first that is no digit.
        let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
        let digits = others.trailing_zeros() as usize / 8;
        if digits == 8 {
            value = value
                .wrapping_mul(100_000_000)
                .wrapping_add(eight_digits(word));
            rest = behind;
            continue;
        }
        if digits > 0 {
            // Zeros move in front of the digits, and what is behind them out.
            let last = eight_digits(word << (64 - 8 * digits));
            value = value.wrapping_mul(TENS[digits]).wrapping_add(last);
        }
        return (value, text.len() - rest.len() + digits);
    }
    for (place, byte) in rest.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (value, text.len() - rest.len() + place);
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    (value, text.len())
}

/// The number of eight digits 0 to 9, a byte each, the first in the lowest byte: neighbours are joined to pairs, pairs
/// to fours, fours to the number.
fn eight_digits(word: u64) -> u64 {
    let pairs = (word * 10 + (word >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// Parses a whole decimal number.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    let (value, length) = leading_digits(digits);
    if length < digits.len() {
        return None;
    }
    checked(value, digits)
}

/// The value of digits if there is one and it fits 64 bits, of which this is their value modulo 2^64.
fn checked(value: u64, digits: &[u8]) -> Option<u64> {
    if digits.len() <= MOST_SURE_DIGITS {
        return (!digits.is_empty()).then_some(value);
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))
    })
}

/// Parses a whole hexadecimal number that follows `0x`.
pub(super) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").or(digits.strip_prefix(b"0X"))?;
    hexadecimal_digits(digits)
}

/// Parses a whole hexadecimal number without a prefix.
pub(super) fn hexadecimal_digits(digits: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(digits).ok()?;
    // The standard parser would take a sign.
    digits
        .bytes()
        .all(|digit| digit.is_ascii_hexdigit())
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Significant digits of a decimal number, and the largest power of ten it may name: so a unit of 64 bits fits 128 bits
/// with them.
const MOST_DIGITS: usize = 18;
const MOST_POWER: u32 = 18;

/// Parses a number as tables print it, and scales it by `unit`: digits with or without a fraction and a power of ten
/// (`1.5e6`), or hexadecimal behind `0x`. Gives the whole part, and whether nothing was cut off.
pub(super) fn scaled(text: &[u8], unit: u64) -> Option<(u64, bool)> {
    if let Some(whole) = number(text).or_else(|| hexadecimal(text)) {
        return Some((whole.checked_mul(unit)?, true));
    }
    let (mantissa, power) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, b"0".as_slice()),
    };
    let (is_negative, power) = match power {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let power = u32::try_from(number(power)?).ok()?;
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
        None => (mantissa, b"".as_slice()),
    };
    let zeros = fraction
        .iter()
        .rev()
        .take_while(|byte| **byte == b'0')
        .count();
    let fraction = fraction.get(..fraction.len() - zeros)?;
    if whole.is_empty() || whole.len() + fraction.len() > MOST_DIGITS || power > MOST_POWER {
        return None;
    }
    let digits = u128::from(number(&[whole, fraction].concat())?) * u128::from(unit);
    let below = fraction.len() as u32;
    let (up, down) = if is_negative {
        (0, below + power)
    } else {
        (power.saturating_sub(below), below.saturating_sub(power))
    };
    let scaled = digits.checked_mul(10_u128.checked_pow(up)?)?;
    let divisor = 10_u128.checked_pow(down)?;
    let value = u64::try_from(scaled / divisor).ok()?;
    Some((value, scaled % divisor == 0))
}

/// Parses a time, a decimal number of units of `unit_ns`, a power of ten up to a second. Digits finer than a nanosecond
/// are cut off.
pub(super) fn time_ns(text: &[u8], unit_ns: u64) -> Result<u64, ParseError> {
    let bad = || ParseError::NotANumber("time");
    let (value, length) = leading_digits(text);
    let (whole, rest) = text.split_at(length);
    let units = checked(value, whole).ok_or_else(bad)?;
    let fraction_ns = match rest {
        [] => 0,
        [b'.', fraction @ ..] => fraction_of(fraction, unit_ns).ok_or_else(bad)?,
        _ => return Err(bad()),
    };
    let whole_ns = units.checked_mul(unit_ns).ok_or(ParseError::Time)?;
    whole_ns.checked_add(fraction_ns).ok_or(ParseError::Time)
}

/// The fraction of a unit that these digits behind the point are.
fn fraction_of(digits: &[u8], unit_ns: u64) -> Option<u64> {
    let (kept, cut_off) = digits.split_at(digits.len().min(FRACTION_DIGITS));
    let (value, length) = leading_digits(kept);
    let are_digits = length == kept.len() && cut_off.iter().all(u8::is_ascii_digit);
    // Both factors are at most 10^9.
    are_digits.then(|| value * unit_ns / 10_u64.pow(length as u32))
}

/// Converts a number of units to bytes.
pub(super) fn bytes(units: u64, unit_bytes: u64, what: &'static str) -> Result<u64, ParseError> {
    units
        .checked_mul(unit_bytes)
        .ok_or(ParseError::NotANumber(what))
}

/// Checks that a volume's number fits 32 bits.
pub(super) fn volume(number: u64) -> Result<u32, ParseError> {
    u32::try_from(number).map_err(|_| ParseError::NotANumber("volume"))
}

/// The next word as a sector; kernels print -1 for a request without one.
pub(super) fn sector(words: &mut Words<'_>) -> Result<u64, ParseError> {
    match words.need("sector")? {
        b"-1" => Ok(u64::MAX),
        word => number(word).ok_or(ParseError::NotANumber("sector")),
    }
}

/// Whether the text in a completion's brackets is an error's number.
pub(super) fn is_error(text: &[u8]) -> bool {
    number(text.strip_prefix(b"-").unwrap_or(text)).is_some_and(|error| error != 0)
}

/// The text between the first bracket and the last; empty where there are none.
pub(super) fn bracketed(text: &[u8]) -> &[u8] {
    let from = text.iter().position(|byte| *byte == b'[');
    let to = text.iter().rposition(|byte| *byte == b']');
    match (from, to) {
        (Some(from), Some(to)) => text.get(from + 1..to).unwrap_or_default(),
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pass_over_blanks_and_cells_keep_empty_ones() {
        let words: Vec<&[u8]> = Words(b"  a \t bc  ").collect();
        assert_eq!(words, [b"a".as_slice(), b"bc"]);
        let cells: Vec<&[u8]> = Cells::new(b"a,, b ,", b',').collect();
        assert_eq!(cells, [b"a".as_slice(), b"", b"b", b""]);
    }

    #[test]
    fn a_number_is_digits_up_to_64_bits() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"00000000000000000000007"), Some(7));
        for bad in ["", "18446744073709551616", "-1", "+1", "1.0", "0x1", " 1"] {
            assert_eq!(number(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn digits_end_where_another_byte_stands_at_any_place() {
        let digits = b"98765432109876543210987";
        for length in 0..digits.len() {
            let expected = digits[..length].iter().fold(0_u64, |value, byte| {
                value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'))
            });
            for other in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                let mut text = digits.to_vec();
                text[length] = other;
                assert_eq!(leading_digits(&text), (expected, length), "{other}");
            }
            assert_eq!(leading_digits(&digits[..length]), (expected, length));
        }
    }

    #[test]
    fn a_numeric_cell_may_have_blanks_around_it_and_be_the_last() {
        let mut cells = Cells::new(b"12, 34 ,5x,,00000000000000000000007,9", b',');
        let read: Vec<Option<u64>> = (0..7).map(|_| cells.number("x").ok()).collect();
        assert_eq!(
            read,
            [Some(12), Some(34), None, None, Some(7), Some(9), None]
        );
        let mut words = Words(b" 12\t345  x 9");
        let read: Vec<Option<u64>> = (0..5).map(|_| words.number("x").ok()).collect();
        assert_eq!(read, [Some(12), Some(345), None, Some(9), None]);
    }

    #[test]
    fn hexadecimal_needs_its_prefix() {
        assert_eq!(hexadecimal(b"0x47fd98"), Some(0x47_fd98));
        for bad in ["47", "0x", "0x+1", "0x1ffffffffffffffff"] {
            assert_eq!(hexadecimal(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_number_of_a_table_may_be_hexadecimal_or_decimal_and_is_scaled_without_rounding() {
        for (text, unit, expected) in [
            ("0x1F", 512, (31 * 512, true)),
            ("4096.0", 1, (4096, true)),
            ("4.5", 1024, (4608, true)),
            ("1.5e3", 1, (1500, true)),
            ("15e-1", 2, (3, true)),
            ("0.3", 1, (0, false)),
            (
                "1577808144.360767",
                SECOND_NS,
                (1_577_808_144_360_767_000, true),
            ),
            ("18446744073709551615", 1, (u64::MAX, true)),
        ] {
            assert_eq!(scaled(text.as_bytes(), unit), Some(expected), "{text}");
        }
        for bad in [
            "", "-1", "1e", "e1", ".5", "0x", "1.2.3", "1e99", "nan", "1,5",
        ] {
            assert_eq!(scaled(bad.as_bytes(), 1), None, "{bad}");
        }
        assert_eq!(scaled(b"18446744073709551615", 2), None);
    }

    #[test]
    fn a_time_keeps_every_nanosecond() {
        assert_eq!(time_ns(b"5113.734166", SECOND_NS), Ok(5_113_734_166_000));
        assert_eq!(time_ns(b"0.0000000019", SECOND_NS), Ok(1));
        assert_eq!(time_ns(b"7", 100), Ok(700));
        assert_eq!(time_ns(b"7.5", 1), Ok(7));
        assert_eq!(time_ns(b"18446744074", SECOND_NS), Err(ParseError::Time));
        for bad in [".5", "1e9", "-1", "", "1.2.3"] {
            let fault = Err(ParseError::NotANumber("time"));
            assert_eq!(time_ns(bad.as_bytes(), SECOND_NS), fault, "{bad}");
        }
    }
}
