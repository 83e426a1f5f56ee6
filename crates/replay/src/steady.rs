//! Has the drive reached a steady state, or is its WAF still that of a young drive?

use anabranch_ssd::Counters;

use crate::series::Series;

/// Windows looked at (SNIA PTS: the steady-state window is five rounds).
const WINDOWS: u64 = 5;
/// A window is this share of the drive's capacity, written (our choice: the PTS counts rounds of
/// a synthetic load; half a capacity is long enough to see each block about once).
const WINDOWS_PER_CAPACITY: u64 = 2;
/// No window may lie further from their mean than this (SNIA PTS: the excursion within the
/// window is at most 20 % of the average, that is 10 % to each side).
const BAND: f64 = 0.10;

/// The verdict, with its reason where it is no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steady {
    /// The last windows agree.
    Yes,
    /// They do not, or there are too few of them; in words.
    No(String),
}

/// Judges a lane by its series: the WAF of the last five windows of half a capacity each stays
/// within 10 % of their mean, after garbage collection has begun.
pub fn verdict(series: &Series, now: &Counters, logical_pages: u64) -> Steady {
    let capacities = now.host_pages as f64 / logical_pages.max(1) as f64;
    if now.erased_units == 0 {
        return Steady::No(format!(
            "garbage collection never began: {capacities:.2} capacities were written, so a WAF of \
             1.00 says nothing"
        ));
    }
    let window = (logical_pages / WINDOWS_PER_CAPACITY).max(1);
    if now.host_pages < window * WINDOWS {
        return Steady::No(format!(
            "only {capacities:.2} capacities were written, {:.1} are needed to judge",
            WINDOWS as f64 / WINDOWS_PER_CAPACITY as f64
        ));
    }
    let edges: Vec<Counters> = (0..=WINDOWS)
        .map(|back| match back {
            0 => *now,
            _ => series.near(now.host_pages - window * back),
        })
        .collect();
    let wafs: Vec<f64> = edges
        .windows(2)
        .filter_map(|pair| pair[0].since(&pair[1]).waf())
        .collect();
    let mean = wafs.iter().sum::<f64>() / wafs.len().max(1) as f64;
    let lowest = wafs.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = wafs.iter().copied().fold(0.0, f64::max);
    if highest > mean * (1.0 + BAND) || lowest < mean * (1.0 - BAND) {
        return Steady::No(format!(
            "the WAF of its last five windows of half a capacity still moves between {lowest:.2} \
             and {highest:.2}"
        ));
    }
    Steady::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(waf: impl Fn(u64) -> f64, capacities: u64) -> (Series, Counters) {
        let mut series = Series::new(10);
        let mut now = Counters::default();
        for _ in 0..capacities * 100 {
            let copies = (waf(now.host_pages) - 1.0) * 10.0;
            now.host_pages += 10;
            now.copied_pages += copies as u64;
            now.erased_units += 1;
            series.record(&now);
        }
        (series, now)
    }

    #[test]
    fn a_constant_waf_is_steady() {
        let (series, now) = run(|_| 2.0, 6);
        assert_eq!(verdict(&series, &now, 1000), Steady::Yes);
    }

    #[test]
    fn a_rising_waf_is_not() {
        let (series, now) = run(|page| 1.0 + page as f64 / 2000.0, 6);
        assert!(matches!(verdict(&series, &now, 1000), Steady::No(_)));
    }

    #[test]
    fn a_short_run_and_a_run_without_collection_say_so() {
        let (series, now) = run(|_| 2.0, 2);
        let Steady::No(words) = verdict(&series, &now, 1000) else {
            panic!()
        };
        assert!(words.contains("2.00 capacities"), "{words}");
        let unerased = Counters {
            erased_units: 0,
            ..now
        };
        let Steady::No(words) = verdict(&series, &unerased, 1000) else {
            panic!()
        };
        assert!(words.contains("never began"), "{words}");
    }
}
