//! Errors that end a connection.

use thiserror::Error;

/// Fatal Error Status of a termination request (TCP §3.6.2.4 and .5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum FatalStatus {
    /// 1h.
    #[error("a header field is invalid")]
    InvalidHeader,
    /// 2h.
    #[error("a PDU came out of sequence")]
    Sequence,
    /// 3h.
    #[error("a header digest is wrong")]
    HeaderDigest,
    /// 4h.
    #[error("data lie outside of what was asked for")]
    OutOfRange,
    /// 5h: more data than a PDU may carry, or more than one transfer at a time.
    #[error("a transfer exceeds the limit")]
    LimitExceeded,
    /// 6h.
    #[error("a parameter is not supported")]
    Unsupported,
}

impl FatalStatus {
    /// Its number.
    pub fn code(self) -> u16 {
        match self {
            FatalStatus::InvalidHeader => 1,
            FatalStatus::Sequence => 2,
            FatalStatus::HeaderDigest => 3,
            FatalStatus::OutOfRange => 4,
            FatalStatus::LimitExceeded => 5,
            FatalStatus::Unsupported => 6,
        }
    }
}

/// A fatal error, and the offset in the PDU's header of the field at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("{status} (at byte {field} of the PDU)")]
pub struct FatalError {
    /// Kind of error.
    pub status: FatalStatus,
    /// Offset of the field at fault.
    pub field: u32,
}

impl FatalError {
    /// An error in a field.
    pub fn new(status: FatalStatus, field: u32) -> FatalError {
        FatalError { status, field }
    }

    /// An invalid header field.
    pub fn header(field: u32) -> FatalError {
        FatalError::new(FatalStatus::InvalidHeader, field)
    }

    /// A PDU that may not come now.
    pub fn sequence() -> FatalError {
        FatalError::new(FatalStatus::Sequence, 0)
    }

    /// Fatal Error Information: the field's offset, or the digest that came.
    pub fn information(&self) -> u32 {
        self.field
    }
}
