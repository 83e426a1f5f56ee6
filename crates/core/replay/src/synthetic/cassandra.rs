//! A store like Cassandra under updates: commit log, flushes, size-tiered compactions.
//!
//! HotStorage'14 ran Cassandra 1.2.10 under YCSB on 256 GB and tells the proportions of nothing
//! but the system's own traffic (1 %). From Cassandra: tables of like size (half to one and a half of
//! their mean) are merged four at a time, the smallest first (SizeTieredCompactionStrategy's
//! defaults), and an update is written to the log and, once its memtable is full, to a table.
//! Our choice: uniform updates; sixteen column families with a sixteenth of the data each, begun at
//! different stages, since one alone would need four times its data when it merges the largest
//! tables, and leave the drive half empty before; a memtable of a 64th of a family's data; two
//! compactions at a time, each two chunks to one of the log's.
//!
//! Hints tell the tier: log short, flush medium, first compaction long, later ones extreme, which
//! is HotStorage'14's Multi-Data; thread and file names are Cassandra's, for `manual`.

use anabranch_trace::{ContextKind, Tables, WriteHint};

use super::{
    LoadKind, LoadRequests, Make, Plan, Tag,
    lsm::{CHUNK, Disk, Job, Log, Step, Store, Table, merged, requests},
    tables,
};
use crate::draw::Draw;

pub(super) const CASSANDRA: LoadKind = LoadKind {
    name: "cassandra",
    summary: "Cassandra: commit log, flushes and size-tiered compactions under uniform updates",
    least_bytes: 1 << 30,
    settings: &[],
    tables: cassandra_tables,
    make: Make::Rule(cassandra),
};

const FAMILIES: u64 = 16;
/// Percent of the drive that one version of each key's data takes.
const DATA_PERCENT: u64 = 20;
const MEMTABLE_SHARE: u64 = 64;
/// The fewest tables that are merged, and the span of sizes that count as alike.
const LEAST_MERGED: usize = 4;
const ALIKE: (f64, f64) = (0.5, 1.5);
const COMPACTORS: usize = 2;
const COMPACTION_CHUNKS: usize = 2;

const JOURNAL: Tag = Tag::new(1, WriteHint::NotSet);
const LOG: Tag = Tag::new(2, WriteHint::Short);
const FLUSH: Tag = Tag::new(3, WriteHint::Medium);
const FIRST: Tag = Tag::new(4, WriteHint::Long);
const LATER: Tag = Tag {
    hint: WriteHint::Extreme,
    ..FIRST
};

fn cassandra_tables() -> Tables {
    use ContextKind::{Application, Journal};
    tables(&[
        (Journal, "jbd2", ""),
        (Application, "MutationStage", "CommitLog-7-1.log"),
        (Application, "MemtableFlushWr", "nb-1-big-Data.db"),
        (Application, "CompactionExecu", "nb-2-big-Data.db"),
    ])
}

fn cassandra(plan: &Plan) -> LoadRequests {
    requests(Cassandra::new(plan))
}

/// A column family.
#[derive(Debug, Default)]
struct Family {
    memtable_pages: u64,
    /// Its tables, each with the number of times it was compacted.
    tables: Vec<(u32, Table)>,
    compacts: bool,
}

/// Class of a table: its family, and the number of compactions of its data.
type Place = (usize, u32);

struct Cassandra {
    disk: Disk,
    draw: Draw,
    log: Log,
    families: Vec<Family>,
    /// Tables that are written before the updates begin.
    loading: Vec<Job<Place>>,
    flushes: Vec<Job<Place>>,
    compactions: Vec<Job<Place>>,
    keys_pages: u64,
    memtable_pages: u64,
}

impl Cassandra {
    fn new(plan: &Plan) -> Cassandra {
        let keys_pages = plan.percent(DATA_PERCENT) / FAMILIES;
        let memtable_pages = (keys_pages / MEMTABLE_SHARE).max(CHUNK);
        let mut cassandra = Cassandra {
            disk: Disk::new(plan, JOURNAL),
            draw: Draw::new(plan.seed),
            log: Log::new(LOG),
            families: (0..FAMILIES).map(|_| Family::default()).collect(),
            loading: Vec::new(),
            flushes: Vec::new(),
            compactions: Vec::new(),
            keys_pages,
            memtable_pages,
        };
        cassandra.load();
        cassandra
    }

