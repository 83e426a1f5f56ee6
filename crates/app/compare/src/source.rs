//! Sources of a replay's requests.

use std::{
    cmp::Ordering,
    io::Read as _,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, OnceLock},
};

use anabranch_replay::{
    Source,
    synthetic::{LoadRequests, Synthetic},
};
use anabranch_trace::{
    Io, RawReader, Reader, Sample, Tables,
    foreign::{self, Importer, Input, Options},
};

use crate::error::{CompareError, Result};

/// Bytes of writes after which a quick replay ends (our choice).
const QUICK_BYTES: u64 = 1 << 30;
/// Requests of a synthetic load that are passed on at a time (our choice).
const BATCH: usize = 8192;
/// The prefix of a synthetic load's name.
pub(crate) const SYNTHETIC: &str = "synthetic:";

/// Called with each batch of requests, and the share of the trace that is done with it, 0 to 1.
pub type Sink<'a> = dyn FnMut(&[Io], f64) -> Result + 'a;

/// A source that can be replayed, once or repeatedly.
pub trait Requests {
    /// The name of the source in results and messages.
    fn name(&self) -> String;

    /// The tables of contexts and files, if the source has them.
    fn tables(&self) -> Option<&Tables>;

    /// Whether only the first GiB of writes is passed on.
    fn is_quick(&self) -> bool {
        false
    }

    /// Sentences on the trace that a pass over it found, which a user of it must know.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Events that the trace reports as lost; of a foreign trace once a pass over it is done.
    fn lost_events(&self) -> u64 {
        self.tables().map_or(0, |tables| tables.capture.lost_events)
    }

    /// Refuses a source that can be read only once.
    ///
    /// # Errors
    /// When the source can be read only once.
    fn check_twice(&self) -> Result {
        Ok(())
    }

    /// Passes every batch of requests to `sink`, in order.
    ///
    /// # Errors
    /// When the requests cannot be read, or when `sink` fails.
    fn each_batch(&self, sink: &mut Sink<'_>) -> Result;

    /// Hands on what some samples keep something of, where the source can make that without the rest, else everything.
    /// Answers what the whole asks for, where some of it was left out.
    ///
    /// # Errors
    /// Those of [`Requests::each_batch`].
    fn each_kept_batch(&self, samples: &[Sample], sink: &mut Sink<'_>) -> Result<Option<Source>> {
        let _ = samples;
        self.each_batch(sink).map(|()| None)
    }
}

/// The form of a trace. A CSV is not among them: it has to be imported, with its columns named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anabranch's own Parquet.
    Native,
    /// Raw little-endian u32 page numbers, one 4 KiB write each.
    U32,
    /// The foreign format that the trace looks like.
    Auto,
    /// A foreign format.
    Foreign(foreign::Format),
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        match text {
            "native" => Ok(Format::Native),
            "u32" => Ok(Format::U32),
            "auto" => Ok(Format::Auto),
            _ => match foreign::Format::from_name(text) {
                Some(format) if format.needs_columns() => {
                    Err("a CSV has to be imported first".to_owned())
                }
                Some(format) => Ok(Format::Foreign(format)),
                None => {
                    let names = foreign::Format::ALL.iter().map(|format| format.name());
                    let names = names.collect::<Vec<_>>().join(", ");
                    Err(format!(
                        "no form of traces is called so (there are: native, u32, auto, {names})"
                    ))
                }
            },
        }
    }
}

/// The form that a trace looks like, by its name and its beginning.
fn by_looks(path: &Path) -> Format {
    if path.extension().is_some_and(|extension| extension == "u32") {
        return Format::U32;
    }
    let Ok(mut input) = regular(path) else {
        return Format::Native;
    };
    // A file that looks like nothing is called no trace of ours, with the remedy.
    input.sniff().map_or(Format::Native, Format::Foreign)
}

/// A regular file that is no Parquet; a pipe can be read only once.
fn regular(path: &Path) -> Result<Input> {
    let mut begin = [0; PARQUET.len()];
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let read =
        is_file.then(|| std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin)));
    match read {
        Some(Ok(())) if begin != PARQUET => Ok(Input::open(path)?),
        _ => Err(CompareError::wrong_use("no other tool's trace")),
    }
}

/// The first bytes of a Parquet file.
const PARQUET: [u8; 4] = *b"PAR1";

/// A trace file that is opened again for each pass over it, or a synthetic load that is made again.
#[derive(Debug, Clone)]
pub struct TraceFile {
    /// The trace's path.
    pub path: PathBuf,
    /// The name in results: the path, unless the file is a copy of a trace elsewhere.
    pub name: String,
    /// The trace's form, which is never [`Format::Auto`].
    pub format: Format,
    /// Whether only the first GiB of writes counts.
    pub quick: bool,
    /// The tables of a native trace or a synthetic load; others have none.
    pub tables: Option<Tables>,
    /// Whether records are compared with a digest as they are read; `true` of forms that have none.
    has_digest: bool,
    synthetic: Option<Synthetic>,
    /// The doubts and losses that the first pass over a foreign trace found.
    found: Arc<OnceLock<Found>>,
}

