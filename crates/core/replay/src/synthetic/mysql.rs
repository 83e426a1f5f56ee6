//! YCSB-A on MySQL, as DOGI's authors ran it (FAST'26, §3.2 and §5.1): a drive of 128 GiB that the table fills, 4.1 TiB of
//! writes, keys by Zipf's law.
//!
//! Not told: InnoDB's settings. Our choice: records of 1 KiB, sixteen of them anywhere a page of 16 KiB; updates make a page
//! dirty, and dirty pages are written in the order in which they became so, as the log's checkpoints demand, each to the
//! doublewrite buffer first; the buffer and the log go round within what DOGI's text calls hot (200 K blocks of its 33.6 M).
//! The share of pages that are dirty at a time is chosen by how long data live, and by no WAF: Table 2 (groups of segments
//! that wait until their time is over, hence sizes over times) has 13, 3.5, 3.6, 3.6 and 1.9 % of all blocks live 0.2 to 9,
//! to 17, to 27, to 42 and to 51 M blocks; 2 % dirty have 14, 4.7, 3.7, 3.8 and 1.7 %.
//! Hints tell the table from the rest.
//!
//! YCSB-F, which they ran too, has no load of its own: its read-modify-writes come in the same number, and by the same law of
//! keys, as A's updates, and each changes one record as those do. What differs are reads, so that both write the same.

use std::collections::VecDeque;

use anabranch_trace::{ContextKind, Io, Tables, WriteHint};

use super::{
    LoadKind, LoadRequests, Make, PAGE_BYTES, Plan, Tag,
    jobs::{Job, Order},
    settings::Setting,
    tables,
};
use crate::draw::Draw;

/// Share of the tables' pages that are dirty at a time.
pub(super) const DIRTY: Setting = Setting::share(0, "dirty", 0.02, (0.0, 0.5));

/// YCSB-A on MySQL.
pub(super) const YCSB: LoadKind = LoadKind {
    name: "mysql-ycsb",
    summary: "YCSB-A on InnoDB: pages of 16 KiB by their records' keys, doublewrite buffer and log",
    least_bytes: 64 << 20,
    settings: &[DIRTY],
    tables: ycsb_tables,
    make: Make::Rule(ycsb),
};

/// Pages of the drive in one of InnoDB's.
pub(super) const BLOCK: u64 = (16 << 10) / PAGE_BYTES;
const RECORDS: u64 = 16;
/// Shares of the drive, as divisors: a doublewrite buffer of 2 MiB and a log of 96 MiB in 128 GiB.
const DOUBLEWRITE: u64 = 65_536;
const LOG: u64 = 1365;
/// Share of the bytes that go to the log, as in `rocksdb+mysql`.
const LOG_WRITES: f64 = 0.125;

fn ycsb_tables() -> Tables {
    use ContextKind::Application;
    tables(&[
        (Application, "mysqld", "#ib_16384_0.dblwr"),
        (Application, "mysqld", "ib_logfile0"),
        (Application, "mysqld", "usertable.ibd"),
    ])
}

/// The tables' pages that wait to be written, in the order in which they became dirty.
struct Dirty<Update> {
    /// The page that the next update changes.
    update: Update,
    waiting: VecDeque<u64>,
    waits: Vec<bool>,
    most: usize,
}

impl<Update: FnMut(&mut Draw) -> u64> Dirty<Update> {
    /// Updates records until a page has to be written.
    fn flush(&mut self, draw: &mut Draw) -> u64 {
        while self.waiting.len() <= self.most {
            let page = (self.update)(draw);
            if let Some(waits) = self.waits.get_mut(page as usize)
                && !*waits
            {
                *waits = true;
                self.waiting.push_back(page);
            }
        }
        let page = self.waiting.pop_front().unwrap_or(0);
        if let Some(waits) = self.waits.get_mut(page as usize) {
            *waits = false;
        }
        page
    }
}

/// Layout of InnoDB's drive, in pages: the doublewrite buffer, the log and the tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct InnoDb {
    doublewrite: u64,
    log: u64,
    tables: u64,
}

impl InnoDb {
    pub(super) fn new(plan: &Plan) -> InnoDb {
        let doublewrite = (plan.pages() / DOUBLEWRITE / BLOCK).max(1) * BLOCK;
        let log = (plan.pages() / LOG).max(1);
        InnoDb {
            doublewrite,
            log,
            tables: plan.pages() - doublewrite - log,
        }
    }

    /// InnoDB's pages that the tables have.
    pub(super) fn blocks(self) -> u64 {
        self.tables / BLOCK
    }

    fn circle(row: u32, first: u64, pages: u64, block: u64) -> Job {
        Job {
            tag: Tag::new(row, WriteHint::Short),
            first,
            pages,
            block,
            order: Order::sequence(),
        }
    }

    /// The writes of updates, each of which changes a page of the tables that `update` draws; `row` is the row of the
    /// file that a page is of.
    pub(super) fn requests(
        self,
        plan: &Plan,
        update: impl FnMut(&mut Draw) -> u64 + Send + 'static,
        row: impl Fn(u64) -> u32 + Send + 'static,
    ) -> LoadRequests {
        let mut doublewrite = InnoDb::circle(1, 0, self.doublewrite, BLOCK);
        let mut log = InnoDb::circle(2, self.doublewrite, self.log, 1);
        let first = self.doublewrite + self.log;
        let mut dirty = Dirty {
            update,
            waiting: VecDeque::new(),
            waits: vec![false; self.blocks() as usize],
            most: (self.blocks() as f64 * plan.own(&DIRTY)) as usize,
        };
        let mut draw = Draw::new(plan.seed);
        let mut logged = 0.0;
        let mut due: VecDeque<Io> = VecDeque::new();
        let requests = std::iter::from_fn(move || {
            if due.is_empty() {
                logged += 2.0 * BLOCK as f64 * LOG_WRITES / (1.0 - LOG_WRITES);
                while logged >= 1.0 {
                    logged -= 1.0;
                    due.push_back(log.write(&mut draw));
                }
                due.push_back(doublewrite.write(&mut draw));
                let page = dirty.flush(&mut draw);
                let tag = Tag::new(row(page), WriteHint::Medium);
                due.push_back(tag.write(first + page * BLOCK, BLOCK));
            }
            due.pop_front()
        });
        Box::new(requests)
    }
}

fn ycsb(plan: &Plan) -> LoadRequests {
    let innodb = InnoDb::new(plan);
    let mut keys = Job {
        tag: Tag::new(3, WriteHint::Medium),
        first: 0,
        pages: innodb.blocks() * RECORDS,
        block: 1,
        order: Order::Zipf(None),
    };
    innodb.requests(plan, move |draw| keys.next(draw) / RECORDS, |_| 3)
}
