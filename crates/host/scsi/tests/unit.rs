//! A SCSI unit as a host meets it: bytes of commands, what they answer, and what the drive counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../nvme/tests/harness/mod.rs"]
mod harness;

use std::sync::Arc;

use anabranch_nvme::{Options, Target, Totals, drive::ServedDrive, store::Store};
use anabranch_scsi::{Sense, Unit, UnitError};
use anabranch_ssd::{Device, relocate::RelocationKind};
use harness::{config, fdp_drive, pattern, streams_drive};
use proptest::prelude::*;

const PAGE: usize = 4096;

fn target(drive: ServedDrive) -> Arc<Target> {
    let store = Store::memory(drive.config().logical_bytes());
    let options = Options::new(harness::SUBSYSTEM);
    Target::new(options, drive, store, Totals::default(), None).unwrap()
}

fn unit() -> (Arc<Target>, Unit) {
    let target = target(streams_drive(false));
    let unit = Unit::new(&target, "test").unwrap();
    (target, unit)
}

/// WRITE(10) of pages, in a group.
fn write(unit: &Unit, first: u32, pages: u16, group: u8) -> Result<(), Sense> {
    let mut cdb = [0; 10];
    cdb[0] = 0x2a;
    cdb[2..6].copy_from_slice(&first.to_be_bytes());
    cdb[6] = group;
    cdb[7..9].copy_from_slice(&pages.to_be_bytes());
    let data = pattern(first.into(), usize::from(pages) * PAGE);
    unit.execute(&cdb, &data).map(|_| ())
}

fn read(unit: &Unit, first: u32, pages: u16) -> Result<Vec<u8>, Sense> {
    let mut cdb = [0; 10];
    cdb[0] = 0x28;
    cdb[2..6].copy_from_slice(&first.to_be_bytes());
    cdb[7..9].copy_from_slice(&pages.to_be_bytes());
    unit.execute(&cdb, &[])
}

fn host_pages(target: &Target) -> Vec<u64> {
    let drive = target.drive();
    let streams = drive.stream_counters().iter();
    streams.map(|stream| stream.host_pages).collect()
}

/// STREAM CONTROL or GET STREAM STATUS.
fn streams(unit: &Unit, action: u8, identifier: u16) -> Result<Vec<u8>, Sense> {
    let mut cdb = [0; 16];
    cdb[..2].copy_from_slice(&[0x9e, action]);
    cdb[4..6].copy_from_slice(&identifier.to_be_bytes());
    cdb[13] = 255;
    unit.execute(&cdb, &[])
}

const OPEN: u8 = 1 << 5 | 0x14;
const CLOSE: u8 = 2 << 5 | 0x14;
const STATUS: u8 = 0x16;

fn vital(unit: &Unit, page: u8) -> Vec<u8> {
    unit.execute(&[0x12, 1, page, 0, 255, 0], &[]).unwrap()
}

/// Fields that Linux' `sd` goes by: RSCS; groups enabled by the mode page; the first streams permanent.
#[test]
fn its_streams_are_found_as_linux_looks_for_them() {
    let (_, unit) = unit();
    let limits = vital(&unit, 0xb7);
    assert_eq!((limits[1], limits[5] & 1), (0xb7, 1));
    assert_eq!(limits[6..8], [0, 8]);
    // A page of one block; a unit of 128 pages.
    assert_eq!(limits[8..14], [0, 1, 0, 0, 0, 128]);
    // DBD, page 0Ah, subpage 05h, room for 512 bytes.
    let mode = [0x5a, 8, 0x0a, 5, 0, 0, 0, 2, 0, 0];
    let page = unit.execute(&mode, &[]).unwrap();
    assert_eq!(page.len(), 8 + 16 + 8 * 16);
    assert_eq!(page[..2], (page.len() as u16 - 2).to_be_bytes());
    assert_eq!(page[8..12], [0x4a, 5, 0, 140]);
    assert!(page[24..].chunks(16).all(|group| group[0] == 4));
    let permanent = |identifier| {
        let mut cdb = [0; 16];
        cdb[..2].copy_from_slice(&[0x9e, STATUS]);
        cdb[5] = identifier;
        cdb[13] = 16;
        let status = unit.execute(&cdb, &[]).unwrap();
        status.len() == 16 && status[8] == 0x80 && status[11] == identifier
    };
    let count = (0..8).take_while(|&identifier| permanent(identifier));
    assert_eq!(count.count(), 6);
}

