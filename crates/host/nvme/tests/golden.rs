//! Bytes by the standard, written by hand from its figures: what is read and written here must be
//! what any other host or controller means. Clauses: "TCP" is the NVM Express TCP Transport
//! Specification 1.1, "Base" the Base Specification 2.2, "NVM" the NVM Command Set Specification 1.1.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use anabranch_initiator as host;
use anabranch_nvme::{
    command::{Command, Descriptor},
    completion::{Completion, Status},
    connect::{ConnectCommand, ConnectData},
    pdu::{Digests, Encoder, FatalError, FatalStatus, Framing, Initialize, Pdu, Side, Transfer},
};

/// Bytes from hexadecimal digits; blanks are for the reader, `*n` repeats the byte before.
fn bytes(text: &str) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for word in text.split_whitespace() {
        match word.strip_prefix('*') {
            Some(times) => {
                let last = *out.last().unwrap();
                out.resize(out.len() + times.parse::<usize>().unwrap() - 1, last);
            }
            None => out.extend(
                (0..word.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&word[at..at + 2], 16).unwrap()),
            ),
        }
    }
    out
}

fn decode(sender: Side, digests: Digests, unit: &[u8]) -> Result<Pdu<'_>, FatalError> {
    let framing = Framing {
        sender,
        digests,
        most_data: 8192,
    };
    assert_eq!(framing.length(unit), Ok(Some(unit.len())));
    framing.decode(unit)
}

/// TCP §3.6.2.2: type 00h, HLEN 128, PLEN 128, PFV 0, HPDA 1 (8 bytes), DGST 3, MAXR2T 3 (four).
#[test]
fn an_initialize_request_is_as_in_the_figure() {
    let unit = bytes("00 00 80 00 80000000 0000 01 03 03000000 00 *112");
    let initialize = Initialize {
        version: 0,
        alignment: 1,
        digests: Digests::BOTH,
        limit: 3,
    };
    assert_eq!(
        decode(Side::Host, Digests::NONE, &unit).unwrap(),
        Pdu::InitializeRequest(initialize)
    );
    let mut written = Vec::new();
    Encoder::initialize(&mut written, Side::Host, initialize);
    assert_eq!(written, unit);
}

/// TCP §3.6.2.3: type 01h, CPDA 0, DGST 1 (header), MAXH2CDATA 131072.
#[test]
fn an_initialize_response_is_as_in_the_figure() {
    let unit = bytes("01 00 80 00 80000000 0000 00 01 00000200 00 *112");
    let digests = Digests {
        header: true,
        data: false,
    };
    let initialize = Initialize {
        version: 0,
        alignment: 0,
        digests,
        limit: 131_072,
    };
    assert_eq!(
        decode(Side::Controller, Digests::NONE, &unit).unwrap(),
        Pdu::InitializeResponse(initialize)
    );
    let mut written = Vec::new();
    Encoder::initialize(&mut written, Side::Controller, initialize);
    assert_eq!(written, unit);
}

/// TCP §3.6.2.5: type 03h, FES 1 (invalid header field), FEI 4 (the PLEN field), then the header at fault.
#[test]
fn a_termination_request_names_the_field_and_repeats_the_header() {
    let fault = bytes("04 00 48 00 ffffff7f");
    let mut written = Vec::new();
    Encoder::termination(
        &mut written,
        Side::Controller,
        FatalError::header(4),
        &fault,
    );
    assert_eq!(
        written,
        bytes("03 00 18 00 20000000 0100 04000000 00 *10 04 00 48 00 ffffff7f")
    );
    let status: Vec<u16> = [
        FatalStatus::InvalidHeader,
        FatalStatus::Sequence,
        FatalStatus::HeaderDigest,
        FatalStatus::OutOfRange,
        FatalStatus::LimitExceeded,
        FatalStatus::Unsupported,
    ]
    .map(FatalStatus::code)
    .into();
    assert_eq!(status, [1, 2, 3, 4, 5, 6]);
}

/// A write (NVM §3.2.6) of block 1_0000_0002h, 2 blocks, FUA, directive type 1, stream 1234h, its
/// 1024 bytes in the capsule (SGL 01h, Base §4.3.2), in CapsuleCmd (TCP §3.6.2.6) with PDO 72.
#[test]
fn a_write_with_a_stream_in_its_capsule_is_as_in_the_figures() {
    let unit = bytes(
        "04 00 48 48 48040000
         01 40 0700 01000000 0000000000000000 0000000000000000
         0000000000000000 00040000 000000 01
         02000000 01000000 01001040 00003412 00000000 00000000
         5a *1024",
    );
    let Pdu::Command { entry, data } = decode(Side::Host, Digests::NONE, &unit).unwrap() else {
        panic!()
    };
    assert_eq!((data.bytes, data.damaged), (&[0x5a; 1024][..], false));
    let command = Command::of(&entry);
    assert_eq!(
        (command.opcode, command.identifier, command.namespace),
        (1, 7, 1)
    );
    assert_eq!(
        (command.first_block(), command.blocks()),
        (0x1_0000_0002, 2)
    );
    assert_eq!(
        (command.directive(), command.force_unit_access()),
        ((1, 0x1234), true)
    );
    assert_eq!(
        command.data,
        Descriptor::InCapsule {
            offset: 0,
            length: 1024
        }
    );
    let mut written = Vec::new();
    Encoder::default().command(&mut written, &entry, data.bytes);
    assert_eq!(written, unit);
}

