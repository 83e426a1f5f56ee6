//! What was asked of the drive over its life: the counters of the SMART log page.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Counters of commands, as plain numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Bytes that reads answered.
    pub read_bytes: u64,
    /// Bytes that writes brought.
    pub written_bytes: u64,
    /// Read, Compare and Verify commands.
    pub reads: u64,
    /// Write commands.
    pub writes: u64,
    /// Commands that failed.
    pub failed: u64,
    /// Times the drive was started.
    pub power_cycles: u64,
    /// Times it was not stopped before that.
    pub unsafe_shutdowns: u64,
    /// Milliseconds it was served.
    pub served_ms: u64,
}

/// The same, counted by all connections.
#[derive(Debug, Default)]
pub struct Totals {
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    failed: AtomicU64,
    before: Tally,
}

impl Totals {
    /// Goes on counting from what was counted before.
    pub fn after(before: Tally) -> Totals {
        Totals {
            before,
            ..Totals::default()
        }
    }

    /// Adds what a connection counted of late.
    pub(crate) fn add(&self, tally: &Tally) {
        for (total, more) in [
            (&self.read_bytes, tally.read_bytes),
            (&self.written_bytes, tally.written_bytes),
            (&self.reads, tally.reads),
            (&self.writes, tally.writes),
            (&self.failed, tally.failed),
        ] {
            if more > 0 {
                total.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// The sums.
    pub fn sums(&self) -> Tally {
        let sum = |total: &AtomicU64, before: u64| total.load(Ordering::Relaxed) + before;
        Tally {
            read_bytes: sum(&self.read_bytes, self.before.read_bytes),
            written_bytes: sum(&self.written_bytes, self.before.written_bytes),
            reads: sum(&self.reads, self.before.reads),
            writes: sum(&self.writes, self.before.writes),
            failed: sum(&self.failed, self.before.failed),
            ..self.before
        }
    }
}
