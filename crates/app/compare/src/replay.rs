//! Replays: every scheme on every drive asked for.

mod other_ways;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::Path,
    sync::Arc,
};

use anabranch_placement::{Bytes, Future, Names, SchemeSpec};
use anabranch_replay::{Comparison, FleetError, Foresight, Start};
use anabranch_ssd::state::SavedDrive;
use anabranch_trace::{KeptPages, Rate, Sample};
use serde_json::{Value, json};

use crate::{
    compared_drive::ComparedDrive,
    discards::Discards,
    drive_grid::{DriveQuery, Size, TraceOrigin, aged_drives, grid},
    endurance::{add_endurance, check_endurance},
    error::{CompareError, Result},
    numbers::{Learned, Numbers, learn},
    options::ReplayOptions,
    pass::{Changes, pass},
    running::Running,
    sampling::{ERROR, SAMPLES, Sampling, samples, untimed},
    saved,
    source::Requests,
    watch::Watch,
};

/// The pages that a trace ever writes, renumbered densely for a drive.
#[derive(Debug, Clone)]
pub struct Filled {
    /// The share of the drive it fills.
    pub fill: f64,
    /// The numbers of the pages.
    pub numbers: Arc<Numbers>,
}

/// One drive of a replay's grid.
#[derive(Debug, Clone)]
pub struct Case {
    /// Drive on which this case is replayed.
    pub drive: ComparedDrive,
    /// Renumbering of addresses, where it is asked for.
    pub filled: Option<Filled>,
    /// The options of the command that make this drive instead of the default one.
    pub options: Vec<String>,
}

/// The comparison, on any drive.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Options of `replay`, which name trace, drives and schemes.
    pub options: &'a ReplayOptions,
    /// The schemes.
    pub specs: &'a [SchemeSpec],
    /// The trace.
    pub source: &'a dyn Requests,
    /// The saved drive at the beginning.
    pub aged: Option<&'a SavedDrive>,
}

/// Compares schemes on every trace and drive asked for; the results in the order of the traces,
/// and of the grid for each.
///
/// # Errors
/// When a scheme or drive is not possible, when a trace cannot be read, or when the watch ends the work.
pub fn replay(
    options: &ReplayOptions,
    specs: &[SchemeSpec],
    sources: &[&dyn Requests],
    watch: &mut dyn Watch,
) -> Result<Vec<Comparison>> {
    options.validate(sources.len())?;
    let aged = aged(options, specs)?;
    let saved = aged.as_ref().map(|(_, saved)| saved);
    let mut results = Vec::new();
    for &source in sources {
        let question = Question {
            options,
            specs,
            source,
            aged: saved,
        };
        let cells = cells(options, source, aged.as_ref(), watch)?;
        let is_alone = sources.len() == 1 && cells.len() == 1;
        for cell in cells {
            check_endurance(&options.endurance, Some(&cell.drive))?;
            let mut found = cell.run(&question, watch)?;
            add_endurance(&mut found, &options.endurance, &cell.drive)?;
            if is_alone {
                other_ways::add(&mut found, &cell, &question, watch)?;
            }
            results.push(found);
        }
    }
    Ok(results)
}

/// The one drive that `replay` would take for a trace. `otherwise` is the message for options that describe several.
///
/// # Errors
/// When the drive is not possible, or there are several, or the trace cannot be read.
pub fn one_cell(
    options: &ReplayOptions,
    source: &dyn Requests,
    otherwise: &str,
    watch: &mut dyn Watch,
) -> Result<Case> {
    let cells = cells(options, source, None, watch)?;
    let [cell] = <[Case; 1]>::try_from(cells).map_err(|_| CompareError::wrong_use(otherwise))?;
    Ok(cell)
}

/// The saved drive that every scheme begins with, where one is given.
fn aged<'a>(
    options: &'a ReplayOptions,
    specs: &[SchemeSpec],
) -> Result<Option<(&'a Path, SavedDrive)>> {
    let Some(path) = &options.drive_file else {
        return Ok(None);
    };
    if let Some(bound) = specs.iter().find(|spec| spec.needs_future()) {
        return Err(CompareError::wrong_use(format!(
            "--drive: {} must know when all data on the drive will die, and the trace does not tell \
             of those it begins with",
            bound.name()
        )));
    }
    let saved = saved::open(path)?;
    if saved.is_read_only() {
        return Err(CompareError::wrong_use(format!(
            "saved drive {} is read-only: its units have failed",
            path.display()
        )));
    }
    Ok(Some((path, saved)))
}

