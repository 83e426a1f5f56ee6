//! A survey of how a scheme placed a trace's writes, for each way of telling writes apart.

use std::collections::HashMap;

use anabranch_compare::{CompareError, Result, Watch};
use anabranch_lifetime::{ContextProfile, ContextProfiles};
use anabranch_replay::{Lane, LaneError, NamePatterns, Pages};
use anabranch_ssd::{Counters, PageRange, StreamId};
use anabranch_trace::{ContextId, ContextKind, Io, Operation, Tables};

use super::{
    check::Cost,
    plan::{Half, Plan},
};
use crate::reading::TABLE_BYTES;

/// Number of equal parts that the address space is divided into (our choice: fine enough to cut 32
/// ranges from).
pub const PARTS: u32 = 1024;
/// The most names that are told apart; further ones count as the first, which is empty (our
/// choice).
const MAX_NAMES: usize = 4096;

/// A writer by what stays the same in the next run: the pattern of the file's name, the thread's name without its
/// numbers, and the kind of writer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// A pattern of file names as in rules; empty where the file is not known.
    pub file: String,
    pub role: String,
    pub kind: ContextKind,
}

/// The writes of one group.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub profile: ContextProfile,
    /// Pages by the stream that the scheme chose, over the whole trace.
    pub by_stream: Vec<u64>,
    /// Pages by stream over the later half of what is surveyed, when the scheme had learned.
    pub late_by_stream: Vec<u64>,
}

impl Tally {
    fn count(&mut self, stream: StreamId, pages: u64, late: bool) {
        let place = usize::from(stream.0);
        for list in [&mut self.by_stream, &mut self.late_by_stream] {
            if place >= list.len() {
                list.resize(place + 1, 0);
            }
        }
        self.by_stream[place] += pages;
        if late {
            self.late_by_stream[place] += pages;
        }
    }

    /// The stream that got most of the pages once the scheme had learned.
    pub fn stream(&self) -> u16 {
        let most = |list: &[u64]| {
            let largest = (0..).zip(list).max_by_key(|(_, pages)| **pages);
            largest
                .filter(|(_, pages)| **pages > 0)
                .map(|(stream, _)| stream)
        };
        most(&self.late_by_stream)
            .or(most(&self.by_stream))
            .unwrap_or(0)
    }

    /// Pages that the scheme put in other streams than `stream`.
    pub fn elsewhere(&self, stream: u16) -> u64 {
        let here = self
            .by_stream
            .get(usize::from(stream))
            .copied()
            .unwrap_or(0);
        self.by_stream.iter().sum::<u64>() - here
    }

    /// The median lifetime in pages; the whole trace where more than half does not end within it.
    pub fn lifetime_pages(&self, trace_pages: u64) -> u64 {
        let ended = self.profile.lifetimes.pages();
        let half = self.profile.written_pages / 2;
        match self.profile.lifetimes.quantile_pages(0.5) {
            // Where most of it is still alive, the median of what died says little.
            Some(median) if ended >= half => median,
            _ => trace_pages,
        }
    }
}

/// A trace's writes, grouped in one way.
#[derive(Debug)]
pub struct Group<K> {
    pub keys: Vec<K>,
    pub tallies: Vec<Tally>,
}

impl<K> Group<K> {
    /// The groups that wrote, those with most pages first.
    pub fn by_weight(&self) -> Vec<(&K, &Tally)> {
        let mut rows: Vec<(&K, &Tally)> = self.keys.iter().zip(&self.tallies).collect();
        rows.retain(|(_, tally)| tally.profile.written_pages > 0);
        rows.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.profile.written_pages));
        rows
    }
}

/// The groups that one pass over the first half of the writes found.
#[derive(Debug)]
pub struct WriterSurvey {
    pub names: Group<Name>,
    /// Writes by row of the trace's context table.
    pub contexts: Group<u32>,
    /// Writes by part of the address space.
    pub parts: Group<u32>,
    pub written_pages: u64,
    /// The cost of the scheme itself.
    pub promised: Cost,
}

