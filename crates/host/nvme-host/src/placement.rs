//! The placement handles of a namespace with Flexible Data Placement.
//!
//! They are asked for twice: its header, which tells the length, and then the whole. A buffer longer than the answer is no
//! way out: Linux describes it by an SGL of several parts, and a controller may refuse one that is longer than its data
//! (status 0Fh, unless bit 18 of SGLS is set). QEMU's does.

use crate::command::{Queue, opcode};

/// Bytes of the header.
const HEADER: usize = 16;
/// Bytes of a handle's descriptor.
const DESCRIPTOR: usize = 32;
/// Placement handles of a namespace, at most.
const MOST_HANDLES: usize = 128;
/// A command's queue, its opcode, and whether it names the namespace.
pub type CommandKind = (Queue, u8, bool);

/// A placement handle of a namespace, by its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacementHandle {
    /// The placement identifier that a write carries (PID).
    pub identifier: u16,
    /// The drive's reclaim unit handle that it stands for (RUHID).
    pub handle: u16,
    /// Blocks that may still be written to the handle's unit (RUAMW).
    pub room_blocks: u64,
}

/// The reclaim unit handles' status (TP4146): for each placement handle of the namespace a descriptor of 32 bytes behind
/// a header of 16 (NVMe Base Specification 2.1, §7.3). `ask` sends a command as [`crate::Namespace::ask`] does.
///
/// # Errors
/// Those of `ask`; a namespace without Flexible Data Placement has no such status.
pub fn handles<E>(
    mut ask: impl FnMut(&'static str, CommandKind, [u32; 6], &mut [u8]) -> Result<u32, E>,
) -> Result<Vec<PlacementHandle>, E> {
    const REPORT: u32 = 1;
    let command = (Queue::Io, opcode::MANAGEMENT_RECEIVE, true);
    let length = |header: &[u8]| {
        let handles = u16::from_le_bytes([header[14], header[15]]);
        HEADER + usize::from(handles).min(MOST_HANDLES) * DESCRIPTOR
    };
    let status = whole(HEADER, length, |data| {
        let words = [REPORT, (data.len() / 4 - 1) as u32, 0, 0, 0, 0];
        ask("ask for the reclaim unit handles", command, words, data)
    })?;
    let (descriptors, _) = status[HEADER..].as_chunks::<DESCRIPTOR>();
    let read = descriptors.iter().map(|descriptor| PlacementHandle {
        identifier: u16::from_le_bytes([descriptor[0], descriptor[1]]),
        handle: u16::from_le_bytes([descriptor[2], descriptor[3]]),
        room_blocks: u64::from_le_bytes(std::array::from_fn(|place| descriptor[8 + place])),
    });
    Ok(read.collect())
}

/// A header of so many bytes, and where it tells of more, all of it.
pub(super) fn whole<E>(
    header_bytes: usize,
    length: impl Fn(&[u8]) -> usize,
    mut ask: impl FnMut(&mut [u8]) -> Result<u32, E>,
) -> Result<Vec<u8>, E> {
    let mut header = vec![0; header_bytes];
    ask(&mut header)?;
    let bytes = length(&header);
    if bytes <= header_bytes {
        return Ok(header);
    }
    let mut data = vec![0; bytes];
    ask(&mut data)?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive with this answer, which refuses any longer question.
    fn answered(answer: &[u8], data: &mut [u8]) -> Result<u32, usize> {
        let told = answer.get(..data.len()).ok_or(data.len())?;
        data.copy_from_slice(told);
        Ok(0)
    }

    #[test]
    fn no_more_is_asked_for_than_there_is() {
        for count in [0_u8, 1, 8, 128] {
            let mut status = vec![0; HEADER + usize::from(count) * DESCRIPTOR];
            status[14] = count;
            for place in 0..count {
                let at = HEADER + usize::from(place) * DESCRIPTOR;
                status[at..at + 9].copy_from_slice(&[place, 1, 9, 2, 0, 0, 0, 0, place]);
            }
            let found = handles(|_, _, _, data| answered(&status, data)).unwrap();
            let expected: Vec<PlacementHandle> = (0..count)
                .map(|place| PlacementHandle {
                    identifier: 256 + u16::from(place),
                    handle: 521,
                    room_blocks: place.into(),
                })
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_a_drive_says_of_the_length_is_bounded() {
        let all = [0xff; 1 << 14];
        let found = handles(|_, _, _, data| answered(&all, data)).unwrap();
        assert_eq!(found.len(), MOST_HANDLES);
    }
}
