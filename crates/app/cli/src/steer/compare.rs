//! Comparison by the drive's own log: periods in which the scheme places beside periods in which all goes to one handle.
//!
//! ```text
//! for each pair: draw which way is first
//!     for both ways: settle, until a capacity is written or half the period is over
//!                    measure: the log at the period's end less the log here
//!     a period without a write amplification: leave the pair out, and draw anew
//! after the last pair: the interval of the differences; the scheme places for good
//! ```

mod kept_comparison;

pub use kept_comparison::KeptComparison;

use std::time::Duration;

use anabranch_nvme_host::Written;
use anabranch_report::{Compared, ComparedPeriod, ComparedWay, WafDifference, WafOfWays, span};

use super::{
    paired::{PairedInterval, RandomBits},
    report::{since, waf},
    worth::{SteeringVerdict, end, phrase},
};

/// Bytes of others are reported from this share of a period's on (our choice).
const FOREIGN_SHARE: f64 = 0.01;
/// Bytes of requests on their way, which the log and the server count at different moments: four queues of 64 of the
/// largest.
const ON_THEIR_WAY_BYTES: u64 = 128 << 20;

/// The times and bytes that a comparison is asked for.
#[derive(Debug, Clone, Copy)]
struct ComparePlan {
    period: Duration,
    pairs: usize,
    /// Size of the drive: bytes after which a period has settled.
    capacity_bytes: u64,
}

/// The clock, the drive's log, and the bytes that the server sent, at one moment.
#[derive(Debug, Clone, Copy)]
struct LogReading {
    now: Duration,
    written: Option<Written>,
    sent_bytes: u64,
}

/// The bytes of a moment.
#[derive(Debug, Clone, Copy)]
struct LogMark {
    written: Written,
    sent_bytes: u64,
}

impl LogMark {
    /// Bytes by hosts since then.
    fn host_bytes(self, now: LogMark) -> u64 {
        let new = now
            .written
            .host_bytes
            .saturating_sub(self.written.host_bytes);
        u64::try_from(new).unwrap_or(u64::MAX)
    }
}

/// The period under way.
#[derive(Debug)]
struct Begun {
    at: Duration,
    mark: LogMark,
    /// The mark at which measuring began, and the bytes before.
    settled: Option<(LogMark, u64)>,
}

#[derive(Debug)]
pub struct LogComparison {
    plan: ComparePlan,
    draw: RandomBits,
    first: ComparedWay,
    /// Measured periods; an odd last one waits for the other of its pair.
    periods: Vec<ComparedPeriod>,
    dropped_pairs: u64,
    begun: Option<Begun>,
    /// Found when the last pair is measured.
    difference: Option<PairedInterval>,
}

impl LogComparison {
    /// A comparison whose order is drawn from a seed.
    fn new(plan: ComparePlan, seed: u64) -> LogComparison {
        let mut comparison = LogComparison {
            plan,
            draw: RandomBits(seed),
            first: ComparedWay::Steered,
            periods: Vec::new(),
            dropped_pairs: 0,
            begun: None,
            difference: None,
        };
        comparison.draw_first();
        comparison
    }

    /// Goes on behind periods that were measured earlier, if they are whole pairs; more than are asked for are left out.
    fn restore(&mut self, mut periods: Vec<ComparedPeriod>, dropped_pairs: u64) -> bool {
        let is_pair = |pair: &[ComparedPeriod]| {
            let are_known = pair.iter().all(|one| one.waf.is_finite() && one.waf > 0.0);
            matches!(pair, [first, second] if first.way != second.way) && are_known
        };
        if !periods.chunks(2).all(is_pair) {
            return false;
        }
        periods.truncate(2 * self.plan.pairs);
        (self.periods, self.dropped_pairs) = (periods, dropped_pairs);
        self.find_difference();
        true
    }

    /// The periods of measured pairs.
    fn whole_pairs(&self) -> &[ComparedPeriod] {
        &self.periods[..self.periods.len() / 2 * 2]
    }

