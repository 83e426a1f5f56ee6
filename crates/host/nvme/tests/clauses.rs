//! Rules that hosts seldom try: each by its clause (Base 2.1, NVM 1.1, TCP 1.1).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use anabranch_initiator::{
    Completion, Entry, Host, HostOptions, InitiatorError, Kind, Queue, QueueOptions, Tag, Transfer,
    property, set_property,
};
use anabranch_nvme::drive::{ServedDrive, Watch};
use anabranch_ssd::{Config, Device, relocate::RelocationKind};
use harness::{SUBSYSTEM, Served, config, fdp_drive, pattern, status as run};

const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// CC: enabled, entries of 64 and 16 bytes.
const ENABLED: u64 = 1 | 6 << 16 | 4 << 20;

/// Runs a command after changing its capsule, whose first 8 bytes are the PDU's header.
fn run_changed(
    queue: &mut Queue,
    entry: Entry,
    transfer: Transfer,
    change: impl FnOnce(&mut [u8]),
) -> u16 {
    queue.submit(entry, transfer).unwrap();
    change(&mut queue.connection().pending()[8..]);
    queue.flush().unwrap();
    queue.wait().unwrap().status.number()
}

fn twelve(entry: Entry, bits: u32) -> Entry {
    let now = u32::from_le_bytes(entry.0[48..52].try_into().unwrap());
    entry.dword(12, now | bits)
}

/// NVM §5.2.2: PRINFO (dword 12, bits 29:26) is about protection information, and there is none. fio
/// sets PRACT (bit 29) since 3.41.
#[test]
fn protection_information_is_not_looked_for_where_there_is_none() {
    let served = Served::fdp();
    let mut host = served.host(1);
    let data = pattern(1, 4096);
    let queue = host.io().unwrap();
    for bits in [1 << 29, 0xf << 26] {
        let write = twelve(Entry::write(7, 1, Tag::Placement(1)), bits);
        assert_eq!(run(queue, write, Transfer::out(&data[..])), 0);
        let read = queue
            .run(twelve(Entry::read(7, 1), bits), Transfer::In(4096))
            .unwrap();
        assert_eq!((read.status.number(), &read.data), (0, &data));
        let compare = twelve(Entry::blocks(0x05, 7, 1), bits);
        assert_eq!(run(queue, compare, Transfer::out(&data[..])), 0);
        for opcode in [0x08, 0x0c] {
            let entry = twelve(Entry::blocks(opcode, 7, 1), bits);
            assert_eq!(run(queue, entry, Transfer::None), 0, "opcode {opcode:#x}");
        }
    }
}

/// Base §5.1.12.3.1, Discovery Log Page Entry: PORTID 5:4, CNTLID 7:6 (FFFFh: dynamic), ASQSZ 9:8,
/// TRSVCID 63:32, TRADDR 767:512.
fn discovery_entry(served: &Served) -> Vec<u8> {
    let options = HostOptions::numbered(DISCOVERY, 1);
    let mut admin = Host::admin(served.address, &options).unwrap();
    anabranch_initiator::enable(&mut admin).unwrap();
    let log = Entry::log(0x70, 0, 2048, 0);
    let log = admin.succeed("discovery", log, Transfer::In(2048)).unwrap();
    log.data[1024..].to_vec()
}

#[test]
fn discovery_tells_of_dynamic_controllers_at_the_address_that_is_advertised() {
    let entry = discovery_entry(&Served::streams());
    assert_eq!(entry[4..10], [0, 0, 0xff, 0xff, 128, 0]);
    let served = Served::new(fdp_drive(), |options| {
        options.advertised = Some("[2001:db8::7]:8009".parse().unwrap());
        options.queue_entries = 16;
    });
    let entry = discovery_entry(&served);
    // ADRFAM 2: IPv6. ASQSZ is 32 at least.
    assert_eq!((entry[1], entry[8]), (2, 32));
    assert_eq!(&entry[32..37], b"8009 ");
    assert_eq!(&entry[512..525], b"2001:db8::7  ");
}

