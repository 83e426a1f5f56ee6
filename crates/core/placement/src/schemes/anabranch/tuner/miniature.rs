//! A miniature drive: one setting tried on a sample of the writes.

use anabranch_ssd::{
    Config, Device, PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
    victims::{ClosedUnits, VictimRule},
};

use super::{
    super::{
        predictor::{Prediction, Predictor},
        sample::Sample,
        setting::Setting,
        stream_budget::StreamBudget,
    },
    EVALUATIONS,
    candidates::Candidate,
    debt::owed_pages,
};
use crate::{geometry::HostGeometry, halves::DeviceHalf};

/// Capacities written until a copy counts half (our choice: two and one are no better).
pub(super) const HALF_LIFE_CAPACITIES: u32 = 4;

/// Decides about copies and victims of a miniature drive, by its setting and by the predictions for the real drive.
#[derive(Debug)]
pub(super) struct MiniaturePolicy<'a> {
    pub setting: Setting,
    pub budget: StreamBudget,
    pub sample: Sample,
    pub predictor: &'a Predictor,
    /// Whether the predictor has seen the write of every page of the miniature.
    pub knows_all: bool,
}

impl Relocate for MiniaturePolicy<'_> {
    fn destination(&mut self, victim: &Victim) -> Destination {
        let whole = self.setting.whole_copy_stream(victim.stream, &self.budget);
        match whole.filter(|_| self.knows_all) {
            Some(stream) => Destination::Stream(stream),
            None => Destination::Each,
        }
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let page = self.sample.page(survivor.page);
        match self.predictor.lifetimes.remaining(page) {
            Some(life) => {
                self.setting
                    .copy_stream(self.predictor, life, victim.stream, &self.budget)
            }
            None => victim.stream,
        }
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.setting.choose_victim(closed, now, &self.budget)
    }
}

/// A miniature drive under one setting, and the copies this costs.
#[derive(Debug)]
pub(super) struct Miniature {
    pub drive: Device,
    pub candidate: Candidate,
    /// The drive's own relocation, where copies are not the scheme's to decide.
    relocation: Option<Box<dyn Relocate>>,
    /// Whether all its pages were written as sampled, so that the predictor has seen them.
    pub knows_all: bool,
    /// Pages copied or owed so far; older ones count less.
    cost_pages: f64,
    /// Pages copied and owed at the last evaluation.
    counted_pages: f64,
}

impl Miniature {
    /// A miniature for a setting; `None` where the drive has too little spare for one.
    pub fn new(
        drive: &Config,
        beside: DeviceHalf,
        sample: Sample,
        candidate: Candidate,
    ) -> Option<Miniature> {
        let mut config = miniature_config(drive, sample, &candidate.setting);
        let relocation = match beside {
            DeviceHalf::Own => {
                config.victim_rule = VictimRule::Scheme;
                None
            }
            DeviceHalf::Relocation(kind) => {
                config.internal_streams = kind.internal_streams(&config);
                Some(kind.build(&config))
            }
        };
        // Neither `MiniaturePolicy` nor `()` asks the device to track ages or locations of pages.
        let listener = relocation.as_deref().unwrap_or(&());
        Some(Miniature {
            drive: Device::new(config, listener).ok()?,
            candidate,
            relocation,
            knows_all: true,
            cost_pages: 0.0,
            counted_pages: 0.0,
        })
    }

    /// Writes the sampled page `number`.
    pub fn write(
        &mut self,
        predictor: &Predictor,
        budget: StreamBudget,
        sample: Sample,
        number: u32,
        prediction: Prediction,
    ) {
        let stream = self
            .candidate
            .setting
            .host_stream(predictor, prediction, &budget);
        self.append(predictor, budget, sample, PageRange::new(number, 1), stream);
    }

    /// Writes sampled pages to a stream.
    pub fn append(
        &mut self,
        predictor: &Predictor,
        budget: StreamBudget,
        sample: Sample,
        pages: PageRange,
        stream: StreamId,
    ) {
        // A miniature has no faults, and the pages and the stream are its own: no write is refused.
        let _ = match &mut self.relocation {
            Some(relocation) => self.drive.write(&mut **relocation, pages, stream),
            None => {
                let mut policy = MiniaturePolicy {
                    setting: self.candidate.setting,
                    budget,
                    sample,
                    predictor,
                    knows_all: self.knows_all,
                };
                self.drive.write(&mut policy, pages, stream)
            }
        };
    }

    /// The pages copied and owed so far. Called once an evaluation, since each call fades what was counted before.
    pub fn cost(&mut self) -> f64 {
        let counted = self.drive.counters().copied_pages as f64 + self.owed_pages();
        let newly = counted - std::mem::replace(&mut self.counted_pages, counted);
        let fade = -1.0 / f64::from(EVALUATIONS * HALF_LIFE_CAPACITIES);
        self.cost_pages = self.cost_pages * fade.exp2() + newly;
        self.cost_pages
    }

    fn owed_pages(&self) -> f64 {
        let config = self.drive.config();
        let slack = if self.drive.counters().erased_units == 0 {
            // Room never written says nothing about a setting, and on a new drive it exceeds the dead pages: with it no
            // setting would owe anything before the first leader had mixed short-lived with long-lived data.
            let dead = |valid| u64::from(config.pages_per_unit.saturating_sub(valid));
            self.drive.closed_units().map(dead).sum()
        } else {
            let pages = u64::from(config.physical_units) * u64::from(config.pages_per_unit);
            pages.saturating_sub(self.drive.mapped_pages())
        };
        owed_pages(self.drive.closed_units(), config.pages_per_unit, slack)
    }

    pub fn memory_bytes(&self) -> usize {
        let config = self.drive.config();
        let units = config.physical_units as usize;
        let streams = usize::from(config.streams());
        let rings = streams * (config.pages_per_unit as usize + 2);
        // Both maps; of a unit its counters and its places in the rings; the rings' heads.
        config.logical_pages as usize * 4
            + units * (config.pages_per_unit as usize * 4 + 96)
            + rings * 8
            + size_of::<Miniature>()
    }
}

/// The drive on which a setting is tried: the sample's pages, and the real drive's share of spare. An open unit is half
/// empty in the mean. On a miniature of fewer units that would weigh more, so it gets as many units more.
pub(super) fn miniature_config(drive: &Config, sample: Sample, setting: &Setting) -> Config {
    let thinning = sample.thinning();
    let open_units = setting.streams() * (thinning - 1) / (2 * thinning);
    let geometry = HostGeometry {
        logical_pages: sample.pages(),
        pages_per_unit: sample.unit_pages(drive.pages_per_unit),
        physical_units: drive.physical_units.div_ceil(thinning) + open_units,
        ..HostGeometry::of(drive)
    };
    Config {
        victim_rule: drive.victim_rule,
        ..geometry.drive()
    }
}
