//! Places of a request on the drive and in memory, and of a command in its request.

use std::ops::Range;

use super::drive::Version;
use super::{SECTOR_BYTES, UnderWay, Waiting};
use crate::command::Request;
use crate::split::PAGE_BYTES;

/// The distance between the memory of two tags.
const TAG_BYTES: u64 = 1 << 32;

/// The sectors that a request is about.
pub fn sectors_of(request: &Request) -> Range<usize> {
    let first = request.start_bytes as usize / SECTOR_BYTES;
    first..first + request.length_bytes as usize / SECTOR_BYTES
}

/// The page that a sector lies in.
pub fn page_of(sector: usize) -> u64 {
    (sector * SECTOR_BYTES) as u64 / PAGE_BYTES
}

/// The address of a tag's memory, of a server that copies.
pub fn memory(tag: u16) -> u64 {
    (u64::from(tag) + 1) * TAG_BYTES
}

/// The sectors of a request's memory that a command names: none of one that moves no data.
fn named(one: &UnderWay, lends: bool) -> Range<usize> {
    if !matches!(one.command.opcode, 1 | 2) {
        return 0..0;
    }
    let begin = if lends { 0 } else { memory(one.tag) };
    let first = (one.command.address - begin) as usize / SECTOR_BYTES;
    first..first + one.command.data_bytes as usize / SECTOR_BYTES
}

/// The contents of a command's memory.
pub fn place<'a>(one: &UnderWay, lends: bool, waiting: &'a mut Waiting) -> &'a mut [Version] {
    &mut waiting.data[named(one, lends)]
}

/// The pages of a write, of those that its request touches.
pub fn pages_of(waiting: &Waiting, one: &UnderWay, lends: bool) -> Range<usize> {
    let begin = sectors_of(&waiting.request).start;
    let named = named(one, lends);
    let page = |sector: usize| (page_of(begin + sector) - page_of(begin)) as usize;
    page(named.start)..page(named.end - 1) + 1
}
