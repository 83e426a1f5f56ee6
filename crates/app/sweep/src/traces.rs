//! The traces of a grid on one machine.

use std::path::Path;

use anabranch_compare::{Result, matching};

/// The traces that paths and patterns name, in order, each once. Relative paths start from the
/// current directory.
///
/// # Errors
/// When a pattern names none.
pub fn local_traces(names: &[String]) -> Result<Vec<String>> {
    let mut traces: Vec<String> = Vec::new();
    for name in names {
        let is_pattern = name.contains(['*', '?', '[']) && !Path::new(name).exists();
        let found = if is_pattern {
            matching(name)?
                .iter()
                .map(|path| path.display().to_string())
                .collect()
        } else {
            vec![name.clone()]
        };
        for trace in found {
            if !traces.contains(&trace) {
                traces.push(trace);
            }
        }
    }
    Ok(traces)
}
