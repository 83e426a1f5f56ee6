//! The parts that formats' writers share.

use std::io::Write;

use super::fields::{SECOND_NS, SECTOR_BYTES};
use crate::io::Operation;

/// A request cut down to what a form can hold ([`super::Holds`]).
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) time_ns: u64,
    pub(super) operation: Operation,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: u64,
    pub(super) volume: u32,
    /// The number written for the process: that of its context, 0 where the writer is not known.
    pub(super) process: u32,
    /// The process's name, of at most 15 letters without blanks and brackets; `0` where the writer
    /// is not known.
    pub(super) name: &'a str,
}

/// The writer of one form. Writing to memory does not fail.
pub(super) trait FormWriter: Send {
    /// Adds the beginning of the file, if the form has one.
    fn begin(&mut self, _bytes: &mut Vec<u8>) {}

    /// Adds a request.
    fn put(&mut self, request: &Request<'_>, bytes: &mut Vec<u8>);
}

/// The major number of Linux' block devices that have none of their own, NVMe's among them (Linux
/// `Documentation/admin-guide/devices.txt`, 259: Block Extended Major).
const MAJOR: u32 = 259;

/// Bits of a device's minor and major number (Linux `include/linux/kdev_t.h`, `MINORBITS`).
const MINOR_BITS: u32 = 20;
const MAJORS: u32 = 1 << (32 - MINOR_BITS);

impl Request<'_> {
    /// The numbers of the block device that stands for the volume, different for each volume.
    pub(super) fn device(&self) -> (u32, u32) {
        let major = (MAJOR + (self.volume >> MINOR_BITS)) % MAJORS;
        (major, self.volume & ((1 << MINOR_BITS) - 1))
    }

    /// First sector and number of sectors.
    pub(super) fn sectors(&self) -> (u64, u64) {
        (
            self.offset_bytes / SECTOR_BYTES,
            self.length_bytes / SECTOR_BYTES,
        )
    }

    /// The letters of the operation in Linux' block layer; see `rwbs.rs`.
    pub(super) fn letters(&self) -> &'static str {
        match self.operation {
            Operation::Read => "R",
            Operation::Write => "W",
            Operation::Discard => "D",
            Operation::Flush => "FN",
        }
    }

    /// The time as whole seconds and the nanoseconds after them.
    pub(super) fn seconds(&self) -> (u64, u64) {
        (self.time_ns / SECOND_NS, self.time_ns % SECOND_NS)
    }
}

/// Adds text.
pub(super) fn text(bytes: &mut Vec<u8>, words: std::fmt::Arguments<'_>) {
    // A vector takes whatever it is given.
    let _ = bytes.write_fmt(words);
}
