//! `anabranch replay`: the comparison, from traces.

use anabranch_compare::{Requests, TraceFile, read_text, schemes};
use anabranch_replay::Outcome as Comparison;

use crate::{
    arguments::ReplayArguments, comparison::publish, failure::Outcome, progress::Bar, source,
};

/// Compares schemes on every trace and drive asked for, and shows what was found.
pub fn replay(arguments: &ReplayArguments) -> Outcome {
    publish(&compare(arguments)?, &arguments.publish)
}

/// Compares schemes on every trace and drive asked for.
pub fn compare(arguments: &ReplayArguments) -> Outcome<Vec<Comparison>> {
    let options = arguments.options();
    let future_is_known = options.drive_file.is_none();
    let specs = schemes(&options.comparison, future_is_known, &read_text)?;
    let traces = arguments
        .traces
        .iter()
        .map(|path| source::open(path, arguments.format, options.quick))
        .collect::<Outcome<Vec<TraceFile>>>()?;
    let sources: Vec<&dyn Requests> = traces.iter().map(|trace| trace as _).collect();
    Ok(anabranch_compare::replay(
        &options,
        &specs,
        &sources,
        &mut Bar::default(),
    )?)
}