/// Reads the trace once, with the scheme at work on its drive. The second half of the writes is not looked at: it is
/// what the advice is priced on.
pub fn survey(plan: &Plan, watch: &mut dyn Watch) -> Result<WriterSurvey> {
    let mut lane = plan.lane(&plan.scheme)?;
    lane.keep_placements();
    let mut reading = Reading::new(plan, lane);
    plan.each_batch("what the scheme does: ", watch, &mut |ios, half| {
        let done = match half {
            Half::First => ios.iter().try_for_each(|io| reading.survey(io)),
            Half::Second => reading.pass(ios),
        };
        done.map_err(CompareError::usage)
    })?;
    reading.finish()
}

struct Reading {
    lane: Lane,
    pages: Pages,
    counted: Counted,
    /// Requests of the first half, and how many of them were read.
    first_half: usize,
    read: usize,
    at_half: Option<Counters>,
}

impl Reading {
    fn new(plan: &Plan, lane: Lane) -> Reading {
        Reading {
            lane,
            pages: Pages::of(&plan.drive),
            counted: Counted::new(plan),
            first_half: plan.first_half,
            read: 0,
            at_half: None,
        }
    }

    /// Places requests of the second half.
    fn pass(&mut self, ios: &[Io]) -> Result<(), LaneError> {
        if self.at_half.is_none() {
            self.lane.flush_batch()?;
            self.at_half = Some(*self.lane.counters());
        }
        ios.iter().try_for_each(|io| self.lane.apply(io))
    }

