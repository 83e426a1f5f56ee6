//! A store like RocksDB under `db_bench`: log, flushes, levelled compaction.
//!
//! The PCStream draft ran update-random, append-random and fill-random on 12 GB and tells neither
//! sizes nor flags. From RocksDB's defaults, as shares of a drive of 12 GiB: memtables and tables of
//! 64 MiB, four flushed tables begin a compaction into level 1 (256 MiB), each level is ten times the
//! one above. Our choice: uniform keys, the last level at most 52 % of the drive; one compaction
//! at a time, eight chunks to one of the log's; updates wait at twelve flushed tables.
//!
//! Hints are RocksDB's own (log short, levels 0 and 1 medium, 2 long, below extreme).
//!
//! YCSB on a drive with placement (facebook/rocksdb#13994) loaded 200 million records and updated 100 million, of 1 KB
//! as YCSB has them: 200 GB, of which 64 MiB a table and 256 MiB a first level are the shares here. How much of the
//! drive that is, is not told: a setting. So is whose hints are given, RocksDB's or the publication's.

use anabranch_trace::{ContextKind, Tables, WriteHint};

use super::{
    LoadKind, LoadRequests, Make, Plan, Tag,
    lsm::{CHUNK, Disk, Job, Log, Numbers, Step, Store, Table, merged, requests},
    settings::Setting,
    tables,
};

/// Update-random: every key exists already, and all are updated alike.
pub(super) const UPDATE: LoadKind = LoadKind {
    name: "rocksdb-update",
    summary: "RocksDB: levelled compaction under updates of keys that are all there",
    least_bytes: 512 << 20,
    settings: &[],
    tables: rocksdb_tables,
    make: Make::Rule(updates),
};

/// Updates of keys that all exist already.
fn updates(plan: &Plan) -> LoadRequests {
    requests(Rocksdb::new(plan, &Shape::db_bench(plan), false))
}

/// The same, where each log and table has a number of its own among the files.
pub(super) fn numbered_updates(plan: &Plan, numbers: Numbers) -> LoadRequests {
    let mut rocksdb = Rocksdb::new(plan, &Shape::db_bench(plan), false);
    rocksdb.disk = rocksdb.disk.numbered(numbers);
    requests(rocksdb)
}

/// Append-random: like update-random, but each update lengthens its value, so that the data grow from half to all.
pub(super) const APPEND: LoadKind = LoadKind {
    name: "rocksdb-append",
    summary: "RocksDB: levelled compaction under updates that lengthen their values",
    least_bytes: 512 << 20,
    settings: &[],
    tables: rocksdb_tables,
    make: Make::Rule(|plan| {
        let mut shape = Shape::db_bench(plan);
        shape.data_pages.0 *= 0.5;
        requests(Rocksdb::new(plan, &shape, false))
    }),
};

/// Fill-random: random keys into an empty store.
pub(super) const FILL: LoadKind = LoadKind {
    name: "rocksdb-fill",
    summary: "RocksDB: levelled compaction of random keys into an empty store",
    least_bytes: 512 << 20,
    settings: &[],
    tables: rocksdb_tables,
    make: Make::Rule(|plan| requests(Rocksdb::new(plan, &Shape::db_bench(plan), true))),
};

/// Share of the drive that one version of each YCSB record takes.
const DATA: Setting = Setting::share(0, "data", 0.65, (0.2, 0.75));
/// The set of hints: 0 RocksDB's, 1 those of rocksdb#13994 (levels 0 to 3 medium, 4 long).
const MAP: Setting = Setting::count(1, "map", 0.0, (0.0, 1.0));

/// YCSB as in rocksdb#13994: all records exist already, and all are updated alike.
pub(super) const YCSB: LoadKind = LoadKind {
    name: "rocksdb-ycsb",
    summary: "RocksDB: 200 GB of records in five levels, scaled to the drive, all updated alike",
    least_bytes: 1 << 30,
    settings: &[DATA, MAP],
    tables: rocksdb_tables,
    make: Make::Rule(|plan| requests(Rocksdb::new(plan, &Shape::ycsb(plan), false))),
};

