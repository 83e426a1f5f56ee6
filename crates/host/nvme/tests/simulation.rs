//! The target in a world of its own, in which all that happens follows from a seed: hosts that come and go,
//! are slow or lie, a disk that fails, is full, tears writes or forgets them, and a process that dies at any
//! call. What hosts then read, where writes were counted, and what the drive knows is held against a
//! model.
//!
//! `ANABRANCH_SEEDS=FROM..TO` says which seeds; a failure prints the command that repeats it, and a single seed
//! tells what happens.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "simulation/commands.rs"]
mod commands;
#[path = "simulation/disk.rs"]
mod disk;
#[path = "simulation/host.rs"]
mod host;
#[path = "simulation/host_bytes.rs"]
mod host_bytes;
#[path = "simulation/model.rs"]
mod model;
#[path = "simulation/plan.rs"]
mod plan;
#[path = "simulation/play.rs"]
mod play;
#[path = "simulation/random.rs"]
mod random;
#[path = "simulation/seeds.rs"]
mod seeds;
#[path = "simulation/streams.rs"]
mod streams;
#[path = "simulation/world.rs"]
mod world;

use std::{collections::BTreeMap, ops::Range};

use seeds::{SeedReport, seeds};
use world::{Check, World};

/// Seeds where nobody says which: so many take less than half a minute of a processor.
const SEEDS: Range<u64> = 0..2500;
/// Things that happen in a run.
const STEPS: u32 = 300;

/// Command that replays seeds.
const COMMAND: &str = "cargo test --package anabranch-nvme --test simulation";

fn run(seed: u64, tells: bool) -> Check<BTreeMap<&'static str, u64>> {
    let mut world = World::new(seed, tells)?;
    for _ in 0..STEPS {
        world.step()?;
        // One seed by itself is to show where it goes wrong.
        if tells {
            world.check()?;
        }
    }
    world.check()?;
    let copied = world.target.drive().counters().copied_pages;
    *world.events.entry("pages copied").or_default() += copied;
    world.stop()?;
    Ok(world.events)
}

#[test]
fn whatever_happens_hosts_read_what_was_written_and_all_is_counted() {
    let seeds = seeds(SEEDS);
    let mut events: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seeds.clone() {
        let told = SeedReport(seed, COMMAND);
        match run(seed, seeds.end - seeds.start == 1) {
            Err(error) => panic!("{error}"),
            Ok(counts) => {
                for (event, count) in counts {
                    *events.entry(event).or_default() += count;
                }
            }
        }
        drop(told);
    }
    println!("seeds {seeds:?}: {events:?}");
}