/// The drives of the grid for one trace.
fn cells(
    options: &ReplayOptions,
    source: &dyn Requests,
    aged: Option<&(&Path, SavedDrive)>,
    watch: &mut dyn Watch,
) -> Result<Vec<Case>> {
    if let Some((path, saved)) = aged {
        let grid = aged_drives(&options.drive, path, saved.config())?;
        let cell = |drive| Case {
            drive,
            filled: None,
            options: Vec::new(),
        };
        return Ok(grid.into_iter().map(cell).collect());
    }
    let mut origin = match source.tables() {
        Some(tables) => TraceOrigin::of(&tables.capture, &options.drive)?,
        None => TraceOrigin::of_addresses(),
    };
    if source.check_twice().is_err() && options.fill.is_empty() {
        origin.size = match origin.size {
            // A pipe cannot be read ahead.
            Size::Footprint => Size::Unknown,
            known => known,
        };
    }
    // The profiles may differ in their pages: pages are numbered for each size of them.
    let mut learned: BTreeMap<u32, Learned> = BTreeMap::new();
    let grid = grid(options, &origin, &mut |page_bytes| {
        let found = match learned.entry(page_bytes) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(learn(source, page_bytes, options.pack, watch)?),
        };
        Ok(found.pages)
    })?;
    let cell = |asked: DriveQuery| {
        let numbers = learned.get(&asked.page_bytes);
        let filled = asked.fill.zip(numbers).map(|(fill, learned)| Filled {
            fill,
            numbers: Arc::clone(&learned.numbers),
        });
        let device = if options.drive.profiles.is_empty() {
            Vec::new()
        } else {
            vec!["--device".to_owned(), asked.profile]
        };
        Ok(Case {
            drive: asked.drive?,
            filled,
            options: device.into_iter().chain(asked.options).collect(),
        })
    };
    let cells = possible(grid.into_iter().map(cell), watch)?;
    if origin.sampled.is_some() && options.time.issue.is_some() {
        return Err(untimed());
    }
    if let Some(words) = unasked(options, &origin, source, &cells) {
        watch.say(&words);
    }
    let streams = cells.iter().map(|cell| cell.drive.config.host_streams);
    if let Some(most) = streams.max().filter(|streams| *streams > MOST_HANDLES) {
        watch.say(&format!(
            "--streams {most}: no drive that is sold has so many; an NVMe namespace has {MOST_HANDLES} placement handles at most"
        ));
    }
    Ok(cells)
}

/// The drives that are possible, if there are any and the watch passes over the others.
fn possible(cells: impl Iterator<Item = Result<Case>>, watch: &mut dyn Watch) -> Result<Vec<Case>> {
    let (mut possible, mut faults) = (Vec::new(), Vec::new());
    for cell in cells {
        match cell {
            Ok(cell) => possible.push(cell),
            Err(fault) => faults.push(fault),
        }
    }
    for fault in faults {
        if possible.is_empty() || !watch.pass_over(&fault) {
            return Err(fault);
        }
    }
    Ok(possible)
}

/// The most placement handles of a namespace (NVM Express Base Specification 2.1, Namespace Management: NPHNDLS).
const MOST_HANDLES: u16 = 128;

