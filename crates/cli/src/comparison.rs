//! Which schemes are compared, and where the results go.

use std::{io::Write as _, path::Path};

#[cfg(feature = "live")]
use anabranch_compare::{read_text, schemes};
#[cfg(feature = "live")]
use anabranch_placement::SchemeSpec;
use anabranch_replay::Outcome as Comparison;
use anabranch_trace::WholeFile;
use serde_json::Value;

use crate::{
    arguments::ComparisonArguments,
    failure::{Failure, Outcome},
    files::is_standard_output,
};

/// Those that can work while a program runs.
#[cfg(feature = "live")]
pub fn live_schemes(arguments: &ComparisonArguments) -> Outcome<Vec<SchemeSpec>> {
    let specs = schemes(&arguments.into(), false, &read_text)?;
    match specs.iter().find(|spec| spec.needs_future()) {
        Some(bound) => Err(Failure::usage(bound.refused())),
        None => Ok(specs),
    }
}

/// Writes results where the options want them: a table or JSON on standard output, JSON in a file.
pub fn publish(results: &[Comparison], arguments: &ComparisonArguments) -> Outcome {
    let json = anabranch_compare::json(results)?;
    if let Some(path) = &arguments.output {
        write_json(path, &json)?;
    }
    if let Some(path) = &arguments.html {
        crate::report::write_page(path, results)?;
    }
    if arguments.json {
        return print(&format!("{json:#}\n"));
    }
    if arguments.html.as_deref().is_some_and(is_standard_output) {
        return Ok(());
    }
    for result in results {
        print(&format!(
            "{}\n\n{}{}\n\n",
            anabranch_report::comparison(result),
            anabranch_report::times(result),
            anabranch_report::verdict(result)
        ))?;
    }
    Ok(())
}

/// Writes JSON to a file that appears whole or not at all.
pub fn write_json(path: &Path, json: &Value) -> Outcome {
    let mut file = WholeFile::create(path)?;
    writeln!(file, "{json:#}").map_err(|error| {
        Failure::work(anyhow::anyhow!("cannot write {}: {error}", path.display()))
    })?;
    Ok(file.finish()?)
}

/// Prints to standard output. A reader that went away early (`| head`) is no failure.
pub fn print(text: &str) -> Outcome {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::work(error)),
        _ => Ok(()),
    }
}
