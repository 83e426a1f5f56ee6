//! `anabranch contexts`: who wrote, how much, and how long it lived.

use anabranch_compare::{Addresses, TraceFile};
use anabranch_lifetime::ContextProfiles;
use anabranch_placement::{HostGeometry, Names, Policy, SchemeSpec, Write};
use anabranch_replay::{FilesWritten, Pages, labels};
use anabranch_report::{Cell, Column, Grid};
use anabranch_trace::{Context, ContextKind, Io, Operation, Tables};
use serde::Serialize;

use crate::{
    arguments::ContextsArguments,
    comparison::give,
    failure::{Failure, Outcome},
    progress, source,
};

/// The scheme whose stream is shown.
const SCHEME: &str = "pcstream*";
/// Pages lifetimes are measured in.
const PAGE_BYTES: u32 = 4096;
/// Memory for the lifetime table (our choice: page-exact up to a 64 GiB drive).
const TABLE_BYTES: usize = 256 << 20;

/// One row: a program context over the whole trace.
#[derive(Debug, Serialize)]
struct Row {
    id: u32,
    /// 16 hexadecimal digits, as in the trace.
    signature: String,
    /// What it is called where people read of it, unlike all others.
    label: String,
    /// The file it wrote most to, or what the names of several have in common.
    file: String,
    kind: ContextKind,
    role: String,
    /// Innermost call first.
    path: Vec<String>,
    writes: u64,
    written_bytes: u64,
    share: f64,
    /// Pages whose life ended within the trace: what the lifetimes are drawn from.
    samples: u64,
    lifetime_p25_bytes: Option<u64>,
    lifetime_p50_bytes: Option<u64>,
    lifetime_p75_bytes: Option<u64>,
    /// The stream that `pcstream*` gave its latest write.
    stream: Option<u16>,
}

/// Prints the contexts of a trace, those with most bytes first.
pub fn contexts(arguments: &ContextsArguments) -> Outcome {
    let source = source::open(&arguments.trace, None, arguments.quick)?;
    let tables = source.tables.as_ref().ok_or_else(|| {
        Failure::say(format!(
            "{} holds page numbers and no contexts; give a trace that `anabranch run` or `record` made",
            arguments.trace.display()
        ))
    })?;
    let rows = measure(&source, tables, arguments.streams)?;
    let json = serde_json::json!({ "schema": 1, "page_bytes": PAGE_BYTES, "contexts": rows });
    give(&json, arguments.output.as_deref(), arguments.json, || {
        describe(&rows, tables, arguments)
    })
}

fn measure(source: &TraceFile, tables: &Tables, streams: u16) -> Outcome<Vec<Row>> {
    let mut bar = progress::Bar::default();
    let mut addresses = Addresses::of(source, PAGE_BYTES, u32::MAX.into(), &mut bar)?;
    let logical_pages = u32::try_from(addresses.pages)
        .map_err(|_| Failure::say(format!("{} writes more than 16 TiB of pages", source.name)))?;
    let mut survey = Survey::new(logical_pages, tables, streams, SCHEME)?;
    let bar = progress::bar("reading");
    source.each_batch(|ios, done| {
        bar.set_position((done * 1000.0) as u64);
        ios.iter()
            .try_for_each(|io| addresses.apply(io, |io| survey.apply(io)))
    })?;
    bar.finish_and_clear();
    Ok(survey.rows(&tables.contexts))
}

/// Lifetimes and streams of each context, gathered over one pass.
struct Survey {
    pages: Pages,
    profiles: ContextProfiles,
    policy: Policy,
    files: FilesWritten,
    now_pages: u64,
    /// The stream of each context's latest write: by then it was known best.
    streams: Vec<Option<u16>>,
}

