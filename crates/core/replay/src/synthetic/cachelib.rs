//! A flash cache like CacheLib's: small objects in buckets beside large ones in regions.
//!
//! Published (CacheLib's documents, `FDP_enabled_Cache`; EuroSys'25): small objects hash to buckets of 4 KiB,
//! each put rewrites its bucket at random over 4 % of the cache; large ones are appended to regions that are
//! reused in order. A cache takes half the drive or all of it. How many of the bytes are the buckets' is not told:
//! a setting. Their public logs tell the cache's own write amplification, physical over logical bytes, as 3.8 to
//! 4.5 (MoatLab/WARP-FAST26-AE, `kvcache*.log`); with objects of 100 to 400 bytes a bucket that is 75 to 85 %.
//!
//! Our choice: requests of 32 KiB into a region (theirs are of 256 KiB; units hold a thousand of either), keys drawn alike,
//! the buckets behind the regions, as CacheLib lays them out.

use anabranch_trace::{ContextKind, Tables, WriteHint};

use super::{
    LoadKind, Make, Plan, Tag,
    jobs::{Job, Order},
    settings::Setting,
    tables,
};

/// Share of the drive that the caches take.
const USED: Setting = Setting::share(0, "used", 1.0, (0.05, 1.0));
/// Share of a cache that holds buckets of small objects.
const SMALL: Setting = Setting::share(1, "small", 0.04, (0.0, 1.0));
/// Share of the bytes that are written to buckets.
const SMALL_WRITES: Setting = Setting::share(2, "small-writes", 0.8, (0.0, 1.0));
/// Number of caches side by side, each with an equal part.
const TENANTS: Setting = Setting::count(3, "tenants", 1.0, (1.0, MOST_TENANTS as f64));

const MOST_TENANTS: usize = 6;

/// Small objects in buckets beside large ones in regions.
pub(super) const CACHELIB: LoadKind = LoadKind {
    name: "cachelib",
    summary: "a flash cache: random buckets of 4 KiB beside regions that are filled in order",
    least_bytes: 64 << 20,
    settings: &[USED, SMALL, SMALL_WRITES, TENANTS],
    tables: cachelib_tables,
    make: Make::Jobs(cachelib),
};

/// Pages of one request into a region.
const REGION_PAGES: u64 = 8;

fn cachelib_tables() -> Tables {
    let writer = |file| (ContextKind::Application, "cachelib", file);
    let files = [
        "small-1", "large-1", "small-2", "large-2", "small-3", "large-3", "small-4", "large-4",
        "small-5", "large-5", "small-6", "large-6",
    ];
    tables(&files.map(writer))
}

fn cachelib(plan: &Plan) -> Vec<(f64, Job)> {
    let tenants = plan.own(&TENANTS) as u64;
    let cache = (plan.pages() as f64 * plan.own(&USED)) as u64 / tenants;
    let small = ((cache as f64 * plan.own(&SMALL)) as u64).max(1);
    let small_writes = plan.own(&SMALL_WRITES) / tenants as f64;
    let large_writes = 1.0 / tenants as f64 - small_writes;
    let of_tenant = |tenant: u64| {
        let first = tenant * cache;
        let row = 1 + 2 * tenant as u32;
        let job = |row, hint, first, pages, block, order| Job {
            tag: Tag::new(row, hint),
            first,
            pages,
            block,
            order,
        };
        let large = cache - small;
        [
            (
                small_writes,
                job(row, WriteHint::Short, first + large, small, 1, Order::Drawn),
            ),
            (
                large_writes,
                job(
                    row + 1,
                    WriteHint::Long,
                    first,
                    large,
                    REGION_PAGES,
                    Order::sequence(),
                ),
            ),
        ]
    };
    (0..tenants).flat_map(of_tenant).collect()
}
