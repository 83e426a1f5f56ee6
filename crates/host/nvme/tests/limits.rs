//! Limits of one host: memory by its numbers, time by its commands, places by being there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use anabranch_initiator::{
    Completion, Entry, Host, HostOptions, InitiatorError, Kind, Queue, QueueOptions, Tag, Transfer,
};
use anabranch_nvme::{Options, Server, Target, Totals, store::Store};
use harness::{SUBSYSTEM, Served, pattern};
use socket2::{Domain, Socket, Type};

const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// Bound of one queue in `docs/nvme.md`: received bytes, answers, data asked for, and long commands,
/// with a record of each of its 128 entries.
const PROMISED: u64 = (512 << 10) + (2 << 20) + (256 << 10) + (516 << 10) + (128 << 10);

/// An admin queue of so many entries.
fn admin(served: &Served, entries: u16) -> anabranch_initiator::Result<Queue> {
    let options = HostOptions::numbered(SUBSYSTEM, 1);
    Queue::open(
        served.address,
        &QueueOptions {
            identifier: 0,
            entries,
            controller: 0xffff,
            subsystem: options.subsystem,
            host: options.name,
            host_identifier: options.identifier,
            keep_alive_ms: 0,
            connection: options.connection,
        },
    )
}

/// Waits until the target knows that its connections are gone.
fn until_all_is_given_back(served: &Served) {
    let begin = Instant::now();
    while served.target.connection_bytes() > 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "memory is kept");
        std::thread::yield_now();
    }
}

#[test]
fn an_admin_queue_is_no_longer_than_discovery_says() {
    let served = Served::streams();
    // ASQSZ (Base §5.1.12.3.1), bytes 9:8 of the entry: 128, as the queues of I/O.
    assert!(admin(&served, 128).is_ok());
    for entries in [129, u16::MAX] {
        match admin(&served, entries) {
            // Connect Invalid Parameters.
            Err(InitiatorError::Command { status, .. }) => assert_eq!(status.number(), 0x182),
            other => panic!("{entries} entries: {other:?}"),
        }
    }
}

/// Set Features of what brings data (a timestamp), 127 times 8 KiB, none of which ever come whole.
#[test]
fn data_asked_for_take_no_more_memory_than_is_promised() {
    let served = Served::streams();
    let mut queue = admin(&served, 128).unwrap();
    anabranch_initiator::enable(&mut queue).unwrap();
    queue.in_capsule = 0;
    for _ in 0..127 {
        let entry = Entry::feature(true, 0x0e, 0);
        queue.submit(entry, Transfer::out(vec![0; 8192])).unwrap();
    }
    queue.flush().unwrap();
    // As many as there is memory for are asked for, and each brings all but its last byte.
    let mut asked = Vec::new();
    while asked.len() < 32 {
        let pdu = queue.connection().receive().unwrap();
        assert_eq!(pdu.kind, Kind::ReadyToTransfer);
        let (command, tag) = (pdu.number(8, 2) as u16, pdu.number(10, 2) as u16);
        queue.queue_data(command, tag, 0, &[0; 8191], false);
        asked.push((command, tag));
    }
    queue.flush().unwrap();
    // A second connection's answer says that nothing more was asked for by then.
    served.host(2).shut_down().unwrap();
    let taken = served.target.connection_bytes();
    assert!(taken <= PROMISED, "{taken} bytes");
    // When they end, the others are asked for, and all are answered.
    for (command, tag) in asked {
        queue.queue_data(command, tag, 8191, &[0], true);
    }
    queue.flush().unwrap();
    while queue.outstanding() > 0 {
        assert!(queue.wait().unwrap().status.is_success());
    }
    drop(queue);
    until_all_is_given_back(&served);
}

#[test]
fn a_connection_at_rest_gives_its_memory_back() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.write(0, &pattern(1, 1 << 20), Tag::None).unwrap();
    host.read(0, 256).unwrap();
    let begin = Instant::now();
    while served.target.connection_bytes() > 64 << 10 {
        let late = begin.elapsed() > Duration::from_secs(20);
        assert!(!late, "{} bytes", served.target.connection_bytes());
        std::thread::sleep(Duration::from_millis(20));
    }
    // And is as good as before.
    assert_eq!(host.read(0, 256).unwrap(), pattern(1, 1 << 20));
}

