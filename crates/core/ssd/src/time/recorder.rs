//! A histogram of latencies, many of which are equal in a row.

use hdrhistogram::{Counter, Histogram};

/// A histogram of latencies with so many significant decimal digits, made at the first record.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorder<C: Counter, const DIGITS: u8> {
    histogram: Option<Histogram<C>>,
    longest_ns: u64,
    /// The latency of the last requests and how many in a row had it.
    last_ns: u64,
    run: C,
}

impl<C: Counter, const DIGITS: u8> Recorder<C, DIGITS> {
    #[inline]
    pub(super) fn record(&mut self, latency_ns: u64) {
        if latency_ns != self.last_ns {
            self.flush();
            self.last_ns = latency_ns;
        }
        self.run = self.run + C::one();
    }

    /// Counts the last run, without which nothing of it is read.
    pub(super) fn flush(&mut self) {
        if self.run.is_zero() {
            return;
        }
        self.longest_ns = self.longest_ns.max(self.last_ns);
        // It grows by itself, and cannot fail with so few digits.
        if self.histogram.is_none() {
            self.histogram = Histogram::new(DIGITS).ok();
        }
        if let Some(histogram) = &mut self.histogram {
            // Only a histogram of fixed size refuses a value.
            let _ = histogram.record_n(self.last_ns, self.run);
        }
        self.run = C::zero();
    }

    /// Takes in what another one recorded; both are flushed.
    pub(super) fn add(&mut self, other: Self) {
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        let Some(more) = other.histogram else {
            return;
        };
        match &mut self.histogram {
            Some(histogram) => {
                // Only a histogram of fixed size refuses another's values.
                let _ = histogram.add(more);
            }
            None => self.histogram = Some(more),
        }
    }

    /// Requests that were recorded.
    pub(super) fn requests(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// The longest latency.
    pub(super) fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// The latency that such a share of the requests did not exceed; 0 where nothing was recorded.
    pub(super) fn quantile_ns(&self, quantile: f64) -> u64 {
        let histogram = self.histogram.as_ref();
        let at = histogram.map_or(0, |histogram| histogram.value_at_quantile(quantile));
        at.min(self.longest_ns)
    }
}