/// A read (NVM §3.2.4), its data by transport: SGL 5Ah (TCP §3.3.2).
#[test]
fn a_read_s_data_come_by_transport() {
    let unit = bytes(
        "04 00 48 00 48000000
         02 40 ffff 01000000 0000000000000000 0000000000000000
         0000000000000000 00100000 000000 5a
         00000000 00000000 07000000 00000000 00000000 00000000",
    );
    let Pdu::Command { entry, .. } = decode(Side::Host, Digests::NONE, &unit).unwrap() else {
        panic!()
    };
    let command = Command::of(&entry);
    assert_eq!((command.identifier, command.blocks()), (0xffff, 8));
    assert_eq!(command.data, Descriptor::Transport { length: 4096 });
}

/// R2T, H2CData and C2HData (TCP §3.6.2.10, .8, .9): CCCID, TTAG, offset, length; LAST_PDU is bit 2,
/// SUCCESS bit 3.
#[test]
fn transfers_are_as_in_the_figures() {
    let wanted = Transfer {
        command: 0x0102,
        tag: 0x0304,
        offset: 0x2000,
        length: 0x1000,
        last: false,
    };
    let unit = bytes("09 00 18 00 18000000 0201 0403 00200000 00100000 00000000");
    assert_eq!(
        decode(Side::Controller, Digests::NONE, &unit).unwrap(),
        Pdu::ReadyToTransfer(wanted)
    );
    let mut written = Vec::new();
    Encoder::default().ready_to_transfer(&mut written, wanted);
    assert_eq!(written, unit);

    let unit = bytes("06 04 18 18 1c000000 0201 0403 00200000 04000000 00000000 01020304");
    let Pdu::HostData { transfer, data } = decode(Side::Host, Digests::NONE, &unit).unwrap() else {
        panic!()
    };
    assert_eq!(
        transfer,
        Transfer {
            length: 4,
            last: true,
            ..wanted
        }
    );
    assert_eq!(data.bytes, [1, 2, 3, 4]);
    let mut written = Vec::new();
    Encoder::default().host_data(&mut written, transfer, data.bytes);
    assert_eq!(written, unit);

    let unit = bytes("07 0c 18 18 1c000000 0201 0000 00200000 04000000 00000000 01020304");
    let Pdu::ControllerData {
        transfer,
        data,
        success,
    } = decode(Side::Controller, Digests::NONE, &unit).unwrap()
    else {
        panic!()
    };
    assert!(success && transfer.last);
    let mut written = Vec::new();
    Encoder::default().controller_data(&mut written, transfer, true, |slot| {
        slot.copy_from_slice(data.bytes)
    });
    assert_eq!(written, unit);
}

/// A completion (Base §4.2.1): result 7:0, SQHD 9:8, CID 13:12, status 15:14 with the phase in bit
/// 0, code 8:1, type 11:9, do not retry 15. 7Fh of type 1 is "Stream Resource Allocation Failed".
#[test]
fn a_completion_is_as_in_the_figure() {
    let unit = bytes("05 00 18 00 18000000 0d0c0b0a 00000000 0500 0000 2a00 fe82");
    let completion = Completion {
        result: 0x0a0b_0c0d,
        queue_head: 5,
        identifier: 42,
        status: Status::STREAM_ALLOCATION,
    };
    let mut written = Vec::new();
    Encoder::default().response(&mut written, &completion.to_bytes());
    assert_eq!(written, unit);
    let theirs = host::Completion::of(&unit[8..], Vec::new());
    assert_eq!(
        (theirs.status.number(), theirs.status.final_),
        (0x17f, true)
    );
    assert_eq!(
        (theirs.result, theirs.head, theirs.identifier),
        (0x0a0b_0c0d, 5, 42)
    );
}

