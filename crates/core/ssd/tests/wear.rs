//! Wear levelling, faults, and the end of a drive.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod driven;
mod flash;
#[allow(dead_code)]
mod workload;

use anabranch_ssd::{
    Config, DeviceError, PageRange, StreamId,
    relocate::RelocationKind,
    wear::{Faults, Levelling, Wear},
};
use driven::Driven;
use flash::{Operation, Rig, small, with_spare};
use workload::Random;

/// Static levelling's threshold in these tests.
const SPREAD: u32 = 8;

fn levelled(levelling: Levelling) -> Config {
    Config {
        wear: Wear {
            levelling,
            spread: SPREAD,
            ..Wear::default()
        },
        ..small(4000, 20, 20)
    }
}

/// A drive written once, of which a tenth is then overwritten for so many capacities while the
/// rest lies still.
fn skewed(config: &Config, kind: RelocationKind, capacities: u32) -> Driven {
    let mut device = Driven::new(config, kind).unwrap();
    let pages = config.logical_pages;
    device.write(PageRange::new(0, pages), StreamId(0)).unwrap();
    let mut random = Random(5);
    for _ in 0..capacities * pages {
        let page = random.below(pages / 10);
        device.write(PageRange::new(page, 1), StreamId(0)).unwrap();
    }
    device.verify().unwrap();
    device
}

fn spread(device: &Driven) -> u32 {
    let erases = device.erases();
    erases.iter().max().unwrap() - erases.iter().min().unwrap()
}

/// Mean distance of units' erases from their mean.
fn unevenness(device: &Driven) -> f64 {
    let erases = device.erases();
    let mean = erases.iter().sum::<u32>() as f64 / erases.len() as f64;
    let distance = |&erases: &u32| (f64::from(erases) - mean).abs();
    erases.iter().map(distance).sum::<f64>() / erases.len() as f64
}

#[test]
fn dynamic_levelling_narrows_the_spread_of_units_that_are_written() {
    // Random overwrites of the whole drive, so that every unit comes up for collection.
    let run = |levelling| {
        let config = levelled(levelling);
        let mut device = Driven::new(&config, RelocationKind::Gc).unwrap();
        let mut random = Random(5);
        for _ in 0..30 * config.logical_pages {
            // Nine writes of ten go to a tenth of the drive.
            let hot = random.below(10) > 0;
            let page = random.below(if hot { 400 } else { 4000 });
            device.write(PageRange::new(page, 1), StreamId(0)).unwrap();
        }
        assert_eq!(device.counters().levelled_pages, 0);
        device
    };
    let (none, dynamic) = (run(Levelling::None), run(Levelling::Dynamic));
    assert!(
        spread(&dynamic) < spread(&none),
        "{} {}",
        spread(&dynamic),
        spread(&none)
    );
    assert!(unevenness(&dynamic) < 0.75 * unevenness(&none));
}

#[test]
fn static_levelling_bounds_the_spread_that_data_at_rest_make() {
    for kind in [
        RelocationKind::Mixed,
        RelocationKind::Gc,
        RelocationKind::AgeChain,
    ] {
        let dynamic = skewed(&levelled(Levelling::Dynamic), kind, 60);
        let bounded = skewed(&levelled(Levelling::Static), kind, 60);
        assert!(
            spread(&dynamic) > 10 * SPREAD,
            "{kind}: {}",
            spread(&dynamic)
        );
        // The least worn unit is made to take part as soon as a free one is that far ahead; the erase
        // that puts it so may be followed by one more.
        assert!(
            spread(&bounded) <= SPREAD + 1,
            "{kind}: {}",
            spread(&bounded)
        );
    }
}

#[test]
fn what_static_levelling_moves_is_counted_among_the_copies() {
    let dynamic = skewed(&levelled(Levelling::Dynamic), RelocationKind::Gc, 20);
    let bounded = skewed(&levelled(Levelling::Static), RelocationKind::Gc, 20);
    let (without, with) = (dynamic.counters(), bounded.counters());
    assert_eq!(without.levelled_pages, 0);
    assert!(with.levelled_pages > 0);
    assert!(with.levelled_pages <= with.copied_pages);
    assert!(with.copied_pages > without.copied_pages);
    // The same host writes are erased for, and the levelled pages besides.
    let pages_per_unit = u64::from(bounded.config().pages_per_unit);
    let more = with.erased_units - without.erased_units;
    assert!(more * pages_per_unit >= with.levelled_pages / 2, "{more}");
}

