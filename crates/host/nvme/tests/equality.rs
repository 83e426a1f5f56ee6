//! A drive behind a network counts as the same drive does that is asked directly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use anabranch_initiator::{Entry, Tag, Transfer};
use anabranch_nvme::drive::{Hint, ServedDrive};
use anabranch_ssd::{
    PageRange,
    streams::{Scope, StreamHost},
};
use harness::{Served, fdp_drive, pattern, streams_drive};

/// Pages that are written with a number, or discarded.
type Step = (PageRange, Option<u16>);

/// The drive filled in order; then runs of pages overwritten, the low addresses more often, and some discarded.
fn steps(identifiers: &[u16]) -> Vec<Step> {
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let fill = (0..8192)
        .step_by(32)
        .map(|first| (PageRange::new(first, 32), Some(identifiers[0])));
    let mut steps: Vec<Step> = fill.collect();
    for _ in 0..20_000 {
        let first = (draw(8184) * draw(8184) / 8184) as u32;
        let pages = PageRange::new(first, 1 + draw(4) as u32);
        let identifier = identifiers[(first as usize * identifiers.len()) / 8192];
        steps.push((pages, (draw(20) > 0).then_some(identifier)));
    }
    steps
}

fn directly(
    mut drive: ServedDrive,
    host: StreamHost,
    steps: &[Step],
    hint: fn(u16) -> Hint,
) -> ServedDrive {
    let scope = Scope { namespace: 1, host };
    for (pages, identifier) in steps {
        match identifier {
            Some(identifier) => drive.write(scope, hint(*identifier), *pages).unwrap(),
            None => drive.discard(*pages).unwrap(),
        }
    }
    drive
}

fn through_the_network(served: &Served, steps: &[Step], tag: fn(u16) -> Tag) {
    let mut host = served.host(1);
    if tag(1) == Tag::Stream(1) {
        host.enable_streams(true).unwrap();
    }
    let queue = host.io().unwrap();
    for (pages, identifier) in steps {
        let first = u64::from(pages.first);
        if queue.outstanding() == 32 {
            assert!(queue.wait().unwrap().status.is_success());
        }
        match identifier {
            // In the capsule: what is asked for comes later than what follows.
            Some(identifier) if pages.count <= 4 => {
                let entry = Entry::write(first, pages.count, tag(*identifier));
                queue
                    .submit(
                        entry,
                        Transfer::out(pattern(first, pages.count as usize * 4096)),
                    )
                    .unwrap();
                queue.flush().unwrap();
            }
            _ => {
                while queue.outstanding() > 0 {
                    queue.flush().unwrap();
                    assert!(queue.wait().unwrap().status.is_success());
                }
                let completion = match identifier {
                    Some(identifier) => {
                        let entry = Entry::write(first, pages.count, tag(*identifier));
                        queue.run(
                            entry,
                            Transfer::out(pattern(first, pages.count as usize * 4096)),
                        )
                    }
                    None => {
                        let mut range = [0; 16];
                        range[4..8].copy_from_slice(&pages.count.to_le_bytes());
                        range[8..].copy_from_slice(&first.to_le_bytes());
                        queue.run(
                            Entry::new(0x09, 1).dword(11, 1 << 2),
                            Transfer::out(&range[..]),
                        )
                    }
                };
                assert!(completion.unwrap().status.is_success());
            }
        }
    }
    while queue.outstanding() > 0 {
        assert!(queue.wait().unwrap().status.is_success());
    }
}

fn same(served: &Served, drive: &ServedDrive) {
    let there = served.target.drive();
    there.verify().unwrap();
    assert!(
        drive.counters().copied_pages > 1000,
        "hardly anything was collected"
    );
    assert_eq!(there.counters(), drive.counters());
    assert_eq!(there.stream_counters(), drive.stream_counters());
}

#[test]
fn with_streams_to_the_page() {
    let steps = steps(&[4, 9, 77, 65535]);
    // The identifier of the tests' first host, as a number (Base §6.3: 128 bits, little-endian).
    let host = StreamHost::Identified(u128::from_le_bytes([
        0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1,
    ]));
    let drive = directly(streams_drive(false), host, &steps, Hint::Stream);
    let served = Served::streams();
    through_the_network(&served, &steps, Tag::Stream);
    same(&served, &drive);
}

#[test]
fn with_placement_to_the_page() {
    let steps = steps(&[0, 1, 2, 7]);
    let drive = directly(
        fdp_drive(),
        StreamHost::Anonymous(1),
        &steps,
        Hint::Placement,
    );
    let served = Served::fdp();
    through_the_network(&served, &steps, Tag::Placement);
    same(&served, &drive);
}
