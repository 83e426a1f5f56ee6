//! The choice between collecting and the host half alone, by a rehearsal of the latter on a drive of its own.

use std::collections::VecDeque;

use anabranch_placement::{Choice, Collection, KnownLifetimes, Names, Policy, SchemeSpec};
use anabranch_ssd::{Config, Counters, StreamId};
use anabranch_trace::{Io, KeptPages};

use super::{Lane, LaneError, Start, UnfitLane};
use crate::{
    collected::{CannotCollect, CollectError, Collected, HostModel, model_of, relocation_of},
    engine::Engine,
    pages::Pages,
};

/// Judgements per capacity of writes (our choice).
const JUDGEMENTS_PER_CAPACITY: u64 = 16;
/// Judgements back to which both are compared: half a capacity (our choice).
const WINDOW: usize = 8;
/// Judgements from when both collect to the first comparison: a capacity. Our choice: both collect the emptiest units of a
/// new drive first, and who began earlier is still behind by that.
const BEGIN: usize = 16;
/// The share of a capacity that the half has copied once it collects, one in so many. Our choice: a few pages are copied
/// long before.
const COLLECTS: u64 = 64;
/// Capacities of writes after which the bound holds: what was won or lost before does not count.
const LEARNING_CAPACITIES: u64 = 2;
/// The share of media pages by which collecting may be behind before the host gives up (our choice: a fifth of the bound
/// of 0.5 % that the choice is to hold).
const BEHIND: f64 = 0.001;

/// The host half alone, rehearsed beside a host that collects.
pub(super) struct HostRehearsal {
    /// None where the host collects whatever it costs.
    half: Option<Box<Lane>>,
    logical_pages: u64,
    next_at: u64,
    /// The counts of both at the last judgements, since both collect.
    past: VecDeque<Both>,
    /// Judgements since both collect.
    judgements: usize,
    /// The counts of both from which the bound holds: zero until [`LEARNING_CAPACITIES`] are written.
    since: Both,
    /// When the host forgets what it knew, and the policy and the model it begins anew with.
    restart: Option<(u64, Policy, HostModel)>,
}

/// The next thing a collecting host does, beside going on.
enum Turn {
    /// The host half alone is better: it takes over.
    GiveUp(Box<Lane>),
    /// The host forgets what it knew.
    Restart(Policy, Box<HostModel>),
}

impl HostRehearsal {
    pub(super) fn learn(&mut self, names: &Names) {
        if let Some(half) = &mut self.half {
            half.learn(names);
        }
        if let Some((_, policy, _)) = &mut self.restart {
            policy.learn(names);
        }
    }

    pub(super) fn restore_lifetimes(&mut self, known: &KnownLifetimes) {
        if let Some(half) = &mut self.half {
            half.restore_lifetimes(known);
        }
    }

    /// Performs a request on the rehearsal's drive.
    fn apply(&mut self, io: &Io) -> Result<(), LaneError> {
        match &mut self.half {
            Some(half) => half.apply(io),
            None => Ok(()),
        }
    }

    /// Compares both once in a while.
    fn turn(&mut self, ours: &Counters) -> Option<Turn> {
        if ours.host_pages < self.next_at {
            return None;
        }
        self.next_at += (self.logical_pages / JUDGEMENTS_PER_CAPACITY).max(1);
        let due = |(at, ..): &mut (u64, Policy, HostModel)| *at <= ours.host_pages;
        if let Some((_, policy, model)) = self.restart.take_if(due) {
            return Some(Turn::Restart(policy, Box::new(model)));
        }
        let now = (*ours, *self.half.as_ref()?.counters());
        if !has_begun(&now, self.logical_pages) {
            return None;
        }
        if self.since.0.host_pages == 0
            && ours.host_pages >= LEARNING_CAPACITIES * self.logical_pages
        {
            self.since = now;
        }
        self.judgements += 1;
        self.past.push_back(now);
        if self.past.len() <= WINDOW {
            return None;
        }
        let then = self.past.pop_front()?;
        if self.judgements <= BEGIN || !gives_up(&self.since, &then, &now) {
            return None;
        }
        let half = self.half.take()?;
        Some(Turn::GiveUp(half))
    }
}

/// Counts of a host that collects, and of the host half alone.
type Both = (Counters, Counters);

/// Whether both collect. Whoever collects first is behind until the other does, too; a half that need not collect while we
/// have copied twice as much is an answer by itself.
fn has_begun(now: &Both, logical_pages: u64) -> bool {
    let share = logical_pages / COLLECTS;
    now.1.copied_pages >= share || now.0.copied_pages >= 2 * share
}

/// Whether collecting has cost more than the host half alone, both since `start` and since `then`.
fn gives_up(start: &Both, then: &Both, now: &Both) -> bool {
    let is_behind = |from: &Both| {
        let (ours, half) = (now.0.since(&from.0), now.1.since(&from.1));
        ours.media_pages() as f64 > half.media_pages() as f64 * (1.0 + BEHIND)
    };
    is_behind(start) && is_behind(then)
}

impl From<CollectError> for UnfitLane {
    fn from(error: CollectError) -> UnfitLane {
        match error {
            CollectError::Config(error) => UnfitLane::Drive(error),
            CollectError::Time(error) => UnfitLane::Time(error),
            CollectError::Device(error) => UnfitLane::Before(error),
        }
    }
}

