//! The transport as hosts meet it: connections, queues, transfers, and what no host should send.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use anabranch_initiator::{
    Connection, ConnectionOptions, Entry, Host, HostOptions, InitiatorError, Kind, Queue, Tag,
    Transfer,
};
use harness::{SUBSYSTEM, Served, pattern};

fn ended(error: &InitiatorError) -> bool {
    matches!(error, InitiatorError::Io(error) if matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted
    ))
}

/// End of a connection on which so many bytes are sent: a termination's status and information.
fn terminated(connection: &mut Connection) -> (u16, u32) {
    match connection.receive() {
        Err(InitiatorError::Terminated {
            status,
            information,
        }) => (status, information),
        other => panic!("no termination: {other:?}"),
    }
}

#[test]
fn a_host_connects_and_learns_what_it_connected_to() {
    let served = Served::streams();
    let host = served.host(1);
    assert_eq!(host.controller.subsystem, SUBSYSTEM);
    assert_eq!(host.namespace.block_bytes, 4096);
    assert_eq!(
        host.namespace.blocks,
        u64::from(served.target.drive().config().logical_pages)
    );
    assert!(host.controller.in_capsule_bytes >= 4096);
    assert!(host.controller.has_directives());
    assert_eq!(served.target.hosts().len(), 1);
    host.shut_down().unwrap();
}

#[test]
fn data_come_and_go_whole_with_every_choice_of_digests_and_alignment() {
    let served = Served::streams();
    for (number, digests, alignment) in [
        (1, (false, false), 0),
        (2, (true, false), 1),
        (3, (false, true), 15),
        (4, (true, true), 31),
    ] {
        let mut options = HostOptions::numbered(SUBSYSTEM, number);
        options.connection = ConnectionOptions {
            digests,
            alignment,
            ..options.connection
        };
        let mut host = Host::connect(served.address, &options).unwrap();
        assert_eq!(host.io().unwrap().connection().digests, digests);
        // In the capsule; one transfer; several units of one transfer; as long as may be.
        for blocks in [1, 3, 4, 5, 32, 33, 100, 256] {
            let data = pattern(u64::from(blocks) << number, blocks as usize * 4096);
            host.write(7, &data, Tag::None).unwrap();
            assert_eq!(
                host.read(7, blocks).unwrap(),
                data,
                "{blocks} blocks, {digests:?}"
            );
        }
    }
}

#[test]
fn a_host_that_puts_nothing_into_capsules_is_asked_for_its_data() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.io().unwrap().in_capsule = 0;
    let data = pattern(1, 4096);
    host.write(0, &data, Tag::None).unwrap();
    assert_eq!(host.read(0, 1).unwrap(), data);
}

#[test]
fn several_queues_full_of_commands_are_served_at_once() {
    let served = Served::streams();
    let options = HostOptions {
        queues: 4,
        ..HostOptions::numbered(SUBSYSTEM, 1)
    };
    let mut host = Host::connect(served.address, &options).unwrap();
    let block = |queue: u64, step: u64| queue * 1000 + step * 3;
    for (queue, connection) in host.queues.iter_mut().enumerate() {
        for step in 0..100 {
            let first = block(queue as u64, step);
            connection
                .submit(
                    Entry::write(first, 3, Tag::None),
                    Transfer::out(pattern(first, 3 * 4096)),
                )
                .unwrap();
        }
        connection.flush().unwrap();
    }
    for connection in &mut host.queues {
        while connection.outstanding() > 0 {
            assert!(connection.wait().unwrap().status.is_success());
        }
    }
    // Each queue sees what another wrote.
    host.queues.rotate_left(1);
    for (queue, connection) in host.queues.iter_mut().enumerate() {
        let writer = (queue as u64 + 1) % 4;
        for step in 0..100 {
            let first = block(3 - writer, step);
            let read = connection
                .run(Entry::read(first, 3), Transfer::In(3 * 4096))
                .unwrap();
            assert_eq!(read.data, pattern(first, 3 * 4096));
        }
    }
}

