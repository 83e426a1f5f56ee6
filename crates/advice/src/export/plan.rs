//! What advice is made from: a trace, a drive and a scheme.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anabranch_compare::{
    Fault, Origin, Outcome, Requests, TraceFile, one_drive, read_text, small_file,
};
use anabranch_placement::{LifetimeProfile, Names, SchemeSpec};
use anabranch_replay::{Lane, Outcome as Comparison, Start};
use anabranch_ssd::Config;
use anabranch_trace::Tables;

use crate::ExportOptions;

/// The scheme that is exported unless another is named.
const SCHEME: &str = "pcstream";

/// What advice is made from.
pub enum Source {
    /// A trace, a result of a comparison, or lifetimes of contexts, by its first bytes.
    File(PathBuf),
    /// A trace that is open.
    Trace(Box<dyn Requests>),
}

/// What the source turned out to be.
pub enum Given {
    /// What was learned of contexts, and no more.
    Lifetimes(LifetimeProfile),
    /// Writes to place.
    Plan(Box<Plan>),
}

/// Writes, a drive for them, and the scheme that is to be told in other words.
pub struct Plan {
    pub source: Box<dyn Requests>,
    pub tables: Tables,
    pub drive: Config,
    pub scheme: SchemeSpec,
    pub known: LifetimeProfile,
}

impl Plan {
    /// The scheme at work, with what it knew before.
    pub fn lane(&self, spec: &SchemeSpec) -> Outcome<Lane> {
        let mut lane = Lane::build(spec, &self.drive, &Start::default()).map_err(Fault::usage)?;
        lane.recall(&self.known);
        lane.learn(&Names::of(&self.tables));
        Ok(lane)
    }
}

/// Finds out what the source is, by its first bytes.
pub fn given(source: Source, options: &ExportOptions) -> Outcome<Given> {
    let path = match source {
        Source::Trace(trace) => return of_trace(options, with_tables(trace)?),
        Source::File(path) => path,
    };
    let path = path.as_path();
    if is_synthetic(path) || is_parquet(path)? {
        return of_trace(options, native(path)?);
    }
    let text = small_file::results(path).map_err(|error| cannot_read(path, &error))?;
    if let Ok(result) = serde_json::from_str::<Comparison>(&text) {
        return of_result(options, path, &result);
    }
    if text.contains("\"anabranch_lifetimes\"") {
        let profile = LifetimeProfile::parse(&text);
        let profile =
            profile.map_err(|error| Fault::say(format!("{}: {error}", path.display())))?;
        return match &options.trace {
            Some(trace) => with_drive(options, native(trace)?, profile),
            None => Ok(Given::Lifetimes(profile)),
        };
    }
    let several = text.contains("\"results\"");
    Err(Fault::say(match several {
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

fn cannot_read(path: &Path, error: &std::io::Error) -> Fault {
    Fault::say(format!("cannot read {}: {error}", path.display()))
}

fn of_trace(options: &ExportOptions, trace: Trace) -> Outcome<Given> {
    let known = match &options.profile {
        Some(profile) => {
            let text =
                small_file::settings(profile).map_err(|error| cannot_read(profile, &error))?;
            LifetimeProfile::parse(&text)
                .map_err(|error| Fault::say(format!("{}: {error}", profile.display())))?
        }
        None => LifetimeProfile::default(),
    };
    with_drive(options, trace, known)
}

fn with_drive(options: &ExportOptions, trace: Trace, known: LifetimeProfile) -> Outcome<Given> {
    let (source, tables) = trace;
    let origin = Origin::of(&tables.capture, &options.drive)?;
    let one = "advice is for one drive: give one value to each option of it";
    let (drive, _) = one_drive(&options.drive, &origin, one)?;
    let scheme = scheme(options.scheme.as_deref().unwrap_or(SCHEME))?;
    Ok(Given::Plan(Box::new(Plan {
        source,
        tables,
        drive: drive.config,
        scheme,
        known,
    })))
}

/// A trace, and the tables beside it.
type Trace = (Box<dyn Requests>, Tables);

fn native(path: &Path) -> Outcome<Trace> {
    with_tables(Box::new(TraceFile::open(path, None, false)?))
}

fn with_tables(source: Box<dyn Requests>) -> Outcome<Trace> {
    match source.tables().cloned() {
        Some(tables) => Ok((source, tables)),
        None => Err(Fault::say(format!(
            "{} holds page numbers alone: import it first",
            source.name()
        ))),
    }
}

fn scheme(text: &str) -> Outcome<SchemeSpec> {
    let spec = SchemeSpec::read(text, &read_text).map_err(Fault::usage)?;
    if spec.needs_future() {
        return Err(Fault::say(format!(
            "{} knows the future; there is no advice in it",
            spec.name()
        )));
    }
    Ok(spec)
}

/// The trace, the drive and the best scheme of a result.
fn of_result(options: &ExportOptions, path: &Path, result: &Comparison) -> Outcome<Given> {
    let lacks = |what: &str| Fault::say(format!("{}: {what}", path.display()));
    if result.config.contains_key("fill") || result.config.contains_key("drive_file") {
        return Err(lacks(
            "its addresses were renumbered (--fill) or its drive was an old one (--drive): what is \
             exported must hold for the trace as it is",
        ));
    }
    let named = result.config.get("trace").and_then(|trace| trace.as_str());
    let trace = options.trace.clone().or_else(|| named.map(PathBuf::from));
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
    let scheme = match &options.scheme {
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