/// Digests are CRC-32C (TCP §3.3.1.1) with the vectors of RFC 3720 §B.4: 32 bytes of zeroes are
/// 8A9136AAh, 32 of ones 62A8AB43h, 0 to 31 46DD794Eh. The header's lies behind the header, before
/// the data; the data's behind the data; both count in PLEN, PDO counts the first.
#[test]
fn digests_lie_behind_what_they_digest() {
    for (data, digest) in [
        (vec![0; 32], "aa36918a"),
        (vec![0xff; 32], "43aba862"),
        ((0..32).collect::<Vec<u8>>(), "4e79dd46"),
    ] {
        let transfer = Transfer {
            command: 1,
            tag: 0,
            offset: 0,
            length: 32,
            last: true,
        };
        let encoder = Encoder {
            digests: Digests::BOTH,
            alignment: 0,
        };
        let mut unit = Vec::new();
        encoder.host_data(&mut unit, transfer, &data);
        assert_eq!(unit[..8], bytes("06 07 18 1c 40000000"));
        assert_eq!(
            (&unit[28..60], &unit[60..]),
            (&data[..], &bytes(digest)[..])
        );
        let Pdu::HostData { data: read, .. } = decode(Side::Host, Digests::BOTH, &unit).unwrap()
        else {
            panic!()
        };
        assert!(!read.damaged);

        // One bit of the data: their command fails. One bit of the header: the connection does.
        unit[40] ^= 1;
        let Pdu::HostData { data: read, .. } = decode(Side::Host, Digests::BOTH, &unit).unwrap()
        else {
            panic!()
        };
        assert!(read.damaged);
        unit[12] ^= 1;
        let error = decode(Side::Host, Digests::BOTH, &unit).unwrap_err();
        assert_eq!(error.status, FatalStatus::HeaderDigest);
    }
}

/// HPDA and CPDA: data begin at a multiple of (n + 1) dwords (TCP §3.6.2.2).
#[test]
fn data_are_aligned_as_the_receiver_wants() {
    let transfer = Transfer {
        command: 1,
        tag: 0,
        offset: 0,
        length: 8,
        last: true,
    };
    let encoder = Encoder {
        digests: Digests::BOTH,
        alignment: 15,
    };
    let mut unit = Vec::new();
    encoder.controller_data(&mut unit, transfer, false, |slot| slot.fill(9));
    assert_eq!(unit[..8], bytes("07 07 18 40 4c000000"));
    let Pdu::ControllerData { data, .. } = decode(Side::Controller, Digests::BOTH, &unit).unwrap()
    else {
        panic!()
    };
    assert_eq!((data.bytes, data.damaged), (&[9; 8][..], false));
}

/// Connect (Base §6.3): opcode 7Fh, type 01h in byte 4, QID 43:42, SQSIZE 45:44, CATTR 46, KATO 51:48;
/// data: HOSTID 15:0, CNTLID 17:16, SUBNQN from 256, HOSTNQN from 512.
#[test]
fn a_connect_is_as_in_the_figures() {
    let entry = bytes(
        "7f 40 0300 01 00 *19 0000000000000000 00040000 000000 01
         0000 0200 7f00 04 00 c0d40100 00 *12",
    );
    let command = Command::of(&entry.try_into().unwrap());
    assert_eq!((command.opcode, command.fabrics_type()), (0x7f, 1));
    let connect = ConnectCommand {
        format: 0,
        queue: 2,
        size: 127,
        no_flow_control: true,
        keep_alive_ms: 120_000,
    };
    assert_eq!(ConnectCommand::of(&command), connect);

    let mut data = vec![0; 1024];
    data[..16].copy_from_slice(&bytes("000102030405060708090a0b0c0d0e0f"));
    data[16..18].copy_from_slice(&[0xff, 0xff]);
    data[256..263].copy_from_slice(b"nqn.sub");
    data[512..520].copy_from_slice(b"nqn.host");
    let connect = ConnectData {
        host: 0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100,
        controller: 0xffff,
        subsystem: "nqn.sub".into(),
        host_name: "nqn.host".into(),
    };
    assert_eq!(ConnectData::of(&data), Ok(connect.clone()));
    assert_eq!(connect.to_bytes(), data);
}

/// The test's own host has its own table of offsets; both must mean the same.
#[test]
fn what_the_test_s_host_writes_is_what_the_target_reads() {
    let entry = host::Entry::write(77, 256, host::Tag::Placement(0xbeef)).forced();
    let command = Command::of(&entry.0);
    assert_eq!((command.first_block(), command.blocks()), (77, 256));
    assert_eq!(
        (command.directive(), command.force_unit_access()),
        ((2, 0xbeef), true)
    );

    let entry = host::Entry::log(0x22, u32::MAX, 1 << 20, 1);
    let command = Command::of(&entry.0);
    let dwords = command.dword(10) >> 16 | (command.dword(11) & 0xffff) << 16;
    assert_eq!((command.dword(10) & 0xff, dwords), (0x22, (1 << 18) - 1));
    assert_eq!(command.dword(11) >> 16, 1);
}
