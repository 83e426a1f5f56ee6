//! Findings of the fuzzers, replayed, and a small fuzzer of its own that needs no nightly compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../../fuzz/src/codec.rs"]
mod codec;
#[path = "../../../../fuzz/src/security.rs"]
mod security;

use std::{fs, path::Path};

use anabranch_nvme::pdu::{Digests, Encoder, Initialize, Side, Transfer};
use proptest::{prelude::*, test_runner::RngSeed};

fn replay(target: &str, check: impl Fn(&[u8])) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../fuzz/corpus")
        .join(target);
    let mut cases: Vec<_> = fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no case of {target}");
    for case in cases {
        check(&fs::read(case).unwrap());
    }
}

#[test]
fn cases_of_units_that_were_found_hold() {
    replay("units", codec::units);
}

#[test]
fn cases_of_commands_that_were_found_hold() {
    replay("commands", codec::commands);
}

#[test]
fn cases_of_authentications_that_were_found_hold() {
    replay("security", security::security);
}

/// A stream of valid units in one of both directions.
fn stream(how: u8, units: &[(u8, u16, Vec<u8>)]) -> Vec<u8> {
    let encoder = Encoder {
        digests: Digests::of(how >> 1),
        alignment: how >> 5,
    };
    let mut out = vec![how];
    for (kind, number, data) in units {
        let transfer = Transfer {
            command: *number,
            tag: !*number,
            offset: u32::from(*number) * 16,
            length: data.len() as u32,
            last: number % 2 == 0,
        };
        let initialize = Initialize {
            version: 0,
            alignment: kind % 32,
            digests: Digests::of(*kind),
            limit: 7,
        };
        match (how & 1 == 0, kind % 4) {
            (true, 0) => Encoder::initialize(&mut out, Side::Host, initialize),
            (true, 1) => encoder.command(&mut out, &[*kind; 64], data),
            (true, _) => encoder.host_data(&mut out, transfer, data),
            (false, 0) => Encoder::initialize(&mut out, Side::Controller, initialize),
            (false, 1) => encoder.response(&mut out, &[*kind; 16]),
            (false, 2) => encoder.ready_to_transfer(&mut out, transfer),
            (false, _) => encoder
                .controller_data(&mut out, transfer, false, |slot| slot.copy_from_slice(data)),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, rng_seed: RngSeed::Fixed(8), ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_hold(input in proptest::collection::vec(any::<u8>(), 0..300)) {
        codec::units(&input);
        codec::commands(&input);
        security::security(&input);
    }

    #[test]
    fn authentications_of_any_messages_hold(how: u8, tid: u8, edits in proptest::collection::vec((any::<u8>(), any::<u8>()), 0..6)) {
        let mut input = vec![how, 72];
        input.extend([0, 0, 0, 0, tid, 0, 0, 1, 1, 0, 3, 1, 1, 2, 3]);
        input.resize(2 + 72, 0);
        input.extend([0, 16 + 64, 1, 2, 0, 0, tid, 0, 32]);
        input.resize(input.len() + 16 + 64 - 7, 0);
        input.extend([0, 16, 1, 4, 0, 0, tid, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for (at, value) in edits {
            let length = input.len();
            input[usize::from(at) % length] = value;
        }
        security::security(&input);
    }

    #[test]
    fn valid_units_with_a_few_bytes_changed_hold(
        how in any::<u8>(),
        units in proptest::collection::vec((any::<u8>(), any::<u16>(), proptest::collection::vec(any::<u8>(), 0..64)), 1..8),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut input = stream(how, &units);
        for (place, value) in changes {
            let place = place.index(input.len());
            input[place] = value;
        }
        input.truncate(kept.index(input.len() * 2).max(1));
        codec::units(&input);
    }
}
