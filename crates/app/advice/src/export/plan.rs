//! The plan of an export: a trace, a drive and a scheme.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anabranch_compare::{
    CompareError, Numbers, ReplayOptions, Requests, Result, TraceFile, Watch, learn, one_cell,
    read_text, small_file,
};
use anabranch_placement::{KnownLifetimes, Names, SchemeSpec};
use anabranch_replay::{Comparison, Lane, Start, Verdict};
use anabranch_ssd::Config;
use anabranch_trace::{Io, Operation, Tables};

use crate::ExportOptions;

/// The scheme that is exported unless another is named.
const SCHEME: &str = "pcstream";

/// The source that advice is made from.
pub enum Source {
    /// A file whose first bytes tell its kind: a trace, a result of a comparison, or lifetimes of contexts.
    File(PathBuf),
    /// A trace that is open already.
    Trace(Box<dyn Requests>),
}

/// The content of a source.
pub enum Given {
    /// Lifetimes of contexts, without writes.
    Lifetimes(KnownLifetimes),
    /// A trace with its drive and scheme.
    Plan(Box<Plan>),
}

/// Writes, a drive for them, and the scheme whose placement is exported.
pub struct Plan {
    pub source: Box<dyn Requests>,
    pub tables: Tables,
    pub drive: Config,
    pub scheme: SchemeSpec,
    pub known: KnownLifetimes,
    /// The mapping from addresses of the trace to addresses of the drive, where the drive was sized for the pages ever written.
    pub numbers: Option<Arc<Numbers>>,
    /// Requests until half the bytes are written. Advice is made from these, and priced on the others.
    pub first_half: usize,
}

/// Requests between two places at which a trace may be halved (our choice: 64 KiB of them for 2^24 requests).
const EACH: usize = 4096;

/// The half of the writes that a batch belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    First,
    Second,
}

impl Plan {
    /// Finds where the first half of the writes ends.
    fn halve(&mut self, watch: &mut dyn Watch) -> Result {
        self.first_half = usize::MAX;
        let (mut all, mut requests) = (0, 0);
        // Where every 4096th request ends: half is found to that many.
        let mut marks: Vec<(u64, usize)> = Vec::new();
        self.each_batch("halves: ", watch, &mut |ios, _| {
            for io in ios {
                requests += 1;
                if io.operation == Operation::Write {
                    all += io.length_bytes;
                }
                if requests % EACH == 0 {
                    marks.push((all, requests));
                }
            }
            Ok(())
        })?;
        let before = marks.iter().rfind(|(written, _)| *written <= all / 2);
        // A trace of so few requests is halved by their number.
        self.first_half = before.map_or(requests / 2, |(_, requests)| *requests);
        Ok(())
    }

    /// Passes every batch of requests at the drive's addresses to `sink`, with its half.
    pub fn each_batch(
        &self,
        what: &str,
        watch: &mut dyn Watch,
        sink: &mut dyn FnMut(&[Io], Half) -> Result,
    ) -> Result {
        // A pass begins with what was learned.
        let mut numbers = self.numbers.as_deref().cloned();
        let mut left = self.first_half;
        let mut halved = |ios: &[Io]| {
            let (first, second) = ios.split_at(left.min(ios.len()));
            left -= first.len();
            let mut some = |ios: &[Io], half| {
                if ios.is_empty() {
                    Ok(())
                } else {
                    sink(ios, half)
                }
            };
            some(first, Half::First)?;
            some(second, Half::Second)
        };
        watch.begin(what);
        self.source.each_batch(&mut |ios, share| {
            watch.done(share)?;
            match &mut numbers {
                Some(numbers) => halved(&renumbered(numbers, ios)),
                None => halved(ios),
            }
        })?;
        watch.end();
        Ok(())
    }

    /// Requests of the trace converted to the drive's addresses.
    pub fn at_the_drive(&self, ios: Vec<Io>) -> Vec<Io> {
        match self.numbers.as_deref().cloned() {
            Some(mut numbers) => renumbered(&mut numbers, &ios),
            None => ios,
        }
    }

