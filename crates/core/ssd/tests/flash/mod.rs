//! Flash that remembers what was programmed into it, and a host that remembers what it wrote:
//! between them they tell whether a page was ever lost, mixed up, or programmed where that cannot
//! be.

#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::VecDeque;

use crate::driven::Driven;
use anabranch_ssd::{
    Config, Device, DeviceError, Observe, Origin, PageRange, StreamId,
    relocate::{Relocate, RelocationKind},
    victims::VictimRule,
    wear::{Faults, Levelling, Wear},
};
use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};

/// Content of every programmed page: the number of the host write it stems from.
#[derive(Debug, Clone)]
pub struct Flash {
    content: Vec<Vec<u64>>,
    pages_per_unit: u32,
    finished: Vec<bool>,
    /// Host writes about to be programmed, and contents read to be copied.
    host: VecDeque<u64>,
    copies: VecDeque<u64>,
    last_read: Option<(u32, u32)>,
}

impl Flash {
    pub fn new(config: &Config) -> Flash {
        let units = config.physical_units as usize;
        Flash {
            content: vec![Vec::new(); units],
            pages_per_unit: config.pages_per_unit,
            finished: vec![false; units],
            host: VecDeque::new(),
            copies: VecDeque::new(),
            last_read: None,
        }
    }
}

impl Observe for Flash {
    const WANTS_COPIES: bool = true;

    fn programmed(&mut self, unit: u32, first: u32, count: u32, origin: Origin) {
        let from = match origin {
            Origin::Host => &mut self.host,
            Origin::Copy => &mut self.copies,
        };
        assert!(count > 0, "a program operation without a page");
        assert!(!self.finished[unit as usize], "unit {unit} was finished");
        let content = &mut self.content[unit as usize];
        assert_eq!(
            content.len(),
            first as usize,
            "pages are programmed in order"
        );
        content.extend(from.drain(..count as usize));
        assert!(content.len() <= self.pages_per_unit as usize);
    }

    fn copied(&mut self, unit: u32, page: u32) {
        // A copy that found no room leaves what was read unused: forget it when another begins.
        if self
            .last_read
            .is_none_or(|last| last.0 != unit || last.1 >= page)
        {
            self.copies.clear();
        }
        self.last_read = Some((unit, page));
        self.copies
            .push_back(self.content[unit as usize][page as usize]);
    }

    fn finished(&mut self, unit: u32) {
        let full = self.content[unit as usize].len() == self.pages_per_unit as usize;
        assert!(!full, "unit {unit} was full before it was finished");
        self.finished[unit as usize] = true;
    }

    fn erased(&mut self, unit: u32) {
        self.content[unit as usize].clear();
        self.finished[unit as usize] = false;
    }
}

/// A device, its flash, and what its host knows.
#[derive(Debug)]
pub struct Rig {
    pub device: Driven<Flash>,
    /// The number of the last write of each page.
    model: Vec<Option<u64>>,
    writes: u64,
}

/// Action of a host.
#[derive(Debug, Clone)]
pub enum Operation {
    Write { first: u32, count: u32, stream: u16 },
    Scatter { pages: Vec<u32>, stream: u16 },
    Discard { first: u32, count: u32 },
    Finish { stream: u16 },
    Idle,
}

impl Rig {
    pub fn new(config: &Config, relocation: Box<dyn Relocate>) -> Rig {
        let flash = Flash::new(config);
        let device = Device::watched(config.clone(), &*relocation, flash).unwrap();
        Rig {
            device: Driven { device, relocation },
            model: vec![None; config.logical_pages as usize],
            writes: 0,
        }
    }

    /// The same host before another device.
    pub fn with(&self, device: Driven<Flash>) -> Rig {
        Rig {
            device,
            model: self.model.clone(),
            writes: self.writes,
        }
    }

    /// Performs one operation; of one the device refuses midway, the host knows how far it came.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), DeviceError> {
        match *operation {
            Operation::Write {
                first,
                count,
                stream,
            } => {
                let pages: Vec<u32> = (first..first + count).collect();
                self.written(&pages, |device| {
                    device.write(PageRange::new(first, count), StreamId(stream))
                })
            }
            Operation::Scatter { ref pages, stream } => self.written(pages, |device| {
                device.write_scattered(pages, StreamId(stream))
            }),
            Operation::Discard { first, count } => {
                self.device.discard(PageRange::new(first, count))?;
                self.model[first as usize..(first + count) as usize].fill(None);
                Ok(())
            }
            Operation::Finish { stream } => self.device.finish_unit(StreamId(stream)).map(|_| ()),
            Operation::Idle => {
                let Driven { device, relocation } = &mut self.device;
                device.collect_idle(&mut **relocation);
                Ok(())
            }
        }
    }

    fn written(
        &mut self,
        pages: &[u32],
        write: impl FnOnce(&mut Driven<Flash>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let first = self.writes;
        self.writes += pages.len() as u64;
        let flash = self.device.observer_mut();
        flash.host = (first..self.writes).collect();
        let result = write(&mut self.device);
        let left = std::mem::take(&mut self.device.observer_mut().host).len();
        assert!(left == 0 || result.is_err());
        for (write, &page) in (first..).zip(&pages[..pages.len() - left]) {
            self.model[page as usize] = Some(write);
        }
        result
    }

    /// Every page the host wrote lies somewhere and holds its last write, and no other is mapped.
    pub fn check(&self) -> Result<(), String> {
        self.device.verify().map_err(|error| error.to_string())?;
        for (page, &expected) in (0_u32..).zip(&self.model) {
            let found = self.device.locate(page).map(|(unit, offset)| {
                self.device.observer().content[unit as usize][offset as usize]
            });
            if found != expected {
                return Err(format!(
                    "page {page} holds {found:?} instead of {expected:?}"
                ));
            }
        }
        Ok(())
    }
}

