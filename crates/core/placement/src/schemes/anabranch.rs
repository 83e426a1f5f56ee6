//! `anabranch`, our own scheme: lifetimes are predicted as a processor predicts branches, and the setting that
//! uses the predictions is chosen on miniature drives (`docs/anabranch-scheme.md`).
//!
//! ```text
//! write of a page:
//!     life = mean of survival curves of (writer, lives before at this address), longest history that proved better
//!     a page new to its address takes its file's mean life
//!     every miniature drive writes the page under its own setting; the cheapest setting leads
//!     stream = by the leader: class of life, file-name rule, or file
//!     a stream without an open unit first fills a unit that the leader before left open
//!     after a change of leader, a stream too rare for an open unit writes to the busiest stream
//! copy of a page: class of the life that remains beyond its age, or the leader's stream for copies
//! victim: by the leader, the emptiest unit or the best by dead / valid pages x age
//! ```

mod classes;
mod curve;
mod file_means;
mod leftover_units;
mod lifetime_predictor;
mod page;
mod predictor;
mod sample;
mod setting;
mod span;
mod stream_budget;
mod tables;
mod trust;
mod tuner;

use anabranch_ssd::{
    Config, Origin, PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
    victims::{ClosedUnits, VictimRule},
};

use crate::{
    assign::{Assign, Names, Write},
    by_page::place_each,
    geometry::HostGeometry,
    halves::{DeviceHalf, Halves},
    leaders::Leader,
    parameter::{OneOf, named, one_of, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};
use leftover_units::LeftoverUnits;
use page::Features;
use predictor::Predictor;
use sample::Sample;
use setting::Setting;
use stream_budget::StreamBudget;
pub use tuner::SettingName;
use tuner::Tuner;

one_of! {
    /// Inputs that are left out, to measure what they are worth.
    Ablation {
        /// None.
        Nothing = "nothing",
        /// Contexts, hints and files, and the settings that go by files.
        Writers = "writers",
        /// Lives before at the address.
        History = "history",
        /// Both.
        Both = "both",
    }
}

parameters! {
    /// Parameters of [`Anabranch`]. All defaults are our choice.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Parameters {
        /// The setting that leads: the cheapest, or one throughout.
        setting: Word(SettingName) = SettingName::Cheapest,
            "the setting that leads: the cheapest on miniature drives, or one of them throughout";
        /// Inputs that are left out.
        ablate: Word(Ablation) = Ablation::Nothing,
            "what is left out, for benches: writers are contexts, hints and files";
        /// Seed of the sample.
        seed: Count(0..=u32::MAX) = 1,
            "seed of the sample";
    }
}

impl Parameters {
    fn features(&self) -> Features {
        Features {
            contexts: matches!(self.ablate, Ablation::Nothing | Ablation::History),
            history: matches!(self.ablate, Ablation::Nothing | Ablation::Writers),
        }
    }

    /// The setting that leads throughout; `None` for the cheapest.
    fn held(&self, budget: &StreamBudget, beside: DeviceHalf) -> Result<Option<Setting>, Unfit> {
        if self.setting == SettingName::Cheapest {
            return Ok(None);
        }
        let all = tuner::settings(budget, beside);
        let held = all.iter().find(|one| one.name == self.setting);
        let names = || {
            all.iter()
                .map(|one| one.name.word())
                .collect::<Vec<_>>()
                .join(", ")
        };
        held.map(|one| Some(one.setting)).ok_or_else(|| Unfit {
            key: "setting",
            expected: format!("cheapest, {}", names()),
        })
    }
}

impl HostScheme for Parameters {
    named!("anabranch");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        match site.copies {
            // Its own victims and copies need no rule of the drive's.
            DeviceHalf::Own => {
                Anabranch::new(self, &site.geometry().drive(), site.copies).map(Halves::whole)
            }
            DeviceHalf::Relocation(_) => {
                Anabranch::new(self, site.drive, site.copies).map(Halves::host)
            }
        }
    }

    fn victim_rule(&self) -> Option<VictimRule> {
        Some(VictimRule::Scheme)
    }
}

