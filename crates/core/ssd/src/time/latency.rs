//! Latency histogram of requests of one kind.

use serde::{Deserialize, Serialize};

use super::recorder::Recorder;

/// Significant decimal digits kept: a percentile is known to one part in a thousand (our choice).
const DIGITS: u8 = 3;

/// Latencies of one kind of request. Percentiles are exact to one part in a thousand; mean and
/// greatest are exact.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Requests answered.
    pub requests: u64,
    /// Mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// Half took no longer.
    pub p50_ns: u64,
    /// 90 % took no longer.
    pub p90_ns: u64,
    /// 99 % took no longer.
    pub p99_ns: u64,
    /// 99.9 % took no longer.
    pub p99_9_ns: u64,
    /// 99.99 % took no longer.
    pub p99_99_ns: u64,
    /// Longest time that a request took.
    pub max_ns: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Latency {
    recorder: Recorder<u64, DIGITS>,
    sum_ns: u128,
}

impl Latency {
    #[inline]
    pub(super) fn record(&mut self, latency_ns: u64) {
        self.recorder.record(latency_ns);
        self.sum_ns += u128::from(latency_ns);
    }

    pub(super) fn summary(&self) -> LatencySummary {
        let mut recorder = self.recorder.clone();
        recorder.flush();
        let requests = recorder.requests();
        let at = |quantile| recorder.quantile_ns(quantile);
        LatencySummary {
            requests,
            mean_ns: self.sum_ns as f64 / requests.max(1) as f64,
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            p99_99_ns: at(0.9999),
            max_ns: recorder.longest_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_latencies() {
        let mut latency = Latency::default();
        for value in 1..=10_000 {
            latency.record(value * 1000);
        }
        let summary = latency.summary();
        assert_eq!((summary.requests, summary.max_ns), (10_000, 10_000_000));
        assert!((summary.mean_ns - 5_000_500.0).abs() < 1e-6);
        for (value, exact) in [
            (summary.p50_ns, 5_000_000.0),
            (summary.p99_ns, 9_900_000.0),
            (summary.p99_99_ns, 9_999_000.0),
        ] {
            assert!((value as f64 / exact - 1.0).abs() < 1e-3, "{value} {exact}");
        }
    }

    #[test]
    fn nothing_recorded_is_a_summary_of_zeroes() {
        assert_eq!(Latency::default().summary(), LatencySummary::default());
    }
}
