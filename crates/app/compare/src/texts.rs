//! Options as they stand in a TOML or JSON file: one value or a list, and numbers or words for
//! the same thing (`0.9` and `"90%"`, `4` and `"4"`). Amounts that are words: bytes and shares.

use std::str::FromStr;

use anabranch_placement::Bytes;
use serde::{Deserialize, Deserializer, de::Error};

use crate::error::{self, CompareError};

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Whole(i64),
    Real(f64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Scalar),
    Many(Vec<Scalar>),
}

impl Scalar {
    fn text(self) -> String {
        match self {
            Scalar::Whole(number) => number.to_string(),
            Scalar::Real(number) => number.to_string(),
            Scalar::Text(text) => text,
        }
    }
}

impl OneOrMany {
    fn texts(self) -> Vec<String> {
        match self {
            OneOrMany::One(one) => vec![one.text()],
            OneOrMany::Many(many) => many.into_iter().map(Scalar::text).collect(),
        }
    }
}

/// Reads a list of words or numbers, or a single one of them.
///
/// # Errors
/// When the value is neither.
pub fn text_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(OneOrMany::deserialize(deserializer)?.texts())
}

/// Reads a list of values that are parsed from words or numbers, or a single one of them.
///
/// # Errors
/// When one of them does not parse.
pub fn parsed_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    text_list(deserializer)?
        .iter()
        .map(|text| read(text))
        .collect()
}

/// Reads a word or a number, or nothing.
///
/// # Errors
/// When the value is neither a word nor a number.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Scalar>::deserialize(deserializer)?.map(Scalar::text))
}

/// Reads a number, or nothing.
///
/// # Errors
/// When the value is neither.
pub fn number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    text(deserializer)?.map(|text| read(&text)).transpose()
}

fn read<T: FromStr<Err: std::fmt::Display>, E: Error>(text: &str) -> Result<T, E> {
    let parsed = text.parse();
    parsed.map_err(|error| E::custom(format!("\"{text}\": {error}")))
}

/// Parses bytes, as in `24MiB`.
pub fn bytes(text: &str) -> error::Result<u64> {
    text.parse()
        .map(|Bytes(bytes)| bytes)
        .map_err(CompareError::usage)
}

/// Parses a share, as in `7%` or `0.07`.
pub fn share(text: &str) -> error::Result<f64> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    number
        .parse::<f64>()
        .ok()
        .map(|value| value / scale)
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| CompareError::wrong_use(format!("\"{text}\" is no share: write 7% or 0.07")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_percent_and_nothing_else() {
        assert!((share("7%").unwrap() - 0.07).abs() < 1e-12);
        assert!((share("0.9").unwrap() - 0.9).abs() < 1e-12);
        for wrong in ["7", "-1%", "nan", "", "%", "seven"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
