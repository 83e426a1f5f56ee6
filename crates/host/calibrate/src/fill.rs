//! The drive written in order, from its first block on, with a look at how units of the default handle end.

use crate::CalibrateError;
use crate::drive::{CalibratedDrive, Piece};
use crate::series::{self, Sample};

/// Bytes under way at a time (our choice).
const STEP_BYTES: u64 = 8 << 20;
/// Ends of units that are looked at (our choice).
const MOST_ENDS: usize = 4;

/// Findings of a fill.
pub(crate) struct Filled {
    pub begin: Sample,
    pub end: Sample,
    /// Bytes sent, and room of the default handle's unit, until the last end that was looked at.
    pub rooms: Vec<(u64, u64)>,
    /// For each end of a unit its room before the write that filled it, and what was counted beyond that write.
    pub ends: Vec<(u64, u64)>,
    /// A room did not fall by what was written.
    pub rooms_lie: bool,
}

impl Filled {
    /// Result of [`series::counts_room_twice`].
    pub fn counts_room_twice(&self) -> Option<bool> {
        series::counts_room_twice(&self.ends)
    }

    /// Gives the reason why bytes counted beyond those sent may be no copies, if there is one.
    pub fn counts_no_copies(&self) -> Option<&'static str> {
        if self.counts_room_twice() == Some(true) {
            return Some(
                "with each unit that is full, this drive counts the room before its last write as written once more, so that \
                 its count is none of copies",
            );
        }
        self.rooms_lie.then_some(
            "the room of this drive's unit does not fall by what is written, so that it is not known whether its count is one of \
             copies",
        )
    }
}

/// Writes the first so many bytes in order, without a look at anything.
pub(crate) fn unwatched(drive: &mut CalibratedDrive<'_>, bytes: u64) -> Result<(), CalibrateError> {
    let mut at = 0;
    while at < bytes {
        let piece = Piece {
            start_bytes: at,
            bytes: STEP_BYTES.min(bytes - at),
            place: None,
        };
        drive.write(&[piece])?;
        at += piece.bytes;
    }
    Ok(())
}

/// Writes the first so many bytes in order, by slots of so many bytes. Where handles have rooms, the write that fills a
/// unit is looked at by itself: the first brings as much as there is room, the next twice as much, and so on in turn.
/// All begin and end with a mapping unit; where that leaves no such writes, no end is looked at, but rooms are.
pub(crate) fn in_order(
    drive: &mut CalibratedDrive<'_>,
    bytes: u64,
    slot: u64,
    mapping_bytes: u64,
    most_lag_bytes: u64,
) -> Result<Filled, CalibrateError> {
    let mut falling = series::Falling::new(most_lag_bytes);
    let begin = drive.sample()?;
    let (mut rooms, mut ends) = (Vec::new(), Vec::new());
    let last = drive.most_write_bytes();
    let mut looks = drive.has_rooms();
    let fits_halves = (last / 2).is_multiple_of(mapping_bytes);
    let mut rooms_lie = false;
    let mut at = 0;
    while at < bytes {
        // What follows an end begins with a slot again, before the next room is looked at.
        let is_whole = at.is_multiple_of(slot);
        let mut room = None;
        if looks && (is_whole || !just_ended(&rooms, drive.sent_bytes())) {
            room = drive.rooms()?.first().copied();
            let look = room.map(|room| (drive.sent_bytes(), room));
            rooms.extend(look);
            rooms_lie = look.is_some_and(|look| !falling.fits(look));
            looks = !rooms_lie;
            let fits = |room: &u64| {
                looks && fits_halves && *room > 0 && room.is_multiple_of(mapping_bytes)
            };
            room = room.filter(fits);
        }
        let step = match room {
            Some(room) => match room.checked_sub(last >> (ends.len() % 2)) {
                None | Some(0) => last,
                Some(before) => STEP_BYTES.min(before),
            },
            None if is_whole => STEP_BYTES.max(slot),
            None => at.next_multiple_of(slot) - at,
        };
        let step = step.min(bytes - at);
        let ends_here = room.filter(|&room| step >= room);
        let before = ends_here.map(|_| drive.sample()).transpose()?;
        drive.write(&[Piece {
            start_bytes: at,
            bytes: step,
            place: None,
        }])?;
        if let Some((room, before)) = ends_here.zip(before) {
            ends.push((room, drive.sample()?.copied_since(before)));
            looks = ends.len() < MOST_ENDS;
        }
        at += step;
    }
    if looks && let Some(&room) = drive.rooms()?.first() {
        let look = (drive.sent_bytes(), room);
        rooms.push(look);
        rooms_lie = !falling.fits(look);
    }
    Ok(Filled {
        begin,
        end: drive.sample()?,
        rooms,
        ends,
        rooms_lie,
    })
}

/// Whether the unit that was looked at last is full now.
fn just_ended(rooms: &[(u64, u64)], sent_bytes: u64) -> bool {
    rooms
        .last()
        .is_some_and(|&look| series::is_full(look, sent_bytes))
}