#[test]
fn a_write_cut_off_in_mid_transfer_leaves_every_block_old_or_new() {
    let served = Served::streams();
    let old = pattern(1, 64 * 4096);
    let new = pattern(2, 64 * 4096);
    // Bytes in units that came whole, and bytes of one more unit that is cut.
    for (whole, cut) in [
        (0, 0),
        (512, 0),
        (4096, 0),
        (6000, 0),
        (100_000, 30_000),
        (0, 6000),
        (8192, 2000),
    ] {
        let mut host = served.host(1);
        host.write(0, &old, Tag::None).unwrap();
        let queue = host.io().unwrap();
        let command = queue
            .submit(Entry::write(0, 64, Tag::None), Transfer::out(&new[..]))
            .unwrap();
        queue.flush().unwrap();
        let pdu = queue.connection().receive().unwrap();
        assert_eq!(
            (pdu.kind, pdu.number(8, 2)),
            (Kind::ReadyToTransfer, command.into())
        );
        let tag = pdu.number(10, 2) as u16;
        if whole > 0 {
            queue.queue_data(command, tag, 0, &new[..whole], false);
        }
        if cut > 0 {
            queue.queue_data(
                command,
                tag,
                whole as u32,
                &new[whole..whole + cut + 1000],
                false,
            );
            let length = queue.connection().pending().len();
            queue.connection().pending().truncate(length - 1000);
        }
        queue.flush().unwrap();
        queue.connection().cut();
        drop(host);

        let mut host = served.host(2);
        let read = host.read(0, 64).unwrap();
        for (block, bytes) in read.chunks(4096).enumerate() {
            let at = block * 4096..(block + 1) * 4096;
            assert!(
                bytes == &old[at.clone()] || bytes == &new[at],
                "block {block} is torn after {whole} + {cut} bytes"
            );
        }
    }
    served.target.drive().verify().unwrap();
}

#[test]
fn a_wrong_data_digest_fails_its_command_alone() {
    let served = Served::streams();
    let mut options = HostOptions::numbered(SUBSYSTEM, 1);
    options.connection.digests = (true, true);
    let mut host = Host::connect(served.address, &options).unwrap();
    let old = pattern(1, 4096);
    host.write(5, &old, Tag::None).unwrap();
    for in_capsule in [8192, 0] {
        let queue = host.io().unwrap();
        queue.in_capsule = in_capsule;
        queue
            .submit(
                Entry::write(5, 1, Tag::None),
                Transfer::out(pattern(2, 4096)),
            )
            .unwrap();
        if in_capsule > 0 {
            damage(queue);
            queue.flush().unwrap();
        } else {
            queue.flush().unwrap();
            let pdu = queue.connection().receive().unwrap();
            let (command, tag) = (pdu.number(8, 2) as u16, pdu.number(10, 2) as u16);
            queue.queue_data(command, tag, 0, &pattern(2, 4096), true);
            damage(queue);
            queue.flush().unwrap();
        }
        // Transient Transport Error (Base §4.2.3.1, 22h), and the host may try again.
        let status = queue.wait().unwrap().status;
        assert_eq!(
            (status.number(), status.final_),
            (0x22, false),
            "in capsule {in_capsule}"
        );
        queue.in_capsule = 8192;
        host.write(6, &old, Tag::None).unwrap();
    }
}

/// Changes the last byte that waits to be sent: of the data's digest.
fn damage(queue: &mut Queue) {
    if let Some(last) = queue.connection().pending().last_mut() {
        *last ^= 1;
    }
}

#[test]
fn a_wrong_header_digest_ends_the_connection() {
    let served = Served::streams();
    let mut options = HostOptions::numbered(SUBSYSTEM, 1);
    options.connection.digests = (true, false);
    let mut host = Host::connect(served.address, &options).unwrap();
    let queue = host.io().unwrap();
    queue.submit(Entry::flush(), Transfer::None).unwrap();
    queue.connection().pending()[9] ^= 1;
    queue.flush().unwrap();
    assert_eq!(terminated(queue.connection()).0, 3);
}