#[test]
fn a_group_number_is_a_stream_and_one_that_is_not_open_says_nothing() {
    let (target, unit) = unit();
    for (group, pages) in [(0, 1), (2, 2), (5, 3), (6, 4), (63, 5)] {
        write(&unit, u32::from(group) * 16, pages, group).unwrap();
    }
    assert_eq!(host_pages(&target)[..8], [10, 0, 2, 0, 0, 3, 0, 0]);
    assert_eq!(target.totals().sums().writes, 5);
    assert_eq!(read(&unit, 32, 2).unwrap(), pattern(32, 2 * PAGE));
    target.drive().verify().unwrap();
}

#[test]
fn streams_are_opened_written_and_closed() {
    let (target, unit) = unit();
    let opened = |answer: Vec<u8>| (answer[0], u16::from_be_bytes([answer[4], answer[5]]));
    assert_eq!(opened(streams(&unit, OPEN, 0).unwrap()), (7, 6));
    assert_eq!(opened(streams(&unit, OPEN, 0).unwrap()), (7, 7));
    assert_eq!(streams(&unit, OPEN, 0), Err(Sense::STREAMS_OPEN));
    let status = streams(&unit, STATUS, 5).unwrap();
    assert_eq!(status[..8], [0, 0, 0, 24, 0, 0, 0, 8]);
    let listed: Vec<(u8, u8)> = status[8..].chunks(8).map(|one| (one[3], one[0])).collect();
    assert_eq!(listed, [(5, 0x80), (6, 0), (7, 0)]);
    // WRITE STREAM(16).
    let mut cdb = [0; 16];
    cdb[0] = 0x9a;
    cdb[11] = 7;
    cdb[13] = 3;
    unit.execute(&cdb, &pattern(0, 3 * PAGE)).unwrap();
    assert_eq!(host_pages(&target)[7], 3);
    streams(&unit, CLOSE, 7).unwrap();
    let closed = unit.execute(&cdb, &pattern(0, 3 * PAGE));
    assert_eq!(closed, Err(Sense::command_byte(10)));
    for identifier in [0, 3, 7, 9] {
        let closed = streams(&unit, CLOSE, identifier);
        assert_eq!(closed, Err(Sense::command_byte(4)), "{identifier}");
    }
    assert_eq!(streams(&unit, STATUS, 9), Err(Sense::command_byte(4)));
    assert_eq!(streams(&unit, STATUS, 8).unwrap()[..4], [0; 4]);
}

#[test]
fn blocks_given_up_read_as_zeroes_and_hold_nothing() {
    let (target, unit) = unit();
    write(&unit, 0, 64, 2).unwrap();
    let mut list = vec![0; 8 + 2 * 16];
    list[3] = 32;
    list[8 + 7] = 1;
    list[8 + 11] = 2;
    list[24 + 7] = 60;
    list[24 + 11] = 4;
    let unmap = [0x42, 0, 0, 0, 0, 0, 0, 0, 40, 0];
    unit.execute(&unmap, &list).unwrap();
    assert_eq!(target.drive().mapped_pages(), 58);
    let mut expected = pattern(0, PAGE);
    expected.resize(3 * PAGE, 0);
    assert_eq!(read(&unit, 0, 3).unwrap(), expected);
    // One wrong descriptor: nothing is given up.
    list[24 + 4] = 1;
    assert_eq!(unit.execute(&unmap, &list), Err(Sense::OUT_OF_RANGE));
    assert_eq!(target.drive().mapped_pages(), 58);
    let short = unit.execute(&[0x42, 0, 0, 0, 0, 0, 0, 0, 7, 0], &list);
    assert_eq!(short, Err(Sense::LIST_LENGTH));
    assert_eq!(unit.execute(&unmap, &list[..39]), Err(Sense::LIST_LENGTH));
}