/// Base §8.1.8: the directive is enabled for a host, not for one of its controllers.
#[test]
fn streams_stay_while_their_host_has_another_controller() {
    let served = Served::streams();
    let mut first = served.host(1);
    first.enable_streams(true).unwrap();
    let second = served.host(1);
    first.write(0, &pattern(1, 4096), Tag::Stream(3)).unwrap();
    second.shut_down().unwrap();
    while served.target.hosts().len() > 1 {
        std::thread::yield_now();
    }
    first.write(1, &pattern(1, 4096), Tag::Stream(3)).unwrap();
    assert_eq!(first.open_streams().unwrap(), [3]);
    drop(first);
    while !served.target.hosts().is_empty() {
        std::thread::yield_now();
    }
    let mut again = served.host(1);
    assert_eq!(again.directives().unwrap().1, 1);
}

/// Base §5.1.1: Abort names a queue (SQID) and a command of it; bit 0 of the answer is 1 if it was not
/// aborted.
#[test]
fn an_abort_of_another_queue_s_command_aborts_no_event_request() {
    let served = Served::streams();
    let mut host = served.host(1);
    let request = host.admin.submit(Entry::new(0x0c, 0), Transfer::None);
    let request = request.unwrap();
    host.admin.flush().unwrap();
    let abort = Entry::new(0x08, 0).dword(10, 1 | u32::from(request) << 16);
    let abort = host.admin.submit(abort, Transfer::None).unwrap();
    host.admin.flush().unwrap();
    let answer = host.admin.wait().unwrap();
    assert_eq!((answer.identifier, answer.result & 1), (abort, 1));
    assert_eq!(host.admin.outstanding(), 1);
}

/// Base §5.1.11, SEL 3: saveable (bit 0), namespace specific (1), changeable (2).
#[test]
fn capabilities_of_features_are_three_bits() {
    let served = Served::fdp();
    let mut host = served.host(1);
    for (feature, bits) in [(0x04, 0b100), (0x06, 0), (0x1d, 0b101), (0x1e, 0b110)] {
        let entry = Entry::feature(false, feature, 1).dword(10, u32::from(feature) | 3 << 8);
        let answer = host.admin.run(entry, Transfer::None).unwrap();
        assert_eq!(answer.status.number(), 0);
        assert_eq!(answer.result, bits, "feature {feature:#x}");
    }
}

/// Base §3.1.4: CAP.CRMS bit 59, CRTO (68h), which version 2.0 asks for; FRMW, byte 260 of Identify.
#[test]
fn what_version_two_asks_of_every_controller_is_there() {
    let served = Served::streams();
    let mut host = served.host(1);
    let mut entry = Entry::fabrics(0x04);
    entry.0[40] = 1;
    let capabilities = host.admin.run(entry, Transfer::None).unwrap().result;
    assert_eq!(capabilities >> 59 & 3, 1);
    let timeouts = property(&mut host.admin, 0x68).unwrap();
    assert_eq!(timeouts, capabilities >> 24 & 0xff);
    let identified = host
        .admin
        .succeed("identify", Entry::identify(0x01, 0), Transfer::In(4096))
        .unwrap();
    // One slot, which is read-only.
    assert_eq!(identified.data[260], 3);
}

/// Base §3.1.4.5: CSS 6:4, MPS 10:7, AMS 13:11, IOSQES 19:16, IOCQES 23:20. CSTS.CFS is bit 1.
#[test]
fn a_configuration_that_cannot_be_is_a_fatal_status() {
    let served = Served::streams();
    for wrong in [1 << 4, 1 << 7, 1 << 11, 1 << 16, 1 << 20] {
        let mut admin = Host::admin(served.address, &HostOptions::numbered(SUBSYSTEM, 1)).unwrap();
        set_property(&mut admin, 0x14, ENABLED ^ wrong).unwrap();
        assert_eq!(property(&mut admin, 0x1c).unwrap(), 2, "CC bit {wrong:#x}");
        let identify = Entry::identify(0x01, 0);
        assert_eq!(run(&mut admin, identify, Transfer::In(4096)), 0x0c);
        // Disabled and enabled as it can be, it is ready.
        set_property(&mut admin, 0x14, 0).unwrap();
        set_property(&mut admin, 0x14, ENABLED).unwrap();
        assert_eq!(property(&mut admin, 0x1c).unwrap(), 1);
    }
}

