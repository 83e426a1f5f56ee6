//! A run of bytes of the drive.

/// Where it begins, and its length, in bytes of all the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) length: u64,
}
