//! The shadow drives of a device: which rate, which schemes, and what they have counted.

use std::num::NonZeroUsize;

use anabranch_compare::{
    ComparedDrive, ComparisonOptions, DriveOptions, EnduranceOptions, Running, Sampling, Size,
    TraceOrigin, check_endurance, endurance, one_sampled, read_text, samples, schemes,
};
use anabranch_placement::{Names, SchemeSpec};
use anabranch_replay::{Alive, Drawn, Endurance, KeptSurvey, Progress, Source, Start, Survey};
use anabranch_ssd::Config;
use anabranch_trace::{Context, Io, Rate, Sample, Sampled};
use serde_json::Value;

use anabranch_watch::{SchemeView, Track, Written};

use super::arguments::WatchArguments;
use crate::error::{CommandError, Result};

/// A device's size is taken to whole pages.
const PAGE_BYTES: u64 = 4096;
/// Pages an erase unit is left unless a rate is said (docs/results/speed.md, sampled drives: with fewer the error
/// grows).
const UNIT_PAGES: u32 = 256;
/// Bytes a page of a shadow drive takes: 8.6 of the device, the rest of schemes that remember each page (our
/// choice, above what any of the default ones took).
const PAGE_COST: u64 = 24;
/// Runs of what lived that are given to new drives at a time (our choice).
const GIVEN: usize = 4096;

/// Recipe of every device's shadow drives.
#[derive(Debug)]
pub struct ShadowPlan {
    specs: Vec<SchemeSpec>,
    options: ComparisonOptions,
    drive: DriveOptions,
    endurance: EnduranceOptions,
}

impl ShadowPlan {
    /// Value that was requested.
    pub fn of(arguments: &WatchArguments) -> Result<ShadowPlan> {
        if arguments.drive.drives() > 1 || arguments.drive.size.is_some() {
            return Err(CommandError::wrong_use(
                "a device that is watched has one shadow drive for each scheme, of its own size: give one value of \
                 each option, as --unit 24MiB, and no --size",
            ));
        }
        let options = ComparisonOptions {
            schemes: arguments.schemes.clone(),
            samples: Some(arguments.samples),
            sample: Some(Sampling::Rate(arguments.sample.unwrap_or(Rate::WHOLE))),
            seed: arguments.seed,
            threads: Some(NonZeroUsize::MIN),
            ..ComparisonOptions::default()
        };
        let specs = schemes(&options, false, &read_text)?;
        if let Some(bound) = specs.iter().find(|spec| spec.needs_future()) {
            return Err(CommandError::usage(bound.refused()));
        }
        Ok(ShadowPlan {
            specs,
            options,
            drive: arguments.drive.clone(),
            endurance: arguments.endurance.clone(),
        })
    }

    pub fn drive(&self, device_bytes: u64, rate: Rate) -> Result<ComparedDrive> {
        let origin = TraceOrigin {
            size: Size::Captured(device_bytes.next_multiple_of(PAGE_BYTES)),
            ..TraceOrigin::default()
        };
        Ok(one_sampled(&self.drive, &origin, rate)?)
    }

    /// The drive of a device at the rate asked for, else at the coarsest that leaves erase units enough pages; at a
    /// coarser one where its schemes would take more than so many bytes.
    pub fn fitting(
        &self,
        device_bytes: u64,
        asked: Option<Rate>,
        most_bytes: Option<u64>,
    ) -> Result<ComparedDrive> {
        let at = |rate| self.drive(device_bytes, rate);
        let mut found = at(asked.unwrap_or(Rate::WHOLE));
        let from = asked.map_or(1, Rate::pages);
        let rates = (0..=20).filter_map(|halvings| Rate::one_of(1 << halvings));
        for rate in rates.filter(|rate| rate.pages() > from) {
            let is_enough = |drive: &ComparedDrive| match asked {
                Some(_) => true,
                None => drive.config.pages_per_unit < 2 * UNIT_PAGES,
            };
            let fits =
                |drive: &ComparedDrive| most_bytes.is_none_or(|most| self.cost(drive) <= most);
            if found
                .as_ref()
                .is_ok_and(|drive| is_enough(drive) && fits(drive))
            {
                break;
            }
            match at(rate) {
                Ok(coarser) => found = Ok(coarser),
                // Finer ones may have more pages than 32 bits number; none coarser than this tells anything.
                Err(_) if found.is_err() => {}
                Err(_) => break,
            }
        }
        found
    }

