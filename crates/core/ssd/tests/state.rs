//! A drive saved and loaded is the same drive, and nothing else is taken for one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod driven;
mod flash;
#[allow(dead_code)]
mod workload;

use anabranch_ssd::{
    Config, Counters, PageRange, StreamCounters, StreamId,
    relocate::{Destination, Relocate, RelocationKind, Survivor, Victim},
    state::{SavedDrive, StateError},
    victims::VictimRule,
    wear::{Faults, Levelling, Wear},
};
use driven::Driven;
use flash::{Operation, Rig, every_pair, operations, rules, small, with_spare};
use proptest::prelude::*;
use workload::Random;

/// Cases for each of the 77 pairs.
const CASES: u32 = 60;

/// A drive aged for a relocation.
fn aged(drive: SavedDrive, config: &Config, kind: RelocationKind) -> Result<Driven, StateError> {
    let mut relocation = kind.build(config);
    let device = drive.age(config.clone(), &mut *relocation, ())?;
    Ok(Driven { device, relocation })
}

/// A device saved, loaded, and put before the same host.
fn reloaded(rig: &Rig, kind: RelocationKind) -> Rig {
    let drive = SavedDrive::read(&rig.device.saved()[..]).unwrap();
    let mut relocation = kind.build(drive.config());
    let flash = rig.device.observer().clone();
    let device = drive.resume(&mut *relocation, flash).unwrap();
    rig.with(Driven { device, relocation })
}

fn same(one: &Rig, other: &Rig) -> Result<(), TestCaseError> {
    let (one, other) = (&one.device, &other.device);
    prop_assert_eq!(one.counters(), other.counters());
    prop_assert_eq!(one.stream_counters(), other.stream_counters());
    for page in 0..one.config().logical_pages {
        prop_assert_eq!(one.locate(page), other.locate(page));
        prop_assert_eq!(one.stream_of(page), other.stream_of(page));
    }
    // Everything else there is.
    prop_assert_eq!(one.saved(), other.saved());
    Ok(())
}

#[test]
fn saving_and_loading_in_the_middle_changes_nothing_with_any_pair_of_rules() {
    every_pair(CASES, |config, kind, operations| {
        let mut through = Rig::new(config, kind.build(config));
        let (before, after) = operations.split_at(operations.len() / 2);
        // Twice over, so that garbage was collected and units failed before.
        for operation in operations.iter().chain(before) {
            let _ = through.apply(operation);
        }
        let mut loaded = reloaded(&through, kind);
        loaded.check().map_err(TestCaseError::fail)?;
        same(&through, &loaded)?;
        for operation in after.iter().chain(operations) {
            prop_assert_eq!(through.apply(operation), loaded.apply(operation));
        }
        loaded.check().map_err(TestCaseError::fail)?;
        same(&through, &loaded)
    });
}

/// A small drive that has seen collection, open units and a failed unit.
fn example() -> Driven {
    let faults = Faults {
        erases_per_failure: 150,
        ..Faults::default()
    };
    let config = with_spare(
        Config {
            faults,
            ..small(60, 6, 0)
        },
        6,
    );
    let mut device = Driven::new(&config, RelocationKind::SUBSTREAM).unwrap();
    let mut random = Random(4);
    for step in 0..1500_u32 {
        let page = PageRange::new(random.below(60), 1);
        device.write(page, StreamId((step % 2) as u16)).unwrap();
    }
    device.discard(PageRange::new(3, 2)).unwrap();
    assert!(device.counters().copied_pages > 0 && device.counters().retired_units > 0);
    device
}

