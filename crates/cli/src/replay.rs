//! `anabranch replay`: the comparison of schemes on traces.

use std::path::PathBuf;

use anabranch_compare::{Format, ReplayOptions, Requests, TraceFile, read_text, schemes};
use anabranch_replay::Comparison;

use crate::{
    arguments::ReplayArguments, comparison::publish, failure::Result, progress::Bar, say, source,
};

/// Compares schemes on every trace and drive asked for, and prints the results.
pub fn replay(arguments: &ReplayArguments) -> Result {
    let results = compare(&arguments.options(), &arguments.traces, arguments.format)?;
    publish(&results, &arguments.publish)
}

/// Compares schemes on every trace and drive asked for.
pub fn compare(
    options: &ReplayOptions,
    traces: &[PathBuf],
    format: Option<Format>,
) -> Result<Vec<Comparison>> {
    let future_is_known = options.drive_file.is_none();
    let specs = schemes(&options.comparison, future_is_known, &read_text)?;
    let traces = traces
        .iter()
        .map(|path| source::open(path, format, options.quick))
        .collect::<Result<Vec<TraceFile>>>()?;
    let sources: Vec<&dyn Requests> = traces.iter().map(|trace| trace as _).collect();
    let results = anabranch_compare::replay(options, &specs, &sources, &mut Bar::default())?;
    for trace in &traces {
        let name = trace.name();
        // Drives that cannot be are passed over, so that traces may have different numbers of results.
        let is_of = |result: &&Comparison| {
            result.config.get("trace").and_then(|one| one.as_str()) == Some(name.as_str())
        };
        let written_bytes = results.iter().find(is_of).map(|one| one.source.write_bytes);
        let short = trace.short_of(written_bytes.unwrap_or(0));
        short.iter().for_each(|words| say::note(words));
    }
    Ok(results)
}
