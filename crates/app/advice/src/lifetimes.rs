//! Lifetimes of data, by the groups that a scheme could go by.

use std::{collections::BTreeMap, convert::Infallible};

use anabranch_compare::{CompareError, Requests, Result, Watch};
use anabranch_lifetime::{Death, LbaTable, LifetimeHistogram};
use anabranch_placement::{Names, Policy, Write};
use anabranch_ssd::PageRange;
use anabranch_trace::{ContextId, Io, Tables, WriteHint};
use serde::Serialize;

use crate::reading::{Measure, Reading, TABLE_BYTES, addresses, host_policy};

/// Pages of a chunk of addresses: 1 MiB, as in the PCStream draft's Fig. 1(b).
const CHUNK_PAGES: u32 = 256;
/// The most groups that are listed, those with most dead pages.
const MOST_GROUPS: usize = 32;

/// Lifetimes of a trace's pages in one grouping.
#[derive(Debug, Serialize)]
pub struct Grouping {
    /// The name of the grouping.
    pub by: String,
    /// Number of groups with dead pages.
    pub groups_found: usize,
    /// Pages whose life ended.
    pub pages: u64,
    /// The share of the variance of lifetimes, in octaves, that the groups explain: 1 where all pages of a group live
    /// alike, 0 where groups tell nothing.
    pub explained: f64,
    /// Standard deviation within groups, in octaves of lifetime.
    pub spread_octaves: f64,
    /// The longest median of a group over the shortest, among groups with a thousandth of the pages or more.
    pub median_span: f64,
    /// The groups with most dead pages, the shortest lives first.
    pub groups: Vec<Group>,
}

/// Pages of one group.
#[derive(Debug, Serialize)]
pub struct Group {
    /// The group's name.
    pub name: String,
    /// Pages whose life ended.
    pub pages: u64,
    /// The lower quartile of lifetimes in 4 KiB writes, the PCStream draft's unit.
    pub p25_pages: u64,
    /// The median of lifetimes in 4 KiB writes.
    pub p50_pages: u64,
    /// The upper quartile of lifetimes in 4 KiB writes.
    pub p75_pages: u64,
}

/// Measures the lifetimes of a trace's data, grouped by `context`, `role`, `hint`, `file`, `address` or `before`, or by
/// the streams of the scheme that `by` names, on a drive with `streams` streams.
///
/// # Errors
/// When the trace does not tell its writers, when it cannot be read, when there is no such scheme, or when the watch
/// ends the work.
pub fn lifetimes(
    source: &dyn Requests,
    by: &str,
    streams: u16,
    watch: &mut dyn Watch,
) -> Result<Grouping> {
    let known = source.tables();
    let tables = known
        .filter(|tables| tables.capture.device_bytes > 0)
        .ok_or_else(|| {
            CompareError::wrong_use(format!("{} does not say who wrote", source.name()))
        })?;
    let (mut addresses, pages) = addresses(source, u32::MAX.into(), "16 TiB", watch)?;
    let mut survey = Survey::new(pages, By::read(by, pages, streams, tables)?);
    Reading::new(pages).whole(source, &mut addresses, watch, &mut survey)?;
    Ok(survey.found(by, tables))
}

/// A way to group pages.
enum By {
    Context,
    /// The role of each context, as an index into the distinct roles.
    Role(Vec<String>, Vec<u32>),
    Hint,
    File,
    Address,
    /// The lifetime, in octaves, of the data that lay in the chunk before: its last death, by chunk.
    Before(Vec<u32>),
    Streams(Box<Policy>),
}

impl By {
    fn read(text: &str, logical_pages: u32, host_streams: u16, tables: &Tables) -> Result<By> {
        Ok(match text {
            "context" => By::Context,
            "role" => By::roles(tables),
            "hint" => By::Hint,
            "file" => By::File,
            "address" => By::Address,
            "before" => By::Before(vec![0; logical_pages.div_ceil(CHUNK_PAGES) as usize]),
            scheme => {
                let names = Names::of(tables);
                let policy = host_policy(scheme, logical_pages, host_streams, &names)?;
                By::Streams(Box::new(policy))
            }
        })
    }

    fn roles(tables: &Tables) -> By {
        let mut roles: Vec<String> = Vec::new();
        let mut of = Vec::new();
        for context in &tables.contexts {
            let known = roles.iter().position(|role| *role == context.role);
            let place = known.unwrap_or_else(|| {
                roles.push(context.role.clone());
                roles.len() - 1
            });
            of.push(place as u32);
        }
        By::Role(roles, of)
    }

    /// Whether groups depend on the chunk of the address.
    fn goes_by_chunk(&self) -> bool {
        matches!(self, By::Address | By::Before(_))
    }

    /// Notes the lifetime of data that lay in a chunk.
    fn lived(&mut self, page: u32, lifetime_pages: u64) {
        if let By::Before(octaves) = self
            && let Some(octave) = octaves.get_mut((page / CHUNK_PAGES) as usize)
        {
            *octave = lifetime_pages.max(1).ilog2();
        }
    }

