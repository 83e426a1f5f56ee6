//! Incidents of a drive that hosts are refused or warned for: it became read-only, lost units, or was reset.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{completion::Status, drive::ServedDrive};

/// Incidents since the drive is served.
#[derive(Debug, Default)]
pub(crate) struct Incidents {
    read_only: AtomicBool,
    /// A host has reset the subsystem (NSSR).
    was_reset: AtomicBool,
    /// Losses when hosts were notified last: units, and in the lowest bit whether the drive is
    /// read-only for it.
    lost: AtomicU64,
}

impl Incidents {
    pub(crate) fn of(drive: &ServedDrive) -> Incidents {
        Incidents {
            read_only: AtomicBool::new(drive.is_read_only()),
            ..Incidents::default()
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// Records the outcome of a write or discard, which may show that the drive has become read-only.
    pub(crate) fn recorded(&self, result: Result<(), Status>) -> Status {
        match result {
            Ok(()) => Status::SUCCESS,
            Err(status) => {
                if status == Status::WRITE_PROTECTED {
                    self.read_only.store(true, Ordering::Relaxed);
                }
                status
            }
        }
    }

    pub(crate) fn was_reset(&self) -> bool {
        self.was_reset.load(Ordering::Relaxed)
    }

    /// Records that a host has reset the subsystem.
    pub(crate) fn reset(&self) {
        self.was_reset.store(true, Ordering::Relaxed);
    }

    /// Records the drive's losses. Returns whether they differ from those that hosts were notified of.
    pub(crate) fn loses(&self, lost: u64) -> bool {
        self.lost.swap(lost, Ordering::Relaxed) != lost
    }
}