#[test]
fn one_block_is_written_again_and_again() {
    let (target, unit) = unit();
    // WRITE SAME(16) of 300 blocks.
    let same = |flags: u8| {
        let mut cdb = [0; 16];
        cdb[..2].copy_from_slice(&[0x93, flags]);
        cdb[12..14].copy_from_slice(&300_u16.to_be_bytes());
        cdb
    };
    let block = pattern(9, PAGE);
    unit.execute(&same(0), &block).unwrap();
    assert_eq!(read(&unit, 299, 1).unwrap(), block);
    assert_eq!(read(&unit, 300, 1).unwrap(), vec![0; PAGE]);
    assert_eq!(target.drive().counters().host_pages, 300);
    // Zeroes are written, unless they may be given up (UNMAP; NDOB).
    unit.execute(&same(1), &[]).unwrap();
    assert_eq!(target.drive().mapped_pages(), 300);
    assert_eq!(read(&unit, 0, 1).unwrap(), vec![0; PAGE]);
    unit.execute(&same(1 << 3), &vec![0; PAGE]).unwrap();
    assert_eq!(target.drive().mapped_pages(), 0);
    let none = unit.execute(&[0x41, 0, 0, 0, 0, 0, 0, 0, 0, 0], &block);
    assert_eq!(none, Err(Sense::command_byte(7)));
}

#[test]
fn what_is_too_long_or_lies_beyond_the_end_is_refused() {
    let (target, unit) = unit();
    assert_eq!(write(&unit, 8191, 2, 0), Err(Sense::OUT_OF_RANGE));
    assert_eq!(read(&unit, u32::MAX, 1), Err(Sense::OUT_OF_RANGE));
    // MAXIMUM TRANSFER LENGTH: 256 blocks.
    let limits = vital(&unit, 0xb0);
    assert_eq!(limits[8..12], [0, 0, 1, 0]);
    assert_eq!(write(&unit, 0, 257, 0), Err(Sense::command_byte(7)));
    assert_eq!(read(&unit, 0, 257), Err(Sense::command_byte(7)));
    // Less data than the command names.
    let short = unit.execute(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 2, 0], &[1; PAGE]);
    assert_eq!(short, Err(Sense::command_byte(7)));
    let mut most = [0xff; 16];
    most[..2].copy_from_slice(&[0x88, 0]);
    most[14..].copy_from_slice(&[0, 0]);
    assert_eq!(unit.execute(&most, &[]), Err(Sense::OUT_OF_RANGE));
    assert_eq!(target.drive().counters().host_pages, 0);
}

#[test]
fn it_says_what_it_is() {
    let (_, unit) = unit();
    let standard = unit.execute(&[0x12, 0, 0, 0, 96, 0], &[]).unwrap();
    assert_eq!((standard.len(), standard[4]), (36, 31));
    let pages = vital(&unit, 0);
    assert_eq!(pages[4..], [0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2, 0xb7]);
    for &page in &pages[4..] {
        let data = vital(&unit, page);
        assert_eq!(data[1], page);
        assert_eq!(data[2..4], (data.len() as u16 - 4).to_be_bytes());
    }
    let none = unit.execute(&[0x12, 1, 0xb9, 0, 255, 0], &[]);
    assert_eq!(none, Err(Sense::command_byte(2)));
    let capacity = unit.execute(&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]);
    assert_eq!(capacity.unwrap(), [0, 0, 0x1f, 0xff, 0, 0, 0x10, 0]);
    let mut long = [0; 16];
    long[..2].copy_from_slice(&[0x9e, 0x10]);
    long[13] = 32;
    let capacity = unit.execute(&long, &[]).unwrap();
    assert_eq!(capacity[6..16], [0x1f, 0xff, 0, 0, 0x10, 0, 0, 0, 0xc0, 0]);
    // No more than there is room for.
    long[13] = 12;
    assert_eq!(unit.execute(&long, &[]).unwrap().len(), 12);
    let all = unit.execute(&[0x1a, 0, 0x3f, 0xff, 255, 0], &[]).unwrap();
    assert_eq!(usize::from(all[0]), all.len() - 1);
    assert_eq!((all[2], all[3], all[12]), (1 << 4, 8, 0x08));
    let saved = unit.execute(&[0x1a, 0, 0xc8, 0, 255, 0], &[]);
    assert_eq!(saved, Err(Sense::NOT_SAVED));
    let none = unit.execute(&[0x1a, 0, 0x0a, 1, 255, 0], &[]);
    assert_eq!(none, Err(Sense::command_byte(3)));
}

