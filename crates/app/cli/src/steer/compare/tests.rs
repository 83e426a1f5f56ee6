use super::*;

const MIB: u64 = 1 << 20;
const CAPACITY: u64 = 100 * MIB;

/// A drive whose log counts what it is given.
struct CountedDrive {
    now: Duration,
    host_bytes: u64,
    media_bytes: f64,
    foreign_bytes: u64,
}

impl CountedDrive {
    fn new() -> CountedDrive {
        CountedDrive {
            now: Duration::ZERO,
            host_bytes: 5,
            media_bytes: 7.0,
            foreign_bytes: 0,
        }
    }

    fn reading(&self) -> LogReading {
        LogReading {
            now: self.now,
            written: Some(Written {
                host_bytes: self.host_bytes.into(),
                media_bytes: self.media_bytes as u128,
                grain_bytes: 1,
            }),
            sent_bytes: self.host_bytes - self.foreign_bytes,
        }
    }

    /// A second with so many bytes at this write amplification.
    fn second(&mut self, host_bytes: u64, waf: f64) {
        self.now += Duration::from_secs(1);
        self.host_bytes += host_bytes;
        self.media_bytes += host_bytes as f64 * waf;
    }
}

fn plan(pairs: usize) -> ComparePlan {
    ComparePlan {
        period: Duration::from_secs(100),
        pairs,
        capacity_bytes: CAPACITY,
    }
}

/// A comparison to its end, with a WAF for each way and pair, and so many bytes a second.
fn compared(seed: u64, bytes: u64, waf: impl Fn(ComparedWay, usize) -> f64) -> LogComparison {
    let mut comparison = LogComparison::new(plan(6), seed);
    let mut drive = CountedDrive::new();
    comparison.tend(drive.reading());
    while !comparison.is_done() {
        let pair = comparison.periods.len() / 2;
        drive.second(bytes, waf(comparison.way(), pair));
        comparison.tend(drive.reading());
    }
    comparison
}

#[test]
fn each_pair_has_both_ways_in_an_order_that_is_drawn() {
    let order = |seed| -> Vec<ComparedWay> {
        let found = compared(seed, 4 * MIB, |_, _| 1.5);
        found.periods.iter().map(|period| period.way).collect()
    };
    let orders: Vec<Vec<ComparedWay>> = (0..20).map(order).collect();
    for ways in &orders {
        assert_eq!(ways.len(), 12);
        assert!(ways.chunks(2).all(|pair| pair[0] != pair[1]), "{ways:?}");
    }
    let firsts = orders.iter().flatten().step_by(2);
    let steered = firsts.filter(|way| **way == ComparedWay::Steered).count();
    assert!((40..=80).contains(&steered), "{steered} of 120");
    assert_ne!(orders[0], orders[1]);
    assert_eq!(orders[3], order(3));
}

#[test]
fn a_period_settles_for_a_capacity_or_for_half_its_length_and_only_the_rest_counts() {
    let fast = compared(1, 4 * MIB, |_, _| 1.5);
    for period in &fast.periods {
        assert_eq!(
            (period.settling_bytes, period.host_bytes),
            (CAPACITY, 300 * MIB)
        );
        assert_eq!((period.waf, period.foreign_bytes), (1.5, 0));
    }
    assert!(fast.limitations().is_empty());
    let slow = compared(1, MIB, |_, _| 1.5);
    for period in &slow.periods {
        assert_eq!(
            (period.settling_bytes, period.host_bytes),
            (50 * MIB, 50 * MIB)
        );
    }
    let told = slow.limitations();
    assert!(
        told[0].contains("while 0.50 of the drive's size"),
        "{told:?}"
    );
}

