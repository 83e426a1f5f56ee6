//! How long data lives, by what a scheme could go by.

use std::{collections::BTreeMap, path::Path};

use anabranch_compare::TraceFile;
use anabranch_lifetime::{Death, LbaTable, LifetimeHistogram};
use anabranch_placement::{Assign, HostGeometry, Names, SchemeSpec, Write};
use anabranch_replay::Pages;
use anabranch_ssd::PageRange;
use anabranch_trace::{ContextId, Io, Operation, Tables};
use serde::Serialize;

use super::{file::Lifetimes, found::number};
use crate::{
    failure::{Failure, Outcome},
    source,
};

const PAGE_BYTES: u32 = 4096;
/// Pages of an address group: 1 MiB, as in the PCStream draft's Fig. 1(b).
const CHUNK_PAGES: u32 = 256;
/// Memory for the lifetime table (our choice: page-exact up to a 128 GiB drive).
const TABLE_BYTES: usize = 256 << 20;
/// Groups listed, those with most dead pages.
const MOST_GROUPS: usize = 32;

/// Lifetimes of one trace.
#[derive(Debug, Serialize)]
pub struct LifetimesFound {
    pub name: String,
    pub trace: String,
    pub by: Vec<Grouping>,
}

/// Pages brought together by one thing.
#[derive(Debug, Serialize)]
pub struct Grouping {
    pub by: String,
    /// Groups with dead pages.
    pub groups_found: usize,
    /// Pages whose life ended.
    pub pages: u64,
    /// Of the variance of lifetimes, in octaves, the share that the groups explain: 1 where all
    /// pages of a group live alike, 0 where groups say nothing.
    pub explained: f64,
    /// Standard deviation within groups, in octaves of lifetime.
    pub spread_octaves: f64,
    /// The longest median of a group over the shortest, of groups with a thousandth of the pages.
    pub median_span: f64,
    pub groups: Vec<Group>,
}

/// Pages of one group.
#[derive(Debug, Serialize)]
pub struct Group {
    pub name: String,
    pub pages: u64,
    /// Lifetimes in 4 KiB writes, the PCStream draft's unit.
    pub p25_pages: u64,
    pub p50_pages: u64,
    pub p75_pages: u64,
}

impl LifetimesFound {
    /// One figure of one grouping.
    pub fn value(&self, by: &str, field: &str) -> Result<f64, String> {
        let found = self.by.iter().find(|found| found.by == by);
        let found = found.ok_or_else(|| format!("{} has no {by}", self.name))?;
        let value = serde_json::to_value(found).map_err(|error| error.to_string())?;
        number(&value, field)
    }
}

/// Measures what is asked for.
pub fn measure(asked: &Lifetimes, root: &Path) -> Outcome<LifetimesFound> {
    let path = match asked.trace.starts_with("synthetic:") {
        true => Path::new(&asked.trace).to_owned(),
        false => root.join(&asked.trace),
    };
    let source = source::open(&path, None, false)?;
    let tables = source
        .tables
        .as_ref()
        .filter(|tables| tables.capture.device_bytes > 0)
        .ok_or_else(|| Failure::say(format!("{} does not say who wrote", asked.trace)))?;
    let by = asked
        .by
        .iter()
        .map(|by| grouping(&source, tables, by, asked.streams))
        .collect::<Outcome<Vec<Grouping>>>()?;
    Ok(LifetimesFound {
        name: asked.name.clone(),
        trace: asked.trace.clone(),
        by,
    })
}

fn grouping(source: &TraceFile, tables: &Tables, by: &str, streams: u16) -> Outcome<Grouping> {
    let pages = tables.capture.device_bytes.div_ceil(u64::from(PAGE_BYTES));
    let logical_pages = u32::try_from(pages)
        .map_err(|_| Failure::say("the captured device is larger than 16 TiB"))?;
    let mut survey = Survey::new(logical_pages, By::read(by, logical_pages, streams, tables)?);
    source.each_batch(|ios, _| ios.iter().try_for_each(|io| survey.apply(io)))?;
    Ok(survey.found(by, tables))
}

/// What pages are brought together by.
enum By {
    Context,
    Hint,
    File,
    Address,
    Streams(Box<dyn Assign>),
}

impl By {
    fn read(text: &str, logical_pages: u32, host_streams: u16, tables: &Tables) -> Outcome<By> {
        Ok(match text {
            "context" => By::Context,
            "hint" => By::Hint,
            "file" => By::File,
            "address" => By::Address,
            scheme => {
                let spec = scheme.parse::<SchemeSpec>().map_err(Failure::usage)?;
                let geometry = HostGeometry {
                    logical_pages,
                    page_bytes: PAGE_BYTES,
                    host_streams,
                    internal_streams: 0,
                    pages_per_unit: 0,
                    physical_units: 0,
                };
                let mut assign = spec.build(&geometry).map_err(Failure::usage)?;
                assign.learn(&Names::of(tables));
                By::Streams(assign)
            }
        })
    }

    fn group(&mut self, write: &Write) -> u32 {
        match self {
            By::Context => write.context.0,
            By::Hint => write.hint as u32,
            By::File => write.file.0,
            By::Address => write.pages.first / CHUNK_PAGES,
            By::Streams(assign) => u32::from(assign.assign(write).0),
        }
    }

