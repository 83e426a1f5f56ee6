//! `dogi`: data placement with oracle-guided insights (Kim et al., FAST'26).

mod features;
mod hot;
mod network;
mod plan;
mod samples;
mod streams;

use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
    victims::{ClosedUnits, VictimRule},
};

use crate::{
    assign::{Assign, Write},
    by_page::{draw, part, place_each},
    geometry::HostGeometry,
    halves::Halves,
    last_victims::LastVictims,
    last_writes::LastWrites,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};
use features::{Features, Scaler};
use hot::HotThreshold;
use network::{BATCH, CLASSES, Input, Network};
use plan::{Drive, Limits, Log, Plan, best_plan};
use samples::Samples;
use streams::Streams;

/// The share of the capacity at which the first class of lifetime ends, as a divisor; each other
/// class ends at twice the one before (§4.1).
const FIRST_CLASS: u64 = 100;
/// Writes between two trainings: 26 M blocks of the paper's 33.6 M (§4.2), by share of
/// capacity (our choice).
const TRAINING: f64 = 0.78;
/// Samples of a training: 300 K of 33.6 M blocks (§4.2), also by share of capacity, but never fewer
/// than [`LEAST_SAMPLES`].
const SAMPLES: f64 = 0.009;
const LEAST_SAMPLES: usize = 1024;
/// Samples are kept for this many trainings, so that most of their lives have ended (our choice).
const KEPT_TRAININGS: usize = 4;
/// One sample in this many is predicted and not learned from: these make the log that decides about
/// groups (the authors' prototype: a tenth).
const HELD_OUT: usize = 10;
/// Capacities of writes after which the marks of updated pages are cleared: 200 M of 33.6 M blocks
/// (§4.3).
const FROZEN: f64 = 6.0;

parameters! {
    /// Parameters of [`Dogi`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Groups between hot and frozen, at most, as far as the drive has host streams. 4: the authors' prototype; the
        /// text (§4.1) has up to 10.
        groups: Count(1..=CLASSES as u32) = 4,
            "groups between hot and frozen, at most one a host stream";
        /// Classes whose groups may have a time, from the shortest-lived. 6: the authors' prototype, where all others are
        /// the last group's; the text (§4.3) has every merge of ten.
        timed: Count(0..=CLASSES as u32 - 1) = 6,
            "classes whose groups may have a time";
        /// One in so many writes that are not hot is followed. 10: §4.2.
        sample: Count(1..=1_000_000) = 10,
            "one write in so many is followed";
        /// Times a training learns from each of its samples. 10: §4.2.
        epochs: Count(1..=1000) = 10,
            "times a training learns from each sample";
        /// Victim rule of the last group and the frozen one: the authors' prototype weighs cost and
        /// benefit, the text (§4.1) has the one with the fewest valid pages.
        last: Word(LastVictims) = LastVictims::CostBenefit,
            "which unit of the last group and the frozen one is collected next";
        /// Seed of the network's first weights, and of what it learns from.
        seed: Count(0..=u32::MAX) = 1,
            "seed of the network's first weights, and of what it learns from";
    }
}

impl HostScheme for Parameters {
    named!("dogi");

    fn unsampled(&self) -> Option<&'static str> {
        Some(
            "learns from a number of writes, which of a sampled drive are many times as much of its life",
        )
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(Dogi::new(self, &site.geometry())))
    }

    fn victim_rule(&self) -> Option<VictimRule> {
        Some(VictimRule::Scheme)
    }
}

/// The low bits of a page's state: the class that was predicted for its data, or one of the values
/// below.
const KIND: u8 = 0x0F;
const HOT: u8 = 0x0D;
/// The page was copied before, or written before there were predictions.
const OLD: u8 = 0x0E;
/// The page was updated since the bits were last cleared.
const UPDATED: u8 = 0x10;
/// The page's last write is followed.
const FOLLOWED: u8 = 0x20;