/// A Dataset Management command that deallocates the whole drive, 255 times.
fn deallocate_all(queue: &mut Queue, blocks: u64) {
    let mut data = Vec::new();
    for _ in 0..255 {
        data.extend_from_slice(&[0; 4]);
        data.extend_from_slice(&(blocks as u32).to_le_bytes());
        data.extend_from_slice(&0_u64.to_le_bytes());
    }
    let entry = Entry::new(0x09, 1).dword(10, 254).dword(11, 1 << 2);
    queue.submit(entry, Transfer::out(data)).unwrap();
}

#[test]
fn a_host_that_deallocates_everything_all_the_time_keeps_nobody_waiting() {
    let served = Served::streams();
    let options = HostOptions {
        queues: 3,
        ..HostOptions::numbered(SUBSYSTEM, 1)
    };
    let mut greedy = Host::connect(served.address, &options).unwrap();
    let mut other = served.host(2);
    other.write(0, &[7; 4096], Tag::None).unwrap();
    let blocks = greedy.namespace.blocks;
    for queue in &mut greedy.queues {
        for _ in 0..100 {
            deallocate_all(queue, blocks);
        }
        queue.flush().unwrap();
    }
    // 32 MiB are two slices of 16 MiB each time.
    let all = 3 * 100 * 255 * 2;
    while served.target.slices() == 0 {
        std::thread::yield_now();
    }
    // Read after read, each of which is done before a twentieth of all that is.
    for _ in 0..4 {
        let before = served.target.slices();
        other.read(0, 1).unwrap();
        let between = served.target.slices() - before;
        assert!(between < all / 20, "{between} slices of {all}");
    }
    for queue in &mut greedy.queues {
        while queue.outstanding() > 0 {
            assert!(queue.wait().unwrap().status.is_success());
        }
    }
    assert_eq!(served.target.slices(), all);
}

#[test]
fn long_commands_do_what_they_say_to_the_last_block() {
    let served = Served::streams();
    let mut host = served.host(1);
    for first in (0..8192).step_by(256) {
        host.write(first, &pattern(first, 1 << 20), Tag::None)
            .unwrap();
    }
    let run = |host: &mut Host, entry: Entry| -> Completion {
        host.io().unwrap().run(entry, Transfer::None).unwrap()
    };
    // Write Zeroes over 4 slices, from within one to within another; then deallocating over 2.
    let zeroes = Entry::blocks(0x08, 1000, 3500);
    assert!(run(&mut host, zeroes).status.is_success());
    let written = served.target.drive().counters().host_pages;
    assert_eq!(written, 8192 + 3500);
    let given_up = Entry::blocks(0x08, 4000, 3000);
    let twelve = u32::from_le_bytes(given_up.0[48..52].try_into().unwrap());
    assert!(
        run(&mut host, given_up.dword(12, twelve | 1 << 25))
            .status
            .is_success()
    );
    assert_eq!(served.target.drive().mapped_pages(), 8192 - 3000);
    // Verify of more than VSL recommends takes longer, and is not refused (NVM §3.3.5).
    assert!(
        run(&mut host, Entry::blocks(0x0c, 0, 8192))
            .status
            .is_success()
    );
    for (block, zero) in [
        (999, false),
        (1000, true),
        (4499, true),
        (6999, true),
        (7000, false),
    ] {
        let read = host.read(block, 1).unwrap();
        assert_eq!(read.iter().all(|&byte| byte == 0), zero, "block {block}");
    }
    served.target.drive().verify().unwrap();
}

/// Identify, CNS 06h (NVM §4.1.5.2): VSL byte 0, WZSL 1, DMRL 3, DMRSL 7:4, DMSL 15:8.
#[test]
fn the_limits_of_commands_are_told() {
    let served = Served::streams();
    let mut host = served.host(1);
    let page = host
        .admin
        .succeed("identify", Entry::identify(0x06, 0), Transfer::In(4096))
        .unwrap()
        .data;
    assert_eq!((page[0], page[1], page[3]), (8, 13, 255));
    let blocks = (64_u64 << 30) / 4096;
    assert_eq!(page[4..8], (blocks as u32).to_le_bytes());
    assert_eq!(page[8..16], blocks.to_le_bytes());
}

