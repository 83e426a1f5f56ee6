//! Writing protocol data units.

use super::{
    DIGEST, Digests, FatalError, INITIALIZE_LENGTH, Initialize, Kind, SHORT_HEADER, Side, Transfer,
    flag,
};
use crate::wire::put;

/// Writes PDUs at the end of a buffer, as one side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Encoder {
    /// Checksums that both ends agreed on.
    pub digests: Digests,
    /// Alignment of data that the receiver wants: in dwords, 0's based.
    pub alignment: u8,
}

impl Encoder {
    /// ICReq or ICResp.
    pub fn initialize(out: &mut Vec<u8>, sender: Side, initialize: Initialize) {
        let kind = match sender {
            Side::Host => Kind::InitializeRequest,
            Side::Controller => Kind::InitializeResponse,
        };
        let mut pdu = [0; INITIALIZE_LENGTH];
        common(&mut pdu, kind, 0, INITIALIZE_LENGTH);
        put(&mut pdu, 8, &initialize.version.to_le_bytes());
        put(&mut pdu, 10, &[initialize.alignment]);
        put(&mut pdu, 11, &[initialize.digests.bits()]);
        put(&mut pdu, 12, &initialize.limit.to_le_bytes());
        out.extend_from_slice(&pdu);
    }

    /// H2CTermReq or C2HTermReq, with the beginning of the PDU at fault.
    pub fn termination(out: &mut Vec<u8>, sender: Side, error: FatalError, pdu: &[u8]) {
        let kind = match sender {
            Side::Host => Kind::HostTermination,
            Side::Controller => Kind::ControllerTermination,
        };
        let fault = &pdu[..pdu.len().min(super::MOST_TERMINATION - SHORT_HEADER)];
        let mut pdu = [0; SHORT_HEADER];
        common(&mut pdu, kind, 0, SHORT_HEADER + fault.len());
        put(&mut pdu, 8, &error.status.code().to_le_bytes());
        put(&mut pdu, 10, &error.information().to_le_bytes());
        out.extend_from_slice(&pdu);
        out.extend_from_slice(fault);
    }

    /// CapsuleCmd: a submission queue entry, with data or without.
    pub fn command(&self, out: &mut Vec<u8>, entry: &[u8; 64], data: &[u8]) {
        self.with_data(out, Kind::Command, 0, entry, data.len(), |slot| {
            slot.copy_from_slice(data);
        });
    }

    /// CapsuleResp: a completion queue entry.
    #[inline]
    pub fn response(&self, out: &mut Vec<u8>, entry: &[u8; 16]) {
        self.with_data(out, Kind::Response, 0, entry, 0, |_| ());
    }

    /// R2T.
    pub fn ready_to_transfer(&self, out: &mut Vec<u8>, transfer: Transfer) {
        let fields = transfer_fields(transfer);
        self.with_data(out, Kind::ReadyToTransfer, 0, &fields, 0, |_| ());
    }

    /// H2CData. `transfer.length` is that of the data.
    pub fn host_data(&self, out: &mut Vec<u8>, transfer: Transfer, data: &[u8]) {
        let transfer = Transfer {
            length: data.len() as u32,
            ..transfer
        };
        let last = if transfer.last { flag::LAST } else { 0 };
        let fields = transfer_fields(transfer);
        self.with_data(out, Kind::HostData, last, &fields, data.len(), |slot| {
            slot.copy_from_slice(data);
        });
    }

    /// C2HData, whose `transfer.length` bytes `fill` puts in place. `success`: the command
    /// succeeded, and no response follows.
    #[inline]
    pub fn controller_data(
        &self,
        out: &mut Vec<u8>,
        transfer: Transfer,
        success: bool,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let last = if transfer.last { flag::LAST } else { 0 };
        let flags = last | if success { flag::SUCCESS } else { 0 };
        let fields = transfer_fields(Transfer { tag: 0, ..transfer });
        let length = transfer.length as usize;
        self.with_data(out, Kind::ControllerData, flags, &fields, length, fill);
    }

    /// Header, its digest, padding, data and their digest.
    #[inline]
    fn with_data(
        &self,
        out: &mut Vec<u8>,
        kind: Kind,
        flags: u8,
        fields: &[u8],
        length: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let header_digest = if self.digests.header { DIGEST } else { 0 };
        let header = kind.header_length() + header_digest;
        let has_data = length > 0;
        let data_at = if has_data {
            header.next_multiple_of((usize::from(self.alignment) + 1) * 4)
        } else {
            header
        };
        let data_digest = if has_data && self.digests.data {
            DIGEST
        } else {
            0
        };
        let total = data_at + length + data_digest;
        let flags = flags
            | if header_digest > 0 {
                flag::HEADER_DIGEST
            } else {
                0
            }
            | if data_digest > 0 {
                flag::DATA_DIGEST
            } else {
                0
            };
        let begin = out.len();
        out.resize(begin + total, 0);
        let pdu = &mut out[begin..];
        common(pdu, kind, flags, total);
        put(pdu, 3, &[if has_data { data_at as u8 } else { 0 }]);
        put(pdu, 8, fields);
        if header_digest > 0 {
            let digest = crc32c::crc32c(&pdu[..kind.header_length()]);
            put(pdu, kind.header_length(), &digest.to_le_bytes());
        }
        if has_data {
            fill(&mut pdu[data_at..data_at + length]);
        }
        if data_digest > 0 {
            let digest = crc32c::crc32c(&pdu[data_at..data_at + length]);
            put(pdu, data_at + length, &digest.to_le_bytes());
        }
    }
}

#[inline]
fn common(pdu: &mut [u8], kind: Kind, flags: u8, length: usize) {
    let header = kind.header_length() as u8;
    put(pdu, 0, &[kind.code(), flags, header, 0]);
    put(pdu, 4, &(length as u32).to_le_bytes());
}

#[inline]
fn transfer_fields(transfer: Transfer) -> [u8; 16] {
    let mut fields = [0; 16];
    put(&mut fields, 0, &transfer.command.to_le_bytes());
    put(&mut fields, 2, &transfer.tag.to_le_bytes());
    put(&mut fields, 4, &transfer.offset.to_le_bytes());
    put(&mut fields, 8, &transfer.length.to_le_bytes());
    fields
}
