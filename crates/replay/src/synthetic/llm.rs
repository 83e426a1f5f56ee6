//! A cache of language models' keys and values: the load of LMCache/LMCache#4016 (2026-07-28).
//!
//! Published: nine writers side by side over 855 of 960 GiB, each with objects of one size in a region of its own;
//! before that all 960 GiB were written in sequence; classes have a handle each. Not told: which old object a
//! new one takes the place of, and how fast each writes. So both are settings: the share of objects that take a place
//! drawn evenly (the others go round, the oldest first), and how much of the rates is equal for all writers, the rest
//! going by the regions' sizes.

use anabranch_trace::{ContextKind, Tables, WriteHint};

use super::{
    Kind, PAGE_BYTES, Plan, Requests, Tag,
    jobs::{Job, Order, side_by_side},
    settings::Setting,
    tables,
};

/// Share of the objects whose place is drawn.
const DRAWN: Setting = Setting::share(0, "drawn", 1.0, (0.0, 1.0));
/// Share of the bytes that is equal for all writers.
const EQUAL: Setting = Setting::share(1, "equal", 0.0, (0.0, 1.0));

/// Nine writers of five classes.
pub(super) const KV_CACHE: Kind = Kind {
    name: "kv-cache-llm",
    summary: "a language model's cache: nine writers with objects of 1 to 32 MiB of 960 GiB, scaled to the drive",
    least_bytes: 256 << 20,
    settings: &[DRAWN, EQUAL],
    tables: llm_tables,
    requests: llm,
};

/// The drive of the publication, which all else is a share of.
const DRIVE_BYTES: u64 = 960 << 30;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Class, writers, bytes of each one's region and of its objects.
const CLASSES: [(&str, WriteHint, u32, u64, u64); 5] = [
    ("chat", WriteHint::Short, 2, 90 * GIB, 4 * MIB),
    ("long-context", WriteHint::Extreme, 1, 180 * GIB, 32 * MIB),
    ("shared-prefix", WriteHint::Long, 2, 90 * GIB, 16 * MIB),
    ("random-prompt", WriteHint::Medium, 3, 90 * GIB, 2 * MIB),
    ("metadata", WriteHint::None, 1, 45 * GIB, MIB),
];

fn llm_tables() -> Tables {
    let writer = |(class, ..): (&'static str, WriteHint, u32, u64, u64)| {
        (ContextKind::Application, "lmcache", class)
    };
    let all = [("before", WriteHint::NotSet, 1, DRIVE_BYTES, MIB)];
    tables(
        &all.into_iter()
            .chain(CLASSES)
            .map(writer)
            .collect::<Vec<_>>(),
    )
}

fn llm(plan: &Plan) -> Requests {
    let scaled = |bytes: u64| {
        (u128::from(bytes) * u128::from(plan.pages()) / u128::from(DRIVE_BYTES)) as u64
    };
    let before = Tag::new(1, WriteHint::NotSet);
    let chunk = MIB / PAGE_BYTES;
    let pages = plan.pages();
    let fill = (0..pages)
        .step_by(chunk as usize)
        .map(move |first| before.write(first, chunk.min(pages - first)));
    let written: u64 = CLASSES
        .iter()
        .map(|(_, _, writers, region, _)| u64::from(*writers) * region)
        .sum();
    let all: u32 = CLASSES.iter().map(|(_, _, writers, ..)| writers).sum();
    let equal = plan.own(&EQUAL);
    let mut first = 0;
    let mut jobs = Vec::new();
    for (row, (_, hint, writers, region, object)) in (2..).zip(CLASSES) {
        let by_size = region as f64 / written as f64;
        let share = equal / f64::from(all) + (1.0 - equal) * by_size;
        for _ in 0..writers {
            let job = Job {
                tag: Tag::new(row, hint),
                first,
                pages: scaled(region),
                block: scaled(object).max(1),
                order: Order::partly(plan.own(&DRAWN)),
            };
            first += job.pages;
            jobs.push((share, job));
        }
    }
    Box::new(fill.chain(side_by_side(jobs, plan.seed)))
}
