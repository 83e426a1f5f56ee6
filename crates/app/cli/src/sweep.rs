//! `anabranch sweep`: many traces, drives and schemes, on all cores of this machine, or, by way of
//! the Python package, on a Dask cluster.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use anabranch_compare::{CompareError, bytes, from_one, small_file};
use anabranch_report::{Cell, Column, Grid as Table, Look, line};
use anabranch_sweep::{Done, FEW, Grid, Group, Limits, Plan, Quantiles, Reporter, local, summary};
use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;

use crate::{
    error::{CommandError, Result},
    output::print,
    progress, say,
    table_layout::TableArguments,
};

pub const EXAMPLE: &str = "\
Example: every volume of a fleet, three schemes, drives 80 % and 90 % full
  cat > grid.toml <<'END'
  traces = ['volumes/*.parquet']
  schemes = ['baseline+gc', 'sepbit', 'pcstream']
  fill = ['80%', '90%']
  [drive]
  device = 'pm963'
  END
  anabranch sweep grid.toml -o fleet
  anabranch sweep --summary -o fleet
The same on a Dask cluster, with the Python package installed there and here:
  anabranch sweep grid.toml -o fleet --scheduler tcp://head:8786
A sweep that was killed goes on where it was when it is called again. docs/sweeps.md has the grid's keys \
and the columns of fleet/cells/*.parquet.";

/// The variable that names the interpreter with the Python package.
const PYTHON: &str = "ANABRANCH_PYTHON";

/// Checks for the package and its Dask; follows [`APART`].
const HAS_PACKAGE: &str = "import anabranch, distributed";
/// Runs the package as its command; follows [`APART`].
const RUN_PACKAGE: &str =
    "import runpy; runpy.run_module('anabranch', run_name='__main__', alter_sys=True)";
/// Takes the current directory off the places of modules: whatever lies there would be run as the user of the sweep,
/// who may be root. `-P` does the same, but is new in Python 3.11; with it there is no such entry.
const APART: &str = "import sys; sys.path[:] = [place for place in sys.path if place]; ";

#[derive(Debug, Args)]
pub struct SweepArguments {
    /// The grid: a TOML file of traces, schemes, drives and parameters
    #[arg(required_unless_present = "summary", value_name = "GRID")]
    pub grid: Option<PathBuf>,
    /// The directory of the results
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: PathBuf,
    /// Only sum up what DIR holds: how figures are distributed over the traces
    #[arg(long, conflicts_with_all = ["grid", "scheduler"])]
    pub summary: bool,
    /// A Dask scheduler to work with, such as tcp://head:8786 (with Python's `anabranch[sweeps]`, of
    /// the interpreter in ANABRANCH_PYTHON, or else python3)
    #[arg(long, value_name = "ADDRESS")]
    pub scheduler: Option<String>,
    /// Batches at work beside each other on this machine [default: one for each core]
    #[arg(long, value_name = "N", value_parser = from_one, conflicts_with = "scheduler")]
    pub workers: Option<NonZeroUsize>,
    /// Cells that read a trace together, at most
    #[arg(long, value_name = "N", value_parser = from_one, default_value = "8")]
    pub batch: NonZeroUsize,
    /// Memory that a worker may take; what needs more is not begun
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<String>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub tables: TableArguments,
}

/// Performs the unfinished part of a grid, and prints a summary.
pub fn sweep(arguments: &SweepArguments) -> Result {
    let done = match (&arguments.grid, &arguments.scheduler) {
        (None, _) => Ok(true),
        (Some(grid), Some(address)) => elsewhere(grid, address, arguments).map(|()| true),
        (Some(grid), None) => here(grid, arguments),
    }?;
    // What could be done is summed up all the same.
    match (summary(&arguments.output), done) {
        (Ok(groups), _) => print_summary(&groups, arguments)?,
        (Err(fault), true) => return Err(fault.into()),
        (Err(_), false) => {}
    }
    if done {
        Ok(())
    } else {
        Err(CommandError::work(anyhow::anyhow!(
            "some cells could not be done; the others are in {}",
            arguments.output.display()
        )))
    }
}