/// Base §3.1.3.3: a discovery controller without a keep-alive timeout may end after a time without
/// commands; here one second instead of two minutes.
#[test]
fn who_asks_for_nothing_keeps_no_controller() {
    let served = Served::new(harness::streams_drive(false), |options| {
        options.idle = Duration::from_secs(1);
    });
    let ends = |queue: &mut Queue| assert!(queue.connection().receive().is_err());
    let mut discoverer = Host::admin(served.address, &HostOptions::numbered(DISCOVERY, 9)).unwrap();
    anabranch_initiator::enable(&mut discoverer).unwrap();
    // One that is never enabled, and one that is shut down.
    let mut never = admin(&served, 32).unwrap();
    let mut shut = served.host(3);
    anabranch_initiator::set_property(&mut shut.admin, 0x14, 0x0046_4001).unwrap();
    let mut host = served.host(2);
    ends(&mut discoverer);
    ends(&mut never);
    ends(&mut shut.admin);
    // A host with a drive stays, however long it is silent.
    host.write(0, &[1; 4096], Tag::None).unwrap();
}

#[test]
fn discovery_takes_no_host_s_place() {
    let served = Served::new(harness::streams_drive(false), |options| {
        options.most_controllers = 1;
    });
    let discoverer = || Host::admin(served.address, &HostOptions::numbered(DISCOVERY, 9));
    let _discoverers: Vec<Queue> = (0..32).map(|_| discoverer().unwrap()).collect();
    let mut host = served.host(1);
    host.write(0, &[1; 4096], Tag::None).unwrap();
    // Connect Controller Busy.
    match discoverer() {
        Err(InitiatorError::Command { status, .. }) => assert_eq!(status.number(), 0x181),
        other => panic!("a discovery controller too many: {other:?}"),
    }
}

/// An idle connection of an address of this machine.
fn idle(served: &Served, from: [u8; 4]) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&served.address.into()).unwrap();
    socket.into()
}

#[test]
fn idle_connections_keep_no_host_out_and_end_none_that_has_connected() {
    let served = Served::new(harness::streams_drive(false), |options| {
        options.most_controllers = 2;
        options.most_queues = 1;
    });
    let mut first = served.host(1);
    // More than there are places, for queues and newcomers together.
    let _idle: Vec<TcpStream> = (0..400).map(|_| idle(&served, [127, 0, 0, 1])).collect();
    let mut second = served.host(2);
    second.write(0, &[2; 4096], Tag::None).unwrap();
    first.write(1, &[1; 4096], Tag::None).unwrap();
}

#[test]
fn a_flood_of_another_address_ends_no_handshake() {
    let served = Served::new(harness::streams_drive(false), |options| {
        options.most_queues = 1;
    });
    let mut slow = idle(&served, [127, 0, 0, 1]);
    let flood: Vec<TcpStream> = (0..400).map(|_| idle(&served, [127, 0, 0, 2])).collect();
    // The oldest of the flood are closed, and the slow host's connection is open.
    let mut oldest = &flood[0];
    let patience = Some(Duration::from_secs(10));
    oldest.set_read_timeout(patience).unwrap();
    assert_eq!(oldest.read(&mut [0]).unwrap(), 0);
    slow.set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let open = slow.read(&mut [0]).unwrap_err();
    assert_eq!(open.kind(), ErrorKind::WouldBlock);
}

#[test]
fn silent_connections_keep_nobody_from_the_metrics() {
    let drive = harness::streams_drive(false);
    let store = Store::memory(drive.config().logical_bytes());
    let options = Options::new(SUBSYSTEM);
    let target = Target::new(options, drive, store, Totals::default(), None).unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let server = Server::with_metrics(target, any, Some(any), None).unwrap();
    let address = server.metrics_address().unwrap();
    let _silent: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let mut asking = TcpStream::connect(address).unwrap();
    asking
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    asking
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    asking.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}
