//! A run of bytes of the drive.

/// Its first byte and its length, in bytes of the whole drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) length: u64,
}