    /// The trace's address for one of the drive's, in bytes: advice must be for the trace's own addresses.
    pub fn original_bytes(&self, bytes: u64) -> u64 {
        let numbers = self.numbers.as_ref();
        let original = numbers.and_then(|numbers| numbers.original_bytes(bytes));
        original.unwrap_or(bytes)
    }

    /// A lane of the scheme, with the lifetimes it knew before.
    pub fn lane(&self, spec: &SchemeSpec) -> Result<Lane> {
        let mut lane =
            Lane::build(spec, &self.drive, &Start::default()).map_err(CompareError::usage)?;
        lane.restore_lifetimes(&self.known);
        lane.learn(&Names::of(&self.tables));
        Ok(lane)
    }
}

fn renumbered(numbers: &mut Numbers, ios: &[Io]) -> Vec<Io> {
    let mut pieces = Vec::with_capacity(ios.len());
    for io in ios {
        numbers.apply(io, |piece| pieces.push(piece));
    }
    pieces
}

/// Reads the source, whose first bytes tell its kind.
pub fn given(source: Source, options: &ExportOptions, watch: &mut dyn Watch) -> Result<Given> {
    let path = match source {
        Source::Trace(trace) => return of_trace(options, with_tables(trace)?, watch),
        Source::File(path) => path,
    };
    let path = path.as_path();
    if is_synthetic(path) || is_parquet(path)? {
        return of_trace(options, native(path)?, watch);
    }
    let text = small_file::results(path).map_err(|error| cannot_read(path, &error))?;
    if let Ok(result) = serde_json::from_str::<Comparison>(&text) {
        return of_result(options, path, &result, watch);
    }
    if text.contains("\"anabranch_lifetimes\"") {
        let profile = KnownLifetimes::parse(&text);
        let profile = profile
            .map_err(|error| CompareError::wrong_use(format!("{}: {error}", path.display())))?;
        return match &options.trace {
            Some(trace) => with_drive(options, native(trace)?, profile, watch),
            None => Ok(Given::Lifetimes(profile)),
        };
    }
    let several = text.contains("\"results\"");
    Err(CompareError::wrong_use(if several {
        format!(
            "{} holds several results: export one, of a replay on one drive",
            path.display()
        )
    } else {
        format!(
            "{} is neither a trace (Parquet) nor a result or lifetimes of contexts (JSON)",
            path.display()
        )
    }))
}

/// Whether a path names a synthetic load (`synthetic:NAME`).
fn is_synthetic(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|path| path.starts_with("synthetic:"))
}

fn is_parquet(path: &Path) -> Result<bool> {
    use std::io::Read as _;
    let mut magic = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(4).read_to_end(&mut magic))
        .map_err(|error| cannot_read(path, &error))?;
    Ok(magic == b"PAR1")
}

fn cannot_read(path: &Path, error: &std::io::Error) -> CompareError {
    CompareError::wrong_use(format!("cannot read {}: {error}", path.display()))
}

fn of_trace(options: &ExportOptions, trace: Trace, watch: &mut dyn Watch) -> Result<Given> {
    let known = match &options.lifetimes {
        Some(profile) => {
            let text =
                small_file::settings(profile).map_err(|error| cannot_read(profile, &error))?;
            KnownLifetimes::parse(&text).map_err(|error| {
                CompareError::wrong_use(format!("{}: {error}", profile.display()))
            })?
        }
        None => KnownLifetimes::default(),
    };
    with_drive(options, trace, known, watch)
}

