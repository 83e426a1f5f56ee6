//! Garbage collection of a drive: the series of writes by which [`crate::victims`] finds the rule, and a look after a pause.
//!
//! ```text
//! discard all, fill in order, discard the shares of each region
//! write into the room given up, a look eight times a unit, until a fifth of a capacity was sent after the first copy
//! pause: what was copied meanwhile, and how much may be written before it copies again
//! ```

use std::time::Duration;

use crate::drive::{About, CalibratedDrive, Piece};
use crate::findings::{ObservedCollection, Victims};
use crate::series::Sample;
use crate::victims::{self, Fit, Shape};
use crate::{CalibrateError, fill};

/// Parts of a unit that are given up or kept as a whole, at most (our choice).
const UNIT_GRANULES: u64 = 64;
/// The same, at least: with fewer the units of a region differ.
const FEWEST_GRANULES: u64 = 8;
/// Looks at the counters while a unit is written (our choice), and while the drive is, at most.
const UNIT_LOOKS: u64 = 8;
const MOST_LOOKS: u64 = 1 << 14;

/// Most that is sent, in capacities: the fill, and what it leaves room for.
pub(crate) fn most_share() -> f64 {
    1.0 + victims::given_up_share()
}

/// A drive before this series.
pub(crate) struct Known {
    pub unit_bytes: u64,
    /// Bytes of an overwrite: whole mapping units.
    pub slot_bytes: u64,
    /// Lag of the count.
    pub lag_bytes: u64,
}

/// Runs the series. What it does not show is named in `notes`.
pub(crate) fn watch(
    drive: &mut CalibratedDrive<'_>,
    about: &About,
    known: &Known,
    idle: Duration,
    notes: &mut Vec<String>,
) -> Result<ObservedCollection, CalibrateError> {
    let slots = (known.unit_bytes / UNIT_GRANULES / known.slot_bytes).max(1);
    let granule = slots * known.slot_bytes;
    let mut found = ObservedCollection::default();
    if known.unit_bytes / granule < FEWEST_GRANULES {
        notes.push(untold("its units are too small beside its size"));
        return Ok(found);
    }
    let granules = about.logical_bytes / granule;
    drive.discard(0, about.logical_bytes)?;
    let before = drive.sample()?;
    fill::unwatched(drive, granules * granule)?;
    let filled = drive.sample()?;
    let holes = victims::given_up(granules);
    for &(first, count) in &holes {
        drive.discard(first * granule, count * granule)?;
    }
    let look_bytes = (known.unit_bytes / UNIT_LOOKS)
        .max(about.logical_bytes / MOST_LOOKS)
        .max(granule);
    let mut writing = Writing {
        pieces: pieces(&holes, granule),
        look_bytes,
        noise_bytes: known.lag_bytes + look_bytes / 8,
        looks: vec![drive.sample()?],
    };
    let watched = (about.logical_bytes as f64 * victims::WATCHED_SHARE) as u64;
    let first = writing.until_copy(drive)?;
    if let Some(first) = first {
        writing.until_sent(drive, first.sent_bytes + watched)?;
    }
    let points = victims::points(&writing.looks, writing.noise_bytes, known.unit_bytes);
    let in_units = |bytes: u64| bytes as f64 / known.unit_bytes as f64;
    if drive.has_rooms() {
        found.units_at_once = victims::units_at_once(&points);
    }
    let fit = first.and_then(|first| {
        let shape = Shape {
            logical_units: in_units(granules * granule),
            taken_units: in_units(first.sent_bytes - before.sent_bytes),
            pages: known.unit_bytes / granule,
            at_once: found.units_at_once.unwrap_or(1),
        };
        victims::fit(&points, &shape)
    });
    let early = filled.copied_since(before);
    if early > about.logical_bytes / 100 + known.lag_bytes {
        found.takes_empty_units_first = Some(false);
        notes.push(untold(
            "it copied data while units without any were to be had, or another host wrote to it",
        ));
    } else {
        conclude(&mut found, fit, notes);
    }
    if first.is_some() && !idle.is_zero() {
        pause(drive, &mut writing, idle, &mut found)?;
    }
    Ok(found)
}