/// Pages that a unit of a miniature drive keeps at least, and pages of a miniature drive (our choice on the recordings of
/// `traces/`: with 16 pages a unit mean copies are 4 % more, with 64 the same).
const UNIT_PAGES: u32 = 32;
const LEAST_PAGES: u32 = 4096;

/// Classes are redrawn when this share of the capacity has been written for the first time, and
/// then whenever what was written has doubled, and `REDRAW_PARTS` times a capacity at least (our
/// choice).
const FIRST_REDRAW_PARTS: u64 = 1024;
const REDRAW_PARTS: u64 = 4;

/// Predicts how long each page will live, and how long a copied page still will. Classes of predicted lives are streams;
/// the bounds between classes give the least spread within them. The number of classes, the streams of copies and the
/// victims follow the setting that costs least on miniature drives. Beside a drive that relocates by itself it is the host
/// half alone, and its miniatures relocate as that drive does.
///
/// Memory: 8 bytes a page of the drive, 1.4 MiB of curves, and the miniature drives: each 8 bytes for
/// every page sampled.
#[derive(Debug)]
pub struct Anabranch {
    predictor: Predictor,
    tuner: Option<Tuner>,
    setting: Setting,
    budget: StreamBudget,
    beside: DeviceHalf,
    capacity: u64,
    leftovers: LeftoverUnits,
    started_at: Option<u64>,
    redraw_at: u64,
}

impl Anabranch {
    /// For a drive whose copies and victims `beside` decides.
    ///
    /// # Errors
    ///
    /// A setting that such a drive does not have.
    pub fn new(
        parameters: &Parameters,
        drive: &Config,
        beside: DeviceHalf,
    ) -> Result<Anabranch, Unfit> {
        let geometry = &HostGeometry::of(drive);
        let features = parameters.features();
        let budget = StreamBudget::new(geometry);
        let held = parameters.held(&budget, beside)?;
        let tuner = match held {
            Some(_) => None,
            None => {
                let sample = Sample::new(geometry, UNIT_PAGES, LEAST_PAGES, parameters.seed);
                Tuner::new(drive, beside, sample, features.contexts)
            }
        };
        // why: a drive with too little spare for a miniature has classes throughout.
        let setting = held
            .or(tuner.as_ref().map(Tuner::leader))
            .unwrap_or(Setting::classes(&budget));
        Ok(Anabranch {
            predictor: Predictor::new(geometry, features),
            setting,
            tuner,
            budget,
            beside,
            capacity: u64::from(geometry.logical_pages).max(1),
            leftovers: LeftoverUnits::new(budget.count(), geometry),
            started_at: None,
            redraw_at: 0,
        })
    }

    #[inline]
    fn place(&mut self, page: u32, now_pages: u64, write: &Write) -> StreamId {
        if now_pages >= self.redraw_at {
            self.redraw_classes(now_pages);
        }
        let prediction = self.predictor.write(page, write, now_pages);
        if let Some(tuner) = &mut self.tuner
            && tuner.write(&self.predictor, page, prediction)
        {
            self.setting = tuner.leader();
            self.leftovers.change(now_pages);
        }
        let stream = self
            .setting
            .host_stream(&self.predictor, prediction, &self.budget);
        let host_streams = self.budget.host_streams;
        let stream = self.leftovers.place_new(stream, host_streams, now_pages);
        if self.beside != DeviceHalf::Own {
            // A drive that relocates by itself does not report its appends.
            self.leftovers.appended(stream, 1, Origin::Host);
        }
        stream
    }

    #[cold]
    fn redraw_classes(&mut self, now_pages: u64) {
        let started_at = *self.started_at.get_or_insert(now_pages);
        self.predictor.classes.redraw();
        let written = now_pages - started_at;
        let least = self.capacity / FIRST_REDRAW_PARTS;
        let most = self.capacity / REDRAW_PARTS;
        self.redraw_at = now_pages + written.clamp(least, most.max(least)).max(1);
    }
}