/// Pages rewritten soon are hot; of all other writes a small network predicts the class of
/// lifetime. Classes are merged into groups as a model of the drive finds best; groups are emptied
/// when they have lived as long as their classes do, and the last, with what is frozen, by cost and
/// benefit (`last=`). What survives its group goes to the one that holds what its class's survivors have left
/// to live; if it survives again, to the next; pages never updated, to the frozen group.
///
/// Follows the paper, and where that is not to be had the authors' prototype. Choices of ours: the
/// paper's numbers of blocks are taken as shares of its 128 GiB; the network learns on the spot
/// where theirs has a core of its own, from the last four trainings' samples, without dropout, and
/// goes on from the weights it had; before the first training, or where it predicts no better than
/// chance, writes are hot or not, copies are frozen or not, and victims of all are chosen by `last=`. The
/// last group keeps its stream however many there are. Memory: 6 bytes for each page of the drive,
/// 4 for each 2 MiB, and for the samples 2 more a page.
#[derive(Debug)]
pub struct Dogi {
    writes: LastWrites,
    pages: Vec<u8>,
    features: Features,
    samples: Samples,
    network: Network,
    /// The scaler of features; `None` before the first training.
    scaler: Option<Scaler>,
    plan: Option<Plan>,
    hot: HotThreshold,
    period: Period,
    clock: Clock,
    streams: Streams,
    timed: usize,
    sample: u32,
    /// Writes to pass over before one is followed.
    unfollowed: u32,
    epochs: u32,
    last: LastVictims,
    random: u64,
    physical_pages: f64,
    pages_per_unit: u32,
}

/// Counts since the last training.
#[derive(Debug, Default, Clone, Copy)]
struct Period {
    writes: u64,
    hot_writes: u64,
    hot_valid_pages: u64,
    hot_victims: u64,
}

/// The times at which things are due, in pages written since the beginning.
#[derive(Debug, Clone, Copy)]
struct Clock {
    written: u64,
    capacity: u64,
    training: u64,
    train_at: u64,
    clear_at: u64,
}

impl Dogi {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Dogi {
        let capacity = u64::from(geometry.logical_pages).max(1);
        let share = |share: f64| ((capacity as f64 * share) as u64).max(1);
        let samples = (share(SAMPLES) as usize).max(LEAST_SAMPLES);
        // On a small drive no more often than there are samples anew (our choice).
        let training = share(TRAINING).max(samples as u64 * u64::from(parameters.sample));
        let mut random = u64::from(parameters.seed);
        Dogi {
            writes: LastWrites::new(geometry.logical_pages),
            pages: vec![OLD; geometry.logical_pages as usize],
            features: Features::new(geometry),
            samples: Samples::new(samples * KEPT_TRAININGS),
            network: Network::new(&mut || (draw(&mut random) >> 40) as f32 / (1 << 24) as f32),
            scaler: None,
            plan: None,
            hot: HotThreshold::new(geometry.logical_pages),
            period: Period::default(),
            clock: Clock {
                written: 0,
                capacity,
                training,
                train_at: capacity + training,
                clear_at: share(FROZEN),
            },
            streams: Streams::new(parameters.groups, geometry),
            timed: parameters.timed as usize,
            sample: parameters.sample,
            unfollowed: 0,
            epochs: parameters.epochs,
            last: parameters.last,
            random,
            physical_pages: f64::from(geometry.physical_units.saturating_sub(1))
                * f64::from(geometry.pages_per_unit),
            pages_per_unit: geometry.pages_per_unit.max(1),
        }
    }

    fn groups(&self) -> usize {
        self.plan.as_ref().map_or(1, Plan::groups)
    }

