//! Other ways than streams to spare copies: the ordinary drive with more spare flash, half as full, and with other
//! discards. They are measured on the trace, two passes over it with a lane for each change:
//!
//! 1. four spares, half as full, discards once a day and never;
//! 2. four spares between the two of the first pass around the WAF of streams.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, thread};

use anabranch_placement::SchemeSpec;
use anabranch_replay::{
    Answer, Comparison, DriveKind, Fleet, Lane, ORDINARY, OtherWays, SchemeResult, Start, Verdict,
    WafAtSpare,
};
use anabranch_ssd::Config;
use anabranch_trace::Io;

use super::{Case, Question};
use crate::{
    discards::{DAY_NS, Delay, Discards},
    error::{CompareError, Result},
    pass::pass,
    watch::Watch,
};

/// Spares of the first pass, as shares of the way from the drive's own to as much as the host sees (our choice).
const FIRST: [f64; 4] = [0.0625, 0.125, 0.25, 1.0];
/// Spares of the second pass, as shares of the way between two of the first (our choice).
const SECOND: [f64; 4] = [0.2, 0.4, 0.6, 0.8];

/// A change to the ordinary drive: its configuration, and when discards reach it.
type Changed = (Config, Discards);

/// Adds the other ways to an answer. Leaves it as it is where schemes are named, where the drive takes time, is old or
/// sampled, where the trace can be read but once, and where there is no answer.
///
/// # Errors
/// When the trace cannot be read, or the watch ends the work.
pub(crate) fn add(
    found: &mut Comparison,
    cell: &Case,
    question: &Question<'_>,
    watch: &mut dyn Watch,
) -> Result {
    let options = question.options;
    let is_plain = options.comparison.is_default()
        && options.time.issue.is_none()
        && question.aged.is_none()
        && cell.drive.thinned.is_none()
        && question.source.check_twice().is_ok();
    let answer = found.verdict.as_ref().map(|verdict| verdict.answer);
    if !is_plain || !matches!(answer, Some(Answer::WorthIt | Answer::NotWorthIt)) {
        return Ok(());
    }
    let mut drive = cell.drive.config.clone();
    drive.seed = options.comparison.seed;
    let bench = Bench {
        cell,
        question,
        drive,
    };
    found.other_ways = Some(bench.measure(found, watch)?);
    found.verdict = Some(Verdict::of(found));
    Ok(())
}

/// The ordinary drive that is changed.
struct Bench<'a> {
    cell: &'a Case,
    question: &'a Question<'a>,
    drive: Config,
}

