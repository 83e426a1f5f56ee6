//! Errors in a saved drive.

use std::io;

use thiserror::Error;

use crate::error::{ConfigError, TimingError};

/// A drive that cannot be saved or loaded.
#[derive(Debug, Error)]
pub enum StateError {
    /// The bytes cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The bytes cannot be written.
    #[error("cannot be written: {0}")]
    Write(#[source] io::Error),
    /// The bytes are not a saved drive.
    #[error("is no saved drive (`anabranch precondition` makes one)")]
    Foreign,
    /// A saved drive of a form this program does not know.
    #[error(
        "is a saved drive of version {found}, and this program knows version {known}: use the \
         program it was saved with, or make it anew"
    )]
    Version {
        /// The file's version.
        found: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// The bytes end within the part named.
    #[error("ends in the midst of {0}: it was cut short")]
    Truncated(&'static str),
    /// A checksum does not match, or bytes follow the end.
    #[error("is damaged: {0}")]
    Damaged(String),
    /// The checksums match, and the content contradicts itself.
    #[error("contradicts itself: {0}")]
    Inconsistent(String),
    /// It describes a device that cannot be.
    #[error("describes a device that cannot be: {0}")]
    Config(#[from] ConfigError),
    /// The timing or layout of its flash makes no sense.
    #[error(transparent)]
    Time(#[from] TimingError),
    /// The drive needs more memory than there is.
    #[error("needs {bytes} bytes of memory for {part}, which cannot be had")]
    Memory {
        /// Bytes asked for.
        bytes: u64,
        /// The part that needs them.
        part: &'static str,
    },
    /// A device to be continued has another relocation than it was saved with.
    #[error(
        "was saved with another relocation: it can be continued with that one only, or taken as an \
         aged drive with any"
    )]
    Relocation,
    /// The saved drive has another size than the device it was to become.
    #[error("has {what} {found}, and cannot serve as a drive with {asked}")]
    Geometry {
        /// Name of the property that differs.
        what: &'static str,
        /// Value in the saved drive.
        found: u64,
        /// Value that was requested.
        asked: u64,
    },
}
