//! Completion queue entries: what a host is answered.

use crate::wire::{put, u16_at, u64_at};

/// A status: type and code, and whether trying again is of no use (§4.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(u16);

/// Outcome of a command that succeeded.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The command is done; dwords 0 and 1 of its completion.
    Done(u64),
    /// The command is done and answers with data.
    Data(Vec<u8>, u64),
    /// The command is answered later, when its event happens.
    Later,
}

/// Status codes by type.
const GENERIC: u16 = 0;
const COMMAND: u16 = 1;
const MEDIA: u16 = 2;
/// Do Not Retry, in the status field without its phase bit.
const DO_NOT_RETRY: u16 = 1 << 14;

impl Status {
    /// 0h: done.
    pub const SUCCESS: Status = Status(0);
    /// 01h: no such command.
    pub const INVALID_OPCODE: Status = Status::lasting(GENERIC, 0x01);
    /// 02h: a field is reserved, or its value not supported.
    pub const INVALID_FIELD: Status = Status::lasting(GENERIC, 0x02);
    /// 06h: the controller failed.
    pub const INTERNAL: Status = Status::passing(GENERIC, 0x06);
    /// 07h: the host aborted the command.
    pub const ABORT_REQUESTED: Status = Status::passing(GENERIC, 0x07);
    /// 0Bh: no such namespace, or not in this format.
    pub const INVALID_NAMESPACE: Status = Status::lasting(GENERIC, 0x0b);
    /// 0Ch: not before something else.
    pub const COMMAND_SEQUENCE: Status = Status::lasting(GENERIC, 0x0c);
    /// 0Fh: the list's length and the command's do not agree.
    pub const SGL_LENGTH: Status = Status::lasting(GENERIC, 0x0f);
    /// 11h: a list of this type is not for this transport.
    pub const SGL_TYPE: Status = Status::lasting(GENERIC, 0x11);
    /// 16h: an offset lies outside the capsule.
    pub const SGL_OFFSET: Status = Status::lasting(GENERIC, 0x16);
    /// 20h: write-protected. Here: so many erase units have failed that the drive is read-only.
    pub const WRITE_PROTECTED: Status = Status::lasting(GENERIC, 0x20);
    /// 22h: a data digest was wrong (TCP §3.3.1.1); the host may try again.
    pub const TRANSIENT_TRANSPORT: Status = Status::passing(GENERIC, 0x22);
    /// 29h: Flexible Data Placement is disabled.
    pub const FDP_DISABLED: Status = Status::lasting(GENERIC, 0x29);
    /// 2Ah: the list of placement handles is invalid.
    pub const PLACEMENT_HANDLES: Status = Status::lasting(GENERIC, 0x2a);
    /// 7Fh: no stream resources.
    pub const STREAM_ALLOCATION: Status = Status::lasting(COMMAND, 0x7f);
    /// 84h: the namespace is being formatted.
    pub const FORMAT_IN_PROGRESS: Status = Status::passing(GENERIC, 0x84);
    /// 80h: beyond the namespace's end.
    pub const LBA_OUT_OF_RANGE: Status = Status::lasting(GENERIC, 0x80);

    /// Command specific 05h: too many Asynchronous Event Requests.
    pub const EVENT_REQUEST_LIMIT: Status = Status::lasting(COMMAND, 0x05);
    /// Command specific 09h: no such log page.
    pub const INVALID_LOG_PAGE: Status = Status::lasting(COMMAND, 0x09);
    /// Command specific 0Ah: no such format.
    pub const INVALID_FORMAT: Status = Status::lasting(COMMAND, 0x0a);
    /// Command specific 0Dh: the feature cannot be saved.
    pub const NOT_SAVEABLE: Status = Status::lasting(COMMAND, 0x0d);
    /// Command specific 0Eh: the feature cannot be changed.
    pub const NOT_CHANGEABLE: Status = Status::lasting(COMMAND, 0x0e);
    /// Namespace Management 15h: there is not so much room in one piece.
    pub const INSUFFICIENT_CAPACITY: Status = Status::lasting(COMMAND, 0x15);
    /// Namespace Management 16h: there are as many namespaces as there may be.
    pub const NO_IDENTIFIER: Status = Status::lasting(COMMAND, 0x16);
    /// Namespace Attachment 18h: a controller of the list has the namespace.
    pub const ALREADY_ATTACHED: Status = Status::lasting(COMMAND, 0x18);
    /// Namespace Attachment 19h: the namespace is for one controller.
    pub const NAMESPACE_IS_PRIVATE: Status = Status::lasting(COMMAND, 0x19);
    /// Namespace Attachment 1Ah: a controller of the list does not have the namespace.
    pub const NOT_ATTACHED: Status = Status::lasting(COMMAND, 0x1a);
    /// Namespace Management 1Bh: NSZE and NCAP are not the same.
    pub const THIN_PROVISIONING: Status = Status::lasting(COMMAND, 0x1b);
    /// Namespace Attachment 1Ch: a controller of the list is none, or there are none in it.
    pub const CONTROLLER_LIST: Status = Status::lasting(COMMAND, 0x1c);
    /// Namespace Management 29h: the command set is not supported.
    pub const COMMAND_SET: Status = Status::lasting(COMMAND, 0x29);
    /// Set Features (19h) 2Bh: no such combination of command sets.
    pub const COMMAND_SETS: Status = Status::lasting(COMMAND, 0x2b);
    /// Connect 80h: a record format that is not known.
    pub const CONNECT_FORMAT: Status = Status::lasting(COMMAND, 0x80);
    /// Connect 81h: the controller has no room.
    pub const CONNECT_BUSY: Status = Status::passing(COMMAND, 0x81);
    /// Connect 82h: a parameter is wrong; which, is in the result ([`Completion::at_fault`]).
    pub const CONNECT_PARAMETERS: Status = Status::lasting(COMMAND, 0x82);
    /// Connect 84h: this host is not allowed.
    pub const CONNECT_HOST: Status = Status::lasting(COMMAND, 0x84);
    /// Fabrics 91h: not before the host has authenticated (§8.3.4.2).
    pub const AUTHENTICATION_REQUIRED: Status = Status::lasting(COMMAND, 0x91);
    /// Media 85h: the data compared differ.
    pub const COMPARE_FAILURE: Status = Status::lasting(MEDIA, 0x85);

