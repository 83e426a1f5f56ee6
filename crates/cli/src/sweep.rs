//! `anabranch sweep`: many traces, drives and schemes, on all cores of this machine, or, by way of
//! the Python package, on a Dask cluster.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use anabranch_compare::{bytes, small_file};
use anabranch_report::{Cell, Column, Grid as Table, Look, line};
use anabranch_sweep::{Done, Grid, Group, Limits, Plan, Quantiles, Reporter, local, summary};
use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;

use crate::{
    comparison::print,
    failure::{Failure, Outcome},
    look::TableArguments,
    progress, say,
};

pub const EXAMPLE: &str = "\
Example: every volume of a fleet, three schemes, drives 80 % and 90 % full
  cat > grid.toml <<'END'
  traces = ['volumes/*.parquet']
  schemes = ['baseline', 'sepbit', 'pcstream']
  fill = ['80%', '90%']
  [drive]
  device = 'pm963'
  END
  anabranch sweep grid.toml -o fleet
  anabranch sweep --summary -o fleet
The same on a Dask cluster, with the Python package installed there and here:
  anabranch sweep grid.toml -o fleet --scheduler tcp://head:8786
A sweep that was killed goes on where it was when it is called again. docs/sweeps.md has the grid's keys
and the columns of fleet/cells/*.parquet.";

/// The interpreter that has the Python package.
const PYTHON: &str = "ANABRANCH_PYTHON";

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
    #[arg(long, value_name = "N", conflicts_with = "scheduler")]
    pub workers: Option<NonZeroUsize>,
    /// Cells that read a trace together, at most
    #[arg(long, value_name = "N", default_value = "8")]
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

/// Does what is left of a grid, and sums it up.
pub fn sweep(arguments: &SweepArguments) -> Outcome {
    if let Some(grid) = &arguments.grid {
        match &arguments.scheduler {
            Some(address) => elsewhere(grid, address, arguments)?,
            None => here(grid, arguments)?,
        }
    }
    let groups = summary(&arguments.output)?;
    if arguments.json {
        return print(&format!("{:#}\n", json!({ "schema": 1, "groups": groups })));
    }
    print(&told(&groups, &arguments.tables.look()))
}

/// On the cores of this machine.
fn here(path: &Path, arguments: &SweepArguments) -> Outcome {
    let name = path.display().to_string();
    let text = small_file::settings(path)
        .map_err(|error| Failure::say(format!("cannot read {name}: {error}")))?;
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
    say::note(&format!(
        "{} cells done now, {} before, {} failed, of {}",
        swept.done,
        swept.finished_before,
        swept.failed.len(),
        swept.cells
    ));
    for (name, fault) in &swept.failed {
        say::error(&format!("failed: {name}: {fault}"));
    }
    match swept.failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::work(anyhow::anyhow!(
            "{} cells could not be done; the others are in {}",
            swept.failed.len(),
            arguments.output.display()
        ))),
    }
}

/// Tells a person how far the sweep is.
struct Teller {
    workers: usize,
    bar: ProgressBar,
}

impl Reporter for Teller {
    fn planned(&mut self, plan: &Plan) {
        let left = (plan.cells - plan.finished) as u64;
        let workers = self.workers.min(plan.batches.len());
        say::note(&format!(
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

/// On a cluster: the Python package knows Dask.
fn elsewhere(grid: &Path, address: &str, arguments: &SweepArguments) -> Outcome {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let lacks = |why: &dyn std::fmt::Display| {
        Failure::say(format!(
            "cannot sweep with {python}: {why}; --scheduler needs Python with the package installed \
             (`pip install '.[sweeps]'` in the tree), named by {PYTHON} if it is not python3"
        ))
    };
    let has_package = Command::new(&python)
        .args(["-c", "import anabranch, distributed"])
        .stderr(std::process::Stdio::null())
        .status()
        .map_err(|error| lacks(&error))?;
    if !has_package.success() {
        return Err(lacks(&"it has no package anabranch, or none with Dask"));
    }
    let mut command = Command::new(&python);
    command
        .args(["-m", "anabranch", "sweep"])
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
        code => Err(Failure {
            status: code.map_or(crate::failure::FAILED, |code| code as u8),
            error: None,
        }),
    }
}

/// Groups as one table, the drives told apart by a column where there are several.
fn told(groups: &[Group], look: &Look) -> String {
    let figures = [
        ("cells", 1),
        ("steady", 5),
        ("WAF p10", 4),
        ("WAF p50", 0),
        ("WAF p90", 2),
        ("WAF p99", 6),
        ("WAF most", 3),
        ("WAF of all", 0),
        ("lifetime p10", 4),
        ("lifetime p50", 0),
        ("lifetime p90", 4),
        ("worse", 1),
    ];
    let drives: BTreeSet<&str> = groups.iter().map(|group| group.drive.as_str()).collect();
    let is_apart = drives.len() > 1 || look.csv;
    let drive = is_apart.then(|| Column::words("drive"));
    let figures = figures.map(|(name, rank)| Column::number(name).rank(rank));
    let heads = drive
        .into_iter()
        .chain([Column::words("scheme")])
        .chain(figures);
    let mut grid = Table::new(heads);
    for group in groups {
        let drive = is_apart.then(|| Cell::from(&group.drive));
        grid.push(drive.into_iter().chain(row(group)));
    }
    let table = grid.text(look);
    if look.csv {
        return format!("{table}\n");
    }
    let title = match (is_apart, drives.first()) {
        (false, Some(drive)) => format!("{}\n\n", line(drive)),
        _ => String::new(),
    };
    format!(
        "{title}{table}\n\nover the traces: pN is what N % lie at or below; of all: media bytes / host bytes of all \
         together; lifetime = WAF of baseline / of the scheme; worse: cells that copy more than \
         baseline; steady: cells whose WAF had settled\n"
    )
}

fn row(group: &Group) -> Vec<Cell> {
    let some = |found: Option<&Quantiles>, of: fn(&Quantiles) -> f64, unit: &str| {
        Cell::maybe(found.map(of), |value| format!("{value:.2}{unit}"))
    };
    let waf = |of| some(group.waf.as_ref(), of, "");
    let life = |of| some(group.lifetime_vs_baseline.as_ref(), of, "x");
    vec![
        Cell::from(&group.scheme),
        Cell::from(group.cells),
        Cell::from(group.steady),
        waf(|found| found.p10),
        waf(|found| found.p50),
        waf(|found| found.p90),
        waf(|found| found.p99),
        waf(|found| found.most),
        Cell::maybe(group.waf_of_all, |waf| anabranch_report::ratio(Some(*waf))),
        life(|found| found.p10),
        life(|found| found.p50),
        life(|found| found.p90),
        Cell::from(group.worse_than_baseline),
    ]
}
