//! Units written and read again, and units that are none.

use super::*;

const ALL: Digests = Digests {
    header: true,
    data: true,
};

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

/// Each kind of unit that carries digests, by each side.
fn units(encoder: Encoder) -> Vec<(Side, Vec<u8>)> {
    let mut units = Vec::new();
    let mut add = |side, write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = vec![];
        write(&mut out);
        units.push((side, out));
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
    units
}

#[test]
fn every_unit_reads_as_it_was_written_with_digests_and_without() {
    for digests in [Digests::default(), ALL] {
        for alignment in [0, 31] {
            for (side, unit) in units(Encoder { digests, alignment }) {
                let framing = framing(side, digests);
                assert_eq!(framing.length(&unit), Ok(Some(unit.len())));
                match framing.decode(&unit).unwrap() {
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
        digests: ALL,
        alignment: 0,
    };
    for (side, unit) in units(encoder) {
        let framing = framing(side, ALL);
        let good = framing.decode(&unit).unwrap();
        for bit in 0..unit.len() * 8 {
            let mut bad = unit.clone();
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
fn no_prefix_of_a_unit_is_one() {
    for digests in [Digests::default(), ALL] {
        for (side, unit) in units(Encoder {
            digests,
            alignment: 0,
        }) {
            let framing = framing(side, digests);
            for length in 0..unit.len() {
                assert!(framing.decode(&unit[..length]).is_err(), "{length}");
            }
        }
    }
}

#[test]
fn a_unit_longer_than_allowed_is_refused_by_its_header_alone() {
    let mut unit = Vec::new();
    Encoder::default().command(&mut unit, &[0; 64], &[0; 8192]);
    let framing = framing(Side::Host, Digests::default());
    assert_eq!(framing.length(&unit[..8]), Ok(Some(unit.len())));
    unit[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(framing.length(&unit[..8]), Err(FatalError::header(4)));
    assert_eq!(framing.length(&unit[..7]), Ok(None));
}

#[test]
fn a_side_may_not_send_the_others_units() {
    for (side, unit) in units(Encoder::default()) {
        let other = match side {
            Side::Host => Side::Controller,
            Side::Controller => Side::Host,
        };
        let framing = framing(other, Digests::default());
        assert_eq!(framing.length(&unit), Err(FatalError::header(0)));
    }
}

#[test]
fn the_handshake_reads_as_it_was_written() {
    let wanted = Initialize {
        version: 0,
        alignment: 3,
        digests: ALL,
        limit: 65536,
    };
    for side in [Side::Host, Side::Controller] {
        let mut unit = Vec::new();
        Encoder::initialize(&mut unit, side, wanted);
        assert_eq!(unit.len(), INITIALIZE_LENGTH);
        match framing(side, Digests::default()).decode(&unit) {
            Ok(Pdu::InitializeRequest(got) | Pdu::InitializeResponse(got)) => {
                assert_eq!(got, wanted);
            }
            other => panic!("{other:?}"),
        }
        unit[8] = 1;
        let error = framing(side, Digests::default()).decode(&unit).unwrap_err();
        assert_eq!(error.status, FatalStatus::Unsupported);
    }
}

#[test]
fn a_termination_says_why_and_shows_the_unit_at_fault() {
    let mut unit = Vec::new();
    let error = FatalError::header(4);
    Encoder::termination(&mut unit, Side::Controller, error, &[7; 500]);
    let framing = framing(Side::Controller, ALL);
    assert_eq!(framing.length(&unit), Ok(Some(MOST_TERMINATION)));
    let expected = Termination {
        sender: Side::Controller,
        status: 1,
        information: 4,
    };
    assert_eq!(framing.decode(&unit), Ok(Pdu::Termination(expected)));
}