    fn name(&self, group: u32, tables: &Tables) -> String {
        let row = group as usize;
        match self {
            By::Context => match tables.contexts.get(row) {
                Some(context) => format!("#{group} {}", context.role),
                None => format!("#{group}"),
            },
            By::Hint => anabranch_trace::WriteHint::from_number(u64::from(group))
                .map_or_else(String::new, |hint| hint.name().to_owned()),
            By::File => match tables.files.get(row) {
                Some(file) => file.name.clone(),
                None => String::new(),
            },
            By::Address => format!("MiB {group}"),
            By::Streams(_) => format!("stream {group}"),
        }
    }
}

/// Logarithms of lifetimes, summed.
#[derive(Debug, Clone, Default)]
struct Sums {
    pages: f64,
    octaves: f64,
    squares: f64,
    lifetimes: LifetimeHistogram,
}

impl Sums {
    fn record(&mut self, death: &Death) {
        // A page that is overwritten at once has lived for one write.
        let octaves = (death.lifetime_pages.max(1) as f64).log2();
        let pages = death.pages as f64;
        self.pages += pages;
        self.octaves += octaves * pages;
        self.squares += octaves * octaves * pages;
    }

    /// Squared deviations from the mean, summed.
    fn deviation(&self) -> f64 {
        self.squares - self.octaves * self.octaves / self.pages.max(1.0)
    }
}

struct Survey {
    pages: Pages,
    table: LbaTable,
    by: By,
    now_pages: u64,
    all: Sums,
    groups: BTreeMap<u32, Sums>,
}

impl Survey {
    fn new(logical_pages: u32, by: By) -> Survey {
        Survey {
            pages: Pages {
                logical_pages,
                page_bytes: PAGE_BYTES,
            },
            table: LbaTable::new(logical_pages, TABLE_BYTES),
            by,
            now_pages: 0,
            all: Sums::default(),
            groups: BTreeMap::new(),
        }
    }

    fn apply(&mut self, io: &Io) -> Outcome {
        match io.operation {
            Operation::Write => {
                let pages = self.pages.written(io).map_err(Failure::usage)?;
                self.write(io, pages);
            }
            Operation::Discard => {
                let pages = self.pages.discarded(io).map_err(Failure::usage)?;
                if let By::Streams(assign) = &mut self.by {
                    assign.discard(pages, self.now_pages);
                }
                let (all, groups) = (&mut self.all, &mut self.groups);
                self.table
                    .discard(pages.indices(), self.now_pages, |death| {
                        record(all, groups, &death);
                    });
            }
            Operation::Read | Operation::Flush => {}
        }
        Ok(())
    }

    /// A request belongs to one group, but for addresses: there each chunk is one.
    fn write(&mut self, io: &Io, pages: PageRange) {
        let end = pages.first + pages.count;
        let step = match self.by {
            By::Address => CHUNK_PAGES,
            _ => u32::MAX,
        };
        let mut first = pages.first;
        while first < end {
            let boundary = (first / step).saturating_add(1).saturating_mul(step);
            let count = boundary.min(end) - first;
            let part = PageRange::new(first, count);
            let group = self.by.group(&Write {
                pages: part,
                context: io.context,
                file: io.file,
                hint: io.hint,
                tenant: io.tenant,
                now_pages: self.now_pages,
            });
            let (all, groups) = (&mut self.all, &mut self.groups);
            let tag = ContextId(group);
            self.table
                .write(part.indices(), tag, self.now_pages, |death| {
                    record(all, groups, &death);
                });
            self.now_pages += u64::from(count);
            first += count;
        }
    }

    fn found(self, by: &str, tables: &Tables) -> Grouping {
        let within: f64 = self.groups.values().map(Sums::deviation).sum();
        let mut groups: Vec<Group> = self
            .groups
            .iter()
            .map(|(group, sums)| {
                let at = |quantile| sums.lifetimes.quantile_pages(quantile).unwrap_or(0);
                Group {
                    name: self.by.name(*group, tables),
                    pages: sums.pages as u64,
                    p25_pages: at(0.25),
                    p50_pages: at(0.5),
                    p75_pages: at(0.75),
                }
            })
            .collect();
        let groups_found = groups.len();
        groups.sort_by_key(|group| std::cmp::Reverse(group.pages));
        groups.truncate(MOST_GROUPS);
        groups.sort_by_key(|group| group.p50_pages);
        Grouping {
            by: by.to_owned(),
            groups_found,
            pages: self.all.pages as u64,
            explained: 1.0 - within / self.all.deviation().max(f64::MIN_POSITIVE),
            spread_octaves: (within / self.all.pages.max(1.0)).max(0.0).sqrt(),
            median_span: median_span(&groups, self.all.pages),
            groups,
        }
    }
}

fn median_span(groups: &[Group], pages: f64) -> f64 {
    let medians = groups
        .iter()
        .filter(|group| group.pages as f64 >= pages / 1000.0)
        .map(|group| group.p50_pages as f64);
    let (shortest, longest) = medians.fold((f64::INFINITY, 0.0), |(low, high), median| {
        (median.min(low), median.max(high))
    });
    longest / shortest.max(1.0)
}

fn record(all: &mut Sums, groups: &mut BTreeMap<u32, Sums>, death: &Death) {
    all.record(death);
    let group = groups.entry(death.context.0).or_default();
    group.record(death);
    group.lifetimes.record(death.lifetime_pages, death.pages);
}
