#![allow(clippy::unwrap_used)]

use anabranch_trace::{Rate, Sampled};

use super::*;
use crate::synthetic::Synthetic;

fn samples(one_of: u32) -> Vec<Sample> {
    let sample = |number: u64| {
        Sample::new(Sampled {
            rate: Rate::one_of(one_of).unwrap(),
            hash: number << 32,
            page_bytes: PAGE_BYTES as u32,
        })
    };
    (0..4).map(sample).collect()
}

/// Requests as a sample sees them.
fn seen(requests: impl Iterator<Item = Io>, sample: &Sample) -> Vec<Io> {
    requests.filter_map(|io| sample.apply(&io)).collect()
}

#[test]
fn passes_and_sequences_are_kept_to_the_page() {
    // The second drive has no power of two of pages: passes are whole, and times within them are not looked at.
    for (text, row, is_timed) in [
        ("fio-passes:size=64MiB,write=200MiB", 1, true),
        ("fio-passes:size=100MiB,write=300MiB", 1, false),
        ("fio-three-streams:size=100MiB,write=333MiB", 1, true),
        ("cachelib:size=100MiB,write=333MiB,tenants=2", 4, true),
    ] {
        for one_of in [8, 64] {
            let (load, samples) = (Synthetic::parse(text).unwrap(), samples(one_of));
            for sample in &samples {
                let of = |requests: &mut dyn Iterator<Item = Io>| {
                    let own = requests.filter(|io| io.context.0 == row);
                    let mut seen = seen(own, sample);
                    seen.iter_mut()
                        .filter(|_| !is_timed)
                        .for_each(|io| io.time_ns = 0);
                    seen
                };
                let whole = of(&mut load.requests());
                assert!(whole.len() > 100, "{text}: {}", whole.len());
                assert_eq!(of(&mut load.kept(&samples).unwrap()), whole, "{text}");
            }
        }
    }
}

#[test]
fn the_whole_is_told_though_it_is_not_made() {
    for text in [
        "fio-passes:size=100MiB,write=123456789",
        "fio-zipf:size=64MiB,write=1GiB",
        "fio-three-streams:size=100MiB,write=333MiB,sequential=33%",
        "cachelib:size=100MiB,write=333MiB,tenants=2",
    ] {
        let load = Synthetic::parse(text).unwrap();
        let mut whole = Source::default();
        load.requests().for_each(|io| whole.count(&io));
        assert_eq!(load.kept(&samples(64)).unwrap().whole(), whole, "{text}");
    }
}

#[test]
fn loads_by_other_rules_and_samples_of_other_pages_are_made_whole() {
    let load = |text| Synthetic::parse(text).unwrap();
    assert!(load("cassandra").kept(&samples(64)).is_none());
    assert!(load("fio-passes").kept(&[]).is_none());
    let large = Sample::new(Sampled {
        rate: Rate::one_of(8).unwrap(),
        hash: 0,
        page_bytes: 16_384,
    });
    assert!(load("fio-passes").kept(&[large]).is_none());
}

/// Distance of two lists of numbers from the same law: Smirnov's distance over that which 1 of 1,000 such pairs
/// exceeds.
fn distance(mut one: Vec<u64>, mut other: Vec<u64>) -> f64 {
    one.sort_unstable();
    other.sort_unstable();
    let (n, m) = (one.len() as f64, other.len() as f64);
    let below = |list: &[u64], at: u64| list.partition_point(|number| *number <= at) as f64;
    let apart = one
        .iter()
        .chain(&other)
        .map(|at| (below(&one, *at) / n - below(&other, *at) / m).abs());
    apart.fold(0.0, f64::max) / (1.95 * ((n + m) / (n * m)).sqrt())
}

#[test]
fn what_is_drawn_is_kept_by_the_same_law() {
    for (text, row) in [
        ("fio-zipf:size=64MiB,write=512MiB", 1),
        ("fio-three-streams:size=128MiB,write=2GiB", 2),
        ("fio-three-streams:size=128MiB,write=2GiB", 3),
        ("cachelib:size=128MiB,write=1GiB", 1),
        ("varmail:size=128MiB,write=1GiB", 3),
    ] {
        // At 1/64 the hottest pages may be kept: then most writes are, and all are drawn.
        let samples = samples(256);
        let (mut pages, mut gaps) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut counts = [0.0, 0.0];
        for seed in 1..=6 {
            let load = Synthetic::parse(&format!("{text},seed={seed}")).unwrap();
            let made = [
                seen_by_any(load.requests(), &samples, row),
                seen_by_any(load.kept(&samples).unwrap(), &samples, row),
            ];
            for (way, made) in made.iter().enumerate() {
                counts[way] += made.len() as f64;
                // Each seed's law is its own where ranks are drawn by it: the page, with the seed.
                pages[way].extend(made.iter().map(|io| seed << 40 | io.offset_bytes));
                gaps[way].extend(made.windows(2).map(|two| two[1].time_ns - two[0].time_ns));
            }
        }
        // Six times the spread of the difference of two counts.
        let spread = 6.0 * f64::sqrt(counts[0] + counts[1]);
        assert!(
            (counts[0] - counts[1]).abs() < spread,
            "{text} {row}: {counts:?}"
        );
        assert!(counts[0] > 2000.0, "{text} {row}: {counts:?}");
        let [whole, kept] = pages;
        assert!(distance(whole, kept) < 1.0, "{text} {row}: pages");
        let [whole, kept] = gaps;
        assert!(distance(whole, kept) < 1.0, "{text} {row}: times between");
    }
}

/// A writer's requests of which a sample keeps something.
fn seen_by_any(requests: impl Iterator<Item = Io>, samples: &[Sample], row: u32) -> Vec<Io> {
    let is_kept = |io: &Io| samples.iter().any(|sample| sample.apply(io).is_some());
    requests
        .filter(|io| io.context.0 == row && is_kept(io))
        .collect()
}

#[test]
fn writes_that_come_together_are_no_likelier_than_by_the_whole_load() {
    // A page that is written again at once: as often as its share of the kept writes, squared.
    let samples = samples(64);
    let load = Synthetic::parse("cachelib:size=64MiB,write=8GiB,small=10%").unwrap();
    let repeated = |made: Vec<Io>| {
        let twice = made
            .windows(2)
            .filter(|two| two[0].offset_bytes == two[1].offset_bytes);
        twice.count() as f64 / made.len() as f64
    };
    let whole = repeated(seen_by_any(load.requests(), &samples, 1));
    let kept = repeated(seen_by_any(load.kept(&samples).unwrap(), &samples, 1));
    assert!(
        whole > 0.0 && (kept / whole - 1.0).abs() < 0.25,
        "{whole} {kept}"
    );
}