/// Percent of the drive that one version of each key's data takes.
const DATA_PERCENT: u64 = 52;
/// Shares of the drive: 64 MiB and 256 MiB of 12 GiB.
const TABLE_SHARE: u64 = 192;
const LEVEL_1_SHARE: u64 = 48;
const FANOUT: u64 = 10;
/// The same shares for YCSB's data.
const YCSB_TABLE_SHARE: u64 = 3200;
const YCSB_LEVEL_1_SHARE: u64 = 800;
const TRIGGER: usize = 4;
const STALL: usize = 12;
const COMPACTION_CHUNKS: usize = 8;
/// Chunks of compaction for each chunk of the log: YCSB's five levels are rewritten more often (our choice: they stay
/// near their sizes).
const YCSB_COMPACTION_CHUNKS: usize = 32;

const JOURNAL: Tag = Tag::new(1, WriteHint::NotSet);
const LOG: Tag = Tag::new(2, WriteHint::Short);
const FLUSH: Tag = Tag::new(3, WriteHint::Medium);
/// One path of calls writes all levels (PCStream draft, Fig. 3).
const COMPACTION: Tag = Tag::new(4, WriteHint::NotSet);
/// The hint of each level: RocksDB's own, and those of rocksdb#13994.
const OWN_HINTS: &[WriteHint] = &[
    WriteHint::Medium,
    WriteHint::Medium,
    WriteHint::Long,
    WriteHint::Extreme,
    WriteHint::Extreme,
];
const TUNED_HINTS: &[WriteHint] = &[
    WriteHint::Medium,
    WriteHint::Medium,
    WriteHint::Medium,
    WriteHint::Medium,
    WriteHint::Long,
];

/// The size of a store and of its parts.
#[derive(Debug)]
struct Shape {
    /// Pages of the keys' data at the beginning and at the end.
    data_pages: (f64, f64),
    table_pages: u64,
    /// Bound of each level before it is compacted: tables in level 0, pages in the others; the last holds the
    /// rest.
    targets: Vec<u64>,
    hints: &'static [WriteHint],
    /// Chunks compacted for each chunk of the log.
    compaction_chunks: usize,
}

impl Shape {
    fn db_bench(plan: &Plan) -> Shape {
        let data = plan.percent(DATA_PERCENT) as f64;
        Shape {
            data_pages: (data, data),
            table_pages: (plan.pages() / TABLE_SHARE).max(CHUNK),
            targets: targets(plan.pages() / LEVEL_1_SHARE, 4),
            hints: OWN_HINTS,
            compaction_chunks: COMPACTION_CHUNKS,
        }
    }

    fn ycsb(plan: &Plan) -> Shape {
        let data = plan.pages() as f64 * plan.own(&DATA);
        let pages = data as u64;
        Shape {
            data_pages: (data, data),
            table_pages: (pages / YCSB_TABLE_SHARE).max(CHUNK),
            targets: targets((pages / YCSB_LEVEL_1_SHARE).max(CHUNK), 5),
            hints: if plan.own(&MAP) == 0.0 {
                OWN_HINTS
            } else {
                TUNED_HINTS
            },
            compaction_chunks: YCSB_COMPACTION_CHUNKS,
        }
    }
}

/// Returns the bound of each of `levels` levels.
fn targets(level_1: u64, levels: usize) -> Vec<u64> {
    let between = (0..levels - 2).scan(level_1, |target, _| {
        let this = *target;
        *target *= FANOUT;
        Some(this)
    });
    std::iter::once(0)
        .chain(between)
        .chain([u64::MAX])
        .collect()
}

