//! `midas`: Migration-based Data placement with Adaptive group number and Size configuration (Oh et
//! al., FAST'24).

mod groups;
mod hot_filter;
mod lives;
mod model;
mod search;
mod watch;

use std::sync::Arc;

use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Erased, Relocate, Survivor, Victim},
    victims::{ClosedUnits, VictimRule},
};

use crate::{
    assign::{Assign, Write},
    by_page::place_each,
    geometry::HostGeometry,
    halves::Halves,
    last_victims::LastVictims,
    last_writes::LastWrites,
    parameter::{in_sample, named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};
use groups::Groups;
use hot_filter::{HotFilter, Place};
use lives::Lives;
use model::{Drive, HotGroup};
use search::Search;
use watch::Watch;

/// The number of victims in one round from which on the configuration counts as failed (the authors' simulator).
const MOST_VICTIMS_A_ROUND: u32 = 25;
/// A group whose victims hold more valid data than predicted by this share ends the configuration
/// there (§4.4).
const ERROR: f64 = 0.1;
/// The share of an epoch that is written between two such checks (the authors' simulator).
const CHECK_SHARE: f64 = 0.3;

parameters! {
    /// Parameters of [`Midas`].
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Parameters {
        /// Groups there are, at most, the hot one included. 10: the authors' simulator.
        groups: Count(2..=32) = 10,
            "groups, the hot one and the last included";
        /// Drives' worth of writes in which lives are counted before a configuration is sought. 8: what the authors'
        /// simulator comes to (docs/schemes.md); the paper says 4 (§4.1).
        epoch: Number(0.1..=64.0) = 8.0,
            "drives' worth of writes between two searches for a configuration";
        /// One page in so many is followed. 100: §4.1.
        sample: Count(1..=1_000_000) = 100,
            "one page in so many is followed";
        /// Victim rule of the last group. Cost-benefit: the authors show their simulator with it.
        last: Word(LastVictims) = LastVictims::CostBenefit,
            "which unit of the last group is collected next";
    }
}

impl HostScheme for Parameters {
    named!("midas");

    fn sampled(&self, one_of: u32) -> Option<Arc<dyn HostScheme>> {
        Some(Arc::new(Parameters {
            sample: in_sample(self.sample, one_of),
            ..*self
        }))
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(Midas::new(self, &site.geometry())))
    }

    fn victim_rule(&self) -> Option<VictimRule> {
        Some(VictimRule::Scheme)
    }
}

/// A chain of groups: data that survives a group's collection moves to the next. Pages overwritten
/// again and again have a hot group before the chain. Groups are emptied first in, first out, at
/// sizes that a model of the whole chain found best for the lives counted of late; the last is
/// emptied by cost and benefit, or greedily. Until there is a configuration, and beyond a group that the
/// model misjudged, data moves on by how often it survived, and victims are chosen likewise among all units.
///
/// Follows the paper and its authors' simulator, with these choices of ours: a page's own age
/// stands for that of its unit; lives that began before an epoch count in full, so that the
/// simulator's correction of cut lives is not needed; memory is bounded, so that an epoch is not
/// doubled where the model errs; the first epoch begins when as much as the drive holds has been
/// written. Memory: 5 bytes for each page of the drive, and 4 for each quarter of a unit in an
/// epoch.
#[derive(Debug)]
pub struct Midas {
    writes: LastWrites,
    filter: HotFilter,
    lives: Lives,
    groups: Groups,
    watch: Watch,
    most_groups: usize,
    last: LastVictims,
    drive_pages: u64,
    epoch_pages: u64,
    /// When the epoch ends, in pages the host has written.
    epoch_ends: u64,
    units: u32,
    pages_per_unit: u32,
    /// Number of victims since the host last wrote; the field below says when that was.
    round: u32,
    round_at: u64,
}

