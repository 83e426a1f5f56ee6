//! `anabranch replay`: the comparison of schemes on traces.

use crate::{arguments::ReplayArguments, comparison::publish, error::Result, source::compare};

/// Compares schemes on every trace and drive asked for, and prints the results.
pub fn replay(arguments: &ReplayArguments) -> Result {
    let results = compare(&arguments.options(), &arguments.traces, arguments.format)?;
    publish(&results, &arguments.publish)
}
