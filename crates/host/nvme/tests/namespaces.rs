//! Several namespaces of one drive: made, deleted and attached by hosts, each by itself (Base §5.2.10,
//! §5.2.11, §8.1.15), and all on the same units.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use anabranch_initiator::{Entry, Host, NewNamespace, Tag, Transfer};
use anabranch_nvme::{drive::ServedDrive, namespace::Wanted};
use harness::{Served, admin, fdp_drive, io, pattern, streams_drive};

const MIB: u64 = 1 << 20;
/// Blocks of 4096 bytes in a MiB.
const BLOCKS: u64 = MIB / 4096;

fn wanted(mib: u64, handles: &[u16]) -> Wanted {
    Wanted {
        bytes: Some(mib * MIB),
        block_shift: 12,
        shared: true,
        handles: handles.to_vec(),
    }
}

/// Namespaces of 8 and 16 of the drive's 32 MiB.
fn parted(drive: ServedDrive) -> Served {
    let handles: [&[u16]; 2] = match drive.as_fdp() {
        Some(_) => [&[0, 1, 2], &[5, 2]],
        None => [&[], &[]],
    };
    let parts = [wanted(8, handles[0]), wanted(16, handles[1])];
    Served::new(drive.without_namespaces().with(&parts).unwrap(), |_| {})
}

fn write(host: &mut Host, id: u32, first: u64, data: &[u8]) {
    let entry = Entry::write(first, (data.len() / 4096) as u32, Tag::None).at(id);
    assert_eq!(io(host, entry, Transfer::out(data)), 0);
}

fn read(host: &mut Host, id: u32, first: u64, blocks: u32) -> Vec<u8> {
    let entry = Entry::read(first, blocks).at(id);
    let transfer = Transfer::In(blocks as usize * 4096);
    let answer = host.io().unwrap().succeed("read", entry, transfer);
    answer.unwrap().data
}

/// Makes one and attaches it to the host.
fn create(host: &mut Host, new: &NewNamespace) -> u32 {
    let made = host.create_namespace(new).unwrap();
    assert_eq!(made.status.number(), 0);
    let id = made.result as u32;
    let own = host.controller.identifier;
    let attached = host.attach_namespace(id, true, &[own]).unwrap();
    assert_eq!(attached.status.number(), 0);
    id
}

#[test]
fn what_is_done_to_one_is_done_to_no_other() {
    let served = parted(streams_drive(false));
    let mut host = served.host(1);
    assert_eq!(host.namespace_list(0x02, 0).unwrap(), [1, 2]);
    let data: Vec<Vec<u8>> = (0..3).map(|one| pattern(one, 64 * 4096)).collect();
    // The same blocks in both, and the last of each.
    for id in 1..=2 {
        write(&mut host, id, 100, &data[id as usize]);
    }
    let last = |id: u32| [8 * BLOCKS, 16 * BLOCKS][id as usize - 1] - 64;
    for id in 1..=2 {
        write(&mut host, id, last(id), &data[2 - id as usize]);
    }
    for id in 1..=2 {
        assert_eq!(read(&mut host, id, 100, 64), data[id as usize], "{id}");
        assert_eq!(read(&mut host, id, last(id), 64), data[2 - id as usize]);
        assert_eq!(host.identify_namespace(0x00, id).unwrap().used_blocks, 128);
    }
    // Beyond the end of the first lies the second: LBA Out of Range.
    for opcode in [0x01, 0x02, 0x05, 0x08, 0x0c] {
        let entry = Entry::blocks(opcode, 8 * BLOCKS - 1, 2);
        let transfer = match opcode {
            0x01 | 0x05 => Transfer::out(vec![0; 8192]),
            0x02 => Transfer::In(8192),
            _ => Transfer::None,
        };
        assert_eq!(io(&mut host, entry, transfer), 0x80, "opcode {opcode:#x}");
    }
    // All of the second is deallocated, zeroed and formatted.
    let mut range = vec![0; 16];
    range[4..8].copy_from_slice(&(16 * BLOCKS as u32).to_le_bytes());
    let deallocate = Entry::new(0x09, 2).dword(11, 1 << 2);
    assert_eq!(io(&mut host, deallocate, Transfer::out(range)), 0);
    assert_eq!(host.identify_namespace(0x00, 2).unwrap().used_blocks, 0);
    let zero = Entry::blocks(0x08, 0, 16 * BLOCKS as u32).at(2);
    assert_eq!(io(&mut host, zero, Transfer::None), 0);
    assert_eq!(admin(&mut host, Entry::new(0x80, 2), Transfer::None), 0);
    assert_eq!(read(&mut host, 1, 100, 64), data[1]);
    assert_eq!(read(&mut host, 1, last(1), 64), data[1]);
    let (one, other) = (
        host.identify_namespace(0x00, 1).unwrap(),
        host.identify_namespace(0x00, 2).unwrap(),
    );
    // The second has blocks of 512 bytes now (LBA format 0), the first has not.
    assert_eq!(
        (one.block_bytes, one.blocks, one.used_blocks),
        (4096, 8 * BLOCKS, 128)
    );
    assert_eq!(
        (other.block_bytes, other.blocks, other.used_blocks),
        (512, 16 * BLOCKS * 8, 0)
    );
    assert_eq!(served.target.drive().mapped_pages(), 128);
    served.target.drive().verify().unwrap();
}

