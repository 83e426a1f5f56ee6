//! Time of a target: the machine's, or a test's.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// No test has set the time.
const MACHINES: u64 = u64::MAX;

/// Milliseconds since a target began.
#[derive(Debug)]
pub(crate) struct Time {
    began: Instant,
    told_ms: AtomicU64,
}

impl Time {
    /// The machine's time, from now on.
    pub(crate) fn machine() -> Time {
        Time {
            began: Instant::now(),
            told_ms: AtomicU64::new(MACHINES),
        }
    }

    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        match self.told_ms.load(Ordering::Relaxed) {
            MACHINES => self.began.elapsed().as_millis() as u64,
            told => told,
        }
    }

    pub(crate) fn set_ms(&self, now_ms: u64) {
        self.told_ms.store(now_ms, Ordering::Relaxed);
    }
}
