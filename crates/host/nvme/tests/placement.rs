//! Flexible Data Placement through the wire: what careful hosts check of it (Base §8.1.10).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use anabranch_initiator::{Entry, Host, Tag, Transfer};
use anabranch_nvme::drive::{ServedDrive, Watch};
use anabranch_ssd::{
    Config,
    fdp::{FdpDevice, FdpOptions},
};
use harness::{Served, io, pattern};

/// Blocks left in the unit of a placement identifier.
fn room(host: &mut Host, identifier: u16) -> u64 {
    let status = host.handle_status().unwrap();
    status
        .iter()
        .find(|status| status.identifier == identifier)
        .unwrap()
        .available_blocks
}

fn write(host: &mut Host, first: u64, blocks: usize, tag: Tag) {
    host.write(first, &pattern(first, blocks * 4096), tag)
        .unwrap();
}

#[test]
fn the_configuration_is_the_device_s() {
    let served = Served::fdp();
    let mut host = served.host(1);
    assert!(host.controller.has_placement());
    assert_eq!(host.namespace.endurance_group, 1);
    let configuration = host.fdp_configuration().unwrap();
    assert!(configuration.valid);
    assert_eq!(
        (
            configuration.groups,
            configuration.handles,
            configuration.group_bits
        ),
        (1, 8, 0)
    );
    assert_eq!(configuration.unit_bytes, 128 * 4096);
    assert!(configuration.most_identifiers >= 5);
    assert_eq!(configuration.isolation, [1; 8]);
    // The namespace's identifiers are its handles, each with a whole unit.
    let status = host.handle_status().unwrap();
    assert_eq!(
        status
            .iter()
            .map(|status| status.identifier)
            .collect::<Vec<u16>>(),
        (0..8).collect::<Vec<u16>>()
    );
    assert!(
        status.iter().all(|status| status.available_blocks == 128),
        "{status:?}"
    );
    assert_eq!(host.fdp_usage().unwrap().len(), 8);
    // Streams cannot be enabled here (Base §8.1.8.3): Invalid Field.
    assert_eq!(
        host.enable_directive(1, true).unwrap().status.number(),
        0x02
    );
    let (supported, enabled, persistent) = host.directives().unwrap();
    assert_eq!(
        (supported & 0b111, enabled & 0b111, persistent & 0b111),
        (0b101, 0b101, 0b100)
    );
}

#[test]
fn the_room_of_a_handle_falls_by_exactly_what_is_written() {
    let served = Served::fdp();
    let mut host = served.host(1);
    write(&mut host, 0, 10, Tag::Placement(3));
    assert_eq!(room(&mut host, 3), 118);
    write(&mut host, 500, 1, Tag::Placement(3));
    assert_eq!(room(&mut host, 3), 117);
    // Without a directive: identifier 0. Reads and flushes change nothing.
    write(&mut host, 1000, 20, Tag::None);
    host.read(0, 10).unwrap();
    host.flush().unwrap();
    let rooms: Vec<u64> = host
        .handle_status()
        .unwrap()
        .iter()
        .map(|status| status.available_blocks)
        .collect();
    assert_eq!(rooms, [108, 128, 128, 117, 128, 128, 128, 128]);
    assert_eq!(served.pages_of_streams(), [20, 0, 0, 11, 0, 0, 0, 0]);
    // A unit that is full is followed by another.
    write(&mut host, 2000, 120, Tag::Placement(3));
    assert_eq!(room(&mut host, 3), 128 - 3);
}

#[test]
fn an_update_gives_each_identifier_a_whole_unit() {
    let served = Served::fdp();
    let mut host = served.host(1);
    for identifier in [1, 2, 5] {
        write(
            &mut host,
            u64::from(identifier) * 100,
            7,
            Tag::Placement(identifier),
        );
    }
    assert!(host.update_handles(&[2]).unwrap().status.is_success());
    assert_eq!((room(&mut host, 1), room(&mut host, 2)), (121, 128));
    assert!(host.update_handles(&[1, 2, 5]).unwrap().status.is_success());
    for identifier in [1, 2, 5] {
        assert_eq!(room(&mut host, identifier), 128);
    }
    // One that is none: Invalid Field, and nothing else happens.
    assert_eq!(host.update_handles(&[999]).unwrap().status.number(), 0x02);
}

#[test]
fn an_invalid_identifier_is_not_fatal_and_told_as_an_event() {
    let served = Served::fdp();
    let mut host = served.host(1);
    write(&mut host, 0, 1, Tag::Placement(4711));
    assert_eq!(
        host.fdp_events().unwrap(),
        [],
        "events are recorded before they are enabled"
    );
    // Event types 0 (unit not fully written) and 3 (invalid identifier), of placement handle 0.
    assert!(
        host.enable_fdp_events(0, &[0, 3], true)
            .unwrap()
            .status
            .is_success()
    );
    write(&mut host, 1, 2, Tag::Placement(4712));
    let events = host.fdp_events().unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(
        (events[0].kind, events[0].identifier, events[0].flags & 1),
        (3, 4712, 1)
    );
    // An update that leaves room.
    host.update_handles(&[0]).unwrap();
    let kinds: Vec<u8> = host
        .fdp_events()
        .unwrap()
        .iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(kinds.len(), 2, "{kinds:?}");
    assert!(kinds.contains(&0));
    assert_eq!(host.read(0, 3).unwrap().len(), 3 * 4096);
}