    fn find_difference(&mut self) {
        if self.is_done() {
            self.difference = PairedInterval::of(&self.differences());
        }
    }

    fn draw_first(&mut self) {
        self.first = match self.draw.next() >> 63 {
            0 => ComparedWay::Steered,
            _ => ComparedWay::OneHandle,
        };
    }

    fn is_done(&self) -> bool {
        self.periods.len() >= 2 * self.plan.pairs
    }

    /// The way of this moment. The scheme places until the log was read once, and after the last pair.
    fn way(&self) -> ComparedWay {
        match &self.begun {
            None => ComparedWay::Steered,
            Some(_) if self.periods.len().is_multiple_of(2) => self.first,
            Some(_) => self.first.other(),
        }
    }

    /// Takes a reading: the period under way may settle or end with it. Without a log it goes on.
    fn tend(&mut self, reading: LogReading) {
        let Some(written) = reading.written.filter(|_| !self.is_done()) else {
            return;
        };
        let sent_bytes = reading.sent_bytes;
        let mark = LogMark {
            written,
            sent_bytes,
        };
        let Some(begun) = &mut self.begun else {
            self.begin(reading.now, mark);
            return;
        };
        let past = reading.now.saturating_sub(begun.at);
        let settling_bytes = begun.mark.host_bytes(mark);
        let is_settled = settling_bytes >= self.plan.capacity_bytes;
        if begun.settled.is_none() && (is_settled || past >= self.plan.period / 2) {
            begun.settled = Some((mark, settling_bytes));
        }
        if past >= self.plan.period {
            let settled = begun.settled.take();
            self.end(settled, mark);
            self.begin(reading.now, mark);
        }
    }

    fn begin(&mut self, at: Duration, mark: LogMark) {
        self.begun = (!self.is_done()).then_some(Begun {
            at,
            mark,
            settled: None,
        });
    }

    /// Keeps the period that ends, or leaves its pair out.
    fn end(&mut self, settled: Option<(LogMark, u64)>, mark: LogMark) {
        let way = self.way();
        let pair = self.periods.len() / 2 + 1;
        let measured = settled.and_then(|(from, settling_bytes)| {
            let written = since(Some(mark.written), Some(from.written));
            // A log that went back is another drive's, or was reset.
            let waf = waf(written).filter(|waf| *waf > 0.0)?;
            let host_bytes = from.host_bytes(mark);
            Some(ComparedPeriod {
                pair,
                way,
                settling_bytes,
                host_bytes,
                media_bytes: u64::try_from(written?.media_bytes).unwrap_or(u64::MAX),
                waf,
                foreign_bytes: host_bytes
                    .saturating_sub(mark.sent_bytes.saturating_sub(from.sent_bytes)),
            })
        });
        match measured {
            Some(period) => self.periods.push(period),
            None => {
                self.periods.truncate(2 * (pair - 1));
                self.dropped_pairs += 1;
            }
        }
        if self.periods.len().is_multiple_of(2) {
            self.draw_first();
        }
        self.find_difference();
    }

    /// Write amplification of each measured pair: steered, and in one handle.
    fn pairs(&self) -> impl Iterator<Item = [f64; 2]> {
        self.periods.chunks_exact(2).map(|pair| {
            let [first, second] = [pair[0].waf, pair[1].waf];
            match pair[0].way {
                ComparedWay::Steered => [first, second],
                ComparedWay::OneHandle => [second, first],
            }
        })
    }

    fn differences(&self) -> Vec<f64> {
        self.pairs().map(|[steered, one]| one - steered).collect()
    }

    /// Mean write amplification, steered and in one handle.
    fn means(&self) -> Option<[f64; 2]> {
        let count = self.periods.len() / 2;
        let sums = self.pairs().fold([0.0, 0.0], |sums, pair| {
            [sums[0] + pair[0], sums[1] + pair[1]]
        });
        (count > 0).then(|| sums.map(|sum| sum / count as f64))
    }

