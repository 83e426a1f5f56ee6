//! The parameters of a scheme: named values with types, ranges and texts.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use crate::{
    geometry::HostGeometry,
    rules::{ReadText, Rules},
    size::Bytes,
};

/// A parameter of a scheme.
#[derive(Debug)]
pub struct Parameter<'a> {
    /// The parameter's name, before the `=`.
    pub key: &'static str,
    /// Its rule, and the source.
    pub meaning: &'static str,
    /// The place of its value, and the values it may have.
    pub value: Value<'a>,
}

/// The place of a parameter's value, with its type.
#[derive(Debug)]
pub enum Value<'a> {
    /// A whole number in a range.
    Count(&'a mut u32, RangeInclusive<u32>),
    /// Any number in a range.
    Number(&'a mut f64, RangeInclusive<f64>),
    /// A size, at least 1 byte.
    Size(&'a mut Bytes),
    /// A number of host writes, as a size or a share of the capacity.
    Period(&'a mut Period),
    /// One of several words.
    Word(&'a mut dyn OneOf),
    /// Rules, by the name of a shipped set or of a file.
    Rules(&'a mut Rules),
}

/// A number of pages of a drive, counted in those of a sample of which each stands for `one_of`; 1 at least.
pub fn in_sample(pages: u32, one_of: u32) -> u32 {
    (pages / one_of.max(1)).max(1)
}

/// A value that is one of several words.
pub trait OneOf: fmt::Debug {
    /// The words to choose from.
    fn words(&self) -> &'static [&'static str];

    /// The word that is chosen.
    fn word(&self) -> &'static str;

    /// Chooses the word given. Answers `false`, and changes nothing, where it is none of the words.
    fn choose(&mut self, word: &str) -> bool;
}

/// Makes an enum of words that is a parameter's value.
macro_rules! one_of {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl crate::parameter::OneOf for $name {
            fn words(&self) -> &'static [&'static str] {
                &[$($word),+]
            }

            fn word(&self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            fn choose(&mut self, word: &str) -> bool {
                match word {
                    $($word => *self = Self::$variant,)+
                    _ => return false,
                }
                true
            }
        }
    };
}
pub(crate) use one_of;

/// Makes a struct of a scheme's parameters, its default, and `list`, which gives them by name. A field is
///
/// ```text
/// field: Kind(range or type) = default,
///     "what it does, in a line";
/// ```
///
/// with a variant of [`Value`] for its kind; `as "key"` behind the field where people write another name.
macro_rules! parameters {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $(
                $(#[$doc:meta])*
                $field:ident $(as $key:literal)? : $kind:ident $(($($detail:tt)*))? = $default:expr,
                $meaning:literal;
            )+
        }
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$doc])* pub $field: parameters!(@type $kind $(($($detail)*))?),)+
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default),+ }
            }
        }

        impl $name {
            /// The parameters, in the order people see them.
            pub(crate) fn list(&mut self) -> Vec<crate::parameter::Parameter<'_>> {
                vec![$(crate::parameter::Parameter {
                    key: parameters!(@key $field $($key)?),
                    meaning: $meaning,
                    value: parameters!(@value $kind $(($($detail)*))?, &mut self.$field),
                }),+]
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@type Count($($range:tt)*)) => { u32 };
    (@type Number($($range:tt)*)) => { f64 };
    (@type Word($word:ty)) => { $word };
    (@type Size) => { crate::size::Bytes };
    (@type Period) => { crate::parameter::Period };
    (@type Rules) => { crate::rules::Rules };
    (@value Word($word:ty), $place:expr) => { crate::parameter::Value::Word($place) };
    (@value $kind:ident($($range:tt)*), $place:expr) => {
        crate::parameter::Value::$kind($place, $($range)*)
    };
    (@value $kind:ident, $place:expr) => { crate::parameter::Value::$kind($place) };
}
pub(crate) use parameters;

/// The name of a scheme and its parameters, in its `impl HostScheme for Parameters`: of parameters that
/// [`parameters!`] made.
macro_rules! named {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn parameters(&mut self) -> Vec<crate::parameter::Parameter<'_>> {
            self.list()
        }
    };
}
pub(crate) use named;

