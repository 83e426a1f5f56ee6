//! Whatever a host says, the target stays what it is: found cases replayed, and commands drawn at random.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../../fuzz/src/session.rs"]
mod session;

use std::{fs, path::Path};

use proptest::{prelude::*, test_runner::RngSeed};
use session::{capsule, session};

#[test]
fn cases_of_sessions_that_were_found_hold() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/sessions");
    let mut cases: Vec<_> = fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    for case in cases {
        session(&fs::read(case).unwrap());
    }
}

/// The greetings are right: otherwise no case would reach a command.
#[test]
fn the_greetings_are_answered_with_success() {
    for how in [0, 1] {
        let said = session(&[how, 0, 0]);
        // ICResp, then CapsuleResp with status 0 in its bytes 23:22, and on the admin queue one more.
        assert_eq!((said[0].len(), said[1].len()), (128 + 24 + 24, 128 + 24));
        for answers in &said {
            assert!(
                answers[128..].chunks(24).all(|unit| unit[22..24] == [0, 0]),
                "{answers:x?}"
            );
        }
    }
}

/// A command: an opcode of those there are or any, a few fields, data in its capsule or none.
fn command(is_admin: bool) -> impl Strategy<Value = Vec<u8>> {
    let known: &'static [u8] = if is_admin {
        &[
            0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x15, 0x18, 0x19, 0x1a, 0x7f, 0x80,
        ]
    } else {
        &[0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x0c, 0x12, 0x1d, 0x7f]
    };
    let opcode = prop_oneof![8 => prop::sample::select(known), 1 => any::<u8>()];
    let dword = || prop_oneof![4 => 0..16_u32, 2 => Just(u32::MAX), 1 => any::<u32>(), 1 => (0..8_u32).prop_map(|bit| bit << 20)];
    let dwords = proptest::array::uniform6(dword());
    let length = prop_oneof![
        Just(0_usize),
        Just(16),
        Just(512),
        Just(4096),
        0..8192_usize
    ];
    (
        opcode,
        0..5_u32,
        dwords,
        length,
        any::<u16>(),
        any::<bool>(),
    )
        .prop_map(|(opcode, namespace, dwords, length, identifier, inside)| {
            let mut entry = [0; 64];
            (entry[0], entry[1]) = (opcode, 0x40);
            entry[2..4].copy_from_slice(&identifier.to_le_bytes());
            entry[4..8].copy_from_slice(&namespace.to_le_bytes());
            entry[32..36].copy_from_slice(&(length as u32).to_le_bytes());
            entry[39] = if inside { 0x01 } else { 0x5a };
            for (place, dword) in dwords.iter().enumerate() {
                entry[40 + 4 * place..44 + 4 * place].copy_from_slice(&dword.to_le_bytes());
            }
            let mut out = Vec::new();
            capsule(
                &mut out,
                &entry,
                &vec![identifier as u8; if inside { length } else { 0 }],
            );
            out
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(8),
        ..ProptestConfig::default()
    })]

    #[test]
    fn commands_drawn_at_random_hold(
        fdp in any::<bool>(),
        admin in proptest::collection::vec(command(true), 0..8),
        io in proptest::collection::vec(command(false), 0..12),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let admin = admin.concat();
        let mut input = vec![u8::from(fdp)];
        input.extend_from_slice(&(admin.len() as u16).to_le_bytes());
        input.extend_from_slice(&admin);
        input.extend_from_slice(&io.concat());
        for (place, value) in changes {
            if input.len() > 3 {
                let place = 3 + place.index(input.len() - 3);
                input[place] = value;
            }
        }
        session(&input);
    }
}
