//! `anabranch experiment`: published figures of papers, beside the figures that come out here.

mod basis;
mod cell_findings;
mod claim;
mod document;
mod file;
mod findings;
mod grid;
mod lifetimes;
mod pivot;
mod run;
mod summary;

use std::path::{Path, PathBuf};

use anabranch_compare::from_one;
use clap::Args;

use crate::{
    error::{CommandError, Result},
    output::{print, write_json},
    report::write_page,
};
use file::Experiment;
use findings::ExperimentFindings;

pub const EXAMPLE: &str = "\
Examples:
  anabranch experiment list
  anabranch experiment hotstorage14
  anabranch experiment pcstream --claim 4
  anabranch experiment all --document docs/results/*.md
Each is a file in experiments/: traces or synthetic loads, drives, schemes, and what was published. The \
result, with every figure it rests on, is left in out/experiments/NAME.json.";

/// The directory of the experiments.
const DIRECTORY: &str = "lab/experiments";

#[derive(Debug, Args)]
pub struct ExperimentArguments {
    /// An experiment's name, a TOML file of your own, `all`, or `list`
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Directory of the experiments; the traces that they name are in a folder above it
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    pub directory: PathBuf,
    /// Run the programs again, where an experiment names a workload, and use what they write now
    /// instead of the recorded trace (as root; minutes)
    #[arg(long)]
    pub live: bool,
    /// Only these of its claims, by their rows, and the comparisons they rest on; nothing is left
    /// in out/experiments
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    pub claim: Vec<usize>,
    /// Write each experiment's claims into the FILE that has the lines `<!-- experiment NAME -->`
    /// and `<!-- end of NAME -->`, between them; experiments without such lines are left out
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "claim")]
    pub document: Vec<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the result, as JSON, to FILE instead of out/experiments/NAME.json
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a page of pictures of every comparison to FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Threads to replay on [default: one for each core]
    #[arg(long, value_name = "N", value_parser = from_one)]
    pub threads: Option<std::num::NonZeroUsize>,
}

/// Runs experiments, or lists them.
pub fn experiment(arguments: &ExperimentArguments) -> Result {
    if arguments.names == ["list"] {
        let all = all(&arguments.directory)?;
        let all = all.iter().map(|path| Experiment::read(path));
        return print(&summary::list(&all.collect::<Result<Vec<_>>>()?));
    }
    let experiments = chosen(arguments)?;
    check(&experiments, arguments)?;
    let mut results = Vec::new();
    let mut pictured = Vec::new();
    for experiment in &experiments {
        let found = ExperimentFindings::new(experiment, arguments)?;
        let json = serde_json::to_value(&found).map_err(CommandError::work)?;
        if let Some(path) = output(arguments, &experiment.name)? {
            write_json(&path, &json)?;
        }
        for path in &arguments.document {
            document::write(path, &found)?;
        }
        if !arguments.json {
            print(&summary::found(&found))?;
        }
        results.push(json);
        if arguments.html.is_some() {
            pictured.extend(found.into_comparisons());
        }
    }
    if let Some(path) = &arguments.html {
        write_page(path, &pictured)?;
    }
    match (arguments.json, results.as_slice()) {
        (true, [one]) => print(&format!("{one:#}\n")),
        (true, many) => print(&format!("{:#}\n", serde_json::json!(many))),
        (false, _) => Ok(()),
    }
}

/// Refuses options that are meant for a single experiment if there are several.
fn check(experiments: &[Experiment], arguments: &ExperimentArguments) -> Result {
    let several = experiments.len() > 1;
    if several && arguments.output.is_some() {
        return Err(CommandError::wrong_use(
            "--output is for one experiment; several go to out/experiments",
        ));
    }
    if several && !arguments.claim.is_empty() {
        return Err(CommandError::wrong_use("--claim is for one experiment"));
    }
    Ok(())
}

/// The path of a result; `None` for a partial result, unless a path is asked for.
fn output(arguments: &ExperimentArguments, name: &str) -> Result<Option<PathBuf>> {
    if let Some(path) = &arguments.output {
        return Ok(Some(path.clone()));
    }
    if !arguments.claim.is_empty() {
        return Ok(None);
    }
    let directory = root(&arguments.directory).join("out").join("experiments");
    std::fs::create_dir_all(&directory).map_err(|error| {
        CommandError::work(anyhow::anyhow!(
            "cannot make {}: {error}",
            directory.display()
        ))
    })?;
    Ok(Some(directory.join(format!("{name}.json"))))
}

/// The directory that paths of traces and results start from: the one of the two above the experiments' own that has a
/// folder `traces`, or else the nearer.
fn root(directory: &Path) -> PathBuf {
    let above = || directory.ancestors().skip(1).take(2);
    let with_traces = above().find(|above| above.join("traces").is_dir());
    let root = with_traces.or(above().next());
    root.unwrap_or(Path::new(".")).to_owned()
}

/// The files that experiments read: their own, and the traces they name. Errors in them are
/// reported when the experiment is run.
pub fn inputs(arguments: &ExperimentArguments) -> Vec<PathBuf> {
    let root = root(&arguments.directory);
    let mut files = paths(arguments).unwrap_or_default();
    let read = files.iter().filter_map(|path| Experiment::read(path).ok());
    let traces: Vec<String> = read.flat_map(Experiment::into_traces).collect();
    files.extend(traces.iter().map(|trace| root.join(trace)));
    files
}

fn chosen(arguments: &ExperimentArguments) -> Result<Vec<Experiment>> {
    let paths = paths(arguments)?;
    paths.iter().map(|path| Experiment::read(path)).collect()
}

/// The files of the experiments that are asked for.
fn paths(arguments: &ExperimentArguments) -> Result<Vec<PathBuf>> {
    if arguments.names == ["all"] {
        return all(&arguments.directory);
    }
    let path = |name: &String| {
        let named = Path::new(name);
        let path = if named
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            named.to_owned()
        } else {
            arguments.directory.join(format!("{name}.toml"))
        };
        if path.exists() {
            Ok(path)
        } else {
            Err(CommandError::wrong_use(format!(
                "no experiment is called \"{name}\" ({} is not there; `anabranch experiment list`)",
                path.display()
            )))
        }
    };
    arguments.names.iter().map(path).collect()
}

/// The names of the experiments where we are, and the words for all of them.
pub fn names() -> Vec<String> {
    let files = all(Path::new(DIRECTORY)).unwrap_or_default();
    let names = files.iter().filter_map(|path| path.file_stem()?.to_str());
    names.chain(["all", "list"]).map(str::to_owned).collect()
}

/// The files of all experiments, by name.
fn all(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory).map_err(|error| {
        CommandError::wrong_use(format!(
            "{}: {error}; call it where the experiments lie, or name them with --directory",
            directory.display()
        ))
    })?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    paths.sort();
    Ok(paths)
}
