//! Sizes in the form in which people write them.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// Units from large to small. The binary ones are powers of 1024, the decimal ones of 1000.
const UNITS: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1000),
];

/// A number of bytes, read from and shown as `64MiB`, `1.5GB` or `4096`.
///
/// KiB, MiB, GiB and TiB count in 1024s, kB, MB, GB and TB in 1000s; the case of letters does
/// not matter. A bare `64M` is refused, for it is read both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a size: write it like 64MiB (1024s), 64MB (1000s) or 65536 (bytes)")]
pub struct NotASize(pub String);

impl FromStr for Bytes {
    type Err = NotASize;

    fn from_str(text: &str) -> Result<Bytes, NotASize> {
        parse(text.trim())
            .map(Bytes)
            .ok_or_else(|| NotASize(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<u64> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit = u128::from(unit_bytes(unit.trim_start())?);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if fraction.len() > 18 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let tenths: u64 = fraction.parse().ok()?;
    // What is less than a byte is cut off.
    let part = u128::from(tenths) * unit / 10_u128.pow(fraction.len() as u32);
    u64::try_from(u128::from(whole) * unit + part).ok()
}

fn unit_bytes(name: &str) -> Option<u64> {
    if name.is_empty() || name.eq_ignore_ascii_case("B") {
        return Some(1);
    }
    let unit = UNITS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    unit.map(|(_, bytes)| *bytes)
}

impl Bytes {
    /// The size for a sentence: exact where that takes at most four digits, else rounded (`about 399MiB`).
    pub fn rounded(self) -> String {
        let exact = self.to_string();
        let digits = exact.chars().filter(char::is_ascii_digit).count();
        let mut binary = UNITS.iter().filter(|(name, _)| name.contains('i'));
        match binary.find(|(_, unit)| self.0 >= *unit) {
            Some((name, unit)) if digits > 4 => {
                let number = self.0 as f64 / *unit as f64;
                let decimals = usize::from(number < 10.0);
                format!("about {number:.decimals$}{name}")
            }
            _ => exact,
        }
    }
}

impl fmt::Display for Bytes {
    /// Exactly, in the largest unit that divides it; what is shown can be read back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |unit: &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(unit.1);
        match UNITS.iter().find(divides) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_have_their_true_meanings() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("1KiB", 1024),
            ("1kB", 1000),
            ("64MiB", 64 << 20),
            ("64 MB", 64_000_000),
            ("1.5GiB", 3 << 29),
            ("0.25gb", 250_000_000),
            ("2tib", 2 << 40),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_an_error_with_a_remedy() {
        for text in [
            "",
            "MiB",
            "64M",
            "64K",
            "-1",
            "1e9",
            ".",
            "1.",
            ".5",
            "1.2.3MB",
            "64MiBs",
            "64 M iB",
            "99999999999999999999",
            "16777216TiB",
            "1,000",
        ] {
            let error = text.parse::<Bytes>().unwrap_err();
            assert!(error.to_string().contains("64MiB"), "{text}");
        }
    }

    #[test]
    fn a_size_is_shown_in_its_largest_exact_unit() {
        assert_eq!(Bytes(64 << 20).to_string(), "64MiB");
        assert_eq!(Bytes(64_000_000).to_string(), "64MB");
        assert_eq!(Bytes(1_205_862_400 / 8).to_string(), "147200KiB");
        assert_eq!(Bytes(4097).to_string(), "4097");
    }

    #[test]
    fn a_sentence_has_no_size_of_many_digits() {
        assert_eq!(Bytes(64 << 20).rounded(), "64MiB");
        assert_eq!(Bytes(408_992 << 10).rounded(), "about 399MiB");
        assert_eq!(Bytes(1_999_999_999).rounded(), "about 1.9GiB");
        assert_eq!(Bytes(4097).rounded(), "4097");
    }

    proptest! {
        #[test]
        fn what_is_shown_can_be_read_back(bytes: u64, shift in 0_u32..64) {
            let size = Bytes(bytes >> shift << (shift / 2));
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,24}") {
            let _ = text.parse::<Bytes>();
        }
    }
}
