//! `anabranch coverage`: how far contexts, files and addresses tell how long data will live.

use std::path::{Path, PathBuf};

use anabranch_compare::Addresses;
use anabranch_lifetime::{Achieved, NARROW_FACTOR, Separation};
use anabranch_placement::FileClasses;
use anabranch_replay::Pages;
use anabranch_report::{Cell, Column, Grid, Look};
use anabranch_trace::{ContextKind, FileId, Io, Operation, Tables};
use clap::Args;
use serde::Serialize;

use crate::{
    comparison::give,
    failure::{Failure, Outcome},
    look::TableArguments,
    progress,
    source::open,
};

/// Pages lifetimes are measured in.
const PAGE_BYTES: u32 = 4096;
/// The most pages that are surveyed: 256 GiB, 1 GiB of memory (our choice).
const MAX_PAGES: u64 = 64 << 20;
/// Contexts that wrote this share of the bytes are counted.
const MOST_BYTES: f64 = 0.99;
/// Classes of files, to number pairs of context and class.
const CLASSES: u32 = 1024;

#[derive(Debug, Args)]
pub struct CoverageArguments {
    /// Traces that `anabranch run` or `record` made
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the figures as JSON to FILE as well
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub tables: TableArguments,
}

/// One way of grouping writes.
#[derive(Debug, Serialize)]
struct Way {
    groups: usize,
    /// Share of the bytes that died in groups whose lifetimes lie within [`NARROW_FACTOR`].
    narrow_share: f64,
    /// Share of the variance of log2 lifetime between groups.
    explained: f64,
}

impl From<Achieved> for Way {
    fn from(achieved: Achieved) -> Way {
        Way {
            groups: achieved.groups,
            narrow_share: achieved.narrow_share,
            explained: achieved.explained,
        }
    }
}

/// One trace.
#[derive(Debug, Serialize)]
struct Row {
    trace: String,
    written_bytes: u64,
    /// Share of the bytes whose life ended within the trace: what the rest is drawn from.
    ended_share: f64,
    /// Share of the bytes written by a call path of an application.
    application_share: f64,
    /// Contexts that wrote 99 % of the bytes.
    most_contexts: usize,
    context: Way,
    file: Way,
    both: Way,
    history: Way,
}

/// Prints a row for each trace.
pub fn coverage(arguments: &CoverageArguments) -> Outcome {
    let rows = arguments.traces.iter().map(|path| survey(path));
    let rows = rows.collect::<Outcome<Vec<Row>>>()?;
    let json = serde_json::json!({ "schema": 1, "page_bytes": PAGE_BYTES, "traces": rows });
    give(&json, arguments.output.as_deref(), arguments.json, || {
        describe(&rows, &arguments.tables.look())
    })
}

fn survey(path: &Path) -> Outcome<Row> {
    let source = open(path, None, false)?;
    let tables = source.tables.as_ref().ok_or_else(|| {
        Failure::say(format!(
            "{} holds page numbers and no contexts; give a trace that `anabranch run` or `record` made",
            path.display()
        ))
    })?;
    let mut bar = progress::Bar::default();
    let mut addresses = Addresses::of(&source, PAGE_BYTES, MAX_PAGES, &mut bar)?;
    let logical_pages = u32::try_from(addresses.pages)
        .ok()
        .filter(|pages| u64::from(*pages) <= MAX_PAGES)
        .ok_or_else(|| {
            Failure::say(format!(
                "{} writes more than 256 GiB of pages; --volume of `anabranch import` keeps one volume of several",
                path.display()
            ))
        })?;
    let mut survey = Survey::new(logical_pages, tables);
    let bar = progress::bar("reading");
    source.each_batch(|ios, done| {
        bar.set_position((done * 1000.0) as u64);
        ios.iter()
            .try_for_each(|io| addresses.apply(io, |io| survey.apply(io)))
    })?;
    bar.finish_and_clear();
    Ok(survey.row(path, tables))
}

/// One pass over a trace.
struct Survey {
    pages: Pages,
    classes: FileClasses,
    separation: Separation<3>,
    written_pages: Vec<u64>,
    now_pages: u64,
}

impl Survey {
    fn new(logical_pages: u32, tables: &Tables) -> Survey {
        let mut classes = FileClasses::default();
        for (row, file) in (0..).zip(&tables.files) {
            classes.learn(FileId(row), &file.name);
        }
        Survey {
            pages: Pages {
                logical_pages,
                page_bytes: PAGE_BYTES,
            },
            classes,
            separation: Separation::new(logical_pages),
            written_pages: vec![0; tables.contexts.len()],
            now_pages: 0,
        }
    }

    fn apply(&mut self, io: &Io) -> Outcome {
        match io.operation {
            Operation::Write => {
                let pages = self.pages.written(io).map_err(Failure::usage)?;
                let class = u32::from(self.classes.of(io.file));
                let both = io.context.0.saturating_mul(CLASSES) + class;
                let labels = [io.context.0, class, both];
                self.separation
                    .write(pages.indices(), labels, self.now_pages);
                self.now_pages += u64::from(pages.count);
                self.written_pages[io.context.0 as usize] += u64::from(pages.count);
            }
            Operation::Discard => {
                let pages = self.pages.discarded(io).map_err(Failure::usage)?;
                self.separation.discard(pages.indices(), self.now_pages);
            }
            Operation::Read | Operation::Flush => {}
        }
        Ok(())
    }

    fn row(&self, path: &Path, tables: &Tables) -> Row {
        let all = self.now_pages.max(1) as f64;
        let written = tables.contexts.iter().zip(&self.written_pages);
        let application: u64 = written
            .filter(|(context, _)| {
                context.kind == ContextKind::Application && !context.frames.is_empty()
            })
            .map(|(_, pages)| pages)
            .sum();
        let [context, file, both] = self.separation.ways();
        Row {
            trace: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            written_bytes: self.now_pages * u64::from(PAGE_BYTES),
            ended_share: self.separation.ended_pages() as f64 / all,
            application_share: application as f64 / all,
            most_contexts: most(&self.written_pages),
            context: context.into(),
            file: file.into(),
            both: both.into(),
            history: self.separation.history().into(),
        }
    }
}

/// How many of the largest make up most of the sum.
fn most(written_pages: &[u64]) -> usize {
    let mut sorted = written_pages.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let enough = sorted.iter().sum::<u64>() as f64 * MOST_BYTES;
    let mut sum = 0.0;
    sorted
        .iter()
        .take_while(|pages| {
            let goes_on = sum < enough;
            sum += **pages as f64;
            goes_on
        })
        .count()
}

fn describe(rows: &[Row], look: &Look) -> String {
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
    format!(
        "{table}\n\nended: share of the bytes that were overwritten or discarded within the trace; what follows is of these\n\
         call path: written by an application whose calls are known; contexts: those that wrote 99 %\n\
         narrow: share in groups whose lifetimes have a 90 % quantile of at most {NARROW_FACTOR} times the 10 % quantile\n\
         explained: share of the variance of log2 lifetime between groups; address: by the page's life before\n\
         file: class of the file's name; both: context and class\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_contexts_that_wrote_most_are_counted() {
        assert_eq!(most(&[]), 0);
        assert_eq!(most(&[0, 100]), 1);
        assert_eq!(most(&[50, 0, 50]), 2);
        assert_eq!(most(&[1, 995, 4]), 1);
    }
}
