//! Traces that cannot be read or written, each with the remedy.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::record::RecordError;

/// A trace that cannot be read or written. Every message names the file and the remedy.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file is missing, or may not be read.
    #[error("cannot open {path}: {source}; check the path and its permissions")]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path names a directory, a device or a socket.
    #[error("{path} is not a regular file; give the path of a trace file")]
    NotAFile {
        /// The path that was given.
        path: PathBuf,
    },
    /// The file has no byte.
    #[error("{path} is empty: nothing was recorded, or its copy failed; record or copy it again")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The system failed to read on.
    #[error("cannot read {path}: {source}; check the disk it lies on")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not begin as a Parquet file does.
    #[error(
        "{path} is not a Parquet file; `anabranch import {path} -o trace.parquet` makes one of a trace of another \
         format"
    )]
    NotParquet {
        /// The file.
        path: PathBuf,
    },
    /// The file begins as a Parquet file, but does not end as one.
    #[error("{path} is cut off: it does not end as a Parquet file ends; copy or record it again")]
    CutOff {
        /// The file.
        path: PathBuf,
    },
    /// The file is Parquet, but not a trace of Anabranch.
    #[error(
        "{path} is a Parquet file, but not an Anabranch trace: it lacks the metadata key \
         \"{key}\"; give a file that was recorded or imported by this program (other programs \
         drop the key when they write the file again)"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The metadata key that it lacks.
        key: &'static str,
    },
    /// The trace was written by a later version.
    #[error(
        "{path} has trace schema \"{found}\", and this program reads \"{known}\"; \
         read it with the version that wrote it, or a later one"
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// The schema the file names.
        found: String,
        /// The schema this program reads.
        known: &'static str,
    },
    /// A column is missing or has another type.
    #[error(
        "{path} lacks the column {column}, in its place and of type {expected} (found: {found}); \
         it was written again by another program: go back to the recorded file"
    )]
    Column {
        /// The file.
        path: PathBuf,
        /// The column that should be there.
        column: String,
        /// The type it should have.
        expected: String,
        /// The column that is there instead.
        found: String,
    },
    /// The tables beside the records cannot be used.
    #[error("the tables of {path} cannot be used: {reason}; record or import the trace again")]
    Tables {
        /// The file.
        path: PathBuf,
        /// The table, and the reason.
        reason: String,
    },
    /// The bytes contradict the Parquet format.
    #[error("{path} is damaged: {reason}; copy or record it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The contradiction to the format.
        reason: String,
    },
    /// A record that cannot be used.
    #[error("{path}, record {row} (the first is 0): {fault}; record or import the trace again")]
    Record {
        /// The file.
        path: PathBuf,
        /// Number of the record, counted from 0.
        row: u64,
        /// The fault of the record.
        fault: RecordError,
    },
    /// A file of page numbers that ends within one.
    #[error(
        "{path} has {length_bytes} bytes, which is no whole number of u32 page numbers; \
         it was cut off, or is no raw u32 trace: copy it again, or name its true format"
    )]
    RawLength {
        /// The file.
        path: PathBuf,
        /// Its length.
        length_bytes: u64,
    },
    /// The output cannot be begun.
    #[error("cannot create {path}: {source}; {}", remedy(source))]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The output cannot be completed. Whatever was at that path before is still there.
    #[error("cannot write {path}: {source}; make room, or write elsewhere")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The remedy for an output that cannot be begun.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        // Not the system's: it is there, and no file.
        io::ErrorKind::Other => "name another file",
        _ => "check that its directory exists and may be written",
    }
}
