//! `oracle-rate`: each page's true rate of death, but not the moment.

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
    parameter::{Parameter, Value},
    scheme::{HostScheme, Setting, Unfit},
    schemes::oracle::{self, Ledger, Trial, Victims, foreseeing},
    site::Site,
};

/// Rates are kept as deaths in this many pages of writes (our choice: lives up to 4 PiB are told
/// apart, and a unit's sum stays within 64 bits).
const DEATHS: u64 = 1 << 40;

/// The trials with copies among new writes (our choice, as for `oracle`).
const TOGETHER: [Trial; 8] = [
    (1, 4.0, 1.0, 1.0),
    (4, 4.0, 1.0, 1.0),
    (6, 8.0, 4.0, 1.0),
    (8, 4.0, 1.0, 1.0),
    (8, 4.0, 1.0, 0.5),
    (8, 4.0, 2.0, 1.0),
    (8, 3.0, 2.0, 1.0),
    (16, 2.0, 1.0, 1.0),
];

/// The trials with copies in classes of their own.
const APART: [Trial; 5] = [
    (1, 4.0, 1.0, 0.0),
    (2, 4.0, 1.0, 0.0),
    (4, 4.0, 2.0, 1.0),
    (8, 4.0, 2.0, 1.0),
    (8, 4.0, 2.0, 0.5),
];

/// Parameters of [`OracleRate`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parameters {
    /// Those of `oracle`, with the same defaults.
    pub classes: oracle::Parameters,
    /// Whether copies have classes of their own, of internal streams. Were deaths all random they
    /// would not need them; where they are not, what was copied once is told from what is new.
    pub apart: u32,
}

impl HostScheme for Parameters {
    fn name(&self) -> &'static str {
        "oracle-rate"
    }

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let mut parameters = self.classes.list();
        parameters.push(Parameter {
            key: "apart",
            meaning: "1 gives copies classes of their own, of internal streams; 0 does not",
            value: Value::Count(&mut self.apart, 0..=1),
        });
        parameters
    }

    foreseeing!(OracleRate);

    fn trials(&self, geometry: &HostGeometry) -> Vec<Vec<Setting>> {
        let trials = [(0, &TOGETHER[..]), (1, &APART[..])];
        let trials = trials.into_iter().flat_map(|(apart, trials)| {
            let settings = self.classes.trials_of(trials, geometry).into_iter();
            settings.map(move |mut settings| {
                settings.push(("apart", apart.to_string()));
                settings
            })
        });
        trials.collect()
    }
}

/// Knows how long each logical page's data live in the mean over the whole trace, the reciprocal
/// of its rate of death, and nothing of when: what can be known where deaths are random. Such
/// data do not age: however old they are, they have their mean life before them.
///
/// A write, and a copy, go to the class whose mean life is nearest in ratio; victims are chosen as
/// by `oracle`, with the reciprocal of the mean rate of what lives in a unit for the life that is
/// left. Not with the mean of the mean lives: where units are mixed, as on a drive of one stream,
/// what dies soon is worth waiting for though the rest may live for ever.
///
/// A page that dies once or twice in the trace has a rate that says nearly when; with few deaths a
/// page this bound knows more than can be known. And data whose deaths are no accident, such as a
/// log's, can be placed better than this by who sees the regularity.
///
/// Memory: 12 bytes a logical page, 12 a unit, and the future.
#[derive(Debug)]
pub struct OracleRate {
    future: Arc<Future>,
    ledger: Ledger,
    host_classes: u16,
    classes: u16,
    /// The first of the streams that copies have to themselves.
    first_copies: u16,
    /// The life beyond which pages belong to the next class, for each class but the last.
    bounds_pages: Vec<u64>,
    victims: Victims,
}

impl OracleRate {
    /// The scheme for a drive. If it has fewer streams than classes, the last classes are left out.
    pub fn new(
        parameters: &Parameters,
        geometry: &HostGeometry,
        future: Option<&Arc<Future>>,
    ) -> OracleRate {
        let apart = parameters.apart > 0 && geometry.internal_streams > 0;
        let parameters = parameters.classes;
        let (classes, host_classes) = parameters.classes_on(geometry);
        let copy_streams = if apart {
            geometry.internal_streams
        } else {
            u16::MAX
        };
        let future = future.cloned().unwrap_or_default();
        let bounds = parameters.empty_lives(geometry).into_iter();
        OracleRate {
            ledger: Ledger::new(geometry),
            host_classes,
            classes: classes.min(copy_streams),
            first_copies: if apart { geometry.host_streams } else { 0 },
            // Midway, in ratio, between the lives two classes stand for.
            bounds_pages: bounds
                .map(|l| (l * parameters.ratio.sqrt()) as u64)
                .collect(),
            victims: Victims::new(parameters.patience, geometry),
            future,
        }
    }

    fn class(&self, page: u32, classes: u16) -> StreamId {
        let life = self.future.mean_life_pages(page);
        let class = self.bounds_pages.partition_point(|&bound| bound < life);
        StreamId((class as u16).min(classes.saturating_sub(1)))
    }
}

impl Assign for OracleRate {
    fn assign(&mut self, write: &Write) -> StreamId {
        self.class(write.pages.first, self.host_classes)
    }

    fn discard(&mut self, pages: PageRange, _now_pages: u64) {
        self.ledger.leave_all(pages);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.ledger.memory_bytes()
    }
}

impl Relocate for OracleRate {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn survivor(&mut self, _victim: &Victim, survivor: Survivor) -> StreamId {
        StreamId(self.first_copies + self.class(survivor.page, self.classes).0)
    }

    fn wants_places(&self) -> bool {
        true
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        let rate = DEATHS / self.future.mean_life_pages(page).max(1);
        self.ledger.enter(page, unit, stream, rate);
    }

    fn opened(&mut self, stream: StreamId) {
        self.ledger.opened(stream);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, _now: u64) -> Option<u32> {
        self.victims.choose(closed, |unit| {
            self.ledger.mean(unit).map(|rate| DEATHS as f64 / rate)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_trace::{ContextId, FileId, WriteHint};

    #[test]
    fn a_page_goes_by_its_mean_life_however_old_it_is() {
        let drive = HostGeometry {
            logical_pages: 5,
            page_bytes: 4096,
            host_streams: 2,
            internal_streams: 1,
            pages_per_unit: 10,
            physical_units: 5,
        };
        let parameters = oracle::Parameters {
            classes: 3,
            ..oracle::Parameters::default()
        };
        let future = Future::new(vec![1; 9], vec![1, 10, 11, 41, Future::ENDLESS]);
        let mut scheme = OracleRate::new(
            &Parameters {
                classes: parameters,
                apart: 0,
            },
            &drive,
            Some(&Arc::new(future)),
        );
        // Classes end at lives of 10, 40 and 160 pages; the host has two of them.
        let write = |page| Write {
            pages: PageRange::new(page, 1),
            context: ContextId(0),
            file: FileId(0),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages: 0,
        };
        let streams = [0, 1, 2, 3, 4].map(|page| scheme.assign(&write(page)).0);
        assert_eq!(streams, [0, 0, 1, 1, 1]);
        let victim = |now| Victim {
            stream: StreamId(0),
            valid_pages: 1,
            opened_at: 0,
            now,
        };
        for now in [0, 1000] {
            let copies = [0, 2, 3, 4].map(|page| {
                let survivor = Survivor { page, age_pages: 0 };
                scheme.survivor(&victim(now), survivor).0
            });
            assert_eq!(copies, [0, 1, 2, 2]);
        }
    }
}