#[test]
fn they_lie_on_the_same_units() {
    let served = parted(streams_drive(false));
    let mut host = served.host(1);
    write(&mut host, 1, 0, &pattern(1, 4096));
    write(&mut host, 2, 0, &pattern(2, 4096));
    let drive = served.target.drive();
    let place = |id: u32| {
        let pages = drive.namespaces().get(id).unwrap().pages();
        drive.locate(pages.first).unwrap()
    };
    assert_eq!((place(1).0, place(1).1 + 1), place(2));
}

#[test]
fn room_is_taken_and_given_back() {
    let served = parted(streams_drive(false));
    let mut host = served.host(1);
    let total = u128::from(32 * MIB);
    assert_eq!(host.capacities().unwrap(), (total, total / 4));
    // More than there is: Namespace Insufficient Capacity.
    let refused = host
        .create_namespace(&NewNamespace::of(8 * BLOCKS + 1))
        .unwrap();
    assert_eq!(refused.status.number(), 0x115);
    let huge = host.create_namespace(&NewNamespace::of(u64::MAX)).unwrap();
    assert_eq!(huge.status.number(), 0x115);
    let third = create(&mut host, &NewNamespace::of(8 * BLOCKS));
    assert_eq!(third, 3);
    assert_eq!(host.capacities().unwrap(), (total, 0));
    let told = host.identify_namespace(0x00, 3).unwrap();
    assert_eq!(
        (told.blocks, told.capacity),
        (8 * BLOCKS, u128::from(8 * MIB))
    );
    assert!(told.shared);
    write(&mut host, 3, 8 * BLOCKS - 1, &pattern(3, 4096));
    // The first and the third are given back: 8 MiB each, in two pieces.
    for id in [1, 3] {
        assert_eq!(host.delete_namespace(id).unwrap().status.number(), 0);
    }
    assert_eq!(host.capacities().unwrap(), (total, total / 2));
    assert_eq!(served.target.drive().mapped_pages(), 0);
    let refused = host
        .create_namespace(&NewNamespace::of(16 * BLOCKS))
        .unwrap();
    assert_eq!(refused.status.number(), 0x115);
    // What comes after has the lowest identifier and holds nothing.
    let again = create(&mut host, &NewNamespace::of(3));
    assert_eq!(again, 1);
    assert_eq!(read(&mut host, 1, 0, 3), vec![0; 3 * 4096]);
    let entry = Entry::read(3, 1).at(1);
    assert_eq!(io(&mut host, entry, Transfer::In(4096)), 0x80);
    served.target.drive().verify().unwrap();
}