/// Doubts and losses of a foreign trace.
#[derive(Debug, Default)]
struct Found {
    remarks: Vec<String>,
    lost_events: u64,
}

/// Bytes of the longest SHA256SUMS that is read (our choice).
const MOST_SUMS_BYTES: u64 = 1 << 20;

/// Whether a file is listed in a SHA256SUMS of its folder or of the one above.
fn is_listed(path: &Path) -> bool {
    path.ancestors().skip(1).take(2).any(|folder| {
        let mut sums = String::new();
        let file = std::fs::File::open(folder.join("SHA256SUMS"));
        let read = file.and_then(|file| file.take(MOST_SUMS_BYTES).read_to_string(&mut sums));
        let name = path.strip_prefix(folder).ok().and_then(Path::to_str);
        read.is_ok()
            && name.is_some_and(|name| {
                let mut names = sums.lines().filter_map(|line| line.split_once("  "));
                names.any(|(_, listed)| listed == name)
            })
    })
}

impl TraceFile {
    /// Opens a trace in the form asked for, or the one that it looks like.
    ///
    /// # Errors
    /// When the trace cannot be opened, or is of another form.
    pub fn open(path: &Path, format: Option<Format>, quick: bool) -> Result<TraceFile> {
        if let Some(load) = path.to_str().and_then(|path| path.strip_prefix(SYNTHETIC)) {
            let synthetic = Synthetic::parse(load).map_err(CompareError::usage)?;
            return Ok(TraceFile {
                path: path.to_owned(),
                name: path.display().to_string(),
                format: Format::Native,
                quick,
                tables: Some(synthetic.tables()),
                has_digest: true,
                synthetic: Some(synthetic),
                found: Arc::default(),
            });
        }
        let format = format.unwrap_or_else(|| by_looks(path));
        let mut has_digest = true;
        let tables = match format {
            Format::Native => {
                let reader = Reader::open(path)?;
                has_digest = reader.has_digest();
                Some(reader.tables().clone())
            }
            _ => None,
        };
        // Guessed once, not for each pass.
        let format = match format {
            Format::Auto => Format::Foreign(Input::open(path)?.sniff()?),
            known => known,
        };
        Ok(TraceFile {
            path: path.to_owned(),
            name: path.display().to_string(),
            format,
            quick,
            tables,
            has_digest,
            synthetic: None,
            found: Arc::default(),
        })
    }

    /// Whether the trace was imported with volumes, each with addresses of its own.
    fn has_volumes(&self) -> bool {
        let capture = self.tables.as_ref().map(|tables| &tables.capture);
        capture.is_some_and(|capture| capture.is_imported() && capture.device_bytes == 0)
    }

    /// A sentence where a native trace holds no digest and no SHA256SUMS beside or above it lists one.
    pub fn without_digest(&self) -> Option<String> {
        (!self.has_digest && !is_listed(&self.path)).then(|| {
            format!(
                "{} has no digest: bits that flipped in it would change figures unnoticed",
                self.name
            )
        })
    }

    /// A sentence where a synthetic load has written less than it was asked for, which the figures do not show.
    pub fn short_of(&self, write_bytes: u64) -> Option<String> {
        let asked_bytes = self.synthetic.as_ref()?.write_bytes();
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        (write_bytes < asked_bytes && !self.quick).then(|| {
            format!(
                "{} ended after {:.2} of the {:.2} GiB asked for, when its store could do nothing more: figures are of these alone \
                 (give it a larger size, or ask for less)",
                self.name,
                gib(write_bytes),
                gib(asked_bytes)
            )
        })
    }

