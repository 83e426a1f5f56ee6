//! Protocol data units of NVMe/TCP (TCP §3.6): what they are, and how they are cut from a stream.
//!
//! Pure functions on byte slices. [`Framing::length`] says how long the PDU at the front of a
//! buffer is, from its eight header bytes alone and never more than the connection allows;
//! [`Framing::decode`] then reads it whole. [`Encoder`] writes them.

mod decode;
mod encode;
mod fatal;
#[cfg(test)]
mod tests;

pub use decode::{Data, Initialize, Pdu, Termination, Transfer};
pub use encode::Encoder;
pub use fatal::{FatalError, FatalStatus};

use crate::wire::{u8_at, u32_at};

/// Bytes of the header that all PDUs have in common.
pub const COMMON_HEADER: usize = 8;
/// Bytes of a digest: CRC-32C (TCP §3.3.1.1).
pub const DIGEST: usize = 4;
/// Bytes of an initialize connection request or response.
pub const INITIALIZE_LENGTH: usize = 128;
/// Bytes of a command capsule's header, with the submission queue entry.
pub const COMMAND_HEADER: usize = 72;
/// Bytes of every other PDU's header.
pub const SHORT_HEADER: usize = 24;
/// Longest termination request: its header and 128 bytes of the PDU that was at fault.
pub const MOST_TERMINATION: usize = 152;
/// Largest offset of data in a PDU: alignment is at most 128 bytes (TCP §3.6.2.2, HPDA).
pub const MOST_DATA_OFFSET: usize = 128 + 128;

/// Digest flags of the common header, and the flags of data PDUs.
pub(crate) mod flag {
    pub const HEADER_DIGEST: u8 = 1 << 0;
    pub const DATA_DIGEST: u8 = 1 << 1;
    pub const LAST: u8 = 1 << 2;
    pub const SUCCESS: u8 = 1 << 3;
}

/// A PDU's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// ICReq: the host begins.
    InitializeRequest,
    /// ICResp: the controller answers.
    InitializeResponse,
    /// H2CTermReq: the host gives up.
    HostTermination,
    /// C2HTermReq: the controller gives up.
    ControllerTermination,
    /// CapsuleCmd: a command, perhaps with data.
    Command,
    /// CapsuleResp: a completion.
    Response,
    /// H2CData: data of the host.
    HostData,
    /// C2HData: data of the controller.
    ControllerData,
    /// R2T: the controller wants data.
    ReadyToTransfer,
}

impl Kind {
    /// Every type, with its number (TCP figure "PDU Types").
    pub const ALL: [(Kind, u8); 9] = [
        (Kind::InitializeRequest, 0x00),
        (Kind::InitializeResponse, 0x01),
        (Kind::HostTermination, 0x02),
        (Kind::ControllerTermination, 0x03),
        (Kind::Command, 0x04),
        (Kind::Response, 0x05),
        (Kind::HostData, 0x06),
        (Kind::ControllerData, 0x07),
        (Kind::ReadyToTransfer, 0x09),
    ];

    /// The type's number.
    pub fn code(self) -> u8 {
        let entry = Kind::ALL.iter().find(|(kind, _)| *kind == self);
        entry.map_or(0, |&(_, code)| code)
    }

    /// The type of a number.
    #[inline]
    pub fn of(code: u8) -> Option<Kind> {
        Some(match code {
            0x00 => Kind::InitializeRequest,
            0x01 => Kind::InitializeResponse,
            0x02 => Kind::HostTermination,
            0x03 => Kind::ControllerTermination,
            0x04 => Kind::Command,
            0x05 => Kind::Response,
            0x06 => Kind::HostData,
            0x07 => Kind::ControllerData,
            0x09 => Kind::ReadyToTransfer,
            _ => return None,
        })
    }

    /// The sending side.
    #[inline]
    pub fn sender(self) -> Side {
        match self {
            Kind::InitializeRequest | Kind::HostTermination | Kind::Command | Kind::HostData => {
                Side::Host
            }
            Kind::InitializeResponse
            | Kind::ControllerTermination
            | Kind::Response
            | Kind::ControllerData
            | Kind::ReadyToTransfer => Side::Controller,
        }
    }