#[test]
fn lists_tell_which_there_are_and_who_has_them() {
    let served = parted(streams_drive(false));
    let (mut one, mut other) = (served.host(1), served.host(2));
    let (first, second) = (one.controller.identifier, other.controller.identifier);
    let made = one.create_namespace(&NewNamespace::of(BLOCKS)).unwrap();
    assert_eq!(made.result, 3);
    assert_eq!(one.namespace_list(0x02, 0).unwrap(), [1, 2]);
    assert_eq!(one.namespace_list(0x10, 0).unwrap(), [1, 2, 3]);
    assert_eq!(one.namespace_list(0x10, 1).unwrap(), [2, 3]);
    assert_eq!(one.namespace_list(0x07, 1).unwrap(), [2]);
    // Not attached: zeroes (CNS 00h), and what it is (CNS 11h).
    assert_eq!(one.identify_namespace(0x00, 3).unwrap().blocks, 0);
    assert_eq!(one.identify_namespace(0x11, 3).unwrap().blocks, BLOCKS);
    assert_eq!(one.identify_namespace(0x11, 4).unwrap().blocks, 0);
    assert!(one.controller_list(0x12, 3).unwrap().is_empty());
    assert_eq!(one.controller_list(0x13, 0).unwrap(), [first, second]);
    let own = other.attach_namespace(3, true, &[second]).unwrap();
    assert_eq!(own.status.number(), 0);
    assert_eq!(one.controller_list(0x12, 3).unwrap(), [second]);
    write(&mut other, 3, 0, &pattern(7, 4096));
    // Who has it not is refused: Invalid Field.
    assert_eq!(
        io(&mut one, Entry::read(0, 1).at(3), Transfer::In(4096)),
        0x02
    );
    // Attached twice, detached twice; a controller that is none; none at all.
    for (attach, controllers, status) in [
        (true, vec![second], 0x118),
        (true, vec![first, second], 0x118),
        (false, vec![first], 0x11a),
        (true, vec![0xfff0], 0x11c),
        (true, vec![], 0x11c),
        (true, vec![second, first], 0x11c),
        (true, vec![first], 0),
        (false, vec![first, second], 0),
    ] {
        let answer = one.attach_namespace(3, attach, &controllers).unwrap();
        assert_eq!(answer.status.number(), status, "{attach} {controllers:?}");
    }
    assert_eq!(
        io(&mut other, Entry::read(0, 1).at(3), Transfer::In(4096)),
        0x02
    );
    // A host that comes has those that were attached to somebody last.
    let mut third = served.host(3);
    assert_eq!(third.namespace_list(0x02, 0).unwrap(), [1, 2]);
    // UUIDs (CNS 03h, type 3) tell a namespace from one that had its identifier.
    let uuid = |host: &mut Host, id: u32| host.page(0x03, id).unwrap()[4..20].to_vec();
    let before = uuid(&mut one, 2);
    assert_ne!(uuid(&mut one, 1), before);
    assert_eq!(one.delete_namespace(2).unwrap().status.number(), 0);
    assert_eq!(create(&mut one, &NewNamespace::of(BLOCKS)), 2);
    assert_ne!(uuid(&mut one, 2), before);
}

#[test]
fn a_private_namespace_has_one_controller() {
    let served = parted(streams_drive(false));
    let (mut one, other) = (served.host(1), served.host(2));
    let (first, second) = (one.controller.identifier, other.controller.identifier);
    let private = NewNamespace {
        shared: false,
        ..NewNamespace::of(BLOCKS)
    };
    let id = one.create_namespace(&private).unwrap().result as u32;
    for (controllers, status) in [
        (vec![first, second], 0x119),
        (vec![first], 0),
        (vec![second], 0x119),
    ] {
        let answer = one.attach_namespace(id, true, &controllers).unwrap();
        assert_eq!(answer.status.number(), status, "{controllers:?}");
    }
    assert!(!one.identify_namespace(0x00, id).unwrap().shared);
    // Whoever comes while another has it goes without.
    assert_eq!(served.host(3).namespace_list(0x02, 0).unwrap(), [1, 2]);
}

