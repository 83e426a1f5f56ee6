//! Whether what was read can be a device. Total: no content, however made, gets past it that could
//! lead an index astray or a sum to overflow later.

use super::{Header, SavedDrive, SavedGroup, error::StateError};
use crate::{
    config::Config,
    counters::{Counters, StreamCounters},
    types::StreamId,
    victim_rule::VictimRule,
};

/// No count of a drive comes near this: 2^56 pages of 4 KiB are 288 million TB (our choice; sums of
/// such counts stay far from 2^64).
const MOST_COUNTED: u64 = 1 << 56;
/// The most erases of a unit that a file may claim (our choice).
const MOST_ERASES: u32 = 1 << 30;

fn fail<T>(words: impl Into<String>) -> Result<T, StateError> {
    Err(StateError::Inconsistent(words.into()))
}

/// Checks the header by itself.
pub(crate) fn header(header: &Header) -> Result<(), StateError> {
    let config = &header.config;
    config.validate()?;
    if header.streams.len() != usize::from(config.streams()) {
        return fail("it counts other streams than it has");
    }
    if header.chances.len() != config.reclaim_groups as usize {
        return fail("it has other reclaim groups than it has victims for");
    }
    if header.past_pages > MOST_COUNTED || !counted(&header.counters) {
        return fail("its counters are beyond any drive's");
    }
    sums(&header.counters, &header.streams)?;
    let faults = config.faults;
    if !header
        .program_failures
        .fits(faults.pages_per_program_failure)
        || !header.erase_failures.fits(faults.erases_per_failure)
    {
        return fail("its next failure does not fit its faults");
    }
    Ok(())
}

fn counted(counters: &Counters) -> bool {
    [
        counters.host_pages,
        counters.copied_pages,
        counters.discarded_pages,
        counters.erased_units,
        counters.sealed_units,
        counters.redirected_pages,
        counters.levelled_pages,
        counters.finished_units,
        counters.unwritten_pages,
        counters.misplaced_pages,
        counters.failed_programs,
        counters.failed_erases,
        counters.retired_units,
    ]
    .iter()
    .all(|&count| count <= MOST_COUNTED)
}

fn sums(counters: &Counters, streams: &[StreamCounters]) -> Result<(), StateError> {
    let sum = |of: fn(&StreamCounters) -> u64| streams.iter().map(|s| u128::from(of(s))).sum();
    let pairs: [(u128, u64); 4] = [
        (sum(|stream| stream.host_pages), counters.host_pages),
        (sum(|stream| stream.copied_pages), counters.copied_pages),
        (sum(|stream| stream.erased_units), counters.erased_units),
        (sum(|stream| stream.sealed_units), counters.sealed_units),
    ];
    if pairs.iter().all(|&(sum, all)| sum == u128::from(all)) {
        Ok(())
    } else {
        fail("its streams' counters do not sum to its own")
    }
}

/// Checks that every unit is in exactly one place, and belongs there.
pub(crate) fn units(drive: &SavedDrive) -> Result<(), StateError> {
    let config = &drive.header.config;
    if !matches!(drive.written_at.len(), 0) && drive.written_at.len() != drive.l2p.len() {
        return fail("it has ages for a part of its pages");
    }
    let mut places = Places {
        config,
        taken: vec![false; config.physical_units as usize],
    };
    for (group, lists) in (0..).zip(&drive.units.groups) {
        for &unit in lists.free.iter().chain(&lists.entered) {
            places.take(unit, Some(group))?;
        }
        changed(config, lists)?;
    }
    for &unit in &drive.units.retired {
        places.take(unit, None)?;
    }
    open(drive, &mut places)?;
    if let Some(lost) = places.taken.iter().position(|&taken| !taken) {
        return fail(format!("unit {lost} is nowhere"));
    }
    numbers(drive)?;
    failing(drive)
}

struct Places<'a> {
    config: &'a Config,
    taken: Vec<bool>,
}

impl Places<'_> {
    fn take(&mut self, unit: u32, group: Option<u32>) -> Result<(), StateError> {
        let own = unit % self.config.reclaim_groups;
        match self.taken.get_mut(unit as usize) {
            None => fail(format!("it has no unit {unit}")),
            Some(true) => fail(format!("unit {unit} is in two places")),
            Some(_) if group.is_some_and(|group| group != own) => {
                fail(format!("unit {unit} is in another reclaim group's place"))
            }
            Some(taken) => {
                *taken = true;
                Ok(())
            }
        }
    }
}

/// Checks that the second order of closed units, where the victim rule has one, holds the same
/// units.
fn changed(config: &Config, lists: &SavedGroup) -> Result<(), StateError> {
    let expected = match config.victim_rule {
        VictimRule::Scheme => {
            let mut units = lists.entered.clone();
            units.sort_unstable();
            units
        }
        _ => Vec::new(),
    };
    let mut found = lists.changed.clone();
    found.sort_unstable();
    if found == expected {
        Ok(())
    } else {
        fail("its orders of closed units differ")
    }
}

fn open(drive: &SavedDrive, places: &mut Places<'_>) -> Result<(), StateError> {
    let config = &drive.header.config;
    let mut used = vec![false; usize::from(config.streams())];
    for open in &drive.header.open {
        match used.get_mut(open.stream.index()) {
            Some(used @ false) => *used = true,
            _ => return fail(format!("stream {} is not, or twice", open.stream.0)),
        }
        places.take(open.unit, Some(config.group_of(open.stream)))?;
        if drive.units.stream[open.unit as usize] != open.stream.0 {
            return fail(format!("unit {} is open for another stream", open.unit));
        }
        if open.filled >= config.pages_per_unit || open.written_at > drive.header.now() {
            return fail(format!("unit {} is full, or of the future", open.unit));
        }
    }
    Ok(())
}

/// Checks streams, times and erases of the units.
fn numbers(drive: &SavedDrive) -> Result<(), StateError> {
    let (config, units, now) = (&drive.header.config, &drive.units, drive.header.now());
    if units
        .stream
        .iter()
        .any(|&stream| stream >= config.streams())
    {
        return fail("a unit holds a stream there is not");
    }
    if units
        .opened_at
        .iter()
        .chain(&units.closed_at)
        .any(|&at| at > now)
    {
        return fail("a unit is of the future");
    }
    if units.erases.iter().any(|&erases| erases > MOST_ERASES) {
        return fail("a unit was erased more often than any");
    }
    for (group, lists) in (0..).zip(&units.groups) {
        for &unit in &lists.entered {
            if config.group_of(StreamId(units.stream[unit as usize])) != group {
                return fail(format!("unit {unit} holds another reclaim group's stream"));
            }
        }
    }
    Ok(())
}

/// Checks that the units to be emptied and retired are closed ones, each listed once.
fn failing(drive: &SavedDrive) -> Result<(), StateError> {
    let mut closed = vec![false; drive.units.stream.len()];
    for &unit in drive.units.groups.iter().flat_map(|lists| &lists.entered) {
        closed[unit as usize] = true;
    }
    for &unit in &drive.units.failing {
        match closed.get_mut(unit as usize) {
            Some(closed @ true) => *closed = false,
            _ => return fail(format!("unit {unit} fails and is not closed")),
        }
    }
    Ok(())
}
