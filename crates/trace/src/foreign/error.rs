//! What can go wrong with a foreign trace, and what to do about it.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use super::fault::Fault;
use crate::error::TraceError;

/// Where in an input a record stands. Both are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of a text.
    Line(u64),
    /// A record of a binary file.
    Record(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Record(record) => write!(f, "record {record} (the first is 1)"),
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
        "{path}, {place}: {fault}: {content}; mend it, name the true format, or let malformed \
         records be skipped (--skip-bad)"
    )]
    Record {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        place: Place,
        /// What is wrong with it.
        fault: Fault,
        /// The record, shortened: a text quoted, bytes in hexadecimal.
        content: String,
    },
    /// No format's reader understands the beginning.
    #[error("the format of {path} is none that is known by its looks; name it with --format")]
    Unrecognised {
        /// The file.
        path: PathBuf,
    },
    /// Packed in a way that is not unpacked here.
    #[error("{path} is {what}; unpack it into a pipe: `{with} {path} | anabranch import -`")]
    Packed {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// The command that unpacks it to its standard output.
        with: &'static str,
    },
    /// A column map is needed, or of no use.
    #[error("{0}")]
    Columns(#[from] ColumnsError),
}

/// A column map that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ColumnsError {
    /// The format cannot be read without one.
    #[error(
        "a CSV needs a column map: give --columns, as in \
         'time-col=1,obj-id-col=2,obj-size-col=3'"
    )]
    Needed,
    /// A part that is no `key=value`, or whose key is not known.
    #[error("the column map has no key {key:?}; it has {known}")]
    Key {
        /// What stands there.
        key: String,
        /// The keys there are.
        known: &'static str,
    },
    /// A value its key cannot have.
    #[error("the column map's {key} is {value:?}, but has to be {expected}")]
    Value {
        /// The key.
        key: String,
        /// What it is set to.
        value: String,
        /// What it may be set to.
        expected: &'static str,
    },
    /// The object's number is what nothing can do without.
    #[error("the column map lacks obj-id-col, the column of the address")]
    NoAddress,
}