    const fn passing(kind: u16, code: u16) -> Status {
        Status(kind << 8 | code)
    }

    const fn lasting(kind: u16, code: u16) -> Status {
        Status(kind << 8 | code | DO_NOT_RETRY)
    }

    /// From the status field of an entry, without its phase bit.
    pub fn of(field: u16) -> Status {
        Status(field)
    }

    /// As in an entry, without its phase bit.
    #[inline]
    pub fn field(self) -> u16 {
        self.0
    }

    /// Status Code Type and Status Code.
    pub fn code(self) -> (u8, u8) {
        ((self.0 >> 8 & 7) as u8, self.0 as u8)
    }

    /// Whether it is success.
    #[inline]
    pub fn is_success(self) -> bool {
        self.code() == (0, 0)
    }
}

/// A completion queue entry (§4.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// Dwords 0 and 1: what the command answers.
    pub result: u64,
    /// The controller's place in the submission queue (SQHD).
    pub queue_head: u16,
    /// The command's identifier.
    pub identifier: u16,
    /// Status of the command.
    pub status: Status,
}

impl Completion {
    /// The result of a Connect that was refused: the offset of the parameter at fault, in the
    /// command (`false`) or its data (`true`) (§6.3, Invalid Parameter status).
    pub fn at_fault(in_data: bool, offset: u16) -> u64 {
        u64::from(in_data) << 16 | u64::from(offset)
    }

    /// Reads an entry.
    pub fn of(entry: &[u8; 16]) -> Completion {
        Completion {
            result: u64_at(entry, 0),
            queue_head: u16_at(entry, 8),
            identifier: u16_at(entry, 12),
            status: Status::of(u16_at(entry, 14) >> 1),
        }
    }

    /// Writes it. Neither the queue's number nor the phase are used over fabrics.
    #[inline]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut entry = [0; 16];
        put(&mut entry, 0, &self.result.to_le_bytes());
        put(&mut entry, 8, &self.queue_head.to_le_bytes());
        put(&mut entry, 12, &self.identifier.to_le_bytes());
        put(&mut entry, 14, &(self.status.field() << 1).to_le_bytes());
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_at_fault_is_told_with_its_place() {
        // Connect's Invalid Parameter: the offset in bits 15:0, and in bit 16 whether it is in the data.
        assert_eq!(Completion::at_fault(false, 40), 40);
        assert_eq!(Completion::at_fault(true, 40), 0x1_0028);
    }

    #[test]
    fn a_status_has_its_code_its_type_and_whether_to_retry_at_their_places() {
        // Bits 7:0 the code, 10:8 its type, 14 Do Not Retry.
        for (status, field) in [
            (Status::FORMAT_IN_PROGRESS, 0x0084),
            (Status::CONNECT_BUSY, 0x0181),
            (Status::INVALID_FIELD, 0x4002),
            (Status::CONNECT_HOST, 0x4184),
            (Status::COMPARE_FAILURE, 0x4285),
        ] {
            assert_eq!(status, Status::of(field));
        }
    }

    #[test]
    fn an_entry_reads_as_it_was_written() {
        let completion = Completion {
            result: 0x1_0002_0003,
            queue_head: 17,
            identifier: 0xfffe,
            status: Status::LBA_OUT_OF_RANGE,
        };
        assert_eq!(Completion::of(&completion.to_bytes()), completion);
        assert_eq!(completion.status.code(), (0, 0x80));
        assert_eq!(Status::CONNECT_HOST.code(), (1, 0x84));
        // Do Not Retry is bit 31 of dword 3.
        assert_eq!(completion.to_bytes()[15] & 0x80, 0x80);
    }
}