    fn place(&mut self, page: u32, now_pages: u64) -> StreamId {
        let age = self.writes.write(page, now_pages);
        let input = self.features.write(page, age, now_pages);
        self.end(page, now_pages);
        self.clock.written += 1;
        self.hot.wrote();
        self.keep_time(now_pages);
        let warm = self.clock.written > self.clock.capacity;
        let is_hot = self.streams.has_hot && warm && age.is_some_and(|age| age < self.hot.pages());
        self.period.writes += 1;
        self.period.hot_writes += u64::from(is_hot);
        let followed = warm && !is_hot && self.follow(page, input, now_pages);
        let (kind, group) = match (is_hot, &self.plan, &self.scaler) {
            (true, _, _) => (HOT, 0),
            (false, Some(plan), Some(scaler)) => {
                let class = self.network.predict(&scaler.scale(&input));
                (
                    class as u8,
                    usize::from(plan.group_of[class.min(CLASSES - 1)]),
                )
            }
            _ => (OLD, self.groups()),
        };
        if let Some(state) = self.pages.get_mut(page as usize) {
            let updated = if age.is_some() { UPDATED } else { 0 };
            let followed = if followed { FOLLOWED } else { 0 };
            *state = kind | updated | followed;
        }
        self.streams.of_group(group, self.groups())
    }

    /// Notes that the data of a page died.
    fn end(&mut self, page: u32, now_pages: u64) {
        if let Some(state) = self.pages.get_mut(page as usize)
            && *state & FOLLOWED != 0
        {
            *state &= !FOLLOWED;
            self.samples.end(page, now_pages);
        }
    }

    /// Decides whether to follow a write. One in `sample` is followed, drawn at random so that
    /// writes in a regular pattern are not missed (our choice).
    fn follow(&mut self, page: u32, input: Input, now_pages: u64) -> bool {
        if self.unfollowed > 0 {
            self.unfollowed -= 1;
            return false;
        }
        let gaps = u64::from(self.sample) * 2 - 1;
        self.unfollowed = (draw(&mut self.random) % gaps) as u32;
        let dropped = self.samples.follow(page, input, now_pages);
        if let Some(state) = dropped.and_then(|page| self.pages.get_mut(page as usize)) {
            *state &= !FOLLOWED;
        }
        true
    }

    #[inline]
    fn keep_time(&mut self, now_pages: u64) {
        if self.clock.written >= self.clock.train_at {
            self.clock.train_at += self.clock.training;
            self.train(now_pages);
            self.features.fade();
            self.period = Period::default();
        }
        if self.clock.written >= self.clock.clear_at {
            self.clock.clear_at += ((self.clock.capacity as f64 * FROZEN) as u64).max(1);
            self.pages.iter_mut().for_each(|state| *state &= !UPDATED);
        }
    }

    /// Learns from the samples, and groups classes by how well those held out are predicted.
    #[cold]
    fn train(&mut self, now_pages: u64) {
        let all = self.samples.all();
        if all.len() < LEAST_SAMPLES / 2 {
            return;
        }
        let scaler = Scaler::of(all.iter().map(|sample| &sample.input));
        let classed: Vec<(Input, usize, u64)> = all
            .iter()
            .map(|sample| {
                let life = sample.life_pages(now_pages);
                (scaler.scale(&sample.input), self.class_of(life), life)
            })
            .collect();
        let trained = classed.len() / KEPT_TRAININGS * self.epochs as usize;
        for _ in 0..trained.div_ceil(BATCH) {
            let random = &mut self.random;
            let batch = (0..BATCH).map(|_| {
                let index = ((draw(random) >> 32) as usize * classed.len()) >> 32;
                let index = if index.is_multiple_of(HELD_OUT) {
                    index + 1
                } else {
                    index
                };
                classed
                    .get(index)
                    .map_or((Input::default(), 0), |&(input, class, _)| (input, class))
            });
            self.network.learn(batch);
        }
        let mut log = Log::default();
        for &(input, class, life) in classed.iter().step_by(HELD_OUT) {
            log.record(self.network.predict(&input), class, life);
        }
        self.plan = best_plan(
            &log,
            &self.bounds(),
            &self.drive(),
            Limits {
                groups: self.streams.most_groups(),
                timed: self.timed,
            },
        );
        self.scaler = Some(scaler);
    }

