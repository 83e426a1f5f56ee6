//! `anabranch report`: results, or a sweep's, as one page of pictures.

use std::path::{Path, PathBuf};

use anabranch_compare::small_file;
use anabranch_replay::Comparison;
use clap::Args;
use serde_json::{Value, json};

use crate::{
    failure::{Failure, Result},
    output::{print, write_text},
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
            let page = anabranch_report::fleet_page(&fleet).map_err(Failure::work)?;
            write_text(&arguments.output, &page)?;
            return tell(
                arguments,
                &json!({ "traces": fleet.traces, "groups": fleet.groups }),
            );
        }
        _ => {
            return Err(Failure::wrong_use(
                "results and sweeps have pages of their own: name files, or directories of sweeps",
            ));
        }
    }
    if let [path] = &arguments.results[..]
        && let Some(told) = steered(path)?
    {
        let page = anabranch_report::steered_page(told.clone()).map_err(Failure::wrong_use)?;
        write_text(&arguments.output, &page)?;
        return tell(arguments, &json!([{ "steered": told }]));
    }
    let mut results = Vec::new();
    for path in &arguments.results {
        results.extend(read(path)?);
    }
    write_page(&arguments.output, &results)?;
    let answers = results.iter().map(|result| {
        let verdict = anabranch_report::verdict(result);
        json!({ "heading": anabranch_report::heading(result), "verdict": verdict })
    });
    tell(arguments, &json!(answers.collect::<Vec<_>>()))
}

/// What `steer` told at its end, if a file holds that.
fn steered(path: &Path) -> Result<Option<Value>> {
    let told: Value = serde_json::from_str(&text(path)?).unwrap_or_default();
    let is_steered = told["config"]["verb"] == "steer";
    Ok(is_steered.then_some(told))
}

/// Prints the headings and answers of the page, if that is asked for.
fn tell(arguments: &ReportArguments, shown: &Value) -> Result {
    match arguments.json {
        true => print(&format!(
            "{:#}\n",
            json!({ "schema": 1, "page": arguments.output, "shown": shown })
        )),
        false => Ok(()),
    }
}

/// Writes the page of these results to a file that appears whole or not at all, for the `--html` of every verb.
pub fn write_page(path: &Path, results: &[Comparison]) -> Result {
    write_text(
        path,
        &anabranch_report::page(results).map_err(Failure::work)?,
    )
}

/// Reads the results in a file: one, or those of a grid or an experiment.
pub fn read(path: &Path) -> Result<Vec<Comparison>> {
    let name = path.display().to_string();
    Ok(anabranch_compare::results(&name, &text(path)?)?)
}

fn text(path: &Path) -> Result<String> {
    small_file::results(path)
        .map_err(|error| Failure::wrong_use(format!("cannot read {}: {error}", path.display())))
}
