//! What must hold of any bytes that are read as protocol data units or as commands.
//!
//! The fuzz targets and the tests of `crates/host/nvme` share these; each panics when it does not hold.

use anabranch_nvme::{
    command::{Command, Descriptor},
    completion::Completion,
    connect::{ConnectCommand, ConnectData},
    pdu::{Digests, Encoder, Framing, Pdu, Side, Transfer},
};

/// Bytes off a stream are cut into units: none is longer than the connection allows, each that is
/// read can be written and is then read as the same. The first byte is how the connection is.
pub fn units(input: &[u8]) {
    let Some((&how, mut stream)) = input.split_first() else {
        return;
    };
    let framing = Framing {
        sender: if how & 1 == 0 {
            Side::Host
        } else {
            Side::Controller
        },
        digests: Digests::of(how >> 1),
        most_data: 4096 << (how >> 3 & 3),
    };
    let alignment = how >> 5;
    while let Ok(Some(length)) = framing.length(stream) {
        assert!(length >= 8 && length <= framing.longest());
        if length > stream.len() {
            // Cut short: reading it nevertheless must be an error, not a panic.
            assert!(framing.decode(stream).is_err());
            return;
        }
        let (unit, rest) = stream.split_at(length);
        if let Ok(pdu) = framing.decode(unit) {
            same_again(&framing, alignment, pdu);
        }
        stream = rest;
    }
    let _ = framing.decode(stream);
}

fn same_again(framing: &Framing, alignment: u8, pdu: Pdu) {
    let encoder = Encoder {
        digests: framing.digests,
        alignment,
    };
    let mut written = Vec::new();
    match pdu {
        Pdu::InitializeRequest(initialize) | Pdu::InitializeResponse(initialize) => {
            Encoder::initialize(&mut written, framing.sender, initialize);
        }
        // The error is told to nobody: nothing of ours writes one again.
        Pdu::Termination(_) => return,
        Pdu::Command { entry, data } if !data.damaged => {
            encoder.command(&mut written, &entry, data.bytes)
        }
        Pdu::Response { entry } => encoder.response(&mut written, &entry),
        Pdu::HostData { transfer, data } if !data.damaged => {
            encoder.host_data(&mut written, transfer, data.bytes);
        }
        Pdu::ControllerData {
            transfer,
            data,
            success,
        } if !data.damaged => {
            let transfer = Transfer { tag: 0, ..transfer };
            encoder.controller_data(&mut written, transfer, success, |slot| {
                slot.copy_from_slice(data.bytes)
            });
            let read = framing.decode(&written);
            assert_eq!(
                read,
                Ok(Pdu::ControllerData {
                    transfer,
                    data,
                    success
                })
            );
            return;
        }
        Pdu::ReadyToTransfer(transfer) => {
            let transfer = Transfer {
                last: false,
                ..transfer
            };
            encoder.ready_to_transfer(&mut written, transfer);
            assert_eq!(framing.decode(&written), Ok(Pdu::ReadyToTransfer(transfer)));
            return;
        }
        _ => return,
    }
    assert_eq!(framing.length(&written), Ok(Some(written.len())));
    assert_eq!(framing.decode(&written), Ok(pdu));
}

/// Any 64 bytes are a command and any 16 a completion or a descriptor; reading and writing them
/// again changes nothing. What follows is read as Connect's data.
pub fn commands(input: &[u8]) {
    let mut entry = [0; 64];
    for (slot, &byte) in entry.iter_mut().zip(input) {
        *slot = byte;
    }
    let command = Command::of(&entry);
    let _ = (
        command.fabrics_type(),
        command.directive(),
        command.force_unit_access(),
    );
    assert!((1..=65536).contains(&command.blocks()));
    // Whether there is such a double word does not depend on the bytes.
    for number in [0, 1, 10, 15, 16, u8::MAX] {
        let _ = command.dword(number.into());
    }
    let _ = command.data.length();
    if !matches!(command.data, Descriptor::Unknown { .. }) {
        assert_eq!(Descriptor::of(&command.data.to_bytes()), command.data);
    }
    let connect = ConnectCommand::of(&command);
    assert_eq!(connect.keep_alive_ms, command.dword(12));

    let mut tail = [0; 16];
    tail.copy_from_slice(&entry[..16]);
    let completion = Completion::of(&tail);
    assert_eq!(Completion::of(&completion.to_bytes()), completion);

    if let Some(Ok(connect)) = input.get(64..).map(ConnectData::of) {
        assert_eq!(ConnectData::of(&connect.to_bytes()), Ok(connect));
    }
}
