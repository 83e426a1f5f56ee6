//! Rules told of emulated drives with a past.

use super::*;
use crate::random::Random;

/// A drive with a past, of which only counts are seen.
#[derive(Debug)]
struct Truth {
    rule: VictimRule,
    units: u32,
    pages_per_unit: u32,
    spare_units: u32,
    start: u32,
    stop: u32,
    /// Copies have a unit of their own.
    apart: bool,
    /// Pages that are in the open unit when the drive is filled.
    phase: u32,
    seed: u64,
}

impl Truth {
    fn of(rule: VictimRule) -> Truth {
        Truth {
            rule,
            units: 120,
            pages_per_unit: 88,
            spare_units: 24,
            start: 1,
            stop: 1,
            apart: true,
            phase: 31,
            seed: 1,
        }
    }

    /// Its counts from the end of the fill on, and what was copied in the fill, in pages.
    fn counts(&self) -> (Vec<Sample>, u64) {
        let pages = self.units * self.pages_per_unit - self.pages_per_unit / 3;
        let config = Config {
            victim_rule: self.rule,
            internal_streams: 1,
            seed: self.seed,
            gc_start_free_units: self.start,
            gc_stop_free_units: self.stop,
            ..Config::new(pages, self.pages_per_unit, self.units + self.spare_units)
        };
        let mut relocation: Box<dyn Relocate> = if self.apart {
            Box::new(Emptied::default())
        } else {
            Box::new(())
        };
        let mut device = Device::new(config, &*relocation).unwrap();
        let mut write = |device: &mut Device, first: u32, count: u32| {
            let pages = PageRange::new(first, count);
            device
                .write(&mut *relocation, pages, StreamId::DEFAULT)
                .unwrap();
        };
        write(&mut device, 0, pages);
        let mut random = Random(self.seed);
        for _ in 0..pages / 2 {
            let page = random.below(pages.into());
            write(&mut device, page as u32, 1);
        }
        device.discard(PageRange::new(0, pages)).unwrap();
        write(&mut device, 0, self.phase);
        let before = device.counters().copied_pages;
        write(&mut device, 0, pages);
        let early = device.counters().copied_pages - before;
        let holes = given_up(pages.into());
        for &(first, count) in &holes {
            let hole = PageRange::new(first as u32, count as u32);
            device.discard(hole).unwrap();
        }
        let look = |device: &Device| Sample {
            sent_bytes: device.counters().host_pages,
            media_bytes: device.counters().host_pages + device.counters().copied_pages,
        };
        let mut looks = vec![look(&device)];
        for &(first, count) in &holes {
            write(&mut device, first as u32, count as u32);
            let now = look(&device);
            if now.sent_bytes - looks.last().unwrap().sent_bytes
                >= u64::from(self.pages_per_unit / 8)
            {
                looks.push(now);
            }
        }
        (looks, early)
    }

    fn found(&self) -> Option<Fit> {
        self.judged(&self.counts().0, 2)
    }

    fn judged(&self, looks: &[Sample], noise: u64) -> Option<Fit> {
        let unit = u64::from(self.pages_per_unit);
        let first = looks
            .windows(2)
            .find(|pair| pair[1].copied_since(pair[0]) > noise)?[0];
        let until = first.sent_bytes + (f64::from(self.units) * WATCHED_SHARE * unit as f64) as u64;
        let looks: Vec<Sample> = looks
            .iter()
            .copied()
            .filter(|look| look.sent_bytes < until)
            .collect();
        let points = points(&looks, noise, unit);
        let taken = f64::from(self.units + self.spare_units - self.start);
        let shape = Shape {
            logical_units: f64::from(self.units) - 1.0 / 3.0,
            taken_units: taken,
            pages: unit,
            at_once: units_at_once(&points).unwrap_or(1),
        };
        fit(&points, &shape)
    }
}

/// Shapes of drives by which each rule is told.
fn shapes(rule: VictimRule) -> Vec<Truth> {
    let of = || Truth::of(rule);
    vec![
        of(),
        Truth {
            apart: false,
            phase: 0,
            ..of()
        },
        Truth {
            units: 96,
            spare_units: 30,
            pages_per_unit: 64,
            ..of()
        },
        Truth {
            units: 200,
            spare_units: 16,
            pages_per_unit: 64,
            ..of()
        },
        Truth {
            units: 159,
            spare_units: 33,
            pages_per_unit: 40,
            start: 4,
            stop: 4,
            ..of()
        },
        Truth {
            units: 159,
            pages_per_unit: 64,
            stop: 3,
            phase: 60,
            ..of()
        },
    ]
}

#[test]
fn a_drive_that_chooses_at_random_copies_in_the_fill() {
    for rule in [
        VictimRule::Random,
        VictimRule::Choices(2),
        VictimRule::Choices(3),
    ] {
        for truth in shapes(rule) {
            let (_, early) = truth.counts();
            let pages = truth.units * truth.pages_per_unit;
            assert!(early > u64::from(pages) / 100, "{truth:?} {early}");
        }
    }
    for (rule, _) in RULES.iter().filter(|rule| rule.1.is_some()) {
        for truth in shapes(*rule) {
            assert_eq!(truth.counts().1, 0, "{truth:?}");
        }
    }
}

