//! PDUs written and read again, and PDUs that are none.

use super::*;

fn framing(sender: Side, digests: Digests) -> Framing {
    Framing {
        sender,
        digests,
        most_data: 8192,
    }
}

fn transfer(length: u32) -> Transfer {
    Transfer {
        command: 7,
        tag: 3,
        offset: 512,
        length,
        last: true,
    }
}

/// Each kind of PDU that carries digests, by each side.
fn pdus(encoder: Encoder) -> Vec<(Side, Vec<u8>)> {
    let mut pdus = Vec::new();
    let mut add = |side, write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = vec![];
        write(&mut out);
        pdus.push((side, out));
    };
    add(Side::Host, &|out| encoder.command(out, &[5; 64], &[]));
    add(Side::Host, &|out| {
        encoder.command(out, &[5; 64], &[9; 4096])
    });
    add(Side::Host, &|out| {
        encoder.host_data(out, transfer(0), &[1; 100])
    });
    add(Side::Controller, &|out| encoder.response(out, &[6; 16]));
    add(Side::Controller, &|out| {
        encoder.ready_to_transfer(out, transfer(5))
    });
    add(Side::Controller, &|out| {
        encoder.controller_data(out, transfer(512), true, |slot| slot.fill(8));
    });
    pdus
}

#[test]
fn flags_are_where_the_specification_has_them() {
    // TCP §3.6.1, FLAGS; §3.6.2.9, of data.
    use flag::{DATA_DIGEST, HEADER_DIGEST, LAST, SUCCESS};
    assert_eq!([HEADER_DIGEST, DATA_DIGEST, LAST, SUCCESS], [1, 2, 4, 8]);
}

#[test]
fn the_longest_pdu_has_the_most_data_at_the_largest_offset_and_their_digest() {
    assert_eq!(framing(Side::Host, Digests::BOTH).longest(), 256 + 8192 + 4);
}