#[test]
fn commands_it_has_are_told_with_their_bits() {
    let (_, unit) = unit();
    let ask = |options: u8, code: u8, action: u8| {
        unit.execute(
            &[0xa3, 0x0c, options, code, 0, action, 0, 0, 2, 0, 0, 0],
            &[],
        )
    };
    let write = ask(1, 0x9a, 0).unwrap();
    assert_eq!(write[..5], [0, 3, 0, 16, 0x9a]);
    assert_eq!(write[4 + 14], 0x3f);
    assert_eq!(ask(3, 0x9e, 0x16).unwrap()[1], 3);
    assert_eq!(ask(3, 0x9e, 0x12).unwrap(), [0, 1, 0, 0]);
    assert_eq!(ask(1, 0x04, 0).unwrap(), [0, 1, 0, 0]);
    let wrong = Err(Sense::command_field(2, Some(2)));
    assert_eq!(ask(1, 0x9e, 0), wrong);
    assert_eq!(ask(2, 0x2a, 0), wrong);
    assert_eq!(ask(4, 0x2a, 0), wrong);
    let all = ask(0, 0, 0).unwrap();
    assert_eq!(all.len() % 8, 4);
    assert_eq!(all[..4], (all.len() as u32 - 4).to_be_bytes());
}

#[test]
fn a_drive_whose_scheme_places_writes_has_no_streams() {
    let config = config();
    let relocation = RelocationKind::Gc.build(&config);
    let device = Device::watched(config, &*relocation, Default::default()).unwrap();
    let drive = ServedDrive::plain(device, Box::new(relocation))
        .whole(512)
        .unwrap();
    let target = target(drive);
    let unit = Unit::new(&target, "plain").unwrap();
    assert_eq!(vital(&unit, 0xb7)[5..8], [0; 3]);
    assert_eq!(
        streams(&unit, OPEN, 0),
        Err(Sense::command_field(1, Some(4)))
    );
    let grouping = unit.execute(&[0x5a, 8, 0x0a, 5, 0, 0, 0, 2, 0, 0], &[]);
    assert_eq!(grouping, Err(Sense::command_byte(3)));
    // Eight blocks of 512 bytes are one page.
    write(&unit, 0, 1, 3).unwrap();
    assert_eq!(host_pages(&target)[0], 1);
    assert_eq!(vital(&unit, 0xb0)[6..8], [0, 8]);
}

#[test]
fn a_unit_is_one_namespace_without_placement_handles() {
    let fdp = Unit::new(&target(fdp_drive()), "fdp");
    assert_eq!(fdp.unwrap_err(), UnitError::Placement);
    let none = streams_drive(false).without_namespaces();
    let none = Unit::new(&target(none), "none");
    assert_eq!(none.unwrap_err(), UnitError::Namespaces);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever a host sends: an answer or a sense, and a drive that is consistent.
    #[test]
    fn no_bytes_harm_it(
        code in proptest::sample::select(vec![
            0x00, 0x03, 0x12, 0x1a, 0x25, 0x28, 0x2a, 0x35, 0x41, 0x42, 0x5a, 0x88, 0x8a, 0x91, 0x93, 0x9a, 0x9e, 0xa3, 0x7f,
        ]),
        mut cdb in proptest::collection::vec(prop_oneof![3 => Just(0), 1 => any::<u8>()], 0..20),
        out in proptest::collection::vec(any::<u8>(), 0..5000),
    ) {
        let (target, unit) = unit();
        if let Some(first) = cdb.first_mut() {
            *first = code;
        }
        if let Ok(data) = unit.execute(&cdb, &out) {
            prop_assert!(data.len() <= 1 << 20);
        }
        prop_assert_eq!(target.drive().verify(), Ok(()));
    }
}