/// TCP §3.6.2.5: what a controller terminates a connection for, and the field it names.
#[test]
fn what_no_host_should_send_ends_the_connection_by_name() {
    let served = Served::streams();
    let header = |kind: u8, header: u8, data: u8, length: u32| {
        let mut unit = vec![0; 128];
        unit[0] = kind;
        (unit[2], unit[3]) = (header, data);
        unit[4..8].copy_from_slice(&length.to_le_bytes());
        unit
    };
    let cases = [
        ("an unknown type", header(0x42, 72, 0, 72), (1, 0)),
        (
            "a type that only controllers send",
            header(0x05, 24, 0, 24),
            (1, 0),
        ),
        (
            "a header length that is not the type's",
            header(0x04, 80, 0, 80),
            (1, 2),
        ),
        (
            "a unit shorter than its header",
            header(0x04, 72, 0, 8),
            (1, 4),
        ),
        (
            "a unit of four gigabytes",
            header(0x04, 72, 72, u32::MAX),
            (1, 4),
        ),
        ("data for no command", h2c(99, 1, 0, 4), (1, 0)),
        (
            "a second initialize request",
            header(0x00, 128, 0, 128),
            (2, 0),
        ),
    ];
    for (what, unit, expected) in cases {
        let mut connection =
            Connection::open(served.address, &ConnectionOptions::default()).unwrap();
        connection.queue(&unit);
        connection.flush().unwrap();
        let (status, information) = terminated(&mut connection);
        // Which header field names a command that is not there is not laid down.
        let expected = if what == "data for no command" {
            (status, information)
        } else {
            expected
        };
        assert_eq!((status, information), expected, "{what}");
        assert!(
            connection.receive().is_err_and(|error| ended(&error)),
            "{what}: the connection lives on"
        );
    }
}

/// H2CData of some bytes.
fn h2c(command: u16, tag: u16, offset: u32, length: u32) -> Vec<u8> {
    let mut unit = vec![0x06, 4, 24, 24];
    unit.extend_from_slice(&(24 + length).to_le_bytes());
    unit.extend_from_slice(&command.to_le_bytes());
    unit.extend_from_slice(&tag.to_le_bytes());
    unit.extend_from_slice(&offset.to_le_bytes());
    unit.extend_from_slice(&length.to_le_bytes());
    unit.resize(24 + length as usize, 0);
    unit
}

#[test]
fn a_command_before_the_handshake_ends_the_connection() {
    let served = Served::streams();
    let mut connection = Connection::raw(served.address, Duration::from_secs(20)).unwrap();
    let mut unit = vec![0x04, 0, 72, 0, 72, 0, 0, 0];
    unit.resize(72, 0);
    connection.queue(&unit);
    connection.flush().unwrap();
    assert_eq!(terminated(&mut connection).0, 2);
}

#[test]
fn a_format_of_another_version_ends_the_connection() {
    let served = Served::streams();
    let mut connection = Connection::raw(served.address, Duration::from_secs(20)).unwrap();
    let mut unit = vec![0x00, 0, 128, 0, 128, 0, 0, 0, 1, 0];
    unit.resize(128, 0);
    connection.queue(&unit);
    connection.flush().unwrap();
    // Unsupported parameter; the field is PFV, bytes 9:8 (TCP §3.6.2.5).
    assert_eq!(terminated(&mut connection), (6, 8));
}

#[test]
fn data_that_were_not_asked_for_end_the_connection() {
    let served = Served::streams();
    // (what, tag is right, offset beyond, bytes)
    let cases: [(&str, u16, u32, usize); 3] = [
        ("another tag", 1, 0, 4096),
        ("beyond the end", 0, 1 << 20, 4096),
        ("a gap", 0, 4096, 4096),
    ];
    for (what, wrong_tag, offset, length) in cases {
        let mut host = served.host(1);
        let queue = host.io().unwrap();
        queue.in_capsule = 0;
        queue
            .submit(
                Entry::write(0, 4, Tag::None),
                Transfer::out(vec![1; 4 * 4096]),
            )
            .unwrap();
        queue.flush().unwrap();
        let pdu = queue.connection().receive().unwrap();
        let (command, tag) = (
            pdu.number(8, 2) as u16,
            pdu.number(10, 2) as u16 ^ wrong_tag,
        );
        queue.queue_data(command, tag, offset, &vec![2; length], true);
        queue.flush().unwrap();
        let (status, _) = terminated(queue.connection());
        assert!([1, 2, 4].contains(&status), "{what}: {status}");
    }
    served.target.drive().verify().unwrap();
}

