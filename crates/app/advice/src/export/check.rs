//! Checks of advice: the same writes are placed as it says, on the same drive.

use std::{num::NonZeroUsize, sync::Arc, thread};

use anabranch_compare::{Fault, Result, Watch};
use anabranch_placement::{DeviceHalf, SchemeSpec};
use anabranch_replay::Fleet;
use anabranch_ssd::{Counters, relocate::RelocationKind};
use anabranch_trace::Io;

use super::plan::Plan;

/// The scheme `manual` with these rules, and the device half of the scheme they stand for. Where a
/// scheme's device half is its own, `substream` takes its place.
pub fn under_rules(plan: &Plan, rules: &str) -> Result<SchemeSpec> {
    let read = |_: &str| Ok(rules.to_owned());
    let spec = SchemeSpec::read("manual:rules=exported.toml", &read).map_err(Fault::work)?;
    Ok(spec.with_relocation(match plan.scheme.relocation() {
        DeviceHalf::Relocation(kind) => kind,
        DeviceHalf::Own => RelocationKind::SUBSTREAM,
    }))
}

/// The counters of each scheme's drive, over one pass over the trace.
pub fn measure(plan: &Plan, specs: &[SchemeSpec], watch: &mut dyn Watch) -> Result<Vec<Counters>> {
    let lanes = specs.iter().map(|spec| plan.lane(spec));
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let fleet = Fleet::start(lanes.collect::<Result<Vec<_>>>()?, cores);
    plan.each_batch("fed back: ", watch, &mut |ios, _| {
        // A lane that has failed closes its channel; `finish` tells why.
        let _ = fleet.send(&Arc::from(ios));
        Ok(())
    })?;
    let lanes = fleet.finish().map_err(Fault::usage)?;
    Ok(lanes.iter().map(|lane| *lane.counters()).collect())
}

/// The counters of one scheme's drive, for requests in memory.
pub fn measure_these(plan: &Plan, spec: &SchemeSpec, ios: &[Io]) -> Result<Counters> {
    let mut lane = plan.lane(spec)?;
    lane.apply_all(ios)
        .and_then(|()| lane.flush_batch())
        .map_err(Fault::work)?;
    Ok(*lane.counters())
}
