//! Drives behave as they did when last recorded, to the last count, page and nanosecond.
//!
//! A record says nothing of what is right: the other tests do. It says whether anything changed, of all that can be
//! asked of a drive, under options drawn at random, so that a change of results is seen and meant. Each line has some
//! counts to read, and a sum over everything asked. After a change that is meant, `ANABRANCH_RECORD=1 cargo test -p
//! anabranch-ssd --test recorded` writes the records anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../driven/mod.rs"]
mod driven;
mod drives;
#[path = "../flash/mod.rs"]
mod flash;
mod heard;
mod hosts;
mod profiles;
mod record;
mod states;
mod times;
#[path = "../workload/mod.rs"]
#[allow(dead_code)]
mod workload;

use anabranch_ssd::{
    Config,
    wear::{Faults, Levelling, Wear},
};
use flash::with_spare;
use record::{Sum, hold};
use workload::Random;

fn one_of<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len() as u32) as usize]
}

/// A small drive, with all drawn that can be chosen but the victim rule.
fn drawn(random: &mut Random) -> Config {
    let groups = one_of(random, &[1, 1, 2, 4]);
    let handles = 1 + random.below(3) as u16;
    let start = 1 + random.below(3);
    let config = Config {
        page_bytes: one_of(random, &[512, 4096, 16_384]),
        host_streams: handles * groups as u16,
        internal_streams: random.below(4) as u16 * groups as u16,
        chips: 1 + random.below(4),
        seed: random.next(),
        gc_start_free_units: start,
        gc_stop_free_units: start + random.below(3),
        reclaim_groups: groups,
        persistently_isolated: random.below(u32::from(handles) + 1) as u16,
        streams_off_permille: one_of(random, &[1000, 1000, 900, 500]),
        wear: Wear {
            levelling: one_of(random, &Levelling::ALL),
            spread: random.below(4),
            rated_erases: one_of(random, &[0, 60, 100]),
            retire_at_rating: random.below(6) == 0,
        },
        faults: Faults {
            pages_per_program_failure: one_of(random, &[0, 0, 0, 1500]),
            erases_per_failure: one_of(random, &[0, 0, 0, 150]),
            factory_bad_units: random.below(3),
        },
        ..Config::new(20 + random.below(200), 2 + random.below(15), 0)
    };
    with_spare(config, random.below(9))
}
