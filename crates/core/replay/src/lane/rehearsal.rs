//! The choice between collecting and the host half alone, by a rehearsal of the latter on a drive of its own.

use anabranch_collect::{Collector, Contest, Moved, model_of};
use anabranch_placement::{Choice, Collection, KnownLifetimes, Names, Policy, SchemeSpec};
use anabranch_ssd::{Config, Counters, Keeps, StreamId};
use anabranch_trace::{Io, KeptPages};

use super::{Lane, LaneError, Start, UnfitLane};
use crate::{
    collected::{CannotCollect, CollectError, Collected, relocation_of},
    engine::Engine,
    pages::Pages,
};

/// The host half alone, rehearsed beside a host that collects.
pub(super) struct HostRehearsal {
    /// None where the host collects whatever it costs.
    half: Option<Box<Lane>>,
    contest: Contest,
    /// When the host forgets what it knew, and the policy and the model it begins anew with.
    restart: Option<(u64, Policy, Collector)>,
}

/// The next thing a collecting host does, beside going on.
enum Turn {
    /// The host half alone is better: it takes over.
    GiveUp(Box<Lane>),
    /// The host forgets what it knew.
    Restart(Policy, Box<Collector>),
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
        if !self.contest.is_due(ours.host_pages) {
            return None;
        }
        let due = |(at, ..): &mut (u64, Policy, Collector)| *at <= ours.host_pages;
        if let Some((_, policy, collector)) = self.restart.take_if(due) {
            return Some(Turn::Restart(policy, Box::new(collector)));
        }
        let half = self.half.as_ref()?.counters();
        if !self.contest.is_lost(moved(ours), moved(half)) {
            return None;
        }
        self.half.take().map(Turn::GiveUp)
    }
}

fn moved(counters: &Counters) -> Moved {
    Moved {
        host_pages: counters.host_pages,
        copied_pages: counters.copied_pages,
    }
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
            Some(Turn::Restart(policy, collector)) => {
                self.policy = policy;
                collected.restart(*collector);
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
            let collector =
                Collector::new(model.clone(), drive, Keeps::Places, own.relocation_mut())?;
            Ok::<_, UnfitLane>((at, own, collector))
        });
        let mut lane = lane(own, collected, drive, start);
        lane.rehearsal = Some(Box::new(HostRehearsal {
            half: rehearsed,
            contest: Contest::new(drive),
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
    lane.pages = Pages::of(shown);
    lane.sample = start.shown.map(|shown| KeptPages::new(&[shown.sample]));
    lane
}
