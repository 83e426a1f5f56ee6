//! Requests, their bytes and their latencies over time, in a bounded number of intervals of equal
//! length.

use serde::{Deserialize, Serialize};

use super::{
    pending::Kind,
    spread::{IntervalLatency, Spread},
};

/// Intervals kept; when they are full, pairs become one, and intervals twice as long (our choice:
/// enough for a picture). With latencies up to 64 ms that is 0.8 MB, twice that with reads.
const MOST: usize = 512;

/// The length of the first intervals (our choice: ten milliseconds).
const FIRST_NS: u64 = 10_000_000;

/// Requests answered in one interval. Rates are per second of the interval; the last one's, of
/// the part of it that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// When the interval began, since the start of the measurement.
    pub start_ns: u64,
    /// Reads answered in a second.
    pub read_iops: f64,
    /// Writes answered in a second.
    pub write_iops: f64,
    /// MiB read in a second.
    pub read_mib_per_second: f64,
    /// MiB written in a second.
    pub write_mib_per_second: f64,
    /// Time that garbage collection held the dies, summed over all dies, for the operations that
    /// ended in the interval.
    #[serde(default)]
    pub collection_busy_ns: u64,
    /// Latencies of reads; `None` where none was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency: Option<IntervalLatency>,
    /// Latencies of writes; `None` where none was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency: Option<IntervalLatency>,
}

/// Reads and writes of an interval, their bytes and their latencies.
#[derive(Debug, Clone, Default)]
struct Sum {
    requests: [u64; 2],
    bytes: [u64; 2],
    latencies: [Spread; 2],
    collection_busy_ns: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        for kind in 0..2 {
            self.requests[kind] += other.requests[kind];
            self.bytes[kind] += other.bytes[kind];
        }
        for (latencies, more) in self.latencies.iter_mut().zip(other.latencies) {
            latencies.add(more);
        }
        self.collection_busy_ns += other.collection_busy_ns;
    }

    /// The sum with its last runs of latencies recorded, when nothing more is to come.
    fn flushed(mut self) -> Sum {
        self.latencies.iter_mut().for_each(Spread::flush);
        self
    }

    fn interval(&self, start_ns: u64, length_ns: u64) -> Interval {
        let seconds = length_ns.max(1) as f64 / 1e9;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20) / seconds;
        Interval {
            start_ns,
            read_iops: self.requests[0] as f64 / seconds,
            write_iops: self.requests[1] as f64 / seconds,
            read_mib_per_second: mib(self.bytes[0]),
            write_mib_per_second: mib(self.bytes[1]),
            collection_busy_ns: self.collection_busy_ns,
            read_latency: self.latencies[0].latency(),
            write_latency: self.latencies[1].latency(),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Series {
    start: u64,
    length_ns: u64,
    full: Vec<Sum>,
    current: Sum,
    /// When the current interval ends.
    end: u64,
}

impl Series {
    pub(super) fn new(start: u64) -> Series {
        Series {
            start,
            length_ns: FIRST_NS,
            full: Vec::with_capacity(MOST),
            current: Sum::default(),
            end: start + FIRST_NS,
        }
    }

    /// A request was answered that took so long. Only reads and writes count.
    #[inline]
    pub(super) fn record(&mut self, kind: Kind, bytes: u64, latency_ns: u64, now: u64) {
        if now >= self.end {
            self.go_on(now);
        }
        let index = match kind {
            Kind::Read => 0,
            Kind::Write => 1,
            Kind::Discard | Kind::Flush | Kind::Rewrite => return,
        };
        self.current.requests[index] += 1;
        self.current.bytes[index] += bytes;
        self.current.latencies[index].record(latency_ns);
    }

    /// Garbage collection held a die for so long, until `now`.
    #[inline]
    pub(super) fn collected(&mut self, busy_ns: u64, now: u64) {
        if now >= self.end {
            self.go_on(now);
        }
        self.current.collection_busy_ns += busy_ns;
    }

    /// Closes intervals until the current one contains `now`.
    #[cold]
    fn go_on(&mut self, now: u64) {
        while now >= self.end {
            self.full.push(std::mem::take(&mut self.current).flushed());
            if self.full.len() == MOST {
                self.merge();
            }
            self.end += self.length_ns;
        }
    }

    fn merge(&mut self) {
        for pair in 0..MOST / 2 {
            let mut sum = std::mem::take(&mut self.full[2 * pair]);
            sum.add(std::mem::take(&mut self.full[2 * pair + 1]));
            self.full[pair] = sum;
        }
        self.full.truncate(MOST / 2);
        self.length_ns *= 2;
    }

    /// The intervals' length, and the intervals up to `now`.
    pub(super) fn report(&self, now: u64) -> (u64, Vec<Interval>) {
        let mut series = self.clone();
        series.go_on(now);
        series.intervals(now)
    }

    fn intervals(&self, now: u64) -> (u64, Vec<Interval>) {
        let starts = (0..).map(|index| index * self.length_ns);
        let mut intervals: Vec<Interval> = starts
            .zip(&self.full)
            .map(|(start_ns, sum)| sum.interval(start_ns, self.length_ns))
            .collect();
        let last_ns = self.full.len() as u64 * self.length_ns;
        let passed_ns = now.saturating_sub(self.start + last_ns);
        if passed_ns > 0 {
            let current = self.current.clone().flushed();
            intervals.push(current.interval(last_ns, passed_ns));
        }
        (self.length_ns, intervals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_merge_and_lose_no_request() {
        let mut series = Series::new(500);
        let requests = 100_000_u64;
        let gap_ns = 1_000_000;
        for request in 0..requests {
            let latency_ns = 1000 + request;
            series.record(Kind::Write, 4096, latency_ns, 500 + request * gap_ns);
            series.collected(3, 500 + request * gap_ns);
        }
        let now = 500 + requests * gap_ns;
        let (length_ns, intervals) = series.report(now);
        assert!(intervals.len() <= MOST);
        let sum: f64 = intervals
            .iter()
            .map(|interval| {
                let length = length_ns.min(now - 500 - interval.start_ns);
                interval.write_iops * length as f64 / 1e9
            })
            .sum();
        assert!((sum - requests as f64).abs() < 0.5, "{sum}");
        let collected = intervals.iter().map(|interval| interval.collection_busy_ns);
        assert_eq!(collected.sum::<u64>(), 3 * requests);
        assert!((intervals[3].write_iops - 1000.0).abs() < 1e-6);
        assert!((intervals[3].write_mib_per_second - 3.90625).abs() < 1e-6);
        for interval in &intervals {
            // Latencies rise by one nanosecond a request, so each interval's are near one another.
            let first = 1000 + interval.start_ns / gap_ns;
            let latency = interval.write_latency.unwrap();
            let most = (first + length_ns / gap_ns) * 17 / 16;
            assert!((first..=most).contains(&latency.p50_ns), "{interval:?}");
            assert!(latency.p50_ns <= latency.p99_ns && latency.p99_ns <= latency.p99_9_ns);
            assert_eq!(interval.read_latency, None);
        }
    }
}
