//! Commands: what they do, and what they are refused with.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use anabranch_initiator::{Entry, Host, HostOptions, InitiatorError, Tag, Transfer};
use harness::{SUBSYSTEM, Served, admin, io, pattern};

#[test]
fn zeroes_deallocation_and_comparison_do_what_they_say() {
    let served = Served::streams();
    let mut host = served.host(1);
    let data = pattern(1, 16 * 4096);
    host.write(100, &data, Tag::None).unwrap();

    // Write Zeroes (08h) of 4 blocks, Deallocate of 4, one range of none.
    assert_eq!(
        io(&mut host, Entry::blocks(0x08, 102, 4), Transfer::None),
        0
    );
    host.deallocate(&[(108, 4), (0, 0)]).unwrap();
    let read = host.read(100, 16).unwrap();
    for (block, bytes) in read.chunks(4096).enumerate() {
        let zeroed = (2..6).contains(&block) || (8..12).contains(&block);
        if zeroed {
            assert!(bytes.iter().all(|&byte| byte == 0), "block {block}")
        } else {
            assert_eq!(
                bytes,
                &data[block * 4096..(block + 1) * 4096],
                "block {block}"
            )
        }
    }
    // Compare (05h): the same, and another: Compare Failure, 285h (NVM §3.2.1).
    assert_eq!(
        io(
            &mut host,
            Entry::blocks(0x05, 100, 16),
            Transfer::out(&read[..])
        ),
        0
    );
    let mut other = read.clone();
    other[15 * 4096 + 7] ^= 1;
    assert_eq!(
        io(
            &mut host,
            Entry::blocks(0x05, 100, 16),
            Transfer::out(other)
        ),
        0x285
    );
    assert_eq!(
        io(
            &mut host,
            Entry::blocks(0x05, 100, 1),
            Transfer::out(&read[..4096])
        ),
        0
    );
    // Verify (0Ch), Flush, and a forced write.
    assert_eq!(
        io(&mut host, Entry::blocks(0x0c, 100, 16), Transfer::None),
        0
    );
    host.flush().unwrap();
    assert_eq!(
        io(
            &mut host,
            Entry::write(0, 1, Tag::None).forced(),
            Transfer::out(&data[..4096])
        ),
        0
    );
    served.target.drive().verify().unwrap();
}

#[test]
fn a_discarded_page_is_the_device_s_no_more() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.write(0, &pattern(1, 64 * 4096), Tag::None).unwrap();
    assert_eq!(served.target.drive().mapped_pages(), 64);
    host.deallocate(&[(0, 16), (32, 16)]).unwrap();
    assert_eq!(served.target.drive().mapped_pages(), 32);
    assert_eq!(served.target.drive().counters().host_pages, 64);
}

/// Generic status (Base §4.2.3.1): invalid opcode 1h, invalid field 2h, invalid namespace Bh, data SGL
/// length Fh, SGL descriptor type 11h, LBA out of range 80h. Command specific: invalid log page 109h.
#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let served = Served::streams();
    let mut host = served.host(1);
    let end = host.namespace.blocks;
    let mut elsewhere = Entry::read(0, 1);
    elsewhere.0[4..8].copy_from_slice(&7_u32.to_le_bytes());
    let page = || Transfer::out(vec![1; 4096]);
    let (none, read) = (|| Transfer::None, Transfer::In);
    let directive = Entry::write(0, 1, Tag::None).dword(12, 7 << 20);
    #[rustfmt::skip]
    let cases = [
        ("an unknown opcode", Entry::new(0x7e, 1), none(), 0x01),
        ("another namespace", elsewhere, read(4096), 0x02),
        ("a write beyond the end", Entry::write(end, 1, Tag::None), page(), 0x80),
        ("a read that goes beyond the end", Entry::read(end - 1, 2), read(8192), 0x80),
        ("a read that goes around the number's end", Entry::read(u64::MAX, 1), read(4096), 0x80),
        ("fewer data than blocks", Entry::write(0, 2, Tag::None), page(), 0x0f),
        ("an unknown directive", directive, page(), 0x02),
        ("zeroes beyond the end", Entry::blocks(0x08, end - 1, 2), none(), 0x80),
    ];
    for (what, entry, transfer, status) in cases {
        assert_eq!(io(&mut host, entry, transfer), status, "{what}");
    }
    #[rustfmt::skip]
    let cases = [
        ("an unknown admin opcode", Entry::new(0xc7, 0), none(), 0x01),
        ("an unknown structure", Entry::identify(0x7f, 0), read(4096), 0x02),
        ("the structure of a namespace that is none", Entry::identify(0x00, 4711), read(4096), 0x0b),
        ("an unknown log", Entry::log(0xc5, u32::MAX, 512, 0), read(512), 0x109),
        ("an unknown feature", Entry::feature(false, 0x7d, 0), none(), 0x02),
    ];
    for (what, entry, transfer, status) in cases {
        assert_eq!(admin(&mut host, entry, transfer), status, "{what}");
    }
    // All of that harmed nobody.
    host.write(0, &[3; 4096], Tag::None).unwrap();
    assert_eq!(served.target.drive().counters().host_pages, 1);
}

