//! The ring of commands (Linux, `include/uapi/linux/target_core_user.h`, mailbox version 2).
//!
//! The mailbox says where the ring lies, and how far the kernel has written it; we say how far we have answered. Every
//! offset and length in it is checked before it is used.

use thiserror::Error;

use super::Memory;
use crate::{geometry::MOST_TRANSFER, operations, sense::Sense};

/// Offsets of the mailbox: version (16 bits), flags (16 bits), where the ring lies, its bytes, the kernel's end, and on a
/// cache line of its own ours.
const FLAGS: usize = 2;
const RING_AT: usize = 4;
const RING_BYTES: usize = 8;
const HEAD: usize = 12;
const TAIL: usize = 64;
const VERSION: u16 = 2;
/// The kernel takes lengths of data that were read.
const TAKES_LENGTHS: u16 = 1 << 1;

/// An entry's header: its length, whose lowest bits are what it is, a number, and flags, the last byte ours.
const HEADER: usize = 8;
const KIND: u32 = 7;
const PAD: u32 = 0;
const COMMAND: u32 = 1;
const OUR_FLAGS: usize = 7;
const UNKNOWN_KIND: u8 = 1;
const HAS_LENGTH: u8 = 1 << 1;

/// Offsets in a command: the number of pieces of its data, where its bytes are, and the pieces, each an offset and a length.
const PIECES_COUNT: usize = 8;
const COMMAND_AT: usize = 24;
const PIECES: usize = 48;
const PIECE: usize = 16;
/// Pieces of a command at most (our choice): of a page each, as many as the data may have, and both ends cut.
const MOST_PIECES: usize = MOST_TRANSFER as usize / 4096 + 2;
/// Bytes of a command that are looked at: no command that is served has more.
const MOST_COMMAND: usize = 16;

/// Offsets in an answer: the status, how much was read, and the sense data.
const STATUS: usize = 8;
const READ_LENGTH: usize = 12;
const SENSE: usize = 16;
const SENSE_ROOM: usize = 96;
const CHECK_CONDITION: u8 = 2;

/// A ring that holds what it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RingError {
    /// The mailbox is of another version, or what it says does not lie in the memory there is.
    #[error("the kernel's mailbox of SCSI commands is not one of version {VERSION}")]
    Mailbox,
    /// An entry does not lie in the ring.
    #[error("the kernel's ring of SCSI commands has an entry that cannot be, at {0}")]
    Entry(usize),
}

/// A ring in memory that is shared with the kernel.
#[derive(Debug)]
pub struct Ring<M> {
    memory: M,
    at: usize,
    bytes: usize,
    /// The next entry's offset in the ring.
    tail: usize,
    takes_lengths: bool,
}

/// Data of a command, in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    at: usize,
    length: usize,
}

/// Outcome of a command: with data and where they belong, or with none; or what was wrong.
type Done = Result<Option<(Vec<u8>, Vec<Piece>)>, Sense>;

impl<M: Memory> Ring<M> {
    /// The ring that a mailbox at the memory's beginning describes. It goes on where the one before us ended.
    ///
    /// # Errors
    /// When it describes none.
    pub fn new(memory: M) -> Result<Ring<M>, RingError> {
        let half = |at: usize| {
            let mut bytes = [0; 2];
            memory.read(at, &mut bytes)?;
            Some(u16::from_ne_bytes(bytes))
        };
        let word = |at: usize| memory.load(at).map(|number| number as usize);
        let read = || {
            let (at, bytes, tail) = (word(RING_AT)?, word(RING_BYTES)?, word(TAIL)?);
            let fits = half(0)? == VERSION
                && at > TAIL
                && bytes > 0
                && at.is_multiple_of(8)
                && bytes.is_multiple_of(8)
                && at.checked_add(bytes)? <= memory.bytes()
                && tail < bytes;
            fits.then_some((at, bytes, tail, half(FLAGS)? & TAKES_LENGTHS != 0))
        };
        let (at, bytes, tail, takes_lengths) = read().ok_or(RingError::Mailbox)?;
        Ok(Ring {
            memory,
            at,
            bytes,
            tail,
            takes_lengths,
        })
    }

    /// Performs the next command, if one has come: `perform` is given its bytes and the data it brings. Answers
    /// whether there was one; the kernel is to be notified then, before the next.
    ///
    /// # Errors
    /// When an entry is invalid.
    pub fn serve_next(
        &mut self,
        mut perform: impl FnMut(&[u8], &[u8]) -> Result<Vec<u8>, Sense>,
    ) -> Result<bool, RingError> {
        let head = self.memory.load(HEAD).ok_or(RingError::Mailbox)? as usize;
        if head == self.tail {
            return Ok(false);
        }
        let (entry, length, kind) = self.entry(head)?;
        match kind {
            PAD => {}
            COMMAND if length >= SENSE + SENSE_ROOM => {
                let done = self.take(entry, length, &mut perform);
                self.answer(entry, done);
            }
            _ => self.flag(entry, UNKNOWN_KIND),
        }
        self.tail = (self.tail + length) % self.bytes;
        let told = self.memory.store(TAIL, self.tail as u32);
        told.ok_or(RingError::Mailbox)?;
        Ok(true)
    }

