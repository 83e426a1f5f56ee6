//! `oracle`: exact lifetimes, and victims chosen by them.

mod deaths;
mod ledger;
mod victims;

use std::sync::Arc;

use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
    victims::{ClosedUnits, VictimRule},
};

use crate::{
    assign::{Assign, Write},
    future::Future,
    geometry::HostGeometry,
    halves::Halves,
    parameter::{named, parameters},
    scheme::{HostScheme, Setting, Unfit},
    site::Site,
};
pub(crate) use deaths::Deaths;
pub(crate) use ledger::Ledger;
pub(crate) use victims::Victims;

/// Number of classes where none is asked for and no trial is made (our choice: as many as a drive of eight streams
/// has).
const CLASSES: u32 = 8;

/// The settings of a trial: classes, ratio, first and patience.
pub(crate) type Trial = (u32, f64, f64, f64);

/// The trials where no number of classes is asked for (our choice: on real traces in units of 0.5 to 24 MiB the best of
/// a finer grid was among these, or within 0.3 % of the host's writes of one).
const TRIALS: [Trial; 13] = [
    (1, 4.0, 1.0, 1.0),
    (2, 4.0, 1.0, 1.0),
    (4, 4.0, 1.0, 1.0),
    (6, 3.0, 1.0, 1.0),
    (6, 3.0, 2.0, 1.0),
    (6, 4.0, 4.0, 1.0),
    (8, 3.0, 1.0, 1.0),
    (8, 3.0, 1.0, 0.0),
    (8, 3.0, 2.0, 1.0),
    (8, 4.0, 1.0, 1.0),
    (8, 4.0, 2.0, 1.0),
    (12, 3.0, 1.0, 1.0),
    (16, 2.0, 1.0, 1.0),
];

parameters! {
    /// Parameters of [`Oracle`].
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Parameters {
        /// Open units, of the host's streams first, then of internal ones. 0 tries several and keeps
        /// the best (DOGI's `NoDaP` adds classes until the gain falls under 5 %).
        classes: Count(0..=65_535) = 0,
            "open units; 0 tries several numbers and keeps the best";
        /// Ratio of the lives of a class to those of the class before, while its
        /// unit is still empty. 4, our choice; DOGI's ranges double.
        ratio: Number(1.01..=1000.0) = 4.0,
            "lives of an empty class over those of the class before";
        /// The life that parts the first two classes, in units of writes. 1, our choice; DOGI begins
        /// at 1 % of the capacity.
        first: Number(0.001..=1e6) = 1.0,
            "the life that parts the first two classes, in units of writes";
        /// Weight of the time for which a victim's space would otherwise lie idle: 1 in full, 0
        /// not at all, which leaves the unit with the fewest valid pages. 1, our choice.
        patience: Number(0.0..=1.0) = 1.0,
            "weight of the time a victim's space would lie idle, from 0 to 1";
    }
}

impl Parameters {
    /// The settings among `trials` that the drive has enough streams for; empty if a number of classes was given.
    pub(crate) fn trials_of(&self, trials: &[Trial], geometry: &HostGeometry) -> Vec<Vec<Setting>> {
        if self.classes > 0 {
            return Vec::new();
        }
        let streams = u32::from(geometry.host_streams) + u32::from(geometry.internal_streams);
        let fitting = trials.iter().filter(|trial| trial.0 <= streams);
        fitting
            .map(|(classes, ratio, first, patience)| {
                vec![
                    ("classes", classes.to_string()),
                    ("ratio", ratio.to_string()),
                    ("first", first.to_string()),
                    ("patience", patience.to_string()),
                ]
            })
            .collect()
    }

    /// Number of classes on a drive, and how many of them the host may name.
    pub(crate) fn classes_on(&self, geometry: &HostGeometry) -> (u16, u16) {
        let wanted = match self.classes {
            0 => CLASSES,
            classes => classes,
        };
        let host = u32::from(geometry.host_streams);
        let classes = wanted.min(host + u32::from(geometry.internal_streams));
        (classes as u16, classes.min(host) as u16)
    }

    /// The mean life of each class while its unit is empty, in pages.
    pub(crate) fn empty_lives(&self, geometry: &HostGeometry) -> Vec<f64> {
        let unit = f64::from(geometry.pages_per_unit);
        let life = |class| self.first * unit * self.ratio.powf(f64::from(class) - 0.5);
        (0..self.classes_on(geometry).0).map(life).collect()
    }
}

