//! The contexts of a trace: who wrote, how much, and how long it lived.

use std::convert::Infallible;

use anabranch_compare::{Requests, Result, Watch};
use anabranch_lifetime::ContextProfiles;
use anabranch_placement::{Names, Policy, Write};
use anabranch_replay::{FilesWritten, labels};
use anabranch_ssd::PageRange;
use anabranch_trace::{Context, ContextId, ContextKind, Frame, Io, Tables, unnamed_functions};
use serde::Serialize;

use crate::reading::{Measure, PAGE_BYTES, Reading, TABLE_BYTES, addresses, host_policy, tables};

/// The scheme whose streams are shown.
const SCHEME: &str = "pcstream*";
/// Version of the JSON.
const SCHEMA: u32 = 1;

/// The program contexts of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contexts {
    /// Version of the JSON.
    pub schema: u32,
    /// Bytes of the pages that were counted.
    pub page_bytes: u32,
    /// The contexts that wrote, those with most bytes first.
    pub contexts: Vec<ContextRow>,
    /// Events that the kernel had no room for. If there are any, bytes are lower bounds, and lifetimes are too long or
    /// too short.
    #[serde(skip)]
    pub lost_events: u64,
    /// Sentences on functions that have no names, with remedies.
    #[serde(skip)]
    pub remedies: Vec<String>,
}

/// One program context over the whole trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextRow {
    /// Its row in the trace's context table.
    pub id: u32,
    /// The signature: 16 hexadecimal digits, as in the trace.
    pub signature: String,
    /// The label under which people read of it, different from all others.
    pub label: String,
    /// The file it wrote most to, or what the names of several such files have in common.
    pub file: String,
    /// The kind of writer.
    pub kind: ContextKind,
    /// The thread's name without its digits.
    pub role: String,
    /// The call path, innermost call first.
    pub path: Vec<String>,
    /// The generation of the files it writes; see [`Context::generation`].
    pub generation: u8,
    /// Write requests.
    pub writes: u64,
    /// Bytes of the pages it wrote.
    pub written_bytes: u64,
    /// Its share of all bytes written, 0 to 1.
    pub share: f64,
    /// Pages whose life ended within the trace, from which the lifetimes are computed.
    pub samples: u64,
    /// The lower quartile of lifetimes: bytes written to the drive between a page's write and its
    /// end.
    pub lifetime_p25_bytes: Option<u64>,
    /// The median of lifetimes, in bytes written to the drive.
    pub lifetime_p50_bytes: Option<u64>,
    /// The upper quartile of lifetimes, in bytes written to the drive.
    pub lifetime_p75_bytes: Option<u64>,
    /// The stream that `pcstream*` gave its latest write.
    pub stream: Option<u16>,
}

/// Measures the contexts of a trace. `streams` is how many streams the drive has; `pcstream*` gives
/// each context one of them.
///
/// # Errors
/// When the trace does not tell its writers, when it cannot be read, or when the watch ends the
/// work.
pub fn contexts(source: &dyn Requests, streams: u16, watch: &mut dyn Watch) -> Result<Contexts> {
    let tables = tables(source)?;
    let (mut addresses, pages) = addresses(source, u32::MAX.into(), "16 TiB", watch)?;
    let mut survey = Survey::new(pages, tables, streams, SCHEME)?;
    let written_pages = Reading::new(pages).whole(source, &mut addresses, watch, &mut survey)?;
    Ok(Contexts {
        schema: SCHEMA,
        page_bytes: PAGE_BYTES,
        contexts: survey.rows(&tables.contexts, written_pages),
        lost_events: tables.capture.lost_events,
        remedies: unnamed_functions(&tables.contexts),
    })
}

/// Lifetimes and streams of each context, gathered over one pass.
struct Survey {
    profiles: ContextProfiles,
    policy: Policy,
    files: FilesWritten,
    /// The stream of each context's latest write, when the scheme knew the context best.
    streams: Vec<Option<u16>>,
}

impl Measure for Survey {
    fn write(&mut self, io: &Io, write: &Write) {
        let mut latest = None;
        let Ok(()) = self.policy.place(write, |_, _, stream| {
            latest = Some(stream.0);
            Ok::<(), Infallible>(())
        });
        if let Some(known) = self.streams.get_mut(io.context.0 as usize) {
            *known = latest.or(*known);
        }
        self.files.count(io.context.0, io.file, io.length_bytes);
        self.profiles
            .write(write.pages.indices(), io.context, write.now_pages);
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.policy.discard(pages, now_pages);
        self.profiles.discard(pages.indices(), now_pages);
    }
}

impl Survey {
    fn new(logical_pages: u32, tables: &Tables, host_streams: u16, scheme: &str) -> Result<Survey> {
        let contexts = tables.contexts.len();
        let names = Names::of(tables);
        let mut files = FilesWritten::default();
        files.learn(&names);
        files.learn_next_names(&tables.files);
        Ok(Survey {
            profiles: ContextProfiles::new(logical_pages, TABLE_BYTES, contexts),
            policy: host_policy(scheme, logical_pages, host_streams, &names)?,
            files,
            streams: vec![None; contexts],
        })
    }

    fn rows(&self, contexts: &[Context], now_pages: u64) -> Vec<ContextRow> {
        let page = u64::from(PAGE_BYTES);
        let profiles = self.profiles.profiles();
        let wrote = |context: &&Context| profiles[context.id.0 as usize].writes > 0;
        let writers = contexts.iter().filter(wrote);
        let median_life = |id: ContextId| {
            let lifetimes = &profiles.get(id.0 as usize)?.lifetimes;
            Some(lifetimes.quantile_pages(0.5)? * page)
        };
        let labels = labels(writers.clone(), &self.files, &median_life);
        let titles = self.files.titles();
        let mut rows: Vec<ContextRow> = writers
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
                ContextRow {
                    id: context.id.0,
                    signature: format!("{:016x}", context.signature),
                    label,
                    file: titles.get(&context.id.0).cloned().unwrap_or_default(),
                    kind: context.kind,
                    role: context.role.clone(),
                    path: context.frames.iter().map(call).collect(),
                    generation: context.generation,
                    writes: profile.writes,
                    written_bytes: profile.written_pages * page,
                    share: profile.written_pages as f64 / now_pages.max(1) as f64,
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

/// A frame as text for people: its function, or the object and the offset in it.
pub(crate) fn call(frame: &Frame) -> String {
    let object = frame.object.rsplit('/').next().unwrap_or(&frame.object);
    match &frame.symbol {
        Some(symbol) => symbol.clone(),
        None => format!("{object}+{:#x}", frame.file_offset),
    }
}

#[cfg(test)]
mod tests {
    use anabranch_trace::{Capture, File, FileId};

    use super::*;

    const WRITER: ContextId = ContextId(1);

    /// The stream that a scheme gave one context's latest write, of files called `names`.
    fn stream(scheme: &str, names: [&str; 2], requests: &[(u64, u64, u32)]) -> Option<u16> {
        let file = |name: &str| File {
            name: name.to_owned(),
            ..File::default()
        };
        let tables = Tables {
            contexts: vec![Context::unknown(); 2],
            files: names.map(file).to_vec(),
            capture: Capture::default(),
        };
        let mut survey = Survey::new(64, &tables, 8, scheme).unwrap();
        let mut reading = Reading::new(64);
        for &(first, count, file) in requests {
            let page = u64::from(PAGE_BYTES);
            let io = Io {
                context: WRITER,
                file: FileId(file),
                ..Io::write(first * page, count * page)
            };
            reading.apply(&io, &mut survey).unwrap();
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