    fn base(&self) -> u64 {
        (self.clock.capacity / FIRST_CLASS).max(1)
    }

    fn class_of(&self, life_pages: u64) -> usize {
        let times = life_pages / self.base();
        ((u64::BITS - times.leading_zeros()) as usize).min(CLASSES - 1)
    }

    /// The lifetimes, in pages, at which each class but the last ends.
    fn bounds(&self) -> Vec<u64> {
        (0..CLASSES - 1).map(|class| self.base() << class).collect()
    }

    fn drive(&self) -> Drive {
        let period = &self.period;
        let victims = period.hot_victims * u64::from(self.pages_per_unit);
        Drive {
            physical_pages: self.physical_pages,
            pages_per_unit: f64::from(self.pages_per_unit),
            live_pages: self.writes.live_pages() as f64,
            hot_traffic: period.hot_writes as f64 / period.writes.max(1) as f64,
            hot_valid: period.hot_valid_pages as f64 / victims.max(1) as f64,
            hot_pages: self.hot.pages() as f64,
        }
    }

    /// The oldest unit of the first group whose time is over.
    fn expired(&self, plan: &Plan, closed: &ClosedUnits, now: u64) -> Option<u32> {
        let base = self.base();
        let hot = self.streams.has_hot.then(|| (0, self.hot.pages()));
        let ends = plan.ends.iter().take(plan.groups() - 1).enumerate();
        let groups = ends.map(|(index, &end)| (index + 1, base << end));
        let mut timed = hot.into_iter().chain(groups);
        timed.find_map(|(group, bound)| {
            let stream = self.streams.of_group(group, plan.groups());
            let oldest = closed.oldest(stream)?;
            let expired = now.saturating_sub(oldest.opened_at) > bound;
            expired.then_some(oldest.unit)
        })
    }
}

impl Assign for Dogi {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, now_pages| self.place(page, now_pages))
    }

    fn prefetch(&self, pages: &[u32]) {
        self.writes.prefetch(pages);
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        let end = pages.end().min(self.pages.len() as u64) as u32;
        (pages.first..end).for_each(|page| self.end(page, now_pages));
        self.writes.discard(pages);
        self.features.discard(pages);
        part(&mut self.pages, pages).fill(OLD);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.writes.memory_bytes()
            + self.pages.capacity()
            + self.features.memory_bytes()
            + self.samples.memory_bytes()
            + self.network.memory_bytes()
    }
}