/// The message for a drive that no option asked for.
fn unasked(
    options: &ReplayOptions,
    origin: &TraceOrigin,
    source: &dyn Requests,
    cells: &[Case],
) -> Option<String> {
    let cell = cells.first()?;
    let (name, config) = (source.name(), &cell.drive.config);
    let drive = format!(
        "{} of {} in erase units of {}",
        cell.drive.profile,
        Bytes(config.logical_bytes()).rounded(),
        Bytes(config.unit_bytes()).rounded()
    );
    if let Some(recorded) = &origin.recorded {
        let one_of = cell.drive.rate().pages();
        let own = recorded.profile.resolve_sampled(&recorded.device, one_of);
        let is_own = |own| cells.iter().all(|cell| cell.drive.config == own);
        let rest = if own.is_ok_and(is_own) {
            format!(" ({drive}); any drive option changes it")
        } else if cells.len() > 1 {
            ", changed as the options say".to_owned()
        } else {
            format!(", changed to {drive}")
        };
        return Some(format!("{name}: on the drive it was recorded for{rest}"));
    }
    let Some(filled) = cell.filled.as_ref().filter(|_| options.fill.is_empty()) else {
        let is_other =
            options.drive.unit.is_empty() && cell.options.iter().any(|option| option == "--unit");
        return is_other.then(|| {
            format!("{name}: on {drive}; of the profile's own units it would have too few (--unit changes this)")
        });
    };
    Some(format!(
        "{name} does not tell the size of its device: what it ever writes fills {:.0} % of {drive}; \
         --fill, --size or --device say otherwise",
        100.0 * filled.fill
    ))
}

impl Case {
    /// Replays the trace on the drive. With `--sample auto` it is replayed at finer and finer rates, until the error bars
    /// are narrow, or the whole drive costs less.
    ///
    /// # Errors
    /// When a scheme does not fit the drive, or the trace does not, or cannot be read.
    pub fn run(&self, question: &Question<'_>, watch: &mut dyn Watch) -> Result<Comparison> {
        let mut found = self.run_once(question, watch)?;
        if question.options.comparison.sample != Some(Sampling::Auto) {
            return Ok(found);
        }
        question.source.check_twice()?;
        let samples = question.options.comparison.samples.unwrap_or(SAMPLES);
        let capture = question.source.tables().map(|tables| &tables.capture);
        let is_whole = capture.is_none_or(|capture| capture.sampled.is_none());
        let mut cell = self.clone();
        while let Some(times) = too_wide(&found) {
            let rate = cell.drive.rate();
            let whole = cell
                .drive
                .whole()
                .filter(|_| is_whole && costs_more(rate, samples, times));
            if whole.is_some() {
                watch.say(&format!(
                    "--sample auto: at {rate} the widest error bar is {:.1} % of the WAF. {samples} samples at a rate that \
                     narrows it cost more than the whole drive, so that is replayed",
                    100.0 * ERROR * times
                ));
            }
            let Some(drive) = whole.or_else(|| cell.drive.finer()) else {
                break;
            };
            cell.drive = drive;
            found = cell.run_once(question, watch)?;
        }
        Ok(found)
    }

    fn run_once(&self, question: &Question<'_>, watch: &mut dyn Watch) -> Result<Comparison> {
        let Question {
            options,
            specs,
            source,
            aged,
        } = *question;
        let clock = self.drive.clock(&options.time)?;
        let samples = self.samples(options, source)?;
        let needed = specs.iter().any(SchemeSpec::needs_future);
        let is_seen_whole = self.filled.is_some() || specs.iter().any(SchemeSpec::goes_by_requests);
        let told = Changes {
            discards: options.discards(),
            kept: if is_seen_whole { &[] } else { &samples },
            ..self.changes()
        };
        let futures = if needed {
            self.foresee(&told, source, &samples, watch)?
        } else {
            Vec::new()
        };
        let start = Start {
            clock: clock.as_ref(),
            aged,
            ..Start::default()
        };
        let mut running = Running::start(
            specs,
            &self.drive,
            &options.comparison,
            &start,
            &samples,
            &futures,
        )?;
        if let Some(tables) = source.tables() {
            running.learn(Names::of(tables));
            running.name(tables);
        }
        let whole = pass(source, "", &told, watch, &mut |ios| {
            running.feed(ios);
            Ok(())
        })?;
        if let Some(whole) = whole {
            running.asked(whole);
        }
        running.finish(self.config(options, source), source.lost_events())
    }

