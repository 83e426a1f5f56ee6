//! The schemes of a comparison, and the places of its results.

#[cfg(feature = "live")]
use anabranch_compare::{read_text, schemes};
#[cfg(feature = "live")]
use anabranch_placement::SchemeSpec;
use anabranch_replay::Comparison;
use anabranch_report::{Look, line};

#[cfg(feature = "live")]
use crate::failure::Failure;
use crate::{
    arguments::PublishArguments,
    failure::Result,
    output::{is_standard_output, print, write_json},
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
    if keep(results, arguments)? {
        Ok(())
    } else {
        print(&told(results, &arguments.tables.look()))
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
