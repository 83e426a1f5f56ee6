//! The order of the series.
//!
//! ```text
//! discard all blocks
//! lone writes of rising sizes       -> mapping unit, lag of the flash's count
//! fill in order, then overwrite at random until copies are made, and through some bursts of them
//!                                   -> reclaim unit, physical bytes, spare
//! discard all blocks, write a part  -> effect of a discard
//! fill, discard shares of what lies where, write there, pause, where a discard frees room
//!                                   -> rule of victims, when collection begins and how far it goes
//! update a handle, with FDP         -> ends of units
//! write with all handles, drop one after the other, where a discard frees room and there are several
//!                                   -> isolation of each handle
//! ```

use std::time::Duration;

use crate::CalibrateError;
use crate::drive::{About, CalibratedDrive, Piece, PlacementMethod};
use crate::fill::{self, Filled};
use crate::findings::{
    Band, Discard, Findings, Handle, Measured, ObservedCollection, UnitEnds, Victims,
};
use crate::random::Random;
use crate::series::{self, Sample};
use crate::{collection, ends, isolation};

/// The largest mapping unit that is looked for, in bytes (our choice: the largest that a profile has).
const MOST_MAPPING_BYTES: u64 = 64 << 10;
/// Lone writes of each size (our choice).
const LONE_WRITES: u64 = 16;
/// Overwrites are as large as makes this many of a capacity, as a power of two, so that a series has a bounded number
/// of writes on any drive (our choice).
const SLOTS_BITS: u32 = 18;
/// Part of a capacity between two looks at the counters, as a power of two; at least one overwrite (our choice).
const LOOK_BITS: u32 = 15;
/// Bursts of copies that are waited for (our choice).
const BURSTS: usize = 24;
/// Shares of a capacity: most that is overwritten for bursts, and the part written after a discard (our choice).
const BURST_SHARE: f64 = 0.5;
const DISCARD_SHARE: f64 = 0.25;

/// The part of the series that its caller chooses.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Seed of the places of overwrites.
    pub seed: u64,
    /// Pause after which the counters are looked at again; none if it is zero.
    pub idle: Duration,
}

/// Most bytes that are sent, by series: lone writes, a fill, overwrites until something is copied, and for bursts,
/// writes after a discard; the series on collection, on the ends of units, and on isolation.
pub fn most_sent_bytes(about: &About) -> u64 {
    let lone = LONE_WRITES * 2 * MOST_MAPPING_BYTES;
    let handles = isolation::most_share(about.identifiers.len());
    let ends = match about.placement {
        PlacementMethod::Fdp { .. } => ends::MOST_SHARE,
        PlacementMethod::Streams | PlacementMethod::None => 0.0,
    };
    let collection = collection::most_share() + ends;
    let shares = 1.0 + 1.0 + BURST_SHARE + DISCARD_SHARE + collection + handles;
    // Each series may end some overwrites late.
    let slot = slot_bytes(about.logical_bytes, MOST_MAPPING_BYTES);
    let late = (about.identifiers.len() as u64 + 2) * (isolation::LOOK_WRITES as u64 + 1) * slot;
    lone + late + (about.logical_bytes as f64 * shares) as u64
}

/// Bytes of an overwrite: whole mapping units.
pub(crate) fn slot_bytes(logical_bytes: u64, mapping_bytes: u64) -> u64 {
    let slot = (logical_bytes >> SLOTS_BITS).next_power_of_two();
    slot.max(mapping_bytes)
}

/// Overwrites between two looks at the counters.
fn look_writes(about: &About, slot: u64) -> u64 {
    ((about.logical_bytes >> LOOK_BITS) / slot).max(1)
}