/// Base §5.1.2: Notice (2h), Namespace Attribute Changed (00h), log page 04h.
#[test]
fn hosts_hear_of_what_becomes_of_namespaces() {
    const NOTICE: u64 = 0x04_00_02;
    let served = parted(streams_drive(false));
    let (mut one, mut other) = (served.host(1), served.host(2));
    let second = other.controller.identifier;
    // Before it wants to hear of any, the first changes: there is no event, and the next change is told.
    let format = Entry::new(0x80, 1).dword(10, 1);
    assert_eq!(admin(&mut one, format, Transfer::None), 0);
    other
        .admin
        .succeed(
            "feature",
            Entry::feature(true, 0x0b, 1 << 8),
            Transfer::None,
        )
        .unwrap();
    let listen = |other: &mut Host| {
        other
            .admin
            .submit(Entry::new(0x0c, 0), Transfer::None)
            .unwrap();
        other.admin.flush().unwrap();
    };
    let heard = |other: &mut Host, ids: &[u32]| {
        assert_eq!(other.admin.wait().unwrap().result, NOTICE);
        assert_eq!(other.changed_namespaces().unwrap(), ids);
        assert!(other.changed_namespaces().unwrap().is_empty());
    };
    listen(&mut other);
    let id = one
        .create_namespace(&NewNamespace::of(BLOCKS))
        .unwrap()
        .result as u32;
    one.attach_namespace(id, true, &[second]).unwrap();
    heard(&mut other, &[1, id]);
    listen(&mut other);
    assert_eq!(
        admin(&mut one, Entry::new(0x80, 2).dword(10, 1), Transfer::None),
        0
    );
    heard(&mut other, &[2]);
    listen(&mut other);
    one.attach_namespace(id, false, &[second]).unwrap();
    one.delete_namespace(1).unwrap();
    assert_eq!(other.admin.wait().unwrap().result, NOTICE);
    // Both are in the list, though there was one event: the list was not read in between.
    while other.namespace_list(0x02, 0).unwrap() != [2] {}
    assert_eq!(other.changed_namespaces().unwrap(), [1, id]);
}

#[test]
fn identifiers_that_are_none_are_refused() {
    let served = parted(streams_drive(false));
    let mut host = served.host(1);
    let own = host.controller.identifier;
    // 0 and what is beyond NN are no identifiers (0Bh); the others name no namespace (02h).
    for (id, status) in [
        (0, 0x0b),
        (3, 0x02),
        (128, 0x02),
        (129, 0x0b),
        (u32::MAX - 1, 0x0b),
    ] {
        assert_eq!(
            io(&mut host, Entry::read(0, 1).at(id), Transfer::In(4096)),
            status,
            "{id}"
        );
        let entry = Entry::write(0, 1, Tag::None).at(id);
        assert_eq!(
            io(&mut host, entry, Transfer::out(vec![0; 4096])),
            status,
            "{id}"
        );
        assert_eq!(
            io(&mut host, Entry::flush().at(id), Transfer::None),
            status,
            "{id}"
        );
        let entry = Entry::new(0x09, id).dword(11, 1 << 2);
        assert_eq!(
            io(&mut host, entry, Transfer::out(vec![0; 16])),
            status,
            "{id}"
        );
        assert_eq!(
            admin(&mut host, Entry::new(0x80, id), Transfer::None),
            status,
            "{id}"
        );
        let deleted = host.delete_namespace(id).unwrap();
        assert_eq!(deleted.status.number(), status, "{id}");
        let attached = host.attach_namespace(id, true, &[own]).unwrap();
        assert_eq!(attached.status.number(), status, "{id}");
        let entry = Entry::identify(0x03, id);
        assert_eq!(admin(&mut host, entry, Transfer::In(4096)), status, "{id}");
    }
    let all = Entry::read(0, 1).at(u32::MAX);
    assert_eq!(io(&mut host, all, Transfer::In(4096)), 0x0b);
    assert_eq!(
        host.attach_namespace(u32::MAX, true, &[own])
            .unwrap()
            .status
            .number(),
        0x0b
    );
}

#[test]
fn a_namespace_that_cannot_be_is_not_made() {
    let served = parted(streams_drive(false));
    let mut host = served.host(1);
    let good = NewNamespace::of(8);
    for (new, status) in [
        (
            NewNamespace {
                blocks: 0,
                ..good.clone()
            },
            0x02,
        ),
        (
            NewNamespace {
                capacity: Some(7),
                ..good.clone()
            },
            0x11b,
        ),
        (
            NewNamespace {
                format: 2,
                ..good.clone()
            },
            0x10a,
        ),
        (
            NewNamespace {
                format: 1 | 1 << 4,
                ..good.clone()
            },
            0x10a,
        ),
        // Handles are not looked at where there is no Flexible Data Placement.
        (
            NewNamespace {
                handles: vec![9, 9],
                ..good.clone()
            },
            0,
        ),
    ] {
        let answer = host.create_namespace(&new).unwrap();
        assert_eq!(answer.status.number(), status, "{new:?}");
    }
    // Too few data, and an operation that is none.
    let short = Entry::new(0x0d, 0);
    assert_eq!(admin(&mut host, short, Transfer::out(vec![0; 512])), 0x0f);
    let none = Entry::new(0x0d, 0).dword(10, 2);
    assert_eq!(admin(&mut host, none, Transfer::out(good.to_bytes())), 0x02);
}

