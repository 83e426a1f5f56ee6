//! Distribution of the latencies of one interval.

use serde::{Deserialize, Serialize};

use super::recorder::Recorder;

/// Significant decimal digits kept. With one a histogram of latencies up to 64 ms is 1.5 KB, and what it
/// tells is at most a sixteenth too long, which no picture over time shows (our choice; the whole
/// run's percentiles have three).
const DIGITS: u8 = 1;

/// Latencies of the requests of one kind that were answered in an interval: at most a sixteenth too
/// long, and never longer than the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IntervalLatency {
    /// Half took no longer.
    pub p50_ns: u64,
    /// 99 % took no longer.
    pub p99_ns: u64,
    /// 99.9 % took no longer.
    pub p99_9_ns: u64,
}

/// The latencies of one kind of request in one interval.
pub(super) type Spread = Recorder<u32, DIGITS>;

impl Spread {
    /// Percentiles of the latencies; `None` where nothing was recorded. The last run must be flushed.
    pub(super) fn latency(&self) -> Option<IntervalLatency> {
        (self.requests() > 0).then(|| IntervalLatency {
            p50_ns: self.quantile_ns(0.5),
            p99_ns: self.quantile_ns(0.99),
            p99_9_ns: self.quantile_ns(0.999),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(latencies: impl Iterator<Item = u64>) -> Spread {
        let mut spread = Spread::default();
        latencies.for_each(|latency| spread.record(latency));
        spread.flush();
        spread
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_latencies_to_a_sixteenth() {
        let spread = recorded((1..=10_000).map(|value| value * 1000));
        let latency = spread.latency().unwrap();
        for (value, exact) in [
            (latency.p50_ns, 5_000_000),
            (latency.p99_ns, 9_900_000),
            (latency.p99_9_ns, 9_990_000),
        ] {
            assert!((exact..=exact + exact / 16).contains(&value), "{value}");
        }
        assert!(latency.p99_9_ns <= 10_000_000, "the longest there was");
    }

    #[test]
    fn intervals_that_become_one_are_as_if_they_had_been_one() {
        let all = recorded(1..=60_000);
        let mut halves = recorded(1..=30_000);
        halves.add(recorded(30_001..=60_000));
        assert_eq!(halves.latency(), all.latency());
        let mut empty = Spread::default();
        empty.add(Spread::default());
        assert_eq!(empty.latency(), None);
        empty.add(all.clone());
        empty.add(Spread::default());
        assert_eq!(empty.latency(), all.latency());
    }
}
