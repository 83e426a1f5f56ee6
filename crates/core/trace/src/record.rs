//! The rules that every record keeps after the reader.

use thiserror::Error;

use crate::capture::Tables;
use crate::io::{Io, Operation};

/// A record that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The operation is not one of [`Operation::ALL`].
    #[error("its operation is unknown: {0:?}")]
    Operation(String),
    /// The hint is not one of [`crate::WriteHint::ALL`].
    #[error("its write hint is unknown: {0:?}")]
    Hint(String),
    /// A read, write or discard without a length.
    #[error("a {0} of 0 bytes")]
    NoLength(Operation),
    /// A flush with an offset or a length.
    #[error("a flush has neither offset nor length, but this one has")]
    FlushRange,
    /// Offset and length do not fit 64 bits together.
    #[error("offset {offset_bytes} and length {length_bytes} exceed 64 bits")]
    Overflow {
        /// The record's offset.
        offset_bytes: u64,
        /// The record's length.
        length_bytes: u64,
    },
    /// The record reaches past the device's end.
    #[error("it ends at byte {end_bytes}, but the device has {device_bytes}")]
    PastEnd {
        /// First byte after the record's range.
        end_bytes: u64,
        /// Size of the captured device.
        device_bytes: u64,
    },
    /// The record's context is not in the table.
    #[error("it names context {context}, but the table has {contexts}")]
    Context {
        /// The context that the record names.
        context: u32,
        /// Rows of the context table.
        contexts: u64,
    },
    /// The record's file is not in the table.
    #[error("it names file {file}, but the table has {files}")]
    File {
        /// The file that the record names.
        file: u32,
        /// Rows of the file table.
        files: u64,
    },
}

/// The limits that a trace's tables set for its records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    contexts: u64,
    files: u64,
    device_bytes: u64,
}

impl Limits {
    /// The limits that these tables set. A device of unknown size (0) sets none.
    pub(crate) fn of(tables: &Tables) -> Limits {
        let device_bytes = match tables.capture.device_bytes {
            0 => u64::MAX,
            known => known,
        };
        Limits {
            contexts: tables.contexts.len() as u64,
            files: tables.files.len() as u64,
            device_bytes,
        }
    }

    /// Checks a record by itself and against the tables.
    pub(crate) fn check(&self, io: &Io) -> Result<(), RecordError> {
        let end_bytes = end_bytes(io)?;
        self.check_end(end_bytes)?;
        self.check_context(io.context.0)?;
        self.check_file(io.file.0)
    }

    pub(crate) fn check_end(&self, end_bytes: u64) -> Result<(), RecordError> {
        if end_bytes > self.device_bytes {
            let device_bytes = self.device_bytes;
            return Err(RecordError::PastEnd {
                end_bytes,
                device_bytes,
            });
        }
        Ok(())
    }

    pub(crate) fn check_context(&self, context: u32) -> Result<(), RecordError> {
        let contexts = self.contexts;
        if u64::from(context) >= contexts {
            return Err(RecordError::Context { context, contexts });
        }
        Ok(())
    }

    pub(crate) fn check_file(&self, file: u32) -> Result<(), RecordError> {
        let files = self.files;
        if u64::from(file) >= files {
            return Err(RecordError::File { file, files });
        }
        Ok(())
    }
}

/// First byte after the record's range. Fails if the record contradicts itself.
pub(crate) fn end_bytes(io: &Io) -> Result<u64, RecordError> {
    let is_flush = io.operation == Operation::Flush;
    match io.length_bytes {
        0 if !is_flush => return Err(RecordError::NoLength(io.operation)),
        0 if io.offset_bytes == 0 => return Ok(0),
        _ if is_flush => return Err(RecordError::FlushRange),
        _ => {}
    }
    io.offset_bytes
        .checked_add(io.length_bytes)
        .ok_or(RecordError::Overflow {
            offset_bytes: io.offset_bytes,
            length_bytes: io.length_bytes,
        })
}
