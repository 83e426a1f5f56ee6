//! The sources of a replay's requests, and the comparison of schemes on them.

use std::path::{Path, PathBuf};

use anabranch_compare::{Format, ReplayOptions, Requests, TraceFile, read_text, schemes};
use anabranch_replay::Comparison;
use anabranch_trace::foreign;

use crate::{
    error::{CommandError, Result},
    progress::Bar,
    say, wrong_file,
};

/// Opens a trace file in the form asked for, or the one that it looks like. The form of a foreign
/// trace is printed.
pub fn open(path: &Path, format: Option<Format>, quick: bool) -> Result<TraceFile> {
    if let Some(words) = wrong_file::no_trace(path) {
        return Err(CommandError::wrong_use(words));
    }
    let format = format.or_else(|| wrong_file::is_foreign(path).then_some(Format::Auto));
    let trace = TraceFile::open(path, format, quick)?;
    if let Format::Foreign(found) = trace.format {
        note_format(format.unwrap_or(Format::Auto), found);
    }
    trace
        .without_digest()
        .iter()
        .for_each(|words| say::print_note(words));
    Ok(trace)
}

/// Prints which format is read, and whether it was guessed.
pub fn note_format(asked: Format, found: foreign::Format) {
    let how = match asked {
        Format::Auto => ", by its looks",
        _ => "",
    };
    say::print_note(&format!("format {}: {}{how}", found.name(), found.about()));
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
        .map(|path| open(path, format, options.quick))
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
        short.iter().for_each(|words| say::print_note(words));
        note_remarks(trace);
    }
    Ok(results)
}

/// Prints what was found to doubt in a foreign trace, once it was read, in the words of an import.
pub fn note_remarks(trace: &TraceFile) {
    let remarks = trace.remarks();
    remarks.iter().for_each(|words| say::print_note(words));
}
