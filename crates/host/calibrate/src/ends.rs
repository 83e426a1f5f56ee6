//! Ends of units: whether the host can make them, and how many of a unit's bytes are the host's.
//!
//! ```text
//! write a quarter of a unit; update the default handle: is the room a whole unit's again?
//! write as much as the room was before: did that end no unit?
//! write on to the end: bytes sent between the two ends
//! ```

use crate::CalibrateError;
use crate::drive::{CalibratedDrive, Piece};
use crate::findings::UnitEnds;

/// Rooms beyond so many units are not believed, so that no more than this and a unit is sent (our choice).
const MOST_UNITS: u64 = 2;
/// Remark where the series is left out.
pub(crate) const UNKNOWN: &str = "whether a handle update ends a unit was not tried: the unit or the spare is not known, or units are no \
     multiples of mapping units, or larger than an eighth of the drive";
/// The drive is at least so many units large: writes stay within it (our choice).
pub(crate) const FEWEST_UNITS: u64 = 8;
/// Most that is sent, as a share of the drive.
pub(crate) const MOST_SHARE: f64 = 0.5;
/// Writes of a mapping unit by which an end is looked for beyond the room that was reported (our choice).
const LAST_WRITES: u64 = 64;

/// Runs the series on a drive whose handles report their rooms, with units of so many bytes. Mapping units divide a unit.
pub(crate) fn watch(
    drive: &mut CalibratedDrive<'_>,
    unit_bytes: u64,
    mapping_bytes: u64,
    notes: &mut Vec<String>,
) -> Result<UnitEnds, CalibrateError> {
    let mut found = UnitEnds::default();
    let mut at = Unit {
        sent_bytes: 0,
        most_room_bytes: MOST_UNITS * unit_bytes,
        mapping_bytes,
        drive,
    };
    at.write(unit_bytes / 4)?;
    if at.room()? >= unit_bytes {
        // That ended a unit.
        at.write(mapping_bytes)?;
    }
    let room_before = at.room()?;
    let before = at.drive.sample()?;
    match at.drive.update_handle() {
        Ok(()) => {}
        Err(CalibrateError::Refused { what, status }) => {
            notes.push(format!(
                "whether a handle update ends a unit is not known: the drive answers {what} with status {status:#x}"
            ));
            return Ok(found);
        }
        Err(error) => return Err(error),
    }
    let padded = at.drive.sample()?.copied_since(before);
    if padded > 0 {
        notes.push(format!(
            "a handle update costs flash: the drive counted {padded} bytes for the rest of a unit of {room_before} bytes"
        ));
    }
    let made_at = at.sent_bytes;
    let room = at.room()?;
    at.write(room_before)?;
    let left = room.checked_sub(at.sent_bytes - made_at);
    // Without a new unit the old one has ended just now, and another begun.
    let ends = room > room_before && left.is_some() && at.room()? == left.unwrap_or(0);
    found.update_ends_unit = Some(ends);
    if ends {
        found.host_bytes = at.until_full()?.map(|end| end - made_at);
    }
    Ok(found)
}

/// The unit of the default handle, as it is filled.
struct Unit<'a, 'b> {
    drive: &'a mut CalibratedDrive<'b>,
    mapping_bytes: u64,
    most_room_bytes: u64,
    sent_bytes: u64,
}

impl Unit<'_, '_> {
    /// Writes whole mapping units of so many bytes, down to its flash.
    fn write(&mut self, bytes: u64) -> Result<(), CalibrateError> {
        let bytes = bytes / self.mapping_bytes * self.mapping_bytes;
        let piece = Piece {
            start_bytes: self.sent_bytes,
            bytes,
            place: None,
        };
        self.drive.write(&[piece])?;
        self.sent_bytes += bytes;
        self.drive.flush()
    }

    fn room(&mut self) -> Result<u64, CalibrateError> {
        let room = self.drive.rooms()?.first().copied().unwrap_or(0);
        Ok(room.min(self.most_room_bytes))
    }

    /// Writes until another unit is there, which the room shows; bytes sent by then.
    fn until_full(&mut self) -> Result<Option<u64>, CalibrateError> {
        let room = self.room()?;
        self.write(room.saturating_sub(self.mapping_bytes))?;
        let mut room = self.room()?;
        for _ in 0..LAST_WRITES {
            self.write(self.mapping_bytes)?;
            let now = self.room()?;
            if now > room {
                return Ok(Some(self.sent_bytes));
            }
            room = now;
        }
        Ok(None)
    }
}