#[test]
fn the_units_bad_from_the_factory_hold_nothing_and_cost_spare() {
    let faults = Faults {
        factory_bad_units: 5,
        ..Faults::default()
    };
    let config = failing(faults, small(200, 10, 0), 2);
    let mut device = Driven::new(&config, RelocationKind::Gc).unwrap();
    assert_eq!(device.retired_units().len(), 5);
    assert_eq!(device.counters().retired_units, 5);
    for round in 0..50 {
        device
            .write(PageRange::new(0, 200), StreamId(round % 2))
            .unwrap();
        device.verify().unwrap();
    }
    for &unit in device.retired_units() {
        assert_eq!(
            (device.unit(unit), device.erases()[unit as usize]),
            (None, 0)
        );
    }
    assert!(!device.is_read_only());
}

/// A drive with such faults, and so many units more than it needs.
fn failing(faults: Faults, drive: Config, spare: u32) -> Config {
    with_spare(Config { faults, ..drive }, spare)
}

/// A drive that wears so, and so many units more than it needs.
fn wearing(wear: Wear, drive: Config, spare: u32) -> Config {
    with_spare(Config { wear, ..drive }, spare)
}

/// Overwrites at random until the drive takes no more; its end, checked.
fn to_the_end(config: &Config, kind: RelocationKind) -> Rig {
    let mut rig = Rig::new(config, kind.build(config));
    let mut random = Random(9);
    for step in 0..2_000_000_u64 {
        let pages = (0..40)
            .map(|_| random.below(config.logical_pages))
            .collect();
        let stream = (step % u64::from(config.host_streams)) as u16;
        let written = rig.apply(&Operation::Scatter { pages, stream });
        if step % 64 == 0 || written.is_err() {
            rig.check().unwrap();
        }
        if let Err(error) = written {
            let retired_units = rig.device.retired_units().len() as u64;
            assert_eq!(error, DeviceError::ReadOnly { retired_units });
            assert!(rig.device.is_read_only());
            assert_eq!(rig.device.counters().retired_units, retired_units);
            return rig;
        }
    }
    panic!("the drive did not end");
}

/// Units a drive can lose before it has fewer than it needs.
fn spare_units(config: &Config) -> u64 {
    u64::from(config.physical_units) - config.least_physical_units()
}

#[test]
fn a_drive_whose_erases_fail_ends_when_its_spare_is_gone_and_keeps_every_page() {
    let faults = Faults {
        erases_per_failure: 200,
        ..Faults::default()
    };
    let config = failing(faults, small(300, 10, 0), 12);
    for kind in RelocationKind::ALL {
        let rig = to_the_end(&config, kind);
        let counters = rig.device.counters();
        assert_eq!(counters.failed_erases, counters.retired_units, "{kind}");
        assert_eq!(counters.retired_units, spare_units(&config) + 1, "{kind}");
    }
}

#[test]
fn a_unit_whose_programming_failed_is_emptied_and_retired() {
    let faults = Faults {
        pages_per_program_failure: 3000,
        ..Faults::default()
    };
    let config = failing(faults, small(300, 10, 0), 12);
    for kind in RelocationKind::ALL {
        let rig = to_the_end(&config, kind);
        let counters = rig.device.counters();
        assert_eq!(counters.retired_units, spare_units(&config) + 1, "{kind}");
        // Those that failed last may still wait to be emptied.
        assert!(counters.failed_programs >= counters.retired_units, "{kind}");
        assert!(
            counters.failed_programs <= counters.retired_units + 2,
            "{kind}"
        );
        assert_eq!(counters.failed_erases, 0);
    }
}

#[test]
fn failures_come_as_often_as_was_asked_for() {
    let faults = Faults {
        pages_per_program_failure: 5000,
        erases_per_failure: 500,
        factory_bad_units: 0,
    };
    let config = failing(faults, small(1000, 10, 0), 400);
    let rig = to_the_end(&config, RelocationKind::Gc);
    let counters = rig.device.counters();
    for (operations, failures, mean) in [
        (counters.media_pages(), counters.failed_programs, 5000.0),
        (counters.erased_units, counters.failed_erases, 500.0),
    ] {
        let expected = operations as f64 / mean;
        // Five standard deviations of a count of rare events.
        assert!(
            (failures as f64 - expected).abs() < 5.0 * expected.sqrt(),
            "{failures} {expected}"
        );
    }
}

