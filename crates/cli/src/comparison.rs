//! The schemes of a comparison, and the places of its results.

use std::{io::Write as _, path::Path};

#[cfg(feature = "live")]
use anabranch_compare::{read_text, schemes};
#[cfg(feature = "live")]
use anabranch_placement::SchemeSpec;
use anabranch_replay::Comparison;
use anabranch_report::{Look, line, printable};
use anabranch_trace::WholeFile;
use serde::Serialize;
use serde_json::Value;

use crate::{
    arguments::PublishArguments,
    failure::{Failure, Result},
    files::is_standard_output,
};

/// The schemes asked for that can work while a program runs.
#[cfg(feature = "live")]
pub fn live_schemes(arguments: &crate::arguments::ComparisonArguments) -> Result<Vec<SchemeSpec>> {
    let specs = schemes(&arguments.options, false, &read_text)?;
    match specs.iter().find(|spec| spec.needs_future()) {
        Some(bound) => Err(Failure::usage(bound.refused())),
        None => Ok(specs),
    }
}

/// Writes results as the options ask: a table or JSON on standard output, JSON and a page in files.
pub fn publish(results: &[Comparison], arguments: &PublishArguments) -> Result {
    match keep(results, arguments)? {
        true => Ok(()),
        false => print(&told(results, &arguments.tables.look())),
    }
}

/// Writes results into the files that the options name, and as JSON to standard output if that is asked for. Answers
/// whether it was.
pub fn keep(results: &[Comparison], arguments: &PublishArguments) -> Result<bool> {
    let json = anabranch_compare::json(results)?;
    if let Some(path) = &arguments.output {
        write_json(path, &json)?;
    }
    if let Some(path) = &arguments.html {
        crate::report::write_page(path, results)?;
    }
    if arguments.json {
        print(&format!("{json:#}\n"))?;
    }
    // A page on standard output stands there alone.
    let is_page = arguments.html.as_deref().is_some_and(is_standard_output);
    Ok(arguments.json || is_page)
}

/// The text of results: a table with their answers; several results are one table.
fn told(results: &[Comparison], look: &Look) -> String {
    let table = anabranch_report::comparison(results, look);
    if look.csv {
        return format!("{table}\n");
    }
    let title = match results
        .first()
        .map(|result| line(&anabranch_report::heading(result).line()))
    {
        Some(title) if !title.is_empty() => format!("{title}\n\n"),
        _ => String::new(),
    };
    let text = match results {
        [result] => format!(
            "{title}{table}\n\n{}{}\n\n{}\n\n",
            anabranch_report::times(result, look),
            anabranch_report::notes(result),
            anabranch_report::answer(result, look)
        ),
        _ => format!(
            "{title}{table}\n\nwindow = the last capacity of writes; lifetime = media bytes of baseline / of \
             the scheme\n\n{}\n\n",
            anabranch_report::answers(results, look)
        ),
    };
    look.wrapped(&text)
}

/// A verb's finding as JSON.
pub fn json(found: &impl Serialize) -> Result<Value> {
    serde_json::to_value(found).map_err(Failure::work)
}

/// Writes a verb's finding: as JSON into a file if one is named, and on standard output as JSON or as the text that
/// `told` makes.
pub fn give(
    json: &Value,
    output: Option<&Path>,
    as_json: bool,
    told: impl FnOnce() -> String,
) -> Result {
    if let Some(path) = output {
        write_json(path, json)?;
    }
    match as_json {
        true => print(&format!("{json:#}\n")),
        false => print(&told()),
    }
}

/// Writes JSON to a file that appears whole or not at all.
pub fn write_json(path: &Path, json: &Value) -> Result {
    let mut file = WholeFile::create(path)?;
    // Whatever shows the file is commanded no more than a terminal is.
    let text = format!("{json:#}");
    writeln!(file, "{}", printable(&text)).map_err(|error| {
        Failure::work(anyhow::anyhow!("cannot write {}: {error}", path.display()))
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
        Err(error) => Err(Failure::work(error)),
    }
}