/// Base §3.1.4.1, §3.1.4.5: command sets to choose from (CAP.CSS bit 6), so that a host may ask for all of them
/// (CC.CSS 110b), as Linux and TrueNAS' client do; then each namespace tells its own (Identify 03h), and
/// the profile (feature 19h) is the one combination that is listed (1Ch).
#[test]
fn a_host_may_ask_for_all_command_sets() {
    let served = Served::streams();
    let mut admin = Host::admin(served.address, &HostOptions::numbered(SUBSYSTEM, 1)).unwrap();
    let mut entry = Entry::fabrics(0x04);
    entry.0[40] = 1;
    let capabilities = admin.run(entry, Transfer::None).unwrap().result;
    assert_eq!(capabilities >> 37 & 0xff, 1 | 1 << 6);
    set_property(&mut admin, 0x14, 0).unwrap();
    set_property(&mut admin, 0x14, ENABLED | 6 << 4).unwrap();
    assert_eq!(property(&mut admin, 0x1c).unwrap(), 1);
    let descriptors = Entry::identify(0x03, 1);
    let descriptors = admin.run(descriptors, Transfer::In(4096)).unwrap().data;
    assert_eq!(descriptors[20..25], [4, 1, 0, 0, 0]);
    let combinations = Entry::identify(0x1c, 0);
    let combinations = admin.run(combinations, Transfer::In(4096)).unwrap().data;
    assert_eq!(combinations[..2], [1, 0]);
    let profile = |set, value| Entry::feature(set, 0x19, 0).dword(11, value);
    let read = admin.run(profile(false, 0), Transfer::None).unwrap();
    assert_eq!((read.status.number(), read.result), (0, 0));
    assert_eq!(run(&mut admin, profile(true, 0), Transfer::None), 0);
    assert_eq!(run(&mut admin, profile(true, 1), Transfer::None), 0x12b);
}

/// Base §3.6.2: after the shutdown is complete (CSTS.SHST 10b) there is no I/O but after a reset.
#[test]
fn nothing_is_written_after_a_shutdown() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.write(0, &[1; 4096], Tag::None).unwrap();
    set_property(&mut host.admin, 0x14, ENABLED | 1 << 14).unwrap();
    assert_eq!(property(&mut host.admin, 0x1c).unwrap(), 1 | 2 << 2);
    let write = Entry::write(0, 1, Tag::None);
    let queue = host.io().unwrap();
    assert_eq!(run(queue, write, Transfer::out(vec![2; 4096])), 0x0c);
    assert_eq!(run(queue, Entry::flush(), Transfer::None), 0x0c);
}

/// Base §4.1.1: FUSE (bits 1:0 of the flags) where nothing is fused, PSDT (7:6) that is not 01b.
#[test]
fn every_command_s_flags_are_looked_at() {
    let served = Served::streams();
    let mut host = served.host(1);
    let range = || Transfer::out(vec![0; 16]);
    let deallocate = Entry::new(0x09, 1).dword(11, 1 << 2);
    let queue = host.io().unwrap();
    for wrong in [0x41, 0x42, 0x00, 0x80] {
        for (entry, transfer) in [(Entry::flush(), Transfer::None), (deallocate, range())] {
            let status = run_changed(queue, entry, transfer, |capsule| capsule[1] = wrong);
            assert_eq!(status, 0x02, "flags {wrong:#x}");
        }
    }
    let status = run_changed(
        &mut host.admin,
        Entry::identify(0x01, 0),
        Transfer::In(4096),
        |capsule| capsule[1] = 0,
    );
    assert_eq!(status, 0x02);
}