    /// The parts of a write with the group of each. Parts are chunks where groups depend on them, the parts a scheme
    /// asks for where it goes by page, and otherwise the whole write.
    fn groups(&mut self, write: &Write) -> Vec<(Write, u32)> {
        let mut parts = Vec::new();
        if let By::Streams(policy) = self {
            let Ok(()) = policy.place(write, |_, part, stream| {
                parts.push((*part, u32::from(stream.0)));
                Ok::<(), Infallible>(())
            });
            return parts;
        }
        for pages in self.parts(write.pages) {
            let part = Write {
                pages,
                now_pages: write.now_pages + u64::from(pages.first - write.pages.first),
                ..*write
            };
            parts.push((part, self.group(&part)));
        }
        parts
    }

    fn parts(&self, pages: PageRange) -> impl Iterator<Item = PageRange> + use<> {
        let step = if self.goes_by_chunk() {
            CHUNK_PAGES
        } else {
            u32::MAX
        };
        let end = pages.first + pages.count;
        let next = move |first: u32| {
            let boundary = (first / step).saturating_add(1).saturating_mul(step);
            PageRange::new(first, boundary.min(end) - first)
        };
        let first = (pages.count > 0).then(|| next(pages.first));
        std::iter::successors(first, move |part| {
            let first = part.first + part.count;
            (first < end).then(|| next(first))
        })
    }

    fn group(&self, write: &Write) -> u32 {
        match self {
            By::Context => write.context.0,
            By::Role(_, of) => of.get(write.context.0 as usize).copied().unwrap_or(0),
            By::Hint => write.hint as u32,
            By::File => write.file.0,
            By::Address => write.pages.first / CHUNK_PAGES,
            By::Before(octaves) => {
                let chunk = (write.pages.first / CHUNK_PAGES) as usize;
                octaves.get(chunk).copied().unwrap_or(0)
            }
            By::Streams(_) => 0,
        }
    }

    fn name(&self, group: u32, tables: &Tables) -> String {
        let row = group as usize;
        match self {
            By::Context => match tables.contexts.get(row) {
                Some(context) => format!("#{group} {}", context.role),
                None => format!("#{group}"),
            },
            By::Role(roles, _) => roles.get(row).cloned().unwrap_or_default(),
            By::Before(_) => format!("2^{group} before"),
            By::Hint => WriteHint::from_number(u64::from(group))
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

/// Sums over logarithms of lifetimes.
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

    /// The sum of squared deviations from the mean.
    fn deviation(&self) -> f64 {
        self.squares - self.octaves * self.octaves / self.pages.max(1.0)
    }
}

struct Survey {
    table: LbaTable,
    by: By,
    all: Sums,
    groups: BTreeMap<u32, Sums>,
}

impl Measure for Survey {
    fn write(&mut self, _: &Io, write: &Write) {
        for (part, group) in self.by.groups(write) {
            self.replace(part.pages, Some(ContextId(group)), part.now_pages);
        }
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        if let By::Streams(policy) = &mut self.by {
            policy.discard(pages, now_pages);
        }
        for part in self.by.parts(pages) {
            self.replace(part, None, now_pages);
        }
    }
}

impl Survey {
    fn new(logical_pages: u32, by: By) -> Survey {
        Survey {
            table: LbaTable::new(logical_pages, TABLE_BYTES),
            by,
            all: Sums::default(),
            groups: BTreeMap::new(),
        }
    }

    /// Ends the data that lay in a part, and puts data of a group there.
    fn replace(&mut self, part: PageRange, group: Option<ContextId>, now_pages: u64) {
        let (all, groups, by) = (&mut self.all, &mut self.groups, &mut self.by);
        let mut ended = |death: Death| {
            by.lived(part.first, death.lifetime_pages);
            record(all, groups, &death);
        };
        match group {
            Some(group) => self
                .table
                .write(part.indices(), group, now_pages, &mut ended),
            None => self.table.discard(part.indices(), now_pages, &mut ended),
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

#[cfg(test)]
mod tests {
    use anabranch_trace::{Capture, Operation};

    use super::*;
    use crate::reading::PAGE_BYTES;

    /// The streams whose pages died.
    fn died(scheme: &str, requests: &[(Operation, u64, u64)]) -> Vec<u32> {
        let tables = Tables {
            contexts: Vec::new(),
            files: Vec::new(),
            capture: Capture::default(),
        };
        let mut survey = Survey::new(64, By::read(scheme, 64, 8, &tables).unwrap());
        let mut reading = Reading::new(64);
        for &(operation, first, count) in requests {
            let page = u64::from(PAGE_BYTES);
            let io = Io {
                operation,
                ..Io::write(first * page, count * page)
            };
            reading.apply(&io, &mut survey).unwrap();
        }
        survey.groups.into_keys().collect()
    }

    #[test]
    fn a_scheme_that_goes_by_page_is_asked_about_every_page() {
        use Operation::{Discard, Write};
        // By the third write page 0 is in class 2, and page 1, which is new, in class 0.
        let requests = [(Write, 0, 1), (Write, 0, 1), (Write, 0, 2), (Discard, 1, 1)];
        assert_eq!(died("dac", &requests), [0, 1]);
    }
}
