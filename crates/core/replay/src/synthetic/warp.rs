//! The loads that two commercial FDP drives were measured with (WARP, FAST'26; fio's files are in its
//! artifact, MoatLab/WARP-FAST26-AE, `FIO-scripts`).

use anabranch_trace::{ContextKind, Tables, WriteHint};

use super::{
    LoadKind, Make, PAGE_BYTES, Plan, Tag,
    jobs::{Job, Order, Passes},
    settings::Setting,
    tables,
};

/// `1stream.fio`: `randwrite` of 128 KiB over the whole drive. Without `norandommap` fio writes each block once
/// a pass. Requests of a page here: on a drive scaled down by three thousand a reclaim unit holds a thousand of them, on
/// theirs a hundred thousand.
pub(super) const ONE: LoadKind = LoadKind {
    name: "fio-passes",
    summary: "fio: one writer over the whole drive, each block once a pass, in random order",
    least_bytes: 64 << 20,
    settings: &[],
    tables: || tables(&[(ContextKind::Application, "fio", "all")]),
    make: Make::Jobs(one),
};

/// Share of the bytes that are written in sequence.
const SEQUENTIAL: Setting = Setting::share(0, "sequential", 0.5, (0.0, 0.95));

/// Whether the job that overwrites what is written in sequence keeps to zones (`3stream/zoned`, the paper's 80/20) or
/// writes everywhere alike (`3stream/uniform`, its worst case).
const ZONED: Setting = Setting::count(1, "zoned", 1.0, (0.0, 1.0));

/// `3stream`: 128 KiB in sequence over 90 % of the drive (depth 1), 4 KiB over the same 90 % (depth 32), 8 of 10 of them
/// in its first fifth or evenly, 4 KiB at random over the other 10 % (depth 32); each with a handle of its own.
/// Rates are not told: the share of the first is a setting, the two others are of equal depth and get
/// equal bytes (our choice; on the paper's emulator, Fig. 16, 88 % and 5 to 6 % each).
pub(super) const THREE: LoadKind = LoadKind {
    name: "fio-three-streams",
    summary: "fio: in sequence over 90 % of the drive, skewed 4 KiB over the same, random 4 KiB over 10 %",
    least_bytes: 64 << 20,
    settings: &[SEQUENTIAL, ZONED],
    tables: three_tables,
    make: Make::Jobs(three),
};

const BLOCK: u64 = (128 << 10) / PAGE_BYTES;

fn one(plan: &Plan) -> Vec<(f64, Job)> {
    let job = Job {
        tag: Tag::new(1, WriteHint::NotSet),
        first: 0,
        pages: plan.pages(),
        block: 1,
        order: Order::Passes(Passes::default()),
    };
    vec![(1.0, job)]
}

fn three_tables() -> Tables {
    let writer = |file| (ContextKind::Application, "fio", file);
    tables(&["sequential", "skewed", "random"].map(writer))
}

fn three(plan: &Plan) -> Vec<(f64, Job)> {
    let sequential = plan.own(&SEQUENTIAL);
    let each = (1.0 - sequential) / 2.0;
    let large = plan.percent(90);
    let over = match plan.own(&ZONED) {
        0.0 => Order::Drawn,
        _ => Order::Zoned,
    };
    let job = |row, hint, first, pages, block, order| Job {
        tag: Tag::new(row, hint),
        first,
        pages,
        block,
        order,
    };
    vec![
        (
            sequential,
            job(1, WriteHint::Long, 0, large, BLOCK, Order::sequence()),
        ),
        (each, job(2, WriteHint::Medium, 0, large, 1, over)),
        (
            each,
            job(
                3,
                WriteHint::Short,
                large,
                plan.pages() - large,
                1,
                Order::Drawn,
            ),
        ),
    ]
}