#[test]
fn there_are_as_many_as_there_may_be() {
    let served = parted(streams_drive(false));
    let mut host = served.host(1);
    // Namespace Identifier Unavailable.
    let small = NewNamespace::of(1);
    let answers: Vec<u16> = (0..127)
        .map(|_| host.create_namespace(&small).unwrap().status.number())
        .collect();
    assert_eq!(answers.iter().filter(|&&status| status == 0).count(), 126);
    assert_eq!(answers[126], 0x116);
    // All at once.
    assert_eq!(host.delete_namespace(u32::MAX).unwrap().status.number(), 0);
    assert!(host.namespace_list(0x10, 0).unwrap().is_empty());
    assert_eq!(host.capacities().unwrap().1, u128::from(32 * MIB));
}

#[test]
fn streams_are_each_namespace_s_own() {
    let served = parted(streams_drive(false));
    let mut host = served.host(1);
    // Enabled for the first alone.
    host.enable_streams(true).unwrap();
    host.write(0, &pattern(0, 4096), Tag::Stream(5)).unwrap();
    let entry = Entry::write(0, 1, Tag::Stream(5)).at(2);
    assert_eq!(io(&mut host, entry, Transfer::out(vec![1; 4096])), 0x02);
    let enable = Entry::directive(true, 0, 1, 0, 0).dword(12, 1 | 1 << 8);
    assert_eq!(admin(&mut host, enable.at(2), Transfer::None), 0);
    assert_eq!(io(&mut host, entry, Transfer::out(vec![1; 4096])), 0);
    {
        let drive = served.target.drive();
        let second = drive.namespaces().get(2).unwrap().pages().first;
        assert_ne!(drive.stream_of(0), drive.stream_of(second));
    }
    // The end of the second's closes its streams and no others.
    host.delete_namespace(2).unwrap();
    assert_eq!(host.open_streams().unwrap(), [5]);
    assert_eq!(host.stream_parameters().unwrap().open, 1);
    assert_eq!(create(&mut host, &NewNamespace::of(BLOCKS)), 2);
    assert_eq!(io(&mut host, entry, Transfer::out(vec![1; 4096])), 0x02);
}

#[test]
fn handles_are_those_that_a_namespace_lists() {
    let served = parted(fdp_drive());
    let mut host = served.host(1);
    // The first has handles 0 to 2, the second 5 and 2: placement handles 0 and 1.
    assert_eq!(host.fdp_usage().unwrap(), [1, 1, 1, 0, 0, 1, 0, 0]);
    let handles = |host: &mut Host, id: u32| {
        let entry = Entry::new(0x12, id).dword(10, 1).dword(11, 1023);
        let answer = host
            .io()
            .unwrap()
            .succeed("status", entry, Transfer::In(4096));
        let data = answer.unwrap().data;
        let count = usize::from(u16::from_le_bytes([data[14], data[15]]));
        let handle = |place: usize| data[16 + 32 * place + 2];
        (0..count).map(handle).collect::<Vec<u8>>()
    };
    assert_eq!(handles(&mut host, 1), [0, 1, 2]);
    assert_eq!(handles(&mut host, 2), [5, 2]);
    let put = |host: &mut Host, id: u32, handle: u16, blocks: u32| {
        let entry = Entry::write(0, blocks, Tag::Placement(handle)).at(id);
        let data = vec![1; blocks as usize * 4096];
        assert_eq!(io(host, entry, Transfer::out(data)), 0);
    };
    put(&mut host, 1, 1, 3);
    put(&mut host, 1, 2, 4);
    put(&mut host, 2, 0, 5);
    put(&mut host, 2, 1, 6);
    // One that the second has not: its first.
    put(&mut host, 2, 2, 7);
    assert_eq!(served.pages_of_streams(), [0, 3, 10, 0, 0, 12, 0, 0]);
    // A list with doubles, beyond NRUH, of too many: Invalid Placement Handle List.
    for list in [vec![3, 3], vec![8], vec![0; 129], vec![u16::MAX]] {
        let new = NewNamespace {
            handles: list[..list.len().min(128)].to_vec(),
            ..NewNamespace::of(8)
        };
        let mut data = new.to_bytes();
        data[392..394].copy_from_slice(&(list.len() as u16).to_le_bytes());
        let status = admin(&mut host, Entry::new(0x0d, 0), Transfer::out(data));
        assert_eq!(status, 0x2a, "{list:?}");
    }
    // Without a list the drive picks one that nobody listed, for all such.
    for id in [3, 4] {
        assert_eq!(create(&mut host, &NewNamespace::of(8)), id);
        assert_eq!(handles(&mut host, id), [3]);
    }
    assert_eq!(host.fdp_usage().unwrap(), [1, 1, 1, 2, 0, 1, 0, 0]);
    // What it picked no host may list.
    let new = NewNamespace {
        handles: vec![3],
        ..NewNamespace::of(8)
    };
    assert_eq!(host.create_namespace(&new).unwrap().status.number(), 0x2a);
    host.delete_namespace(3).unwrap();
    host.delete_namespace(4).unwrap();
    assert_eq!(host.fdp_usage().unwrap(), [1, 1, 1, 0, 0, 1, 0, 0]);
}