#[test]
fn the_logs_that_are_said_to_be_there_are_there() {
    for (served, own) in [(Served::streams(), 0x05), (Served::fdp(), 0x20)] {
        logs_are_there(&served, own);
    }
}

/// All that the drive says it has, `own` among them.
fn logs_are_there(served: &Served, own: u8) {
    let mut host = served.host(1);
    // Supported Log Pages (00h): four bytes each, bit 0 says so.
    let supported = host.log(0x00, 1024, 0).unwrap();
    let pages: Vec<u8> = (0..=255_u8)
        .filter(|&page| supported[4 * usize::from(page)] & 1 == 1)
        .collect();
    for page in [0x00, 0x01, 0x02, own] {
        assert!(
            pages.contains(&page),
            "log {page:#x} is not there: {pages:x?}"
        );
    }
    for page in pages {
        let specific = if matches!(page, 0x09 | 0x20..=0x23) {
            host.namespace.endurance_group
        } else {
            0
        };
        let log = host.log(page, 512, specific);
        assert!(log.is_ok(), "log {page:#x}: {:?}", log.err());
    }
}

#[test]
fn smart_counts_what_the_host_did() {
    let served = Served::streams();
    let mut host = served.host(1);
    let before = host.smart().unwrap();
    // Two thousand units of 512 bytes each way, and one more.
    for step in 0..250 {
        host.write(step, &[1; 4096], Tag::None).unwrap();
        host.read(step, 1).unwrap();
    }
    host.write(0, &[1; 4096], Tag::None).unwrap();
    let after = host.smart().unwrap();
    assert_eq!(
        (after.writes - before.writes, after.reads - before.reads),
        (251, 250)
    );
    // Thousands, rounded up (Base §5.1.12.1.3).
    assert_eq!(
        (
            after.units_written - before.units_written,
            after.units_read - before.units_read
        ),
        (3, 2)
    );
}

#[test]
fn errors_are_kept_newest_first() {
    let served = Served::streams();
    let mut host = served.host(1);
    let end = host.namespace.blocks;
    assert_eq!(
        io(&mut host, Entry::read(end + 5, 1), Transfer::In(4096)),
        0x80
    );
    // Error Information (01h): error count 7:0, status 13:12 with the phase bit, block 23:16.
    let log = host.log(0x01, 64, 0).unwrap();
    let number = |at: usize, length: usize| {
        log[at..at + length]
            .iter()
            .rev()
            .fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte))
    };
    assert!(number(0, 8) > 0);
    assert_eq!(number(12, 2) >> 1 & 0x7ff, 0x80);
    assert_eq!(number(16, 8), end + 5);
}