/// TCP §3.3.2: data in a capsule go to the controller, and are no more than IOCCSZ says.
#[test]
fn capsules_carry_what_they_may() {
    let served = Served::streams();
    let mut host = served.host(1);
    let most = host.controller.in_capsule_bytes;
    let queue = host.io().unwrap();
    let status = run_changed(queue, Entry::read(0, 1), Transfer::In(4096), |capsule| {
        capsule[39] = 0x01;
    });
    assert_eq!(status, 0x11, "a read in its capsule");
    queue.in_capsule = usize::MAX;
    let blocks = |bytes: usize| Entry::write(0, (bytes / 4096) as u32, Tag::None);
    let data = |bytes: usize| Transfer::out(vec![3; bytes]);
    assert_eq!(run(queue, blocks(most), data(most)), 0);
    let more = most + 4096;
    assert_eq!(run(queue, blocks(more), data(more)), 0x16);
}

fn queue_of(served: &Served, subsystem: &str, identifier: u16, host: &Host, id: u8) -> QueueResult {
    let options = HostOptions::numbered(subsystem, 1);
    Queue::open(
        served.address,
        &QueueOptions {
            identifier,
            entries: 32,
            controller: host.admin.controller,
            subsystem: subsystem.to_owned(),
            host: options.name,
            host_identifier: [id; 16],
            keep_alive_ms: 0,
            connection: options.connection,
        },
    )
}

type QueueResult = anabranch_initiator::Result<Queue>;

/// Base §3.1.3.3: discovery controllers have no I/O queues. §6.3: an I/O queue's host is known by its name;
/// Linux' target does not look at its identifier.
#[test]
fn an_io_queue_belongs_to_a_controller_of_the_drive_and_a_host_s_name() {
    let served = Served::streams();
    let host = served.host(1);
    match queue_of(&served, DISCOVERY, 2, &host, 1) {
        Err(InitiatorError::Command { status, .. }) => assert_eq!(status.number(), 0x182),
        other => panic!("a queue of discovery: {other:?}"),
    }
    assert!(queue_of(&served, SUBSYSTEM, 2, &host, 0x5a).is_ok());
}

#[test]
fn an_opcode_that_is_none_is_called_so_however_much_data_it_brings() {
    let served = Served::streams();
    let mut host = served.host(1);
    let data = || Transfer::out(vec![0; 65_536]);
    assert_eq!(run(&mut host.admin, Entry::new(0xc5, 0), data()), 0x01);
    assert_eq!(run(host.io().unwrap(), Entry::new(0x85, 1), data()), 0x01);
    assert_eq!(run(&mut host.admin, Entry::new(0x09, 0), data()), 0x02);
}

/// Base §6.3: without flow control SQHD is FFFFh in Connect's answer, and reserved in all others.
#[test]
fn the_head_of_a_queue_without_flow_control_is_told_once() {
    let served = Served::streams();
    let mut host = served.host(1);
    let mut connection =
        anabranch_initiator::Connection::open(served.address, &Default::default()).unwrap();
    let mut entry = Entry::fabrics(0x01);
    (entry.0[1], entry.0[39]) = (0x40, 0x01);
    entry.0[32..36].copy_from_slice(&1024_u32.to_le_bytes());
    // QID 2, 32 entries, CATTR bit 2.
    (entry.0[42], entry.0[44], entry.0[46]) = (2, 31, 1 << 2);
    let mut data = vec![0; 1024];
    data[16..18].copy_from_slice(&host.admin.controller.to_le_bytes());
    data[256..256 + SUBSYSTEM.len()].copy_from_slice(SUBSYSTEM.as_bytes());
    let name = HostOptions::numbered(SUBSYSTEM, 1).name;
    data[512..512 + name.len()].copy_from_slice(name.as_bytes());
    connection.queue_pdu(Kind::Command, 0, &entry.0, &data);
    let mut flush = Entry::flush();
    flush.0[1] = 0x40;
    connection.queue_pdu(Kind::Command, 0, &flush.0, &[]);
    connection.flush().unwrap();
    for head in [0xffff, 0] {
        let pdu = connection.receive().unwrap();
        let completion = Completion::of(&pdu.header[8..24], Vec::new());
        assert!(completion.status.is_success());
        assert_eq!(completion.head, head);
    }
    // With it, the head goes on: the queue's second command but one.
    assert_eq!(
        host.io()
            .unwrap()
            .run(Entry::flush(), Transfer::None)
            .unwrap()
            .head,
        2
    );
}