    /// Bytes of its header without digest (HLEN).
    #[inline]
    pub fn header_length(self) -> usize {
        match self {
            Kind::InitializeRequest | Kind::InitializeResponse => INITIALIZE_LENGTH,
            Kind::Command => COMMAND_HEADER,
            _ => SHORT_HEADER,
        }
    }

    /// Whether it is exchanged before digests are agreed on, or may come at any time.
    #[inline]
    fn is_plain(self) -> bool {
        matches!(
            self,
            Kind::InitializeRequest
                | Kind::InitializeResponse
                | Kind::HostTermination
                | Kind::ControllerTermination
        )
    }

    /// Whether it may carry data.
    #[inline]
    fn may_carry_data(self) -> bool {
        matches!(self, Kind::Command | Kind::HostData | Kind::ControllerData)
    }
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The host, which connects and sends commands.
    Host,
    /// The controller, which listens and answers.
    Controller,
}

/// Digests of a connection, as agreed when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Digests {
    /// Whether a checksum follows each header.
    pub header: bool,
    /// Whether a checksum follows data.
    pub data: bool,
}

impl Digests {
    /// None.
    pub const NONE: Digests = Digests {
        header: false,
        data: false,
    };

    /// Over headers and data.
    pub const BOTH: Digests = Digests {
        header: true,
        data: true,
    };

    /// From the DGST field.
    pub fn of(bits: u8) -> Digests {
        Digests {
            header: bits & 1 != 0,
            data: bits & 2 != 0,
        }
    }

    /// As the DGST field.
    pub fn bits(self) -> u8 {
        u8::from(self.header) | u8::from(self.data) << 1
    }

    /// Keeps the digests that both ends want.
    #[must_use]
    pub fn and(self, other: Digests) -> Digests {
        Digests {
            header: self.header && other.header,
            data: self.data && other.data,
        }
    }
}

/// Rules by which PDUs of one side are cut from the stream of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// The side whose PDUs are read.
    pub sender: Side,
    /// Checksums that both ends agreed on.
    pub digests: Digests,
    /// Most bytes of data one PDU may carry.
    pub most_data: u32,
}

impl Framing {
    /// Bytes of the longest PDU there may be: what a buffer must hold.
    pub fn longest(&self) -> usize {
        MOST_DATA_OFFSET + self.most_data as usize + DIGEST
    }

    /// Bytes of the PDU at the front of a buffer; `None` while its common header has not come.
    ///
    /// # Errors
    /// When the header is none that this side may send, or longer than allowed.
    #[inline]
    pub fn length(&self, buffer: &[u8]) -> Result<Option<usize>, FatalError> {
        if buffer.len() < COMMON_HEADER {
            return Ok(None);
        }
        let kind = Kind::of(u8_at(buffer, 0)).filter(|kind| kind.sender() == self.sender);
        let kind = kind.ok_or(FatalError::header(0))?;
        if usize::from(u8_at(buffer, 2)) != kind.header_length() {
            return Err(FatalError::header(2));
        }
        let length = u32_at(buffer, 4) as usize;
        if length < self.least(kind) || length > self.most(kind) {
            return Err(FatalError::header(4));
        }
        Ok(Some(length))
    }

    /// Bytes of a PDU's header with its digest.
    #[inline]
    fn header(&self, kind: Kind) -> usize {
        let digest = self.digests.header && !kind.is_plain();
        kind.header_length() + if digest { DIGEST } else { 0 }
    }

    #[inline]
    fn least(&self, kind: Kind) -> usize {
        self.header(kind)
    }

    #[inline]
    fn most(&self, kind: Kind) -> usize {
        match kind {
            Kind::HostTermination | Kind::ControllerTermination => MOST_TERMINATION,
            kind if kind.may_carry_data() => self.longest(),
            kind => self.header(kind),
        }
    }
}
