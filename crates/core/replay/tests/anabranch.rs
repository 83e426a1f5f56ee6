//! Hard cases for `anabranch`: programs that change, addresses that all look alike to
//! contexts, drives of few streams.

#![allow(missing_docs, clippy::unwrap_used)]

use anabranch_replay::Lane;
use anabranch_ssd::{Config, profile::Profile};
use anabranch_trace::{ContextId, FileId, Io, Operation};

const PAGES: u64 = 16_384;
const TURNS: u64 = 100_000;

fn drive(host_streams: u16, internal_streams: u16) -> Config {
    let profile = Profile::shipped("golden").unwrap();
    Config {
        logical_pages: PAGES as u32,
        pages_per_unit: 64,
        physical_units: 290,
        host_streams,
        internal_streams,
        ..profile.resolve("golden").unwrap()
    }
}

fn write(page: u64, context: u32) -> Io {
    Io {
        context: ContextId(context),
        ..Io::write(page * 4096, 4096)
    }
}

/// The next number below `below` of a generator.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// One context writes `hot` of 512 pages in turn, the other any of the 15,000 after them, in an
/// order drawn at random.
fn phase(hot: u32, cold: u32) -> impl Iterator<Item = Io> {
    let mut state = 1_u64;
    (0..TURNS).flat_map(move |turn| {
        let drawn = draw(&mut state, 15_000);
        [write(turn % 512, hot), write(1000 + drawn, cold)]
    })
}

/// Pages copied in each phase.
fn copied(scheme: &str, drive: &Config, phases: &[Vec<Io>]) -> Vec<u64> {
    let start = anabranch_replay::Start::default();
    let mut lane = Lane::build(&scheme.parse().unwrap(), drive, &start).unwrap();
    let mut before = 0;
    let mut copied = Vec::new();
    for phase in phases {
        for io in phase {
            lane.apply(io).unwrap();
        }
        lane.flush_batch().unwrap();
        let now = lane.counters().copied_pages;
        copied.push(now - before);
        before = now;
    }
    copied
}

#[test]
fn it_survives_that_contexts_change_roles() {
    let phases: Vec<Vec<Io>> = vec![
        phase(1, 2).collect(),
        phase(1, 2).collect(),
        phase(2, 1).collect(),
        phase(2, 1).collect(),
    ];
    let ours = copied("anabranch", &drive(8, 8), &phases);
    let baseline = copied("baseline", &drive(8, 8), &phases);
    assert!(ours[1] * 10 < baseline[1] * 8, "{ours:?} {baseline:?}");
    assert!(ours[2] * 10 < baseline[2] * 9, "{ours:?} {baseline:?}");
    assert!(ours[3] * 10 < ours[1] * 11, "{ours:?} {baseline:?}");
}

#[test]
fn contexts_and_addresses_each_tell_it_what_the_other_does() {
    let phases: Vec<Vec<Io>> = vec![phase(1, 2).collect(), phase(1, 2).collect()];
    let of =
        |parameters: &str| copied(&format!("anabranch:{parameters}"), &drive(8, 8), &phases)[1];
    let (contexts, addresses) = (of("ablate=history"), of("ablate=writers"));
    let neither = of("ablate=both");
    assert!(contexts * 10 < neither * 8, "{contexts} {neither}");
    assert!(addresses * 10 < neither * 8, "{addresses} {neither}");
}