/// Learns a drive. Everything on it is lost. `tell` receives each step as it begins.
///
/// # Errors
/// When the drive fails, or does not count finely enough for its size.
pub fn calibrate(
    drive: &mut CalibratedDrive<'_>,
    settings: Settings,
    tell: &mut dyn FnMut(&'static str),
) -> Result<Findings, CalibrateError> {
    let about = drive.about().clone();
    check(&about)?;
    let begin = drive.sample()?;
    tell("giving up all blocks");
    drive.discard(0, about.logical_bytes)?;
    tell("small writes: the mapping unit");
    let (mapping, lag_bytes) = lone_writes(drive, &about)?;
    let mapping_unit = Measured {
        told_bytes: about.granularity_bytes,
        bytes: mapping,
    };
    let sizes = Sizes::of(&about, &mapping_unit, lag_bytes);
    let slot = sizes.slot;
    let over = filled_and_overwritten(drive, &about, &sizes, settings.seed, tell)?;
    let (unit, unit_by) = unit(&about, &over, slot);
    let unit_bytes = unit.best_bytes();
    tell("all given up again: what a discard does");
    let (discard, reads_zeroes) = discards(drive, &about, over.first_copy.map(|_| lag_bytes))?;
    let mut notes = notes(&about, &over, unit_bytes);
    notes.extend(unmeasured(&about, discard));
    let learned = Learned {
        about: &about,
        sizes,
        over: &over,
        unit_bytes,
        discard,
    };
    let collection = learned.collection(drive, settings.idle, tell, &mut notes)?;
    let unit_ends = learned.unit_ends(drive, tell, &mut notes)?;
    let physical = over.physical(begin, unit_bytes, collection.units_at_once);
    let in_no_order = collection.takes_empty_units_first == Some(false);
    if in_no_order && about.identifiers.len() > 1 {
        notes.push(isolation::NOT_BY_COPIES.to_owned());
    }
    let unit_to_drop = learned.unit_that_discards_free().filter(|_| !in_no_order);
    let unit_to_drop = unit_to_drop.map(|unit| (unit, collection.victims));
    let handles = handles(drive, &about, slot, unit_to_drop, settings.seed, tell)?;
    notes.extend(isolation::caveat(&handles));
    let end = drive.sample()?;
    Ok(Findings {
        serial: about.serial.clone(),
        model: about.model.clone(),
        counter: drive.counter(),
        logical_bytes: about.logical_bytes,
        placement: about.placement.name(),
        reclaim_groups: about.placement.groups(),
        mapping_unit,
        write_buffer: Measured::alone((lag_bytes > 0).then(|| Band::exact(lag_bytes))),
        unit,
        unit_by,
        physical: Measured::alone(physical),
        spare: physical.map(|band| spare(band, about.logical_bytes)),
        handles,
        handle_count: about.handle_count,
        discard,
        discarded_read_as_zeroes: reads_zeroes,
        collection,
        unit_ends,
        notes,
        sent_bytes: end.sent_bytes - begin.sent_bytes,
        media_bytes: end.media_bytes.saturating_sub(begin.media_bytes),
    })
}

/// The handles, measured by dropping them in turn where a discard frees their room: `unit` has the bytes of a reclaim unit,
/// and the rule of victims as far as it is known.
fn handles(
    drive: &mut CalibratedDrive<'_>,
    about: &About,
    slot: u64,
    unit: Option<(u64, Option<Victims>)>,
    seed: u64,
    tell: &mut dyn FnMut(&'static str),
) -> Result<Vec<Handle>, CalibrateError> {
    match unit.filter(|_| about.identifiers.len() > 1) {
        Some(unit) => {
            tell("all handles, dropped one by one: their isolation");
            isolation::handles(drive, about, slot, unit, &mut Random(seed ^ 1))
        }
        None => isolation::unmeasured_and_mapped(drive, about, slot),
    }
}

/// The drive as the first series showed it.
struct Learned<'a> {
    about: &'a About,
    sizes: Sizes,
    over: &'a Overwritten,
    unit_bytes: Option<u64>,
    discard: Discard,
}

impl Learned<'_> {
    fn unit_that_discards_free(&self) -> Option<u64> {
        self.unit_bytes
            .filter(|_| self.discard == Discard::FreesRoom)
    }

    /// The drive's garbage collection.
    fn collection(
        &self,
        drive: &mut CalibratedDrive<'_>,
        idle: Duration,
        tell: &mut dyn FnMut(&'static str),
        notes: &mut Vec<String>,
    ) -> Result<ObservedCollection, CalibrateError> {
        let found = match self.unit_that_discards_free() {
            Some(unit_bytes) => {
                tell("data of several ages given up in part: what the drive empties first");
                let known = collection::Known {
                    unit_bytes,
                    slot_bytes: self.sizes.slot,
                    lag_bytes: self.sizes.lag_bytes,
                };
                collection::watch(drive, self.about, &known, idle, notes)?
            }
            None => {
                let why = match self.discard {
                    Discard::FreesRoom => "the unit is not known",
                    Discard::NotKnown => "no copies are counted that would show it",
                    Discard::FreesNothing => "copies went on after all data were given up",
                    Discard::NotTaken => "it takes no discards",
                };
                notes.push(collection::untold(why));
                ObservedCollection::default()
            }
        };
        Ok(ObservedCollection {
            begins_after_bytes: self.over.taken_bytes(),
            ..found
        })
    }

    /// The ends of units, where handles have rooms, copies are counted, and the unit is known.
    fn unit_ends(
        &self,
        drive: &mut CalibratedDrive<'_>,
        tell: &mut dyn FnMut(&'static str),
        notes: &mut Vec<String>,
    ) -> Result<UnitEnds, CalibrateError> {
        let filled = &self.over.filled;
        let room_is_true =
            (drive.has_rooms() && !self.over.rooms.is_empty()).then_some(!filled.rooms_lie);
        let mapping_bytes = self.sizes.mapping_bytes;
        let is_small = |unit: &u64| {
            unit.is_multiple_of(mapping_bytes)
                && unit.saturating_mul(ends::FEWEST_UNITS) <= self.about.logical_bytes
        };
        let unit = self.unit_bytes.filter(is_small);
        let found = match unit.filter(|_| drive.has_rooms() && self.over.first_copy.is_some()) {
            Some(unit_bytes) => {
                tell("a handle update: does it end a unit");
                ends::watch(drive, unit_bytes, mapping_bytes, notes)?
            }
            None => {
                if drive.has_rooms() {
                    notes.push(ends::UNKNOWN.to_owned());
                }
                UnitEnds::default()
            }
        };
        Ok(UnitEnds {
            room_is_true,
            ..found
        })
    }
}

/// Findings of the lone writes.
struct Sizes {
    /// Bytes of an overwrite.
    slot: u64,
    mapping_bytes: u64,
    /// Lag of the count.
    lag_bytes: u64,
}

impl Sizes {
    fn of(about: &About, mapping_unit: &Measured, lag_bytes: u64) -> Sizes {
        let mapping_bytes = mapping_unit
            .best_bytes()
            .unwrap_or(4096)
            // Whole blocks, which `CalibratedDrive` has of 64 KiB at most.
            .clamp(about.block_bytes, MOST_MAPPING_BYTES)
            .next_power_of_two();
        Sizes {
            slot: slot_bytes(about.logical_bytes, mapping_bytes),
            mapping_bytes,
            lag_bytes,
        }
    }

    /// Most that the count may lag: lone writes show its lag to within one of them.
    fn most_lag_bytes(&self) -> u64 {
        match self.lag_bytes {
            0 => 0,
            lag => lag + MOST_MAPPING_BYTES,
        }
    }
}

/// Fills the drive, and overwrites where that shows something.
fn filled_and_overwritten(
    drive: &mut CalibratedDrive<'_>,
    about: &About,
    sizes: &Sizes,
    seed: u64,
    tell: &mut dyn FnMut(&'static str),
) -> Result<Overwritten, CalibrateError> {
    tell("a fill in order: how units end");
    let bytes = about.logical_bytes / sizes.slot * sizes.slot;
    let filled = fill::in_order(
        drive,
        bytes,
        sizes.slot,
        sizes.mapping_bytes,
        sizes.most_lag_bytes(),
    )?;
    if filled.counts_no_copies().is_some() {
        return Ok(Overwritten::none(filled));
    }
    tell("overwrites until something is copied: the spare and the unit");
    overwrites(drive, about, sizes, filled, &mut Random(seed))
}

/// Whether the drive can be learned.
fn check(about: &About) -> Result<(), CalibrateError> {
    let least = LONE_WRITES * 4 * MOST_MAPPING_BYTES;
    if about.logical_bytes < least {
        return Err(CalibrateError::Unfit(format!(
            "the drive has {} bytes: one of {least} bytes or more can be calibrated",
            about.logical_bytes,
        )));
    }
    Ok(())
}

fn spare(physical: Band, logical_bytes: u64) -> Band {
    let share = |bytes: f64| bytes / logical_bytes as f64 - 1.0;
    Band {
        low: share(physical.low),
        best: share(physical.best),
        high: share(physical.high),
    }
}

/// Writes of rising size, each alone: the mapping unit, and how far the count was behind.
fn lone_writes(
    drive: &mut CalibratedDrive<'_>,
    about: &About,
) -> Result<(Option<Band>, u64), CalibrateError> {
    let stride = 2 * MOST_MAPPING_BYTES;
    let (mut costs, mut lag_bytes) = (Vec::new(), 0);
    let mut bytes = about.block_bytes;
    while bytes <= MOST_MAPPING_BYTES {
        let begin = drive.sample()?;
        let mut looks = Vec::new();
        for write in 0..LONE_WRITES {
            // Neighbours are not written one after the other, lest a buffer joins them.
            let place = write * 7 % LONE_WRITES;
            drive.write(&[Piece {
                start_bytes: place * stride,
                bytes,
                place: None,
            }])?;
            looks.push(drive.sample()?);
        }
        lag_bytes = lag_bytes.max(series::lag(begin, &looks));
        drive.flush()?;
        let media = drive
            .sample()?
            .media_bytes
            .saturating_sub(begin.media_bytes);
        costs.push((bytes, media / LONE_WRITES));
        bytes *= 2;
    }
    Ok((series::mapping_unit(&costs), lag_bytes))
}

/// Findings of a fill and of overwriting.
struct Overwritten {
    filled: Filled,
    /// Bytes sent before the first copies, if there were any.
    first_copy: Option<u64>,
    samples: Vec<Sample>,
    /// Bytes sent, and room of the default handle's unit.
    rooms: Vec<(u64, u64)>,
}

impl Overwritten {
    /// Bytes that the empty drive took before the first copy.
    fn taken_bytes(&self) -> Option<u64> {
        let begin = self.filled.begin.sent_bytes;
        self.first_copy.map(|at| at.saturating_sub(begin))
    }

    /// The flash for data, of a drive that was empty at the look `new`.
    fn physical(&self, new: Sample, unit: Option<u64>, at_once: Option<u64>) -> Option<Band> {
        let before = self.filled.begin.media_bytes;
        let before = before.saturating_sub(new.media_bytes);
        let taken = self.taken_bytes()?;
        let taken = series::in_use(taken, before, unit.unwrap_or(0), at_once.unwrap_or(1));
        Some(series::physical(taken, unit.map(|unit| unit as f64)))
    }

    /// A drive that was filled alone.
    fn none(mut filled: Filled) -> Overwritten {
        Overwritten {
            first_copy: None,
            samples: Vec::new(),
            rooms: std::mem::take(&mut filled.rooms),
            filled,
        }
    }
}

/// Overwrites at random, after a fill, until copies came often enough.
fn overwrites(
    drive: &mut CalibratedDrive<'_>,
    about: &About,
    sizes: &Sizes,
    filled: Filled,
    random: &mut Random,
) -> Result<Overwritten, CalibrateError> {
    let slot = sizes.slot;
    let slots = about.logical_bytes / slot;
    let writes = look_writes(about, slot);
    let noise = sizes.lag_bytes + slot * writes / 8;
    let counts_once = filled.counts_room_twice().is_some();
    let mut room = default_room(drive, filled.end)?;
    let (mut samples, mut rooms, mut bursts) = (vec![filled.end], Vec::new(), 0);
    let mut first_copy = None;
    let (mut most, mut was_copying) = (filled.end.sent_bytes + about.logical_bytes, false);
    while samples.last().is_some_and(|last| last.sent_bytes < most) && bursts < BURSTS {
        let pieces = (0..writes).map(|_| Piece {
            start_bytes: random.below(slots) * slot,
            bytes: slot,
            place: None,
        });
        drive.write(&pieces.collect::<Vec<_>>())?;
        let look = drive.sample()?;
        let of_rooms = room.filter(|_| !counts_once);
        let of_rooms = of_rooms.map_or(0, |room| series::rooms_at_most(room, look.sent_bytes));
        room = default_room(drive, look)?;
        rooms.extend(room);
        let before = samples.last().copied().unwrap_or(filled.end);
        let copies = look.copied_since(before) > noise + of_rooms;
        if copies && !was_copying {
            bursts += 1;
            if first_copy.is_none() {
                first_copy = Some(before.sent_bytes);
                most = before.sent_bytes + (about.logical_bytes as f64 * BURST_SHARE) as u64;
            }
        }
        was_copying = copies;
        samples.push(look);
    }
    Ok(Overwritten {
        filled,
        first_copy,
        samples,
        rooms,
    })
}

/// Bytes sent until a look, and the room of the default handle's unit, where handles have rooms.
fn default_room(
    drive: &mut CalibratedDrive<'_>,
    look: Sample,
) -> Result<Option<(u64, u64)>, CalibrateError> {
    if !drive.has_rooms() {
        return Ok(None);
    }
    let room = drive.rooms()?.first().copied().unwrap_or(0);
    Ok(Some((look.sent_bytes, room)))
}

/// Measures the unit: by the room of a handle's unit where the drive reports that, else by the distance of bursts of copies.
fn unit(about: &About, found: &Overwritten, slot: u64) -> (Measured, Option<&'static str>) {
    let error = slot * look_writes(about, slot);
    let measured = |bytes, by| {
        let told_bytes = about.unit_bytes;
        (Measured { told_bytes, bytes }, by)
    };
    if let Some(unit) = series::unit_by_room(&found.rooms) {
        return measured(Some(Band::exact(unit)), Some("room of a handle's unit"));
    }
    let bursts = series::bursts(&found.samples, error / 8);
    let by = |position: fn(&Sample) -> u64| {
        let positions: Vec<u64> = bursts.iter().map(position).collect();
        series::period(&positions, error)
    };
    // Copies that have units of their own leave bursts a unit of sent bytes apart, others one of flash.
    match (by(|look| look.sent_bytes), by(|look| look.media_bytes)) {
        (Some(band), _) => measured(Some(band), Some("bytes sent between bursts of copies")),
        (None, Some(band)) => measured(Some(band), Some("flash written between bursts of copies")),
        (None, None) => measured(None, None),
    }
}

/// Gives all up and, where copies were counted before, writes some of it anew: does anything of what was given up cost
/// copies? They were counted where it is known how far the count may be behind.
fn discards(
    drive: &mut CalibratedDrive<'_>,
    about: &About,
    lag_bytes: Option<u64>,
) -> Result<(Discard, bool), CalibrateError> {
    if !about.takes_discards {
        return Ok((Discard::NotTaken, false));
    }
    drive.discard(0, about.logical_bytes)?;
    let mut block = vec![1; about.block_bytes as usize];
    drive.read(0, &mut block)?;
    let reads_zeroes = block.iter().all(|&byte| byte == 0);
    let Some(lag_bytes) = lag_bytes else {
        return Ok((Discard::NotKnown, reads_zeroes));
    };
    let bytes = (about.logical_bytes as f64 * DISCARD_SHARE) as u64 >> 20 << 20;
    let before = drive.sample()?;
    fill::unwatched(drive, bytes)?;
    let discard = if drive.sample()?.copied_since(before) > bytes / 100 + lag_bytes {
        Discard::FreesNothing
    } else {
        Discard::FreesRoom
    };
    Ok((discard, reads_zeroes))
}

/// Lists what of discards and of isolation was not measured, and why.
fn unmeasured(about: &About, discard: Discard) -> Vec<String> {
    let why = match discard {
        Discard::FreesRoom => return Vec::new(),
        Discard::NotKnown => "no copies are counted that would show it",
        Discard::FreesNothing | Discard::NotTaken => "a discard frees nothing here",
    };
    let frees =
        (discard == Discard::NotKnown).then(|| format!("what a discard frees is not known: {why}"));
    let isolation = format!("isolation was not measured: {why}");
    let isolation = (about.identifiers.len() > 1).then_some(isolation);
    frees.into_iter().chain(isolation).collect()
}

fn notes(about: &About, found: &Overwritten, unit_bytes: Option<u64>) -> Vec<String> {
    let mut notes = Vec::new();
    if about.other_namespaces > 0 {
        notes.push(format!(
            "the drive has {} more namespaces: its counters count their writes as well, and their room is no spare of this one",
            about.other_namespaces
        ));
    }
    let filled = &found.filled;
    if let Some(why) = filled.counts_no_copies() {
        notes.push(format!(
            "the spare is not known: {why}; nothing was overwritten"
        ));
    } else if found.first_copy.is_none() {
        notes.push(
            "a capacity of overwrites copied nothing: the spare is larger than the drive, or is not collected that way"
                .to_owned(),
        );
    } else if filled.end.copied_since(filled.begin) > about.logical_bytes / 100 {
        notes.push(
            "the fill in order was copied in part: what lay on the drive before was not all given up, and the spare is \
             told too small"
                .to_owned(),
        );
    }
    match (about.unit_bytes, unit_bytes) {
        (_, None) => notes.push(
            "the unit was not found: the drive does not tell it, and its copies come without a period".to_owned(),
        ),
        (Some(told), Some(measured)) if told != measured => notes.push(format!(
            "the drive says that its units have {told} bytes; measured were {measured}"
        )),
        _ => {}
    }
    notes
}