#[test]
fn blocks_of_512_bytes_are_written_one_by_one() {
    let served = Served::with_blocks_of(512);
    let mut host = served.host(1);
    assert_eq!(host.namespace.block_bytes, 512);
    let data = pattern(9, 4096);
    host.write(8, &data, Tag::None).unwrap();
    host.write(10, &[0xee; 512], Tag::None).unwrap();
    let mut expected = data;
    expected[1024..1536].fill(0xee);
    assert_eq!(host.read(8, 8).unwrap(), expected);
    // A write of 512 bytes costs the device a page; two deallocated blocks do not discard one.
    assert_eq!(served.target.drive().counters().host_pages, 2);
    host.deallocate(&[(8, 2)]).unwrap();
    expected[..1024].fill(0);
    assert_eq!(host.read(8, 8).unwrap(), expected);
    assert_eq!(served.target.drive().mapped_pages(), 1);
    host.deallocate(&[(8, 8)]).unwrap();
    assert_eq!(served.target.drive().mapped_pages(), 0);
}

#[test]
fn a_format_erases_and_changes_the_block_size() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.write(0, &pattern(1, 8192), Tag::None).unwrap();
    // Format NVM (80h, Base §5.1.10): the format's index in dword 10 bits 3:0. One with 512-byte blocks is found
    // in Identify Namespace: LBADS of each format, bits 23:16 of four bytes from 128 on.
    let identified = host
        .admin
        .run(Entry::identify(0x00, 1), Transfer::In(4096))
        .unwrap()
        .data;
    let formats = usize::from(identified[25]) + 1;
    let index = (0..formats)
        .find(|format| identified[128 + 4 * format + 2] == 9)
        .unwrap();
    assert_eq!(
        admin(
            &mut host,
            Entry::new(0x80, 1).dword(10, index as u32),
            Transfer::None
        ),
        0
    );
    drop(host);
    let mut host = served.host(2);
    assert_eq!(host.namespace.block_bytes, 512);
    assert_eq!(host.read(0, 16).unwrap(), vec![0; 8192]);
    assert_eq!(served.target.drive().mapped_pages(), 0);
    assert_eq!(
        admin(&mut host, Entry::new(0x80, 1).dword(10, 15), Transfer::None),
        0x10a
    );
}

#[test]
fn properties_tell_what_the_controller_is() {
    let served = Served::streams();
    let mut admin = Host::admin(served.address, &HostOptions::numbered(SUBSYSTEM, 1)).unwrap();
    let get = |offset: u32, eight: u8| {
        let mut entry = Entry::fabrics(0x04);
        entry.0[40] = eight;
        entry.0[44..48].copy_from_slice(&offset.to_le_bytes());
        entry
    };
    // CAP (0h): MQES 15:0, CQR bit 16, CSS bits 44:37; VS (8h); CSTS (1Ch) before it is enabled.
    let capabilities = admin.run(get(0x00, 1), Transfer::None).unwrap();
    assert!(capabilities.status.is_success() && capabilities.result & 0xffff >= 31);
    assert_eq!(capabilities.result >> 16 & 1, 1);
    let version = admin.run(get(0x08, 0), Transfer::None).unwrap().result;
    assert!(version >> 16 == 2, "version {version:#x}");
    assert_eq!(admin.run(get(0x1c, 0), Transfer::None).unwrap().result, 0);
    // What is no property is an invalid field, and nothing but Fabrics commands run before it is enabled.
    assert_eq!(
        admin
            .run(get(0x1000, 0), Transfer::None)
            .unwrap()
            .status
            .number(),
        0x02
    );
    let early = admin
        .run(Entry::identify(0x01, 0), Transfer::In(4096))
        .unwrap();
    assert_eq!(early.status.number(), 0x0c);
}