impl Lane {
    /// Performs a request on the rehearsal's drive, and does what the comparison with it calls for.
    pub(super) fn rehearse(&mut self, io: &Io) -> Result<(), LaneError> {
        let Some(mut rehearsal) = self.rehearsal.take() else {
            return Ok(());
        };
        let turn = rehearsal.turn(self.driven.engine.counters());
        if turn.is_some() {
            self.flush_batch()?;
        }
        let record = self.driven.records;
        let Engine::Collected(collected) = &mut self.driven.engine else {
            return Ok(());
        };
        match turn {
            Some(Turn::GiveUp(mut half)) => {
                half.flush_batch()?;
                let room = half.unit_room();
                self.policy = half.policy;
                return collected
                    .give_up(room)
                    .map_err(|problem| LaneError::Device { record, problem });
            }
            Some(Turn::Restart(policy, model)) => {
                self.policy = policy;
                collected.restart(*model);
                self.clock_pages = 0;
            }
            None => {}
        }
        rehearsal.apply(io)?;
        self.rehearsal = Some(rehearsal);
        Ok(())
    }

    /// Pages until the unit of each host stream ends; 0 where none is open.
    fn unit_room(&self) -> Vec<u32> {
        let Engine::Alone(device) = &self.driven.engine else {
            return Vec::new();
        };
        let all = device.config().pages_per_unit;
        let streams = (0..device.config().host_streams).map(StreamId);
        let room = streams.map(|stream| device.unit_room(stream));
        room.map(|room| if room == all { 0 } else { room })
            .collect()
    }

    /// The lane of a scheme whose host collects.
    pub(super) fn collected(
        spec: &SchemeSpec,
        collection: &Collection,
        drive: &Config,
        start: &Start<'_>,
    ) -> Result<Lane, UnfitLane> {
        let scheme = || spec.name().to_owned();
        if start.clock.is_some() && collection.is_disturbed_by_others() {
            return Err(CannotCollect::Timed { scheme: scheme() }.into());
        }
        if start.aged.is_some() {
            return Err(CannotCollect::Aged { scheme: scheme() }.into());
        }
        let model = model_of(spec, collection, drive)?;
        let half = spec.with_relocation(relocation_of(drive));
        if collection.choice == Choice::Never {
            let config = half.drive(drive);
            let policy = policy(&half, &config, start)?;
            let collected = Collected::new(drive, start.clock, collection, None)?;
            return Ok(lane(policy, collected, drive, start));
        }
        let mut own = policy(spec, &model, start)?;
        let relocation = own.relocation_mut();
        let begun = Some((model.clone(), relocation));
        let mut collected = Collected::new(drive, start.clock, collection, begun)?;
        // Counts alone decide: the rehearsal takes no time.
        let untimed = Start {
            clock: None,
            ..*start
        };
        let rehearsed = match collection.choice {
            Choice::Rehearsed => Some(Box::new(Lane::build(&half, drive, &untimed)?)),
            _ => None,
        };
        if let Some(half) = &rehearsed {
            collected.rehearses_on(half.engine().config());
        }
        let logical_pages = u64::from(drive.logical_pages);
        let restart = (collection.restart > 0.0).then(|| {
            let at = (collection.restart * logical_pages as f64) as u64;
            let mut own = policy(spec, &model, start)?;
            let model = HostModel::new(model.clone(), own.relocation_mut())?;
            Ok::<_, UnfitLane>((at, own, model))
        });
        let mut lane = lane(own, collected, drive, start);
        lane.rehearsal = Some(Box::new(HostRehearsal {
            half: rehearsed,
            logical_pages,
            next_at: 0,
            past: VecDeque::new(),
            judgements: 0,
            since: Both::default(),
            restart: restart.transpose()?,
        }));
        Ok(lane)
    }
}

fn policy(spec: &SchemeSpec, config: &Config, start: &Start<'_>) -> Result<Policy, UnfitLane> {
    let whole = start.shown.map(|shown| shown.whole(config));
    let shown = whole.as_ref().unwrap_or(config);
    Ok(spec.policy_of(shown, config, start.future)?)
}

fn lane(policy: Policy, collected: Collected, drive: &Config, start: &Start<'_>) -> Lane {
    let whole = start.shown.map(|shown| shown.whole(drive));
    let shown = whole.as_ref().unwrap_or(drive);
    let mut lane = Lane::new(policy, Engine::Collected(Box::new(collected)));
    lane.pages = Pages {
        logical_pages: shown.logical_pages,
        page_bytes: shown.page_bytes,
    };
    lane.sample = start.shown.map(|shown| KeptPages::new(&[shown.sample]));
    lane
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(host_pages: u64, copied_pages: u64) -> Counters {
        Counters {
            host_pages,
            copied_pages,
            ..Counters::default()
        }
    }

    #[test]
    fn a_host_gives_up_that_is_behind_in_all_and_lately() {
        let then = (counts(1000, 100), counts(1000, 100));
        let none = Both::default();
        let lately = |ours, half| gives_up(&none, &then, &(counts(2000, ours), counts(2000, half)));
        assert!(lately(203, 200));
        assert!(!lately(202, 200), "within the bound");
        assert!(!lately(190, 200));
        let ahead = (counts(1000, 100), counts(1000, 150));
        let since = |ours, half| gives_up(&none, &ahead, &(counts(2000, ours), counts(2000, half)));
        assert!(!since(220, 250), "behind lately, ahead in all");
        let behind = (counts(1000, 150), counts(1000, 100));
        let since =
            |ours, half| gives_up(&none, &behind, &(counts(2000, ours), counts(2000, half)));
        assert!(!since(250, 220), "behind in all, ahead lately");
        let since =
            |ours, half| gives_up(&ahead, &ahead, &(counts(2000, ours), counts(2000, half)));
        assert!(
            since(220, 250),
            "ahead before the bound holds, behind since"
        );
    }
}