/// Sends a write of one block whose data are asked for; its number, and the tag under which they are.
fn write_without_data(queue: &mut Queue) -> (u16, u16) {
    queue.in_capsule = 0;
    let entry = Entry::write(0, 1, Tag::None);
    let command = queue.submit(entry, Transfer::out(vec![9; 4096])).unwrap();
    queue.flush().unwrap();
    let asked = queue.connection().receive().unwrap();
    (command, asked.number(10, 2) as u16)
}

/// Base §5.1.10: what is under way when the namespace is formatted is aborted: Format in Progress.
#[test]
fn a_write_whose_data_come_after_a_format_is_not_there() {
    let served = Served::streams();
    let mut host = served.host(1);
    let mut other = served.host(2);
    let queue = host.io().unwrap();
    let (command, tag) = write_without_data(queue);
    // LBA format 1: blocks of 4096 bytes.
    let format = Entry::new(0x80, 1).dword(10, 1);
    assert_eq!(run(&mut other.admin, format, Transfer::None), 0);
    queue.queue_data(command, tag, 0, &[9; 4096], true);
    queue.flush().unwrap();
    assert_eq!(queue.wait().unwrap().status.number(), 0x84);
    assert_eq!(host.read(0, 1).unwrap(), vec![0; 4096]);
    assert_eq!(served.target.drive().mapped_pages(), 0);
}

/// A namespace that a controller no longer has takes no more of its data.
#[test]
fn a_write_whose_data_come_after_a_detach_is_not_there() {
    let served = Served::streams();
    let mut host = served.host(1);
    let mut other = served.host(2);
    let own = host.controller.identifier;
    let queue = host.io().unwrap();
    let (command, tag) = write_without_data(queue);
    let detached = other.attach_namespace(1, false, &[own]).unwrap();
    assert_eq!(detached.status.number(), 0);
    queue.queue_data(command, tag, 0, &[9; 4096], true);
    queue.flush().unwrap();
    assert_eq!(queue.wait().unwrap().status.number(), 0x02);
    assert_eq!(other.read(0, 1).unwrap(), vec![0; 4096]);
}

/// A drive whose units fail soon.
fn failing() -> ServedDrive {
    let mut config = Config {
        physical_units: 64 + 32,
        ..config()
    };
    config.faults.pages_per_program_failure = 700;
    let relocation = RelocationKind::Gc.build(&config);
    let device = Device::watched(config, &*relocation, Watch::default()).unwrap();
    ServedDrive::streams(device, Box::new(relocation), false)
        .whole(4096)
        .unwrap()
}

/// Base §5.1.2: SMART / Health events (type 1, log page 02h): 02h spare below its threshold, 00h
/// reliability, as of media that have become read-only. Feature 0Bh, bits 0 and 3, asks for them.
#[test]
fn a_drive_that_fails_says_so_before_and_when_it_takes_no_more_writes() {
    let served = Served::new(failing(), |_| {});
    let mut host = served.host(1);
    let wanted = Entry::feature(true, 0x0b, 0b1001);
    assert_eq!(run(&mut host.admin, wanted, Transfer::None), 0);
    let got = host
        .admin
        .run(Entry::feature(false, 0x0b, 0), Transfer::None);
    assert_eq!(got.unwrap().result, 0b1001);
    let health = |host: &mut Host| host.log(0x02, 512, 0).unwrap();
    // Critical warning, byte 0; available spare, byte 3; its threshold, byte 4.
    let new = health(&mut host);
    assert_eq!((new[0], new[3], new[4]), (0, 100, 10));
    for _ in 0..2 {
        host.admin
            .submit(Entry::new(0x0c, 0), Transfer::None)
            .unwrap();
    }
    host.admin.flush().unwrap();
    let mut spares = vec![100];
    let written = (0_u64..100_000).find(|step| {
        let data = pattern(*step, 16 * 4096);
        let first = step * 16 % 8192;
        let refused = host.write(first, &data, Tag::None).is_err();
        if step % 64 == 0 {
            spares.push(served_spare(&served));
        }
        refused
    });
    assert!(written.is_some(), "the drive does not fail");
    assert!(
        spares.is_sorted_by(|before, after| before >= after),
        "{spares:?}"
    );
    assert!(spares.iter().any(|spare| (1..100).contains(spare)));
    let mut events = [
        host.admin.wait().unwrap().result,
        host.admin.wait().unwrap().result,
    ];
    events.sort_unstable();
    assert_eq!(events, [0x02_00_01, 0x02_02_01]);
    let failed = health(&mut host);
    assert_eq!((failed[0], failed[3]), (0b1001, 0));
}