/// Makes a bound of a scheme that is built with the future, in its `impl HostScheme for Parameters`: it is both
/// halves, names the victims, and no drive could run it.
macro_rules! foreseeing {
    ($scheme:ident) => {
        fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
            Ok(Halves::whole($scheme::new(
                self,
                &site.geometry(),
                site.future,
            )))
        }

        fn victim_rule(&self) -> Option<VictimRule> {
            Some(VictimRule::Scheme)
        }

        fn needs_future(&self) -> bool {
            true
        }

        fn is_bound(&self) -> bool {
            true
        }
    };
}
pub(crate) use foreseeing;

impl HostScheme for Parameters {
    named!("oracle");

    foreseeing!(Oracle);

    fn trials(&self, geometry: &HostGeometry) -> Vec<Vec<Setting>> {
        self.trials_of(&TRIALS, geometry)
    }
}

/// Knows when every page will die, and uses it for all three decisions:
///
/// - *Where a write goes:* to the open unit whose data die, in the mean, nearest to its own death.
///   A class whose unit is empty stands for lives `ratio` times as long as those of the class
///   before it. So classes are ranges of remaining life that begin logarithmic and then follow
///   what is written; data that die at one moment meet in one unit whatever their age.
/// - *Where a copy goes:* to the same units by the same rule: how it came does not matter to a
///   page whose death is known.
/// - *Which unit is collected:* one in which nothing lives, where there is one ("expired first").
///   Else the one with the highest `(1 - u) / u x t`, `u` its valid share and `t` how long its
///   valid pages will still live in the mean: the cost-benefit rule of log-structured file systems
///   with what is to come in place of age. To copy what is about to die is waste.
///
/// `NoDaP` (DOGI, FAST'26) classes by ranges of life and takes the unit with the fewest valid
/// pages of the last class where none has expired; on real traces that copied several times as
/// much as this, so this is the better bound.
///
/// It plans no further than that, so it is a bound in practice and not a proof.
///
/// Memory: 20 bytes a logical page, 12 a unit, and the future. A victim costs a look at every
/// unit.
#[derive(Debug)]
pub struct Oracle {
    deaths: Deaths,
    ledger: Ledger,
    host_classes: u16,
    classes: u16,
    empty_lives: Vec<f64>,
    victims: Victims,
    last_death: u64,
}

impl Oracle {
    /// The scheme for a drive. If it has fewer streams than classes, the last classes are left out.
    pub fn new(
        parameters: &Parameters,
        geometry: &HostGeometry,
        future: Option<&Arc<Future>>,
    ) -> Oracle {
        let (classes, host_classes) = parameters.classes_on(geometry);
        let deaths = Deaths::new(geometry.logical_pages, future);
        let end = deaths.future().lives_pages().len() as u64;
        Oracle {
            deaths,
            ledger: Ledger::new(geometry),
            host_classes,
            classes,
            empty_lives: parameters.empty_lives(geometry),
            victims: Victims::new(parameters.patience, geometry),
            last_death: end + u64::from(geometry.logical_pages),
        }
    }

    /// The class whose open unit dies nearest to `dies_at`; of equals the one of shorter lives.
    fn nearest(&self, dies_at: u64, now: u64, classes: u16) -> StreamId {
        let dies_at = self.finite(dies_at) as f64;
        let mut nearest = (f64::INFINITY, StreamId::DEFAULT);
        for (class, life) in (0..classes).zip(&self.empty_lives) {
            let open = self.ledger.open_mean(StreamId(class));
            let distance = (open.unwrap_or(now as f64 + life) - dies_at).abs();
            if distance < nearest.0 {
                nearest = (distance, StreamId(class));
            }
        }
        nearest.1
    }

    /// A time of death that can be summed: a page that outlives the trace counts as dying a capacity of writes after
    /// its end.
    fn finite(&self, dies_at: u64) -> u64 {
        dies_at.min(self.last_death)
    }
}

impl Assign for Oracle {
    fn assign(&mut self, write: &Write) -> StreamId {
        let dies_at = self.deaths.write(write);
        self.nearest(dies_at, write.now_pages, self.host_classes)
    }

    fn discard(&mut self, pages: PageRange, _now_pages: u64) {
        self.ledger.leave_all(pages);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.deaths.memory_bytes() + self.ledger.memory_bytes()
    }
}

impl Relocate for Oracle {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        self.nearest(
            self.deaths.death_of(survivor.page),
            victim.now,
            self.classes,
        )
    }

    fn wants_places(&self) -> bool {
        true
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        let dies_at = self.finite(self.deaths.death_of(page));
        self.ledger.enter(page, unit, stream, dies_at);
    }

    fn opened(&mut self, stream: StreamId) {
        self.ledger.opened(stream);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.victims.choose(closed, |unit| {
            self.ledger.mean(unit).map(|dies_at| dies_at - now as f64)
        })
    }
}

#[cfg(test)]
mod tests;