#[test]
fn each_rule_is_told_of_drives_of_many_shapes() {
    for (rule, victims) in RULES {
        let Some(victims) = victims else { continue };
        for truth in shapes(rule) {
            let fit = truth.found().unwrap();
            assert_eq!(fit.victims, Some(victims), "{rule} {truth:?} {fit:?}");
        }
    }
}

/// Counts with up to so many pages too little, as of a drive that counts late, and with its own writes beside.
fn disturbed(looks: &[Sample], late_pages: u64, own_percent: u64) -> Vec<Sample> {
    let mut random = Random(3);
    let first = looks[0];
    let look = |look: &Sample| {
        let own = (look.media_bytes - first.media_bytes) * own_percent / 100;
        let late = random
            .below(late_pages + 1)
            .min(look.sent_bytes - first.sent_bytes);
        Sample {
            media_bytes: look.media_bytes + own - late,
            ..*look
        }
    };
    looks.iter().map(look).collect()
}

#[test]
fn a_count_that_is_late_or_has_a_little_of_the_drives_own_in_it_tells_the_same() {
    for (rule, victims) in RULES {
        let Some(victims) = victims else { continue };
        let truth = Truth {
            units: 300,
            spare_units: 40,
            ..Truth::of(rule)
        };
        for (late_pages, own_percent) in [(8, 0), (0, 1), (8, 1)] {
            let looks = disturbed(&truth.counts().0, late_pages, own_percent);
            let fit = truth.judged(&looks, 11).unwrap();
            assert_eq!(
                fit.victims,
                Some(victims),
                "{rule} {late_pages} {own_percent} {fit:?}"
            );
        }
    }
}

#[test]
fn what_is_no_rule_of_these_is_not_told_apart() {
    let is_told = |fit: Option<Fit>| fit.is_some_and(|fit| fit.victims.is_some());
    // Another host writes a fifth as much.
    for (rule, _) in RULES {
        let truth = Truth {
            units: 300,
            spare_units: 40,
            ..Truth::of(rule)
        };
        let looks = disturbed(&truth.counts().0, 0, 20);
        assert!(!is_told(truth.judged(&looks, 2)), "{rule}");
    }
    // Few units, few copies, none.
    let few = Truth {
        units: 24,
        spare_units: 8,
        ..Truth::of(VictimRule::Greedy)
    };
    assert_eq!(few.found(), None);
    let at_once = Truth {
        stop: 12,
        spare_units: 30,
        ..Truth::of(VictimRule::Greedy)
    };
    assert!(!is_told(at_once.found()));
    assert_eq!(points(&[], 0, 1), []);
    let shape = Shape {
        logical_units: 100.0,
        taken_units: 120.0,
        pages: 64,
        at_once: 1,
    };
    assert_eq!(fit(&[], &shape), None);
}

#[test]
fn nonsense_of_a_drive_makes_no_model() {
    let point = |place: u32| Point {
        sent: f64::from(place),
        copied: f64::from(place),
    };
    let points: Vec<Point> = (0..20).map(point).collect();
    for (logical_units, taken_units, pages, at_once) in [
        (f64::INFINITY, 1.0, 64, 1),
        (100.0, 90.0, 64, 1),
        (100.0, f64::INFINITY, 64, 1),
        (100.0, 120.0, 0, 0),
        (100.0, 120.0, u64::MAX, u64::MAX),
        (f64::NAN, f64::NAN, 1, 1),
    ] {
        let shape = Shape {
            logical_units,
            taken_units,
            pages,
            at_once,
        };
        let told = fit(&points, &shape).and_then(|fit| fit.victims);
        assert_eq!(told, None, "{shape:?}");
    }
}

#[test]
fn the_regions_shares_are_given_up_evenly() {
    let runs = given_up(10_000);
    let given: u64 = runs.iter().map(|run| run.1).sum();
    assert!((given as f64 / 10_000.0 - given_up_share()).abs() < 0.001);
    assert!(
        runs.windows(2)
            .all(|pair| pair[0].0 + pair[0].1 < pair[1].0)
    );
    // Of any 64 in a row of the third region, as many but for one.
    let is_given = |place: u64| {
        runs.iter()
            .any(|&(first, count)| (first..first + count).contains(&place))
    };
    for begin in [6600, 7013, 9900] {
        let given = (begin..begin + 64).filter(|&place| is_given(place)).count();
        assert!((45..=46).contains(&given), "{begin} {given}");
    }
}

#[test]
fn copies_begin_a_round_apart() {
    let look = |sent_bytes: u64| Sample {
        sent_bytes,
        media_bytes: sent_bytes + (sent_bytes / 30) * 20,
    };
    let looks: Vec<Sample> = (0..200).map(look).collect();
    let found = points(&looks, 1, 10);
    assert_eq!(
        found[1],
        Point {
            sent: 3.0,
            copied: 2.0
        }
    );
    assert_eq!(units_at_once(&found), Some(3));
    // A little all the time.
    let look = |sent_bytes: u64| Sample {
        sent_bytes,
        media_bytes: 2 * sent_bytes,
    };
    let looks: Vec<Sample> = (0..200).map(look).collect();
    assert_eq!(units_at_once(&points(&looks, 0, 10)), None);
    assert_eq!(units_at_once(&[]), None);
}
