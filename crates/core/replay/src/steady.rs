//! Whether a drive has reached a steady state, or still has the WAF of a young drive.
//!
//! In the manner of the SNIA Solid State Storage Performance Test Specification (PTS 2.0.2, its
//! definition of steady state): over the measurement window, five rounds, the tracked quantity's
//! excursion is at most 20 % of its average, and the line of least squares through it rises or
//! falls by at most 10 % of that. The quantity tracked here is the WAF, and a round is half the
//! drive's capacity of writes.

use std::fmt;

use anabranch_ssd::Counters;
use serde::{Deserialize, Serialize};

use crate::series::Series;

/// Windows looked at (PTS: five rounds).
pub(crate) const WINDOWS: u32 = 5;
/// A window is this share of the drive's capacity, written (our choice: the PTS counts rounds of
/// a synthetic load; half a capacity is long enough to see each block about once).
pub(crate) const WINDOWS_PER_CAPACITY: u32 = 2;
/// The furthest that a window's WAF may lie from the mean of all (PTS: the excursion within the
/// measurement window is at most 20 % of the average, that is 10 % to each side).
const BAND: f64 = 0.10;
/// The most that the line through the windows may rise or fall from the first to the last, as a
/// share of their mean (PTS: 10 %).
const SLOPE: f64 = 0.10;

/// The range of the WAF over the last windows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// The lowest WAF.
    pub least: f64,
    /// The highest WAF.
    pub most: f64,
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the WAF of the last five windows of half a capacity stays between {:.2} and {:.2}",
            self.least, self.most
        )
    }
}

/// The verdict, with its band or its reason.
#[derive(Debug, Clone, PartialEq)]
pub enum Steady {
    /// The last windows agree: the range of their WAF.
    Yes(Band),
    /// The last windows do not agree, or are too few: the reason, as a sentence.
    No(String),
}

impl Steady {
    /// Whether the last windows agree.
    pub fn is_yes(&self) -> bool {
        matches!(self, Steady::Yes(_))
    }
}

/// Judges a lane by its series: whether the WAF of the last five windows of half a capacity each
/// stays within 10 % of their mean, without rising or falling by 10 % all in all, after garbage
/// collection has begun.
pub fn verdict(series: &Series, now: &Counters, logical_pages: u64) -> Steady {
    let capacities = now.host_pages as f64 / logical_pages.max(1) as f64;
    if now.erased_units == 0 {
        return Steady::No(format!(
            "garbage collection never began: {capacities:.2} capacities were written, so a WAF of \
             1.00 says nothing"
        ));
    }
    let window = (logical_pages / u64::from(WINDOWS_PER_CAPACITY)).max(1);
    if now.host_pages < window * u64::from(WINDOWS) {
        return Steady::No(format!(
            "only {capacities:.2} capacities were written, {:.1} are needed to judge",
            f64::from(WINDOWS) / f64::from(WINDOWS_PER_CAPACITY)
        ));
    }
    judge(&wafs(series, now, window))
}

/// The WAF of the last windows, the oldest first.
fn wafs(series: &Series, now: &Counters, window: u64) -> Vec<f64> {
    let edges: Vec<Counters> = (0..=u64::from(WINDOWS))
        .rev()
        .map(|back| match back {
            0 => *now,
            _ => series.near(now.host_pages - window * back),
        })
        .collect();
    let between = |pair: &[Counters]| pair[1].since(&pair[0]).waf();
    edges.windows(2).filter_map(between).collect()
}

fn judge(wafs: &[f64]) -> Steady {
    let mean = wafs.iter().sum::<f64>() / wafs.len().max(1) as f64;
    let least = wafs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = wafs.iter().copied().fold(0.0, f64::max);
    if most > mean * (1.0 + BAND) || least < mean * (1.0 - BAND) {
        return Steady::No(format!(
            "the WAF of its last five windows of half a capacity still moves between {least:.2} \
             and {most:.2}"
        ));
    }
    let trend = trend(wafs);
    if trend.abs() > mean * SLOPE {
        let way = if trend > 0.0 { "rises" } else { "falls" };
        return Steady::No(format!(
            "the WAF of its last five windows of half a capacity still {way}, by {:.2} from {:.2}",
            trend.abs(),
            mean - trend / 2.0
        ));
    }
    Steady::Yes(Band { least, most })
}

/// The rise of the line of least squares through the windows, from the first to the last.
fn trend(wafs: &[f64]) -> f64 {
    let count = wafs.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = wafs.iter().sum::<f64>() / count.max(1.0);
    let steps = wafs.iter().enumerate().map(|(step, waf)| {
        let away = step as f64 - middle;
        (away * (waf - mean), away * away)
    });
    let (with, alone) = steps.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    if alone > 0.0 {
        with / alone * (count - 1.0)
    } else {
        0.0
    }
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

    fn words(steady: Steady) -> String {
        match steady {
            Steady::No(words) => words,
            Steady::Yes(band) => panic!("{band}"),
        }
    }

    #[test]
    fn a_constant_waf_is_steady_and_its_band_is_told() {
        let (series, now) = run(|_| 2.0, 6);
        let Steady::Yes(band) = verdict(&series, &now, 1000) else {
            panic!()
        };
        assert_eq!((band.least, band.most), (2.0, 2.0));
        assert!(band.to_string().contains("between 2.00 and 2.00"), "{band}");
    }

    #[test]
    fn a_rising_waf_is_not() {
        let (series, now) = run(|page| 1.0 + page as f64 / 2000.0, 6);
        let words = words(verdict(&series, &now, 1000));
        assert!(words.contains("moves between"), "{words}");
    }

    #[test]
    fn a_waf_that_stays_in_the_band_and_drifts_is_not_steady() {
        // 9 % to each side of the mean, and all one way: 18 % from the first window to the last.
        let drifting = [1.82, 1.91, 2.0, 2.09, 2.18];
        let rises = words(judge(&drifting));
        assert!(rises.contains("rises, by 0.36 from 1.82"), "{rises}");
        let falling: Vec<f64> = drifting.into_iter().rev().collect();
        assert!(words(judge(&falling)).contains("falls, by 0.36 from 2.18"));
        // The same excursion without a direction.
        assert!(judge(&[1.82, 2.18, 2.0, 2.18, 1.82]).is_yes());
        // Half the drift.
        assert!(judge(&[1.91, 1.955, 2.0, 2.045, 2.09]).is_yes());
    }

    #[test]
    fn a_short_run_and_a_run_without_collection_say_so() {
        let (series, now) = run(|_| 2.0, 2);
        let short = words(verdict(&series, &now, 1000));
        assert!(short.contains("2.00 capacities"), "{short}");
        let unerased = Counters {
            erased_units: 0,
            ..now
        };
        let unerased = words(verdict(&series, &unerased, 1000));
        assert!(unerased.contains("never began"), "{unerased}");
    }
}
