//! fio's two loads of the seeds: writers whose data live differently long, each over a region of
//! its own.

use anabranch_trace::{ContextKind, Operation, Tables, WriteHint};

use super::{
    LoadKind, LoadRequests, Make, PAGE_BYTES, Plan, Tag,
    jobs::{Job, Order},
    nobodys, tables,
};
use crate::draw::Draw;

/// Flash Memory Summit 2016: four sequential writers, life times 1×, 10×, 33× and 55×, and six
/// random readers. Samsung's public script of 2015: one writer a stream over a partition of its
/// own, 128 KiB requests, readers of 4 KiB over everything. Equal rates, the sizes in percent of
/// the drive (they sum to 99), and one request of each job in turn are our choice. The streams
/// are told as hints.
pub(super) const FMS16: LoadKind = LoadKind {
    name: "fio-fms16",
    summary: "fio: four sequential writers over 1, 10, 33 and 55 % of the drive, six random readers",
    least_bytes: 64 << 20,
    settings: &[],
    tables: fms16_tables,
    make: Make::Rule(fms16),
};

/// Samsung's multi-stream eMMC (WinTechCon 2019): three writers with data of different life, no
/// reads. The rest is our choice: 4 KiB at random over 2 %, 16 KiB at random over 20 %, 128 KiB
/// in sequence over 78 % of the drive, at equal rates; contexts are told as hints.
pub(super) const EMMC: LoadKind = LoadKind {
    name: "fio-emmc",
    summary: "fio: random writers over 2 and 20 %, a sequential one over 78 % of the drive",
    least_bytes: 64 << 20,
    settings: &[],
    tables: emmc_tables,
    make: Make::Rule(emmc),
};

/// `random_distribution=zipf:1`, nearly: one writer of 4 KiB over the whole drive, the hottest pages anywhere. Octaves of
/// ranks are our choice, as is the order of ranks: fio's own hash of them is another.
pub(super) const ZIPF: LoadKind = LoadKind {
    name: "fio-zipf",
    summary: "fio: one random writer over the whole drive, pages by Zipf's law of exponent 1",
    least_bytes: 64 << 20,
    settings: &[],
    tables: || tables(&[(ContextKind::Application, "fio", "all")]),
    make: Make::Jobs(zipf),
};

fn zipf(plan: &Plan) -> Vec<(f64, Job)> {
    let job = Job {
        tag: Tag::new(1, WriteHint::NotSet),
        first: 0,
        pages: plan.pages(),
        block: 1,
        order: Order::Zipf(None),
    };
    vec![(1.0, job)]
}

/// Makes jobs that lie one behind the other on the drive, from percent of the drive, pages of a
/// request, and whether in sequence.
fn jobs(plan: &Plan, shapes: &[(u64, u64, bool)]) -> Vec<Job> {
    let hints = [
        WriteHint::Short,
        WriteHint::Medium,
        WriteHint::Long,
        WriteHint::Extreme,
    ];
    let mut first = 0;
    let rows = (1..).zip(hints);
    let jobs = shapes.iter().zip(rows).map(|(shape, (row, hint))| {
        let (percent, block, in_sequence) = *shape;
        let pages = plan.percent(percent).max(block);
        let job = Job {
            tag: Tag::new(row, hint),
            first,
            pages,
            block,
            order: if in_sequence {
                Order::sequence()
            } else {
                Order::Drawn
            },
        };
        first += pages;
        job
    });
    jobs.collect()
}

fn fms16(plan: &Plan) -> LoadRequests {
    const READERS: usize = 6;
    let block = (128 << 10) / PAGE_BYTES;
    let mut jobs = jobs(plan, &[1, 10, 33, 55].map(|share| (share, block, true)));
    let mut draw = Draw::new(plan.seed);
    let pages = u32::try_from(plan.percent(99)).unwrap_or(u32::MAX);
    let turns = jobs.len() + READERS;
    let requests = (0..turns)
        .cycle()
        .map(move |turn| match jobs.get_mut(turn) {
            Some(job) => job.write(&mut draw),
            None => nobodys(Operation::Read, u64::from(draw.below(pages)), 1),
        });
    Box::new(requests)
}

fn fms16_tables() -> Tables {
    let writer = |file| (ContextKind::Application, "fio", file);
    tables(&["w1", "w10", "w33", "w55"].map(writer))
}

/// In sixteenths of a turn: 4 KiB 32 times, 16 KiB 8 times, 128 KiB once.
fn emmc(plan: &Plan) -> LoadRequests {
    let mut jobs = jobs(plan, &[(2, 1, false), (20, 4, false), (78, 32, true)]);
    let mut draw = Draw::new(plan.seed);
    // Of 41 requests 32 are of the first job, 8 of the second: every fourth of those.
    let turns = (0..41).map(|turn| match turn {
        40 => 2,
        turn if turn % 5 == 4 => 1,
        _ => 0,
    });
    let requests = turns.cycle().filter_map(move |job: usize| {
        let job = jobs.get_mut(job)?;
        Some(job.write(&mut draw))
    });
    Box::new(requests)
}

fn emmc_tables() -> Tables {
    let writer = |file| (ContextKind::Application, "fio", file);
    tables(&["small", "medium", "large"].map(writer))
}