impl Survey {
    fn new(
        logical_pages: u32,
        tables: &Tables,
        host_streams: u16,
        scheme: &str,
    ) -> Outcome<Survey> {
        let contexts = tables.contexts.len();
        let names = Names::of(tables);
        let mut files = FilesWritten::default();
        files.learn(&names);
        let spec = scheme.parse::<SchemeSpec>().map_err(Failure::usage)?;
        let geometry = HostGeometry {
            logical_pages,
            page_bytes: PAGE_BYTES,
            host_streams,
            internal_streams: 0,
            pages_per_unit: 0,
            physical_units: 0,
        };
        let mut policy = Policy::of_host(spec.build(&geometry).map_err(Failure::usage)?);
        policy.learn(&names);
        Ok(Survey {
            pages: Pages {
                logical_pages,
                page_bytes: PAGE_BYTES,
            },
            profiles: ContextProfiles::new(logical_pages, TABLE_BYTES, contexts),
            policy,
            files,
            now_pages: 0,
            streams: vec![None; contexts],
        })
    }

    fn apply(&mut self, io: &Io) -> Outcome {
        match io.operation {
            Operation::Write => {
                let pages = self.pages.written(io).map_err(Failure::usage)?;
                let write = Write {
                    pages,
                    context: io.context,
                    file: io.file,
                    hint: io.hint,
                    tenant: io.tenant,
                    now_pages: self.now_pages,
                };
                let latest = &mut self.streams[io.context.0 as usize];
                self.policy.place(&write, |_, _, stream| {
                    *latest = Some(stream.0);
                    Ok::<(), Failure>(())
                })?;
                self.files.count(io.context.0, io.file, io.length_bytes);
                self.profiles
                    .write(pages.indices(), io.context, self.now_pages);
                self.now_pages += u64::from(pages.count);
            }
            Operation::Discard => {
                let pages = self.pages.discarded(io).map_err(Failure::usage)?;
                self.policy.discard(pages, self.now_pages);
                self.profiles.discard(pages.indices(), self.now_pages);
            }
            Operation::Read | Operation::Flush => {}
        }
        Ok(())
    }

    fn rows(&self, contexts: &[Context]) -> Vec<Row> {
        let page = u64::from(PAGE_BYTES);
        let profiles = self.profiles.profiles();
        let wrote = |context: &&Context| profiles[context.id.0 as usize].writes > 0;
        let writers = contexts.iter().filter(wrote);
        let labels = labels(writers.clone(), &self.files);
        let mut rows: Vec<Row> = writers
            .zip(labels)
            .map(|(context, label)| {
                let profile = &profiles[context.id.0 as usize];
                let stream = &self.streams[context.id.0 as usize];
                let quantile = |quantile| {
                    profile
                        .lifetimes
                        .quantile_pages(quantile)
                        .map(|pages| pages * page)
                };
                Row {
                    id: context.id.0,
                    signature: format!("{:016x}", context.signature),
                    label,
                    file: self.files.most_of(context.id.0),
                    kind: context.kind,
                    role: context.role.clone(),
                    path: context.frames.iter().map(call).collect(),
                    writes: profile.writes,
                    written_bytes: profile.written_pages * page,
                    share: profile.written_pages as f64 / self.now_pages.max(1) as f64,
                    samples: profile.lifetimes.pages(),
                    lifetime_p25_bytes: quantile(0.25),
                    lifetime_p50_bytes: quantile(0.5),
                    lifetime_p75_bytes: quantile(0.75),
                    stream: *stream,
                }
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.written_bytes));
        rows
    }
}

/// A frame as a person reads it: the function, or the object and the place in it.
pub fn call(frame: &anabranch_trace::Frame) -> String {
    let object = frame.object.rsplit('/').next().unwrap_or(&frame.object);
    match &frame.symbol {
        Some(symbol) => symbol.clone(),
        None => format!("{object}+{:#x}", frame.file_offset),
    }
}

