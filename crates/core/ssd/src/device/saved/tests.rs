//! Content that checksums cannot catch: well-formed bytes that describe no device.

use proptest::prelude::*;

use super::*;
use crate::{
    config::tests::small, relocate::RelocationKind, state::check, types::PageRange,
    victim_rule::VictimRule, wear::Faults,
};

fn rules() -> impl Iterator<Item = VictimRule> {
    VictimRule::named().chain([VictimRule::Choices(2)])
}

fn drive(victim_rule: VictimRule, kind: RelocationKind) -> SavedDrive {
    let faults = Faults {
        pages_per_program_failure: 500,
        erases_per_failure: 200,
        ..Faults::default()
    };
    let config = Config {
        physical_units: 20,
        reclaim_groups: 1,
        victim_rule,
        faults,
        ..small()
    };
    let mut relocation = kind.build(&config);
    let mut device = Device::new(config, &*relocation).unwrap();
    for step in 0..400_u32 {
        let stream = StreamId((step % 3) as u16);
        let page = PageRange::new(step * 29 % 64, 1);
        let _ = device.write(&mut *relocation, page, stream);
    }
    let mut bytes = Vec::new();
    device.save(&*relocation, &mut bytes).unwrap();
    SavedDrive::read(&bytes[..]).unwrap()
}

/// Puts `value` somewhere: `place` says where, modulo the places there are.
fn spoil(drive: &mut SavedDrive, place: usize, index: usize, value: u64) {
    let units = &mut drive.units;
    let header = &mut drive.header;
    let group = &mut units.groups[0];
    let words: [&mut Vec<u32>; 8] = [
        &mut drive.l2p,
        &mut drive.written_at,
        &mut units.erases,
        &mut units.retired,
        &mut units.failing,
        &mut group.free,
        &mut group.entered,
        &mut group.changed,
    ];
    let counters = &mut header.counters;
    let longs = [
        &mut units.opened_at,
        &mut units.closed_at,
        &mut drive.relocation,
    ];
    match place % 20 {
        which @ 0..8 => {
            let words = words.into_iter().nth(which).unwrap();
            if let Some(length) = words.len().checked_sub(1) {
                words[index % (length + 1)] = value as u32;
            }
        }
        which @ 8..11 => {
            let longs = longs.into_iter().nth(which - 8).unwrap();
            if let Some(length) = longs.len().checked_sub(1) {
                longs[index % (length + 1)] = value;
            }
        }
        11 => units.stream[index % 20] = value as u16,
        12 => header.past_pages = value,
        13 => counters.host_pages = value,
        14 => header.chances[0] = value,
        15 => counters.erased_units = value,
        16 => group.free.push(value as u32),
        17 => {
            group.entered.pop();
        }
        which => {
            if let Some(open) = header.open.first_mut() {
                match which {
                    18 => (open.filled, open.written_at) = (value as u32, value >> 8),
                    _ => open.unit = value as u32,
                }
            }
        }
    }
}

/// As a reader of the same bytes would have it.
fn checked(drive: &SavedDrive) -> Result<(), StateError> {
    check::header(&drive.header)?;
    check::units(drive)
}

fn values() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..70,
        1 => any::<u64>(),
        1 => prop::sample::select(vec![u64::MAX, 1 << 56, u64::from(u32::MAX), 1 << 31]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Either it is refused, or it is a device that works: in no case a panic.
    #[test]
    fn whatever_a_file_says_it_is_refused_or_a_device_that_works(
        rule in prop::sample::select(rules().collect::<Vec<_>>()),
        kind in prop::sample::select(RelocationKind::ALL.to_vec()),
        spoilt in prop::collection::vec((any::<usize>(), any::<usize>(), values()), 1..3),
    ) {
        let mut drive = drive(rule, kind);
        for (place, index, value) in spoilt {
            spoil(&mut drive, place, index, value);
        }
        let mut relocation = kind.build(&drive.header.config);
        let loaded = checked(&drive).and_then(|()| drive.resume(&mut *relocation, ()));
        if let Ok(mut device) = loaded {
            device.verify()?;
            for step in 0..300_u32 {
                let pages = PageRange::new(step * 7 % 61, 1 + step % 4);
                let written = device.write(&mut *relocation, pages, StreamId((step % 4) as u16));
                prop_assert!(written.is_ok() || device.verify().is_ok());
            }
            device.verify()?;
        }
    }
}

#[test]
fn a_header_that_describes_no_device_is_refused() {
    let drive = drive(VictimRule::Greedy, RelocationKind::Gc);
    let spoilt: [fn(&mut Header); 9] = [
        |header| header.config.pages_per_unit = 0,
        |header| header.config.physical_units = 1,
        |header| header.config.host_streams = u16::MAX,
        |header| header.config.reclaim_groups = 3,
        |header| {
            header.streams.pop();
        },
        |header| header.streams[0].host_pages += 1,
        |header| header.counters.discarded_pages = u64::MAX,
        |header| header.config.faults.erases_per_failure += 1,
        |header| header.chances.clear(),
    ];
    for (which, spoil) in spoilt.into_iter().enumerate() {
        let mut header = drive.header.clone();
        spoil(&mut header);
        assert!(check::header(&header).is_err(), "{which}");
    }
}

#[test]
fn two_pages_at_one_place_are_refused() {
    let mut drive = drive(VictimRule::Greedy, RelocationKind::Gc);
    for (one, other) in [(0, 5), (5, 0), (7, 9)] {
        drive.l2p[one] = drive.l2p[other];
        let mut relocation = RelocationKind::Gc.build(&drive.header.config);
        let error = drive.clone().resume(&mut *relocation, ()).unwrap_err();
        assert!(error.to_string().contains("one place"), "{error}");
    }
}

#[test]
fn a_place_tells_the_page_that_is_mapped_to_it_and_no_other() {
    let config = small();
    let (units, pages_per_unit) = (config.physical_units, config.pages_per_unit);
    let mut device = Device::new(config, &()).unwrap();
    for first in [0, 3, 8, 3] {
        let pages = PageRange::new(first, 5);
        device.write(&mut (), pages, StreamId::DEFAULT).unwrap();
    }
    let mut mapped = 0;
    for (unit, offset) in (0..units).flat_map(|unit| (0..pages_per_unit).map(move |at| (unit, at)))
    {
        let here = |&page: &u32| device.locate(page) == Some((unit, offset));
        let page = (0..64).find(here);
        assert_eq!(device.page_at(unit, offset), page, "{unit} {offset}");
        mapped += usize::from(page.is_some());
    }
    assert_eq!(mapped, 13);
    assert_eq!(device.page_at(units, 0), None);
}
