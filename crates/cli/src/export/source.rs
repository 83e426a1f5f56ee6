//! What advice is made from: a trace, a drive and a scheme.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anabranch_compare::{Origin, TraceFile, one_drive, read_text};
use anabranch_placement::{LifetimeProfile, Names, SchemeSpec};
use anabranch_replay::{Lane, Outcome as Comparison, Start};
use anabranch_ssd::Config;
use anabranch_trace::Tables;

use super::ExportArguments;
use crate::{
    failure::{Failure, Outcome},
    source,
};

/// The scheme that is exported unless another is named.
const SCHEME: &str = "pcstream";

/// What the command was given.
pub enum Given {
    /// What was learned of contexts, and no more.
    Lifetimes(LifetimeProfile),
    /// Writes to place.
    Plan(Box<Plan>),
}

/// Writes, a drive for them, and the scheme that is to be told in other words.
#[derive(Debug)]
pub struct Plan {
    pub source: TraceFile,
    pub tables: Tables,
    pub drive: Config,
    pub scheme: SchemeSpec,
    pub known: LifetimeProfile,
}

impl Plan {
    /// The scheme at work, with what it knew before.
    pub fn lane(&self, spec: &SchemeSpec) -> Outcome<Lane> {
        let mut lane = Lane::build(spec, &self.drive, &Start::default()).map_err(Failure::usage)?;
        lane.recall(&self.known);
        lane.learn(&Names::of(&self.tables));
        Ok(lane)
    }
}

/// Finds out what the source is, by its first bytes.
pub fn given(arguments: &ExportArguments) -> Outcome<Given> {
    let path = &arguments.source;
    if is_synthetic(path) || is_parquet(path)? {
        return of_trace(arguments, path);
    }
    let text = fs::read_to_string(path).map_err(|error| cannot_read(path, &error))?;
    if let Ok(result) = serde_json::from_str::<Comparison>(&text) {
        return of_result(arguments, &result);
    }
    if text.contains("\"anabranch_lifetimes\"") {
        let profile = LifetimeProfile::parse(&text);
        let profile =
            profile.map_err(|error| Failure::say(format!("{}: {error}", path.display())))?;
        return match &arguments.trace {
            Some(trace) => with_drive(arguments, trace, profile),
            None => Ok(Given::Lifetimes(profile)),
        };
    }
    let several = text.contains("\"results\"");
    Err(Failure::say(match several {
        true => format!(
            "{} holds several results: export one, of a replay on one drive",
            path.display()
        ),
        false => format!(
            "{} is neither a trace (Parquet) nor a result or a lifetime profile (JSON)",
            path.display()
        ),
    }))
}

/// A load that is made, not read (`synthetic:NAME`).
fn is_synthetic(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|path| path.starts_with("synthetic:"))
}

fn is_parquet(path: &Path) -> Outcome<bool> {
    use std::io::Read as _;
    let mut magic = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(4).read_to_end(&mut magic))
        .map_err(|error| cannot_read(path, &error))?;
    Ok(magic == b"PAR1")
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure::say(format!("cannot read {}: {error}", path.display()))
}

fn of_trace(arguments: &ExportArguments, path: &Path) -> Outcome<Given> {
    let known = match &arguments.profile {
        Some(profile) => {
            let text = fs::read_to_string(profile).map_err(|error| cannot_read(profile, &error))?;
            LifetimeProfile::parse(&text)
                .map_err(|error| Failure::say(format!("{}: {error}", profile.display())))?
        }
        None => LifetimeProfile::default(),
    };
    with_drive(arguments, path, known)
}

fn with_drive(arguments: &ExportArguments, path: &Path, known: LifetimeProfile) -> Outcome<Given> {
    let (source, tables) = native(path)?;
    let origin = Origin::of(&tables.capture, &arguments.drive)?;
    let one = "advice is for one drive: give one value to each option of it";
    let (drive, _) = one_drive(&arguments.drive, &origin, one)?;
    let scheme = scheme(arguments.scheme.as_deref().unwrap_or(SCHEME))?;
    Ok(Given::Plan(Box::new(Plan {
        source,
        tables,
        drive: drive.config,
        scheme,
        known,
    })))
}

fn native(path: &Path) -> Outcome<(TraceFile, Tables)> {
    let source = source::open(path, None, false)?;
    match source.tables.clone() {
        Some(tables) => Ok((source, tables)),
        None => Err(Failure::say(format!(
            "{} holds page numbers alone: import it first",
            path.display()
        ))),
    }
}

fn scheme(text: &str) -> Outcome<SchemeSpec> {
    let spec = SchemeSpec::read(text, &read_text).map_err(Failure::usage)?;
    if spec.needs_future() {
        return Err(Failure::say(format!(
            "{} knows the future; there is no advice in it",
            spec.name()
        )));
    }
    Ok(spec)
}

/// The trace, the drive and the best scheme of a result.
fn of_result(arguments: &ExportArguments, result: &Comparison) -> Outcome<Given> {
    let path = &arguments.source;
    let lacks = |what: &str| Failure::say(format!("{}: {what}", path.display()));
    if result.config.contains_key("fill") || result.config.contains_key("drive_file") {
        return Err(lacks(
            "its addresses were renumbered (--fill) or its drive was an old one (--drive): what is \
             exported must hold for the trace as it is",
        ));
    }
    let named = result.config.get("trace").and_then(|trace| trace.as_str());
    let trace = arguments.trace.clone().or_else(|| named.map(PathBuf::from));
    let trace = trace.ok_or_else(|| lacks("it names no trace: give it with --trace"))?;
    if !is_synthetic(&trace) && !trace.exists() {
        return Err(lacks(&format!(
            "its trace {} is not there: give it with --trace",
            trace.display()
        )));
    }
    let drive = result.config.get("drive").cloned().unwrap_or_default();
    let drive: Config = serde_json::from_value(drive)
        .map_err(|error| lacks(&format!("it does not tell its drive: {error}")))?;
    let scheme = match &arguments.scheme {
        Some(named) => scheme(named)?,
        None => best(result).ok_or_else(|| lacks("it holds no scheme that can be exported"))?,
    };
    let (source, tables) = native(&trace)?;
    Ok(Given::Plan(Box::new(Plan {
        source,
        tables,
        drive,
        scheme,
        known: LifetimeProfile::default(),
    })))
}

/// Of the schemes that know no future the one that wrote least to the flash, as it was set.
fn best(result: &Comparison) -> Option<SchemeSpec> {
    let mut schemes: Vec<_> = result.schemes.iter().collect();
    schemes.sort_by_key(|scheme| scheme.media_bytes);
    schemes.into_iter().find_map(|found| {
        let parameters: Vec<String> = found
            .parameters
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let text = match parameters.as_slice() {
            [] => found.name.clone(),
            some => format!("{}:{}", found.name, some.join(",")),
        };
        scheme(&text).or_else(|_| scheme(&found.name)).ok()
    })
}
