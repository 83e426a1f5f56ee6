//! Options as they stand in a TOML or JSON file: one value or a list, and numbers or words for
//! the same thing (`0.9` and `"90%"`, `4` and `"4"`).

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de::Error};

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