    /// Memory that the schemes of a device take, bytes.
    fn cost(&self, drive: &ComparedDrive) -> u64 {
        let lanes = self.specs.len() as u64 * u64::from(self.samples(drive.rate())) + 1;
        u64::from(drive.config.logical_pages) * lanes * PAGE_COST
    }

    /// Returns the number of samples at a rate.
    pub fn samples(&self, rate: Rate) -> u32 {
        match rate {
            Rate::WHOLE => 1,
            _ => self.options.samples.unwrap_or(1),
        }
    }

    /// Refuses options on endurance that are wrong, or that this drive cannot answer.
    pub fn check_endurance(&self, drive: &ComparedDrive) -> Result {
        Ok(check_endurance(&self.endurance, Some(drive))?)
    }

    /// The endurance of a drive that was asked to do so much, where it is known.
    pub fn endurance(&self, drive: &ComparedDrive, asked: &Source) -> Option<Endurance> {
        let logical_bytes = Some(drive.config.logical_bytes());
        let measured = Some((asked.write_bytes, asked.lasted_s()));
        let known = endurance(&self.endurance, Some(drive), logical_bytes, measured).ok()??;
        Some(Endurance {
            page_rounding: asked.page_rounding(drive.rate() != Rate::WHOLE),
            ..known
        })
    }

    /// The options of the drive, as they are kept.
    pub fn drive_options(&self) -> Value {
        serde_json::json!(self.drive)
    }

    /// Seed of the samples.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// Names of the schemes.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(SchemeSpec::name)
    }
}

/// State that shadow drives resume from: a survey in the drive's measure, and each scheme's tracks.
#[derive(Debug, Default)]
pub struct Kept {
    pub survey: KeptSurvey,
    pub schemes: Vec<(String, Vec<Track>)>,
    /// Whether they were counted on a drive that was not sampled: then each sample goes on with the same counts.
    pub is_whole: bool,
}

/// A device's shadow drives at work.
#[derive(Debug)]
pub struct Model {
    drive: ComparedDrive,
    first: Sample,
    running: Running,
    survey: Survey,
    /// Tracks of each scheme in each sample.
    tracks: Vec<Vec<Track>>,
}

impl Model {
    /// Builds the drives; each is given what lived, in the order it was written, and its counts go on from what was
    /// kept.
    pub fn start(
        plan: &ShadowPlan,
        drive: ComparedDrive,
        kept: &Kept,
        contexts: &[Context],
    ) -> Result<Model> {
        let options = &plan.options;
        let samples = samples(
            drive.rate(),
            drive.page_bytes(),
            None,
            options.seed,
            options.samples,
        )?;
        let start = Start::default();
        let running = Running::start(&plan.specs, &drive, options, &start, &samples, &[])?;
        let first = samples.first().copied();
        let first =
            first.ok_or_else(|| CommandError::wrong_use("--samples 0: at least one is needed"))?;
        let known = |spec: &SchemeSpec| {
            let known = kept.schemes.iter().find(|(name, _)| name == spec.name());
            match known.map(|(_, tracks)| &tracks[..]) {
                Some([whole]) if kept.is_whole => vec![whole.clone(); samples.len()],
                Some(tracks) if tracks.len() == samples.len() => tracks.to_vec(),
                _ => vec![Track::default(); samples.len()],
            }
        };
        let mut model = Model {
            survey: Survey::resume(&drive.config, &kept.survey, &first),
            first,
            tracks: plan.specs.iter().map(known).collect(),
            running,
            drive,
        };
        model.running.learn(Names::of_rows(0, &[], contexts));
        for runs in kept.survey.alive.chunks(GIVEN) {
            let writes: Vec<Io> = runs.iter().map(Alive::write).collect();
            model.running.feed(&writes);
        }
        model.running.drain();
        model.check()?;
        for (tracks, (_, each)) in model.tracks.iter_mut().zip(model.running.counted()) {
            for (track, progress) in tracks.iter_mut().zip(&each) {
                track.go_on(written(progress, &model.drive.config));
            }
        }
        Ok(model)
    }

