//! The bounds hold: nothing copies less than `oracle`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{collections::BTreeMap, sync::Arc};

use anabranch_placement::{Future, SCHEMES, SchemeSpec};
use anabranch_replay::{Drive, Foresight, Lane, SchemeResult, Source, best, close_gaps, outcome};
use anabranch_ssd::{Config, profile::Profile};
use anabranch_trace::{ContextId, Io, Operation};

const PAGE: u64 = 4096;
const LOGICAL_PAGES: u32 = 4096;

fn drive() -> Config {
    let profile = Profile::shipped("golden").unwrap();
    Config {
        logical_pages: LOGICAL_PAGES,
        pages_per_unit: 64,
        physical_units: 64 + 8,
        host_streams: 8,
        internal_streams: 8,
        ..profile.resolve("golden").unwrap()
    }
}

fn foresee(ios: &[Io], drive: &Config) -> Arc<Future> {
    let mut foresight = Foresight::new(drive);
    ios.iter().for_each(|io| foresight.record(io).unwrap());
    Arc::new(foresight.finish())
}

/// The best lane of a scheme at the end of a trace.
fn run(scheme: &str, ios: &[Io], future: &Arc<Future>) -> Lane {
    let spec: SchemeSpec = scheme.parse().unwrap();
    let trials = Lane::trials(&spec, &drive()).unwrap();
    let lanes = trials.into_iter().map(|trial| {
        let mut lane = Lane::build(
            &trial,
            &drive(),
            &anabranch_replay::Start {
                future: Some(future),
                ..anabranch_replay::Start::default()
            },
        )
        .unwrap();
        ios.iter().for_each(|io| lane.apply(io).unwrap());
        lane.flush_batch().unwrap();
        (trial, lane)
    });
    best(lanes.collect()).unwrap().1
}

/// Cheap and the same on every run.
fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    *state >> 33
}

fn page(page: u64, context: u32) -> Io {
    Io {
        context: ContextId(context),
        ..Io::write(page * PAGE, PAGE)
    }
}

/// Every page once, then overwrites of a tenth of the drive nine times in ten.
fn hot_and_cold() -> Vec<Io> {
    let pages = u64::from(LOGICAL_PAGES);
    let mut state = 1;
    let overwrites = (0..pages * 8).map(|_| {
        let part = if random(&mut state) % 10 < 9 {
            pages / 10
        } else {
            pages
        };
        page(random(&mut state) % part, 1)
    });
    let fill = (0..pages).map(|first| page(first, 0));
    fill.chain(overwrites.collect::<Vec<_>>()).collect()
}

/// Every page once, then any page.
fn uniform() -> Vec<Io> {
    let pages = u64::from(LOGICAL_PAGES);
    let mut state = 2;
    let fill = (0..pages).map(|first| page(first, 0));
    let overwrites: Vec<Io> = (0..pages * 6)
        .map(|_| page(random(&mut state) % pages, 0))
        .collect();
    fill.chain(overwrites).collect()
}

/// Files of 32 pages written beside a small log, and discarded whole at random.
fn files_and_a_log() -> Vec<Io> {
    let mut state = 3;
    let mut ios = Vec::new();
    for round in 0..2000_u64 {
        ios.extend((0..16).map(|step| page((round * 16 + step) % 256, 1)));
        let slot = 8 + random(&mut state) % 120;
        let file = Io::write(slot * 32 * PAGE, 32 * PAGE);
        ios.push(Io {
            operation: Operation::Discard,
            ..file
        });
        ios.push(Io {
            context: ContextId(2),
            ..file
        });
    }
    ios
}

#[test]
fn no_scheme_copies_less_than_the_oracle() {
    for (name, ios) in [
        ("hot and cold", hot_and_cold()),
        ("uniform", uniform()),
        ("files and a log", files_and_a_log()),
    ] {
        let future = foresee(&ios, &drive());
        let oracle = run("oracle", &ios, &future).counters().copied_pages;
        for scheme in SCHEMES.iter().filter(|scheme| scheme.name != "oracle") {
            let copied = run(scheme.name, &ios, &future).counters().copied_pages;
            assert!(
                oracle <= copied,
                "{name}: oracle copied {oracle}, {} {copied}",
                scheme.name
            );
        }
    }
}

#[test]
fn the_rate_alone_is_worth_most_where_deaths_are_random() {
    let ios = hot_and_cold();
    let future = foresee(&ios, &drive());
    let rate = run("oracle-rate", &ios, &future).counters().copied_pages;
    for scheme in SCHEMES
        .iter()
        .filter(|scheme| !scheme.name.contains("oracle"))
    {
        let copied = run(scheme.name, &ios, &future).counters().copied_pages;
        assert!(rate <= copied, "rate {rate}, {} {copied}", scheme.name);
    }
}

/// Three rings of pages, rewritten in turn: of each four requests of a unit's size, two go to the
/// first ring, one to the second, one to the third, page by page in turn, so that one stream mixes
/// what dies soon with what dies late.
fn rings() -> Vec<Io> {
    let rings = [(0, 512), (512, 1024), (1536, 2560)];
    let mut next = [0_u64; 3];
    let mut ios = Vec::new();
    for step in 0..u64::from(LOGICAL_PAGES) * 12 {
        let ring = [0, 1, 0, 2][(step % 4) as usize];
        let (first, length) = rings[ring];
        ios.push(page(first + next[ring] % length, 0));
        next[ring] += 1;
    }
    ios
}

#[test]
fn lives_that_can_be_told_apart_exactly_are_never_copied() {
    let ios = rings();
    let future = foresee(&ios, &drive());
    assert!(run("baseline", &ios, &future).counters().copied_pages > 0);
    let oracle = run("oracle", &ios, &future);
    assert!(oracle.counters().erased_units > 0);
    assert_eq!(oracle.counters().copied_pages, 0);
}

fn compared(names: &[&str], ios: &[Io]) -> Vec<SchemeResult> {
    let future = foresee(ios, &drive());
    let lanes: Vec<_> = names
        .iter()
        .map(|name| ((*name).to_owned(), BTreeMap::new(), run(name, ios, &future)))
        .collect();
    let drive = Drive::new("test", &drive());
    outcome(BTreeMap::new(), 0, Source::default(), drive, &lanes).schemes
}

#[test]
fn a_gap_is_closed_from_an_ordinary_drive_to_the_bound() {
    let ios = hot_and_cold();
    let mut schemes = compared(&["baseline+gc", "oracle-rate", "oracle"], &ios);
    close_gaps(&mut schemes, &["oracle".to_owned(), "absent".to_owned()]);
    let share = |index: usize| schemes[index].gap_closed["oracle"];
    assert!(schemes.iter().all(|scheme| scheme.gap_closed.len() == 1));
    assert_eq!((share(0), share(2)), (0.0, 1.0));
    let copied = |index: usize| schemes[index].copied_bytes as f64;
    let expected = (copied(0) - copied(1)) / (copied(0) - copied(2));
    assert!((share(1) - expected).abs() < 1e-12 && expected > 0.0);
}

#[test]
fn without_an_ordinary_drive_or_a_gap_there_is_no_share() {
    let ios = hot_and_cold();
    let mut schemes = compared(&["baseline", "oracle"], &ios);
    close_gaps(&mut schemes, &["oracle".to_owned()]);
    assert!(schemes.iter().all(|scheme| scheme.gap_closed.is_empty()));
    let mut schemes = compared(&["baseline+gc", "oracle"], &ios[..100]);
    close_gaps(&mut schemes, &["oracle".to_owned()]);
    assert!(schemes.iter().all(|scheme| scheme.gap_closed.is_empty()));
}