#[test]
fn on_few_streams_it_copies_at_most_a_tenth_more_than_schemes_that_need_none() {
    let phases: Vec<Vec<Io>> = vec![phase(1, 2).collect(), phase(1, 2).collect()];
    for (host, internal) in [(1, 0), (1, 1), (2, 0), (2, 8)] {
        let drive = drive(host, internal);
        let ours = copied("anabranch", &drive, &phases)[1];
        let single = match internal {
            0 => "baseline",
            _ => "baseline+gc",
        };
        let single = copied(single, &drive, &phases)[1];
        assert!(
            ours * 10 < single * 11,
            "{host}+{internal}: {ours} {single}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_counts_and_another_seed_samples_others() {
    let phases: Vec<Vec<Io>> = vec![phase(1, 2).collect()];
    let of = |scheme: &str| copied(scheme, &drive(8, 8), &phases);
    assert_eq!(of("anabranch:seed=7"), of("anabranch:seed=7"));
}

/// A log in a ring of 1,024 pages, pages at random of which a quarter are hot, and tables of 96 pages in files of their
/// own, which are discarded before others take their place.
fn log_pages_and_tables() -> Vec<Io> {
    const SLOTS: u64 = 110;
    let mut state = 7_u64;
    let mut draw = |below| draw(&mut state, below);
    let mut load = Vec::new();
    for turn in 0..24_000 {
        load.extend((0..4).map(|page| write((4 * turn + page) % 1024, 1)));
        for _ in 0..4 {
            let most = if draw(4) == 0 { 4000 } else { 1000 };
            load.push(write(1024 + draw(most), 2));
        }
        if turn % 24 == 0 {
            let (page, file) = (5024 + 96 * draw(SLOTS), FileId(turn as u32 / 24));
            let table = Io {
                length_bytes: 96 * 4096,
                file,
                ..write(page, 3)
            };
            let operation = Operation::Discard;
            load.extend([Io { operation, ..table }, table]);
        }
    }
    load
}

/// Exact, so that nothing a scheme does with writes, copies and victims changes without being meant: published tables
/// are of these schemes. Whoever changes one means to change its line, and makes its tables anew.
#[test]
fn what_a_scheme_copies_changes_only_when_it_is_meant_to() {
    let load = [log_pages_and_tables()];
    let of = |scheme: &str, host, internal| copied(scheme, &drive(host, internal), &load)[0];
    let expected: [(&str, u16, u16, u64); 7] = [
        ("anabranch", 8, 8, 57_965),
        ("anabranch", 3, 2, 58_352),
        ("anabranch:setting=single-chain-age", 8, 8, 110_998),
        ("anabranch:setting=rules-classes", 8, 8, 66_859),
        ("anabranch+gc", 8, 1, 86_950),
        ("pcstream", 8, 8, 87_537),
        ("pcstream*", 8, 8, 114_394),
    ];
    let found = expected.map(|(scheme, host, internal, _)| {
        let copied_pages = of(scheme, host, internal);
        (scheme, host, internal, copied_pages)
    });
    assert_eq!(found, expected);
}

#[test]
fn details_list_the_settings_that_led() {
    let leaders = |scheme: &str| {
        let start = anabranch_replay::Start::default();
        let mut lane = Lane::build(&scheme.parse().unwrap(), &drive(8, 8), &start).unwrap();
        lane.watch();
        for io in &log_pages_and_tables() {
            lane.apply(io).unwrap();
        }
        lane.flush_batch().unwrap();
        lane.details().unwrap().leaders
    };
    for scheme in ["anabranch", "anabranch+gc"] {
        let found = leaders(scheme);
        assert_eq!(
            (found[0].setting.as_str(), found[0].since_bytes),
            ("rules", 0)
        );
        // Files have no names here, so the rules lead until they are left or beaten.
        let reason = found[1].reason.as_str();
        assert!(
            ["cheaper", "rules-match-little"].contains(&reason),
            "{reason}"
        );
        assert!(found.is_sorted_by_key(|one| one.since_bytes));
        for pair in found.windows(2) {
            let cost = |name: &str| pair[1].costs.iter().find(|one| one.setting == name);
            let costs = [&pair[0], &pair[1]].map(|one| cost(&one.setting).unwrap().bytes);
            assert!(
                pair[1].reason != "cheaper" || costs[1] < costs[0],
                "{pair:?}"
            );
        }
    }
    assert!(leaders("anabranch:setting=classes").is_empty());
    assert!(leaders("baseline").is_empty());
}
