//! The schemes of a comparison.

use std::path::Path;

use anabranch_placement::{Scheme, SchemeSpec};
use anabranch_ssd::relocate::RelocationKind;

use crate::{
    error::{CompareError, Result},
    options::ComparisonOptions,
    sampling::Sampling,
    small_file::settings,
};

/// The schemes asked for, in order, each once. `all` and the default leave out those that must know the future
/// where it cannot be known, and those that cannot be sampled where the drive is. `read` gives the
/// text of a file that a scheme's parameter names.
///
/// # Errors
/// When a scheme or one of its parameters is wrong.
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
        let read = SchemeSpec::read_list(list, read, belongs);
        for spec in read.map_err(CompareError::usage)? {
            if options.is_default() && spec.needs_future() && !future_is_known {
                continue;
            }
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
/// When the file cannot be read; the error is a sentence.
pub fn read_text(name: &str) -> Result<String, String> {
    settings(Path::new(name)).map_err(|error| format!("cannot read {name}: {error}"))
}

/// The scheme itself, or its host half with each of the relocations asked for.
fn halves(spec: SchemeSpec, relocations: &[RelocationKind]) -> Vec<SchemeSpec> {
    match relocations {
        [] => vec![spec],
        kinds => kinds
            .iter()
            .map(|&kind| spec.with_relocation(kind))
            .collect(),
    }
}
