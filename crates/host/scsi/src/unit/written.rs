//! Commands that change what the unit holds.

use anabranch_nvme::{completion::Status, drive::Hint};

use super::Unit;
use crate::{
    bytes::{u16_at, u32_at, u64_at},
    command::{Blocks, Place},
    geometry::{MOST_DESCRIPTORS, MOST_SAME, MOST_TRANSFER, MOST_UNMAPPED},
    sense::Sense,
};

/// Bytes of an UNMAP parameter list's header, and of a descriptor (SBC §5.35.2).
const HEADER: usize = 8;
const DESCRIPTOR: usize = 16;

impl Unit {
    /// Where a write goes. A group number that is no open stream's says nothing (SBC-5); WRITE STREAM names an open one.
    fn hint(&self, place: Place) -> Result<Hint, Sense> {
        let Some(streams) = self.streams.as_ref().map(|_| self.table()).transpose()? else {
            return Ok(Hint::None);
        };
        match place {
            Place::Group(0) => Ok(Hint::None),
            Place::Group(group) => Ok(streams
                .stream(group.into())
                .map_or(Hint::None, Hint::Assigned)),
            Place::Stream(identifier) => {
                let stream = streams.stream(identifier);
                stream.map(Hint::Assigned).ok_or(Sense::command_byte(10))
            }
        }
    }

    pub(super) fn write(
        &self,
        blocks: Blocks,
        place: Place,
        safe: bool,
        out: &[u8],
    ) -> Result<(), Sense> {
        let (at, length) = self.extent_within(blocks, MOST_TRANSFER.into())?;
        let hint = self.hint(place)?;
        let data = out.get(..length as usize);
        let data = data.ok_or(Sense::command_byte(blocks.count_byte))?;
        if !data.is_empty() {
            self.local.write(hint, at, data).map_err(failed)?;
        }
        if safe {
            self.local.flush().map_err(failed)
        } else {
            Ok(())
        }
    }

    /// SYNCHRONIZE CACHE: all is made safe, whatever blocks are named.
    pub(super) fn synchronize(&self, blocks: Blocks) -> Result<(), Sense> {
        self.extent(blocks)?;
        self.local.flush().map_err(failed)
    }

    /// UNMAP: nothing is given up unless all descriptors are right.
    pub(super) fn unmap(&self, list_bytes: u16, out: &[u8]) -> Result<(), Sense> {
        if list_bytes == 0 {
            return Ok(());
        }
        let list = out.get(..list_bytes.into());
        let list = list.filter(|list| list.len() >= HEADER);
        let list = list.ok_or(Sense::LIST_LENGTH)?;
        // The descriptors' own length, as far as the list goes.
        let length = usize::from(u16_at(list, 2)).min(list.len() - HEADER);
        let descriptors = list[HEADER..HEADER + length].chunks_exact(DESCRIPTOR);
        if descriptors.len() > usize::from(MOST_DESCRIPTORS) {
            return Err(Sense::parameter(2));
        }
        let most = MOST_UNMAPPED / u64::from(self.block_bytes());
        let (mut extents, mut count) = (Vec::new(), 0);
        for (index, descriptor) in descriptors.enumerate() {
            let byte = (HEADER + DESCRIPTOR * index + 8) as u16;
            let blocks = Blocks {
                first: u64_at(descriptor, 0),
                count: u32_at(descriptor, 8),
                count_byte: byte,
            };
            extents.push(self.extent(blocks)?);
            count += u64::from(blocks.count);
            if count > most {
                return Err(Sense::parameter(byte));
            }
        }
        for (at, length) in extents {
            self.local.discard(at, length).map_err(failed)?;
        }
        Ok(())
    }

    /// WRITE SAME: one block, again and again; zeroes where it brings none.
    pub(super) fn write_same(
        &self,
        blocks: Blocks,
        place: Place,
        unmap: bool,
        data: Option<&[u8]>,
    ) -> Result<(), Sense> {
        // WSNZ: not "to the end".
        if blocks.count == 0 {
            return Err(Sense::command_byte(blocks.count_byte));
        }
        let (at, length) = self.extent_within(blocks, MOST_SAME)?;
        let hint = self.hint(place)?;
        let bytes = self.block_bytes() as usize;
        let block = match data {
            None => None,
            Some(data) => {
                let block = data.get(..bytes);
                let block = block.ok_or(Sense::command_byte(blocks.count_byte))?;
                Some(block).filter(|block| block.iter().any(|&byte| byte != 0))
            }
        };
        let Some(block) = block else {
            let done = if unmap {
                self.local.discard(at, length)
            } else {
                self.local.write_zeroes(hint, at, length)
            };
            return done.map_err(failed);
        };
        let most = MOST_TRANSFER as usize / bytes * bytes;
        let pattern = block.repeat(most.min(length as usize) / bytes);
        let (mut at, end) = (at, at + length);
        while at < end {
            let now = pattern.len().min((end - at) as usize);
            self.local
                .write(hint, at, &pattern[..now])
                .map_err(failed)?;
            at += now as u64;
        }
        Ok(())
    }
}

fn failed(status: Status) -> Sense {
    Sense::of_status(status, Sense::WRITE_ERROR)
}