impl Relocate for Dogi {
    fn destination(&mut self, victim: &Victim) -> Destination {
        self.hot.copied(victim.valid_pages);
        if self.streams.has_hot && victim.stream == StreamId(0) {
            self.period.hot_valid_pages += u64::from(victim.valid_pages);
            self.period.hot_victims += 1;
        }
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let Some(state) = self.pages.get_mut(survivor.page as usize) else {
            return victim.stream;
        };
        let kind = *state & KIND;
        *state = *state & !KIND | OLD;
        if *state & UPDATED == 0 {
            return self.streams.frozen;
        }
        let Some(plan) = &self.plan else {
            return self.streams.survivors;
        };
        let groups = plan.groups();
        let group = match plan.survivors.get(usize::from(kind)) {
            Some(&group) => usize::from(group),
            None if kind == HOT => 1,
            None => self.streams.group_of(victim.stream, groups) + 1,
        };
        self.streams.of_group(group, groups)
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        // Without a plan no group has a time, and units of all streams are weighed.
        let plan = self.plan.as_ref();
        if let Some(unit) = plan.and_then(|plan| self.expired(plan, closed, now)) {
            return Some(unit);
        }
        let timed = plan.map_or(0, Plan::groups);
        let untimed = self.streams.untimed(timed);
        self.last.choose(untimed, closed, now, self.pages_per_unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, stream};

    /// 6,400 pages: classes end at 64, 128, … pages, hot is what is rewritten within 38.
    const LARGE: HostGeometry = HostGeometry {
        logical_pages: 6400,
        pages_per_unit: 64,
        physical_units: 120,
        ..DRIVE
    };

    fn scheme() -> Dogi {
        let parameters = Parameters {
            groups: 10,
            epochs: 100,
            ..Parameters::default()
        };
        Dogi::new(&parameters, &LARGE)
    }

    fn victim(stream: u16) -> Victim {
        Victim {
            stream: StreamId(stream),
            valid_pages: 1,
            opened_at: 0,
            now: 0,
        }
    }

    fn copy(scheme: &mut Dogi, page: u32, from: u16) -> u16 {
        let survivor = Survivor { page, age_pages: 0 };
        scheme.survivor(&victim(from), survivor).0
    }

    /// Fills the drive, then writes one region round and round and, every other page, the rest.
    fn trained() -> (Dogi, u64) {
        let mut scheme = scheme();
        let mut now = 0;
        for page in 0..6400 {
            stream(&mut scheme, page, now);
            now += 1;
        }
        for turn in 0..12_000_u32 {
            stream(&mut scheme, turn % 100, now);
            stream(&mut scheme, 100 + turn * 11 % 6300, now + 1);
            now += 2;
        }
        (scheme, now)
    }

    #[test]
    fn lives_are_classed_by_doublings_of_a_hundredth_of_the_drive() {
        let scheme = scheme();
        for (life, class) in [(0, 0), (63, 0), (64, 1), (127, 1), (128, 2), (1 << 40, 9)] {
            assert_eq!(scheme.class_of(life), class, "{life}");
        }
        assert_eq!(scheme.bounds()[..3], [64, 128, 256]);
    }

    #[test]
    fn before_it_has_learned_writes_are_hot_or_not_and_copies_frozen_or_not() {
        let mut scheme = scheme();
        assert_eq!(stream(&mut scheme, 1, 0), 7);
        assert_eq!(stream(&mut scheme, 1, 1), 7, "too early to tell");
        (0..6400).for_each(|page| {
            stream(&mut scheme, page, 2 + u64::from(page));
        });
        assert_eq!(stream(&mut scheme, 6399, 6402), 0, "rewritten at once");
        assert_eq!(stream(&mut scheme, 5, 6403), 7);
        assert_eq!(copy(&mut scheme, 9, 7), 8, "never updated");
        assert_eq!(copy(&mut scheme, 5, 7), 9);
    }

    #[test]
    fn it_learns_to_tell_short_lives_from_long() {
        let (mut scheme, now) = trained();
        let plan = scheme.plan.clone().unwrap();
        assert!(plan.groups() > 1, "{plan:?}");
        let short = stream(&mut scheme, 50, now);
        let long = stream(&mut scheme, 5000, now + 1);
        assert!(short < long, "{short} and {long} of {plan:?}");
    }

    #[test]
    fn survivors_follow_their_class_once_and_then_move_on() {
        let (mut scheme, now) = trained();
        let plan = scheme.plan.clone().unwrap();
        stream(&mut scheme, 50, now);
        let class = usize::from(scheme.pages[50] & KIND);
        let groups = plan.groups();
        let first = scheme
            .streams
            .of_group(plan.survivors[class].into(), groups);
        assert_eq!(copy(&mut scheme, 50, 1), first.0);
        let second = copy(&mut scheme, 50, 1);
        assert_eq!(
            second,
            scheme.streams.of_group(2, groups).0,
            "after group 1"
        );
        assert_eq!(copy(&mut scheme, 50, 7), 7, "the last keeps its own");
        scheme.pages[50] = HOT | UPDATED;
        assert_eq!(
            copy(&mut scheme, 50, 0),
            scheme.streams.of_group(1, groups).0
        );
    }

    #[test]
    fn a_seed_repeats_itself() {
        let (mut first, now) = trained();
        let (mut second, _) = trained();
        for page in 0..500 {
            let streams = [&mut first, &mut second].map(|scheme| stream(scheme, page, now));
            assert_eq!(streams[0], streams[1]);
        }
    }
}
