//! Meanings of a CSV's columns.

use super::error::ColumnsError;
use super::fields::{MICROSECOND_NS, SECOND_NS, SECTOR_BYTES};
use crate::io::Operation;

/// Every key of a column map.
pub(super) const KEYS: &[&str] = &[
    "time-col",
    "obj-id-col",
    "obj-size-col",
    "op-col",
    "volume-col",
    "context-col",
    "delimiter",
    "has-header",
    "obj-id-is-num",
    "time-unit",
    "id-unit",
    "size-unit",
    "op",
    "read",
    "write",
    "discard",
    "flush",
];

/// Bytes of the block that an object's number counts, unless `id-unit` says otherwise; see the format `oracle-general`.
const BLOCK_BYTES: u64 = 4096;

/// Meanings and units of a CSV's columns; of libCacheSim's binary form, the units.
///
/// Written as libCacheSim writes it (`-t`): `key=value` with commas between. Columns count from 1.
///
/// | key | | without it |
/// |---|---|---|
/// | `obj-id-col` | the address | an error |
/// | `obj-size-col` | the length | `size-unit` bytes each |
/// | `time-col` | the time | 0 |
/// | `op-col` | the operation, as a word | `op` |
/// | `volume-col` | the volume's number | 0 |
/// | `context-col` | the process's name | not known |
/// | `delimiter` | a character, `\t`, or `space`: any number of blanks and tabs | a comma |
/// | `has-header` | whether the first line is a heading | it is if it has no digit |
/// | `time-unit` | `s`, `ms`, `us`, `100ns`, `ns` | `s` |
/// | `id-unit` | bytes an address counts in: a number, `byte`, `sector`, `block` | `block`: 4096 |
/// | `size-unit` | the same of a length | `byte` |
/// | `op` | the operation of all: `read`, `write`, `discard` | `write` |
/// | `read`, `write`, `discard`, `flush` | the word that stands for the operation | `r`, `read`; `w`, `write`; `d`, `discard`, `trim`; `f`, `flush`, of either case; Linux' letters, such as `WS` |
///
/// `obj-id-is-num` is understood and changes nothing: an address is a number. 0 and 1 mean
/// opposite things in different formats, so they mean nothing here until `read` and `write` say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMap {
    pub(super) time: Option<usize>,
    pub(super) id: Option<usize>,
    pub(super) size: Option<usize>,
    pub(super) operation_column: Option<usize>,
    pub(super) volume: Option<usize>,
    pub(super) context: Option<usize>,
    pub(super) delimiter: u8,
    pub(super) has_heading: Option<bool>,
    pub(super) time_unit_ns: Option<u64>,
    pub(super) id_unit_bytes: Option<u64>,
    pub(super) size_unit_bytes: Option<u64>,
    pub(super) operation: Operation,
    pub(super) words: Vec<(String, Operation)>,
    /// The keys that were given, as [`KEYS`] has them.
    pub(super) given: Vec<String>,
}

impl Default for ColumnMap {
    fn default() -> ColumnMap {
        ColumnMap {
            time: None,
            id: None,
            size: None,
            operation_column: None,
            volume: None,
            context: None,
            delimiter: b',',
            has_heading: None,
            time_unit_ns: None,
            id_unit_bytes: None,
            size_unit_bytes: None,
            operation: Operation::Write,
            words: Vec::new(),
            given: Vec::new(),
        }
    }
}

impl ColumnMap {
    /// Reads a column map.
    ///
    /// # Errors
    /// [`ColumnsError::Key`] and [`ColumnsError::Value`].
    pub fn parse(text: &str) -> Result<ColumnMap, ColumnsError> {
        let mut map = ColumnMap::default();
        // A comma divides the parts, and may be the delimiter itself.
        let text = text.replace("delimiter=,", "delimiter=comma");
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some((key, value)) = part.split_once('=') else {
                return Err(unknown(part));
            };
            map.set(
                &key.trim().replace('_', "-").to_ascii_lowercase(),
                value.trim(),
            )?;
        }
        Ok(map)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ColumnsError> {
        let part = Part { key, value };
        let key = canonical(key);
        match key {
            "time-col" => self.time = Some(part.column()?),
            "obj-id-col" => self.id = Some(part.column()?),
            "obj-size-col" => self.size = Some(part.column()?),
            "op-col" => self.operation_column = Some(part.column()?),
            "volume-col" => self.volume = Some(part.column()?),
            "context-col" => self.context = Some(part.column()?),
            "delimiter" => self.delimiter = part.delimiter()?,
            "has-header" => self.has_heading = Some(part.truth()?),
            "obj-id-is-num" => drop(part.truth()?),
            "time-unit" => self.time_unit_ns = Some(part.time_unit()?),
            "id-unit" => self.id_unit_bytes = Some(part.byte_unit()?),
            "size-unit" => self.size_unit_bytes = Some(part.byte_unit()?),
            "op" => self.operation = part.operation()?,
            "read" | "write" | "discard" | "flush" => {
                let operation = Operation::from_name(key).ok_or_else(|| unknown(key))?;
                self.words.push((value.into(), operation));
            }
            _ => return Err(unknown(key)),
        }
        self.given.push(key.into());
        Ok(())
    }

    /// Nanoseconds of the unit of times.
    pub(super) fn time_unit_ns(&self) -> u64 {
        self.time_unit_ns.unwrap_or(SECOND_NS)
    }

    /// Bytes of the unit of addresses.
    pub(super) fn id_unit_bytes(&self) -> u64 {
        self.id_unit_bytes.unwrap_or(BLOCK_BYTES)
    }

    /// Bytes of the unit of lengths.
    pub(super) fn size_unit_bytes(&self) -> u64 {
        self.size_unit_bytes.unwrap_or(1)
    }

