//! Schemes on drives: made from options, fed, and turned into a result.

use std::{
    collections::BTreeMap, io::Write as _, num::NonZeroUsize, path::Path, sync::Arc, thread,
};

use anabranch_placement::{Names, SchemeSpec};
use anabranch_replay::{Clock, Drive, Fleet, Lane, Outcome as Comparison, Source, outcome};
use anabranch_ssd::RelocationKind;
use anabranch_trace::{Io, WholeFile};
use serde_json::{Value, json};

use crate::{
    arguments::ComparisonArguments,
    drives::NamedDrive,
    failure::{Failure, Outcome},
    lifetimes::Lifetimes,
};

/// The schemes named by one or more `--scheme`, in order, each once.
pub fn schemes(arguments: &ComparisonArguments) -> Outcome<Vec<SchemeSpec>> {
    let mut specs: Vec<SchemeSpec> = Vec::new();
    for list in &arguments.schemes {
        for spec in SchemeSpec::read_list(list, &read_text).map_err(Failure::usage)? {
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

/// Schemes at work on one drive.
#[derive(Debug)]
pub struct Running {
    specs: Vec<SchemeSpec>,
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
        clock: Option<&Clock>,
    ) -> Outcome<Running> {
        let mut drive = drive.clone();
        drive.config.seed = arguments.seed;
        let lifetimes = arguments.profile.as_deref().map(Lifetimes::open);
        let lifetimes = lifetimes.transpose()?;
        let mut lanes = specs
            .iter()
            .map(|spec| Lane::build(spec, &drive.config, None, clock))
            .collect::<Result<Vec<Lane>, _>>()
            .map_err(Failure::usage)?;
        if let Some(lifetimes) = &lifetimes {
            lanes.iter_mut().for_each(|lane| lifetimes.recall(lane));
        }
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Running {
            specs: specs.to_vec(),
            drive,
            clock: clock.cloned(),
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
        let names = self.specs.iter().map(|spec| spec.name().to_owned());
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
        let lanes: Vec<_> = self
            .specs
            .iter()
            .zip(lanes)
            .map(|(spec, lane)| {
                (
                    spec.name().to_owned(),
                    spec.parameters().iter().cloned().collect(),
                    lane,
                )
            })
            .collect();
        let source = Source {
            lost_events,
            ..self.source
        };
        let drive = Drive::new(&self.drive.profile, &self.drive.config);
        let seed = self.drive.config.seed;
        Ok(outcome(config, seed, source, drive, &lanes))
    }
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