impl Bench<'_> {
    fn measure(&self, found: &Comparison, watch: &mut dyn Watch) -> Result<OtherWays> {
        let as_asked = self.question.options.discards();
        let has_discards = found.source.discarded_bytes > 0;
        let is_of_days = found.source.lasted_ns() >= 2 * DAY_NS;
        let own = spare_of(&self.drive);
        let spares = self.spares(FIRST.map(|share| own + share * (1.0 - own)));
        let half = self.doubled().map(|drive| (drive, as_asked));
        let daily = has_discards && is_of_days && as_asked == Discards::Now;
        let daily = daily.then(|| (self.drive.clone(), Discards::Daily));
        let never = has_discards && as_asked != Discards::Never;
        let never = never.then(|| (self.drive.clone(), Discards::Never));
        let others = [half, daily, never];
        let all = spares.iter().map(|drive| (drive.clone(), as_asked));
        let all: Vec<Changed> = all.chain(others.iter().flatten().cloned()).collect();
        let mut wafs = self.wafs(&all, watch)?.into_iter();
        let before = found.ordinary().and_then(|one| one.waf_window);
        let first = before.map(|waf| WafAtSpare { spare: own, waf });
        let mut ways = OtherWays {
            spares: first
                .into_iter()
                .chain(at(&spares, wafs.by_ref()))
                .collect(),
            ..OtherWays::default()
        };
        let mut rest = others.iter().map(|other| match other {
            Some(_) => wafs.next().flatten(),
            None => None,
        });
        ways.half_as_full = rest.next().flatten();
        ways.daily_discards = rest.next().flatten();
        ways.no_discards = rest.next().flatten();
        self.narrow(&mut ways, found, watch)?;
        Ok(ways)
    }

    /// Measures spares between the two around the WAF of streams.
    fn narrow(&self, ways: &mut OtherWays, found: &Comparison, watch: &mut dyn Watch) -> Result {
        let drives = found.verdict.iter().flat_map(|verdict| &verdict.drives);
        let mut sold = drives.filter(|one| one.drive == DriveKind::Sold);
        let streams = sold.next().and_then(|one| one.waf);
        let Some([low, high]) = streams.and_then(|waf| ways.bracket(waf)) else {
            return Ok(());
        };
        let drives = self.spares(SECOND.map(|share| low.spare + share * (high.spare - low.spare)));
        let as_asked = self.question.options.discards();
        let all: Vec<Changed> = drives
            .iter()
            .map(|drive| (drive.clone(), as_asked))
            .collect();
        let mut wafs = self.wafs(&all, watch)?.into_iter();
        ways.spares.extend(at(&drives, &mut wafs));
        ways.spares
            .sort_by(|one, other| one.spare.total_cmp(&other.spare));
        ways.spares.dedup_by_key(|one| one.spare.to_bits());
        Ok(())
    }

    /// The drive with each of these spares; each number of units once, and those left out that it cannot have.
    fn spares<const N: usize>(&self, spares: [f64; N]) -> Vec<Config> {
        let units = |spare: f64| {
            let pages = f64::from(self.drive.logical_pages) * (1.0 + spare);
            (pages / f64::from(self.drive.pages_per_unit)).ceil() as u32
        };
        let mut all: Vec<u32> = spares.into_iter().map(units).collect();
        all.dedup();
        all.retain(|units| *units > self.drive.physical_units);
        let drives = all.into_iter().map(|physical_units| Config {
            physical_units,
            ..self.drive.clone()
        });
        drives.filter(|drive| drive.validate().is_ok()).collect()
    }

    /// The drive twice over, where page numbers allow that.
    fn doubled(&self) -> Option<Config> {
        let drive = Config {
            logical_pages: self.drive.logical_pages.checked_mul(2)?,
            physical_units: self.drive.physical_units.checked_mul(2)?,
            ..self.drive.clone()
        };
        drive.validate().is_ok().then_some(drive)
    }

    /// The WAF of the ordinary drive with each change, over the last capacity of writes of the drive as it is.
    fn wafs(&self, all: &[Changed], watch: &mut dyn Watch) -> Result<Vec<Option<f64>>> {
        let Question {
            options, source, ..
        } = *self.question;
        let specs = SchemeSpec::parse_list(ORDINARY).map_err(CompareError::usage)?;
        let spec = specs
            .first()
            .ok_or_else(|| CompareError::failed("no ordinary drive"))?;
        let mut feeds: Vec<Discards> = all.iter().map(|(_, when)| *when).collect();
        feeds.dedup();
        let lanes = all.iter().map(|(drive, when)| -> Result<(usize, Lane)> {
            let feed = feeds.iter().position(|feed| feed == when).unwrap_or(0);
            let lane = Lane::build(spec, drive, &Start::default());
            Ok((feed, lane.map_err(CompareError::usage)?))
        });
        let lanes = lanes.collect::<Result<Vec<(usize, Lane)>>>()?;
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = options.comparison.threads.unwrap_or(cores);
        let fleet = Fleet::start_fed(lanes, threads);
        let mut delays: Vec<Delay> = feeds.into_iter().map(Delay::new).collect();
        let changes = self.cell.changes();
        pass(source, "other ways: ", &changes, watch, &mut |ios| {
            for (feed, delay) in delays.iter_mut().enumerate() {
                let mut made: Vec<Io> = Vec::with_capacity(ios.len());
                ios.iter()
                    .for_each(|io| delay.apply(io, |io| made.push(io)));
                // A lane that has failed closes its channel; `finish` tells why.
                let _ = fleet.send_to(feed, &Arc::from(made));
            }
            Ok(())
        })?;
        let lanes = fleet.finish()?;
        let waf = |lane: &Lane| SchemeResult::new(ORDINARY, BTreeMap::new(), lane).waf_window;
        Ok(lanes.iter().map(waf).collect())
    }
}

/// The spare flash of a drive, as a share of the bytes that the host sees.
fn spare_of(drive: &Config) -> f64 {
    drive.physical_bytes() as f64 / drive.logical_bytes().max(1) as f64 - 1.0
}

/// Each drive's spare with its WAF.
fn at<'a>(
    drives: &'a [Config],
    wafs: &'a mut dyn Iterator<Item = Option<f64>>,
) -> impl Iterator<Item = WafAtSpare> + 'a {
    drives.iter().zip(wafs).filter_map(|(drive, waf)| {
        let spare = spare_of(drive);
        waf.map(|waf| WafAtSpare { spare, waf })
    })
}
