//! The sources of a replay's requests.

use std::path::Path;

use anabranch_compare::{Format, TraceFile};
use anabranch_trace::foreign;

use crate::{failure::Result, say};

/// Opens a trace file in the form asked for, or the one its name suggests. The form of a foreign
/// trace is printed.
pub fn open(path: &Path, format: Option<Format>, quick: bool) -> Result<TraceFile> {
    let trace = TraceFile::open(path, format, quick)?;
    if let (Some(asked), Format::Foreign(found)) = (format, trace.format) {
        told(asked, found);
    }
    Ok(trace)
}

/// Prints which format is read, and whether it was guessed.
pub fn told(asked: Format, found: foreign::Format) {
    let how = match asked {
        Format::Auto => ", by its looks",
        _ => "",
    };
    say::note(&format!("format {}: {}{how}", found.name(), found.about()));
}