impl Assign for Anabranch {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, now_pages| self.place(page, now_pages, write))
    }

    fn prefetch(&self, pages: &[u32]) {
        self.predictor.lifetimes.prefetch_written(pages);
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.predictor.discard(pages, now_pages);
        if let Some(tuner) = &mut self.tuner {
            tuner.discard(pages);
        }
    }

    fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
        self.predictor.discard(pages, now_pages);
        if let Some(tuner) = &mut self.tuner {
            tuner.written_elsewhere(&self.predictor, pages);
        }
    }

    fn learn(&mut self, names: &Names) {
        self.predictor.learn(names);
    }

    fn leaders(&self) -> &[Leader] {
        match &self.tuner {
            Some(tuner) => tuner.leaders(),
            None => &[],
        }
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.predictor.memory_bytes()
            + self.leftovers.memory_bytes()
            + self.tuner.as_ref().map_or(0, Tuner::memory_bytes)
    }
}

impl Relocate for Anabranch {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn prefetch_survivors(&self, pages: &[u32]) {
        self.predictor.lifetimes.prefetch(pages);
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        match self.predictor.lifetimes.remaining(survivor.page) {
            Some(life) => {
                self.predictor.classes.count(life);
                let stream =
                    self.setting
                        .copy_stream(&self.predictor, life, victim.stream, &self.budget);
                self.leftovers.place(stream, self.budget.count())
            }
            None => self.setting.heir(victim.stream, &self.budget),
        }
    }

    fn opened(&mut self, stream: StreamId) {
        self.leftovers.gone(stream);
    }

    fn appended(&mut self, stream: StreamId, pages: u32, origin: Origin) {
        self.leftovers.appended(stream, pages, origin);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.leftovers.gone(stream);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.setting.choose_victim(closed, now, &self.budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::DRIVE;
    use anabranch_ssd::relocate::RelocationKind;

    fn anabranch() -> Anabranch {
        let parameters = Parameters {
            setting: SettingName::Classes,
            ..Parameters::default()
        };
        Anabranch::new(&parameters, &DRIVE.drive(), DeviceHalf::Own).unwrap()
    }

    #[test]
    fn a_setting_of_another_kind_of_drive_is_refused_with_the_names_of_this_one() {
        let three = Parameters {
            setting: SettingName::ThreeClasses,
            ..Parameters::default()
        };
        let unfit = Anabranch::new(&three, &DRIVE.drive(), DeviceHalf::Own).unwrap_err();
        assert!(
            unfit
                .expected
                .starts_with("cheapest, rules, rules-classes, ")
        );
        let half = DeviceHalf::Relocation(RelocationKind::Gc);
        assert!(Anabranch::new(&three, &DRIVE.drive(), half).is_ok());
    }

    #[test]
    fn classes_are_redrawn_as_often_on_a_drive_that_was_written_before() {
        let redrawn_after = |start: u64| {
            let mut anabranch = anabranch();
            [0, 1, 7, 100, 1 << 30].map(|written| {
                anabranch.redraw_classes(start + written);
                anabranch.redraw_at - start
            })
        };
        assert_eq!(redrawn_after(0), redrawn_after(1 << 40));
    }

    #[test]
    fn a_unit_that_is_another_or_was_taken_is_not_left_open() {
        let gone: [fn(&mut Anabranch, StreamId); 2] = [Relocate::opened, Relocate::abandoned];
        for gone in gone {
            let mut anabranch = anabranch();
            anabranch.appended(StreamId(1), 5, Origin::Host);
            gone(&mut anabranch, StreamId(1));
            anabranch.leftovers.change(0);
            let placed = anabranch.leftovers.place(StreamId(0), 2);
            assert_eq!(placed, StreamId(0));
        }
    }
}