    /// Loads the store: each family gets all keys in one table, and as many tables of the largest
    /// tiers and as full a memtable as its stage calls for.
    fn load(&mut self) {
        for (family, state) in self.families.iter_mut().enumerate() {
            let stage = family as u64;
            state.memtable_pages = self.memtable_pages * stage / FAMILIES / CHUNK * CHUNK;
            let mut pages = vec![self.keys_pages];
            let tier = |versions: u64| {
                let flushed = (0..versions).map(|_| self.memtable_pages as f64);
                merged(self.keys_pages as f64, flushed) as u64
            };
            pages.extend((0..stage % 4).map(|_| tier(64)));
            pages.extend((0..stage / 4).map(|_| tier(16)));
            for pages in pages {
                let output = ((family, 2), pages.max(1));
                self.loading.push(Job::new(LATER, vec![output], Vec::new()));
            }
        }
    }

    fn update(&mut self) -> bool {
        if self.flushes.len() > 2 || !self.log.append(&mut self.disk) {
            return false;
        }
        let family = self.draw.below(FAMILIES as u32) as usize;
        let state = &mut self.families[family];
        state.memtable_pages += CHUNK;
        if state.memtable_pages >= self.memtable_pages {
            let pages = std::mem::take(&mut state.memtable_pages);
            // The log's file is shared by all families; what it holds of the others is written
            // again by their next flush in Cassandra too, once its total is reached.
            let segment = self.log.turn();
            let output = ((family, 0), pages);
            self.flushes
                .push(Job::new(FLUSH, vec![output], vec![segment]));
        }
        true
    }

    /// Begins compactions while there are tables to merge and room for the results.
    fn schedule(&mut self) {
        for family in 0..self.families.len() {
            if self.compactions.len() >= COMPACTORS {
                return;
            }
            if self.families[family].compacts {
                continue;
            }
            if let Some(chosen) = bucket(&self.families[family].tables) {
                self.begin(family, chosen);
            }
        }
    }

    fn begin(&mut self, family: usize, mut chosen: Vec<usize>) {
        let state = &mut self.families[family];
        let sizes = chosen
            .iter()
            .map(|&index| state.tables[index].1.pages as f64);
        let pages = (merged(self.keys_pages as f64, sizes) as u64).max(1);
        if self.disk.free_pages() < pages + self.memtable_pages {
            return;
        }
        chosen.sort_unstable_by(|a, b| b.cmp(a));
        let inputs: Vec<(u32, Table)> = chosen
            .into_iter()
            .map(|index| state.tables.remove(index))
            .collect();
        let compacted = 1 + inputs.iter().map(|(times, _)| *times).max().unwrap_or(0);
        let tag = if compacted == 1 { FIRST } else { LATER };
        let inputs = inputs.into_iter().map(|(_, table)| table).collect();
        state.compacts = true;
        self.compactions
            .push(Job::new(tag, vec![((family, compacted), pages)], inputs));
    }

    fn step(&mut self) -> bool {
        let mut wrote = false;
        for _ in 0..COMPACTION_CHUNKS {
            for job in &mut self.compactions {
                wrote |= job.step(&mut self.disk) != Step::Stuck;
            }
        }
        if let Some(job) = self.flushes.first_mut() {
            wrote |= job.step(&mut self.disk) != Step::Stuck;
        }
        for ((family, _), _) in finished(&mut self.compactions, &mut self.families) {
            self.families[family].compacts = false;
        }
        finished(&mut self.flushes, &mut self.families);
        wrote
    }
}

/// Removes the jobs that are done, and gives their tables to the families.
fn finished(jobs: &mut Vec<Job<Place>>, families: &mut [Family]) -> Vec<(Place, u64)> {
    let mut places = Vec::new();
    jobs.retain_mut(|job| {
        if !job.is_over() {
            return true;
        }
        for ((family, times), table) in job.outputs.drain(..) {
            places.push(((family, times), table.pages));
            families[family].tables.push((times, table));
        }
        false
    });
    places
}

/// The tables to merge: among the sets of similar size with enough members, the set of the smallest
/// tables.
fn bucket(tables: &[(u32, Table)]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..tables.len()).collect();
    order.sort_by_key(|&index| tables[index].1.pages);
    let mut start = 0;
    while start < order.len() {
        let mut sum = 0.0;
        let mut end = start;
        while end < order.len() {
            let pages = tables[order[end]].1.pages as f64;
            let mean = sum / (end - start).max(1) as f64;
            if end > start && !(ALIKE.0 * mean..=ALIKE.1 * mean).contains(&pages) {
                break;
            }
            sum += pages;
            end += 1;
        }
        if end - start >= LEAST_MERGED {
            return Some(order[start..end].to_vec());
        }
        start = end;
    }
    None
}

impl Store for Cassandra {
    fn disk(&mut self) -> &mut Disk {
        &mut self.disk
    }

    fn turn(&mut self) -> bool {
        if let Some(job) = self.loading.last_mut() {
            let going = job.step(&mut self.disk) != Step::Stuck;
            finished(&mut self.loading, &mut self.families);
            return going;
        }
        self.schedule();
        let updated = self.update();
        self.step() || updated
    }
}
