//! Requests of the block device, and the NVMe commands that perform them. Pure.

use std::ops::Range;

use anabranch_ssd::{PageRange, StreamId};
use nix::libc::{EIO, ENODATA, ENOSPC, EOPNOTSUPP};

use crate::abi::{NvmeCommand, request};
use crate::drive::Directive;
use crate::memory::Descriptor;
use crate::retry::is_cut_off;
use crate::split::PAGE_BYTES;

/// Bytes of a sector of the block layer.
const SECTOR_BYTES: u64 = 512;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Read,
    Write {
        is_metadata: bool,
        forced: bool,
    },
    Flush,
    Discard,
    Zeroes {
        may_discard: bool,
    },
    /// Nothing that we know.
    Unknown,
}

/// A request, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub asked: Action,
    pub start_bytes: u64,
    pub length_bytes: u64,
}

impl Request {
    pub fn of(descriptor: &Descriptor) -> Request {
        let has = |flag: u32| descriptor.operation & flag != 0;
        let asked = match descriptor.operation & 0xff {
            request::READ => Action::Read,
            request::WRITE => Action::Write {
                is_metadata: has(request::META),
                forced: has(request::FUA),
            },
            request::FLUSH => Action::Flush,
            request::DISCARD => Action::Discard,
            request::WRITE_ZEROES => Action::Zeroes {
                may_discard: !has(request::NO_UNMAP),
            },
            _ => Action::Unknown,
        };
        Request {
            asked,
            // A flush has no place: its sector is the largest number there is.
            start_bytes: descriptor.start_sector.saturating_mul(SECTOR_BYTES),
            length_bytes: u64::from(descriptor.sectors) * SECTOR_BYTES,
        }
    }

    /// The answer to the kernel on success: the bytes moved, if any were to be.
    pub fn success(&self) -> i32 {
        match self.asked {
            // ublk takes fewer bytes than the request has for a part of it, and sends the rest again.
            Action::Read | Action::Write { .. } => {
                i32::try_from(self.length_bytes).unwrap_or(i32::MAX)
            }
            _ => 0,
        }
    }

    /// The pages that it changes, those in part among them; nothing where it changes none.
    pub fn changed_pages(&self) -> Option<Range<u64>> {
        let changes = matches!(
            self.asked,
            Action::Write { .. } | Action::Discard | Action::Zeroes { .. }
        );
        let end = (self.start_bytes + self.length_bytes).div_ceil(PAGE_BYTES);
        changes.then_some(self.start_bytes / PAGE_BYTES..end)
    }
}

/// Pages that lie within some bytes as a whole: what a discard makes free.
pub fn whole_pages(start_bytes: u64, length_bytes: u64) -> PageRange {
    let first = start_bytes.div_ceil(PAGE_BYTES);
    let end = (start_bytes + length_bytes) / PAGE_BYTES;
    let page = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    PageRange::new(page(first), page(end.saturating_sub(first)))
}

/// One command to the drive. Places are in bytes of the drive; `offset_bytes` in the request's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Read {
        start_bytes: u64,
        length_bytes: u32,
        offset_bytes: u32,
    },
    Write {
        start_bytes: u64,
        length_bytes: u32,
        offset_bytes: u32,
        stream: StreamId,
        /// Whether the command carries the stream; else the drive places it as it likes.
        placed: bool,
        forced: bool,
    },
    Flush,
    /// The range to free is in the tag's own list of one range.
    Deallocate,
    Zeroes {
        start_bytes: u64,
        length_bytes: u64,
        may_discard: bool,
    },
}

impl Command {
    /// Joins another one of its kind and stream that begins where it ends, on the drive and in memory. Answers whether it did.
    pub fn takes(&mut self, next: &Command) -> bool {
        let ends_at = |start: u64, length: u32| start + u64::from(length);
        match (self, *next) {
            (
                Command::Read {
                    start_bytes,
                    length_bytes,
                    ..
                },
                Command::Read {
                    start_bytes: next,
                    length_bytes: more,
                    ..
                },
            ) if ends_at(*start_bytes, *length_bytes) == next => {
                *length_bytes += more;
                true
            }
            (
                Command::Write {
                    start_bytes,
                    length_bytes,
                    stream,
                    ..
                },
                Command::Write {
                    start_bytes: next,
                    length_bytes: more,
                    stream: other,
                    ..
                },
            ) if ends_at(*start_bytes, *length_bytes) == next && *stream == other => {
                // `placed` and `forced` are equal: survivors alone are joined, all of them placed and none forced.
                *length_bytes += more;
                true
            }
            _ => false,
        }
    }

    /// The stream to which it writes; zeroes are data of the default one.
    pub fn written_stream(&self) -> Option<StreamId> {
        match *self {
            Command::Write { stream, .. } => Some(stream),
            Command::Zeroes {
                may_discard: false, ..
            } => Some(StreamId::DEFAULT),
            _ => None,
        }
    }