/// Base §5.1.25.1.20: FDP is enabled and disabled, and a configuration chosen, while no namespace exists.
#[test]
fn placement_is_chosen_while_there_is_no_namespace() {
    let served = parted(fdp_drive());
    let mut host = served.host(1);
    let set = |host: &mut Host, value: u32| {
        // Saved or not, it is kept.
        let entry = Entry::feature(true, 0x1d, 1).dword(10, 0x1d | (value & 1) << 31);
        admin(host, entry.dword(12, value), Transfer::None)
    };
    let get = |host: &mut Host| {
        let entry = Entry::feature(false, 0x1d, 1);
        host.admin.run(entry, Transfer::None).unwrap().result
    };
    assert_eq!((get(&mut host), set(&mut host, 0)), (1, 0x0c));
    write(&mut host, 1, 0, &pattern(1, 4096));
    assert_eq!(host.fdp_statistics().unwrap().host_bytes, 4096);
    host.delete_namespace(u32::MAX).unwrap();
    // Configurations of 8, 4, 2 and 1 handles.
    let log = host.log(0x20, 4096, 1).unwrap();
    assert_eq!(log[0], 3);
    let mut at = 16;
    for handles in [8, 4, 2, 1] {
        assert_eq!((log[at + 2] >> 7, log[at + 8]), (1, handles));
        at += usize::from(log[at]);
    }
    assert_eq!(
        u32::from_le_bytes(log[4..8].try_into().unwrap()) as usize,
        at
    );
    assert_eq!(set(&mut host, 1 | 4 << 8), 0x02);
    assert_eq!(set(&mut host, 1 | 2 << 8), 0);
    assert_eq!(get(&mut host), 1 | 2 << 8);
    assert_eq!(host.fdp_usage().unwrap(), [0, 0]);
    assert_eq!(host.fdp_statistics().unwrap().host_bytes, 0);
    let of = |handles: &[u16]| NewNamespace {
        handles: handles.to_vec(),
        ..NewNamespace::of(BLOCKS)
    };
    assert_eq!(
        host.create_namespace(&of(&[2])).unwrap().status.number(),
        0x2a
    );
    assert_eq!(create(&mut host, &of(&[1])), 1);
    assert_eq!(set(&mut host, 0), 0x0c);
    host.delete_namespace(1).unwrap();
    // Disabled: no directive, no logs but of configurations, no list, and all to one stream.
    assert_eq!((set(&mut host, 0), get(&mut host)), (0, 0));
    assert_eq!(create(&mut host, &of(&[9, 9])), 1);
    assert_eq!(host.directives().unwrap().1, 1);
    let tagged = Entry::write(0, 1, Tag::Placement(0));
    assert_eq!(io(&mut host, tagged, Transfer::out(vec![1; 4096])), 0x02);
    write(&mut host, 1, 0, &pattern(1, 4096));
    assert_eq!(served.pages_of_streams(), [2, 0, 0, 0, 0, 0, 0, 0]);
    for page in 0x21..=0x23 {
        let entry = Entry::log(page, u32::MAX, 64, 1);
        assert_eq!(admin(&mut host, entry, Transfer::In(64)), 0x29);
    }
    let status = Entry::new(0x12, 1).dword(10, 1).dword(11, 15);
    assert_eq!(io(&mut host, status, Transfer::In(64)), 0x29);
    assert_eq!(host.log(0x20, 64, 1).unwrap()[0], 3);
}
