//! What I/O commands ask for: ranges of blocks, and reclaim unit handles.

use crate::{
    command::Command,
    completion::Status,
    connection::Answer,
    drive::{NAMESPACE, fdp_status},
    options::MOST_DATA,
    target::Target,
    wire::{put, u16_at, u32_at, u64_at},
};
use anabranch_ssd::PlacementIdentifier;

/// Dataset Management: Attribute – Deallocate.
pub(crate) const DEALLOCATE: u32 = 1 << 2;
/// Bytes of a Dataset Management range.
const RANGE: usize = 16;

/// A run of bytes of the namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) length: u64,
}

/// The bytes that a command's blocks are.
#[inline]
pub(crate) fn extent(target: &Target, command: &Command) -> Result<Extent, Status> {
    if command.namespace != NAMESPACE {
        return Err(Status::INVALID_NAMESPACE);
    }
    // No fused operations, and no metadata to protect (PRINFO).
    if command.flags & 3 != 0 || command.dword(12) >> 26 & 0xf != 0 {
        return Err(Status::INVALID_FIELD);
    }
    blocks(target, command.first_block(), command.blocks())
}

fn blocks(target: &Target, first: u64, count: u64) -> Result<Extent, Status> {
    let end = first.checked_add(count);
    if end.is_none_or(|end| end > target.blocks()) {
        return Err(Status::LBA_OUT_OF_RANGE);
    }
    let shift = target.block_shift();
    Ok(Extent {
        at: first << shift,
        length: count << shift,
    })
}

/// The ranges of a Dataset Management command, all of them within the namespace.
pub(crate) fn ranges(
    target: &Target,
    command: &Command,
    data: &[u8],
) -> Result<Vec<Extent>, Status> {
    if command.namespace != NAMESPACE {
        return Err(Status::INVALID_NAMESPACE);
    }
    let count = (command.dword(10) & 0xff) as usize + 1;
    let list = data.get(..count * RANGE).ok_or(Status::SGL_LENGTH)?;
    let range = |range: &[u8]| blocks(target, u64_at(range, 8), u32_at(range, 4).into());
    list.chunks_exact(RANGE).map(range).collect()
}

/// Verify: that the blocks can be read.
pub(crate) fn verify(target: &Target, command: &Command) -> Result<Answer, Status> {
    let Extent { at, length } = extent(target, command)?;
    if length > u64::from(MOST_DATA) {
        return Err(Status::INVALID_FIELD);
    }
    let mut bytes = vec![0; length as usize];
    let read = target.store.read(at, &mut bytes);
    read.map_err(|_| Status::INTERNAL)?;
    Ok(Answer::Done(0))
}

/// Management operations (§7.3, §7.4): status of reclaim unit handles, and their update.
const RECLAIM_UNIT_HANDLES: u32 = 1;

/// I/O Management Receive: Reclaim Unit Handle Status.
pub(crate) fn management_receive(target: &Target, command: &Command) -> Result<Answer, Status> {
    const HEADER: usize = 16;
    const DESCRIPTOR: usize = 32;
    check_management(target, command)?;
    let shift = target.block_shift();
    let units = {
        let drive = target.drive();
        let device = drive.as_fdp().ok_or(Status::INVALID_FIELD)?;
        let units = device.status(NAMESPACE);
        units.map_err(|error| fdp_status(&error))?
    };
    let mut bytes = vec![0; HEADER + DESCRIPTOR * units.len()];
    put(&mut bytes, 14, &(units.len() as u16).to_le_bytes());
    for (index, unit) in units.iter().enumerate() {
        let at = HEADER + DESCRIPTOR * index;
        put(&mut bytes, at, &unit.placement.0.to_le_bytes());
        put(&mut bytes, at + 2, &unit.handle.to_le_bytes());
        put(&mut bytes, at + 4, &unit.time_left_seconds.to_le_bytes());
        let blocks = unit.available_bytes >> shift;
        put(&mut bytes, at + 8, &blocks.to_le_bytes());
    }
    let wanted = (u64::from(command.dword(11)) + 1) * 4;
    bytes.truncate(wanted.min(MOST_DATA.into()) as usize);
    Ok(Answer::Data(bytes, 0))
}

/// I/O Management Send: Reclaim Unit Handle Update.
pub(crate) fn management_send(
    target: &Target,
    command: &Command,
    data: &[u8],
) -> Result<Answer, Status> {
    check_management(target, command)?;
    let count = (command.dword(10) >> 16) as usize + 1;
    let list = data.get(..count * 2).ok_or(Status::SGL_LENGTH)?;
    let identifiers: Vec<_> = list
        .chunks_exact(2)
        .map(|identifier| PlacementIdentifier(u16_at(identifier, 0)))
        .collect();
    let mut drive = target.drive();
    let device = drive.as_fdp_mut().ok_or(Status::INVALID_FIELD)?;
    let updated = device.update(NAMESPACE, &identifiers);
    updated.map_err(|error| fdp_status(&error))?;
    Ok(Answer::Done(0))
}

fn check_management(target: &Target, command: &Command) -> Result<(), Status> {
    if target.mode != crate::drive::Mode::Fdp {
        return Err(Status::INVALID_OPCODE);
    }
    if command.namespace != NAMESPACE {
        return Err(Status::INVALID_NAMESPACE);
    }
    match command.dword(10) & 0xff {
        RECLAIM_UNIT_HANDLES => Ok(()),
        _ => Err(Status::INVALID_FIELD),
    }
}