#[test]
fn every_pdu_reads_as_it_was_written_with_digests_and_without() {
    for digests in [Digests::NONE, Digests::BOTH] {
        for alignment in [0, 31] {
            for (side, pdu) in pdus(Encoder { digests, alignment }) {
                let framing = framing(side, digests);
                assert_eq!(framing.length(&pdu), Ok(Some(pdu.len())));
                match framing.decode(&pdu).unwrap() {
                    Pdu::Command { entry, data } => {
                        assert_eq!(entry, [5; 64]);
                        assert!(data.bytes.iter().all(|&byte| byte == 9) && !data.damaged);
                    }
                    Pdu::HostData {
                        transfer: got,
                        data,
                    } => {
                        assert_eq!(got, transfer(100));
                        assert_eq!(data.bytes, [1; 100]);
                    }
                    Pdu::Response { entry } => assert_eq!(entry, [6; 16]),
                    Pdu::ReadyToTransfer(got) => {
                        assert_eq!(
                            got,
                            Transfer {
                                last: false,
                                ..transfer(5)
                            }
                        );
                    }
                    Pdu::ControllerData {
                        transfer: got,
                        data,
                        success,
                    } => {
                        assert_eq!(
                            got,
                            Transfer {
                                tag: 0,
                                ..transfer(512)
                            }
                        );
                        assert!(data.bytes == [8; 512] && success);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found_where_both_digests_are_on() {
    let encoder = Encoder {
        digests: Digests::BOTH,
        alignment: 0,
    };
    for (side, pdu) in pdus(encoder) {
        let framing = framing(side, Digests::BOTH);
        let good = framing.decode(&pdu).unwrap();
        for bit in 0..pdu.len() * 8 {
            let mut bad = pdu.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let whole = framing.length(&bad) == Ok(Some(bad.len()));
            let found = match framing.decode(&bad) {
                // A termination has no digest, and ends the connection as an error does.
                Err(_) | Ok(Pdu::Termination(_)) => true,
                Ok(
                    Pdu::Command { data, .. }
                    | Pdu::HostData { data, .. }
                    | Pdu::ControllerData { data, .. },
                ) => data.damaged,
                Ok(_) => false,
            };
            assert!(!whole || found, "bit {bit} of {good:?}");
        }
    }
}

#[test]
fn a_digest_is_in_use_where_both_ends_want_it() {
    let digests = Digests::of;
    let bits = |bits| (digests(bits).header, digests(bits).data);
    assert_eq!((bits(1), bits(2)), ((true, false), (false, true)));
    for (one, other) in (0..4).flat_map(|one| (0..4).map(move |other| (one, other))) {
        assert_eq!(digests(one).and(digests(other)), digests(one & other));
    }
}

#[test]
fn every_type_is_read_by_its_number_and_no_other_number_is_one() {
    for code in 0..=u8::MAX {
        let known = Kind::ALL.iter().find(|(_, known)| *known == code);
        assert_eq!(Kind::of(code), known.map(|(kind, _)| *kind), "{code:#x}");
    }
}

#[test]
fn padding_is_zero_and_only_success_is_told_as_such() {
    let encoder = Encoder {
        digests: Digests::NONE,
        alignment: 31,
    };
    let (mut command, mut data) = (vec![], vec![]);
    encoder.command(&mut command, &[5; 64], &[9; 512]);
    assert_eq!(command[COMMAND_HEADER..128], [0; 56]);
    encoder.controller_data(&mut data, transfer(512), false, |slot| slot.fill(8));
    match framing(Side::Controller, Digests::NONE).decode(&data) {
        Ok(Pdu::ControllerData { success, .. }) => assert!(!success),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_longest_pdu_is_taken_and_a_byte_more_is_not() {
    // PDU type, its header's length, its side and its greatest length: the furthest that data begin, the data and their
    // digest; or, where there are no data, the header and its digest.
    let kinds = [
        (0x04, 72, Side::Host, 256 + 8192 + 4),
        (0x05, 24, Side::Controller, 24 + 4),
        (0x09, 24, Side::Controller, 24 + 4),
    ];
    for (kind, header, side, longest) in kinds {
        let framing = framing(side, Digests::BOTH);
        let length = |length: u32| {
            let bytes = length.to_le_bytes();
            framing.length(&[[kind, 0, header, 0], bytes].concat())
        };
        assert_eq!(length(longest), Ok(Some(longest as usize)), "{kind}");
        assert_eq!(length(longest + 1), Err(FatalError::header(4)), "{kind}");
    }
}

#[test]
fn a_header_digest_that_the_flags_do_not_tell_is_none() {
    let encoder = Encoder {
        digests: Digests::BOTH,
        alignment: 0,
    };
    let mut pdu = vec![];
    encoder.response(&mut pdu, &[6; 16]);
    pdu[1] &= !flag::HEADER_DIGEST;
    let digest = crc32c::crc32c(&pdu[..SHORT_HEADER]);
    pdu[SHORT_HEADER..].copy_from_slice(&digest.to_le_bytes());
    let refused = FatalError::new(FatalStatus::HeaderDigest, digest);
    let decoded = framing(Side::Controller, Digests::BOTH).decode(&pdu);
    assert_eq!(decoded.unwrap_err(), refused);
}

#[test]
fn no_prefix_of_a_pdu_is_one() {
    for digests in [Digests::NONE, Digests::BOTH] {
        for (side, pdu) in pdus(Encoder {
            digests,
            alignment: 0,
        }) {
            let framing = framing(side, digests);
            for length in 0..pdu.len() {
                assert!(framing.decode(&pdu[..length]).is_err(), "{length}");
            }
        }
    }
}

#[test]
fn a_pdu_longer_than_allowed_is_refused_by_its_header_alone() {
    let mut pdu = Vec::new();
    Encoder::default().command(&mut pdu, &[0; 64], &[0; 8192]);
    let framing = framing(Side::Host, Digests::NONE);
    assert_eq!(framing.length(&pdu[..8]), Ok(Some(pdu.len())));
    pdu[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(framing.length(&pdu[..8]), Err(FatalError::header(4)));
    assert_eq!(framing.length(&pdu[..7]), Ok(None));
}

#[test]
fn a_side_may_not_send_the_others_pdus() {
    for (side, pdu) in pdus(Encoder::default()) {
        let other = match side {
            Side::Host => Side::Controller,
            Side::Controller => Side::Host,
        };
        let framing = framing(other, Digests::NONE);
        assert_eq!(framing.length(&pdu), Err(FatalError::header(0)));
    }
}

#[test]
fn the_handshake_reads_as_it_was_written() {
    let wanted = Initialize {
        version: 0,
        alignment: 3,
        digests: Digests::BOTH,
        limit: 65536,
    };
    for side in [Side::Host, Side::Controller] {
        let mut pdu = Vec::new();
        Encoder::initialize(&mut pdu, side, wanted);
        assert_eq!(pdu.len(), INITIALIZE_LENGTH);
        match framing(side, Digests::NONE).decode(&pdu) {
            Ok(Pdu::InitializeRequest(got) | Pdu::InitializeResponse(got)) => {
                assert_eq!(got, wanted);
            }
            other => panic!("{other:?}"),
        }
        pdu[8] = 1;
        let error = framing(side, Digests::NONE).decode(&pdu).unwrap_err();
        assert_eq!(error.status, FatalStatus::Unsupported);
    }
}

#[test]
fn a_termination_says_why_and_shows_the_pdu_at_fault() {
    let mut pdu = Vec::new();
    let error = FatalError::header(4);
    Encoder::termination(&mut pdu, Side::Controller, error, &[7; 500]);
    let framing = framing(Side::Controller, Digests::BOTH);
    assert_eq!(framing.length(&pdu), Ok(Some(MOST_TERMINATION)));
    let expected = Termination {
        sender: Side::Controller,
        status: 1,
        information: 4,
    };
    assert_eq!(framing.decode(&pdu), Ok(Pdu::Termination(expected)));
}
