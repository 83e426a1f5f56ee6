//! Reading a whole protocol data unit.

use super::{DIGEST, Digests, FatalError, FatalStatus, Framing, Kind, Side, flag};
use crate::wire::{array_at, u8_at, u16_at, u32_at};

/// Most alignment a host may ask for, as the 0's based number of dwords (TCP §3.6.2.2).
const MOST_ALIGNMENT: u8 = 31;

/// A protocol data unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pdu<'a> {
    /// ICReq.
    InitializeRequest(Initialize),
    /// ICResp.
    InitializeResponse(Initialize),
    /// H2CTermReq or C2HTermReq.
    Termination(Termination),
    /// CapsuleCmd: a submission queue entry and data in the capsule.
    Command {
        /// The submission queue entry.
        entry: [u8; 64],
        /// What came with it; empty if nothing did.
        data: Data<'a>,
    },
    /// CapsuleResp: a completion queue entry.
    Response {
        /// The completion queue entry.
        entry: [u8; 16],
    },
    /// H2CData.
    HostData {
        /// Which data of which command.
        transfer: Transfer,
        /// The data.
        data: Data<'a>,
    },
    /// C2HData.
    ControllerData {
        /// Which data of which command.
        transfer: Transfer,
        /// The data.
        data: Data<'a>,
        /// The command succeeded, and no response follows.
        success: bool,
    },
    /// R2T.
    ReadyToTransfer(Transfer),
}

/// What both ends say first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Initialize {
    /// Version of the format (PFV); 0.
    pub version: u16,
    /// Alignment of data that the sender wants to receive, in dwords, 0's based (HPDA, CPDA).
    pub alignment: u8,
    /// Digests wanted, or granted.
    pub digests: Digests,
    /// Of a request: transfers that may be asked for at a time and command, 0's based (MAXR2T). Of a
    /// response: most bytes in a data PDU (MAXH2CDATA).
    pub limit: u32,
}

/// Why an end gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Termination {
    /// The side that gives up.
    pub sender: Side,
    /// Fatal Error Status, known or not.
    pub status: u16,
    /// Fatal Error Information.
    pub information: u32,
}

/// Which data of which command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The command's identifier (CCCID).
    pub command: u16,
    /// The controller's tag for a transfer it asked for (TTAG).
    pub tag: u16,
    /// Offset of the data in the command's.
    pub offset: u32,
    /// Bytes of data.
    pub length: u32,
    /// No more data follow for the command or transfer.
    pub last: bool,
}

/// Data of a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Data<'a> {
    /// The data.
    pub bytes: &'a [u8],
    /// Whether their digest, if the connection has one, was wrong.
    pub damaged: bool,
}

impl Framing {
    /// Reads the PDU that fills `pdu`, which [`Framing::length`] has measured.
    ///
    /// # Errors
    /// When a field contradicts another or the header's digest is wrong. Data with a wrong digest
    /// are no error here: they fail their command, not the connection.
    #[inline]
    pub fn decode<'a>(&self, pdu: &'a [u8]) -> Result<Pdu<'a>, FatalError> {
        let kind = Kind::of(u8_at(pdu, 0)).filter(|kind| kind.sender() == self.sender);
        let kind = kind.ok_or(FatalError::header(0))?;
        let header = self.header(kind);
        if pdu.len() < header || u32_at(pdu, 4) as usize != pdu.len() {
            return Err(FatalError::header(4));
        }
        if self.digests.header && !kind.is_plain() {
            check_header(pdu, kind)?;
        }
        let data = if kind.may_carry_data() {
            self.data(pdu, header)?
        } else {
            Data::default()
        };
        match kind {
            Kind::InitializeRequest => Ok(Pdu::InitializeRequest(initialize(pdu)?)),
            Kind::InitializeResponse => Ok(Pdu::InitializeResponse(initialize(pdu)?)),
            Kind::HostTermination | Kind::ControllerTermination => {
                Ok(Pdu::Termination(Termination {
                    sender: self.sender,
                    status: u16_at(pdu, 8),
                    information: u32_at(pdu, 10),
                }))
            }
            Kind::Command => Ok(Pdu::Command {
                entry: array_at(pdu, 8),
                data,
            }),
            Kind::Response => Ok(Pdu::Response {
                entry: array_at(pdu, 8),
            }),
            Kind::HostData => Ok(Pdu::HostData {
                transfer: data_transfer(pdu, data)?,
                data,
            }),
            Kind::ControllerData => Ok(Pdu::ControllerData {
                transfer: data_transfer(pdu, data)?,
                data,
                success: u8_at(pdu, 1) & flag::SUCCESS != 0,
            }),
            Kind::ReadyToTransfer => Ok(Pdu::ReadyToTransfer(transfer(pdu))),
        }
    }

    /// The data of a PDU: from its data offset (PDO) to its end, or to the data's digest.
    fn data<'a>(&self, pdu: &'a [u8], header: usize) -> Result<Data<'a>, FatalError> {
        if pdu.len() == header {
            return Ok(Data::default());
        }
        let begin = usize::from(u8_at(pdu, 3));
        if begin < header {
            return Err(FatalError::header(3));
        }
        let digest = if self.digests.data { DIGEST } else { 0 };
        let end = pdu.len().checked_sub(digest);
        let bytes = end.and_then(|end| pdu.get(begin..end));
        let bytes = bytes.ok_or(FatalError::header(3))?;
        if bytes.len() > self.most_data as usize {
            return Err(FatalError::new(FatalStatus::LimitExceeded, 4));
        }
        let damaged = self.digests.data && crc32c::crc32c(bytes) != u32_at(pdu, pdu.len() - digest);
        Ok(Data { bytes, damaged })
    }
}

fn check_header(pdu: &[u8], kind: Kind) -> Result<(), FatalError> {
    let length = kind.header_length();
    let came = u32_at(pdu, length);
    let header = pdu.get(..length).unwrap_or_default();
    if u8_at(pdu, 1) & flag::HEADER_DIGEST != 0 && crc32c::crc32c(header) == came {
        Ok(())
    } else {
        Err(FatalError::new(FatalStatus::HeaderDigest, came))
    }
}

fn initialize(pdu: &[u8]) -> Result<Initialize, FatalError> {
    let initialize = Initialize {
        version: u16_at(pdu, 8),
        alignment: u8_at(pdu, 10),
        digests: Digests::of(u8_at(pdu, 11)),
        limit: u32_at(pdu, 12),
    };
    if initialize.version != 0 {
        return Err(FatalError::new(FatalStatus::Unsupported, 8));
    }
    if initialize.alignment > MOST_ALIGNMENT {
        return Err(FatalError::header(10));
    }
    Ok(initialize)
}

#[inline]
fn transfer(pdu: &[u8]) -> Transfer {
    Transfer {
        command: u16_at(pdu, 8),
        tag: u16_at(pdu, 10),
        offset: u32_at(pdu, 12),
        length: u32_at(pdu, 16),
        last: u8_at(pdu, 1) & flag::LAST != 0,
    }
}

#[inline]
fn data_transfer(pdu: &[u8], data: Data) -> Result<Transfer, FatalError> {
    let transfer = transfer(pdu);
    if transfer.length as usize == data.bytes.len() {
        Ok(transfer)
    } else {
        Err(FatalError::header(16))
    }
}