#[test]
fn a_drive_that_retires_at_its_rating_lives_to_rated_erases_times_units() {
    for levelling in [Levelling::Dynamic, Levelling::Static] {
        let wear = Wear {
            levelling,
            spread: 4,
            rated_erases: 100,
            retire_at_rating: true,
        };
        let config = wearing(wear, small(600, 10, 0), 8);
        let rig = to_the_end(&config, RelocationKind::Gc);
        let possible = 100 * u64::from(config.physical_units);
        let erased = rig.device.counters().erased_units;
        assert!(erased <= possible);
        // Random overwrites of everything, levelled to within a few erases of each other.
        assert!(
            erased as f64 > 0.93 * possible as f64,
            "{levelling:?}: {erased} of {possible}"
        );
        assert!(rig.device.erases().iter().all(|&erases| erases <= 100));
    }
}

#[test]
fn data_at_rest_shorten_the_life_that_static_levelling_restores() {
    let life = |levelling| {
        let wear = Wear {
            levelling,
            spread: 4,
            rated_erases: 60,
            retire_at_rating: true,
        };
        let config = wearing(wear, small(600, 10, 0), 8);
        let mut device = Driven::new(&config, RelocationKind::Gc).unwrap();
        device.write(PageRange::new(0, 600), StreamId(0)).unwrap();
        let mut random = Random(5);
        while device
            .write(PageRange::new(random.below(60), 1), StreamId(0))
            .is_ok()
        {}
        device.verify().unwrap();
        assert_eq!(device.mapped_pages(), 600);
        device.counters().host_pages
    };
    assert!(life(Levelling::Static) > 2 * life(Levelling::Dynamic));
}

#[test]
fn a_drive_every_program_of_which_fails_takes_no_page_and_ends() {
    let faults = Faults {
        pages_per_program_failure: 1,
        ..Faults::default()
    };
    let config = failing(faults, small(100, 10, 0), 3);
    let mut rig = Rig::new(&config, RelocationKind::Gc.build(&config));
    let write = Operation::Write {
        first: 0,
        count: 5,
        stream: 0,
    };
    assert!(matches!(
        rig.apply(&write),
        Err(DeviceError::ReadOnly { .. })
    ));
    rig.check().unwrap();
    assert_eq!(rig.device.counters().host_pages, 0);
    assert_eq!(rig.device.mapped_pages(), 0);
}

#[test]
fn faults_fall_on_the_same_operations_for_the_same_seed() {
    let run = |seed| {
        let faults = Faults {
            pages_per_program_failure: 900,
            erases_per_failure: 90,
            factory_bad_units: 2,
        };
        let config = with_spare(
            Config {
                faults,
                seed,
                ..small(300, 10, 0)
            },
            12,
        );
        let rig = to_the_end(&config, RelocationKind::Gc);
        (*rig.device.counters(), rig.device.retired_units().to_vec())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).1, run(2).1);
}

#[test]
fn the_life_foretold_halfway_is_the_life_that_comes() {
    for levelling in [Levelling::Dynamic, Levelling::Static] {
        let wear = Wear {
            levelling,
            spread: 4,
            rated_erases: 100,
            retire_at_rating: true,
        };
        let config = wearing(wear, small(600, 10, 0), 8);
        let mut device = Driven::new(&config, RelocationKind::Gc).unwrap();
        let mut random = Random(5);
        let mut foretold = None;
        while device
            .write(PageRange::new(random.below(600), 1), StreamId(0))
            .is_ok()
        {
            let report = device.wear();
            if report.mean_erases >= 50.0 && foretold.is_none() {
                foretold = report.life_bytes;
            }
        }
        let came = (device.counters().host_pages * 4096) as f64;
        let share = came / foretold.unwrap() as f64;
        // It ends with the ninth worn unit, not the first; the spread grows or narrows meanwhile.
        assert!((0.95..1.10).contains(&share), "{levelling:?}: {share}");
    }
}
