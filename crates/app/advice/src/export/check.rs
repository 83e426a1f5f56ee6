//! Checks of advice: the same writes are placed as it says, on the same drive.

use std::{num::NonZeroUsize, sync::Arc, thread};

use anabranch_compare::{CompareError, Result, Watch};
use anabranch_placement::{DeviceHalf, SchemeSpec};
use anabranch_replay::{Fleet, Lane};
use anabranch_ssd::{Counters, relocate::RelocationKind};
use anabranch_trace::Io;

use super::plan::{Half, Plan};

/// The cost of a placement: on all writes, and on the half of them from which no advice was made.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// The counters of the drive over all writes.
    pub whole: Counters,
    /// Those of the second half of the writes.
    pub unseen: Counters,
}

impl Cost {
    /// The cost by the counters at the end, and those when half was written.
    pub fn new(whole: Counters, at_half: Option<Counters>) -> Cost {
        Cost {
            whole,
            unseen: whole.since(&at_half.unwrap_or_default()),
        }
    }

    /// Pages that were copied during the first half of the writes.
    pub fn seen_copied_pages(&self) -> u64 {
        self.whole.copied_pages - self.unseen.copied_pages
    }
}

/// The scheme `manual` with these rules, and the device half of the scheme they stand for. Where a
/// scheme's device half is its own, `substream` takes its place.
pub fn under_rules(plan: &Plan, rules: &str) -> Result<SchemeSpec> {
    let read = |_: &str| Ok(rules.to_owned());
    let spec = SchemeSpec::read("manual:rules=exported.toml", &read).map_err(CompareError::work)?;
    Ok(spec.with_relocation(match plan.scheme.relocation() {
        DeviceHalf::Relocation(kind) => kind,
        DeviceHalf::Own => RelocationKind::SUBSTREAM,
    }))
}

/// The cost of each scheme, by one pass over the trace.
pub fn measure(plan: &Plan, specs: &[SchemeSpec], watch: &mut dyn Watch) -> Result<Vec<Cost>> {
    let lanes = specs.iter().map(|spec| plan.lane(spec));
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let lanes = lanes.collect::<Result<Vec<_>>>()?;
    let mut fleet = Fleet::start(lanes, cores);
    let counters =
        |lanes: &[Lane]| -> Vec<Counters> { lanes.iter().map(|lane| *lane.counters()).collect() };
    let mut at_half: Option<Vec<Counters>> = None;
    plan.each_batch("fed back: ", watch, &mut |ios, half| {
        if half == Half::Second && at_half.is_none() {
            // The lanes must come to rest before they can be asked what they counted.
            let full = std::mem::replace(&mut fleet, Fleet::start(Vec::new(), cores));
            let lanes = full.finish().map_err(CompareError::usage)?;
            at_half = Some(counters(&lanes));
            fleet = Fleet::start(lanes, cores);
        }
        // A lane that has failed closes its channel; `finish` reports why.
        let _ = fleet.send(&Arc::from(ios));
        Ok(())
    })?;
    let whole: Vec<Counters> = counters(&fleet.finish().map_err(CompareError::usage)?);
    let halves = at_half.unwrap_or_else(|| vec![Counters::default(); whole.len()]);
    let costs = whole.into_iter().zip(halves);
    Ok(costs
        .map(|(whole, half)| Cost::new(whole, Some(half)))
        .collect())
}

/// The cost of one scheme, for requests in memory.
pub fn measure_these(plan: &Plan, spec: &SchemeSpec, ios: &[Io]) -> Result<Cost> {
    let mut lane = plan.lane(spec)?;
    let (first, second) = ios.split_at(plan.first_half.min(ios.len()));
    let mut counted = |ios: &[Io]| -> Result<Counters> {
        lane.apply_all(ios)
            .and_then(|()| lane.flush_batch())
            .map_err(CompareError::work)?;
        Ok(*lane.counters())
    };
    let at_half = counted(first)?;
    Ok(Cost::new(counted(second)?, Some(at_half)))
}