    /// Capacities written while the period settled that had fewest.
    fn settled_capacities(&self) -> f64 {
        let fewest = self
            .periods
            .iter()
            .map(|period| period.settling_bytes)
            .min();
        fewest.unwrap_or(0) as f64 / self.plan.capacity_bytes.max(1) as f64
    }

    /// The comparison so far, for a report.
    pub fn compared(&self) -> Compared {
        Compared {
            period_s: self.plan.period.as_secs_f64(),
            pairs: self.plan.pairs,
            way: self.way(),
            dropped_pairs: self.dropped_pairs,
            periods: self.periods.clone(),
            mean_waf: self.means().map(|[steered, one_handle]| WafOfWays {
                steered,
                one_handle,
            }),
            difference: self.difference.map(|found| WafDifference {
                mean: found.mean,
                low: found.low,
                high: found.high,
                is_beyond_chance: found.is_beyond_chance(),
            }),
            verdict: self.verdict().words,
        }
    }

    /// Sentences on what the figures do not show.
    pub fn limitations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let capacities = self.settled_capacities();
        if !self.periods.is_empty() && capacities < 1.0 {
            found.push(format!(
                "a compared period settled while {capacities:.2} of the drive's size was written, not all of it: what the \
                 way before left there is in its figures; longer periods (--compare-every) settle"
            ));
        }
        let is_foreign = |period: &&ComparedPeriod| {
            let least = FOREIGN_SHARE * period.host_bytes as f64;
            period.foreign_bytes > ON_THEIR_WAY_BYTES && period.foreign_bytes as f64 > least
        };
        let foreign = self.periods.iter().filter(is_foreign).count();
        if foreign > 0 {
            found.push(format!(
                "others wrote more than {:.0} % of what the drive's log counts in {foreign} of {} compared periods",
                100.0 * FOREIGN_SHARE,
                self.periods.len()
            ));
        }
        if self.dropped_pairs > 0 {
            found.push(format!(
                "{} pairs of periods were left out: too little was written for the drive's log to tell their WAF, or it \
                 could not be read",
                self.dropped_pairs
            ));
        }
        found
    }

    /// Judges what steering is worth once all pairs are measured; before, what is there so far.
    pub fn verdict(&self) -> SteeringVerdict {
        let done = self.periods.len() / 2;
        let [steered, one] = self.means().unwrap_or_default();
        let wafs = format!("WAF {steered:.3} as steered, {one:.3} in one handle");
        let of = format!(
            "{} pairs of periods of {}",
            self.plan.pairs,
            span(self.plan.period.as_secs_f64())
        );
        let Some(found) = self.difference else {
            let words = match (&self.begun, done) {
                (None, _) => {
                    "no comparison yet: the drive's log does not tell the bytes of hosts and flash"
                        .to_owned()
                }
                (_, 0) => format!("0 of {of} are compared by the drive's log"),
                _ => format!("{done} of {of} are compared by the drive's log: {wafs} so far"),
            };
            return SteeringVerdict { words, wafs: None };
        };
        let by = format!("by the drive's log over {of} ({wafs})");
        let share = found.mean / one;
        if !found.is_beyond_chance() {
            let more = match found.pairs_needed(done) {
                Some(pairs) => format!(
                    "some {pairs} pairs would tell one of {:.3}",
                    found.mean.abs()
                ),
                None => "more pairs are not likely to tell one".to_owned(),
            };
            let words = format!(
                "no difference is larger than chance, {by}: the WAF in one handle is higher by {:.3} to {:.3}; {more}",
                found.low, found.high
            );
            return SteeringVerdict { words, wafs: None };
        }
        let ends = [found.low, found.high].map(|end| (100.0 * end / one).abs());
        let [low, high] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let larger = format!(
            "{} ({low:.1} to {high:.1} %), more than chance, {by}",
            phrase(share)
        );
        if self.settled_capacities() < 1.0 {
            let words = format!("{larger}; the periods were too short to settle");
            return SteeringVerdict { words, wafs: None };
        }
        SteeringVerdict {
            words: larger + end(share),
            wafs: Some([steered, one]),
        }
    }
}

#[cfg(test)]
mod tests;
