//! `anabranch report`: results, or a sweep's, as one page of pictures.

use std::path::{Path, PathBuf};

use anabranch_compare::small_file;
use anabranch_replay::Comparison;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    error::{CommandError, Result},
    output::{print, write_text},
    wrong_file::is_trace,
};

pub const REPORT_EXAMPLE: &str = "\
Examples:
  anabranch replay rocksdb.parquet --details -o result.json && anabranch report result.json
  anabranch replay rocksdb.parquet --streams 2,4,8 --fill 80%,90% -o grid.json
  anabranch report grid.json -o grid.html
  anabranch sweep grid.toml -o fleet && anabranch report fleet -o fleet.html
The page is one file: it needs no network, and every picture's numbers are behind a click.";

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Results that `run`, `replay` or `experiment` wrote (`-o`), of one comparison or of many; what `steer` wrote; or
    /// the directory of a sweep
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,
    /// The page
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FILE",
        default_value = "report.html"
    )]
    pub output: PathBuf,
    /// Print what the page is of, and its answers, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Writes the page of some result files, or of some sweeps.
pub fn report(arguments: &ReportArguments) -> Result {
    let directories = arguments.results.iter().filter(|path| path.is_dir());
    match directories.count() {
        0 => {}
        all if all == arguments.results.len() => {
            let fleet = anabranch_sweep::fleet(&arguments.results)?;
            let page = anabranch_report::fleet_page(&fleet).map_err(CommandError::work)?;
            write_text(&arguments.output, &page)?;
            return print_summary(
                arguments,
                &json!({ "traces": fleet.traces, "groups": fleet.groups }),
            );
        }
        _ => {
            return Err(CommandError::wrong_use(
                "results and sweeps have pages of their own: name files, or directories of sweeps",
            ));
        }
    }
    let mut results = Vec::new();
    for path in &arguments.results {
        let text = text(path)?;
        if is_steered(&text) {
            return report_steered(arguments, path, &text);
        }
        results.extend(parsed(path, &text)?);
    }
    write_page(&arguments.output, &results)?;
    let answers = results.iter().map(|result| {
        let verdict = anabranch_report::verdict(result);
        json!({ "heading": anabranch_report::heading(result), "verdict": verdict })
    });
    print_summary(arguments, &json!(answers.collect::<Vec<_>>()))
}

/// Whether this is what `steer` told at its end.
fn is_steered(text: &str) -> bool {
    #[derive(Deserialize)]
    struct SteerReport {
        config: Config,
    }
    #[derive(Deserialize)]
    struct Config {
        verb: String,
    }
    serde_json::from_str(text).is_ok_and(|told: SteerReport| told.config.verb == "steer")
}

/// Writes the page of what `steer` told in the file `path`.
fn report_steered(arguments: &ReportArguments, path: &Path, text: &str) -> Result {
    if arguments.results.len() > 1 {
        return Err(CommandError::wrong_use(format!(
            "{} is a result of `anabranch steer`, which has a page of its own: name it alone",
            path.display()
        )));
    }
    let told: Value = serde_json::from_str(text).map_err(CommandError::wrong_use)?;
    let page = anabranch_report::steered_page(told.clone()).map_err(CommandError::wrong_use)?;
    write_text(&arguments.output, &page)?;
    print_summary(arguments, &json!([{ "steered": told }]))
}

/// Prints the headings and answers of the page, if that is asked for.
fn print_summary(arguments: &ReportArguments, shown: &Value) -> Result {
    if arguments.json {
        print(&format!(
            "{:#}\n",
            json!({ "schema": 1, "page": arguments.output, "shown": shown })
        ))
    } else {
        Ok(())
    }
}

/// Writes the page of these results to a file that appears whole or not at all, for the `--html` of every verb.
pub fn write_page(path: &Path, results: &[Comparison]) -> Result {
    write_text(
        path,
        &anabranch_report::page(results).map_err(CommandError::work)?,
    )
}

/// Reads the results in a file: one, or those of a grid or an experiment.
pub fn read(path: &Path) -> Result<Vec<Comparison>> {
    let text = text(path)?;
    if is_steered(&text) {
        return Err(CommandError::wrong_use(format!(
            "{} is a result of `anabranch steer`: it holds no comparison",
            path.display()
        )));
    }
    parsed(path, &text)
}

/// The results in the text of a file that `steer` did not write.
fn parsed(path: &Path, text: &str) -> Result<Vec<Comparison>> {
    let name = path.display().to_string();
    Ok(anabranch_compare::results(&name, text)?)
}

fn text(path: &Path) -> Result<String> {
    if is_trace(path) {
        let path = path.display();
        return Err(CommandError::wrong_use(format!(
            "{path} is a trace and no result: `anabranch replay {path} -o RESULT.json` makes one of it"
        )));
    }
    small_file::results(path).map_err(|error| {
        let path = path.display();
        CommandError::wrong_use(match error.kind() {
            std::io::ErrorKind::InvalidData => format!(
                "{path} is no result of anabranch: {error} (write one with `anabranch replay TRACE -o RESULT.json`)"
            ),
            _ => format!("cannot read {path}: {error}"),
        })
    })
}