    fn survey(&mut self, io: &Io) -> Result<(), LaneError> {
        self.lane.apply(io)?;
        self.read += 1;
        let late = self.read > self.first_half / 2;
        match io.operation {
            Operation::Write => self.counted.write(io, self.lane.placements(), late),
            Operation::Discard => {
                if let Ok(pages) = self.pages.discarded(io) {
                    self.counted.discard(pages);
                }
            }
            Operation::Read | Operation::Flush => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<WriterSurvey> {
        self.lane.flush_batch().map_err(CompareError::usage)?;
        let cost = Cost::new(*self.lane.counters(), self.at_half);
        Ok(self.counted.finish(cost))
    }
}

/// Tallies and lifetimes for each way of grouping writes.
struct Counted {
    written_pages: u64,
    pages_per_part: u32,
    table: NameTable,
    names: Rows,
    contexts: Rows,
    parts: Rows,
}

impl Counted {
    fn new(plan: &Plan) -> Counted {
        let rows = |count| Rows {
            tallies: vec![Tally::default(); count],
            profiles: ContextProfiles::new(plan.drive.logical_pages, TABLE_BYTES, count),
        };
        Counted {
            written_pages: 0,
            pages_per_part: plan.drive.logical_pages.div_ceil(PARTS).max(1),
            table: NameTable::new(&plan.tables),
            names: rows(MAX_NAMES),
            contexts: rows(plan.tables.contexts.len()),
            parts: rows(PARTS as usize),
        }
    }

    fn write(&mut self, io: &Io, placements: &[(PageRange, StreamId)], late: bool) {
        let name = self.table.row_of(io);
        for &(pages, stream) in placements {
            let part = pages.first / self.pages_per_part;
            for (rows, row) in [
                (&mut self.names, name),
                (&mut self.contexts, io.context.0),
                (&mut self.parts, part),
            ] {
                rows.write(row, pages, stream, late, self.written_pages);
            }
            self.written_pages += u64::from(pages.count);
        }
    }

    fn discard(&mut self, pages: PageRange) {
        for rows in [&mut self.names, &mut self.contexts, &mut self.parts] {
            rows.profiles.discard(pages.indices(), self.written_pages);
        }
    }

    fn finish(self, promised: Cost) -> WriterSurvey {
        let contexts = (0..self.contexts.tallies.len() as u32).collect();
        WriterSurvey {
            promised,
            written_pages: self.written_pages,
            names: self.names.group(self.table.names),
            contexts: self.contexts.group(contexts),
            parts: self.parts.group((0..PARTS).collect()),
        }
    }
}

/// The groups of one way, while writes are counted.
struct Rows {
    tallies: Vec<Tally>,
    profiles: ContextProfiles,
}

impl Rows {
    fn write(&mut self, row: u32, pages: PageRange, stream: StreamId, late: bool, now_pages: u64) {
        if let Some(tally) = self.tallies.get_mut(row as usize) {
            tally.count(stream, u64::from(pages.count), late);
        }
        self.profiles
            .write(pages.indices(), ContextId(row), now_pages);
    }

    fn group<K>(mut self, keys: Vec<K>) -> Group<K> {
        self.tallies.truncate(keys.len());
        for (tally, profile) in self.tallies.iter_mut().zip(self.profiles.profiles()) {
            tally.profile = profile.clone();
        }
        Group {
            keys,
            tallies: self.tallies,
        }
    }
}

/// Names with their numbers in this survey.
struct NameTable {
    names: Vec<Name>,
    rows: HashMap<Name, u32>,
    known: HashMap<(u32, u32), u32>,
    files: Vec<String>,
    writers: Vec<(String, ContextKind)>,
}

impl NameTable {
    fn new(tables: &Tables) -> NameTable {
        let unknown = Name {
            file: String::new(),
            role: String::new(),
            kind: ContextKind::Unknown,
        };
        let writer = |context: &anabranch_trace::Context| (context.role.clone(), context.kind);
        let files = || tables.files.iter().map(|file| file.name.as_str());
        let patterns = NamePatterns::of(files());
        NameTable {
            rows: HashMap::from([(unknown.clone(), 0)]),
            names: vec![unknown],
            known: HashMap::new(),
            files: files().map(|name| patterns.of_name(name)).collect(),
            writers: tables.contexts.iter().map(writer).collect(),
        }
    }

    fn row_of(&mut self, io: &Io) -> u32 {
        let (file, context) = (io.file.0, io.context.0);
        if let Some(row) = self.known.get(&(file, context)) {
            return *row;
        }
        let (role, kind) = self
            .writers
            .get(context as usize)
            .cloned()
            .unwrap_or((String::new(), ContextKind::Unknown));
        let name = Name {
            file: self.files.get(file as usize).cloned().unwrap_or_default(),
            role,
            kind,
        };
        let next = self.names.len() as u32;
        let row = match self.rows.get(&name) {
            Some(row) => *row,
            None if self.names.len() >= MAX_NAMES => 0,
            None => {
                self.rows.insert(name.clone(), next);
                self.names.push(name);
                next
            }
        };
        self.known.insert((file, context), row);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_most_went_late_counts_before_where_most_went() {
        let mut tally = Tally::default();
        assert_eq!(tally.stream(), 0);
        tally.count(StreamId(1), 100, false);
        assert_eq!(tally.stream(), 1);
        tally.count(StreamId(3), 10, true);
        assert_eq!((tally.stream(), tally.elsewhere(3)), (3, 100));
    }

    #[test]
    fn what_mostly_lives_on_lives_as_long_as_the_trace() {
        let mut profiles = ContextProfiles::new(100, 1 << 20, 2);
        profiles.write(0..100, ContextId(1), 0);
        profiles.write(0..10, ContextId(0), 100);
        let tally = Tally {
            profile: profiles.profiles()[1].clone(),
            ..Tally::default()
        };
        assert_eq!(tally.lifetime_pages(110), 110);
        profiles.discard(0..90, 110);
        let tally = Tally {
            profile: profiles.profiles()[1].clone(),
            ..Tally::default()
        };
        assert!(tally.lifetime_pages(110) >= 100);
    }
}
