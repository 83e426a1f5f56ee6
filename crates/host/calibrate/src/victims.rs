//! The rule by which a drive chooses the units that it empties, of the copies that it makes. Pure.
//!
//! ```text
//! fill the drive in order, and give up a share of each region, so that age and valid data disagree:
//!     first region    oldest, most valid data      first-in-first-out empties it
//!     second region   old, less valid data         a rule that weighs age empties it
//!     third region    youngest, least valid data   a greedy rule empties it
//! write into the room that was given up, so that nothing else dies
//! each victim gives 1 - v of a unit for v of it copied: copies over bytes sent show the valid share of victims
//! a model drive of the same shape does the same under each rule; the rule whose copies fit far best is the drive's
//! ```

use anabranch_ssd::relocate::{Destination, Relocate, Victim};
use anabranch_ssd::victims::VictimRule;
use anabranch_ssd::{Config, Device, PageRange, StreamId};

use crate::findings::Victims;
use crate::series::Sample;

/// A part of the drive, in the order in which it is filled.
struct Region {
    /// Share of the logical bytes.
    share: f64,
    /// Share of its data that stays valid.
    valid: f64,
}

/// The regions (our choice). More than half is given up in all, since writes must use up the spare before anything is
/// copied. The second region is emptied at 1.3 times as many copies a byte as the third: less than the ages differ, so
/// that a rule that weighs age prefers it.
const REGIONS: [Region; 3] = [
    Region {
        share: 0.1,
        valid: 0.8,
    },
    Region {
        share: 0.55,
        valid: 0.35,
    },
    Region {
        share: 0.35,
        valid: 0.29,
    },
];

/// Bytes that are written after the first copy, as a share of the logical bytes (our choice: the third region gives as
/// much).
pub(crate) const WATCHED_SHARE: f64 = 0.25;
/// Fewest units of data by which rules are told apart (our choice: with fewer the copies that lie in an open unit weigh
/// more than the rules).
const FEWEST_UNITS: f64 = 32.0;
/// Fewest places where copies began (our choice: a curve through less would fit most rules).
const FEWEST_POINTS: usize = 6;
/// Units and pages of a unit of the model, at most (our choice).
const MODEL_UNITS: f64 = 512.0;
const MODEL_PAGES: u64 = 64;
/// A rule is told where its copies differ at most by this share of all, and those of any other rule by so many times as
/// much (our choice).
const MOST_MISFIT: f64 = 0.05;
const LEAST_MARGIN: f64 = 2.0;

/// Rules of the model, with the answer that each stands for. The last ones only keep a drive that chooses at random from
/// being taken for another.
const RULES: [(VictimRule, Option<Victims>); 6] = [
    (VictimRule::Greedy, Some(Victims::Greedy)),
    (VictimRule::CostBenefit, Some(Victims::Age)),
    (VictimRule::CostBenefitRoot, Some(Victims::Age)),
    (VictimRule::Fifo, Some(Victims::Fifo)),
    (VictimRule::Choices(2), None),
    (VictimRule::Random, None),
];

/// Share of the drive that is given up.
pub(crate) fn given_up_share() -> f64 {
    let shares = REGIONS
        .iter()
        .map(|region| region.share * (1.0 - region.valid));
    shares.sum()
}

/// Runs of granules that are given up, of a drive of so many, as (first, granules).
pub(crate) fn given_up(granules: u64) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let mut begin = 0.0;
    for region in &REGIONS {
        let end = begin + region.share;
        let places =
            (granules as f64 * begin).round() as u64..(granules as f64 * end).round() as u64;
        let dead = |place: u64| (place as f64 * (1.0 - region.valid)).floor();
        for place in places.filter(|&place| dead(place + 1) > dead(place)) {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == place => *count += 1,
                _ => runs.push((place, 1)),
            }
        }
        begin = end;
    }
    runs
}

/// Copies made until a time, in units since the first copy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Units of data sent.
    pub sent: f64,
    /// Units of data copied.
    pub copied: f64,
}

/// The places of looks after which something was copied, from the first such look on. More than `noise_bytes` are a
/// copy. At these places the drive has as much free room as when it begins to collect.
pub fn points(samples: &[Sample], noise_bytes: u64, unit_bytes: u64) -> Vec<Point> {
    let pairs = samples.windows(2);
    let copying = pairs.filter(|pair| pair[1].copied_since(pair[0]) > noise_bytes);
    let looks: Vec<Sample> = copying.map(|pair| pair[0]).collect();
    let units = |bytes: u64| bytes as f64 / unit_bytes.max(1) as f64;
    let first = looks.first().copied();
    let since = |look: &Sample| {
        let first = first?;
        Some(Point {
            sent: units(look.sent_bytes - first.sent_bytes),
            copied: units(look.copied_since(first)),
        })
    };
    looks.iter().filter_map(since).collect()
}

/// Units that are freed at a time once collection begins: the distance of places where copies begin. `None` where a
/// drive collects less than a unit at a time.
pub fn units_at_once(points: &[Point]) -> Option<u64> {
    let mut gaps: Vec<f64> = points
        .windows(2)
        .map(|pair| pair[1].sent - pair[0].sent)
        .collect();
    gaps.sort_by(f64::total_cmp);
    let median = *gaps.get(gaps.len() / 2)?;
    // Looks come eight times a unit.
    (median >= 0.75).then_some(median.round() as u64)
}

