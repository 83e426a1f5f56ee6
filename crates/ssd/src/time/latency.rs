//! How long requests of one kind took.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Significant decimal digits kept: a percentile is known to one part in a thousand (our choice).
const DIGITS: u8 = 3;

/// Latencies of one kind of request. Percentiles are exact to one part in a thousand; mean and
/// greatest are exact.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Requests answered.
    pub requests: u64,
    /// The mean.
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
    /// The longest.
    pub max_ns: u64,
}

#[derive(Debug)]
pub(super) struct Latency {
    /// Made at the first record: most runs have no flush, and many no read.
    histogram: Option<Histogram<u64>>,
    requests: u64,
    sum_ns: u128,
    max_ns: u64,
    /// The latency of the last requests and how many in a row had it: many do.
    last_ns: u64,
    run: u64,
}

impl Latency {
    pub(super) fn new() -> Latency {
        Latency {
            histogram: None,
            requests: 0,
            sum_ns: 0,
            max_ns: 0,
            last_ns: 0,
            run: 0,
        }
    }

    #[inline]
    pub(super) fn record(&mut self, latency_ns: u64) {
        if latency_ns != self.last_ns {
            self.flush();
            self.last_ns = latency_ns;
        }
        self.run += 1;
    }

    /// Counts the last run.
    fn flush(&mut self) {
        if self.run == 0 {
            return;
        }
        self.requests += self.run;
        self.sum_ns += u128::from(self.last_ns) * u128::from(self.run);
        self.max_ns = self.max_ns.max(self.last_ns);
        // It grows by itself, and cannot fail with so few digits.
        if self.histogram.is_none() {
            self.histogram = Histogram::new(DIGITS).ok();
        }
        if let Some(histogram) = &mut self.histogram {
            // Only a histogram of fixed size refuses a value.
            let _ = histogram.record_n(self.last_ns, self.run);
        }
        self.run = 0;
    }

    pub(super) fn summary(&self) -> LatencySummary {
        let mut flushed = Latency {
            histogram: self.histogram.clone(),
            ..*self
        };
        flushed.flush();
        let Some(histogram) = &flushed.histogram else {
            return LatencySummary::default();
        };
        let at = |quantile| histogram.value_at_quantile(quantile).min(flushed.max_ns);
        LatencySummary {
            requests: flushed.requests,
            mean_ns: flushed.sum_ns as f64 / flushed.requests as f64,
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            p99_99_ns: at(0.9999),
            max_ns: flushed.max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_latencies() {
        let mut latency = Latency::new();
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
        assert_eq!(Latency::new().summary(), LatencySummary::default());
    }
}