    /// The next entry's offset in the memory, its length and its kind.
    fn entry(&self, head: usize) -> Result<(usize, usize, u32), RingError> {
        let at = self.at + self.tail;
        let wrong = RingError::Entry(at);
        if head >= self.bytes {
            return Err(RingError::Mailbox);
        }
        let word = self.memory.load(at).ok_or(wrong)?;
        let length = (word & !KIND) as usize;
        // An entry that led past the kernel's end would be followed by old ones, round and round.
        let written = (head + self.bytes - self.tail) % self.bytes;
        // Entries do not wrap: the kernel fills the end up.
        let fits = length >= HEADER && length <= written && self.tail + length <= self.bytes;
        if fits {
            Ok((at, length, word & KIND))
        } else {
            Err(wrong)
        }
    }

    /// Performs a command. Returns its data with their pieces of memory.
    fn take(
        &self,
        entry: usize,
        length: usize,
        perform: &mut impl FnMut(&[u8], &[u8]) -> Result<Vec<u8>, Sense>,
    ) -> Done {
        let pieces = self.pieces(entry, length).ok_or(Sense::DATA_PHASE)?;
        let cdb = self.command(entry).ok_or(Sense::DATA_PHASE)?;
        if !operations::brings_data(&cdb) {
            return Ok(Some((perform(&cdb, &[])?, pieces)));
        }
        let mut data = vec![0; pieces.iter().map(|piece| piece.length).sum()];
        let mut rest = &mut data[..];
        for piece in &pieces {
            let (now, later) = rest.split_at_mut(piece.length);
            self.memory.read(piece.at, now).ok_or(Sense::DATA_PHASE)?;
            rest = later;
        }
        perform(&cdb, &data)?;
        Ok(None)
    }

    /// The bytes of a command. How many there are follows from the first (SPC §4.2.5.1).
    fn command(&self, entry: usize) -> Option<Vec<u8>> {
        let mut at = [0; 8];
        self.memory.read(entry + COMMAND_AT, &mut at)?;
        let at = usize::try_from(u64::from_ne_bytes(at)).ok()?;
        let mut code = [0];
        self.memory.read(at, &mut code)?;
        let length = match code[0] >> 5 {
            0 => 6,
            1 | 2 => 10,
            5 => 12,
            _ => MOST_COMMAND,
        };
        let mut cdb = vec![0; length];
        self.memory.read(at, &mut cdb)?;
        // Read twice, the code may be another: the first one said how long it is.
        cdb[0] = code[0];
        Some(cdb)
    }

    /// The pieces of memory of a command's data; `None` where there are too many or too long ones, or one lies beyond the end.
    fn pieces(&self, entry: usize, length: usize) -> Option<Vec<Piece>> {
        let mut count = [0; 4];
        self.memory.read(entry + PIECES_COUNT, &mut count)?;
        let count = u32::from_ne_bytes(count) as usize;
        if count > MOST_PIECES || PIECES + PIECE * count > length {
            return None;
        }
        let mut left = MOST_TRANSFER as usize;
        let piece = |index: usize| {
            let mut bytes = [0; PIECE];
            self.memory
                .read(entry + PIECES + PIECE * index, &mut bytes)?;
            let (at, length) = bytes.split_at(8);
            let number = |bytes: &[u8]| {
                let number = u64::from_ne_bytes(bytes.try_into().ok()?);
                usize::try_from(number).ok()
            };
            let (at, length) = (number(at)?, number(length)?);
            left = left.checked_sub(length)?;
            let end = at.checked_add(length)?;
            (end <= self.memory.bytes()).then_some(Piece { at, length })
        };
        (0..count).map(piece).collect()
    }

    /// Answers a command: its data first, and then over its entry how it ended. What data do not fill is zeroed: a length
    /// of 0 is none to the kernel, which takes all then.
    fn answer(&self, entry: usize, done: Done) {
        let mut answer = [0; SENSE + SENSE_ROOM - STATUS];
        match done {
            Ok(None) => {}
            Ok(Some((data, pieces))) => {
                let mut rest = &data[..];
                for piece in pieces {
                    let (now, later) = rest.split_at(piece.length.min(rest.len()));
                    // Pieces were found within the memory.
                    let _ = self.memory.write(piece.at, now);
                    let zeroes = vec![0; piece.length - now.len()];
                    let _ = self.memory.write(piece.at + now.len(), &zeroes);
                    rest = later;
                }
                let given = (data.len() - rest.len()) as u32;
                answer[READ_LENGTH - STATUS..][..4].copy_from_slice(&given.to_ne_bytes());
                if self.takes_lengths {
                    self.flag(entry, HAS_LENGTH);
                }
            }
            Err(sense) => {
                let bytes = sense.to_bytes();
                answer[0] = CHECK_CONDITION;
                answer[SENSE - STATUS..][..bytes.len()].copy_from_slice(&bytes);
            }
        }
        // An entry was found to have this room.
        let _ = self.memory.write(entry + STATUS, &answer);
    }

    fn flag(&self, entry: usize, flag: u8) {
        let _ = self.memory.write(entry + OUR_FLAGS, &[flag]);
    }
}

#[cfg(test)]
mod tests;
