//! The commands there are, and which of their bits mean anything: what REPORT SUPPORTED OPERATION CODES tells, and what
//! the decoder refuses bits by.

use crate::{bytes::u8_at, sense::Sense};

/// SERVICE ACTION IN(16), and its service actions that are served (SBC §5).
pub(crate) const SERVICE_ACTION_IN: u8 = 0x9e;
pub(crate) const READ_CAPACITY_16: u8 = 0x10;
pub(crate) const STREAM_CONTROL: u8 = 0x14;
pub(crate) const GET_STREAM_STATUS: u8 = 0x16;
/// MAINTENANCE IN, and its service action that is served (SPC §6).
pub(crate) const MAINTENANCE_IN: u8 = 0xa3;
pub(crate) const REPORT_OPERATIONS: u8 = 0x0c;

/// Bits of byte 1 that a service action is in.
const ACTION: u8 = 0x1f;

/// A command as its standard describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    /// The operation code.
    pub(crate) code: u8,
    /// The service action, where the code has several.
    pub(crate) action: Option<u8>,
    /// CDB usage data (SPC §6.35.3): the code and the service action, and of all other bits those that mean anything.
    pub(crate) usage: &'static [u8],
    /// Whether only a unit with streams has it.
    of_streams: bool,
}

const fn plain(usage: &'static [u8]) -> Operation {
    Operation {
        code: usage[0],
        action: None,
        usage,
        of_streams: false,
    }
}

const fn action(usage: &'static [u8], action: u8) -> Operation {
    Operation {
        action: Some(action),
        ..plain(usage)
    }
}

const fn of_streams(operation: Operation) -> Operation {
    Operation {
        of_streams: true,
        ..operation
    }
}

/// All bits of a byte, and those of a GROUP NUMBER.
const A: u8 = 0xff;
const G: u8 = 0x3f;
/// DPO and FUA of a read or write.
const CACHE: u8 = 0x18;

/// Commands of the unit; there are no others. Bits that are 0 are reserved, obsolete, or of what there is not:
/// protection information (RDPROTECT, WRPROTECT), command duration limits (DLD), rebuild assist (RARC), anchored blocks,
/// NACA. REPORT LUNS and reservations are the kernel's, which answers them itself.
const ALL: &[Operation] = &[
    // TEST UNIT READY, REQUEST SENSE, INQUIRY (SPC §6)
    plain(&[0x00, 0, 0, 0, 0, 0]),
    plain(&[0x03, 0, 0, 0, A, 0]),
    plain(&[0x12, 0x01, A, A, A, 0]),
    // MODE SENSE(6), (10)
    plain(&[0x1a, 0x08, A, A, A, 0]),
    plain(&[0x5a, 0x18, A, A, 0, 0, 0, A, A, 0]),
    // READ CAPACITY(10), (16) (SBC §5)
    plain(&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    action(
        &[
            SERVICE_ACTION_IN,
            READ_CAPACITY_16,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            A,
            A,
            A,
            A,
            0,
            0,
        ],
        READ_CAPACITY_16,
    ),
    // READ(10), WRITE(10), SYNCHRONIZE CACHE(10), WRITE SAME(10), UNMAP
    plain(&[0x28, CACHE, A, A, A, A, G, A, A, 0]),
    plain(&[0x2a, CACHE, A, A, A, A, G, A, A, 0]),
    plain(&[0x35, 0x02, A, A, A, A, G, A, A, 0]),
    plain(&[0x41, 0x08, A, A, A, A, G, A, A, 0]),
    plain(&[0x42, 0, 0, 0, 0, 0, G, A, A, 0]),
    // READ(16), WRITE(16), SYNCHRONIZE CACHE(16), WRITE SAME(16)
    plain(&[0x88, CACHE, A, A, A, A, A, A, A, A, A, A, A, A, G, 0]),
    plain(&[0x8a, CACHE, A, A, A, A, A, A, A, A, A, A, A, A, G, 0]),
    plain(&[0x91, 0x02, A, A, A, A, A, A, A, A, A, A, A, A, G, 0]),
    plain(&[0x93, 0x09, A, A, A, A, A, A, A, A, A, A, A, A, G, 0]),
    // WRITE STREAM(16), STREAM CONTROL, GET STREAM STATUS
    of_streams(plain(&[
        0x9a, CACHE, A, A, A, A, A, A, A, A, A, A, A, A, G, 0,
    ])),
    of_streams(action(
        &[
            SERVICE_ACTION_IN,
            0x60 | STREAM_CONTROL,
            0,
            0,
            A,
            A,
            0,
            0,
            0,
            0,
            A,
            A,
            A,
            A,
            0,
            0,
        ],
        STREAM_CONTROL,
    )),
    of_streams(action(
        &[
            SERVICE_ACTION_IN,
            GET_STREAM_STATUS,
            0,
            0,
            A,
            A,
            0,
            0,
            0,
            0,
            A,
            A,
            A,
            A,
            0,
            0,
        ],
        GET_STREAM_STATUS,
    )),
    // REPORT SUPPORTED OPERATION CODES
    action(
        &[
            MAINTENANCE_IN,
            REPORT_OPERATIONS,
            0x07,
            A,
            A,
            A,
            A,
            A,
            A,
            A,
            0,
            0,
        ],
        REPORT_OPERATIONS,
    ),
];

/// The commands of a unit with streams, or without.
pub(crate) fn operations(streams: bool) -> impl Iterator<Item = &'static Operation> {
    ALL.iter().filter(move |one| streams || !one.of_streams)
}

