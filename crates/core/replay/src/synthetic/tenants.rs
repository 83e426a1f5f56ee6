//! RocksDB beside MySQL on one drive: the load of FlashAlloc (arXiv 2201.04409, PVLDB 16), as far as it is told.
//!
//! Published: `db_bench` fill-random (values of 1 KB, tables and first level of 64 MiB, levels ten times each other, no log) beside
//! TPC-C on InnoDB (artifact: JonghyeokPark/Flashalloc-Cosmos). Sizes and rates are not told: the share of the drive that is
//! MySQL's and its share of the bytes are settings. Our choice of the rest: RocksDB as in `rocksdb-update`, with its
//! log; InnoDB writes pages of 16 KiB, each to the doublewrite buffer first, 8 of 10 to a fifth of its
//! space, and an eighth of its bytes to a log that goes round.

use std::iter;

use anabranch_trace::{ContextKind, File, Io, Tables, WriteHint};

use super::{
    LoadKind, LoadRequests, Make, PAGE_BYTES, Plan, Tag,
    jobs::{Job, Order, side_by_side},
    lsm::Numbers,
    rocksdb,
    settings::Setting,
    tables,
};

/// MySQL's share of the drive.
const SPACE: Setting = Setting::share(0, "mysql", 0.5, (0.1, 0.8));
/// MySQL's share of the bytes.
const WRITES: Setting = Setting::share(1, "mysql-writes", 0.4, (0.05, 0.95));

/// RocksDB and MySQL on one drive.
pub(super) const BOTH: LoadKind = LoadKind {
    name: "rocksdb+mysql",
    summary: "RocksDB's log, flushes and compactions beside InnoDB's pages, doublewrite buffer and log",
    least_bytes: 2 << 30,
    settings: &[SPACE, WRITES],
    tables: both_tables,
    make: Make::Rule(both),
};

/// RocksDB's writers from the second on (its log) number their files, in the rows behind those of all writers: a log
/// or table is an object there.
const OBJECTS: Numbers = Numbers {
    first_writer: 2,
    first_row: 8,
};

/// Rows of the tables: RocksDB's come first, then these of MySQL.
const DOUBLEWRITE: Tag = Tag::new(5, WriteHint::NotSet);
const PAGES: Tag = Tag::new(6, WriteHint::NotSet);
const REDO: Tag = Tag::new(7, WriteHint::NotSet);

/// InnoDB's page, and its shares of a drive of 32 GiB: a doublewrite buffer of 2 MiB, a log of 96 MiB.
const INNODB_PAGES: u64 = (16 << 10) / PAGE_BYTES;
const DOUBLEWRITE_SHARE: u64 = 16_384;
const REDO_SHARE: u64 = 340;
/// Share of MySQL's bytes that go to its log.
const REDO_WRITES: f64 = 0.125;

fn both_tables() -> Tables {
    use ContextKind::{Application, Journal};
    let mut tables = tables(&[
        (Journal, "jbd2", ""),
        (Application, "db_bench", "000001.log"),
        (Application, "rocksdb:high", "000002.sst"),
        (Application, "rocksdb:low", "000003.sst"),
        (Application, "mysqld", "#ib_16384_0.dblwr"),
        (Application, "mysqld", "stock.ibd"),
        (Application, "mysqld", "ib_logfile0"),
    ]);
    for name in ["000001.log", "000002.sst", "000003.sst"] {
        let name = name.to_owned();
        let file = File {
            name,
            ..File::default()
        };
        let objects = iter::repeat_n(file, Numbers::EACH as usize);
        tables.files.extend(objects);
    }
    tables
}

fn both(plan: &Plan) -> LoadRequests {
    let of_mysql = (plan.pages() as f64 * plan.own(&SPACE)) as u64;
    let of_rocksdb = plan.pages() - of_mysql;
    let rocksdb = Plan {
        size_bytes: of_rocksdb * PAGE_BYTES,
        own: Vec::new(),
        ..plan.clone()
    };
    let mut first = of_rocksdb;
    let mut job = |tag, pages: u64, block, order| {
        let job = Job {
            tag,
            first,
            pages,
            block,
            order,
        };
        first += pages;
        job
    };
    let doublewrite = (plan.pages() / DOUBLEWRITE_SHARE).max(INNODB_PAGES);
    let redo = (plan.pages() / REDO_SHARE).max(INNODB_PAGES);
    let pages = of_mysql.saturating_sub(doublewrite + redo);
    let each = (1.0 - REDO_WRITES) / 2.0;
    let mysql = vec![
        (
            each,
            job(DOUBLEWRITE, doublewrite, INNODB_PAGES, Order::sequence()),
        ),
        (each, job(PAGES, pages, INNODB_PAGES, Order::Zoned)),
        (REDO_WRITES, job(REDO, redo, 1, Order::sequence())),
    ];
    let mysql = side_by_side(mysql, plan.seed);
    let share = plan.own(&WRITES);
    let rocksdb = rocksdb::numbered_updates(&rocksdb, OBJECTS);
    Box::new(beside(rocksdb, mysql, share))
}

/// Two loads side by side, the second with its share of the bytes; they end when the first does.
fn beside(
    mut one: LoadRequests,
    mut other: impl Iterator<Item = Io> + Send,
    share: f64,
) -> impl Iterator<Item = Io> + Send {
    let mut written = [0.0, 0.0];
    iter::from_fn(move || {
        let is_behind = written[1] * (1.0 - share) < written[0] * share;
        let io = if is_behind { other.next() } else { one.next() }?;
        if io.operation == anabranch_trace::Operation::Write {
            written[usize::from(is_behind)] += io.length_bytes as f64;
        }
        Some(io)
    })
}