    /// Refuses a trace that can be read only once.
    ///
    /// # Errors
    /// When the trace is not a regular file.
    pub fn check_twice(&self) -> Result {
        match std::fs::metadata(&self.path) {
            Ok(found) if !found.is_file() => Err(CompareError::wrong_use(format!(
                "{} can be read once only, but --fill and schemes that know the future read a \
                 trace twice: save it to a file first",
                self.path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Passes every batch of requests to `sink`, with the share of the trace that is done with it.
    ///
    /// # Errors
    /// When the trace cannot be read, or when `sink` fails.
    pub fn each_batch<E: From<CompareError>>(
        &self,
        mut sink: impl FnMut(&[Io], f64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut left = if self.quick { QUICK_BYTES } else { u64::MAX };
        let mut done = 0_u64;
        let mut trace = Open::new(self)?;
        let mut ios = Vec::new();
        let mut volume = None;
        while left > 0 && trace.read_batch(&mut ios)? {
            if self.has_volumes() {
                for tenant in ios.iter().map(|io| io.tenant) {
                    let first = *volume.get_or_insert(tenant);
                    if first != tenant {
                        return Err(overlap(&self.name, &[], [first, tenant]).into());
                    }
                }
            }
            let kept = ios.iter().take_while(|io| take(io, &mut left)).count();
            done += kept as u64;
            let last_ns = ios.last().map_or(0, |io| io.time_ns);
            sink(&ios[..kept], trace.share(done, last_ns))?;
        }
        match &mut trace {
            // A quick look has not come to the end, where the last of it would be checked.
            Open::Native(reader) => reader.check_so_far().map_err(CompareError::from)?,
            Open::Foreign(trace) => {
                let found = || Found {
                    remarks: trace.importer.remarks(),
                    lost_events: trace.importer.lost_events(),
                };
                self.found.get_or_init(found);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Requests for TraceFile {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn tables(&self) -> Option<&Tables> {
        self.tables.as_ref()
    }

    fn is_quick(&self) -> bool {
        self.quick
    }

    fn remarks(&self) -> Vec<String> {
        let found = self.found.get();
        found.map_or_else(Vec::new, |found| found.remarks.clone())
    }

    fn lost_events(&self) -> u64 {
        let known = self
            .tables
            .as_ref()
            .map(|tables| tables.capture.lost_events);
        let found = self.found.get().map(|found| found.lost_events);
        known.or(found).unwrap_or(0)
    }

    fn check_twice(&self) -> Result {
        TraceFile::check_twice(self)
    }

    fn each_batch(&self, sink: &mut Sink<'_>) -> Result {
        TraceFile::each_batch(self, sink)
    }

    fn each_kept_batch(&self, samples: &[Sample], sink: &mut Sink<'_>) -> Result<Option<Source>> {
        let load = self.synthetic.as_ref().filter(|_| !self.quick);
        let Some((load, kept)) = load.and_then(|load| Some((load, load.kept(samples)?))) else {
            TraceFile::each_batch(self, sink)?;
            return Ok(None);
        };
        let whole = kept.whole();
        let mut open = Open::Synthetic {
            requests: Box::new(kept),
            write_bytes: load.write_bytes(),
        };
        let mut ios = Vec::new();
        while open.read_batch(&mut ios)? {
            let last_ns = ios.last().map_or(0, |io| io.time_ns);
            sink(&ios, open.share(0, last_ns))?;
        }
        Ok(Some(whole))
    }
}

/// A trace being read.
enum Open {
    Native(Box<Reader>),
    Raw(RawReader),
    Foreign(Box<ForeignTrace>),
    Synthetic {
        requests: LoadRequests,
        write_bytes: u64,
    },
}

/// A foreign trace being read, which must not have more than one volume.
struct ForeignTrace {
    importer: Importer,
    path: PathBuf,
    file_bytes: u64,
    volume: Option<u32>,
}

impl Open {
    fn new(source: &TraceFile) -> Result<Open> {
        if let Some(synthetic) = &source.synthetic {
            return Ok(Open::Synthetic {
                requests: synthetic.requests(),
                write_bytes: synthetic.write_bytes(),
            });
        }
        let path = &source.path;
        Ok(match source.format {
            Format::Native => Open::Native(Box::new(Reader::open(path)?)),
            Format::U32 => Open::Raw(RawReader::open(path)?),
            Format::Auto => Open::Foreign(Box::new(ForeignTrace::new(path, None)?)),
            Format::Foreign(named) => {
                Open::Foreign(Box::new(ForeignTrace::new(path, Some(named))?))
            }
        })
    }

    /// The share of the trace that `records` records are, the last of which came at `last_ns`; 0 where that is not
    /// known.
    fn share(&self, records: u64, last_ns: u64) -> f64 {
        let of = |all: Option<u64>| all.map_or(0.0, |all| records as f64 / all.max(1) as f64);
        match self {
            Open::Native(reader) => of(Some(reader.rows())),
            Open::Raw(reader) => of(reader.pages()),
            Open::Foreign(trace) => trace.share(),
            Open::Synthetic { write_bytes, .. } => {
                Synthetic::written_by(last_ns) as f64 / (*write_bytes).max(1) as f64
            }
        }
    }

    /// Reads the next records in place of those before. Answers `false` when there are no more.
    fn read_batch(&mut self, ios: &mut Vec<Io>) -> Result<bool> {
        match self {
            Open::Foreign(trace) => trace.read_batch(ios),
            Open::Native(reader) => Ok(reader.read_batch(ios)?),
            Open::Raw(reader) => Ok(reader.read_batch(ios)?),
            Open::Synthetic { requests, .. } => {
                ios.clear();
                ios.extend(requests.by_ref().take(BATCH));
                Ok(!ios.is_empty())
            }
        }
    }
}

impl ForeignTrace {
    fn new(path: &Path, named: Option<foreign::Format>) -> Result<ForeignTrace> {
        let mut input = Input::open(path)?;
        let format = match named {
            Some(format) => format,
            None => input.sniff()?,
        };
        Ok(ForeignTrace {
            importer: Importer::new(vec![input], format, &Options::default())?,
            path: path.to_owned(),
            file_bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            volume: None,
        })
    }

    fn share(&self) -> f64 {
        self.importer.packed_bytes() as f64 / self.file_bytes.max(1) as f64
    }

    fn read_batch(&mut self, ios: &mut Vec<Io>) -> Result<bool> {
        let any = self.importer.read_batch(ios)?;
        for io in ios {
            let first = *self.volume.get_or_insert(io.tenant);
            if first != io.tenant {
                let name = self.path.display().to_string();
                let numbers = [first, io.tenant];
                return Err(overlap(&name, self.importer.volumes(), numbers));
            }
        }
        Ok(any)
    }
}

/// The fault for a trace whose several volumes cannot be one drive. It gives their names or, where they have none, the
/// numbers of the first two.
pub fn overlap(name: &str, volumes: &[String], numbers: [u32; 2]) -> CompareError {
    let numbered = numbers.map(|number| number.to_string());
    let (shown, more) = match volumes {
        [] => (&numbered[..], ", …"),
        some if some.len() > 5 => (&some[..5], ", …"),
        some => (some, ""),
    };
    // A trace whose events do not show which device a namespace is has two names for one drive.
    let is_namespace = |name: &&String| name.starts_with("nvme");
    let is_device = |name: &String| name.starts_with(|c: char| c.is_ascii_digit());
    let namespace = volumes.iter().find(is_namespace);
    let one_drive = match namespace.filter(|_| volumes.iter().any(is_device)) {
        Some(namespace) => format!(
            "; if {namespace} is one of those with numbers (`lsblk -o NAME,MAJ:MIN`), take them for one drive \
             (`anabranch import --volume all`)"
        ),
        None => String::new(),
    };
    CompareError::wrong_use(format!(
        "{name} has several volumes ({}{more}), whose addresses would overlap on one drive: import one of \
         them (`anabranch import --volume {}`), or lay them side by side (`anabranch import --renumber`){one_drive}",
        shown.join(", "),
        shown[0]
    ))
}

/// Whether a quick replay still takes a request; `left` is the bytes of writes it may take.
fn take(io: &Io, left: &mut u64) -> bool {
    if *left == 0 {
        return false;
    }
    if io.operation == anabranch_trace::Operation::Write && *left != u64::MAX {
        *left = left.saturating_sub(io.length_bytes);
    }
    true
}

/// The files that a pattern names, in the order in which people count: 9 before 10.
///
/// # Errors
/// When the pattern names no file, or is not a pattern.
pub fn matching(pattern: &str) -> Result<Vec<PathBuf>> {
    let found = glob::glob(pattern).map_err(CompareError::usage)?;
    let mut paths = found
        .collect::<Result<Vec<PathBuf>, _>>()
        .map_err(CompareError::usage)?;
    if paths.is_empty() {
        return Err(CompareError::wrong_use(format!(
            "no file matches {pattern}"
        )));
    }
    paths.sort_by(|one, other| count_order(&one.to_string_lossy(), &other.to_string_lossy()));
    Ok(paths)
}

/// The order of names in which numbers within them count as numbers.
fn count_order(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    while !one.is_empty() && !other.is_empty() {
        let (first, one_rest) = split(one);
        let (second, other_rest) = split(other);
        let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        let order = if is_number(first) && is_number(second) {
            let (a, b) = (
                first.trim_start_matches('0'),
                second.trim_start_matches('0'),
            );
            a.len().cmp(&b.len()).then(a.cmp(b)).then(first.cmp(second))
        } else {
            first.cmp(second)
        };
        if order != Ordering::Equal {
            return order;
        }
        (one, other) = (one_rest, other_rest);
    }
    one.len().cmp(&other.len())
}

/// Splits off the digits, or the text up to the next digit, that a name begins with.
fn split(name: &str) -> (&str, &str) {
    let digits = name.starts_with(|c: char| c.is_ascii_digit());
    let end = name.find(|c: char| c.is_ascii_digit() != digits);
    name.split_at(end.unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = [
            "day.10", "day.9", "day.1", "day", "day.01", "b2c10", "b2c9", "b",
        ];
        names.sort_by(|one, other| count_order(one, other));
        assert_eq!(
            names,
            [
                "b", "b2c9", "b2c10", "day", "day.01", "day.1", "day.9", "day.10"
            ]
        );
    }
}