/// The command that bytes are, with no bit set that means nothing.
///
/// # Errors
/// INVALID COMMAND OPERATION CODE; INVALID FIELD IN CDB at the service action, at the first bit that means nothing, or
/// where the command is cut off.
pub(crate) fn operation(cdb: &[u8], streams: bool) -> Result<&'static Operation, Sense> {
    let of_code = || operations(streams).filter(|one| one.code == u8_at(cdb, 0));
    if cdb.is_empty() || of_code().next().is_none() {
        return Err(Sense::OPERATION_CODE);
    }
    let action = u8_at(cdb, 1) & ACTION;
    let found = of_code().find(|one| one.action.is_none_or(|of_it| of_it == action));
    let found = found.ok_or(Sense::command_field(1, Some(4)))?;
    if cdb.len() < found.usage.len() {
        return Err(Sense::command_byte(cdb.len() as u16));
    }
    for (at, (&byte, &usage)) in cdb.iter().zip(found.usage).enumerate().skip(1) {
        let action = match (at, found.action) {
            (1, Some(_)) => ACTION,
            _ => 0,
        };
        let wrong = byte & !(usage | action);
        if let Some(bit) = wrong.checked_ilog2() {
            return Err(Sense::command_field(at as u16, Some(bit as u8)));
        }
    }
    Ok(found)
}

/// Whether a command brings data: writes, and UNMAP.
pub(crate) fn brings_data(cdb: &[u8]) -> bool {
    matches!(u8_at(cdb, 0), 0x2a | 0x41 | 0x42 | 0x8a | 0x93 | 0x9a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_row_is_as_long_as_its_code_says() {
        for one in operations(true) {
            let length = match one.code >> 5 {
                0 => 6,
                1 | 2 => 10,
                4 => 16,
                _ => 12,
            };
            assert_eq!(one.usage.len(), length, "{:x}", one.code);
            if let Some(action) = one.action {
                assert_eq!(one.usage[1] & ACTION, action);
            }
        }
    }

    #[test]
    fn bits_that_mean_nothing_are_refused_where_they_are() {
        let mut write = [0; 10];
        write[0] = 0x2a;
        assert!(operation(&write, true).is_ok());
        write[1] = 0x20;
        let sense = operation(&write, true).unwrap_err();
        assert_eq!(sense, Sense::command_field(1, Some(5)));
        write[1] = 0;
        write[6] = 0xc0;
        let sense = operation(&write, true).unwrap_err();
        assert_eq!(sense, Sense::command_field(6, Some(7)));
        let sense = operation(&write[..6], true).unwrap_err();
        assert_eq!(sense, Sense::command_byte(6));
        assert_eq!(operation(&[], true).unwrap_err(), Sense::OPERATION_CODE);
        let sense = operation(&[0x04; 6], true).unwrap_err();
        assert_eq!(sense, Sense::OPERATION_CODE);
        let mut none = [0; 16];
        none[..2].copy_from_slice(&[SERVICE_ACTION_IN, 0x11]);
        let sense = operation(&none, true).unwrap_err();
        assert_eq!(sense, Sense::command_field(1, Some(4)));
    }

    #[test]
    fn a_unit_without_streams_has_no_command_for_them() {
        let mut write = [0; 16];
        write[0] = 0x9a;
        assert!(operation(&write, true).is_ok());
        assert_eq!(operation(&write, false).unwrap_err(), Sense::OPERATION_CODE);
    }
}
