//! Chooses the setting to use, by trying every one of them on miniature drives.
//!
//! ```text
//! for each page written, if it is in the sample:
//!     write it on each miniature, under the miniature's own setting
//!     every 1/16 of a capacity:
//!         cost of a miniature = copies made and copies owed; old ones fade
//!         if the cheapest is two units cheaper than the leader: it leads
//!         else, while none ever was so: the file-name rules lead if they matched 1/64 of the pages,
//!              the next setting if they did not
//! ```
//!
//! Miniatures hold a sample of the drive's pages and its share of spare, but no data.

mod candidates;
mod debt;
mod miniature;

use anabranch_ssd::{Config, PageRange, StreamId};

use super::{
    predictor::{Prediction, Predictor},
    sample::Sample,
    setting::{Guide, Setting},
    stream_budget::StreamBudget,
};
use crate::{
    geometry::HostGeometry,
    halves::DeviceHalf,
    leaders::{Leader, LeaderReason, SettingCost},
    parameter::OneOf,
};
pub use candidates::SettingName;
pub(super) use candidates::settings;
use candidates::{Candidate, candidates};
use miniature::Miniature;

/// Evaluations in each capacity written (our choice).
const EVALUATIONS: u32 = 16;

/// The rules over files' names lead, while no other setting has won, once they matched this part of the pages written (our
/// choice).
const RULED_PARTS: u64 = 64;

/// Units of copies, made and owed, by which a setting must be cheaper than the leader to take over (our choice on 73
/// recordings: with 1 and with 4 mean copies are within 1 %).
const MARGIN_UNITS: f64 = 2.0;

/// Leaders that are remembered, the first ones (our choice: most runs have fewer than ten).
const MOST_LEADERS: usize = 64;

/// Pages that the rules over files' names matched, of the sampled pages written.
#[derive(Debug, Default)]
struct RuleMatches {
    matched_pages: u64,
    written_pages: u64,
}

/// Miniature drives, each under a setting of its own, and the setting that leads.
#[derive(Debug)]
pub(super) struct Tuner {
    miniatures: Vec<Miniature>,
    sample: Sample,
    budget: StreamBudget,
    /// Sampled pages written since the last evaluation.
    pending_pages: u32,
    /// Sampled pages from one evaluation to the next.
    evaluation_pages: u32,
    /// Pages by which a setting must be cheaper than the leader to take over.
    margin_pages: f64,
    leader: Candidate,
    /// `None` once the rules matched enough pages, once another setting won, and where the rules are not the first setting.
    matches: Option<RuleMatches>,
    leaders: Vec<Leader>,
}

impl Tuner {
    /// Miniatures of a drive whose copies and victims `beside` decides. Settings that go by files are tried if there are
    /// `names`. `None` for a drive of which no miniature can be made.
    pub fn new(drive: &Config, beside: DeviceHalf, sample: Sample, names: bool) -> Option<Tuner> {
        let unit_pages = sample.unit_pages(drive.pages_per_unit);
        let budget = StreamBudget::new(&HostGeometry::of(drive)).shrunk(unit_pages);
        let candidates = candidates(&budget, beside, names);
        let leader = *candidates.first()?;
        let miniature = |&one: &Candidate| Miniature::new(drive, beside, sample, one);
        Some(Tuner {
            miniatures: candidates
                .iter()
                .map(miniature)
                .collect::<Option<Vec<Miniature>>>()?,
            leader,
            matches: (leader.setting.guide == Guide::Rules).then(RuleMatches::default),
            budget,
            sample,
            pending_pages: 0,
            evaluation_pages: (sample.pages() / EVALUATIONS).max(1),
            margin_pages: MARGIN_UNITS * f64::from(unit_pages),
            leaders: vec![Leader {
                since_pages: 0,
                setting: leader.name.word(),
                reason: LeaderReason::First,
                costs: Vec::new(),
            }],
        })
    }

    /// The setting that leads.
    pub fn leader(&self) -> Setting {
        self.leader.setting
    }

    /// The settings that led, in order, beginning with the first.
    pub fn leaders(&self) -> &[Leader] {
        &self.leaders
    }

    /// Writes a page on the miniatures, if it is in the sample. Returns whether another setting leads now.
    #[inline]
    pub fn write(&mut self, predictor: &Predictor, page: u32, prediction: Prediction) -> bool {
        match self.sample.number(page) {
            Some(number) => self.write_sampled(predictor, number, prediction),
            None => false,
        }
    }