impl Midas {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Midas {
        let drive_pages = u64::from(geometry.logical_pages).max(1);
        let epoch_pages = ((drive_pages as f64 * parameters.epoch) as u64).max(1);
        let most_groups = parameters.groups as usize;
        Midas {
            writes: LastWrites::new(geometry.logical_pages),
            filter: HotFilter::new(geometry.logical_pages),
            lives: Lives::new(epoch_pages, geometry.pages_per_unit, parameters.sample),
            groups: Groups::new(most_groups, geometry),
            watch: Watch::new(drive_pages, (epoch_pages as f64 * CHECK_SHARE) as u64),
            most_groups,
            last: parameters.last,
            drive_pages,
            epoch_pages,
            epoch_ends: u64::MAX,
            units: geometry.physical_units,
            pages_per_unit: geometry.pages_per_unit.max(1),
            round: 0,
            round_at: 0,
        }
    }

    fn place(&mut self, page: u32, now_pages: u64) -> StreamId {
        let mut hot = false;
        if let Some(age) = self.writes.write(page, now_pages) {
            self.lives.end(page, age);
            hot = self.filter.overwrite(page, age);
        }
        let stream = match self.groups.hot() {
            Some(stream) if hot => {
                self.filter.put(page, Place::Hot);
                self.watch.wrote(true);
                stream
            }
            _ => {
                self.filter.put(page, Place::First);
                self.watch.wrote(false);
                self.groups.first()
            }
        };
        if self.watch.is_due() || now_pages >= self.epoch_ends || self.epoch_ends == u64::MAX {
            self.keep_time(now_pages);
        }
        stream
    }

    /// Does the work that need not be done at every page.
    fn keep_time(&mut self, now_pages: u64) {
        if let Some(group) = self.watch.misjudged(self.groups.sized(), ERROR) {
            self.groups.give_up_from(group);
        }
        if self.epoch_ends == u64::MAX && self.watch.written() < self.drive_pages {
            return;
        }
        if self.epoch_ends != u64::MAX && now_pages >= self.epoch_ends {
            self.configure();
        }
        if now_pages >= self.epoch_ends || self.epoch_ends == u64::MAX {
            self.lives.clear();
            self.watch.begin_epoch();
            self.epoch_ends = now_pages.saturating_add(self.epoch_pages);
        }
    }

    /// Ends an epoch: searches for a chain, and uses it if it promises no more copies than there were recently.
    fn configure(&mut self) {
        let Some(curve) = self.lives.curve(self.pages_per_unit) else {
            return;
        };
        let hot = self.groups.has_hot().then(|| {
            let (units, traffic, valid) = self.watch.hot();
            HotGroup::measured(units, traffic, valid)
        });
        let search = Search {
            curve: &curve,
            drive: Drive {
                // One unit is the device's reserve.
                units: f64::from(self.units) - 1.0,
                live: self.writes.live_pages() as f64 / f64::from(self.pages_per_unit),
                pages_per_unit: f64::from(self.pages_per_unit),
            },
            hot,
            most_groups: self.groups.most_after_hot(self.most_groups),
        };
        let Some(chain) = search.best() else {
            return;
        };
        if chain.prediction.waf > self.watch.recent_waf() {
            return;
        }
        let hot_units = self.groups.has_hot().then_some(chain.hot.units.max(1));
        let sizes: Vec<u32> = hot_units.into_iter().chain(chain.sizes).collect();
        self.groups.configure(&sizes);
        let mut valid = chain.prediction.valid;
        if self.groups.has_hot() {
            valid.insert(0, 1.0);
        }
        self.watch.expect(valid);
    }

    /// Whether this round of collection has taken too many victims.
    fn is_stuck(&mut self, now: u64) -> bool {
        if now != self.round_at {
            self.round_at = now;
            self.round = 0;
        }
        self.round += 1;
        self.round.is_multiple_of(MOST_VICTIMS_A_ROUND)
    }
}

impl Assign for Midas {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, now_pages| self.place(page, now_pages))
    }

    fn prefetch(&self, pages: &[u32]) {
        self.writes.prefetch(pages);
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        let end = u32::try_from(pages.end()).unwrap_or(u32::MAX);
        for page in pages.first..end {
            match self.writes.age(page, now_pages) {
                Some(age) => self.lives.end(page, age),
                None if u64::from(page) >= self.drive_pages => break,
                None => {}
            }
        }
        self.writes.discard(pages);
        self.filter.discard(pages);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.writes.memory_bytes()
            + self.filter.memory_bytes()
            + self.lives.memory_bytes()
            + self.groups.memory_bytes()
            + self.watch.memory_bytes()
    }
}