fn conclude(found: &mut ObservedCollection, fit: Option<Fit>, notes: &mut Vec<String>) {
    let Some(fit) = fit else {
        notes.push(untold(
            "too few copies were seen: the drive has few units, or more spare than the room that was given up",
        ));
        return;
    };
    found.victims = fit.victims;
    found.takes_empty_units_first = fit.victims.map(|victims| victims != Victims::Fifo);
    (found.misfit, found.next_misfit) = (Some(fit.misfit), Some(fit.next_misfit));
    if fit.victims.is_none() {
        notes.push(untold(
            "its copies are not clearly those of greedy victims, of victims by age, or of first in, first out",
        ));
    }
}

/// The note on a rule that was not told apart.
pub(crate) fn untold(why: &str) -> String {
    format!("the rule by which the drive chooses what it empties was not told apart: {why}")
}

/// Looks at the counters after a pause, and where something was copied meanwhile writes on until something is copied
/// again.
fn pause(
    drive: &mut CalibratedDrive<'_>,
    writing: &mut Writing,
    idle: Duration,
    found: &mut ObservedCollection,
) -> Result<(), CalibrateError> {
    // What is still in a buffer would be counted in the pause.
    drive.flush()?;
    let before = drive.sample()?;
    std::thread::sleep(idle);
    let after = drive.sample()?;
    let copied = after.copied_since(before);
    found.idle_seconds = Some(idle.as_secs());
    found.idle_copied_bytes = Some(copied);
    if copied > writing.noise_bytes {
        writing.looks = vec![after];
        let again = writing.until_copy(drive)?;
        found.idle_freed_bytes = again.map(|look| look.sent_bytes - after.sent_bytes);
    }
    Ok(())
}

/// Writes to room that was given up, in the order of their places.
fn pieces(holes: &[(u64, u64)], granule: u64) -> Vec<Piece> {
    let piece = |&(first, count): &(u64, u64)| Piece {
        start_bytes: first * granule,
        bytes: count * granule,
        place: None,
    };
    // The next one is the last.
    holes.iter().rev().map(piece).collect()
}

/// Writes into room that was given up.
struct Writing {
    /// To be written yet, the next one last.
    pieces: Vec<Piece>,
    look_bytes: u64,
    noise_bytes: u64,
    looks: Vec<Sample>,
}

impl Writing {
    /// Writes until something is copied; the look before that.
    fn until_copy(
        &mut self,
        drive: &mut CalibratedDrive<'_>,
    ) -> Result<Option<Sample>, CalibrateError> {
        while let Some((before, after)) = self.step(drive)? {
            if after.copied_since(before) > self.noise_bytes {
                return Ok(Some(before));
            }
        }
        Ok(None)
    }

    /// Writes until so much was sent.
    fn until_sent(
        &mut self,
        drive: &mut CalibratedDrive<'_>,
        sent_bytes: u64,
    ) -> Result<(), CalibrateError> {
        while drive.sent_bytes() < sent_bytes && self.step(drive)?.is_some() {}
        Ok(())
    }

    /// Writes to the next look; that before and that after, or nothing where no room is left.
    fn step(
        &mut self,
        drive: &mut CalibratedDrive<'_>,
    ) -> Result<Option<(Sample, Sample)>, CalibrateError> {
        let Some(&before) = self.looks.last() else {
            return Ok(None);
        };
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while bytes < self.look_bytes
            && let Some(piece) = self.pieces.pop()
        {
            bytes += piece.bytes;
            batch.push(piece);
        }
        if batch.is_empty() {
            return Ok(None);
        }
        drive.write(&batch)?;
        let after = drive.sample()?;
        self.looks.push(after);
        Ok(Some((before, after)))
    }
}