#[test]
fn a_host_is_refused_by_name_and_told_why() {
    let served = Served::allowing(&[&HostOptions::numbered(SUBSYSTEM, 1).name]);
    assert!(Host::connect(served.address, &HostOptions::numbered(SUBSYSTEM, 1)).is_ok());
    let refused = |options: HostOptions| match Host::admin(served.address, &options) {
        Err(InitiatorError::Command { status, .. }) => status.number(),
        other => panic!("connected: {other:?}"),
    };
    // Connect Invalid Host, 184h; Connect Invalid Parameters, 182h (Base §6.3).
    assert_eq!(refused(HostOptions::numbered(SUBSYSTEM, 2)), 0x184);
    assert_eq!(
        refused(HostOptions::numbered("nqn.2014-08.org.example:other", 1)),
        0x182
    );
}

#[test]
fn a_queue_is_opened_once_and_only_within_what_was_granted() {
    let served = Served::streams();
    let host = served.host(1);
    for identifier in [1, 999] {
        let refused = host.open_queue(identifier);
        let is_refused =
            matches!(refused, Err(InitiatorError::Command { status, .. }) if !status.is_success());
        assert!(is_refused, "queue {identifier}");
    }
}

#[test]
fn silent_and_slow_hosts_are_left() {
    let served = Served::impatient(Duration::from_secs(1));
    let mut silent = Connection::raw(served.address, Duration::from_secs(20)).unwrap();
    assert!(ended(&silent.receive().unwrap_err()));
    // Half a request.
    let mut slow = Connection::raw(served.address, Duration::from_secs(20)).unwrap();
    slow.queue(&[0, 0, 128, 0, 128, 0]);
    slow.flush().unwrap();
    let end = slow.receive().unwrap_err();
    assert!(
        ended(&end) || matches!(end, InitiatorError::Terminated { .. }),
        "{end}"
    );
    // A host that has data asked for, and never sends them.
    let mut host = served.host(1);
    let queue = host.io().unwrap();
    queue.in_capsule = 0;
    queue
        .submit(Entry::write(0, 1, Tag::None), Transfer::out(vec![1; 4096]))
        .unwrap();
    queue.flush().unwrap();
    assert_eq!(
        queue.connection().receive().unwrap().kind,
        Kind::ReadyToTransfer
    );
    let end = queue.connection().receive().unwrap_err();
    assert!(
        ended(&end) || matches!(end, InitiatorError::Terminated { .. }),
        "{end}"
    );
    // An idle host that owes nothing stays.
    let mut idle = served.host(2);
    std::thread::sleep(Duration::from_millis(2500));
    idle.write(0, &[7; 4096], Tag::None).unwrap();
}

/// Reads, ten a second, beside a write whose data never come.
#[test]
fn other_commands_renew_no_patience_for_data_that_were_asked_for() {
    let served = Served::impatient(Duration::from_secs(1));
    let mut host = served.host(1);
    let queue = host.io().unwrap();
    queue.in_capsule = 0;
    queue
        .submit(Entry::write(0, 1, Tag::None), Transfer::out(vec![1; 4096]))
        .unwrap();
    queue.flush().unwrap();
    let asked = queue.connection().receive().unwrap();
    assert_eq!(asked.kind, Kind::ReadyToTransfer);
    let begin = Instant::now();
    while queue.run(Entry::read(8, 1), Transfer::In(4096)).is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(10), "it is kept");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_host_that_keeps_no_promise_to_live_is_left() {
    let served = Served::streams();
    let options = HostOptions {
        keep_alive_ms: 3000,
        ..HostOptions::numbered(SUBSYSTEM, 1)
    };
    let mut host = Host::connect(served.address, &options).unwrap();
    // Keep Alive, 18h (Base §5.1.14).
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(1000));
        let alive = host.admin.run(Entry::new(0x18, 0), Transfer::None).unwrap();
        assert!(alive.status.is_success());
    }
    let end = host.admin.connection().receive().unwrap_err();
    assert!(
        ended(&end) || matches!(end, InitiatorError::Terminated { .. }),
        "{end}"
    );
    assert!(host.io().unwrap().connection().receive().is_err());
    // The connection ends a moment before its controller does.
    let begin = Instant::now();
    while !served.target.hosts().is_empty() {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "a host that is dead stays"
        );
        std::thread::yield_now();
    }
}