fn rocksdb_tables() -> Tables {
    use ContextKind::{Application, Journal};
    tables(&[
        (Journal, "jbd2", ""),
        (Application, "db_bench", "000001.log"),
        (Application, "rocksdb:high", "000002.sst"),
        (Application, "rocksdb:low", "000003.sst"),
    ])
}

/// A sorted table, with the part of the keys it covers, from 0 to 1.
#[derive(Debug)]
struct Sorted {
    low: f64,
    high: f64,
    table: Table,
}

/// Class of a table: its level and its part of the keys.
type Place = (usize, f64, f64);

struct Rocksdb {
    disk: Disk,
    log: Log,
    memtable_pages: u64,
    table_pages: u64,
    /// The tables of each level: level 0 in order of arrival, the others in order of keys.
    levels: Vec<Vec<Sorted>>,
    targets: Vec<u64>,
    hints: &'static [WriteHint],
    compaction_chunks: usize,
    /// First key of each level's next compaction.
    cursors: Vec<f64>,
    flush: Option<Job<Place>>,
    compaction: Option<Job<Place>>,
    loading: Option<Job<Place>>,
    /// Pages of the keys' data at the beginning and at the end; `growth_pages` is how long the way is.
    data_pages: (f64, f64),
    updated_pages: u64,
    growth_pages: f64,
}

impl Rocksdb {
    fn new(plan: &Plan, shape: &Shape, begins_empty: bool) -> Rocksdb {
        let levels = shape.targets.len();
        let mut rocksdb = Rocksdb {
            disk: Disk::new(plan, JOURNAL),
            log: Log::new(LOG),
            memtable_pages: 0,
            table_pages: shape.table_pages,
            levels: (0..levels).map(|_| Vec::new()).collect(),
            targets: shape.targets.clone(),
            hints: shape.hints,
            compaction_chunks: shape.compaction_chunks,
            cursors: vec![0.0; levels],
            flush: None,
            compaction: None,
            loading: None,
            data_pages: shape.data_pages,
            updated_pages: 0,
            // An update is written about ten times, log and levels together.
            growth_pages: plan.write_bytes as f64 / super::PAGE_BYTES as f64 / 10.0,
        };
        if !begins_empty {
            let last = levels - 1;
            let outputs = rocksdb.cut(last, 0.0, 1.0, rocksdb.data_pages.0);
            let tag = rocksdb.compaction_tag(last);
            rocksdb.loading = Some(Job::new(tag, outputs, Vec::new()));
        }
        rocksdb
    }

    fn compaction_tag(&self, level: usize) -> Tag {
        Tag {
            hint: self.hints.get(level).copied().unwrap_or_default(),
            ..COMPACTION
        }
    }

    /// Pages of one version of all keys, at their present size.
    fn data(&self) -> f64 {
        let grown = (self.updated_pages as f64 / self.growth_pages.max(1.0)).min(1.0);
        self.data_pages.0 + (self.data_pages.1 - self.data_pages.0) * grown
    }

    /// Pages of a part of the keys, cut into tables.
    fn cut(&self, level: usize, low: f64, high: f64, pages: f64) -> Vec<(Place, u64)> {
        let count = (pages / self.table_pages as f64).ceil().max(1.0);
        let width = (high - low) / count;
        let each = ((pages / count) as u64).max(1);
        let edge = |index: u64| low + width * index as f64;
        (0..count as u64)
            .map(|index| ((level, edge(index), edge(index + 1)), each))
            .collect()
    }

    fn update(&mut self) -> bool {
        if self.levels[0].len() >= STALL || !self.log.append(&mut self.disk) {
            return false;
        }
        self.memtable_pages += CHUNK;
        self.updated_pages += CHUNK;
        if self.memtable_pages >= self.table_pages && self.flush.is_none() {
            let pages = std::mem::take(&mut self.memtable_pages);
            let log = self.log.turn();
            let output = ((0, 0.0, 1.0), pages);
            self.flush = Some(Job::new(FLUSH, vec![output], vec![log]));
        }
        true
    }

