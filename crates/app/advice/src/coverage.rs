//! Predictability of lifetimes by context, file and address.

use std::path::Path;

use anabranch_compare::{Requests, Result, Watch};
use anabranch_lifetime::{Achieved, Separation};
use anabranch_placement::{FileClasses, Write};
use anabranch_ssd::PageRange;
use anabranch_trace::{ContextKind, FileId, Io, Tables};
use serde::Serialize;

use crate::reading::{Measure, PAGE_BYTES, Reading, addresses, tables};

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// The most pages that are surveyed: 256 GiB of pages, which takes 1 GiB of memory (our choice).
const MAX_PAGES: u64 = 64 << 20;
/// The share of the bytes for which `most_contexts` counts the writers.
const MOST_BYTES: f64 = 0.99;
/// The most classes of files, so that a pair of context and class fits one number.
const CLASSES: u32 = 1024;

/// The result for one way of grouping writes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Way {
    /// Number of groups that wrote.
    pub groups: usize,
    /// Share of the bytes that died in groups whose lifetimes lie within [`anabranch_lifetime::NARROW_FACTOR`].
    pub narrow_share: f64,
    /// Share of the variance of log2 lifetime that lies between groups, 0 to 1.
    pub explained: f64,
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

/// The coverage of one trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoverageRow {
    /// The trace's name, without directory and suffix.
    pub trace: String,
    /// Bytes of the pages written.
    pub written_bytes: u64,
    /// Share of the bytes whose life ended within the trace, from which the other figures are computed.
    pub ended_share: f64,
    /// Share of the bytes written by a call path of an application.
    pub application_share: f64,
    /// The fewest contexts that wrote 99 % of the bytes.
    pub most_contexts: usize,
    /// Writes grouped by program context.
    pub context: Way,
    /// Writes grouped by the class of the file's name.
    pub file: Way,
    /// Writes grouped by both, context and class.
    pub both: Way,
    /// Writes grouped by the lifetime of the data that lay at the address before.
    pub history: Way,
}

/// The predictability of lifetimes in some traces, by each way of grouping writes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coverage {
    /// Version of the JSON.
    pub schema: u32,
    /// Bytes of the pages that were counted.
    pub page_bytes: u32,
    /// A row for each trace.
    pub traces: Vec<CoverageRow>,
}

/// Measures traces, one after the other.
///
/// # Errors
/// When a trace does not tell its writers, writes more than can be surveyed, or cannot be read, or when the watch ends
/// the work.
pub fn coverage(sources: &[&dyn Requests], watch: &mut dyn Watch) -> Result<Coverage> {
    let rows = sources.iter().map(|source| row(*source, watch));
    Ok(Coverage {
        schema: SCHEMA,
        page_bytes: PAGE_BYTES,
        traces: rows.collect::<Result<_>>()?,
    })
}

fn row(source: &dyn Requests, watch: &mut dyn Watch) -> Result<CoverageRow> {
    let (name, tables) = (source.name(), tables(source)?);
    let (mut addresses, pages) = addresses(source, MAX_PAGES, "256 GiB", watch)?;
    let mut survey = Survey::new(pages, tables);
    let written_pages = Reading::new(pages).whole(source, &mut addresses, watch, &mut survey)?;
    Ok(survey.row(&name, tables, written_pages))
}

/// Measures one trace over one pass.
struct Survey {
    classes: FileClasses,
    separation: Separation<3>,
    written_pages: Vec<u64>,
}

impl Measure for Survey {
    fn write(&mut self, io: &Io, write: &Write) {
        let class = u32::from(self.classes.class_of(io.file));
        let both = io.context.0.saturating_mul(CLASSES) + class;
        let labels = [io.context.0, class, both];
        self.separation
            .write(write.pages.indices(), labels, write.now_pages);
        if let Some(written) = self.written_pages.get_mut(io.context.0 as usize) {
            *written += u64::from(write.pages.count);
        }
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.separation.discard(pages.indices(), now_pages);
    }
}

impl Survey {
    fn new(logical_pages: u32, tables: &Tables) -> Survey {
        let mut classes = FileClasses::default();
        for (row, file) in (0..).zip(&tables.files) {
            classes.learn(FileId(row), &file.name);
        }
        Survey {
            classes,
            separation: Separation::new(logical_pages),
            written_pages: vec![0; tables.contexts.len()],
        }
    }

    fn row(&self, name: &str, tables: &Tables, now_pages: u64) -> CoverageRow {
        let all = now_pages.max(1) as f64;
        let written = tables.contexts.iter().zip(&self.written_pages);
        let application: u64 = written
            .filter(|(context, _)| {
                context.kind == ContextKind::Application && !context.frames.is_empty()
            })
            .map(|(_, pages)| pages)
            .sum();
        let [context, file, both] = self.separation.ways();
        CoverageRow {
            trace: Path::new(name)
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            written_bytes: now_pages * u64::from(PAGE_BYTES),
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

/// Counts the largest numbers that make up most ([`MOST_BYTES`]) of the sum.
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
