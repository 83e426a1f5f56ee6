//! The schemes of a comparison, and the places of its results.

#[cfg(feature = "live")]
use anabranch_compare::{read_text, schemes};
#[cfg(feature = "live")]
use anabranch_placement::SchemeSpec;
use anabranch_replay::Comparison;
use anabranch_report::{Look, line};

#[cfg(feature = "live")]
use crate::error::CommandError;
use crate::{
    arguments::PublishArguments,
    error::{Result, all},
    output::{is_standard_output, print, write_json},
};

/// The schemes asked for that can work while a program runs.
#[cfg(feature = "live")]
pub fn live_schemes(arguments: &crate::arguments::ComparisonArguments) -> Result<Vec<SchemeSpec>> {
    let specs = schemes(&arguments.options, false, &read_text)?;
    match specs.iter().find(|spec| spec.needs_future()) {
        Some(bound) => Err(CommandError::usage(bound.refused())),
        None => Ok(specs),
    }
}

/// Writes results as the options ask: a table or JSON on standard output, JSON and a page in files.
pub fn publish(results: &[Comparison], arguments: &PublishArguments) -> Result {
    // A page on standard output stands there alone.
    let is_page = arguments.html.as_deref().is_some_and(is_standard_output);
    let printed = if arguments.json || is_page {
        Ok(())
    } else {
        print(&render(results, &arguments.tables.layout()))
    };
    all([printed, keep(results, arguments)])
}

/// Writes results into the files that the options name, and as JSON to standard output if that is asked for; each by
/// itself, whatever becomes of the others.
pub fn keep(results: &[Comparison], arguments: &PublishArguments) -> Result {
    let json = anabranch_compare::json(results)?;
    let printed = if arguments.json {
        print(&format!("{json:#}\n"))
    } else {
        Ok(())
    };
    let output = arguments.output.as_deref();
    let written = output.map_or(Ok(()), |path| write_json(path, &json));
    let page = arguments.html.as_deref();
    let page = page.map_or(Ok(()), |path| crate::report::write_page(path, results));
    all([printed, written, page])
}

/// The text of results: a table with their answers; several results are one table.
fn render(results: &[Comparison], look: &Look) -> String {
    let answering: Vec<Comparison> = results.iter().map(Comparison::answering).cloned().collect();
    let results = &answering[..];
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
            "{title}{table}\n\n{}\n\n{}\n\n",
            anabranch_report::TERMS,
            anabranch_report::answers(results, look)
        ),
    };
    look.wrapped(&text)
}