#[test]
fn a_file_cut_short_anywhere_is_an_error() {
    let bytes = example().saved();
    assert!(SavedDrive::read(&bytes[..]).is_ok());
    for length in 0..bytes.len() {
        match SavedDrive::read(&bytes[..length]).unwrap_err() {
            StateError::Foreign => assert!(length < 8),
            StateError::Truncated(_) => assert!(length >= 8),
            other => panic!("{length}: {other}"),
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_an_error() {
    let mut bytes = example().saved();
    for bit in 0..8 * bytes.len() {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(SavedDrive::read(&bytes[..]).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn something_else_is_told_from_a_damaged_drive() {
    let bytes = example().saved();
    for foreign in [
        &b""[..],
        b"PAR1....................",
        b"\x89PNG\r\n\x1a\n....",
    ] {
        assert!(matches!(
            SavedDrive::read(foreign),
            Err(StateError::Foreign)
        ));
    }
    let mut newer = bytes.clone();
    newer[8] = 2;
    let error = SavedDrive::read(&newer[..]).unwrap_err();
    assert!(
        matches!(error, StateError::Version { found: 2, known: 1 }),
        "{error}"
    );
    let mut longer = bytes;
    longer.push(0);
    let error = SavedDrive::read(&longer[..]).unwrap_err();
    assert!(matches!(error, StateError::Damaged(_)), "{error}");
}

#[test]
fn a_header_that_asks_for_more_than_the_file_holds_takes_no_memory_for_it() {
    let mut bytes = example().saved();
    // The header's length, next to the longest there is.
    bytes[12..16].copy_from_slice(&(1_u32 << 25).to_le_bytes());
    let error = SavedDrive::read(&bytes[..]).unwrap_err();
    assert!(matches!(error, StateError::Truncated(_)), "{error}");
    bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = SavedDrive::read(&bytes[..]).unwrap_err();
    assert!(matches!(error, StateError::Damaged(_)), "{error}");
}

#[test]
fn a_drive_is_not_continued_with_another_relocation() {
    let bytes = example().saved();
    for kind in [RelocationKind::Mixed, RelocationKind::Age] {
        let drive = SavedDrive::read(&bytes[..]).unwrap();
        let mut relocation = kind.build(drive.config());
        let error = drive.resume(&mut *relocation, ()).unwrap_err();
        assert!(matches!(error, StateError::Relocation), "{error}");
    }
}

#[test]
fn an_aged_drive_keeps_data_and_wear_and_counts_anew() {
    let device = example();
    let bytes = device.saved();
    let drive = SavedDrive::read(&bytes[..]).unwrap();
    assert_eq!(drive.counters(), device.counters());
    let config = Config {
        host_streams: 5,
        internal_streams: 3,
        faults: Faults::default(),
        ..drive.config().clone()
    };
    let mut aged = aged(drive, &config, RelocationKind::AgeChain).unwrap();
    aged.verify().unwrap();
    assert_eq!(*aged.counters(), Counters::default());
    assert_eq!(aged.stream_counters(), [StreamCounters::default(); 8]);
    assert_eq!(aged.clock_pages(), device.clock_pages());
    assert_eq!(aged.erases(), device.erases());
    assert_eq!(aged.retired_units(), device.retired_units());
    for page in 0..60 {
        assert_eq!(aged.locate(page), device.locate(page));
    }
    for step in 0..2000_u32 {
        let stream = StreamId((step % 5) as u16);
        aged.write(PageRange::new(step * 7 % 60, 1), stream)
            .unwrap();
    }
    aged.verify().unwrap();
    assert_eq!(aged.counters().host_pages, 2000);
}

#[test]
fn what_an_aged_drive_had_open_for_streams_that_are_no_more_is_closed() {
    let config = small(200, 10, 6);
    let config = Config {
        host_streams: 6,
        internal_streams: 2,
        ..config
    };
    let mut device = Driven::new(&config, RelocationKind::AgeChain).unwrap();
    for step in 0..930_u32 {
        let stream = StreamId((step % 6) as u16);
        device
            .write(PageRange::new(step * 37 % 200, 1), stream)
            .unwrap();
    }
    let open = (0..6)
        .filter(|&stream| device.unit_room(StreamId(stream)) < 10)
        .count();
    assert!(open >= 5);
    let fewer = Config {
        host_streams: 1,
        internal_streams: 0,
        ..config
    };
    let drive = SavedDrive::read(&device.saved()[..]).unwrap();
    let aged = aged(drive, &fewer, RelocationKind::Mixed).unwrap();
    aged.verify().unwrap();
    assert!((0..200).all(|page| aged.stream_of(page).is_none_or(|stream| stream.0 == 0)));
    assert_eq!(aged.mapped_pages(), device.mapped_pages());
}

#[test]
fn a_drive_can_serve_only_where_its_geometry_is_asked_for() {
    let bytes = example().saved();
    for change in [
        |config: &mut Config| config.logical_pages -= 1,
        |config: &mut Config| config.page_bytes *= 2,
        |config: &mut Config| config.physical_units += 1,
    ] {
        let drive = SavedDrive::read(&bytes[..]).unwrap();
        let mut config = drive.config().clone();
        change(&mut config);
        let error = aged(drive, &config, RelocationKind::Gc).unwrap_err();
        assert!(matches!(error, StateError::Geometry { .. }), "{error}");
    }
}

#[test]
fn a_drive_at_its_end_stays_there() {
    let faults = Faults {
        erases_per_failure: 20,
        ..Faults::default()
    };
    let config = with_spare(
        Config {
            faults,
            ..small(60, 6, 0)
        },
        3,
    );
    let mut device = Driven::new(&config, RelocationKind::Gc).unwrap();
    let mut page = 0;
    while device.write(PageRange::new(page, 1), StreamId(0)).is_ok() {
        page = (page + 17) % 60;
    }
    let drive = SavedDrive::read(&device.saved()[..]).unwrap();
    assert!(drive.is_read_only());
    let mut aged = aged(drive, &config, RelocationKind::Gc).unwrap();
    assert!(aged.write(PageRange::new(0, 1), StreamId(0)).is_err());
    assert_eq!(aged.mapped_pages(), device.mapped_pages());
}

/// Copies back to where they came from, and remembers how old they were said to be, and what was
/// opened.
#[derive(Debug, Default)]
struct Spy {
    ages: Vec<(u32, u64, u64)>,
    opened: Vec<StreamId>,
}

impl Relocate for Spy {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        self.ages
            .push((survivor.page, survivor.age_pages, victim.now));
        victim.stream
    }

    fn wants_ages(&self) -> bool {
        true
    }

    fn opened(&mut self, stream: StreamId) {
        self.opened.push(stream);
    }
}

/// A drive aged by so many random writes, taken up by a spy and written on; what the spy saw, with
/// the time each page was last written.
fn spied(kept: RelocationKind, keep_ages: bool) -> Vec<(u64, u64)> {
    let config = Config {
        internal_streams: 3,
        ..small(400, 10, 10)
    };
    let mut device = Driven::new(&config, kept).unwrap();
    if keep_ages {
        device.keep_ages();
    }
    let mut written_at = [0; 400];
    let mut random = Random(4);
    for now in 0..6000 {
        let page = random.below(400);
        written_at[page as usize] = now;
        device.write(PageRange::new(page, 1), StreamId(0)).unwrap();
    }
    let drive = SavedDrive::read(&device.saved()[..]).unwrap();
    let mut spy = Spy::default();
    let mut aged = drive.age(config, &mut spy, ()).unwrap();
    let mut seen = Vec::new();
    for now in 6000..7000 {
        let page = random.below(400);
        let pages = PageRange::new(page, 1);
        aged.write(&mut spy, pages, StreamId(0)).unwrap();
        for (page, age, then) in spy.ages.drain(..) {
            seen.push((age, then - written_at[page as usize]));
        }
        written_at[page as usize] = now;
    }
    assert!(seen.len() > 1000);
    seen
}

#[test]
fn the_age_of_every_page_survives() {
    let asked_for = spied(RelocationKind::Age, false);
    let kept = spied(RelocationKind::Gc, true);
    for (said, is) in asked_for.into_iter().chain(kept) {
        assert_eq!(said, is);
    }
}

#[test]
fn where_no_ages_were_kept_a_page_is_as_old_as_its_unit() {
    // Copied pages seem younger than they are, others no younger; new writes are dated exactly.
    let seen = spied(RelocationKind::Gc, false);
    assert!(seen.iter().all(|&(said, _)| said < 7000));
    assert!(seen.iter().any(|(said, is)| said != is));
    assert!(seen.iter().any(|(said, is)| said == is));
}

#[test]
fn a_relocation_is_told_of_the_units_there_are_the_oldest_first() {
    let config = Config {
        host_streams: 3,
        ..small(200, 10, 6)
    };
    let mut device = Driven::new(&config, RelocationKind::Gc).unwrap();
    for (first, pages, stream) in [(0, 10, 1), (10, 10, 0), (20, 10, 2), (30, 5, 1)] {
        let pages = PageRange::new(first, pages);
        device.write(pages, StreamId(stream)).unwrap();
    }
    let drive = SavedDrive::read(&device.saved()[..]).unwrap();
    let mut spy = Spy::default();
    drive.age(config, &mut spy, ()).unwrap();
    assert_eq!(spy.opened, [1, 0, 2, 1].map(StreamId));
}

/// Another drive of the same geometry.
fn other_rules() -> impl Strategy<Value = (VictimRule, RelocationKind, u16, u16, Levelling)> {
    (
        prop::sample::select(rules()),
        prop::sample::select(RelocationKind::ALL.to_vec()),
        1_u16..4,
        0_u16..4,
        prop::sample::select(vec![Levelling::None, Levelling::Dynamic, Levelling::Static]),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_aged_drive_serves_any_streams_and_rules_and_loses_nothing(
        (rule, kind, host, internal, levelling) in other_rules(),
        (rule_then, kind_then, host_then, internal_then, _) in other_rules(),
        group_bits in 0_u32..2,
        before in operations(80, 6, 60),
        after in operations(80, 6, 60),
    ) {
        let groups = 1_u16 << group_bits;
        let first = Config {
            host_streams: host_then * groups,
            internal_streams: internal_then * groups,
            victim_rule: rule_then,
            reclaim_groups: groups.into(),
            ..small(80, 6, 0)
        };
        let first = with_spare(first, 8);
        let mut rig = Rig::new(&first, kind_then.build(&first));
        for operation in &before {
            rig.apply(&fitting(operation, &first)).unwrap();
        }
        let config = Config {
            host_streams: host * groups,
            internal_streams: internal * groups,
            victim_rule: rule,
            wear: Wear { levelling, spread: 2, ..Wear::default() },
            ..first
        };
        let drive = SavedDrive::read(&rig.device.saved()[..]).unwrap();
        let flash = rig.device.observer().clone();
        let mut relocation = kind.build(&config);
        let device = drive.age(config.clone(), &mut *relocation, flash).unwrap();
        let mut aged = rig.with(Driven { device, relocation });
        aged.check().map_err(TestCaseError::fail)?;
        for operation in after.iter().chain(&after) {
            aged.apply(&fitting(operation, &config)).unwrap();
            aged.check().map_err(TestCaseError::fail)?;
        }
    }
}

/// An operation with a stream the device has.
fn fitting(operation: &Operation, config: &Config) -> Operation {
    let mut operation = operation.clone();
    match &mut operation {
        Operation::Write { stream, .. }
        | Operation::Scatter { stream, .. }
        | Operation::Finish { stream } => *stream %= config.host_streams,
        Operation::Discard { .. } | Operation::Idle => {}
    }
    operation
}
