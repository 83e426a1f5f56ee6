//! Schemes on drives: made from options, fed, and turned into a result.

use std::{
    collections::BTreeMap, io::Write as _, num::NonZeroUsize, path::Path, sync::Arc, thread,
};

use anabranch_placement::{Names, Scheme, SchemeSpec};
use anabranch_replay::{
    Clock, Drive, Fleet, Lane, Outcome as Comparison, Source, Start, best, close_gaps, outcome,
};
use anabranch_ssd::{Config, RelocationKind};
use anabranch_trace::{Io, WholeFile};
use serde_json::{Value, json};

use crate::{
    arguments::ComparisonArguments,
    drives::NamedDrive,
    failure::{Failure, Outcome},
    lifetimes::Lifetimes,
};

/// The schemes named by one or more `--scheme`, in order, each once. Where the future cannot be
/// known, `all` leaves out those that must know it.
pub fn schemes(arguments: &ComparisonArguments, future_is_known: bool) -> Outcome<Vec<SchemeSpec>> {
    let belongs = |scheme: &Scheme| future_is_known || !(scheme.host)().needs_future();
    let mut specs: Vec<SchemeSpec> = Vec::new();
    for list in &arguments.schemes {
        let read = SchemeSpec::read_list_where(list, &read_text, belongs);
        for spec in read.map_err(Failure::usage)? {
            for spec in halves(spec, &arguments.relocation) {
                if !specs.contains(&spec) {
                    specs.push(spec);
                }
            }
        }
    }
    Ok(specs)
}

/// The text of a file that a scheme's parameter names.
fn read_text(name: &str) -> Result<String, String> {
    std::fs::read_to_string(name).map_err(|error| format!("cannot read {name}: {error}"))
}

/// A scheme as it is, or its host side with each of the relocations asked for.
fn halves(spec: SchemeSpec, relocations: &[RelocationKind]) -> Vec<SchemeSpec> {
    match relocations {
        [] => vec![spec],
        kinds => kinds
            .iter()
            .map(|&kind| spec.with_relocation(kind))
            .collect(),
    }
}

/// Those that can work while a program runs.
#[cfg(feature = "live")]
pub fn live_schemes(arguments: &ComparisonArguments) -> Outcome<Vec<SchemeSpec>> {
    let specs = schemes(arguments, false)?;
    match specs.iter().find(|spec| spec.needs_future()) {
        Some(bound) => Err(Failure::usage(bound.refused())),
        None => Ok(specs),
    }
}

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
}

impl Running {
    /// Builds every scheme's device and sets the lanes to work.
    pub fn start(
        specs: &[SchemeSpec],
        drive: &NamedDrive,
        arguments: &ComparisonArguments,
        start: &Start<'_>,
    ) -> Outcome<Running> {
        let mut drive = drive.clone();
        drive.config.seed = arguments.seed;
        let lifetimes = arguments.profile.as_deref().map(Lifetimes::open);
        let lifetimes = lifetimes.transpose()?;
        let trials = trials(specs, &drive.config)?;
        let mut lanes = trials
            .iter()
            .map(|(_, spec)| Lane::build(spec, &drive.config, start))
            .collect::<Result<Vec<Lane>, _>>()
            .map_err(Failure::usage)?;
        if let Some(lifetimes) = &lifetimes {
            lanes.iter_mut().for_each(|lane| lifetimes.recall(lane));
        }
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Running {
            specs: specs.to_vec(),
            trials,
            drive,
            clock: start.clock.cloned(),
            fleet: Fleet::start(lanes, arguments.threads.unwrap_or(cores)),
            source: Source::default(),
            lifetimes,
        })
    }

    /// Tells every scheme the names of what it is fed later.
    pub fn learn(&self, names: Names) {
        if !names.is_empty() {
            // As in `feed`.
            let _ = self.fleet.learn(&Arc::new(names));
        }
    }

    /// Feeds every scheme.
    pub fn feed(&mut self, ios: &[Io]) {
        ios.iter().for_each(|io| self.source.count(io));
        // A lane that has failed closes its channel; `finish` tells why.
        let _ = self.fleet.send(&Arc::from(ios));
    }

    /// What was fed so far.
    #[cfg(feature = "live")]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Scheme names with their counters, as of a moment ago.
    #[cfg(feature = "live")]
    pub fn progress(&self) -> Vec<(String, anabranch_ssd::Counters)> {
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
        Ok(outcome)
    }
}

/// A lane for every setting that is to be tried: which of `specs` it is of, and the setting.
fn trials(specs: &[SchemeSpec], drive: &Config) -> Outcome<Vec<(usize, SchemeSpec)>> {
    let mut trials = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let settings = Lane::trials(spec, drive).map_err(Failure::usage)?;
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

/// Writes results where the options want them: a table or JSON on standard output, JSON in a file.
pub fn publish(results: &[Comparison], arguments: &ComparisonArguments) -> Outcome {
    let json = match results {
        [one] => serde_json::to_value(one),
        many => serde_json::to_value(many).map(
            |results| serde_json::json!({ "schema": anabranch_replay::SCHEMA, "results": results }),
        ),
    }
    .map_err(Failure::work)?;
    if let Some(path) = &arguments.output {
        write_json(path, &json)?;
    }
    if arguments.json {
        return print(&format!("{json:#}\n"));
    }
    for result in results {
        print(&format!(
            "{}\n\n{}{}\n\n",
            anabranch_report::comparison(result),
            anabranch_report::times(result),
            anabranch_report::verdict(result)
        ))?;
    }
    Ok(())
}

/// Writes JSON to a file that appears whole or not at all.
pub fn write_json(path: &Path, json: &Value) -> Outcome {
    let mut file = WholeFile::create(path)?;
    writeln!(file, "{json:#}").map_err(|error| {
        Failure::work(anyhow::anyhow!("cannot write {}: {error}", path.display()))
    })?;
    Ok(file.finish()?)
}

/// Prints to standard output. A reader that went away early (`| head`) is no failure.
pub fn print(text: &str) -> Outcome {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::work(error)),
        _ => Ok(()),
    }
}
