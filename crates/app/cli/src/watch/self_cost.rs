//! Cost of this process.

use std::{
    process,
    time::{Duration, Instant},
};

use anabranch_probe::private_bytes;
use anabranch_watch::Own;
use nix::time::{ClockId, clock_gettime};

/// Looks at the process's own clock from time to time.
pub struct Cost {
    looked: Instant,
    used: Duration,
}

impl Cost {
    pub fn new() -> Cost {
        Cost {
            looked: Instant::now(),
            used: used(),
        }
    }

    /// Returns the use since the last reading, kernel memory held for the process included.
    pub fn sample(&mut self, kernel_bytes: u64) -> Own {
        let (now, used) = (Instant::now(), used());
        let elapsed = now.duration_since(self.looked).as_secs_f64().max(1e-6);
        let own = Own {
            cpu_s: used.as_secs_f64(),
            cpu: used.saturating_sub(self.used).as_secs_f64() / elapsed,
            memory_bytes: private_bytes(process::id()),
            kernel_bytes,
        };
        (self.looked, self.used) = (now, used);
        own
    }
}

/// Processor time of all threads.
fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