    /// Bytes that a drive may count as written by a host.
    pub fn written_bytes(&self) -> u64 {
        match *self {
            Command::Write { length_bytes, .. } => length_bytes.into(),
            // IMPORTANT: holes, too. What the drive counts beyond the ledger passes for another host's writes.
            Command::Zeroes { length_bytes, .. } => length_bytes,
            Command::Read { .. } | Command::Flush | Command::Deallocate => 0,
        }
    }
}

/// A namespace as commands must know it.
#[derive(Debug, Clone)]
pub struct Target {
    pub namespace: u32,
    pub block_shift: u8,
    pub directive: Directive,
    /// The handle of each stream.
    pub handles: Vec<u16>,
}

impl Target {
    /// The command as the drive takes it; `data` is where the request's data begin, `range` where the tag's list of
    /// ranges is.
    pub fn encode(&self, command: &Command, data: u64, range: u64) -> NvmeCommand {
        // Bits of CDW12, which is `words[2]` (NVM Command Set, Write and Write Zeroes).
        const FORCE: u32 = 1 << 30;
        const DEALLOCATE: u32 = 1 << 25;
        let data_at = |offset: u32, bytes| (data + u64::from(offset), bytes);
        match *command {
            Command::Read {
                start_bytes,
                length_bytes,
                offset_bytes,
            } => self.to_blocks(
                2,
                start_bytes,
                length_bytes.into(),
                data_at(offset_bytes, length_bytes),
            ),
            Command::Write {
                start_bytes,
                length_bytes,
                offset_bytes,
                stream,
                placed,
                forced,
            } => {
                let length = u64::from(length_bytes);
                let mut write =
                    self.to_blocks(1, start_bytes, length, data_at(offset_bytes, length_bytes));
                if placed {
                    let (kind, handle) = self.place(stream);
                    // DTYPE in CDW12, DSPEC in CDW13.
                    write.words[2] |= u32::from(kind) << 20;
                    write.words[3] = u32::from(handle) << 16;
                }
                write.words[2] |= if forced { FORCE } else { 0 };
                write
            }
            Command::Flush => NvmeCommand {
                opcode: 0,
                namespace: self.namespace,
                ..NvmeCommand::default()
            },
            Command::Deallocate => NvmeCommand {
                opcode: 9,
                namespace: self.namespace,
                address: range,
                data_bytes: 16,
                // One range, counted from 0; the attribute Deallocate.
                words: [0, 1 << 2, 0, 0, 0, 0],
            },
            Command::Zeroes {
                start_bytes,
                length_bytes,
                may_discard,
            } => {
                let mut zeroes = self.to_blocks(8, start_bytes, length_bytes, (0, 0));
                zeroes.words[2] |= if may_discard { DEALLOCATE } else { 0 };
                zeroes
            }
        }
    }

    /// A command about blocks in a row, and where its data are, with how many bytes.
    fn to_blocks(
        &self,
        opcode: u8,
        start_bytes: u64,
        length_bytes: u64,
        data: (u64, u32),
    ) -> NvmeCommand {
        let block = start_bytes >> self.block_shift;
        // NLB counts from 0 and has 16 bits; the limits of the block device keep requests below that.
        let count = (length_bytes >> self.block_shift).saturating_sub(1) as u32;
        NvmeCommand {
            opcode,
            namespace: self.namespace,
            address: data.0,
            data_bytes: data.1,
            words: [block as u32, (block >> 32) as u32, count & 0xffff, 0, 0, 0],
        }
    }

    /// Directive type and specific value of a stream.
    fn place(&self, stream: StreamId) -> (u8, u16) {
        let handle = self.handles.get(usize::from(stream.0)).copied();
        match (self.directive, handle) {
            // A stream without a handle is written all the same. Stream identifier 0 means no stream, so no directive
            // goes with it; placement identifier 0 is one like any other.
            (_, None) | (Directive::Streams, Some(0)) => (0, 0),
            (directive, Some(handle)) => (directive.kind(), handle),
        }
    }

    /// The list of one range that a Deallocate names.
    pub fn range(&self, start_bytes: u64, length_bytes: u64) -> [u8; 16] {
        let mut range = [0; 16];
        // Context attributes, length in blocks, first block (NVM Command Set, Dataset Management).
        let blocks = (length_bytes >> self.block_shift) as u32;
        range[4..8].copy_from_slice(&blocks.to_le_bytes());
        range[8..].copy_from_slice(&(start_bytes >> self.block_shift).to_le_bytes());
        range
    }
}

