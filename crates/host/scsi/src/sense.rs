//! Sense data: why a command failed (SPC §4.4).

use anabranch_nvme::completion::Status;

use crate::bytes::put;

/// Bytes of sense data in the fixed format, with all fields that are reported.
pub const SENSE_BYTES: usize = 18;

/// Place of the wrong bit in a command or its parameters (SPC §4.4.2.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Whether it is of the command itself (C/D), and not of the parameters it brought.
    pub in_command: bool,
    /// The byte, the first one of a field of several.
    pub byte: u16,
    /// The field's highest bit; `None` where it begins with its byte.
    pub bit: Option<u8>,
}

/// Cause of a command's failure: key, code and qualifier, and where it is known, the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// The sense key.
    pub key: u8,
    /// The additional sense code, and its qualifier.
    pub code: (u8, u8),
    /// The field at fault.
    pub field: Option<Field>,
}

/// Sense keys (SPC §4.4.3).
mod key {
    pub(super) const MEDIUM_ERROR: u8 = 0x3;
    pub(super) const HARDWARE_ERROR: u8 = 0x4;
    pub(super) const ILLEGAL_REQUEST: u8 = 0x5;
    pub(super) const DATA_PROTECT: u8 = 0x7;
    pub(super) const ABORTED_COMMAND: u8 = 0xb;
}

impl Sense {
    /// Nothing has failed.
    pub const NONE: Sense = Sense::of(0, (0, 0));
    /// INVALID COMMAND OPERATION CODE.
    pub const OPERATION_CODE: Sense = Sense::of(key::ILLEGAL_REQUEST, (0x20, 0));
    /// LOGICAL BLOCK ADDRESS OUT OF RANGE.
    pub const OUT_OF_RANGE: Sense = Sense::of(key::ILLEGAL_REQUEST, (0x21, 0));
    /// PARAMETER LIST LENGTH ERROR.
    pub const LIST_LENGTH: Sense = Sense::of(key::ILLEGAL_REQUEST, (0x1a, 0));
    /// SAVING PARAMETERS NOT SUPPORTED.
    pub const NOT_SAVED: Sense = Sense::of(key::ILLEGAL_REQUEST, (0x39, 0));
    /// MAXIMUM NUMBER OF STREAMS OPEN (the key is our reading).
    pub const STREAMS_OPEN: Sense = Sense::of(key::ILLEGAL_REQUEST, (0x55, 0x10));
    /// WRITE PROTECTED: so many units have failed that the drive is read-only.
    pub const WRITE_PROTECTED: Sense = Sense::of(key::DATA_PROTECT, (0x27, 0));
    /// WRITE ERROR: the contents could not be stored.
    pub const WRITE_ERROR: Sense = Sense::of(key::MEDIUM_ERROR, (0x0c, 0));
    /// UNRECOVERED READ ERROR: the contents could not be read.
    pub const READ_ERROR: Sense = Sense::of(key::MEDIUM_ERROR, (0x11, 0));
    /// INTERNAL TARGET FAILURE.
    pub const INTERNAL: Sense = Sense::of(key::HARDWARE_ERROR, (0x44, 0));
    /// DATA PHASE ERROR: the ring names memory outside of its buffer.
    pub const DATA_PHASE: Sense = Sense::of(key::ABORTED_COMMAND, (0x4b, 0));

    const fn of(key: u8, code: (u8, u8)) -> Sense {
        Sense {
            key,
            code,
            field: None,
        }
    }

    /// INVALID FIELD IN CDB, from a byte on.
    pub const fn command_byte(byte: u16) -> Sense {
        Sense::command_field(byte, None)
    }

    /// INVALID FIELD IN CDB, at a bit of a byte.
    pub const fn command_field(byte: u16, bit: Option<u8>) -> Sense {
        Sense {
            field: Some(Field {
                in_command: true,
                byte,
                bit,
            }),
            ..Sense::of(key::ILLEGAL_REQUEST, (0x24, 0))
        }
    }

    /// INVALID FIELD IN PARAMETER LIST, from a byte on.
    pub const fn parameter(byte: u16) -> Sense {
        Sense {
            field: Some(Field {
                in_command: false,
                byte,
                bit: None,
            }),
            ..Sense::of(key::ILLEGAL_REQUEST, (0x26, 0))
        }
    }

    /// Translates a status of the drive; `failed` stands where no more is known than what was tried.
    pub fn of_status(status: Status, failed: Sense) -> Sense {
        match status {
            Status::WRITE_PROTECTED => Sense::WRITE_PROTECTED,
            Status::LBA_OUT_OF_RANGE => Sense::OUT_OF_RANGE,
            _ => failed,
        }
    }

    /// In the fixed format (SPC §4.4.2.4), which holds for a unit whose D_SENSE bit is 0.
    pub fn to_bytes(self) -> [u8; SENSE_BYTES] {
        const CURRENT: u8 = 0x70;
        const FIELD_IS_VALID: u8 = 1 << 7;
        const IN_COMMAND: u8 = 1 << 6;
        const BIT_IS_VALID: u8 = 1 << 3;
        let mut bytes = [0; SENSE_BYTES];
        bytes[0] = CURRENT;
        bytes[2] = self.key;
        bytes[7] = (SENSE_BYTES - 8) as u8;
        (bytes[12], bytes[13]) = self.code;
        if let Some(field) = self.field {
            let command = if field.in_command { IN_COMMAND } else { 0 };
            let bit = field.bit.map_or(0, |bit| BIT_IS_VALID | (bit & 7));
            bytes[15] = FIELD_IS_VALID | command | bit;
            put(&mut bytes, 16, &field.byte.to_be_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_field_is_pointed_at() {
        let bytes = Sense::command_field(1, Some(4)).to_bytes();
        assert_eq!((bytes[0], bytes[2], bytes[7]), (0x70, 5, 10));
        assert_eq!((bytes[12], bytes[13]), (0x24, 0));
        assert_eq!(bytes[15..18], [0xcc, 0, 1]);
        let bytes = Sense::parameter(300).to_bytes();
        assert_eq!(bytes[12], 0x26);
        assert_eq!(bytes[15..18], [0x80, 1, 44]);
        assert_eq!(Sense::OUT_OF_RANGE.to_bytes()[15], 0);
    }
}
