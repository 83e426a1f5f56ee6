//! Facts of a served drive that never change, read without a lock.

use anabranch_ssd::PageRange;

use crate::drive::{Mode, ServedDrive, covered, touched};

/// Facts of a drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriveFacts {
    pub(crate) mode: Mode,
    pub(crate) bytes: u64,
    pub(crate) page_bytes: u32,
    /// Whether it may become read-only: its units fail.
    pub(crate) can_fail: bool,
}

impl DriveFacts {
    pub(crate) fn of(drive: &ServedDrive) -> DriveFacts {
        let config = drive.config();
        DriveFacts {
            mode: drive.mode(),
            bytes: config.logical_bytes(),
            page_bytes: config.page_bytes,
            can_fail: config.faults.can_lose_units(),
        }
    }

    /// Pages that bytes touch.
    #[inline]
    pub(crate) fn touched(&self, at: u64, length: u64) -> PageRange {
        touched(at, length, self.page_bytes)
    }

    /// Pages that lie within bytes.
    pub(crate) fn covered(&self, at: u64, length: u64) -> PageRange {
        covered(at, length, self.page_bytes)
    }
}
