//! What can go wrong with a trace, and what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::record::RecordFault;

/// A trace that cannot be read or written. Every message names the file and the remedy.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file is missing, or may not be read.
    #[error("cannot open {path}: {source}; check the path and its permissions")]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory, a device, a socket.
    #[error("{path} is not a regular file; give the path of a trace file")]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// Not one byte.
    #[error("{path} is empty: nothing was recorded, or its copy failed; record or copy it again")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The system refused to read on.
    #[error("cannot read {path}: {source}; check the disk it lies on")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Does not begin as a Parquet file begins.
    #[error(
        "{path} is not a Parquet file; `anabranch import {path} -o trace.parquet` makes one of a trace of another \
         format"
    )]
    NotParquet {
        /// The file.
        path: PathBuf,
    },
    /// Begins as a Parquet file, but does not end as one.
    #[error("{path} is cut off: it does not end as a Parquet file ends; copy or record it again")]
    CutOff {
        /// The file.
        path: PathBuf,
    },
    /// A Parquet file, but none of ours.
    #[error(
        "{path} is a Parquet file, but not an Anabranch trace: it lacks the metadata key \
         \"{key}\"; give a file that was recorded or imported by this program (other programs \
         drop the key when they write the file again)"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The key that was looked for.
        key: &'static str,
    },
    /// Written by a later version.
    #[error(
        "{path} has trace schema \"{found}\", and this program reads \"{known}\"; \
         read it with the version that wrote it, or a later one"
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: String,
        /// Ours.
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
        /// What is there instead.
        found: String,
    },
    /// The tables beside the records cannot be used.
    #[error("the tables of {path} cannot be used: {reason}; record or import the trace again")]
    Tables {
        /// The file.
        path: PathBuf,
        /// Which, and why.
        reason: String,
    },
    /// The bytes contradict the Parquet format.
    #[error("{path} is damaged: {reason}; copy or record it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it contradicts itself.
        reason: String,
    },
    /// A record that nothing could be done with.
    #[error("{path}, record {row} (the first is 0): {fault}; record or import the trace again")]
    Record {
        /// The file.
        path: PathBuf,
        /// Which record, counted from 0.
        row: u64,
        /// What is wrong with it.
        fault: RecordFault,
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
    #[error("cannot create {path}: {source}; check that its directory exists and may be written")]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The output cannot be completed. Whatever was at that path before is still there.
    #[error("cannot write {path}: {source}; make room, or write elsewhere")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