/// A drive as the model needs to know it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Units of its data.
    pub logical_units: f64,
    /// Units that were written from the empty drive on until the first copy.
    pub taken_units: f64,
    /// Mapping units of a unit.
    pub pages: u64,
    /// Units that it frees at a time.
    pub at_once: u64,
}

/// Fit of a rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The rule whose copies fit best, if they fit so well that it is told.
    pub victims: Option<Victims>,
    /// Their distance to the drive's, as a share of all copies.
    pub misfit: f64,
    /// The same of the best rule that is another answer.
    pub next_misfit: f64,
}

/// The rule under which a model drive copies as this drive did. `None` where too little was copied to compare.
pub fn fit(observed: &[Point], shape: &Shape) -> Option<Fit> {
    let is_large = shape.logical_units.is_finite() && shape.logical_units >= FEWEST_UNITS;
    if !is_large || observed.len() < FEWEST_POINTS {
        return None;
    }
    let mean = observed.iter().map(|point| point.copied).sum::<f64>() / observed.len() as f64;
    let mut fits: Vec<(f64, Option<Victims>)> = Vec::new();
    for (rule, answer) in RULES {
        let curve = model(rule, shape)?;
        fits.push((misfit(observed, &curve, shape.at_once) / mean, answer));
    }
    fits.sort_by(|one, other| one.0.total_cmp(&other.0));
    let &(misfit, answer) = fits.first()?;
    let next_misfit = fits.iter().find(|other| other.1 != answer)?.0;
    let is_clear = misfit <= MOST_MISFIT && misfit * LEAST_MARGIN <= next_misfit;
    Some(Fit {
        victims: answer.filter(|_| is_clear),
        misfit,
        next_misfit,
    })
}

/// Mean distance of copies from a curve. The unit that copies fill was begun before the first copy and is not full at
/// the last, and the first burst of copies ends a round that began with units without valid data: up to a round more or
/// less was sent for the same copies.
fn misfit(observed: &[Point], curve: &[Point], at_once: u64) -> f64 {
    let shifted = |shift: f64| {
        let off = observed
            .iter()
            .map(|point| (point.copied - copies_at(curve, point.sent + shift)).abs());
        off.sum::<f64>() / observed.len() as f64
    };
    let shifts = (-10..=10).map(|tenths| f64::from(tenths) / 10.0 * at_once as f64);
    shifts.map(shifted).fold(f64::INFINITY, f64::min)
}

/// Copies of a curve where so much was sent; beyond its ends it goes on as it begins and ends.
fn copies_at(curve: &[Point], sent: f64) -> f64 {
    let after = curve.partition_point(|point| point.sent < sent);
    let after = after.clamp(1, curve.len() - 1);
    let (one, other) = (curve[after - 1], curve[after]);
    let length = (other.sent - one.sent).max(f64::MIN_POSITIVE);
    one.copied + (sent - one.sent) / length * (other.copied - one.copied)
}

/// Copies of a model drive under a rule, victim by victim.
fn model(rule: VictimRule, shape: &Shape) -> Option<Vec<Point>> {
    let units = shape.logical_units.min(MODEL_UNITS).round();
    let scale = units / shape.logical_units;
    let pages_per_unit = shape.pages.clamp(1, MODEL_PAGES) as u32;
    let pages = units as u32 * pages_per_unit;
    let at_once = (shape.at_once as f64 * scale).round();
    let at_once = at_once.clamp(1.0, units / 4.0) as u32;
    // All are full at the first copy but one, which is in reserve.
    let physical_units = ((shape.taken_units * scale).ceil() as u32).saturating_add(1);
    let config = Config {
        victim_rule: rule,
        internal_streams: 1,
        gc_stop_free_units: at_once,
        ..Config::new(pages, pages_per_unit, physical_units)
    };
    let mut relocation = Emptied::default();
    let mut device = Device::new(config, &relocation).ok()?;
    let write = |device: &mut Device, relocation: &mut Emptied, (first, count): (u64, u64)| {
        let pages = PageRange::new(first as u32, count as u32);
        device.write(relocation, pages, StreamId::DEFAULT).ok()
    };
    write(&mut device, &mut relocation, (0, pages.into()))?;
    let holes = given_up(pages.into());
    for &(first, count) in &holes {
        device
            .discard(PageRange::new(first as u32, count as u32))
            .ok()?;
    }
    for &run in &holes {
        write(&mut device, &mut relocation, run)?;
    }
    let mut curve = vec![Point {
        sent: 0.0,
        copied: 0.0,
    }];
    let mut at = curve[0];
    for valid_pages in relocation.valid_pages {
        let valid = f64::from(valid_pages) / f64::from(pages_per_unit) / scale;
        at.copied += valid;
        at.sent += 1.0 / scale - valid;
        curve.push(at);
    }
    (curve.len() > 1).then_some(curve)
}

/// Valid pages of each unit that the model empties. Its copies have a unit of their own.
#[derive(Debug, Default)]
struct Emptied {
    valid_pages: Vec<u32>,
}

impl Relocate for Emptied {
    fn destination(&mut self, _: &Victim) -> Destination {
        Destination::Stream(StreamId(1))
    }

    fn moved(&mut self, _: StreamId, pages: u32) {
        self.valid_pages.push(pages);
    }
}

#[cfg(test)]
mod tests;
