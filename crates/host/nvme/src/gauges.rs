//! Gauges of a target beside the commands' counters.

use std::sync::atomic::{AtomicU64, Ordering};

/// Gauges that connections move.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    /// Bytes of memory that connections take.
    connection_bytes: AtomicU64,
    /// Slices of long commands that were done.
    slices: AtomicU64,
}

impl Gauges {
    pub(crate) fn connection_bytes(&self) -> u64 {
        self.connection_bytes.load(Ordering::Relaxed)
    }

    /// Counts a change of a connection's memory.
    pub(crate) fn takes_memory(&self, before: u64, now: u64) {
        if now >= before {
            self.connection_bytes
                .fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.connection_bytes
                .fetch_sub(before - now, Ordering::Relaxed);
        }
    }

    pub(crate) fn slices(&self) -> u64 {
        self.slices.load(Ordering::Relaxed)
    }

    /// Counts a slice.
    pub(crate) fn sliced(&self) {
        self.slices.fetch_add(1, Ordering::Relaxed);
    }
}