fn with_drive(
    options: &ExportOptions,
    trace: Trace,
    known: KnownLifetimes,
    watch: &mut dyn Watch,
) -> Result<Given> {
    let (source, tables) = trace;
    if let Some(sampled) = tables.capture.sampled {
        return Err(CompareError::wrong_use(format!(
            "the trace was recorded with --sample {}, and advice is checked on all writes: record without it",
            sampled.rate
        )));
    }
    let one = "advice is for one drive: give one value to each option of it";
    let replay = ReplayOptions {
        drive: options.drive.clone(),
        fill: options.fill.iter().cloned().collect(),
        ..ReplayOptions::default()
    };
    let cell = one_cell(&replay, source.as_ref(), one, watch)?;
    let scheme = scheme(options.scheme.as_deref().unwrap_or(SCHEME))?;
    let scheme = with_relocation(scheme, options)?;
    let plan = Plan {
        source,
        tables,
        drive: cell.drive.config,
        scheme,
        known,
        numbers: cell.filled.map(|filled| filled.numbers),
        first_half: 0,
    };
    halved(plan, watch)
}

/// A trace with its tables.
type Trace = (Box<dyn Requests>, Tables);

fn native(path: &Path) -> Result<Trace> {
    with_tables(Box::new(TraceFile::open(path, None, false)?))
}

fn with_tables(source: Box<dyn Requests>) -> Result<Trace> {
    match source.tables().cloned() {
        Some(tables) => Ok((source, tables)),
        None => Err(CompareError::wrong_use(format!(
            "{} holds page numbers alone: import it first",
            source.name()
        ))),
    }
}

/// Gives a scheme the device half that was asked for, if one was.
fn with_relocation(spec: SchemeSpec, options: &ExportOptions) -> Result<SchemeSpec> {
    let Some(name) = &options.relocation else {
        return Ok(spec);
    };
    let kind = name.parse().map_err(CompareError::usage)?;
    Ok(spec.with_relocation(kind))
}

fn scheme(text: &str) -> Result<SchemeSpec> {
    let spec = SchemeSpec::read(text, &read_text).map_err(CompareError::usage)?;
    if spec.needs_future() {
        return Err(CompareError::wrong_use(format!(
            "{} knows the future; there is no advice in it",
            spec.name()
        )));
    }
    Ok(spec)
}

/// The plan for a result: its trace, its drive and its best scheme.
fn of_result(
    options: &ExportOptions,
    path: &Path,
    result: &Comparison,
    watch: &mut dyn Watch,
) -> Result<Given> {
    let lacks = |what: &str| CompareError::wrong_use(format!("{}: {what}", path.display()));
    if options.fill.is_some() {
        return Err(lacks(
            "a result has a drive of its own: leave out --fill, or export its trace",
        ));
    }
    let is_set = |key: &str| result.config.get(key).is_some_and(|set| *set == true);
    if is_set("pack") || result.config.contains_key("drive_file") {
        return Err(lacks(
            "its addresses were handed out anew (--pack) or its drive was an old one (--drive): what \
             is exported must hold for the trace as it is; replay it without, or export the trace",
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
    let scheme = with_relocation(scheme, options)?;
    let (source, tables) = native(&trace)?;
    let numbers = if result.config.contains_key("fill") {
        Some(learn(source.as_ref(), drive.page_bytes, false, watch)?.numbers)
    } else {
        None
    };
    let plan = Plan {
        source,
        tables,
        drive,
        scheme,
        known: KnownLifetimes::default(),
        numbers,
        first_half: 0,
    };
    halved(plan, watch)
}

fn halved(mut plan: Plan, watch: &mut dyn Watch) -> Result<Given> {
    plan.halve(watch)?;
    Ok(Given::Plan(Box::new(plan)))
}

/// The scheme of a result that its verdict recommends, with its settings; where that knows the future, the one of the
/// others that wrote least to the flash.
fn best(result: &Comparison) -> Option<SchemeSpec> {
    let recommended = match &result.verdict {
        Some(verdict) => verdict.best.clone(),
        None => Verdict::of(result).best,
    };
    let mut schemes: Vec<_> = result.schemes.iter().collect();
    // The verdict refuses schemes that the least bytes alone would choose: hints that the kernel did not pass on.
    schemes.sort_by_key(|scheme| {
        let is_other = recommended.as_ref() != Some(&scheme.name);
        (is_other, scheme.media_bytes)
    });
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
