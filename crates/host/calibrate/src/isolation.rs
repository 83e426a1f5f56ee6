//! Whether garbage collection keeps handles apart.
//!
//! ```text
//! fill the drive, each handle its part
//! for each handle:
//!     overwrite all parts at random, until enough was copied or sent; most before the first handle
//!     discard its part
//!     write it anew, but for the room of units that it may hold open: what is copied now lay mixed with others' data
//!     write the rest
//! ```

use crate::drive::{About, CalibratedDrive, Piece, PlacementMethod};
use crate::findings::{Handle, Isolation, Victims};
use crate::random::Random;
use crate::{CalibrateError, series};

/// Bounds of the handles' overwrites: until so much was copied, or so much sent, in capacities.
#[derive(Clone, Copy)]
struct Churn {
    copied_share: f64,
    sent_share: f64,
}

/// Before the first handle is dropped (our choice: at 10 to 30 % of spare, half to nine tenths of the data have been
/// copied by then).
const FIRST: Churn = Churn {
    copied_share: 1.5,
    sent_share: 2.0,
};
/// Before each other: what was dropped and written anew lies in units of its own, and helped to sort out the others' data
/// (our choice). A drive that weighs age takes as long as for the first to mix them again.
const AGAIN: Churn = Churn {
    copied_share: 1.0,
    sent_share: 0.75,
};

/// All that is sent for so many handles, in capacities: the fill, the overwrites, and each handle's part once more.
pub(crate) fn most_share(handles: usize) -> f64 {
    match handles {
        0 | 1 => 0.0,
        _ => 2.0 + FIRST.sent_share.max(AGAIN.sent_share) * handles as f64,
    }
}

/// The note on handles of a drive that may copy others' data though dropped units are to be had.
pub(crate) const NOT_BY_COPIES: &str = "isolation was not measured: the drive does not empty units without valid data first, so that its copies say nothing of it";

/// Overwrites between two looks (our choice).
pub(crate) const LOOK_WRITES: usize = 64;
/// Units that a handle may hold open: its own and that of its copies.
const OPEN_UNITS: u64 = 2;

/// A handle's part of the drive, in slots.
#[derive(Clone, Copy)]
struct Parts {
    slot_bytes: u64,
    /// Slots of each handle.
    slots: u64,
}

impl Parts {
    fn of(about: &About, slot_bytes: u64, handles: &[Handle]) -> Parts {
        let slots = about.logical_bytes / slot_bytes / (handles.len() as u64).max(1);
        Parts { slot_bytes, slots }
    }

    fn piece(self, handle: u64, slot: u64, slots: u64, identifier: u16) -> Piece {
        Piece {
            start_bytes: (handle * self.slots + slot) * self.slot_bytes,
            bytes: slots * self.slot_bytes,
            place: Some(identifier),
        }
    }

    fn bytes(self) -> u64 {
        self.slots * self.slot_bytes
    }
}

/// The drive's own report, without a measurement.
fn unmeasured(about: &About) -> Vec<Handle> {
    let identifiers = about.identifiers.iter().enumerate();
    let told = |place: usize| match &about.placement {
        PlacementMethod::Fdp { told, .. } => told.get(place).copied(),
        _ => None,
    };
    identifiers
        .map(|(place, &identifier)| Handle {
            identifier,
            told: told(place),
            measured: None,
            copied_share: None,
            has_own_unit: None,
        })
        .collect()
}

/// The same, and with FDP whether each handle's writes take room of a unit of its own; a slot is written with each.
pub(crate) fn unmeasured_and_mapped(
    drive: &mut CalibratedDrive<'_>,
    about: &About,
    slot_bytes: u64,
) -> Result<Vec<Handle>, CalibrateError> {
    let mut handles = unmeasured(about);
    let parts = Parts::of(about, slot_bytes, &handles);
    own_units(drive, &mut handles, parts)?;
    Ok(handles)
}

/// Describes what the measurement of these handles cannot show.
pub(crate) fn caveat(handles: &[Handle]) -> Option<String> {
    let initial = |handle: &&Handle| handle.told == Some(Isolation::Initial);
    let alone = handles.iter().filter(initial).count() == 1;
    let differs = |handle: &Handle| {
        let both = handle.told.zip(handle.measured);
        both.is_some_and(|(told, measured)| told != measured)
    };
    let differing: Vec<String> = handles
        .iter()
        .filter(|handle| differs(handle))
        .map(|handle| handle.identifier.to_string())
        .collect();
    if differing.is_empty() {
        return None;
    }
    let why = if alone {
        "; a single initially isolated handle has nobody to share with"
    } else {
        ""
    };
    Some(format!(
        "handles {} behave otherwise than the drive says{why}",
        differing.join(", ")
    ))
}