fn print_summary(groups: &[Group], arguments: &SweepArguments) -> Result {
    if arguments.json {
        return print(&format!("{:#}\n", json!({ "schema": 1, "groups": groups })));
    }
    print(&render(groups, &arguments.tables.layout()))
}

/// Runs the sweep on the cores of this machine. Answers whether all cells could be done.
fn here(path: &Path, arguments: &SweepArguments) -> Result<bool> {
    let name = path.display().to_string();
    let text = small_file::settings(path)
        .map_err(|error| CommandError::wrong_use(format!("cannot read {name}: {error}")))?;
    let grid = Grid::parse(&name, &text)?;
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let limits = Limits {
        workers: arguments.workers.unwrap_or(cores),
        cells: arguments.batch.get(),
        memory_bytes: match &arguments.memory {
            Some(text) => bytes(text)?,
            None => u64::MAX,
        },
    };
    let mut teller = Teller {
        workers: limits.workers.get(),
        bar: progress::bar("sweeping"),
    };
    let swept = local(&grid, &arguments.output, &limits, &mut teller)?;
    teller.bar.finish_and_clear();
    say::print_note(&format!(
        "{} cells done now, {} before, {} failed, of {}",
        swept.done,
        swept.finished_before,
        swept.failed.len(),
        swept.cells
    ));
    failures(&swept.failed)
        .iter()
        .for_each(|line| say::error(line));
    Ok(swept.failed.is_empty())
}

/// Prints how far the sweep is.
struct Teller {
    workers: usize,
    bar: ProgressBar,
}

impl Reporter for Teller {
    fn planned(&mut self, plan: &Plan) {
        let left = (plan.cells - plan.finished) as u64;
        let workers = self.workers.min(plan.batches.len());
        say::print_note(&format!(
            "{left} of {} cells to do in {} batches; {workers} workers take up to {} of memory each",
            plan.cells,
            plan.batches.len(),
            anabranch_report::bytes(plan.most_memory_bytes())
        ));
        self.bar.set_length(left);
        self.bar.set_position(0);
        self.bar.reset_eta();
    }

    fn looked(&mut self, done: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
    }

    fn done(&mut self, done: &Done<'_>) {
        self.bar.inc(done.batch.schemes.len() as u64);
    }
}

/// Runs the sweep on a cluster, by way of the Python package, which knows Dask.
fn elsewhere(grid: &Path, address: &str, arguments: &SweepArguments) -> Result {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let lacks = |why: &dyn std::fmt::Display| {
        CommandError::wrong_use(format!(
            "cannot sweep with {python}: {why}; --scheduler needs Python with the package installed \
             (`pip install '.[sweeps]'` in the tree), named by {PYTHON} if it is not python3"
        ))
    };
    let has_package = Command::new(&python)
        .args(["-c", &[APART, HAS_PACKAGE].concat()])
        .stderr(std::process::Stdio::null())
        .status()
        .map_err(|error| lacks(&error))?;
    if !has_package.success() {
        return Err(lacks(&"it has no package anabranch, or none with Dask"));
    }
    let mut command = Command::new(&python);
    command
        .args(["-c", &[APART, RUN_PACKAGE].concat(), "sweep"])
        .arg(grid)
        .arg("--output")
        .arg(&arguments.output)
        .args(["--scheduler", address])
        .args(["--batch", &arguments.batch.to_string()]);
    if let Some(memory) = &arguments.memory {
        command.args(["--memory", &bytes(memory)?.to_string()]);
    }
    let status = command.status().map_err(|error| lacks(&error))?;
    match status.code() {
        Some(0) => Ok(()),
        // It has said why.
        code => Err(CommandError {
            status: code.map_or(crate::error::FAILED, |code| code as u8),
            error: None,
        }),
    }
}

