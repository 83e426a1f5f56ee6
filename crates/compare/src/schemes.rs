//! The schemes of a comparison.

use std::path::Path;

use anabranch_placement::{Scheme, SchemeSpec};
use anabranch_ssd::relocate::RelocationKind;

use crate::{
    fault::{Fault, Result},
    options::ComparisonOptions,
    sampling::Sampling,
    small_file::settings,
};

/// The schemes asked for, in order, each once. Where the future cannot be known, `all` leaves out
/// those that must know it, and where the drive is sampled
/// those that cannot be. `read` gives the text of a file that a scheme's parameter names.
///
/// # Errors
/// When one of them is wrong.
pub fn schemes(
    options: &ComparisonOptions,
    future_is_known: bool,
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<SchemeSpec>> {
    let is_sampled = options.sample.is_some_and(Sampling::leaves_out);
    let belongs = |scheme: &Scheme| {
        let host = (scheme.host)();
        (future_is_known || !host.needs_future()) && !(is_sampled && host.unsampled().is_some())
    };
    let mut specs: Vec<SchemeSpec> = Vec::new();
    for list in &options.schemes {
        let read = SchemeSpec::read_list_where(list, read, belongs);
        for spec in read.map_err(Fault::usage)? {
            for spec in halves(spec, &options.relocation) {
                if !specs.contains(&spec) {
                    specs.push(spec);
                }
            }
        }
    }
    Ok(specs)
}

/// The text of a file that a scheme's parameter names.
///
/// # Errors
/// In words, when it cannot be read.
pub fn read_text(name: &str) -> Result<String, String> {
    settings(Path::new(name)).map_err(|error| format!("cannot read {name}: {error}"))
}

/// A scheme as it is, or its host side with each of the relocations asked for.
fn halves(spec: SchemeSpec, relocations: &[RelocationKind]) -> Vec<SchemeSpec> {
    match relocations {
        [] => vec![spec],
        kinds => kinds
            .iter()
            .map(|&kind| spec.with_relocation(kind))
            .collect(),
    }
}
