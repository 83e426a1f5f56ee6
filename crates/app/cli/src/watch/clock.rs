//! Time that does not jump when somebody sets the machine's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

/// The machine's clock as it stood once, and the time since, that of suspensions included: ages and order of what is
/// dated by it hold, however the machine's clock is set.
#[derive(Debug)]
pub struct Clock {
    began: Duration,
    since: Duration,
}

impl Clock {
    /// Begins with the machine's clock.
    pub fn start() -> Clock {
        let began = SystemTime::now().duration_since(UNIX_EPOCH);
        Clock {
            began: began.unwrap_or_default(),
            since: since_boot(),
        }
    }

    /// Seconds since 1970.
    pub fn unix_s(&self) -> u64 {
        (self.began + since_boot().saturating_sub(self.since)).as_secs()
    }
}

fn since_boot() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from)
}