/// The spare another host sees.
fn served_spare(served: &Served) -> u8 {
    let mut host = served.host(9);
    host.log(0x02, 512, 0).unwrap()[3]
}

/// Base §5.1.25.1.4: TMPTH 15:0, TMPSEL 19:16, THSEL 21:20. What is got is the threshold alone.
#[test]
fn temperature_thresholds_are_kept_and_warn() {
    let served = Served::streams();
    let mut host = served.host(1);
    let get = |host: &mut Host, selected: u32| {
        let entry = Entry::feature(false, 0x04, selected);
        let answer = host.admin.run(entry, Transfer::None).unwrap();
        (answer.status.number(), answer.result)
    };
    assert_eq!(get(&mut host, 0), (0, 343));
    assert_eq!(get(&mut host, 1 << 20), (0, 0));
    for reserved in [1 << 16, 2 << 20] {
        assert_eq!(get(&mut host, reserved).0, 0x02);
    }
    // Wanted warnings: of the temperature, bit 1. It is 300 K.
    let wanted = Entry::feature(true, 0x0b, 0b10);
    assert_eq!(run(&mut host.admin, wanted, Transfer::None), 0);
    let request = host.admin.submit(Entry::new(0x0c, 0), Transfer::None);
    let request = request.unwrap();
    let set = Entry::feature(true, 0x04, 310 | 1 << 20);
    let set = host.admin.submit(set, Transfer::None).unwrap();
    host.admin.flush().unwrap();
    let mut answers = [host.admin.wait().unwrap(), host.admin.wait().unwrap()];
    answers.sort_by_key(|answer| answer.identifier != set);
    assert_eq!(answers[1].identifier, request);
    // Type 1, information 01h, log page 02h.
    assert_eq!(answers[1].result, 0x02_01_01);
    assert_eq!(get(&mut host, 1 << 20), (0, 310));
    assert_eq!(host.log(0x02, 512, 0).unwrap()[0], 0b10);
}

/// Base §5.1.12.1.28, NNSS: no more namespaces than the controller has (NN, bytes 519:516 of Identify).
#[test]
fn the_configuration_promises_no_more_namespaces_than_there_are() {
    let served = Served::fdp();
    let mut host = served.host(1);
    let identified = host.page(0x01, 0).unwrap();
    let most = u32::from_le_bytes(identified[516..520].try_into().unwrap());
    assert_eq!(most, 128);
    assert!(host.fdp_configuration().unwrap().namespaces <= most);
}

