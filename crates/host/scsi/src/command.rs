//! Command descriptor blocks: what a host asks for.

use crate::{
    bytes::{u8_at, u16_at, u32_at, u64_at},
    operations::{self, GET_STREAM_STATUS, MAINTENANCE_IN, SERVICE_ACTION_IN, STREAM_CONTROL},
    sense::Sense,
};

/// A run of logical blocks. `count` 0 has a meaning of its own in each command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// The first of them.
    pub first: u64,
    /// Number of blocks.
    pub count: u32,
    /// The byte of the command that says how many.
    pub count_byte: u16,
}

/// Placement that a write asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// GROUP NUMBER (SBC-5, constrained streams): 0 says nothing.
    Group(u8),
    /// STR_ID of WRITE STREAM.
    Stream(u16),
}

/// Requested mode page, and its form (SPC §6.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModePage {
    /// MODE SENSE(10), and not (6).
    pub long: bool,
    /// DBD: no block descriptors.
    pub no_descriptors: bool,
    /// LLBAA: the long block descriptor may be used.
    pub long_addresses: bool,
    /// PC: current (0), changeable (1), default (2) or saved (3) values.
    pub values: u8,
    /// The page, 3Fh for all.
    pub page: u8,
    /// The subpage, FFh for all.
    pub subpage: u8,
}

/// Question of REPORT SUPPORTED OPERATION CODES (SPC §6.35).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// All commands.
    All,
    /// One, by its operation code alone (001b), by that and a service action (010b), or by either as it needs (011b).
    One {
        /// REPORTING OPTIONS.
        options: u8,
        /// REQUESTED OPERATION CODE.
        code: u8,
        /// REQUESTED SERVICE ACTION.
        action: u16,
    },
}

/// A command. `room` is its allocation length: of what it answers with, no more is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as the standard names them")]
pub enum ScsiCommand {
    /// TEST UNIT READY.
    TestUnitReady,
    /// REQUEST SENSE.
    RequestSense { room: u32 },
    /// INQUIRY: of a page of vital product data, or the standard data.
    Inquiry { page: Option<u8>, room: u32 },
    /// MODE SENSE(6) and (10).
    ModeSense { asked: ModePage, room: u32 },
    /// READ CAPACITY(10).
    ReadCapacity10,
    /// READ CAPACITY(16).
    ReadCapacity16 { room: u32 },
    /// READ(10) and (16).
    Read { blocks: Blocks },
    /// WRITE(10) and (16), and WRITE STREAM(16); `safe` is FUA.
    Write {
        blocks: Blocks,
        place: Place,
        safe: bool,
    },
    /// SYNCHRONIZE CACHE(10) and (16): count 0 is to the end.
    Synchronize { blocks: Blocks },
    /// UNMAP with a parameter list of so many bytes.
    Unmap { list_bytes: u16 },
    /// WRITE SAME(10) and (16): `unmap` gives blocks up where the data are zeroes, as they are without any.
    WriteSame {
        blocks: Blocks,
        place: Place,
        unmap: bool,
        has_data: bool,
    },
    /// STREAM CONTROL that opens a stream.
    OpenStream { room: u32 },
    /// STREAM CONTROL that closes one.
    CloseStream { stream: u16, room: u32 },
    /// GET STREAM STATUS.
    StreamStatus { from: u16, room: u32 },
    /// REPORT SUPPORTED OPERATION CODES.
    ReportOperations { asked: Operations, room: u32 },
}

impl ScsiCommand {
    /// Decodes the bytes of a command for a unit that has streams, or has none.
    ///
    /// # Errors
    /// INVALID COMMAND OPERATION CODE; INVALID FIELD IN CDB with the field.
    pub fn of(cdb: &[u8], streams: bool) -> Result<ScsiCommand, Sense> {
        operations::operation(cdb, streams)?;
        let group = |byte| Place::Group(u8_at(cdb, byte));
        let safe = u8_at(cdb, 1) & 1 << 3 != 0;
        Ok(match u8_at(cdb, 0) {
            0x00 => ScsiCommand::TestUnitReady,
            0x03 => ScsiCommand::RequestSense {
                room: u8_at(cdb, 4).into(),
            },
            0x12 => inquiry(cdb)?,
            0x1a | 0x5a => mode_sense(cdb),
            0x25 => ScsiCommand::ReadCapacity10,
            0x28 => ScsiCommand::Read { blocks: ten(cdb) },
            0x88 => ScsiCommand::Read {
                blocks: sixteen(cdb),
            },
            0x2a => ScsiCommand::Write {
                blocks: ten(cdb),
                place: group(6),
                safe,
            },
            0x8a => ScsiCommand::Write {
                blocks: sixteen(cdb),
                place: group(14),
                safe,
            },
            0x9a => ScsiCommand::Write {
                blocks: Blocks {
                    first: u64_at(cdb, 2),
                    count: u16_at(cdb, 12).into(),
                    count_byte: 12,
                },
                place: Place::Stream(u16_at(cdb, 10)),
                safe,
            },
            0x35 => ScsiCommand::Synchronize { blocks: ten(cdb) },
            0x91 => ScsiCommand::Synchronize {
                blocks: sixteen(cdb),
            },
            0x42 => ScsiCommand::Unmap {
                list_bytes: u16_at(cdb, 7),
            },
            0x41 => write_same(cdb, ten(cdb), group(6)),
            0x93 => write_same(cdb, sixteen(cdb), group(14)),
            SERVICE_ACTION_IN => service_action(cdb)?,
            MAINTENANCE_IN => report_operations(cdb)?,
            _ => return Err(Sense::OPERATION_CODE),
        })
    }
}

