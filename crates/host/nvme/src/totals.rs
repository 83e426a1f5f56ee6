//! Counters of commands over the drive's life, as SMART and the FDP statistics report them: in bytes as hosts wrote them,
//! never in whole pages of the mapping.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Counters of commands, as plain numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Bytes that reads answered.
    pub read_bytes: u64,
    /// Bytes of data that Write commands brought: SMART's data units.
    pub written_bytes: u64,
    /// Bytes of Write Zeroes commands that write zeroes and deallocate nothing. SMART leaves them out (NVM, Data Units
    /// Written); the media take them.
    pub zeroed_bytes: u64,
    /// [`Tally::host_bytes`] when the FDP statistics were last cleared.
    pub cleared_host_bytes: u64,
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

impl Tally {
    /// Bytes that hosts wrote, data and zeroes.
    pub fn host_bytes(&self) -> u64 {
        self.written_bytes + self.zeroed_bytes
    }

    /// Write amplification: media bytes over bytes that hosts wrote. Writes smaller than a page of the mapping raise it,
    /// as copies do. `None` before the first write.
    pub fn waf(&self, media_bytes: u64) -> Option<f64> {
        let host_bytes = self.host_bytes();
        (host_bytes > 0).then(|| media_bytes as f64 / host_bytes as f64)
    }

    /// Counts of writes since an earlier moment.
    #[must_use]
    pub fn written_since(&self, before: &Tally) -> Tally {
        Tally {
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            zeroed_bytes: self.zeroed_bytes.saturating_sub(before.zeroed_bytes),
            writes: self.writes.saturating_sub(before.writes),
            ..Tally::default()
        }
    }
}

/// Counters that all connections add to.
#[derive(Debug, Default)]
pub struct Totals {
    zeroed_bytes: AtomicU64,
    cleared_host_bytes: AtomicU64,
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
            cleared_host_bytes: before.cleared_host_bytes.into(),
            before,
            ..Totals::default()
        }
    }

    /// Adds what a connection counted of late.
    pub(crate) fn add(&self, tally: &Tally) {
        for (total, more) in [
            (&self.read_bytes, tally.read_bytes),
            (&self.written_bytes, tally.written_bytes),
            (&self.zeroed_bytes, tally.zeroed_bytes),
            (&self.reads, tally.reads),
            (&self.writes, tally.writes),
            (&self.failed, tally.failed),
        ] {
            if more > 0 {
                total.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// Begins the FDP statistics' host bytes anew.
    pub(crate) fn clear_statistics(&self) {
        let host_bytes = self.sums().host_bytes();
        self.cleared_host_bytes.store(host_bytes, Ordering::Relaxed);
    }

    /// Returns the counts of all connections together, with those of earlier runs.
    pub fn sums(&self) -> Tally {
        let sum = |total: &AtomicU64, before: u64| total.load(Ordering::Relaxed) + before;
        Tally {
            read_bytes: sum(&self.read_bytes, self.before.read_bytes),
            written_bytes: sum(&self.written_bytes, self.before.written_bytes),
            zeroed_bytes: sum(&self.zeroed_bytes, self.before.zeroed_bytes),
            cleared_host_bytes: self.cleared_host_bytes.load(Ordering::Relaxed),
            reads: sum(&self.reads, self.before.reads),
            writes: sum(&self.writes, self.before.writes),
            failed: sum(&self.failed, self.before.failed),
            ..self.before
        }
    }
}
