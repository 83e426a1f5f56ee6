//! A cache of language models' keys and values: the load of LMCache/LMCache#4016 (2026-07-28).
//!
//! Published: nine writers side by side over 855 of 960 GiB, each with objects of one size in a region of its own;
//! before that all 960 GiB were written in sequence; classes have a handle each. Not told: which old object a
//! new one takes the place of, and how fast each writes. So both are settings: the classes whose objects take a place
//! drawn evenly (in the others the oldest goes), and how many times as often the classes called "churn", "low-reuse" and
//! "metadata-heavy" turn over as those called "long-context" and "shared-prefix".

use anabranch_trace::{ContextKind, Tables, WriteHint};

use super::{
    LoadKind, LoadRequests, Make, PAGE_BYTES, Plan, Tag,
    jobs::{Job, Order, side_by_side},
    settings::Setting,
    tables,
};

/// Classes whose objects take places drawn at random: 0 none, 1 "random-prompt" and "metadata-heavy", 2 all.
const DRAWN: Setting = Setting::count(0, "drawn", 1.0, (0.0, 2.0));
/// Turnover of the classes of high churn, as a multiple of the others'.
const CHURN: Setting = Setting::count(1, "churn", 4.0, (1.0, 100.0));

/// Nine writers of five classes.
pub(super) const KV_CACHE: LoadKind = LoadKind {
    name: "kv-cache-llm",
    summary: "a language model's cache: nine writers with objects of 1 to 32 MiB of 960 GiB, scaled to the drive",
    least_bytes: 256 << 20,
    settings: &[DRAWN, CHURN],
    tables: llm_tables,
    make: Make::Rule(llm),
};

/// The size of the publication's drive, of which all other sizes are shares.
const DRIVE_BYTES: u64 = 960 << 30;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A class of objects.
struct Class {
    name: &'static str,
    hint: WriteHint,
    writers: u32,
    /// Bytes of each writer's region, and of its objects.
    region: u64,
    object: u64,
    churns: bool,
    /// The lowest value of `drawn` at which its objects' places are drawn.
    drawn_from: f64,
}

const CLASSES: [Class; 5] = [
    Class {
        name: "chat",
        hint: WriteHint::Short,
        writers: 2,
        region: 90 * GIB,
        object: 4 * MIB,
        churns: true,
        drawn_from: 2.0,
    },
    Class {
        name: "long-context",
        hint: WriteHint::Extreme,
        writers: 1,
        region: 180 * GIB,
        object: 32 * MIB,
        churns: false,
        drawn_from: 2.0,
    },
    Class {
        name: "shared-prefix",
        hint: WriteHint::Long,
        writers: 2,
        region: 90 * GIB,
        object: 16 * MIB,
        churns: false,
        drawn_from: 2.0,
    },
    Class {
        name: "random-prompt",
        hint: WriteHint::Medium,
        writers: 3,
        region: 90 * GIB,
        object: 2 * MIB,
        churns: true,
        drawn_from: 1.0,
    },
    Class {
        name: "metadata",
        hint: WriteHint::None,
        writers: 1,
        region: 45 * GIB,
        object: MIB,
        churns: true,
        drawn_from: 1.0,
    },
];

fn llm_tables() -> Tables {
    let names = std::iter::once("before").chain(CLASSES.iter().map(|class| class.name));
    let writers = names.map(|name| (ContextKind::Application, "lmcache", name));
    tables(&writers.collect::<Vec<_>>())
}

fn llm(plan: &Plan) -> LoadRequests {
    let scaled = |bytes: u64| {
        let pages = u128::from(bytes) * u128::from(plan.pages());
        (pages / u128::from(DRIVE_BYTES)) as u64
    };
    let before = Tag::new(1, WriteHint::NotSet);
    let (pages, chunk) = (plan.pages(), MIB / PAGE_BYTES);
    let fill = (0..pages)
        .step_by(chunk as usize)
        .map(move |first| before.write(first, chunk.min(pages - first)));
    let mut first = 0;
    let mut jobs = Vec::new();
    for (row, class) in (2..).zip(CLASSES) {
        let churn = if class.churns { plan.own(&CHURN) } else { 1.0 };
        for _ in 0..class.writers {
            let job = Job {
                tag: Tag::new(row, class.hint),
                first,
                pages: scaled(class.region),
                block: scaled(class.object).max(1),
                order: if plan.own(&DRAWN) >= class.drawn_from {
                    Order::Drawn
                } else {
                    Order::sequence()
                },
            };
            first += job.pages;
            jobs.push((class.region as f64 * churn, job));
        }
    }
    Box::new(fill.chain(side_by_side(jobs, plan.seed)))
}