/// Blocks of a command of ten bytes (SPC §4.2.2).
fn ten(cdb: &[u8]) -> Blocks {
    Blocks {
        first: u32_at(cdb, 2).into(),
        count: u16_at(cdb, 7).into(),
        count_byte: 7,
    }
}

/// Blocks of a command of sixteen bytes.
fn sixteen(cdb: &[u8]) -> Blocks {
    Blocks {
        first: u64_at(cdb, 2),
        count: u32_at(cdb, 10),
        count_byte: 10,
    }
}

/// INQUIRY (SPC §6.6): a page code goes with EVPD alone.
fn inquiry(cdb: &[u8]) -> Result<ScsiCommand, Sense> {
    let (is_page, page) = (u8_at(cdb, 1) & 1 != 0, u8_at(cdb, 2));
    if !is_page && page != 0 {
        return Err(Sense::command_byte(2));
    }
    Ok(ScsiCommand::Inquiry {
        page: is_page.then_some(page),
        room: u16_at(cdb, 3).into(),
    })
}

fn mode_sense(cdb: &[u8]) -> ScsiCommand {
    let long = u8_at(cdb, 0) == 0x5a;
    let flags = u8_at(cdb, 1);
    ScsiCommand::ModeSense {
        asked: ModePage {
            long,
            no_descriptors: flags & 1 << 3 != 0,
            long_addresses: flags & 1 << 4 != 0,
            values: u8_at(cdb, 2) >> 6,
            page: u8_at(cdb, 2) & 0x3f,
            subpage: u8_at(cdb, 3),
        },
        room: if long {
            u16_at(cdb, 7).into()
        } else {
            u8_at(cdb, 4).into()
        },
    }
}

/// WRITE SAME (SBC §5.50, §5.51): NDOB is of the longer one.
fn write_same(cdb: &[u8], blocks: Blocks, place: Place) -> ScsiCommand {
    ScsiCommand::WriteSame {
        blocks,
        place,
        unmap: u8_at(cdb, 1) & 1 << 3 != 0,
        has_data: u8_at(cdb, 1) & 1 == 0,
    }
}

fn service_action(cdb: &[u8]) -> Result<ScsiCommand, Sense> {
    let room = u32_at(cdb, 10);
    let stream = u16_at(cdb, 4);
    match u8_at(cdb, 1) & 0x1f {
        GET_STREAM_STATUS => Ok(ScsiCommand::StreamStatus { from: stream, room }),
        // STR_CTL: 01b opens, and passes over STR_ID; 10b closes.
        STREAM_CONTROL => match u8_at(cdb, 1) >> 5 & 3 {
            1 => Ok(ScsiCommand::OpenStream { room }),
            2 => Ok(ScsiCommand::CloseStream { stream, room }),
            _ => Err(Sense::command_field(1, Some(6))),
        },
        _ => Ok(ScsiCommand::ReadCapacity16 { room }),
    }
}

fn report_operations(cdb: &[u8]) -> Result<ScsiCommand, Sense> {
    let asked = match u8_at(cdb, 2) & 7 {
        0 => Operations::All,
        options @ 1..=3 => Operations::One {
            options,
            code: u8_at(cdb, 3),
            action: u16_at(cdb, 4),
        },
        _ => return Err(Sense::command_field(2, Some(2))),
    };
    Ok(ScsiCommand::ReportOperations {
        asked,
        room: u32_at(cdb, 6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_says_where_how_much_and_in_which_group() {
        let cdb = [0x2a, 0x08, 0, 1, 2, 3, 5, 0, 8, 0];
        let blocks = Blocks {
            first: 0x10203,
            count: 8,
            count_byte: 7,
        };
        let write = ScsiCommand::Write {
            blocks,
            place: Place::Group(5),
            safe: true,
        };
        assert_eq!(ScsiCommand::of(&cdb, true), Ok(write));
        let mut cdb = [0; 16];
        cdb[0] = 0x9a;
        cdb[2..10].copy_from_slice(&0x1_0000_0002_u64.to_be_bytes());
        cdb[10..14].copy_from_slice(&[0x12, 0x34, 0, 3]);
        let blocks = Blocks {
            first: 0x1_0000_0002,
            count: 3,
            count_byte: 12,
        };
        let write = ScsiCommand::Write {
            blocks,
            place: Place::Stream(0x1234),
            safe: false,
        };
        assert_eq!(ScsiCommand::of(&cdb, true), Ok(write));
    }

    #[test]
    fn a_stream_is_opened_closed_or_neither() {
        let mut cdb = [0; 16];
        cdb[..2].copy_from_slice(&[0x9e, 1 << 5 | 0x14]);
        cdb[5] = 9;
        cdb[13] = 8;
        assert_eq!(
            ScsiCommand::of(&cdb, true),
            Ok(ScsiCommand::OpenStream { room: 8 })
        );
        cdb[1] = 2 << 5 | 0x14;
        let close = ScsiCommand::CloseStream { stream: 9, room: 8 };
        assert_eq!(ScsiCommand::of(&cdb, true), Ok(close));
        for control in [0, 3] {
            cdb[1] = control << 5 | 0x14;
            let sense = Sense::command_field(1, Some(6));
            assert_eq!(ScsiCommand::of(&cdb, true), Err(sense));
        }
    }

    #[test]
    fn a_page_code_goes_with_its_bit_alone() {
        let page = ScsiCommand::Inquiry {
            page: Some(0xb7),
            room: 255,
        };
        assert_eq!(ScsiCommand::of(&[0x12, 1, 0xb7, 0, 255, 0], true), Ok(page));
        let wrong = ScsiCommand::of(&[0x12, 0, 0xb7, 0, 255, 0], true);
        assert_eq!(wrong, Err(Sense::command_byte(2)));
    }
}
