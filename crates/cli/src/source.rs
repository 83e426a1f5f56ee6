//! Where a replay's requests come from.

use std::path::Path;

use anabranch_compare::TraceFile;

use crate::{failure::Outcome, formats::Format, import::told};

/// A trace file in the form asked for, or the one its name suggests; what form another's is, is
/// said aloud.
pub fn open(path: &Path, format: Option<Format>, quick: bool) -> Outcome<TraceFile> {
    let trace = TraceFile::open(path, format.map(Into::into), quick)?;
    if let (Some(Format::Foreign(asked)), anabranch_compare::Format::Foreign(found)) =
        (format, trace.format)
    {
        told(asked, found);
    }
    Ok(trace)
}