#[test]
fn a_difference_larger_than_chance_is_a_verdict_once_all_pairs_are_measured() {
    let saves = |way, pair: usize| match way {
        ComparedWay::Steered => 1.8 + 0.02 * pair as f64,
        ComparedWay::OneHandle => 2.0,
    };
    let found = compared(2, 4 * MIB, saves).verdict();
    assert_eq!(
        found.words,
        "steering saves 7.5 % of flash writes (5.0 to 10.0 %), more than chance, by the drive's log over 6 pairs of periods \
         of 100 seconds (WAF 1.850 as steered, 2.000 in one handle)"
    );
    let [steered, one] = found.wafs.unwrap();
    assert!((steered - 1.85).abs() < 1e-6 && (one - 2.0).abs() < 1e-6);
    let costs = compared(2, 4 * MIB, |way, pair| saves(way.other(), pair)).verdict();
    assert!(
        costs
            .words
            .starts_with("steering costs 8.1 % more flash writes (5.4 to 10.8 %)"),
        "{}",
        costs.words
    );
    assert!(costs.words.ends_with(": stop"), "{}", costs.words);
    // Too short to settle: a difference, and no verdict.
    let short = compared(2, MIB, saves).verdict();
    assert!(
        short.words.ends_with("too short to settle") && short.wafs.is_none(),
        "{}",
        short.words
    );
    let level = compared(2, 4 * MIB, |way, pair| match (way, pair % 2) {
        (ComparedWay::Steered, 0) => 1.9,
        (ComparedWay::Steered, _) => 2.12,
        (ComparedWay::OneHandle, _) => 2.0,
    });
    let found = level.verdict();
    assert!(
        found
            .words
            .starts_with("no difference is larger than chance"),
        "{}",
        found.words
    );
    assert!(
        found.words.contains("higher by -0.120 to 0.100; some 72"),
        "{}",
        found.words
    );
    assert!(found.wafs.is_none());
}

#[test]
fn until_the_last_pair_it_says_what_there_is() {
    let mut comparison = LogComparison::new(plan(6), 4);
    let mut drive = CountedDrive::new();
    let silent = LogReading {
        written: None,
        ..drive.reading()
    };
    comparison.tend(silent);
    assert!(comparison.verdict().words.starts_with("no comparison yet"));
    assert_eq!(comparison.way(), ComparedWay::Steered);
    comparison.tend(drive.reading());
    assert!(
        comparison
            .verdict()
            .words
            .starts_with("0 of 6 pairs of periods of 100 seconds are compared")
    );
    assert_eq!(
        (
            comparison.compared().mean_waf,
            comparison.compared().periods.len()
        ),
        (None, 0)
    );
    // A server that ends here has counted no part of the period.
    for _ in 0..250 {
        drive.second(4 * MIB, 1.25);
        comparison.tend(drive.reading());
    }
    let words = comparison.verdict().words;
    assert!(
        words.starts_with("1 of 6 pairs of periods of 100 seconds are compared"),
        "{words}"
    );
    let told = comparison.compared();
    assert_eq!((told.periods.len(), told.difference), (2, None));
    assert_eq!(told.mean_waf.unwrap().steered, 1.25);
    // The log is away while the period ends: it goes on until it is back.
    for _ in 0..80 {
        drive.second(4 * MIB, 1.25);
        comparison.tend(LogReading {
            written: None,
            ..drive.reading()
        });
    }
    assert_eq!(comparison.periods.len(), 2);
    comparison.tend(drive.reading());
    assert_eq!(comparison.periods.len(), 3);
}

#[test]
fn a_pair_without_a_write_amplification_is_left_out_whole() {
    let mut comparison = LogComparison::new(plan(6), 5);
    let mut drive = CountedDrive::new();
    comparison.tend(drive.reading());
    // The second period of the first pair writes nothing, and the first one of the next goes back.
    for second in 0..300 {
        let bytes = if second < 100 { 4 * MIB } else { 0 };
        drive.second(bytes, 2.0);
        if second == 280 {
            (drive.host_bytes, drive.media_bytes) = (0, 0.0);
        }
        comparison.tend(drive.reading());
    }
    assert_eq!((comparison.periods.len(), comparison.dropped_pairs), (0, 2));
    assert!(comparison.limitations()[0].contains("2 pairs of periods were left out"));
    // A log that counts in steps tells no ratio of few of them.
    let coarse = |drive: &CountedDrive| {
        let mut reading = drive.reading();
        reading.written = reading.written.map(|written| Written {
            grain_bytes: 1 << 30,
            ..written
        });
        reading
    };
    for _ in 0..100 {
        drive.second(4 * MIB, 2.0);
        comparison.tend(coarse(&drive));
    }
    assert_eq!((comparison.periods.len(), comparison.dropped_pairs), (0, 3));
}

#[test]
fn writes_of_others_in_the_log_are_told() {
    let mut comparison = LogComparison::new(plan(6), 6);
    let mut drive = CountedDrive::new();
    comparison.tend(drive.reading());
    for second in 0..200 {
        drive.second(4 * MIB, 1.5);
        drive.foreign_bytes += if second >= 150 { 3 * MIB } else { 0 };
        comparison.tend(drive.reading());
    }
    let foreign: Vec<u64> = comparison
        .periods
        .iter()
        .map(|period| period.foreign_bytes)
        .collect();
    assert_eq!(foreign, [0, 150 * MIB]);
    let told = comparison.limitations();
    assert!(told[0].contains("in 1 of 2 compared periods"), "{told:?}");
}