    /// State that later drives resume from.
    pub fn kept(&mut self) -> Kept {
        self.running.drain();
        let (names, _) = self.advance();
        let tracks = self.tracks.iter();
        let tracks = tracks.map(|tracks| tracks.iter().map(Track::kept).collect());
        Kept {
            survey: self.survey.kept(),
            schemes: names.into_iter().zip(tracks).collect(),
            is_whole: self.drive.rate() == Rate::WHOLE,
        }
    }

    pub fn drive(&self) -> &ComparedDrive {
        &self.drive
    }

    /// The samples whose pages alone are looked at; empty where all requests are.
    pub fn told_samples(&self) -> Vec<Sampled> {
        match self.drive.rate() {
            Rate::WHOLE => Vec::new(),
            _ => self
                .running
                .told_samples()
                .iter()
                .map(Sample::sampled)
                .collect(),
        }
    }

    /// Tells every scheme the names of what it is fed later.
    pub fn learn(&mut self, names: Names) {
        self.survey.learn(&names);
        self.running.learn(names);
    }

    /// Feeds every scheme; fails when one cannot go on.
    pub fn feed(&mut self, ios: &[Io]) -> Result {
        for io in ios.iter().filter_map(|io| self.first.apply(io)) {
            self.survey.apply(&io);
        }
        self.running.feed(ios);
        self.check()
    }

    fn check(&self) -> Result {
        if !self.running.has_failed() {
            Ok(())
        } else {
            Err(CommandError::work(anyhow::anyhow!(
                "a shadow drive could not go on: a defect of anabranch, please report it"
            )))
        }
    }

    /// Waits until every scheme has performed all it was fed: for the last snapshot.
    pub fn drain(&mut self) {
        self.running.drain();
    }

    /// Writers, and the lifetimes of their data.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Progress of the schemes, and the share of the first drive that holds data.
    pub fn sample(&mut self) -> (Vec<SchemeView>, f64) {
        let drawn = Drawn {
            sample: self.drive.rate().pages(),
            trace: 1,
            unit_pages: self.drive.config.pages_per_unit,
        };
        let (names, filled) = self.advance();
        let views = names.into_iter().zip(&self.tracks);
        let views = views.map(|(name, tracks)| SchemeView::new(name, tracks, drawn));
        (views.collect(), filled)
    }

    /// Takes what the drives have counted into the tracks; answers the schemes' names, and what [`Model::sample`] tells
    /// of the first drive.
    fn advance(&mut self) -> (Vec<String>, f64) {
        let config = &self.drive.config;
        let counted = self.running.counted();
        let first = counted.first().and_then(|(_, each)| each.first());
        let mapped_pages = first.map_or(0, |first| first.mapped_pages);
        let filled = mapped_pages as f64 / f64::from(config.logical_pages.max(1));
        let schemes = self.tracks.iter_mut().zip(counted);
        let names = schemes.map(|(tracks, (name, each))| {
            for (track, progress) in tracks.iter_mut().zip(&each) {
                track.advance(written(progress, config), config.logical_bytes());
            }
            name
        });
        (names.collect(), filled)
    }
}

fn written(progress: &Progress, drive: &Config) -> Written {
    let page_bytes = u64::from(drive.page_bytes);
    Written {
        host_page_bytes: progress.counters.host_pages * page_bytes,
        copied_bytes: progress.counters.copied_pages * page_bytes,
    }
}