impl Relocate for Midas {
    fn destination(&mut self, victim: &Victim) -> Destination {
        let group = self.groups.group_of(victim.stream);
        let valid = f64::from(victim.valid_pages) / f64::from(self.pages_per_unit);
        self.watch.collected(group, victim.valid_pages, valid);
        if Some(victim.stream) == self.groups.hot() {
            self.filter
                .hot_victim(victim.now.saturating_sub(victim.opened_at));
            self.watch.hot_collected(valid);
        }
        if self.groups.takes_writes(victim.stream) {
            Destination::Each
        } else {
            Destination::Stream(self.groups.next(group))
        }
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        self.filter.copy(survivor.page);
        self.groups.next(self.groups.group_of(victim.stream))
    }

    fn opened(&mut self, stream: StreamId) {
        self.groups.opened(stream);
    }

    fn erased(&mut self, erased: &Erased) {
        self.groups.erased(erased.stream, erased.units_left);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        if let Some(hot) = self.groups.hot() {
            self.watch.hot_holds(closed.count(hot) + 1);
        }
        if self.is_stuck(now) && self.groups.sized() > 0 {
            self.groups.give_up_from(self.groups.sized() - 1);
            self.watch.forget();
        }
        self.groups
            .victim(closed, self.last, now, self.pages_per_unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, stream};

    fn victim(stream: u16) -> Victim {
        Victim {
            stream: StreamId(stream),
            valid_pages: 4,
            opened_at: 0,
            now: 10,
        }
    }

    fn copy(scheme: &mut Midas, page: u32, from: u16) -> u16 {
        let survivor = Survivor { page, age_pages: 0 };
        scheme.survivor(&victim(from), survivor).0
    }

    #[test]
    fn pages_overwritten_soon_and_often_become_hot() {
        let mut scheme = Midas::new(&Parameters::default(), &DRIVE);
        // The filter waits for a drive's worth of overwrites, 64, and then for three of page 1.
        let answers: Vec<u16> = (0..70).map(|now| stream(&mut scheme, 1, now)).collect();
        assert_eq!(answers[..67], [1; 67]);
        assert_eq!(answers[67..], [0, 0, 0]);
        assert_eq!(stream(&mut scheme, 2, 70), 1);
    }

    #[test]
    fn survivors_move_down_the_chain() {
        let mut scheme = Midas::new(&Parameters::default(), &DRIVE);
        stream(&mut scheme, 1, 0);
        assert_eq!(scheme.destination(&victim(0)), Destination::Each);
        assert_eq!(copy(&mut scheme, 1, 0), 1, "hot to the first");
        let Destination::Each = scheme.destination(&victim(1)) else {
            unreachable!("writes are followed page by page");
        };
        let mut group = copy(&mut scheme, 1, 1);
        let mut seen = vec![group];
        for _ in 0..4 {
            let Destination::Stream(next) = scheme.destination(&victim(group)) else {
                unreachable!("copies move together");
            };
            group = next.0;
            seen.push(group);
        }
        assert!(seen[0] != seen[1] && seen[1] != seen[2], "{seen:?}");
        assert_eq!(seen[2..], [seen[2]; 3], "the last copies to itself");
    }

    #[test]
    fn an_epoch_of_two_lives_ends_in_a_configuration() {
        // 16 units of 64 pages, 12 of them data: half the writes go to 64 pages, half to 704.
        let drive = HostGeometry {
            logical_pages: 768,
            pages_per_unit: 64,
            physical_units: 17,
            ..DRIVE
        };
        let parameters = Parameters {
            sample: 1,
            epoch: 4.0,
            ..Parameters::default()
        };
        let mut scheme = Midas::new(&parameters, &drive);
        for now in 0..768 {
            stream(&mut scheme, now, u64::from(now));
        }
        // As bad as can be, so that any configuration is better.
        for now in 768_u32..768 * 6 {
            let page = match now % 2 {
                0 => now / 2 % 64,
                _ => 64 + (now / 2) % 704,
            };
            scheme.watch.collected(9, 60, 0.9);
            stream(&mut scheme, page, u64::from(now));
        }
        assert!(scheme.groups.sized() >= 1, "{:?}", scheme.groups);
    }
}