/// A column of the summary: its name, its rank, and the function that makes a group's cell.
type Figure = (&'static str, u8, fn(&Group) -> Cell);

fn waf(group: &Group, of: fn(&Quantiles) -> f64) -> Cell {
    Cell::maybe(group.waf.as_ref().map(of), |waf| format!("{waf:.2}"))
}

fn life(group: &Group, of: fn(&Quantiles) -> f64) -> Cell {
    let life = group.lifetime_vs_ordinary.as_ref().map(of);
    Cell::maybe(life, |times| format!("{times:.2}x"))
}

/// The columns of the summary. With few volumes the least and the most take the place of tenths; CSV has both.
fn figures(is_csv: bool, are_few: bool) -> Vec<Figure> {
    let all: [(Figure, bool, bool); 14] = [
        (("cells", 1, |one| Cell::from(one.cells)), true, true),
        (("steady", 5, |one| Cell::from(one.steady)), true, true),
        (
            ("WAF least", 4, |one| waf(one, |waf| waf.least)),
            true,
            false,
        ),
        (("WAF p10", 4, |one| waf(one, |waf| waf.p10)), false, true),
        (("WAF p50", 0, |one| waf(one, |waf| waf.p50)), true, true),
        (("WAF p90", 2, |one| waf(one, |waf| waf.p90)), false, true),
        (("WAF p99", 6, |one| waf(one, |waf| waf.p99)), false, true),
        (("WAF most", 3, |one| waf(one, |waf| waf.most)), true, true),
        (
            ("WAF of all", 0, |one| {
                Cell::maybe(one.waf_of_all, |waf| anabranch_report::ratio(Some(*waf)))
            }),
            true,
            true,
        ),
        (
            ("lifetime least", 4, |one| life(one, |life| life.least)),
            true,
            false,
        ),
        (
            ("lifetime p10", 4, |one| life(one, |life| life.p10)),
            false,
            true,
        ),
        (
            ("lifetime p50", 0, |one| life(one, |life| life.p50)),
            true,
            true,
        ),
        (
            ("lifetime p90", 4, |one| life(one, |life| life.p90)),
            false,
            true,
        ),
        (
            ("worse", 1, |one| Cell::from(one.worse_than_ordinary)),
            true,
            true,
        ),
    ];
    let is_shown = |of_few: bool, of_many: bool| is_csv || if are_few { of_few } else { of_many };
    let told = all
        .into_iter()
        .filter(|(_, few, many)| is_shown(*few, *many));
    told.map(|(figure, ..)| figure).collect()
}

/// The groups as one table. Settings that all drives share stand above it, and those that differ in a column.
fn render(groups: &[Group], look: &Look) -> String {
    let are_few = groups.iter().all(|group| group.cells < FEW);
    let figures = figures(look.csv, are_few);
    let (common, own) = if look.csv {
        (
            String::new(),
            groups.iter().map(|group| group.drive.clone()).collect(),
        )
    } else {
        apart(groups)
    };
    let is_apart = look.csv || own.iter().any(|drive| !drive.is_empty());
    let drive = is_apart.then(|| Column::words("drive"));
    let heads = drive.into_iter().chain([Column::words("scheme")]);
    let numbers = figures
        .iter()
        .map(|(name, rank, _)| Column::number(*name).rank(*rank));
    let mut grid = Table::new(heads.chain(numbers));
    for (group, own) in groups.iter().zip(&own) {
        let drive = is_apart.then(|| Cell::from(own));
        let cells = figures.iter().map(|(_, _, of)| of(group));
        grid.push(
            drive
                .into_iter()
                .chain([Cell::from(&group.scheme)])
                .chain(cells),
        );
    }
    let table = grid.text(look);
    if look.csv {
        return format!("{table}\n");
    }
    let spread = if are_few {
        "p50 is the median; with so few cells, the least and the most stand in place of tenths"
    } else {
        "pN is what N % lie at or below"
    };
    let notes = format!(
        "over the traces: {spread}; of all: media bytes / host bytes of all together; all of the whole run; lifetime = WAF of an ordinary drive, \
         baseline+gc, / of the scheme; worse: cells that copy more than that drive; steady: cells whose WAF had settled"
    );
    look.wrapped(&format!("{}\n\n{table}\n\n{notes}\n", line(&common)))
}

/// The settings that the drives of all groups share, and those of each that differ.
fn apart(groups: &[Group]) -> (String, Vec<String>) {
    let split =
        |group: &'_ Group| -> Vec<String> { group.drive.split(", ").map(str::to_owned).collect() };
    let parts: Vec<Vec<String>> = groups.iter().map(split).collect();
    let Some(first) = parts.first() else {
        return (String::new(), Vec::new());
    };
    let is_common = |at: usize| parts.iter().all(|drive| drive.get(at) == first.get(at));
    let kept = |drive: &[String], common: bool| {
        let places = drive.iter().enumerate();
        let kept = places.filter(|(at, _)| is_common(*at) == common);
        kept.map(|(_, part)| part.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let own = parts.iter().map(|drive| kept(drive, false)).collect();
    (kept(first, true), own)
}

/// The reasons why cells could not be done, a line for each trace, drive and reason.
fn failures(failed: &[(String, CompareError)]) -> Vec<String> {
    let mut reasons: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for (name, fault) in failed {
        let (place, scheme) = name.rsplit_once(": ").unwrap_or(("", name));
        // A drive that cannot be is named by both.
        let drive = place.split_once(" on ").map_or("", |(_, drive)| drive);
        let fault = fault.to_string();
        let words = fault
            .strip_prefix(drive)
            .and_then(|rest| rest.strip_prefix(": "));
        let words = words.unwrap_or(&fault).to_owned();
        let known = reasons
            .iter_mut()
            .find(|(at, why, _)| *at == place && *why == words);
        match known {
            Some((_, _, schemes)) => schemes.push(scheme),
            None => reasons.push((place, words, vec![scheme])),
        }
    }
    let line = |(place, words, schemes): &(&str, String, Vec<&str>)| {
        format!("failed: {place}: {words} ({})", schemes.join(", "))
    };
    reasons.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(drive: &str, cells: usize) -> Group {
        let some = Quantiles::of(vec![1.0, 1.5]);
        Group {
            drive: drive.to_owned(),
            scheme: "sepbit".to_owned(),
            is_bound: false,
            cells,
            steady: cells,
            waf: some,
            waf_of_all: Some(1.2),
            lifetime_vs_ordinary: some,
            copies_removed: None,
            best: 0,
            worse_than_ordinary: 0,
        }
    }

    #[test]
    fn what_drives_have_in_common_is_told_once() {
        let drives = ["demo, 80 % full, greedy", "demo, 90 % full, greedy"];
        let text = render(&drives.map(|drive| group(drive, 30)), &Look::default());
        assert!(text.starts_with("demo, greedy\n\n| drive"), "{text}");
        assert!(text.contains("| 80 % full | sepbit"), "{text}");
    }

    #[test]
    fn few_volumes_have_no_tenths_but_as_csv() {
        let groups = [group("demo", FEW - 1)];
        let text = render(&groups, &Look::default());
        assert!(!text.contains("p90") && !text.contains("p99"), "{text}");
        assert!(text.contains("WAF least"), "{text}");
        let csv = render(
            &groups,
            &Look {
                csv: true,
                ..Look::default()
            },
        );
        assert!(
            csv.contains("WAF_p10") && csv.contains("WAF_least"),
            "{csv}"
        );
        let text = render(&[group("demo", FEW)], &Look::default());
        assert!(
            text.contains("p99") && !text.contains("WAF least"),
            "{text}"
        );
    }

    #[test]
    fn one_reason_is_told_once_and_its_drive_once() {
        let cell = |scheme: &str| format!("a.parquet on demo --unit 8MiB: {scheme}");
        let fault = CompareError::wrong_use("demo --unit 8MiB: too few units");
        let failed = ["baseline", "sepbit"].map(|scheme| (cell(scheme), fault.clone()));
        assert_eq!(
            failures(&failed),
            ["failed: a.parquet on demo --unit 8MiB: too few units (baseline, sepbit)"]
        );
    }
}
