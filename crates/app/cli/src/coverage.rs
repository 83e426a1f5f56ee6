//! `anabranch coverage`: how well contexts, files and addresses predict how long data will live.

use std::path::PathBuf;

use anabranch_advice::CoverageRow;
use anabranch_compare::{Requests, TraceFile};
use anabranch_lifetime::NARROW_FACTOR;
use anabranch_report::{Cell, Column, Grid, Look};
use clap::Args;

use crate::{
    answer::AnswerArguments,
    error::Result,
    output::json,
    progress::Bar,
    source::{note_remarks, open},
};

#[derive(Debug, Args)]
pub struct CoverageArguments {
    /// Traces that `anabranch run` or `record` made
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    #[command(flatten)]
    pub answer: AnswerArguments,
}

/// Prints a table with a row for each trace.
pub fn coverage(arguments: &CoverageArguments) -> Result {
    let traces = arguments.traces.iter().map(|path| open(path, None, false));
    let traces = traces.collect::<Result<Vec<TraceFile>>>()?;
    let sources: Vec<&dyn Requests> = traces.iter().map(|trace| trace as _).collect();
    let found = anabranch_advice::coverage(&sources, &mut Bar::default())?;
    traces.iter().for_each(note_remarks);
    let answer = &arguments.answer;
    answer.give(&json(&found)?, |look| describe(&found.traces, look))
}

fn describe(rows: &[CoverageRow], look: &Look) -> String {
    let figures = [
        ("GiB", 0),
        ("ended", 1),
        ("call path", 4),
        ("contexts", 5),
        ("narrow: context", 2),
        ("narrow: file", 2),
        ("narrow: both", 2),
        ("explained: context", 0),
        ("explained: file", 0),
        ("explained: both", 0),
        ("explained: address", 0),
    ];
    let figures = figures.map(|(name, rank)| Column::number(name).rank(rank));
    let mut grid = Grid::new([Column::words("trace")].into_iter().chain(figures));
    let percent = |share: f64| Cell::new(format!("{:.0} %", 100.0 * share), share);
    for row in rows {
        let gib = row.written_bytes as f64 / f64::from(1 << 30);
        grid.push([
            Cell::from(&row.trace),
            Cell::new(format!("{gib:.2}"), gib),
            percent(row.ended_share),
            percent(row.application_share),
            Cell::from(row.most_contexts),
            percent(row.context.narrow_share),
            percent(row.file.narrow_share),
            percent(row.both.narrow_share),
            percent(row.context.explained),
            percent(row.file.explained),
            percent(row.both.explained),
            percent(row.history.explained),
        ]);
    }
    let table = grid.text(look);
    if look.csv {
        return format!("{table}\n");
    }
    look.wrapped(&format!(
        "{table}\n\nended: share of the bytes that were overwritten or discarded within the trace; what follows is of these\n\
         call path: written by an application whose calls are known; contexts: those that wrote 99 %\n\
         narrow: share in groups whose lifetimes have a 90 % quantile of at most {NARROW_FACTOR} times the 10 % quantile\n\
         explained: share of the variance of log2 lifetime between groups; address: by the page's life before\n\
         file: class of the file's name; both: context and class\n"
    ))
}