/// The victim rules, one of each.
pub fn rules() -> Vec<VictimRule> {
    VictimRule::named()
        .chain([VictimRule::Choices(3)])
        .collect()
}

/// A small device that never fails.
pub fn small(pages: u32, pages_per_unit: u32, spare: u32) -> Config {
    let config = Config {
        host_streams: 2,
        internal_streams: 1,
        chips: 3,
        seed: 7,
        ..Config::new(pages, pages_per_unit, 0)
    };
    with_spare(config, spare)
}

/// As many units as the device needs, and some to spare.
pub fn with_spare(mut config: Config, spare: u32) -> Config {
    let reserved = config.reserved_units();
    let thresholds = config.gc_start_free_units.max(reserved) - reserved;
    config.physical_units = config.least_physical_units() as u32
        + config.reclaim_groups * thresholds
        + config.faults.factory_bad_units
        + spare;
    config
}

/// Things a host may do, on a device of so many pages and host streams.
pub fn operations(pages: u32, host: u16, most: usize) -> impl Strategy<Value = Vec<Operation>> {
    let range = (0..pages).prop_flat_map(move |first| (Just(first), 1..=(pages - first).min(30)));
    let one = prop_oneof![
        6 => (range.clone(), 0..host)
            .prop_map(|((first, count), stream)| Operation::Write { first, count, stream }),
        6 => (prop::collection::vec(0..pages, 1..80), 0..host)
            .prop_map(|(pages, stream)| Operation::Scatter { pages, stream }),
        2 => range.prop_map(|(first, count)| Operation::Discard { first, count }),
        1 => (0..host).prop_map(|stream| Operation::Finish { stream }),
        1 => Just(Operation::Idle),
    ];
    prop::collection::vec(one, 1..most)
}

prop_compose! {
    fn wear()(levelling in prop::sample::select(vec![Levelling::None, Levelling::Dynamic, Levelling::Static]),
              spread in 1_u32..4, rated_erases in 0_u32..40, retire_at_rating in any::<bool>()) -> Wear {
        Wear { levelling, spread, rated_erases, retire_at_rating }
    }
}

/// Means between failures: often none, sometimes every operation.
fn means(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 1 => 1..5_u64, 4 => 5..most]
}

prop_compose! {
    fn faults()(pages_per_program_failure in means(2000), erases_per_failure in means(200),
                factory_bad_units in 0_u32..4) -> Faults {
        Faults { pages_per_program_failure, erases_per_failure, factory_bad_units }
    }
}

prop_compose! {
    fn devices(rule: VictimRule)
        (pages in 1_u32..150, per_unit in 1_u32..14, spare in 0_u32..9, handles in 1_u16..4,
         internal in 0_u16..3, start in 1_u32..5, stop in 0_u32..3, group_bits in 0_u32..3,
         isolated in 0_u16..3, off in 700_u16..1000, wear in wear(), faults in faults(),
         seed in any::<u64>()) -> Config {
        let groups = 1 << group_bits;
        let config = Config {
            host_streams: handles * groups as u16,
            internal_streams: internal * groups as u16,
            victim_rule: rule,
            seed,
            gc_start_free_units: start,
            gc_stop_free_units: start + stop,
            reclaim_groups: groups,
            persistently_isolated: isolated.min(handles),
            streams_off_permille: off,
            wear,
            faults,
            ..small(pages, per_unit, 0)
        };
        with_spare(config, spare)
    }
}

fn cases(config: Config) -> impl Strategy<Value = (Config, Vec<Operation>)> {
    let operations = operations(config.logical_pages, config.host_streams, 60);
    (Just(config), operations)
}

/// Runs `check` on random devices and operations for every victim rule with every relocation.
pub fn every_pair(
    cases_a_pair: u32,
    check: impl Fn(&Config, RelocationKind, &[Operation]) -> Result<(), TestCaseError>,
) {
    for rule in rules() {
        for kind in RelocationKind::ALL {
            let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            let settings = ProptestConfig {
                cases: cases_a_pair,
                failure_persistence: None,
                ..ProptestConfig::default()
            };
            let mut runner = TestRunner::new_with_rng(settings, random);
            let every = devices(rule).prop_flat_map(cases);
            let result = runner.run(&every, |(config, operations)| {
                check(&config, kind, &operations)
            });
            if let Err(error) = result {
                panic!("{rule} with {kind}: {error}");
            }
        }
    }
}
