//! The Streams Directive through the wire: what careful hosts check of it (Base §8.1.8.3).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use anabranch_initiator::{Entry, Host, Tag, Transfer};
use harness::{Served, admin, io, pattern, streams_drive};

fn write(host: &mut Host, first: u64, blocks: usize, stream: u16) {
    host.write(first, &pattern(first, blocks * 4096), Tag::Stream(stream))
        .unwrap();
}

#[test]
fn nothing_is_enabled_until_the_host_enables_it() {
    let served = Served::streams();
    let mut host = served.host(1);
    // Identify (bit 0) and Streams (bit 1) are supported, Identify is enabled, nothing persists.
    assert_eq!(host.directives().unwrap(), (0b11, 0b01, 0b00));
    // A write that names a stream is refused, as is every operation of the directive.
    let entry = Entry::write(0, 1, Tag::Stream(3));
    let written = io(&mut host, entry, Transfer::out(vec![0; 4096]));
    assert_eq!(written, 0x02);
    let entry = Entry::directive(false, 1, 2, 0, 64);
    assert_eq!(admin(&mut host, entry, Transfer::In(64)), 0x02);

    host.enable_streams(true).unwrap();
    assert_eq!(host.directives().unwrap(), (0b11, 0b11, 0b00));
    write(&mut host, 0, 1, 3);
    assert_eq!(host.open_streams().unwrap(), [3]);
    host.enable_streams(false).unwrap();
    assert_eq!(host.directives().unwrap(), (0b11, 0b01, 0b00));
    // Neither Identify nor what is not there can be enabled or disabled.
    for kind in [0, 2, 5, 15] {
        assert_eq!(
            host.enable_directive(kind, true).unwrap().status.number(),
            0x02,
            "directive {kind}"
        );
    }
}

#[test]
fn writes_open_streams_and_land_in_them() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.enable_streams(true).unwrap();
    let parameters = host.stream_parameters().unwrap();
    assert_eq!(
        (parameters.most, parameters.available, parameters.open),
        (7, 7, 0)
    );
    assert_eq!(
        (
            parameters.allocated,
            parameters.own_open,
            parameters.capability & 1
        ),
        (0, 0, 0)
    );
    // A stream's unit: 128 pages of one logical block.
    let granule = u64::from(parameters.write_blocks) * u64::from(parameters.granularity);
    assert_eq!(granule, 128);

    write(&mut host, 0, 10, 65535);
    write(&mut host, 100, 20, 3);
    write(&mut host, 200, 30, 700);
    host.write(300, &pattern(0, 5 * 4096), Tag::None).unwrap();
    assert_eq!(host.open_streams().unwrap(), [3, 700, 65535]);
    let parameters = host.stream_parameters().unwrap();
    assert_eq!(
        (parameters.available, parameters.open, parameters.own_open),
        (7, 3, 3)
    );

    let mut pages = served.pages_of_streams();
    assert_eq!(pages.remove(0), 5);
    pages.sort_unstable();
    assert_eq!(pages, [0, 0, 0, 0, 10, 20, 30]);
    // Where each lies: together with its own, apart from the others.
    let drive = served.target.drive();
    let streams = |pages: std::ops::Range<u32>| -> Vec<u16> {
        let mut streams: Vec<u16> = pages.map(|page| drive.stream_of(page).unwrap()).collect();
        streams.dedup();
        streams
    };
    let found = [
        streams(0..10),
        streams(100..120),
        streams(200..230),
        streams(300..305),
    ];
    assert!(found.iter().all(|streams| streams.len() == 1), "{found:?}");
    assert_eq!(found[3], [0]);
    assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2]);
}

#[test]
fn identifiers_are_released_one_by_one_and_all_at_once() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.enable_streams(true).unwrap();
    for stream in [9, 5, 7] {
        write(&mut host, u64::from(stream), 1, stream);
    }
    assert!(host.release_stream(7).unwrap().status.is_success());
    // One that is not open: no error.
    assert!(host.release_stream(4242).unwrap().status.is_success());
    assert_eq!(host.open_streams().unwrap(), [5, 9]);
    host.enable_streams(false).unwrap();
    host.enable_streams(true).unwrap();
    assert!(host.open_streams().unwrap().is_empty());
    // Of all namespaces at once: Invalid Field (Base §8.1.8.3.3.1).
    let mut all = Entry::directive(true, 1, 1, 9, 0);
    all.0[4..8].fill(0xff);
    assert_eq!(
        host.admin.run(all, Transfer::None).unwrap().status.number(),
        0x02
    );
}

