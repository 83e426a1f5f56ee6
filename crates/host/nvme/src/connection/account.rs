//! Counters of a connection, of which the target has the sum over all connections.

use crate::{target::Target, totals::Tally};

/// Counters of a connection.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// Counters of commands since they were last added to the target's.
    pub(super) tally: Tally,
    /// Bytes of memory that were last reported to the target.
    memory_bytes: u64,
    /// Whether anything has come since the last tick.
    pub(super) busy: bool,
}

impl Account {
    /// Whether nothing has come since this was asked last.
    pub(super) fn was_idle(&mut self) -> bool {
        !std::mem::take(&mut self.busy)
    }

    /// Adds the counters of commands to the target's.
    #[inline]
    pub(super) fn settle(&mut self, target: &Target) {
        target.totals.add(&std::mem::take(&mut self.tally));
    }

    /// Reports the connection's memory to the target.
    #[inline]
    pub(super) fn takes_memory(&mut self, target: &Target, bytes: usize) {
        let before = std::mem::replace(&mut self.memory_bytes, bytes as u64);
        target.gauges.takes_memory(before, self.memory_bytes);
    }
}