#[test]
fn a_discovery_controller_tells_of_the_subsystem() {
    let served = Served::streams();
    let options = HostOptions::numbered("nqn.2014-08.org.nvmexpress.discovery", 1);
    let mut admin = Host::admin(served.address, &options).unwrap();
    anabranch_initiator::enable(&mut admin).unwrap();
    // Discovery (70h; Base §5.1.12.3.1): records 15:8; each entry 1024 bytes from 1024 on: transport type 0
    // (3: TCP), subsystem type 2 (2: NVM), service 63:32, name 511:256, address 767:512.
    let log = admin
        .succeed(
            "discovery",
            Entry::log(0x70, 0, 2048, 0),
            Transfer::In(2048),
        )
        .unwrap()
        .data;
    assert_eq!(log[8..16], 1_u64.to_le_bytes());
    let entry = &log[1024..];
    assert_eq!((entry[0], entry[2]), (3, 2));
    let text = |at: usize, length: usize| {
        let field = String::from_utf8_lossy(&entry[at..at + length]).into_owned();
        field.trim_end_matches(['\0', ' ']).to_owned()
    };
    assert_eq!(text(32, 32), served.address.port().to_string());
    assert_eq!(text(256, 256), SUBSYSTEM);
    assert_eq!(text(512, 256), "127.0.0.1");
    // A discovery controller has no I/O queues and no namespaces.
    let refused = admin
        .run(Entry::identify(0x00, 1), Transfer::In(4096))
        .unwrap();
    assert!(!refused.status.is_success());
}

#[test]
fn events_wait_until_there_is_one_and_can_be_aborted() {
    let served = Served::streams();
    let mut host = served.host(1);
    // Asynchronous Event Request, 0Ch; nothing answers it.
    let request = host
        .admin
        .submit(Entry::new(0x0c, 0), Transfer::None)
        .unwrap();
    host.admin.flush().unwrap();
    // Abort (08h): the queue in dword 10 bits 15:0, the command in 31:16; bit 0 of the answer is 0 if it was.
    let abort = Entry::new(0x08, 0).dword(10, u32::from(request) << 16);
    let abort = host.admin.submit(abort, Transfer::None).unwrap();
    host.admin.flush().unwrap();
    let mut answers = [host.admin.wait().unwrap(), host.admin.wait().unwrap()];
    answers.sort_by_key(|answer| answer.identifier != abort);
    assert!(answers[0].status.is_success() && answers[0].result & 1 == 0);
    // Command Abort Requested, 07h.
    assert_eq!(
        (answers[1].identifier, answers[1].status.number()),
        (request, 0x07)
    );
    // More requests than the controller takes: Asynchronous Event Request Limit Exceeded, 105h.
    for _ in 0..20 {
        host.admin
            .submit(Entry::new(0x0c, 0), Transfer::None)
            .unwrap();
    }
    host.admin.flush().unwrap();
    assert_eq!(host.admin.wait().unwrap().status.number(), 0x105);
}

#[test]
fn fused_commands_and_pages_are_refused_where_the_transport_has_none() {
    let served = Served::streams();
    let mut host = served.host(1);
    // FUSE, bits 1:0 of the flags: the compare of a compare-and-write that is not supported.
    let mut fused = Entry::blocks(0x05, 0, 1);
    fused.0[1] |= 1;
    let status = io(&mut host, fused, Transfer::out(vec![0; 4096]));
    assert!(status != 0, "fused");
    let refused = host.write(0, &vec![0; (1 << 20) + 4096], Tag::None);
    // Larger than MDTS: Invalid Field (Base §5.1.13.2.1).
    assert!(
        matches!(refused, Err(InitiatorError::Command { status, .. }) if status.number() == 0x02),
        "{refused:?}"
    );
}

/// A dynamic controller's identifier (§3.1.1) is free again with its controller: a host that resets its own by
/// connecting anew has the same one, as nvme-cli's tests expect.
#[test]
fn a_host_that_comes_again_has_its_controller_s_number() {
    let served = Served::streams();
    let stays = served.host(1);
    let first = served.host(2).controller.identifier;
    assert_ne!(first, stays.controller.identifier);
    for _ in 0..100 {
        let again = served.host(2).controller.identifier;
        if again == first {
            return;
        }
        // The former connection's end was not noticed yet.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("never the number {first} again");
}