    fn write_sampled(
        &mut self,
        predictor: &Predictor,
        number: u32,
        prediction: Prediction,
    ) -> bool {
        for miniature in &mut self.miniatures {
            miniature.write(predictor, self.budget, self.sample, number, prediction);
        }
        self.pending_pages += 1;
        if let Some(matches) = &mut self.matches {
            matches.written_pages += 1;
            matches.matched_pages +=
                u64::from(predictor.ruled(prediction.write) != StreamId::DEFAULT);
        }
        self.pending_pages >= self.evaluation_pages && self.evaluate(prediction.write.now_pages)
    }

    /// Discards pages on the miniatures.
    pub fn discard(&mut self, pages: PageRange) {
        let numbers = self.sample.numbers(pages);
        if numbers.count > 0 {
            for miniature in &mut self.miniatures {
                // A miniature has no faults, and the sample numbers its pages: no discard is refused.
                let _ = miniature.drive.discard(numbers);
            }
        }
    }

    /// Writes pages that no setting places to the first stream of every miniature, so that each holds the pages that the
    /// drive holds.
    pub fn written_elsewhere(&mut self, predictor: &Predictor, pages: PageRange) {
        let numbers = self.sample.numbers(pages);
        if numbers.count > 0 {
            for miniature in &mut self.miniatures {
                // From now on a victim may hold pages without a prediction, so that each survivor is looked up.
                miniature.knows_all = false;
                miniature.append(
                    predictor,
                    self.budget,
                    self.sample,
                    numbers,
                    StreamId::DEFAULT,
                );
            }
        }
    }

    /// The leader while no setting has won by the margin: the second setting until the file-name rules, the first, have
    /// matched enough pages. `None` once another rule decides.
    fn leader_by_matches(&mut self) -> Option<(Candidate, LeaderReason)> {
        let matches = self.matches.as_ref()?;
        let [rules, next, ..] = self.miniatures.as_slice() else {
            return None;
        };
        if matches.matched_pages * RULED_PARTS < matches.written_pages {
            return Some((next.candidate, LeaderReason::RulesMatchLittle));
        }
        self.matches = None;
        Some((rules.candidate, LeaderReason::RulesMatch))
    }

    /// Lets the cheapest setting lead, if it is enough cheaper than the leader. Returns whether the leader changed.
    fn evaluate(&mut self, now_pages: u64) -> bool {
        self.pending_pages = 0;
        let cost = |miniature: &mut Miniature| (miniature.candidate, miniature.cost());
        let costs: Vec<(Candidate, f64)> = self.miniatures.iter_mut().map(cost).collect();
        let leading = costs
            .iter()
            .find(|(candidate, _)| *candidate == self.leader);
        let mut least = leading.map_or(0.0, |(_, pages)| *pages) - self.margin_pages;
        let mut best = self.leader;
        // `least` starts a margin below the leader, since a few copies more or less are chance.
        for &(candidate, pages) in &costs {
            if pages < least {
                (best, least) = (candidate, pages);
            }
        }
        // Once a setting has won by its copies, matches of file names decide nothing any more.
        if best != self.leader {
            self.matches = None;
        }
        let (best, reason) = self
            .leader_by_matches()
            .unwrap_or((best, LeaderReason::Cheaper));
        if best == self.leader {
            return false;
        }
        self.leader = best;
        self.record_leader(now_pages, reason, &costs);
        true
    }

    #[cold]
    fn record_leader(&mut self, now_pages: u64, reason: LeaderReason, costs: &[(Candidate, f64)]) {
        // A drive that is steered for months must not gather leaders without end.
        if self.leaders.len() >= MOST_LEADERS {
            return;
        }
        let stride = f64::from(self.sample.stride());
        let cost = |&(candidate, pages): &(Candidate, f64)| SettingCost {
            setting: candidate.name.word(),
            pages: pages * stride,
        };
        self.leaders.push(Leader {
            since_pages: now_pages,
            setting: self.leader.name.word(),
            reason,
            costs: costs.iter().map(cost).collect(),
        });
    }

    pub fn memory_bytes(&self) -> usize {
        let costs = |leader: &Leader| leader.costs.capacity() * size_of::<SettingCost>();
        self.miniatures
            .iter()
            .map(Miniature::memory_bytes)
            .sum::<usize>()
            + self.leaders.capacity() * size_of::<Leader>()
            + self.leaders.iter().map(costs).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
