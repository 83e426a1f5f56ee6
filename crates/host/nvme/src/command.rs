//! Submission queue entries: what a host asks for.

use crate::{
    completion::Status,
    wire::{array_at, u8_at, u16_at, u32_at, u64_at},
};

/// Opcodes of the admin command set (§5) that are served.
pub mod admin {
    #![allow(missing_docs, reason = "the names are the commands'")]
    pub const GET_LOG_PAGE: u8 = 0x02;
    pub const IDENTIFY: u8 = 0x06;
    pub const ABORT: u8 = 0x08;
    pub const SET_FEATURES: u8 = 0x09;
    pub const GET_FEATURES: u8 = 0x0a;
    pub const ASYNC_EVENT_REQUEST: u8 = 0x0c;
    pub const NAMESPACE_MANAGEMENT: u8 = 0x0d;
    pub const NAMESPACE_ATTACHMENT: u8 = 0x15;
    pub const KEEP_ALIVE: u8 = 0x18;
    pub const DIRECTIVE_SEND: u8 = 0x19;
    pub const DIRECTIVE_RECEIVE: u8 = 0x1a;
    pub const FORMAT: u8 = 0x80;
}

/// Opcodes of the I/O and NVM command sets (§7; NVM §3) that are served.
pub mod nvm {
    #![allow(missing_docs, reason = "the names are the commands'")]
    pub const FLUSH: u8 = 0x00;
    pub const WRITE: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const COMPARE: u8 = 0x05;
    pub const WRITE_ZEROES: u8 = 0x08;
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    pub const VERIFY: u8 = 0x0c;
    pub const IO_MANAGEMENT_RECEIVE: u8 = 0x12;
    pub const IO_MANAGEMENT_SEND: u8 = 0x1d;
}

/// The opcode of all Fabrics commands (§6), and their types.
pub mod fabrics {
    #![allow(missing_docs, reason = "the names are the commands'")]
    pub const OPCODE: u8 = 0x7f;
    pub const PROPERTY_SET: u8 = 0x00;
    pub const CONNECT: u8 = 0x01;
    pub const PROPERTY_GET: u8 = 0x04;
    pub const AUTHENTICATION_SEND: u8 = 0x05;
    pub const AUTHENTICATION_RECEIVE: u8 = 0x06;
    pub const DISCONNECT: u8 = 0x08;
}

/// The namespace identifier that means all of them.
pub const ALL_NAMESPACES: u32 = u32::MAX;

/// A submission queue entry (§4.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Number of the command in the set of its queue (CDW0, bits 7:0).
    pub opcode: u8,
    /// FUSE and PSDT.
    pub flags: u8,
    /// The host's name for the command.
    pub identifier: u16,
    /// The namespace; of Fabrics commands, their type in the lowest byte.
    pub namespace: u32,
    /// Descriptor of the data.
    pub data: Descriptor,
    /// Command dwords 10 to 15.
    pub dwords: [u32; 6],
    /// The whole entry.
    pub entry: [u8; 64],
}

impl Command {
    /// Reads an entry. Any 64 bytes are one; what they ask for may make no sense.
    #[inline]
    pub fn of(entry: &[u8; 64]) -> Command {
        Command {
            opcode: entry[0],
            flags: entry[1],
            identifier: u16_at(entry, 2),
            namespace: u32_at(entry, 4),
            data: Descriptor::of(&array_at(entry, 24)),
            dwords: std::array::from_fn(|index| u32_at(entry, 40 + 4 * index)),
            entry: *entry,
        }
    }

    /// A Fabrics command's type.
    pub fn fabrics_type(&self) -> u8 {
        u8_at(&self.entry, 4)
    }

    /// Command dword 10 to 15; others read as 0.
    #[inline]
    pub fn dword(&self, number: usize) -> u32 {
        let index = number.checked_sub(10);
        index
            .and_then(|index| self.dwords.get(index))
            .copied()
            .unwrap_or(0)
    }

    /// Dwords 10 and 11, a starting logical block.
    #[inline]
    pub fn first_block(&self) -> u64 {
        u64_at(&self.entry, 40)
    }

    /// The 0's based number of logical blocks in dword 12, as it is meant.
    #[inline]
    pub fn blocks(&self) -> u64 {
        u64::from(self.dword(12) & 0xffff) + 1
    }

    /// The directive type and its value in a write (dwords 12 and 13).
    #[inline]
    pub fn directive(&self) -> (u8, u16) {
        let kind = (self.dword(12) >> 20 & 0xf) as u8;
        (kind, (self.dword(13) >> 16) as u16)
    }

    /// Whether the data must be safe before the answer (FUA).
    #[inline]
    pub fn force_unit_access(&self) -> bool {
        self.dword(12) >> 30 & 1 != 0
    }
}

/// A scatter gather list of one descriptor, the only form NVMe/TCP has (TCP §3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptor {
    /// Data in the capsule, so many bytes behind the entry (SGL Data Block, subtype offset).
    InCapsule {
        /// Offset in the capsule's data.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// Data in units of their own (Transport SGL Data Block).
    Transport {
        /// Bytes.
        length: u32,
    },
    /// Any other.
    Unknown {
        /// Its type and subtype.
        kind: u8,
    },
}

impl Descriptor {
    /// Reads a descriptor (§4.3.2).
    #[inline]
    pub fn of(bytes: &[u8; 16]) -> Descriptor {
        let length = u32_at(bytes, 8);
        match bytes[15] {
            0x01 => Descriptor::InCapsule {
                offset: u64_at(bytes, 0),
                length,
            },
            0x5a => Descriptor::Transport { length },
            kind => Descriptor::Unknown { kind },
        }
    }

    /// Writes it.
    pub fn to_bytes(self) -> [u8; 16] {
        let (address, length, kind) = match self {
            Descriptor::InCapsule { offset, length } => (offset, length, 0x01),
            Descriptor::Transport { length } => (0, length, 0x5a),
            Descriptor::Unknown { kind } => (0, 0, kind),
        };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&address.to_le_bytes());
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        bytes[15] = kind;
        bytes
    }

    /// Bytes it describes.
    ///
    /// # Errors
    /// When it is of a type that NVMe/TCP does not have.
    #[inline]
    pub fn length(self) -> Result<u32, Status> {
        match self {
            Descriptor::InCapsule { length, .. } | Descriptor::Transport { length } => Ok(length),
            Descriptor::Unknown { .. } => Err(Status::SGL_TYPE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_says_where_how_much_and_to_which_stream() {
        let mut entry = [0; 64];
        entry[0] = nvm::WRITE;
        entry[2..4].copy_from_slice(&7_u16.to_le_bytes());
        entry[4..8].copy_from_slice(&1_u32.to_le_bytes());
        entry[24..40].copy_from_slice(&Descriptor::Transport { length: 8192 }.to_bytes());
        entry[40..48].copy_from_slice(&0x1_0000_0002_u64.to_le_bytes());
        entry[48..52].copy_from_slice(&(1_u32 | 1 << 20 | 1 << 30).to_le_bytes());
        entry[52..56].copy_from_slice(&(4711_u32 << 16).to_le_bytes());
        let command = Command::of(&entry);
        assert_eq!(command.identifier, 7);
        assert_eq!(command.first_block(), 0x1_0000_0002);
        assert_eq!(command.blocks(), 2);
        assert_eq!(command.directive(), (1, 4711));
        assert!(command.force_unit_access());
        assert!(!Command::of(&[0; 64]).force_unit_access());
        assert_eq!(command.data.length(), Ok(8192));
        assert_eq!(command.dword(9), 0);
        assert_eq!(command.dword(16), 0);
    }
}
