//! The drive written in order, from its first block on, with a look at how units of the default handle end.

use crate::CalibrateError;
use crate::drive::{Drive, Piece};
use crate::series::Sample;

/// Bytes under way at a time (our choice).
const STEP_BYTES: u64 = 8 << 20;
/// Ends of units that are looked at (our choice).
const MOST_ENDS: usize = 4;

/// What filling showed.
pub(crate) struct Filled {
    pub begin: Sample,
    pub end: Sample,
    /// Bytes sent, and room of the default handle's unit, until the last end that was looked at.
    pub rooms: Vec<(u64, u64)>,
    /// For each end of a unit its room before the write that filled it, and what was counted beyond that write.
    pub ends: Vec<(u64, u64)>,
}

/// Writes the first so many bytes in order. Where handles have rooms, the write that fills a unit is looked at by itself:
/// the first brings as much as there is room, the next twice as much, and so on in turn.
pub(crate) fn in_order(drive: &mut Drive<'_>, bytes: u64) -> Result<Filled, CalibrateError> {
    let begin = drive.look()?;
    let (mut rooms, mut ends) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes {
        let left = bytes - at;
        let room = match drive.has_rooms() && ends.len() < MOST_ENDS {
            true => drive.rooms()?.first().copied(),
            false => None,
        };
        let last = drive.most_write_bytes();
        let step = match room {
            Some(room) => {
                rooms.push((drive.sent_bytes(), room));
                let last_room = last >> (ends.len() % 2);
                match room.checked_sub(last_room) {
                    None | Some(0) => last.min(left),
                    Some(before) => STEP_BYTES.min(before).min(left),
                }
            }
            None => STEP_BYTES.min(left),
        };
        let ends_here = room.filter(|&room| step >= room);
        let before = ends_here.map(|_| drive.look()).transpose()?;
        drive.write(&[Piece {
            start_bytes: at,
            bytes: step,
            place: None,
        }])?;
        if let Some((room, before)) = ends_here.zip(before) {
            ends.push((room, drive.look()?.copied_since(before)));
        }
        at += step;
    }
    Ok(Filled {
        begin,
        end: drive.look()?,
        rooms,
        ends,
    })
}
