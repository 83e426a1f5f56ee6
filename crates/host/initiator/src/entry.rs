//! Submission and completion queue entries (Base §4.1, §4.2).

use std::fmt;

use crate::number;

/// A submission queue entry, 64 bytes (Base §4.1.1, figure "Common Command Format").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry(pub [u8; 64]);

/// The placement of a write: directive type and specific (Base §8.1.8, NVM §3.2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tag {
    /// The write has no directive.
    #[default]
    None,
    /// Streams (directive type 1): a stream identifier.
    Stream(u16),
    /// Data placement (directive type 2): a placement identifier.
    Placement(u16),
}

impl Tag {
    fn fields(self) -> (u32, u16) {
        match self {
            Tag::None => (0, 0),
            Tag::Stream(identifier) => (1, identifier),
            Tag::Placement(identifier) => (2, identifier),
        }
    }
}

impl Entry {
    /// A command entry with its opcode (byte 0) and namespace (bytes 7:4).
    pub fn new(opcode: u8, namespace: u32) -> Entry {
        let mut bytes = [0; 64];
        bytes[0] = opcode;
        bytes[4..8].copy_from_slice(&namespace.to_le_bytes());
        Entry(bytes)
    }

    /// The same entry for another namespace.
    #[must_use]
    pub fn at(mut self, namespace: u32) -> Entry {
        self.0[4..8].copy_from_slice(&namespace.to_le_bytes());
        self
    }

    /// A Fabrics command entry: opcode 7Fh, its type in byte 4 (Base §6, figure "Fabrics Command Format").
    pub fn fabrics(kind: u8) -> Entry {
        let mut entry = Entry::new(0x7f, 0);
        entry.0[4] = kind;
        entry
    }

    /// The same entry with command dword 10 to 15 set: bytes 4n+3:4n.
    #[must_use]
    pub fn dword(mut self, dword: usize, value: u32) -> Entry {
        self.0[dword * 4..dword * 4 + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// A read (02h), write (01h), compare (05h), write zeroes (08h) or verify (0Ch) of logical
    /// blocks: dwords 10 and 11 are the first, dword 12 their number, 0's based, in bits 15:0 (NVM §3.2).
    pub fn blocks(opcode: u8, first: u64, blocks: u32) -> Entry {
        Entry::new(opcode, 1)
            .dword(10, first as u32)
            .dword(11, (first >> 32) as u32)
            .dword(12, blocks.wrapping_sub(1) & 0xffff)
    }

    /// A write: directive type in dword 12 bits 23:20, specific in dword 13 bits 31:16 (NVM §3.2.6).
    pub fn write(first: u64, blocks: u32, tag: Tag) -> Entry {
        let (kind, specific) = tag.fields();
        let entry = Entry::blocks(0x01, first, blocks);
        let twelve = number(&entry.0, 48, 4) as u32;
        entry
            .dword(12, twelve | kind << 20)
            .dword(13, u32::from(specific) << 16)
    }

    /// The same entry with Force Unit Access: dword 12 bit 30 (NVM §3.2.6).
    #[must_use]
    pub fn forced(self) -> Entry {
        let twelve = number(&self.0, 48, 4) as u32;
        self.dword(12, twelve | 1 << 30)
    }

    /// A read of logical blocks.
    pub fn read(first: u64, blocks: u32) -> Entry {
        Entry::blocks(0x02, first, blocks)
    }

    /// A flush (00h, Base §7.2).
    pub fn flush() -> Entry {
        Entry::new(0x00, 1)
    }

    /// Identify (06h): CNS in dword 10 bits 7:0 (Base §5.1.13).
    pub fn identify(structure: u8, namespace: u32) -> Entry {
        Entry::new(0x06, namespace).dword(10, u32::from(structure))
    }

    /// Get Log Page (02h): LID in dword 10 bits 7:0, number of dwords, 0's based, in 31:16 and
    /// dword 11 bits 15:0, specific identifier in dword 11 bits 31:16 (Base §5.1.12).
    pub fn log(page: u8, namespace: u32, bytes: usize, specific: u16) -> Entry {
        let dwords = (bytes as u32 / 4).wrapping_sub(1);
        Entry::new(0x02, namespace)
            .dword(10, u32::from(page) | (dwords & 0xffff) << 16)
            .dword(11, dwords >> 16 | u32::from(specific) << 16)
    }

    /// Directive Send (19h) or Receive (1Ah): operation, type and specific in dword 11 bits 7:0,
    /// 15:8 and 31:16 (Base §5.1.6, §5.1.7); dword 10 is the number of dwords, 0's based.
    pub fn directive(send: bool, kind: u8, operation: u8, specific: u16, bytes: usize) -> Entry {
        let opcode = if send { 0x19 } else { 0x1a };
        let eleven = u32::from(operation) | u32::from(kind) << 8 | u32::from(specific) << 16;
        Entry::new(opcode, 1)
            .dword(10, (bytes as u32 / 4).saturating_sub(1))
            .dword(11, eleven)
    }

    /// Set Features (09h) or Get Features (0Ah): FID in dword 10 bits 7:0, value in dword 11
    /// (Base §5.1.25, §5.1.11).
    pub fn feature(set: bool, feature: u8, value: u32) -> Entry {
        let opcode = if set { 0x09 } else { 0x0a };
        Entry::new(opcode, 0)
            .dword(10, u32::from(feature))
            .dword(11, value)
    }
}

/// A command's status: type and code, and "do not retry" (Base §4.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status {
    /// Status Code Type.
    pub kind: u8,
    /// Status Code.
    pub code: u8,
    /// Whether the command must not be retried (Do Not Retry).
    pub final_: bool,
}

impl Status {
    /// Whether the command succeeded.
    pub fn is_success(self) -> bool {
        self.kind == 0 && self.code == 0
    }

    /// Type and code in one number, as `nvme` prints it: type in bits 10:8.
    pub fn number(self) -> u16 {
        u16::from(self.kind) << 8 | u16::from(self.code)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "status {:#05x}", self.number())
    }
}

/// The completion of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The command's identifier.
    pub identifier: u16,
    /// Success, or the reason why the command failed.
    pub status: Status,
    /// Dwords 0 and 1 of the completion.
    pub result: u64,
    /// Submission queue head pointer.
    pub head: u16,
    /// The data that the command read.
    pub data: Vec<u8>,
}

impl Completion {
    /// Decodes a completion queue entry, 16 bytes (Base §4.2.1): result 7:0, head 9:8, identifier 13:12, status 15:14
    /// with the phase in bit 0, code 8:1, type 11:9, do not retry 15.
    pub fn of(entry: &[u8], data: Vec<u8>) -> Completion {
        let status = number(entry, 14, 2) as u16;
        Completion {
            identifier: number(entry, 12, 2) as u16,
            status: Status {
                kind: (status >> 9 & 7) as u8,
                code: (status >> 1) as u8,
                final_: status >> 15 != 0,
            },
            result: number(entry, 0, 8) as u64,
            head: number(entry, 8, 2) as u16,
            data,
        }
    }
}