#[test]
fn resources_are_allocated_once_and_bound_what_is_open() {
    let served = Served::streams();
    let mut host = served.host(1);
    let mut other = served.host(2);
    host.enable_streams(true).unwrap();
    other.enable_streams(true).unwrap();
    let granted = host.allocate_streams(3).unwrap();
    assert!(granted.status.is_success());
    assert_eq!(granted.result & 0xffff, 3);
    let parameters = host.stream_parameters().unwrap();
    assert_eq!((parameters.available, parameters.allocated), (4, 3));
    // A second time: Invalid Field. Another host is granted what is left.
    assert_eq!(host.allocate_streams(1).unwrap().status.number(), 0x02);
    assert_eq!(other.allocate_streams(100).unwrap().result & 0xffff, 4);
    // Nothing is left for a third: Stream Resource Allocation Failed, 17Fh.
    let mut third = served.host(3);
    third.enable_streams(true).unwrap();
    assert_eq!(third.allocate_streams(1).unwrap().status.number(), 0x17f);
    // Its writes are normal ones.
    write(&mut third, 5000, 4, 1);
    assert_eq!(served.pages_of_streams()[0], 4);

    // One more than allocated: one of its own is closed for it, none of another's.
    write(&mut other, 4000, 1, 77);
    for stream in [1, 2, 3, 4] {
        write(&mut host, stream.into(), 1, stream);
    }
    let open = host.open_streams().unwrap();
    assert!(open.len() == 3 && open.contains(&4), "{open:?}");
    assert_eq!(other.open_streams().unwrap(), [77]);
    // Released twice: the second does nothing.
    assert!(host.release_streams().unwrap().status.is_success());
    assert!(host.release_streams().unwrap().status.is_success());
    assert_eq!(host.stream_parameters().unwrap().available, 3);
}

#[test]
fn an_exhausted_pool_closes_one_for_the_next() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.enable_streams(true).unwrap();
    for stream in 1..=20 {
        write(&mut host, stream.into(), 1, stream);
        let open = host.open_streams().unwrap();
        assert!(open.len() <= 7 && open.contains(&stream), "{open:?}");
        assert!(open.is_sorted());
    }
}

#[test]
fn identifiers_are_each_host_s_own_unless_they_are_shared() {
    for shared in [false, true] {
        let served = Served::new(streams_drive(shared), |options| {
            options.shared_streams = shared;
        });
        let (mut one, mut other) = (served.host(1), served.host(2));
        one.enable_streams(true).unwrap();
        other.enable_streams(true).unwrap();
        write(&mut one, 0, 8, 5);
        write(&mut other, 100, 8, 5);
        assert_eq!(one.stream_parameters().unwrap().capability & 1 == 1, shared);
        let drive = served.target.drive();
        assert_eq!(
            drive.stream_of(0) == drive.stream_of(100),
            shared,
            "shared {shared}"
        );
    }
}

#[test]
fn identifiers_that_hosts_share_stay_while_one_of_them_uses_streams() {
    let served = Served::new(streams_drive(true), |options| options.shared_streams = true);
    let (mut one, mut other, mut third) = (served.host(1), served.host(2), served.host(3));
    for host in [&mut one, &mut other, &mut third] {
        host.enable_streams(true).unwrap();
    }
    write(&mut one, 0, 1, 5);
    other.enable_streams(false).unwrap();
    assert_eq!(one.open_streams().unwrap(), [5]);
    third.reset().unwrap();
    assert_eq!(one.open_streams().unwrap(), [5]);
    drop((other, third));
    while served.target.hosts().len() > 1 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(one.open_streams().unwrap(), [5]);
    // The last one closes them.
    one.enable_streams(false).unwrap();
    one.enable_streams(true).unwrap();
    assert!(one.open_streams().unwrap().is_empty());
}

#[test]
fn a_reset_disables_and_releases() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.enable_streams(true).unwrap();
    host.allocate_streams(4).unwrap();
    write(&mut host, 0, 1, 5);
    host.reset().unwrap();
    assert_eq!(host.directives().unwrap(), (0b11, 0b01, 0b00));
    host.enable_streams(true).unwrap();
    assert!(host.open_streams().unwrap().is_empty());
    assert_eq!(host.stream_parameters().unwrap().available, 7);
    // So does a host's death.
    host.allocate_streams(7).unwrap();
    host.admin.connection().cut();
    drop(host);
    let mut other = served.host(2);
    other.enable_streams(true).unwrap();
    for _ in 0..2000 {
        if other.stream_parameters().unwrap().available == 7 {
            return;
        }
    }
    panic!("a dead host holds streams: {:?}", other.stream_parameters());
}

#[test]
fn a_format_closes_what_is_open() {
    let served = Served::streams();
    let mut host = served.host(1);
    host.enable_streams(true).unwrap();
    write(&mut host, 0, 1, 5);
    let format = host.admin.run(Entry::new(0x80, 1), Transfer::None).unwrap();
    assert!(format.status.is_success());
    assert!(host.open_streams().unwrap().is_empty());
}
