//! Operands of I/O commands: ranges of blocks, and reclaim unit handles.

use std::sync::Arc;

use crate::{
    command::Command,
    completion::{Answer, Status},
    controller::Controller,
    drive::fdp_status,
    extent::Extent,
    namespace::Namespace,
    options::{MOST_DATA, MOST_DEALLOCATED, MOST_RANGES},
    target::Target,
    wire::{put, u16_at, u32_at, u64_at},
};
use anabranch_ssd::fdp::PlacementIdentifier;

/// Dataset Management: Attribute – Deallocate.
pub(crate) const DEALLOCATE: u32 = 1 << 2;
/// Bytes of a Dataset Management range.
const RANGE: usize = 16;

/// The bytes that a command's blocks are, of an attached namespace.
///
/// PRINFO (dword 12, bits 29:26) is not looked at: it says what is done with protection information
/// (NVM §5.2.2), and the namespace has none. NVM §3.3.5 would have a Verify with PRACT refused all
/// the same; QEMU takes it where there is no protection information, and so do we, because fio sets
/// that bit in every command it passes through (since 3.41).
#[inline]
pub(crate) fn extent(
    controller: &Controller,
    command: &Command,
) -> Result<(Arc<Namespace>, Extent), Status> {
    let namespace = namespace(controller, command)?;
    let extent = blocks(&namespace, command.first_block(), command.blocks())?;
    Ok((namespace, extent))
}

/// The bytes of a command whose data are transferred: no more than MDTS allows.
#[inline]
pub(crate) fn transfer(
    controller: &Controller,
    command: &Command,
) -> Result<(Arc<Namespace>, Extent), Status> {
    let (namespace, extent) = extent(controller, command)?;
    if extent.length <= u64::from(MOST_DATA) {
        Ok((namespace, extent))
    } else {
        Err(Status::INVALID_FIELD)
    }
}

/// The namespace named is attached, and is not being formatted: then commands may be aborted by that
/// name (§5.1.10).
#[inline]
fn namespace(controller: &Controller, command: &Command) -> Result<Arc<Namespace>, Status> {
    let namespace = controller.namespace(command.namespace)?;
    if namespace.is_formatting() {
        Err(Status::FORMAT_IN_PROGRESS)
    } else {
        Ok(namespace)
    }
}

#[inline]
fn blocks(namespace: &Namespace, first: u64, count: u64) -> Result<Extent, Status> {
    let end = first.checked_add(count);
    if end.is_none_or(|end| end > namespace.blocks()) {
        return Err(Status::LBA_OUT_OF_RANGE);
    }
    let shift = namespace.block_shift();
    Ok(Extent {
        at: namespace.begin() + (first << shift),
        length: count << shift,
    })
}

/// The ranges of a Dataset Management command, all of them within the namespace; of those, what the
/// limits leave to be processed.
pub(crate) fn ranges(
    controller: &Controller,
    command: &Command,
    data: &[u8],
) -> Result<(Arc<Namespace>, Vec<Extent>), Status> {
    let namespace = namespace(controller, command)?;
    let count = (command.dword(10) & 0xff) as usize + 1;
    let list = data.get(..count * RANGE).ok_or(Status::SGL_LENGTH)?;
    let range = |range: &[u8]| blocks(&namespace, u64_at(range, 8), u32_at(range, 4).into());
    let ranges: Result<Vec<Extent>, Status> = list.chunks_exact(RANGE).map(range).collect();
    let ranges = within_limits(&ranges?);
    Ok((namespace, ranges))
}

/// Selects the part of a command's ranges that is processed (NVM §3.3.3.1): the first [`MOST_RANGES`], and of all
/// ranges' blocks in order those before [`MOST_DEALLOCATED`] bytes. A controller whose ONCS says that
/// it has the command passes over the others, and does not refuse it.
fn within_limits(ranges: &[Extent]) -> Vec<Extent> {
    let mut before = 0;
    let cut = |&Extent { at, length }: &Extent| {
        let left = MOST_DEALLOCATED.saturating_sub(before);
        before = before.saturating_add(length);
        Extent {
            at,
            length: length.min(left),
        }
    };
    let cut = ranges.iter().take(MOST_RANGES.into()).map(cut);
    cut.filter(|range| range.length > 0).collect()
}

/// Management operations (§7.3, §7.4): status of reclaim unit handles, and their update.
const RECLAIM_UNIT_HANDLES: u32 = 1;

/// I/O Management Receive: Reclaim Unit Handle Status.
pub(crate) fn management_receive(
    target: &Target,
    controller: &Controller,
    command: &Command,
) -> Result<Answer, Status> {
    const HEADER: usize = 16;
    const DESCRIPTOR: usize = 32;
    let namespace = check_management(target, controller, command)?;
    let shift = namespace.block_shift();
    let units = {
        let drive = target.drive();
        let device = drive.as_fdp().ok_or(Status::INVALID_FIELD)?;
        let units = device.status(namespace.id());
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
    controller: &Controller,
    command: &Command,
    data: &[u8],
) -> Result<Answer, Status> {
    let namespace = check_management(target, controller, command)?;
    let count = (command.dword(10) >> 16) as usize + 1;
    let list = data.get(..count * 2).ok_or(Status::SGL_LENGTH)?;
    let identifiers: Vec<_> = list
        .chunks_exact(2)
        .map(|identifier| PlacementIdentifier(u16_at(identifier, 0)))
        .collect();
    let mut drive = target.drive();
    let device = drive.as_fdp_mut().ok_or(Status::INVALID_FIELD)?;
    let updated = device.update(namespace.id(), &identifiers);
    updated.map_err(|error| fdp_status(&error))?;
    Ok(Answer::Done(0))
}

fn check_management(
    target: &Target,
    controller: &Controller,
    command: &Command,
) -> Result<Arc<Namespace>, Status> {
    if target.facts.mode != crate::drive::Mode::Fdp {
        return Err(Status::INVALID_OPCODE);
    }
    if !target.enabled.places() {
        return Err(Status::FDP_DISABLED);
    }
    let namespace = namespace(controller, command)?;
    match command.dword(10) & 0xff {
        RECLAIM_UNIT_HANDLES => Ok(namespace),
        _ => Err(Status::INVALID_FIELD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(lengths: &[u64]) -> Vec<Extent> {
        let extent = |&length| Extent { at: 4096, length };
        lengths.iter().map(extent).collect()
    }

    #[test]
    fn blocks_beyond_the_limits_are_passed_over() {
        let few = extents(&[8192, 4096]);
        assert_eq!(within_limits(&few), few);
        assert_eq!(within_limits(&extents(&[0, 4096])), extents(&[4096]));
        let many = within_limits(&extents(&[4096; 256]));
        assert_eq!(many.len(), usize::from(MOST_RANGES));
        // What a range before has beyond the limit counts.
        let large = extents(&[MOST_DEALLOCATED - 4096, 8192, 4096]);
        assert_eq!(
            within_limits(&large),
            extents(&[MOST_DEALLOCATED - 4096, 4096])
        );
    }
}
