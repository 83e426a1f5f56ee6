//! Schemes at work on drives: made from options, fed with requests, and turned into a result.

mod other_victims;

use std::{cmp::Reverse, collections::BTreeMap, num::NonZeroUsize, sync::Arc, thread};

use anabranch_placement::{DeviceHalf, Future, Names, SchemeSpec};
use anabranch_replay::{
    Clock, Comparison, Drawn, Drive, Fleet, Lane, Progress, SampledDrive, Source, Start, Survey,
    Verdict, close_gaps, outcome, pooled,
};
use anabranch_ssd::Config;
use anabranch_trace::{Context, Io, Sample, Tables};
use serde_json::{Value, json};

use crate::{
    compared_drive::ComparedDrive,
    error::{CompareError, Result},
    feed::{Feeds, Trial, kept},
    lifetimes::Lifetimes,
    options::ComparisonOptions,
};

/// Schemes at work on one drive.
#[derive(Debug)]
pub struct Running {
    specs: Vec<SchemeSpec>,
    /// The scheme, settings and sample of each lane.
    trials: Vec<Trial>,
    samples: Vec<Sample>,
    feeds: Feeds,
    drive: ComparedDrive,
    clock: Option<Clock>,
    fleet: Fleet,
    source: Source,
    lifetimes: Option<Lifetimes>,
    /// Measures writers and lifetimes, where details are wanted.
    survey: Option<Survey>,
    /// The contexts' descriptions, as far as they were given.
    contexts: Vec<Context>,
    /// Whether a lane has failed.
    has_failed: bool,
    /// Whether no schemes were named.
    is_default: bool,
    /// The drive that is sold and the ordinary one again, with other victims.
    other_victims: Option<Box<Running>>,
}