fn describe(rows: &[Row], tables: &Tables, arguments: &ContextsArguments) -> String {
    let shown = &rows[..rows.len().min(arguments.most)];
    let look = arguments.tables.look();
    if look.csv {
        return format!("{}\n", table(rows).text(&look));
    }
    let mut text = format!("{}\n\n", table(shown).text(&look));
    for row in shown.iter().filter(|row| !row.path.is_empty()) {
        text += &format!("#{} {} (innermost call first)\n", row.id, row.label);
        for call in &row.path {
            text += &format!("    {}\n", without_parameters(call));
        }
    }
    if rows.len() > shown.len() {
        text += &format!(
            "\n{} more contexts wrote {:.1} % of the bytes (--most {} shows all)\n",
            rows.len() - shown.len(),
            100.0 * rows[shown.len()..].iter().map(|row| row.share).sum::<f64>(),
            rows.len()
        );
    }
    text += "\nlifetime: bytes written to the drive between a page's write and its overwrite or discard; \
             samples: pages whose life ended within the trace\n";
    if tables.capture.lost_events > 0 {
        text += &format!(
            "LOST EVENTS: {} kernel events were not captured\n",
            tables.capture.lost_events
        );
    }
    text
}

fn table(rows: &[Row]) -> Grid {
    let figures = [
        ("written", "written_bytes", 1),
        ("share", "share", 0),
        ("samples", "samples", 5),
        ("p25", "lifetime_p25_bytes", 4),
        ("p50", "lifetime_p50_bytes", 0),
        ("p75", "lifetime_p75_bytes", 4),
        ("stream", "stream", 2),
    ];
    let figures = figures.map(|(name, key, rank)| Column::number(name).key(key).rank(rank));
    let words = ["id", "context"].map(Column::words);
    let mut grid = Grid::new(words.into_iter().chain(figures));
    let told = |bytes: u64| Cell::new(anabranch_report::bytes(bytes), bytes);
    let lifetime = |bytes: Option<u64>| Cell::maybe(bytes, |bytes| anabranch_report::bytes(*bytes));
    for row in rows {
        grid.push([
            Cell::new(format!("#{}", row.id), row.id),
            Cell::from(&row.label),
            told(row.written_bytes),
            Cell::new(format!("{:.1} %", 100.0 * row.share), row.share),
            Cell::from(row.samples),
            lifetime(row.lifetime_p25_bytes),
            lifetime(row.lifetime_p50_bytes),
            lifetime(row.lifetime_p75_bytes),
            Cell::maybe(row.stream, u16::to_string),
        ]);
    }
    grid
}

/// A C++ function without its parameters; anything else as it is.
fn without_parameters(call: &str) -> &str {
    call.split('(')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(call)
}

#[cfg(test)]
mod tests {
    use anabranch_trace::{Capture, ContextId, File, FileId};

    use super::*;

    const WRITER: ContextId = ContextId(1);

    /// The stream that a scheme gave one context's latest write, of files called `names`.
    fn stream(scheme: &str, names: [&str; 2], requests: &[(u64, u64, u32)]) -> Option<u16> {
        let file = |name: &str| File {
            name: name.to_owned(),
        };
        let tables = Tables {
            contexts: vec![Context::unknown(); 2],
            files: names.map(file).to_vec(),
            capture: Capture::default(),
        };
        let mut survey = Survey::new(64, &tables, 8, scheme).unwrap();
        for &(first, count, file) in requests {
            let page = u64::from(PAGE_BYTES);
            let io = Io {
                context: WRITER,
                file: FileId(file),
                ..Io::write(first * page, count * page)
            };
            survey.apply(&io).unwrap();
        }
        survey.streams[WRITER.0 as usize]
    }

    #[test]
    fn a_scheme_that_goes_by_page_is_asked_about_every_page() {
        // The last page of the request was never written before, the first one often.
        let hot = [(0, 1, 0); 5];
        let alone = stream("dac", ["", ""], &[&hot[..], &[(1, 1, 0)]].concat());
        let together = stream("dac", ["", ""], &[&hot[..], &[(0, 2, 0)]].concat());
        assert_ne!(alone, stream("dac", ["", ""], &hot));
        assert_eq!(together, alone);
    }

    #[test]
    fn a_scheme_that_goes_by_names_is_told_them() {
        // Each kind of file gets the next stream; files without a name would share stream 0.
        let names = ["000012.log", "000034.sst"];
        let second = stream("fstream", names, &[(0, 1, 0), (1, 1, 1)]);
        assert_eq!(second, Some(2));
    }
}
