//! The processor time of the thread that measures: what else runs on the machine is not in it, but for the caches it
//! takes.

use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use nix::time::{ClockId, clock_gettime};

/// Measures processor time where criterion measures time.
#[derive(Debug, Clone, Copy)]
pub struct CpuTime;

#[expect(
    clippy::expect_used,
    reason = "the kernel knows this clock, or nothing can be measured"
)]
fn now() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    now.expect("a thread's processor time can be read").into()
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        now()
    }

    fn end(&self, start: Duration) -> Duration {
        now() - start
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, time: &Duration) -> f64 {
        time.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