    /// Begins the compaction of the level that exceeds its target most, if any does.
    fn schedule(&mut self) {
        if self.compaction.is_some() {
            return;
        }
        let mut fullest = (0, self.levels[0].len() as f64 / TRIGGER as f64);
        for level in 1..self.levels.len() - 1 {
            let pages: u64 = self.levels[level].iter().map(|one| one.table.pages).sum();
            let score = pages as f64 / self.targets[level].max(1) as f64;
            if score > fullest.1 {
                fullest = (level, score);
            }
        }
        match fullest {
            (level, score) if score >= 1.0 => self.begin(level),
            _ => {}
        }
    }

    fn begin(&mut self, level: usize) {
        let upper = match level {
            0 => std::mem::take(&mut self.levels[0]),
            _ => self.next_of(level).into_iter().collect(),
        };
        let low = upper.iter().fold(1.0, |low, one| one.low.min(low));
        let high = upper.iter().fold(0.0, |high, one| one.high.max(high));
        let below = &mut self.levels[level + 1];
        let start = below.partition_point(|one| one.high <= low);
        let end = below.partition_point(|one| one.low < high);
        let lower: Vec<Sorted> = below.drain(start..end).collect();
        if lower.is_empty() && level > 0 {
            // Moved without being written.
            below.splice(start..start, upper);
            return;
        }
        let low = lower.iter().fold(low, |low, one| one.low.min(low));
        let high = lower.iter().fold(high, |high, one| one.high.max(high));
        let all = self.data() * (high - low);
        let together: u64 = lower.iter().map(|one| one.table.pages).sum();
        let parts = upper.iter().map(|one| one.table.pages as f64);
        let pages = merged(all, parts.chain([together as f64]));
        let outputs = self.cut(level + 1, low, high, pages);
        let inputs = upper.into_iter().chain(lower).map(|one| one.table);
        let tag = self.compaction_tag(level + 1);
        self.compaction = Some(Job::new(tag, outputs, inputs.collect()));
    }

    /// The next table of a level to compact: a level's tables take turns.
    fn next_of(&mut self, level: usize) -> Option<Sorted> {
        let tables = &mut self.levels[level];
        let at = tables.partition_point(|one| one.low < self.cursors[level]);
        let at = if at < tables.len() { at } else { 0 };
        if tables.is_empty() {
            return None;
        }
        let chosen = tables.remove(at);
        self.cursors[level] = chosen.high;
        Some(chosen)
    }

    fn place(&mut self, outputs: Vec<(Place, Table)>) {
        for ((level, low, high), table) in outputs {
            let tables = &mut self.levels[level];
            let at = match level {
                0 => tables.len(),
                _ => tables.partition_point(|one| one.low < low),
            };
            tables.insert(at, Sorted { low, high, table });
        }
    }

    /// Takes a step of a job, and removes it when it is done. Answers whether it went on.
    fn step(&mut self, job: impl Fn(&mut Rocksdb) -> &mut Option<Job<Place>>) -> bool {
        let Some(mut taken) = job(self).take() else {
            return false;
        };
        match taken.step(&mut self.disk) {
            Step::Done => self.place(taken.outputs),
            Step::Wrote => *job(self) = Some(taken),
            Step::Stuck => {
                *job(self) = Some(taken);
                return false;
            }
        }
        true
    }
}

impl Store for Rocksdb {
    fn disk(&mut self) -> &mut Disk {
        &mut self.disk
    }

    fn turn(&mut self) -> bool {
        if self.loading.is_some() {
            return self.step(|store| &mut store.loading);
        }
        let updated = self.update();
        let mut went_on = self.step(|store| &mut store.flush);
        for _ in 0..self.compaction_chunks {
            self.schedule();
            went_on |= self.step(|store| &mut store.compaction);
        }
        updated || went_on
    }
}