    /// The changes that this drive makes to a trace.
    pub(crate) fn changes(&self) -> Changes<'_> {
        Changes {
            numbers: self.filled.as_ref().map(|filled| filled.numbers.as_ref()),
            ..Changes::default()
        }
    }

    /// The samples of a trace; empty where the drive is not sampled.
    fn samples(&self, options: &ReplayOptions, source: &dyn Requests) -> Result<Vec<Sample>> {
        let comparison = &options.comparison;
        match self.drive.thinned {
            None => Ok(Vec::new()),
            Some(thinned) => samples(
                thinned.rate,
                self.drive.page_bytes(),
                source.tables().and_then(|tables| tables.capture.sampled),
                comparison.seed,
                comparison.samples,
            ),
        }
    }

    /// Reads the trace ahead, in each sample, for schemes that must know when data will die.
    fn foresee(
        &self,
        told: &Changes<'_>,
        source: &dyn Requests,
        samples: &[Sample],
        watch: &mut dyn Watch,
    ) -> Result<Vec<Arc<Future>>> {
        source.check_twice()?;
        let each = 0..samples.len().max(1);
        let mut foreseen: Vec<Foresight> =
            each.map(|_| Foresight::new(&self.drive.config)).collect();
        let mut pages = KeptPages::new(samples);
        pass(source, "reading ahead: ", told, watch, &mut |ios| {
            for io in ios {
                let mut noted = Ok(());
                match foreseen.as_mut_slice() {
                    [all] if samples.is_empty() => noted = all.record(io),
                    each => pages.apply(io, |sample, io| {
                        if noted.is_ok() {
                            noted = each[sample].record(&io);
                        }
                    }),
                }
                noted.map_err(FleetError::from)?;
            }
            Ok(())
        })?;
        let finished = foreseen
            .into_iter()
            .map(|foresight| Arc::new(foresight.finish()));
        Ok(finished.collect())
    }

    /// The settings that decided the result, besides the drive and the schemes.
    fn config(&self, options: &ReplayOptions, source: &dyn Requests) -> BTreeMap<String, Value> {
        let mut config: BTreeMap<String, Value> = BTreeMap::from([
            ("verb".to_owned(), json!("replay")),
            ("trace".to_owned(), json!(source.name())),
            ("quick".to_owned(), json!(source.is_quick())),
        ]);
        if let Some(filled) = &self.filled {
            config.insert("fill".to_owned(), json!(filled.fill));
            config.insert("pack".to_owned(), json!(options.pack));
        }
        if !self.options.is_empty() {
            config.insert("drive_options".to_owned(), json!(self.options));
        }
        match options.discards() {
            Discards::Now => None,
            Discards::Never => config.insert("no_discards".to_owned(), json!(true)),
            late => config.insert("discards".to_owned(), json!(late)),
        };
        if let Some(path) = &options.drive_file {
            config.insert("drive_file".to_owned(), json!(path));
        }
        if let Some(tables) = source.tables() {
            config.insert("capture".to_owned(), json!(tables.capture));
        }
        config
    }
}

/// The width of the widest error bar, as a multiple of what `--sample auto` accepts; `None` where all are narrow enough.
fn too_wide(found: &Comparison) -> Option<f64> {
    let times = found.schemes.iter().filter_map(|scheme| {
        // With one sample there is no spread, and the sample is the result.
        let error = scheme.sampled.as_ref()?.error?;
        Some(error / (ERROR * scheme.waf?))
    });
    times.reduce(f64::max).filter(|times| *times >= 1.0)
}

/// Whether samples that narrow an error bar by so many times cost more than the whole drive. By the rule that variance is
/// proportional to the pages that one page stands for; what has been spent on the way, and on reading the trace for each
/// rate, doubles the cost (our choice).
fn costs_more(rate: Rate, samples: u32, times: f64) -> bool {
    let needed = (f64::from(rate.pages()) / (times * times)).min(f64::from(rate.pages()) / 2.0);
    2.0 * f64::from(samples) > needed
}

#[cfg(test)]
mod tests {
    use super::costs_more;
    use anabranch_trace::Rate;

    #[test]
    fn the_whole_is_cheaper_where_error_bars_stay_wide() {
        let at = |pages, samples, times| costs_more(Rate::one_of(pages).unwrap(), samples, times);
        assert!(!at(1024, 4, 3.0));
        assert!(!at(64, 4, 1.1));
        assert!(at(64, 4, 3.0));
        assert!(at(64, 16, 1.5));
        assert!(at(8, 4, 1.0));
    }
}