/// Base §3.7.1.2: a host writes "NVMe" to NSSR (20h), and every controller of the subsystem ends. CAP.NSSRS
/// (bit 36) says that there is one, CSTS.NSSRO (bit 4) that one has been; the host clears it by writing 1.
#[test]
fn a_reset_of_the_subsystem_ends_every_controller_and_loses_nothing() {
    const NSSR: u32 = 0x20;
    const CSTS: u32 = 0x1c;
    let served = Served::streams();
    let (mut one, mut other) = (served.host(1), served.host(2));
    let mut entry = Entry::fabrics(0x04);
    entry.0[40] = 1;
    let capabilities = one.admin.run(entry, Transfer::None).unwrap().result;
    assert_eq!(capabilities >> 36 & 1, 1);
    let data = pattern(1, 4096);
    other.write(7, &data, Tag::None).unwrap();
    other.enable_streams(true).unwrap();
    other.write(8, &data, Tag::Stream(3)).unwrap();
    // Any other value is no reset.
    set_property(&mut one.admin, NSSR, 0x4e56_4d64).unwrap();
    assert_eq!(property(&mut one.admin, CSTS).unwrap(), 1);
    assert_eq!(served.target.hosts().len(), 2);
    set_property(&mut one.admin, NSSR, 0x4e56_4d65).unwrap();
    while !served.target.hosts().is_empty() {
        std::thread::yield_now();
    }
    assert!(other.read(7, 1).is_err());
    let mut again = served.host(2);
    assert_eq!(property(&mut again.admin, CSTS).unwrap(), 1 | 1 << 4);
    set_property(&mut again.admin, CSTS, 1 << 4).unwrap();
    assert_eq!(property(&mut again.admin, CSTS).unwrap(), 1);
    assert_eq!(
        again.directives().unwrap().1,
        1,
        "streams are still enabled"
    );
    assert_eq!(again.read(7, 1).unwrap(), data);
}

/// OCP Datacenter NVMe SSD Specification 2.0, log page C0h: bytes of the media written (15:0) and read
/// (31:16), bad blocks (37:32) and what is left of the spare (39:38), erases (91:88, 95:92), version (103),
/// free blocks (120), NUSE (159:152), endurance (191:176), page version (495:494), GUID (511:496).
#[test]
fn the_extended_health_log_tells_what_the_media_took() {
    let served = Served::new(failing(), |_| {});
    let mut host = served.host(1);
    let field = |page: &[u8], at: usize, length: usize| {
        let bytes = page[at..at + length].iter().rev();
        bytes.fold(0_u128, |sum, &byte| sum << 8 | u128::from(byte))
    };
    let new = host.log(0xc0, 512, 0).unwrap();
    assert_eq!(
        (field(&new, 0, 16), field(&new, 16, 16), field(&new, 32, 6)),
        (0, 0, 0)
    );
    assert_eq!(
        (field(&new, 38, 2), field(&new, 46, 2), new[120]),
        (100, 100, 100)
    );
    assert_eq!((new[103], field(&new, 494, 2)), (2, 3));
    assert_eq!(
        new[496..],
        [
            0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14,
            0xd5, 0xaf
        ]
    );
    // Until units have failed, and garbage was collected.
    for step in 0..100_000_u64 {
        let first = step.wrapping_mul(2_654_435_761) % (8192 - 16);
        let data = pattern(step, 16 * 4096);
        host.write(first, &data, Tag::None).unwrap();
        let counters = *served.target.drive().counters();
        if counters.copied_pages > 100 && counters.retired_units > 0 {
            break;
        }
    }
    host.read(0, 8).unwrap();
    let log = host.log(0xc0, 512, 0).unwrap();
    let drive = served.target.drive();
    let counters = drive.counters();
    assert!(counters.copied_pages > 100 && counters.retired_units > 0);
    assert_eq!(
        field(&log, 0, 16),
        u128::from(counters.media_pages()) * 4096
    );
    assert_eq!(
        field(&log, 16, 16),
        u128::from(counters.copied_pages + 8) * 4096
    );
    assert_eq!(field(&log, 32, 6), u128::from(counters.retired_units));
    assert!((1..100).contains(&field(&log, 38, 2)));
    let (most, least) = drive.erases();
    assert_eq!(
        (field(&log, 88, 4), field(&log, 92, 4)),
        (most.into(), least.into())
    );
    assert!(most > 0 && log[120] < 100);
    assert_eq!(field(&log, 152, 8), drive.mapped_pages().into());
    assert_eq!(field(&log, 112, 4), 0);
}
