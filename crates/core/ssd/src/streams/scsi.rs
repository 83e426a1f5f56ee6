//! SCSI's streams: the drive assigns the identifier (SBC-4, STREAM CONTROL and GET STREAM STATUS).

use super::{Scope, StreamError, StreamTable};
use crate::types::StreamId;

/// The streams of a SCSI logical unit. One is opened before it is written to, and none is ever
/// closed but by command.
#[derive(Debug, Clone)]
pub struct ScsiStreams {
    table: StreamTable,
}

/// The scope of all streams: a logical unit's are common to all its initiators.
const UNIT: Scope = Scope {
    namespace: 0,
    host: super::StreamHost::Anonymous(0),
};

impl ScsiStreams {
    /// The streams of a logical unit on a drive with so many besides the default one.
    pub fn new(streams: u16) -> ScsiStreams {
        ScsiStreams {
            table: StreamTable::new(streams),
        }
    }

    /// Opens a stream, and assigns it the lowest identifier that is not open, from 1.
    ///
    /// # Errors
    /// When every stream is open.
    pub fn open(&mut self) -> Result<u16, StreamError> {
        let open = self.table.status(UNIT);
        let limit = self.table.limit();
        if open.len() >= usize::from(limit) {
            return Err(StreamError::AllOpen(limit));
        }
        let taken = (1..).zip(&open).take_while(|(at, open)| at == *open);
        let identifier = taken.count() as u16 + 1;
        self.table.resolve(UNIT, identifier);
        Ok(identifier)
    }

    /// Closes a stream. Answers with the drive's stream that it was on; `None` where it was not
    /// open.
    pub fn close(&mut self, identifier: u16) -> Option<StreamId> {
        self.table.release(UNIT, identifier)
    }

    /// The open identifiers from `start` on, ascending.
    pub fn status(&self, start: u16) -> Vec<u16> {
        let open = self.table.status(UNIT);
        open.into_iter().filter(|&open| open >= start).collect()
    }

    /// The drive's stream for a write; `None` for an identifier that is not open.
    pub fn stream(&self, identifier: u16) -> Option<StreamId> {
        match identifier {
            0 => Some(StreamId::DEFAULT),
            _ => self.table.lookup(UNIT, identifier),
        }
    }
}
