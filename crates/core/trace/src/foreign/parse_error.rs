//! Records of foreign traces that cannot be understood.

use thiserror::Error;

use crate::record::RecordError;

/// A record of a foreign trace that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The record ends before this field.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// The field is not a number, or a number of more than 64 bits.
    #[error("its {0} is no number, or does not fit 64 bits")]
    NotANumber(&'static str),
    /// A column of a CSV cannot be read.
    #[error("its column {column} ({key}) is {cell:?}, but has to be {expected}")]
    Column {
        /// The column's number, from 1.
        column: usize,
        /// The key of the column map.
        key: &'static str,
        /// The cell, shortened.
        cell: String,
        /// The values that it can have.
        expected: &'static str,
    },
    /// A line of a CSV has too few columns.
    #[error("it has no column {column} ({key})")]
    NoColumn {
        /// The column's number, from 1.
        column: usize,
        /// The key of the column map.
        key: &'static str,
    },
    /// The time has digits that are finer than the format's unit.
    #[error(
        "its time has a fraction, but the form counts whole {unit}: name the true unit, as in \
         --columns time-unit=s, or the true form ({other})"
    )]
    Unit {
        /// The unit of the format.
        unit: &'static str,
        /// A format with such lines in another unit.
        other: &'static str,
    },
    /// The field names an operation the format does not have.
    #[error("its operation is not {0}")]
    Operation(&'static str),
    /// The request contradicts itself.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The line does not have the form of the format's lines.
    #[error("it is not {0}")]
    Shape(&'static str),
    /// The line has no newline within the bound.
    #[error("it is longer than {bound_bytes} bytes")]
    TooLong {
        /// Bytes a line may have.
        bound_bytes: usize,
    },
    /// The input ends within a record.
    #[error("the input ends within it")]
    CutOff,
    /// The trace has more names of one kind than are kept.
    #[error("it names one {what} too many: {most_bytes} bytes of names are kept")]
    TooManyNames {
        /// The kind of thing that they name.
        what: &'static str,
        /// Bytes of names that are kept.
        most_bytes: usize,
    },
    /// The time does not fit 64 bits of nanoseconds.
    #[error("its time exceeds 64 bits of nanoseconds")]
    Time,
}