#[test]
fn the_statistics_are_the_device_s_true_counters() {
    let served = Served::fdp();
    let mut host = served.host(1);
    assert_eq!(host.fdp_statistics().unwrap().host_bytes, 0);
    // Three of four pages of the drive are filled; then pages here and there are overwritten, so that garbage collection
    // has something to copy.
    for first in (0..6144).step_by(64) {
        write(&mut host, first, 64, Tag::Placement(1));
    }
    let mut place = 1_u64;
    for _ in 0..12_000 {
        place = place
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        write(&mut host, (place >> 33) % 6144, 1, Tag::Placement(2));
    }
    let statistics = host.fdp_statistics().unwrap();
    assert_eq!(statistics.host_bytes, (6144 + 12_000) * 4096);
    let drive = served.target.drive();
    let counters = drive.counters();
    assert!(counters.copied_pages > 0);
    assert_eq!(
        statistics.media_bytes,
        u128::from(counters.host_pages + counters.copied_pages) * 4096
    );
    assert_eq!(
        statistics.erased_bytes,
        u128::from(counters.erased_units) * 128 * 4096
    );
    drive.verify().unwrap();
}

#[test]
fn the_feature_is_on_and_stays_on_while_there_is_a_namespace() {
    let served = Served::fdp();
    let mut host = served.host(1);
    // Flexible Data Placement (1Dh): endurance group in dword 11; bit 0 of the answer is "enabled".
    let feature = host
        .admin
        .run(Entry::feature(false, 0x1d, 1), Transfer::None)
        .unwrap();
    assert!(feature.status.is_success());
    assert_eq!(feature.result & 1, 1);
    // To switch it off, namespaces must be deleted before: Command Sequence Error.
    let off = host
        .admin
        .run(Entry::feature(true, 0x1d, 1), Transfer::None)
        .unwrap();
    assert_eq!(off.status.number(), 0x0c);
}

#[test]
fn a_drive_without_placement_has_none_of_it() {
    let served = Served::streams();
    let mut host = served.host(1);
    assert!(!host.controller.has_placement());
    let entry = Entry::new(0x12, 1).dword(10, 1).dword(11, 1023);
    assert_ne!(io(&mut host, entry, Transfer::In(4096)), 0);
    let entry = Entry::write(0, 1, Tag::Placement(0));
    let written = io(&mut host, entry, Transfer::out(vec![0; 4096]));
    assert_eq!(written, 0x02);
}

/// A drive whose mapping has pages of 16 KiB, as `fdp-pm9d3` has, gets writes of 4 KiB.
#[test]
fn host_bytes_are_those_that_hosts_wrote_and_rounding_to_pages_is_amplification() {
    const PAGE: u32 = 16 << 10;
    const WRITTEN: u64 = 16 << 20;
    let config = Config {
        page_bytes: PAGE,
        pages_per_unit: 32,
        logical_pages: 2048,
        ..harness::config()
    };
    let device = FdpDevice::watched(&config, &FdpOptions::default(), Watch::default()).unwrap();
    let served = Served::new(ServedDrive::fdp(device).whole(4096).unwrap(), |_| {});
    let mut host = served.host(1);
    for block in (0..WRITTEN / 4096).map(|number| number * 4 % 8192) {
        write(&mut host, block, 1, Tag::Placement(1));
    }
    let statistics = host.fdp_statistics().unwrap();
    let smart = host.smart().unwrap();
    assert_eq!(statistics.host_bytes, u128::from(WRITTEN));
    assert_eq!(smart.units_written, u128::from(WRITTEN.div_ceil(512_000)));
    let tally = served.target.totals().sums();
    assert_eq!(tally.host_bytes(), WRITTEN);
    let drive = served.target.drive();
    let counters = drive.counters();
    let page = u64::from(PAGE);
    assert_eq!(counters.host_pages * page, 4 * WRITTEN);
    let media = counters.media_pages() * page;
    assert_eq!(statistics.media_bytes, u128::from(media));
    let waf = tally.waf(media).unwrap();
    assert!(waf >= 4.0, "{waf}");
    drop(drive);
    // Zeroes are written too, but are no data units (NVM, Data Units Written).
    let zeroes = Entry::blocks(0x08, 2, 16);
    assert_eq!(io(&mut host, zeroes, Transfer::None), 0);
    let statistics = host.fdp_statistics().unwrap();
    assert_eq!(statistics.host_bytes, u128::from(WRITTEN) + 16 * 4096);
    assert_eq!(host.smart().unwrap().units_written, smart.units_written);
}
