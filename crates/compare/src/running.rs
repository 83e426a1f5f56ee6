//! Schemes on drives: made from options, fed, and turned into a result.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, thread};

use anabranch_placement::{DeviceHalf, Names, SchemeSpec};
use anabranch_replay::{
    Clock, Drive, Fleet, Lane, Outcome as Comparison, Progress, Source, Start, Survey, Verdict,
    best, close_gaps, outcome,
};
use anabranch_ssd::Config;
use anabranch_trace::{Context, Io};
use serde_json::{Value, json};

use crate::{
    drives::NamedDrive,
    fault::{Fault, Outcome},
    lifetimes::Lifetimes,
    options::ComparisonOptions,
};

/// Schemes at work on one drive.
#[derive(Debug)]
pub struct Running {
    specs: Vec<SchemeSpec>,
    /// For each lane which of `specs` it is of, and that scheme as it is set there.
    trials: Vec<(usize, SchemeSpec)>,
    drive: NamedDrive,
    clock: Option<Clock>,
    fleet: Fleet,
    source: Source,
    lifetimes: Option<Lifetimes>,
    /// Who writes and how long it lives, where details are wanted.
    survey: Option<Survey>,
    /// Who the contexts are, as far as it was told.
    contexts: Vec<Context>,
}

impl Running {
    /// Builds every scheme's device and sets the lanes to work.
    pub fn start(
        specs: &[SchemeSpec],
        drive: &NamedDrive,
        options: &ComparisonOptions,
        start: &Start<'_>,
    ) -> Outcome<Running> {
        let mut drive = drive.clone();
        drive.config.seed = options.seed;
        let lifetimes = options.profile.as_deref().map(Lifetimes::open);
        let lifetimes = lifetimes.transpose()?;
        let trials = trials(specs, &drive.config)?;
        let mut lanes = trials
            .iter()
            .map(|(_, spec)| Lane::build(spec, &drive.config, start))
            .collect::<Result<Vec<Lane>, _>>()
            .map_err(Fault::usage)?;
        if let Some(lifetimes) = &lifetimes {
            lanes.iter_mut().for_each(|lane| lifetimes.recall(lane));
        }
        let survey = options.details.then(|| Survey::new(&drive.config));
        if survey.is_some() {
            lanes.iter_mut().for_each(Lane::watch);
        }
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Running {
            specs: specs.to_vec(),
            trials,
            drive,
            clock: start.clock.cloned(),
            fleet: Fleet::start(lanes, options.threads.unwrap_or(cores)),
            source: Source::default(),
            lifetimes,
            survey,
            contexts: Vec::new(),
        })
    }

    /// Tells every scheme the names of what it is fed later.
    pub fn learn(&mut self, names: Names) {
        if let Some(survey) = &mut self.survey {
            survey.learn(&names);
        }
        if !names.is_empty() {
            // As in `feed`.
            let _ = self.fleet.learn(&Arc::new(names));
        }
    }

    /// Tells who the contexts are, for the result: schemes learn nothing of it.
    pub fn name(&mut self, contexts: Vec<Context>) {
        self.contexts = contexts;
    }

    /// Feeds every scheme.
    pub fn feed(&mut self, ios: &[Io]) {
        ios.iter().for_each(|io| self.source.count(io));
        if let Some(survey) = &mut self.survey {
            ios.iter().for_each(|io| survey.apply(io));
        }
        // A lane that has failed closes its channel; `finish` tells why.
        let _ = self.fleet.send(&Arc::from(ios));
    }

    /// What was fed so far.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The drive.
    pub fn drive(&self) -> &Config {
        &self.drive.config
    }

    /// Scheme names with how far they are, as of a moment ago.
    pub fn progress(&self) -> Vec<(String, Progress)> {
        let names = self.trials.iter().map(|(_, spec)| spec.name().to_owned());
        names.zip(self.fleet.progress()).collect()
    }

    /// Waits for every lane and puts the result together.
    pub fn finish(
        self,
        mut config: BTreeMap<String, Value>,
        lost_events: u64,
    ) -> Outcome<Comparison> {
        config.insert("drive".to_owned(), json!(self.drive.config));
        if let Some(clock) = &self.clock {
            config.insert("time".to_owned(), json!(clock));
        }
        let lanes = self.fleet.finish()?;
        if let Some(lifetimes) = &self.lifetimes {
            lifetimes.keep(&lanes)?;
        }
        let lanes = kept(&self.specs, self.trials, lanes);
        let bounds = self.specs.iter().filter(|spec| spec.is_bound());
        let bounds: Vec<String> = bounds.map(|spec| spec.name().to_owned()).collect();
        let source = Source {
            lost_events,
            ..self.source
        };
        let drive = Drive::new(&self.drive.profile, &self.drive.config);
        let seed = self.drive.config.seed;
        let mut outcome = outcome(config, seed, source, drive, &lanes);
        close_gaps(&mut outcome.schemes, &bounds);
        for (scheme, spec) in outcome.schemes.iter_mut().zip(&self.specs) {
            scheme.goes_by_hints = spec.goes_by_hints();
            scheme.drive_half = Some(match spec.relocation() {
                DeviceHalf::Relocation(kind) => kind.name().to_owned(),
                DeviceHalf::Own => "own".to_owned(),
            });
        }
        outcome.verdict = Some(Verdict::of(&outcome));
        outcome.details = self.survey.map(|survey| survey.finish(&self.contexts));
        Ok(outcome)
    }
}

/// A lane for every setting that is to be tried: which of `specs` it is of, and the setting.
fn trials(specs: &[SchemeSpec], drive: &Config) -> Outcome<Vec<(usize, SchemeSpec)>> {
    let mut trials = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let settings = Lane::trials(spec, drive).map_err(Fault::usage)?;
        trials.extend(settings.into_iter().map(|setting| (index, setting)));
    }
    Ok(trials)
}

/// Of each scheme's lanes the best: the scheme's name, the parameters it was set to there, and
/// the lane.
fn kept(
    specs: &[SchemeSpec],
    trials: Vec<(usize, SchemeSpec)>,
    lanes: Vec<Lane>,
) -> Vec<(String, BTreeMap<String, String>, Lane)> {
    let mut tried: Vec<Vec<(SchemeSpec, Lane)>> = specs.iter().map(|_| Vec::new()).collect();
    for ((index, setting), lane) in trials.into_iter().zip(lanes) {
        tried[index].push((setting, lane));
    }
    let best = tried.into_iter().filter_map(best);
    let kept = specs.iter().zip(best).map(|(spec, (setting, lane))| {
        let parameters = setting.parameters().iter().cloned().collect();
        (spec.name().to_owned(), parameters, lane)
    });
    kept.collect()
}