impl Running {
    /// Builds every scheme's device and starts the lanes, on each sample of the requests or on all of them. `futures`
    /// are the futures of each sample, where schemes need them.
    pub fn start(
        specs: &[SchemeSpec],
        drive: &ComparedDrive,
        options: &ComparisonOptions,
        start: &Start<'_>,
        samples: &[Sample],
        futures: &[Arc<Future>],
    ) -> Result<Running> {
        let mut drive = drive.clone();
        drive.config.seed = options.seed;
        let lifetimes = options.lifetimes.as_deref().map(Lifetimes::open);
        let lifetimes = lifetimes.transpose()?;
        let mut feeds = Feeds::new(samples);
        let (trials, mut lanes) = feeds.lanes(specs, &drive, start, futures)?;
        if let Some(lifetimes) = &lifetimes {
            lanes
                .iter_mut()
                .for_each(|(_, lane)| lifetimes.restore(lane));
        }
        let survey = options.details.then(|| Survey::new(&drive.config));
        if survey.is_some() {
            // Maps and lifetimes are shown of the first sample.
            let shown = trials
                .iter()
                .zip(&mut lanes)
                .filter(|(trial, _)| trial.sample == 0);
            shown.for_each(|(_, (_, lane))| lane.watch());
        }
        let other_victims = other_victims::start(&drive, options, start, samples)?;
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Running {
            specs: specs.to_vec(),
            trials,
            samples: samples.to_vec(),
            feeds,
            drive,
            clock: start.clock.cloned(),
            fleet: Fleet::start_fed(lanes, options.threads.unwrap_or(cores)),
            source: Source::default(),
            lifetimes,
            survey,
            contexts: Vec::new(),
            has_failed: false,
            is_default: options.is_default(),
            other_victims: other_victims.map(Box::new),
        })
    }

    /// Gives every scheme names of contexts and files that later requests refer to.
    pub fn learn(&mut self, names: Names) {
        if let Some(survey) = &mut self.survey {
            survey.learn(&names);
        }
        if let Some(others) = &mut self.other_victims {
            others.learn(names.clone());
        }
        if !names.is_empty() {
            // An error here is that of the lanes, as in `feed`.
            let _ = self.fleet.learn(&Arc::new(names));
        }
    }

    /// Gives descriptions of the contexts, and the names that files have in the end, for the result. Schemes do not see
    /// them.
    pub fn name(&mut self, tables: &Tables) {
        self.contexts.clone_from(&tables.contexts);
        if let Some(survey) = &mut self.survey {
            survey.learn_next_names(&tables.files);
        }
    }

    /// Feeds every scheme with these requests.
    pub fn feed(&mut self, ios: &[Io]) {
        ios.iter().for_each(|io| self.source.count(io));
        let (fleet, survey) = (&self.fleet, &mut self.survey);
        let has_failed = &mut self.has_failed;
        self.feeds.feed(ios, |feed, batch| {
            if let Some(survey) = survey.as_mut().filter(|_| feed == 0) {
                batch.iter().for_each(|io| survey.apply(io));
            }
            // A lane that has failed closes its channel; `finish` tells why.
            *has_failed |= fleet.send_to(feed, batch).is_err();
        });
        if let Some(others) = &mut self.other_victims {
            others.feed(ios);
            self.has_failed |= others.has_failed;
        }
    }

    /// Tells what the whole trace asks for, if requests of which no sample keeps a page were not fed.
    pub fn asked(&mut self, whole: Source) {
        self.source = whole;
    }

    /// Waits until every scheme has performed all requests, to the last page. IMPORTANT: this ends the batch in which a
    /// scheme gathers writes, so that a scheme which learns from its drive may know more at the next write than without
    /// the call; counts then differ from a replay's.
    pub fn drain(&mut self) {
        self.has_failed |= self.fleet.drain().is_err();
        if let Some(others) = &mut self.other_victims {
            others.drain();
            self.has_failed |= others.has_failed;
        }
    }

    /// The samples whose pages alone change anything; empty where a scheme is fed all requests as they come.
    pub fn told_samples(&self) -> &[Sample] {
        self.feeds.told_samples()
    }

    /// Whether a scheme could not go on; [`Running::finish`] tells why.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The progress of each scheme in each sample a moment ago; of several settings, that of the one with the least
    /// copies.
    pub fn counted(&self) -> Vec<(String, Vec<Progress>)> {
        let now = self.fleet.progress();
        let best = |sample: usize, scheme: usize| {
            let lanes = self.trials.iter().zip(&now);
            let own = lanes.filter(|(trial, _)| (trial.sample, trial.scheme) == (sample, scheme));
            let own = own.map(|(_, progress)| *progress);
            own.min_by_key(|one| (Reverse(one.counters.host_pages), one.counters.copied_pages))
        };
        let samples = 0..self.feeds.comparisons();
        let of = |(scheme, spec): (usize, &SchemeSpec)| {
            let each = samples.clone().filter_map(|sample| best(sample, scheme));
            (spec.name().to_owned(), each.collect())
        };
        self.specs.iter().enumerate().map(of).collect()
    }

    /// Counts of the requests fed so far.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Configuration that all schemes' drives share.
    pub fn drive(&self) -> &Config {
        &self.drive.config
    }

    /// The progress of each scheme in the first sample a moment ago, by name.
    pub fn progress(&self) -> Vec<(String, Progress)> {
        let trials = self.trials.iter().zip(self.fleet.progress());
        let first = trials.filter(|(trial, _)| trial.sample == 0);
        first
            .map(|(trial, progress)| (trial.setting.name().to_owned(), progress))
            .collect()
    }

    /// Waits for every lane, and makes the result.
    pub fn finish(
        mut self,
        mut config: BTreeMap<String, Value>,
        lost_events: u64,
    ) -> Result<Comparison> {
        config.insert("drive".to_owned(), json!(self.drive.config));
        if let Some(clock) = &self.clock {
            config.insert("time".to_owned(), json!(clock));
        }
        let lanes = self.fleet.finish()?;
        if let Some(lifetimes) = &self.lifetimes {
            lifetimes.keep(&lanes)?;
        }
        let bounds = self.specs.iter().filter(|spec| spec.is_bound());
        let bounds: Vec<String> = bounds.map(|spec| spec.name().to_owned()).collect();
        self.source.lost_events = lost_events;
        let mut drive = Drive::new(&self.drive.profile, &self.drive.config);
        drive.page_bytes = self.drive.page_bytes();
        drive.scaled = self.drive.scaled;
        let seed = self.drive.config.seed;
        let mut sampled: Vec<Vec<(Trial, Lane)>> = Vec::new();
        sampled.resize_with(self.feeds.comparisons(), Vec::new);
        for (trial, lane) in self.trials.into_iter().zip(lanes) {
            sampled[trial.sample].push((trial, lane));
        }
        let outcomes = sampled.into_iter().map(|lanes| {
            let lanes = kept(&self.specs, lanes);
            outcome(config.clone(), seed, self.source, drive.clone(), &lanes)
        });
        let mut outcome = of_samples(outcomes.collect(), &self.drive, &self.samples)?;
        close_gaps(&mut outcome.schemes, &bounds);
        for (scheme, spec) in outcome.schemes.iter_mut().zip(&self.specs) {
            scheme.goes_by_hints = spec.goes_by_hints();
            scheme.drive_half = Some(match spec.relocation() {
                _ if spec.collection().is_some() => "host".to_owned(),
                DeviceHalf::Relocation(kind) => kind.name().to_owned(),
                DeviceHalf::Own => "own".to_owned(),
            });
        }
        if self.is_default && self.source.hinted_bytes == 0 {
            // Without hints it is the ordinary drive, and nobody asked for it.
            outcome.schemes.retain(|scheme| !scheme.goes_by_hints);
        }
        outcome.other_victims = self
            .other_victims
            .map(|others| other_victims::finish(*others))
            .transpose()?;
        outcome.verdict = Some(Verdict::of(&outcome));
        outcome.details = self.survey.map(|survey| survey.details(&self.contexts));
        Ok(outcome)
    }
}

/// The samples' results pooled into one; the only result where the drive is not sampled.
fn of_samples(
    mut outcomes: Vec<Comparison>,
    drive: &ComparedDrive,
    samples: &[Sample],
) -> Result<Comparison> {
    let none =
        || CompareError::failed("no sample was compared: a defect of anabranch, please report it");
    if drive.thinned.is_none() {
        return outcomes.pop().ok_or_else(none);
    }
    let from = samples.first().map_or(drive.rate(), Sample::trace_rate);
    let drawn = Drawn {
        sample: drive.rate().pages(),
        trace: from.pages(),
        unit_pages: drive.config.pages_per_unit,
    };
    let mut outcome = pooled(outcomes, drawn).ok_or_else(none)?;
    outcome.sampled = Some(SampledDrive {
        rate: drive.rate().to_string(),
        trace_rate: from.to_string(),
        unit_pages: drive.config.pages_per_unit,
        hashes: samples.iter().map(Sample::hash).collect(),
    });
    Ok(outcome)
}
