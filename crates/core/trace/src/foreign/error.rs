//! Foreign traces that cannot be imported, each with the remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::parse_error::ParseError;
use crate::error::TraceError;

/// The place of a record in an input, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// A line of a text.
    Line(u64),
    /// A record of a binary file.
    Record(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(line) => write!(f, "line {line}"),
            Position::Record(record) => write!(f, "record {record} (the first is 1)"),
        }
    }
}

/// A foreign trace that cannot be imported. Every message names the file and the remedy.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The input cannot be opened or read, or is empty.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A record that cannot be understood.
    #[error(
        "{path}, {place}: {fault}: {content}; mend it, name the true format, or let \
         `anabranch import --skip-bad` leave malformed records out"
    )]
    Record {
        /// The file.
        path: Box<Path>,
        /// The line or record in the file.
        place: Position,
        /// The fault of the record.
        fault: ParseError,
        /// The record, shortened: a text quoted, bytes in hexadecimal.
        content: Box<str>,
    },
    /// A line that is no event, where events are read one by one.
    #[error("{path}, {place}: {fault}: {content}; mend it, or leave it out")]
    Event {
        /// The file.
        path: Box<Path>,
        /// The line in the file.
        place: Position,
        /// The fault of the record.
        fault: ParseError,
        /// The line, shortened.
        content: Box<str>,
    },
    /// No format's reader understands the beginning of the file.
    #[error("the format of {path} is none that is known by its looks; {closest}")]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// The format that understands most lines with the first that it does not, and the remedy.
        closest: String,
    },
    /// An option that the format would ignore.
    #[error("the form {format} does not use {option}: {remedy}")]
    Unused {
        /// The option.
        option: String,
        /// The format's name.
        format: &'static str,
        /// The options it does use, or what else to do.
        remedy: String,
    },
    /// The file is packed in a way that is not unpacked here.
    #[error("{path} is {what}; unpack it into a pipe: `{with} {path} | anabranch import -`")]
    Packed {
        /// The file.
        path: PathBuf,
        /// The kind of packing.
        what: &'static str,
        /// The command that unpacks it to its standard output.
        with: &'static str,
    },
    /// A column map is missing, or cannot be used.
    #[error("{0}")]
    Columns(#[from] ColumnsError),
}

/// A column map that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ColumnsError {
    /// The format cannot be read without a column map.
    #[error(
        "a CSV needs a column map: give --columns, as in \
         'time-col=1,obj-id-col=2,obj-size-col=3'"
    )]
    Needed,
    /// A part that is not `key=value`, or whose key is not known.
    #[error("the column map has no key {key:?}; it has {known}")]
    Key {
        /// The text in the place of a key.
        key: String,
        /// The keys that are known.
        known: String,
    },
    /// A value its key cannot have.
    #[error("the column map's {key} is {value:?}, but has to be {expected}")]
    Value {
        /// The key.
        key: String,
        /// The value that was given.
        value: String,
        /// The values that the key can have.
        expected: &'static str,
    },
    /// The map has no column for the address, `obj-id-col`.
    #[error("the column map lacks obj-id-col, the column of the address")]
    NoAddress,
}