impl Parameter<'_> {
    /// Sets the value from `text`; the error says what was expected. `read` gives the text of a file.
    pub(crate) fn set(&mut self, text: &str, read: &ReadText<'_>) -> Result<(), String> {
        match &mut self.value {
            Value::Count(place, range) => {
                **place = within(text, range).ok_or_else(|| {
                    format!("a whole number from {} to {}", range.start(), range.end())
                })?;
            }
            Value::Number(place, range) => {
                **place = within(text, range)
                    .ok_or_else(|| format!("a number from {} to {}", range.start(), range.end()))?;
            }
            Value::Size(place) => {
                let size = text.parse().ok().filter(|size| *size > Bytes(0));
                **place = size.ok_or("a size above 0, such as 64MiB, 64MB or 65536")?;
            }
            Value::Period(place) => {
                **place =
                    Period::parse(text).ok_or("a size above 0, such as 64MiB, or capacity/8")?;
            }
            Value::Word(place) => {
                if !place.choose(text) {
                    return Err(format!("one of {}", place.words().join(", ")));
                }
            }
            Value::Rules(place) => **place = Rules::find(text, read)?,
        }
        Ok(())
    }
}

/// Parses a number that must lie in `range`; not-a-number lies in none.
fn within<T: FromStr + PartialOrd>(text: &str, range: &RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|value| range.contains(value))
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(value, _) => value.fmt(f),
            Value::Number(value, _) => value.fmt(f),
            Value::Size(value) => value.fmt(f),
            Value::Period(value) => value.fmt(f),
            Value::Word(value) => value.word().fmt(f),
            Value::Rules(value) => value.name().fmt(f),
        }
    }
}

/// A number of host writes: a size, or a share of the drive's capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// This many bytes, at least 1.
    Bytes(Bytes),
    /// The drive's logical capacity divided by this number, which is at least 1.
    CapacityOver(u32),
}

impl Period {
    /// Parses `capacity/8` or a size.
    fn parse(text: &str) -> Option<Period> {
        match text.strip_prefix("capacity/") {
            Some(parts) => within(parts, &(1..=u32::MAX)).map(Period::CapacityOver),
            None => text
                .parse()
                .ok()
                .filter(|size| *size > Bytes(0))
                .map(Period::Bytes),
        }
    }

    /// The period on a given drive, in pages, rounded up; at least 1.
    pub fn pages(self, geometry: &HostGeometry) -> u64 {
        let pages = match self {
            Period::Bytes(Bytes(bytes)) => bytes.div_ceil(u64::from(geometry.page_bytes)),
            Period::CapacityOver(parts) => u64::from(geometry.logical_pages.div_ceil(parts)),
        };
        pages.max(1)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Period::Bytes(size) => size.fmt(f),
            Period::CapacityOver(parts) => write!(f, "capacity/{parts}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    one_of! {
        /// Two words.
        Side { Left = "left", Right = "right" }
    }

    fn no_file(name: &str) -> Result<String, String> {
        Err(format!("there is no {name}"))
    }

    #[test]
    fn a_word_is_one_of_those_there_are() {
        let mut side = Side::Left;
        let mut parameter = Parameter {
            key: "side",
            meaning: "",
            value: Value::Word(&mut side),
        };
        assert_eq!(
            parameter.set("middle", &no_file),
            Err("one of left, right".to_owned())
        );
        assert_eq!(parameter.value.to_string(), "left");
        assert_eq!(parameter.set("right", &no_file), Ok(()));
        assert_eq!(side, Side::Right);
    }

    const DRIVE: HostGeometry = HostGeometry {
        logical_pages: 1001,
        page_bytes: 4096,
        host_streams: 8,
        internal_streams: 8,
        pages_per_unit: 100,
        physical_units: 120,
    };

    #[test]
    fn a_period_is_a_size_or_a_share_of_the_drive() {
        let pages = |text: &str| Period::parse(text).map(|period| period.pages(&DRIVE));
        assert_eq!(pages("8KiB"), Some(2));
        assert_eq!(pages("4097"), Some(2));
        assert_eq!(pages("capacity/8"), Some(126));
        assert_eq!(pages("capacity/4000000000"), Some(1));
        for text in [
            "0",
            "capacity/0",
            "capacity/",
            "capacity",
            "capacity/-1",
            "1x",
        ] {
            assert_eq!(pages(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_outside_its_range_is_refused_and_leaves_the_old_one() {
        let (mut count, mut number) = (5, 0.5);
        let mut parameter = Parameter {
            key: "count",
            meaning: "",
            value: Value::Count(&mut count, 1..=10),
        };
        for text in ["0", "11", "1.5", "-1", "", "ten"] {
            let expected = parameter.set(text, &no_file).unwrap_err();
            assert_eq!(expected, "a whole number from 1 to 10");
        }
        assert_eq!(parameter.set("10", &no_file), Ok(()));
        let mut parameter = Parameter {
            key: "number",
            meaning: "",
            value: Value::Number(&mut number, 0.0..=1.0),
        };
        for text in ["-0.1", "1.1", "NaN", "inf", ""] {
            assert!(parameter.set(text, &no_file).is_err(), "{text}");
        }
        assert_eq!((count, number), (10, 0.5));
    }
}