/// Tries all handles.
pub(crate) fn handles(
    drive: &mut CalibratedDrive<'_>,
    about: &About,
    slot_bytes: u64,
    (unit_bytes, victims): (u64, Option<Victims>),
    random: &mut Random,
) -> Result<Vec<Handle>, CalibrateError> {
    let mut handles = unmeasured(about);
    let count = handles.len() as u64;
    let parts = Parts::of(about, slot_bytes, &handles);
    drive.discard(0, about.logical_bytes)?;
    own_units(drive, &mut handles, parts)?;
    fill(drive, &handles, parts, unit_bytes)?;
    let rewritten = parts
        .bytes()
        .saturating_sub(OPEN_UNITS.saturating_mul(unit_bytes));
    let rewritten_slots = rewritten / slot_bytes;
    for place in 0..count {
        let churned = if place == 0 || victims == Some(Victims::Age) {
            FIRST
        } else {
            AGAIN
        };
        churn(drive, &handles, parts, churned, random)?;
        let Some(handle) = handles.get_mut(place as usize) else {
            break;
        };
        let all = parts.piece(place, 0, parts.slots, handle.identifier);
        drive.discard(all.start_bytes, all.bytes)?;
        let before = drive.sample()?;
        drive.write(&[parts.piece(place, 0, rewritten_slots, handle.identifier)])?;
        let after = drive.sample()?;
        let sent = after.sent_bytes - before.sent_bytes;
        if let Some((isolation, share)) = series::isolation(sent, after.copied_since(before)) {
            handle.measured = Some(isolation);
            handle.copied_share = Some(share);
        }
        let rest = parts.slots - rewritten_slots;
        drive.write(&[parts.piece(place, rewritten_slots, rest, handle.identifier)])?;
    }
    Ok(handles)
}

/// With FDP: does a slot that is written with a handle's identifier take room of its unit, and of no other's?
fn own_units(
    drive: &mut CalibratedDrive<'_>,
    handles: &mut [Handle],
    parts: Parts,
) -> Result<(), CalibrateError> {
    if !drive.has_rooms() {
        return Ok(());
    }
    for (place, handle) in handles.iter_mut().enumerate() {
        let before = drive.rooms()?;
        drive.write(&[parts.piece(place as u64, 0, 1, handle.identifier)])?;
        let after = drive.rooms()?;
        let changed: Vec<usize> = (0..before.len())
            .filter(|&one| before.get(one) != after.get(one))
            .collect();
        handle.has_own_unit = Some(changed == [place]);
    }
    Ok(())
}

/// Fills all parts side by side.
fn fill(
    drive: &mut CalibratedDrive<'_>,
    handles: &[Handle],
    parts: Parts,
    unit_bytes: u64,
) -> Result<(), CalibrateError> {
    // Several turns a unit, so that the units of all handles are open at once.
    let stretch = (unit_bytes / 8 / parts.slot_bytes).clamp(1, parts.slots.max(1));
    let mut slot = 0;
    while slot < parts.slots {
        let slots = stretch.min(parts.slots - slot);
        let piece = |(place, handle): (usize, &Handle)| {
            parts.piece(place as u64, slot, slots, handle.identifier)
        };
        let pieces: Vec<Piece> = handles.iter().enumerate().map(piece).collect();
        drive.write(&pieces)?;
        slot += slots;
    }
    Ok(())
}

/// Overwrites at random, each slot with its handle, until much was copied.
fn churn(
    drive: &mut CalibratedDrive<'_>,
    handles: &[Handle],
    parts: Parts,
    until: Churn,
    random: &mut Random,
) -> Result<(), CalibrateError> {
    let capacity = (parts.bytes() * handles.len() as u64) as f64;
    let begin = drive.sample()?;
    loop {
        let look = drive.sample()?;
        let sent = (look.sent_bytes - begin.sent_bytes) as f64;
        if look.copied_since(begin) as f64 >= capacity * until.copied_share
            || sent >= capacity * until.sent_share
        {
            return Ok(());
        }
        let left = (capacity * until.sent_share - sent) / parts.slot_bytes as f64;
        let writes = (left.ceil() as usize).clamp(1, LOOK_WRITES);
        let pieces = (0..writes).filter_map(|_| {
            let place = random.below(handles.len() as u64);
            let handle = handles.get(place as usize)?;
            let slot = random.below(parts.slots);
            Some(parts.piece(place, slot, 1, handle.identifier))
        });
        drive.write(&pieces.collect::<Vec<_>>())?;
    }
}