    /// Whether the map names the column of the address, without which nothing is a CSV.
    pub(super) fn names_address(&self) -> bool {
        self.id.is_some()
    }

    /// The operation a word stands for.
    pub(super) fn operation_of(&self, word: &[u8]) -> Option<Operation> {
        let own = self.words.iter().find(|(own, _)| own.as_bytes() == word);
        if let Some((_, operation)) = own {
            return Some(*operation);
        }
        let any_of = |words: &[&str]| {
            words
                .iter()
                .any(|one| word.eq_ignore_ascii_case(one.as_bytes()))
        };
        if any_of(&["r", "read"]) {
            Some(Operation::Read)
        } else if any_of(&["w", "write"]) {
            Some(Operation::Write)
        } else if any_of(&["d", "discard", "trim"]) {
            Some(Operation::Discard)
        } else if any_of(&["f", "flush"]) {
            Some(Operation::Flush)
        } else {
            None
        }
    }
}

/// The name of a key that has several.
fn canonical(key: &str) -> &str {
    match key {
        "time-field" => "time-col",
        "obj-id-field" => "obj-id-col",
        "obj-size-field" | "size-col" => "obj-size-col",
        "op-field" => "op-col",
        "tenant-col" => "volume-col",
        "process-col" | "comm-col" => "context-col",
        "header" => "has-header",
        other => other,
    }
}

/// One part of a column map.
#[derive(Clone, Copy)]
struct Part<'a> {
    key: &'a str,
    value: &'a str,
}

impl Part<'_> {
    fn wrong(self, expected: &'static str) -> ColumnsError {
        ColumnsError::Value {
            key: self.key.into(),
            value: self.value.into(),
            expected,
        }
    }

    /// The index of a column from 0; in the map columns are counted from 1.
    fn column(self) -> Result<usize, ColumnsError> {
        let number = self.value.parse::<u16>().ok();
        let index = number.and_then(|number| number.checked_sub(1));
        index
            .map(usize::from)
            .ok_or(self.wrong("a column, counted from 1"))
    }

    fn delimiter(self) -> Result<u8, ColumnsError> {
        match self.value.as_bytes() {
            b"comma" | b"" => Ok(b','),
            b"\\t" | b"tab" => Ok(b'\t'),
            b"space" => Ok(b' '),
            [one] if one.is_ascii_punctuation() => Ok(*one),
            _ => Err(self.wrong("one character, `tab` or `space`")),
        }
    }

    fn truth(self) -> Result<bool, ColumnsError> {
        match self.value.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "y" => Ok(true),
            "false" | "0" | "no" | "n" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }

    fn time_unit(self) -> Result<u64, ColumnsError> {
        match self.value {
            "s" => Ok(SECOND_NS),
            "ms" => Ok(1000 * MICROSECOND_NS),
            "us" => Ok(MICROSECOND_NS),
            "100ns" => Ok(100),
            "ns" => Ok(1),
            _ => Err(self.wrong("s, ms, us, 100ns or ns")),
        }
    }

    fn byte_unit(self) -> Result<u64, ColumnsError> {
        match self.value {
            "byte" => Ok(1),
            "sector" => Ok(SECTOR_BYTES),
            "block" => Ok(BLOCK_BYTES),
            number => match number.parse() {
                Ok(bytes) if bytes > 0 => Ok(bytes),
                _ => Err(self.wrong("a number of bytes, byte, sector or block")),
            },
        }
    }

    fn operation(self) -> Result<Operation, ColumnsError> {
        match Operation::from_name(self.value) {
            Some(Operation::Flush) | None => Err(self.wrong("read, write or discard")),
            Some(operation) => Ok(operation),
        }
    }
}

fn unknown(key: &str) -> ColumnsError {
    ColumnsError::Key {
        key: key.into(),
        known: KEYS.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libcachesims_own_maps_are_understood() {
        let map = ColumnMap::parse(
            "time-col=2, obj_id_col=5, obj-size-col=4, obj-id-is-num=true, delimiter=,, has-header=true",
        );
        let expected = ColumnMap {
            time: Some(1),
            id: Some(4),
            size: Some(3),
            has_heading: Some(true),
            given: [
                "time-col",
                "obj-id-col",
                "obj-size-col",
                "obj-id-is-num",
                "delimiter",
                "has-header",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..ColumnMap::default()
        };
        assert_eq!(map, Ok(expected));
    }

    #[test]
    fn units_and_words_are_as_said() {
        let map = ColumnMap::parse(
            "delimiter=\\t,time-unit=100ns,id-unit=sector,size-unit=4096,op=read,write=0",
        )
        .unwrap();
        assert_eq!(map.delimiter, b'\t');
        assert_eq!((map.time_unit_ns(), map.id_unit_bytes()), (100, 512));
        assert_eq!(
            (map.size_unit_bytes(), map.operation),
            (4096, Operation::Read)
        );
        assert_eq!(map.operation_of(b"0"), Some(Operation::Write));
        assert_eq!(map.operation_of(b"Trim"), Some(Operation::Discard));
        assert_eq!(map.operation_of(b"1"), None);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (bad, words) in [
            ("time-col=0", "a column, counted from 1"),
            ("time-col=-1", "a column, counted from 1"),
            ("id-unit=0", "a number of bytes"),
            ("time-unit=h", "s, ms, us, 100ns or ns"),
            ("delimiter=ab", "one character"),
            ("op=flush", "read, write or discard"),
            ("has-header=maybe", "true or false"),
            ("colour=1", "time-col, obj-id-col"),
            ("time-col", "time-col, obj-id-col"),
        ] {
            let error = ColumnMap::parse(bad).unwrap_err().to_string();
            assert!(error.contains(words), "{bad}: {error}");
        }
    }
}
