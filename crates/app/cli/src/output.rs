//! Outputs of a verb: text and JSON on standard output, and files that appear whole or not at all.

use std::{io::Write as _, path::Path};

use anabranch_report::printable;
use anabranch_trace::WholeFile;
use serde::Serialize;
use serde_json::Value;

use crate::error::{CommandError, Result};

/// Whether an output is standard output.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new(WholeFile::STANDARD_OUTPUT)
}

/// A verb's finding as JSON.
pub fn json(found: &impl Serialize) -> Result<Value> {
    serde_json::to_value(found).map_err(CommandError::work)
}

/// Writes a verb's finding: as JSON into a file if one is named, and on standard output as JSON or as the text that
/// `told` makes. A file that cannot be written (a full disk) does not take the printed finding along; the error is returned
/// afterwards.
pub fn give(
    json: &Value,
    output: Option<&Path>,
    as_json: bool,
    told: impl FnOnce() -> String,
) -> Result {
    let written = output.map_or(Ok(()), |path| write_json(path, json));
    let printed = if as_json {
        print(&format!("{json:#}\n"))
    } else {
        print(&told())
    };
    written.and(printed)
}

/// Writes JSON to a file that appears whole or not at all.
pub fn write_json(path: &Path, json: &Value) -> Result {
    let text = format!("{json:#}");
    // Whatever shows the file is commanded no more than a terminal is.
    write_text(path, &format!("{}\n", printable(&text)))
}

/// Writes text to a file that appears whole or not at all.
pub fn write_text(path: &Path, text: &str) -> Result {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(|error| {
        CommandError::work(anyhow::anyhow!("cannot write {}: {error}", path.display()))
    })?;
    Ok(file.finish()?)
}

/// Prints to standard output, with control characters escaped except for our own colours. A reader that went away early
/// (`| head`) is no failure.
pub fn print(text: &str) -> Result {
    is_read(text).map(|_| ())
}

/// Prints to standard output; answers whether somebody still reads it.
pub fn is_read(text: &str) -> Result<bool> {
    let mut output = std::io::stdout();
    let text = printable(text);
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CommandError::work(error)),
    }
}
