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

    /// The next cell, which must be a whole number.
    pub(super) fn number(&mut self, what: &'static str) -> Result<u64, ParseError> {
        number(self.need(what)?).ok_or(ParseError::NotANumber(what))
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

/// Parses a whole decimal number.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    // Nineteen digits cannot exceed 64 bits.
    let (sure, rest) = digits.split_at(digits.len().min(19));
    let (mut value, mut all_digits) = (0_u64, true);
    for byte in sure {
        let digit = byte.wrapping_sub(b'0');
        all_digits &= digit <= 9;
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    if !all_digits {
        return None;
    }
    for digit in rest {
        let digit = u64::from(decimal_digit(*digit)?);
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    Some(value)
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
    if let Some(whole) = hexadecimal(text).or_else(|| number(text)) {
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

/// Parses a time, a decimal number of units of `unit_ns`, a power of ten. Digits finer than a
/// nanosecond are cut off.
pub(super) fn time_ns(text: &[u8], unit_ns: u64) -> Result<u64, ParseError> {
    let point = text.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (text.get(..point), text.get(point + 1..)),
        None => (Some(text), None),
    };
    let bad = ParseError::NotANumber("time");
    let units = whole.and_then(number).ok_or(bad.clone())?;
    let mut fraction_ns = 0;
    let mut digit_ns = unit_ns / 10;
    for digit in fraction.unwrap_or_default() {
        fraction_ns += u64::from(decimal_digit(*digit).ok_or(bad.clone())?) * digit_ns;
        digit_ns /= 10;
    }
    let whole_ns = units.checked_mul(unit_ns).ok_or(ParseError::Time)?;
    whole_ns.checked_add(fraction_ns).ok_or(ParseError::Time)
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

fn decimal_digit(byte: u8) -> Option<u8> {
    byte.is_ascii_digit().then(|| byte - b'0')
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