/// Translates a drive's answer into an errno, negative; 0 for success. Positive answers are the status field of a
/// completion (NVM Express base specification, "Status Codes").
pub fn error_of(answer: i32) -> i32 {
    // Without More and Do Not Retry, which stand above.
    const CODE_AND_TYPE: i32 = 0x7ff;
    match answer {
        0 => 0,
        // Aborted, and not retried any more. The driver's EINVAL or EAGAIN would blame the program's own call.
        _ if is_cut_off(answer) => -EIO,
        ..0 => answer,
        status => match status & CODE_AND_TYPE {
            // Invalid Command Opcode.
            0x001 => -EOPNOTSUPP,
            // Capacity Exceeded.
            0x081 => -ENOSPC,
            // Media and data integrity errors.
            0x280..=0x2ff => -ENODATA,
            _ => -EIO,
        },
    }
}

/// Whether a drive refuses a directive rather than the write: Invalid Field in Command, as of a drive that was reset and
/// has forgotten its streams.
pub fn refuses_directive(answer: i32) -> bool {
    answer > 0 && answer & 0x7ff == 0x002
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(directive: Directive) -> Target {
        Target {
            namespace: 1,
            block_shift: 12,
            directive,
            handles: vec![0, 3, 9],
        }
    }

    fn write(stream: u16, placed: bool) -> Command {
        Command::Write {
            start_bytes: (1 << 44) + 8192,
            length_bytes: 12288,
            offset_bytes: 4096,
            stream: StreamId(stream),
            placed,
            forced: true,
        }
    }

    #[test]
    fn a_write_carries_its_handle_as_the_drive_takes_it() {
        let words = |directive, stream, placed| {
            let command = target(directive).encode(&write(stream, placed), 1 << 20, 0);
            assert_eq!((command.opcode, command.data_bytes), (1, 12288));
            assert_eq!(command.address, (1 << 20) + 4096);
            assert_eq!(command.words[..2], [2, 1]);
            (command.words[2], command.words[3])
        };
        let forced = 1 << 30 | 2;
        assert_eq!(
            words(Directive::Placement, 2, true),
            (forced | 2 << 20, 9 << 16)
        );
        assert_eq!(
            words(Directive::Streams, 1, true),
            (forced | 1 << 20, 3 << 16)
        );
        // FDP's identifier 0 is sent; stream 0 means that there is no stream, and is not.
        assert_eq!(words(Directive::Placement, 0, true), (forced | 2 << 20, 0));
        assert_eq!(words(Directive::Streams, 0, true), (forced, 0));
        assert_eq!(words(Directive::Placement, 2, false), (forced, 0));
        // A stream beyond the handles is written all the same.
        assert_eq!(words(Directive::Placement, 7, true), (forced, 0));
    }

    #[test]
    fn a_request_is_what_the_kernel_says() {
        let bytes = |operation: u32| Request::of(&descriptor(operation, 16, 8));
        let forced = bytes(request::WRITE | request::FUA);
        assert_eq!(
            forced.asked,
            Action::Write {
                is_metadata: false,
                forced: true
            }
        );
        assert_eq!((forced.start_bytes, forced.length_bytes), (8192, 4096));
        assert_eq!(forced.success(), 4096);
        let zeroes = bytes(request::WRITE_ZEROES | request::NO_UNMAP);
        assert_eq!(zeroes.asked, Action::Zeroes { may_discard: false });
        assert_eq!(zeroes.success(), 0);
        assert_eq!(bytes(17).asked, Action::Unknown);
        // As the kernel asks for one.
        let flush = Request::of(&descriptor(request::FLUSH, u64::MAX, 0));
        assert_eq!((flush.asked, flush.success()), (Action::Flush, 0));
    }

    fn descriptor(operation: u32, start_sector: u64, sectors: u32) -> Descriptor {
        Descriptor::new(operation, start_sector, sectors)
    }

    #[test]
    fn a_discard_frees_whole_pages_only() {
        assert_eq!(whole_pages(512, 8192), PageRange::new(1, 1));
        assert_eq!(whole_pages(4096, 8192), PageRange::new(1, 2));
        assert_eq!(whole_pages(512, 512).count, 0);
    }

    #[test]
    fn a_range_counts_in_the_drive_s_blocks() {
        let range = target(Directive::Placement).range(1 << 20, 1 << 16);
        assert_eq!(range[..8], [0, 0, 0, 0, 16, 0, 0, 0]);
        assert_eq!(range[8..], [0, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_status_goes_on_as_the_error_it_means() {
        assert_eq!(error_of(0), 0);
        assert_eq!(error_of(-110), -110);
        // No connection is left, as the driver says it: EINVAL.
        assert_eq!(error_of(-22), -EIO);
        // With and without "do not retry".
        assert_eq!(error_of(0x4281), -ENODATA);
        assert_eq!(error_of(0x81), -ENOSPC);
        assert_eq!(error_of(0x4001), -EOPNOTSUPP);
        assert_eq!(error_of(0x4), -EIO);
        assert!(refuses_directive(0x4002));
        assert!(!refuses_directive(0x4001) && !refuses_directive(-22));
    }
}
