//! Data structures in which a controller and a namespace describe themselves.

use crate::number;

/// Identify Controller (CNS 01h; Base §5.1.13.2.1), as far as a host needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerData {
    /// Model number, bytes 63:24.
    pub model: String,
    /// The most bytes of one transfer: 2^MDTS pages of 4 KiB, byte 77; `None` if unlimited.
    pub most_transfer_bytes: Option<usize>,
    /// Controller identifier, bytes 79:78.
    pub identifier: u16,
    /// Attributes, bytes 99:96: bit 4 endurance groups, bit 19 Flexible Data Placement.
    pub attributes: u32,
    /// Optional admin commands, bytes 257:256: bit 1 Format, bit 5 directives.
    pub admin_commands: u16,
    /// Optional commands, bytes 521:520: bit 0 Compare, 2 Dataset Management, 3 Write Zeroes, 7 Verify.
    pub commands: u16,
    /// The subsystem's name, bytes 1023:768.
    pub subsystem: String,
    /// Data that fit into an I/O command's capsule: IOCCSZ, bytes 1795:1792, in 16 bytes, less
    /// the entry's 64.
    pub in_capsule_bytes: usize,
}

impl ControllerData {
    /// Decodes the structure's 4096 bytes.
    pub fn of(data: &[u8]) -> ControllerData {
        let shift = number(data, 77, 1) as u32;
        ControllerData {
            model: text(data, 24, 40),
            most_transfer_bytes: (shift > 0).then(|| 4096 << shift),
            identifier: number(data, 78, 2) as u16,
            attributes: number(data, 96, 4) as u32,
            admin_commands: number(data, 256, 2) as u16,
            commands: number(data, 520, 2) as u16,
            subsystem: text(data, 768, 256),
            in_capsule_bytes: (number(data, 1792, 4) as usize * 16).saturating_sub(64),
        }
    }

    /// Whether the controller supports directives.
    pub fn has_directives(&self) -> bool {
        self.admin_commands & 1 << 5 != 0
    }

    /// Whether the controller supports Flexible Data Placement.
    pub fn has_placement(&self) -> bool {
        self.attributes & 1 << 19 != 0
    }
}

/// Identify Namespace (CNS 00h; NVM §4.1.5.1), as far as a host needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamespaceData {
    /// Logical blocks (NSZE), bytes 7:0.
    pub blocks: u64,
    /// Blocks that hold data (NUSE), bytes 23:16.
    pub used_blocks: u64,
    /// Bytes of the subsystem that belong to the namespace (NVMCAP), bytes 63:48.
    pub capacity: u128,
    /// Whether several controllers may attach the namespace: NMIC, byte 30, bit 0.
    pub shared: bool,
    /// Bytes of a logical block: LBADS, bits 23:16 of the format in use, from byte 128 on; FLBAS in
    /// byte 26 names the format.
    pub block_bytes: usize,
    /// Endurance group, bytes 103:102.
    pub endurance_group: u16,
}

impl NamespaceData {
    /// Decodes the structure's 4096 bytes.
    pub fn of(data: &[u8]) -> NamespaceData {
        let format = number(data, 26, 1) as usize;
        let index = format & 0xf | (format >> 5 & 3) << 4;
        let shift = number(data, 128 + 4 * index + 2, 1) as u32;
        NamespaceData {
            blocks: number(data, 0, 8) as u64,
            used_blocks: number(data, 16, 8) as u64,
            capacity: number(data, 48, 16),
            shared: number(data, 30, 1) & 1 != 0,
            block_bytes: 1_usize.checked_shl(shift).unwrap_or(0),
            endurance_group: number(data, 102, 2) as u16,
        }
    }
}

/// SMART / Health Information (log 02h; Base §5.1.12.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmartLog {
    /// Data units read, bytes 47:32: thousands of 512 bytes, rounded up.
    pub units_read: u128,
    /// Data units written, bytes 63:48.
    pub units_written: u128,
    /// Host read commands, bytes 79:64.
    pub reads: u128,
    /// Host write commands, bytes 95:80.
    pub writes: u128,
}

impl SmartLog {
    /// Decodes the page's 512 bytes.
    pub fn of(page: &[u8]) -> SmartLog {
        SmartLog {
            units_read: number(page, 32, 16),
            units_written: number(page, 48, 16),
            reads: number(page, 64, 16),
            writes: number(page, 80, 16),
        }
    }
}

/// A text field without the blanks that pad it.
fn text(data: &[u8], at: usize, length: usize) -> String {
    let field = data.get(at..at + length).unwrap_or_default();
    let end = field.iter().position(|&byte| byte == 0);
    let kept = &field[..end.unwrap_or(field.len())];
    String::from_utf8_lossy(kept).trim_end().to_owned()
}
