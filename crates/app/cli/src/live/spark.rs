//! A scheme's recent write amplification as a row of small bars.

use anabranch_ssd::Counters;

/// The bars, from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The most bars that are shown; when there are more, two become one (our choice).
const MOST: usize = 40;
/// Pages that the host writes from one bar to the next, at first (our choice: 16 MiB).
const FIRST_STEP_PAGES: u64 = 4096;

/// Counters at regular steps of the host's writes.
#[derive(Debug, Clone)]
pub struct Spark {
    step_pages: u64,
    points: Vec<Counters>,
}

impl Default for Spark {
    fn default() -> Spark {
        Spark {
            step_pages: FIRST_STEP_PAGES,
            points: vec![Counters::default()],
        }
    }
}

impl Spark {
    /// Keeps `now` if a step has passed.
    pub fn record(&mut self, now: &Counters) {
        let last = self.points.last().map_or(0, |point| point.host_pages);
        if now.host_pages < last + self.step_pages {
            return;
        }
        if self.points.len() > MOST {
            let mut row = 0;
            self.points.retain(|_| {
                row += 1;
                row % 2 == 1
            });
            self.step_pages *= 2;
        }
        self.points.push(*now);
    }

    /// The WAF of each step.
    fn wafs(&self) -> impl Iterator<Item = f64> {
        let steps = self.points.windows(2);
        steps.filter_map(|pair| pair[1].since(&pair[0]).waf())
    }

    /// The highest WAF of a step.
    pub fn highest(&self) -> f64 {
        self.wafs().fold(1.0, f64::max)
    }

    /// The bars as text, on a scale from 1 to `highest`.
    pub fn curve(&self, highest: f64) -> String {
        let span = (highest - 1.0).max(1e-9);
        let last = BARS.len() - 1;
        let bar = |waf: f64| BARS[(((waf - 1.0) / span * last as f64).round() as usize).min(last)];
        self.wafs().map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(host_pages: u64, copied_pages: u64) -> Counters {
        Counters {
            host_pages,
            copied_pages,
            ..Counters::default()
        }
    }

    #[test]
    fn bars_rise_with_the_copies_of_each_step() {
        let mut spark = Spark::default();
        spark.record(&counters(4096, 0));
        spark.record(&counters(4100, 50));
        spark.record(&counters(8192, 2048));
        spark.record(&counters(12_288, 6144));
        assert_eq!(spark.highest(), 2.0);
        assert_eq!(spark.curve(2.0), "▁▅█");
    }

    #[test]
    fn a_long_run_stays_one_row() {
        let mut spark = Spark::default();
        for step in 0..100_000 {
            spark.record(&counters(step * 1000, step * 500));
        }
        let bars = spark.curve(2.0).chars().count();
        assert!((MOST / 2..=MOST).contains(&bars), "{bars}");
        assert!((spark.highest() - 1.5).abs() < 1e-9);
    }
}
