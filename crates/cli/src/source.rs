//! Where a replay's requests come from.

use std::path::{Path, PathBuf};

use anabranch_replay::synthetic::{Requests, Synthetic};
use anabranch_trace::{
    Io, RawReader, Reader, Tables,
    foreign::{Importer, Input, Options},
};

use crate::{
    failure::{Failure, Outcome},
    formats::{Foreign, Format},
    import,
};

/// Bytes of writes after which `--quick` ends (our choice).
const QUICK_BYTES: u64 = 1 << 30;
/// Requests of a raw trace or a synthetic load handed on at a time (our choice).
const BATCH: usize = 8192;
/// What a synthetic load's name follows.
const SYNTHETIC: &str = "synthetic:";

/// A trace file, opened anew for each pass over it, or a synthetic load, made anew.
#[derive(Debug, Clone)]
pub struct Source {
    pub path: PathBuf,
    pub format: Format,
    pub quick: bool,
    /// The tables of a native trace or a synthetic load; others have none.
    pub tables: Option<Tables>,
    synthetic: Option<Synthetic>,
}

impl Source {
    /// A trace in the form asked for, or the one its name suggests.
    pub fn new(path: &Path, format: Option<Format>, quick: bool) -> Outcome<Source> {
        if let Some(load) = path.to_str().and_then(|path| path.strip_prefix(SYNTHETIC)) {
            let synthetic = Synthetic::parse(load).map_err(Failure::usage)?;
            return Ok(Source {
                path: path.to_owned(),
                format: Format::Native,
                quick,
                tables: Some(synthetic.tables()),
                synthetic: Some(synthetic),
            });
        }
        let raw = path.extension().is_some_and(|extension| extension == "u32");
        let format = format.unwrap_or(if raw { Format::U32 } else { Format::Native });
        let tables = match format {
            Format::Native => Some(Reader::open(path)?.tables().clone()),
            Format::U32 | Format::Foreign(_) => None,
        };
        // Guessed once, not for each pass.
        let format = match format {
            Format::Foreign(asked) => {
                let found = import::format(asked, &mut [Input::open(path)?])?;
                Format::Foreign(Foreign::Named(found))
            }
            own => own,
        };
        Ok(Source {
            path: path.to_owned(),
            format,
            quick,
            tables,
            synthetic: None,
        })
    }

    /// Refuses what can be read once only.
    pub fn check_twice(&self) -> Outcome {
        match std::fs::metadata(&self.path) {
            Ok(found) if !found.is_file() => Err(Failure::say(format!(
                "{} can be read once only, but --fill and schemes that know the future read a \
                 trace twice: save it to a file first",
                self.path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Hands every batch of requests to `sink`, with the share of the trace that is then done.
    pub fn each_batch(&self, mut sink: impl FnMut(&[Io], f64) -> Outcome) -> Outcome {
        let mut left = if self.quick { QUICK_BYTES } else { u64::MAX };
        let mut done = 0_u64;
        let mut trace = Open::new(self)?;
        let mut ios = Vec::new();
        while left > 0 && trace.read_batch(&mut ios)? {
            let kept = ios.iter().take_while(|io| take(io, &mut left)).count();
            done += kept as u64;
            let last_ns = ios.last().map_or(0, |io| io.time_ns);
            sink(&ios[..kept], trace.share(done, last_ns))?;
        }
        Ok(())
    }
}

/// A trace while it is read.
enum Open {
    Native(Box<Reader>),
    Raw(RawReader),
    Foreign(Box<ForeignTrace>),
    Synthetic {
        requests: Requests,
        write_bytes: u64,
    },
}

/// A foreign trace while it is read, which may have one volume.
struct ForeignTrace {
    importer: Importer,
    path: PathBuf,
    file_bytes: u64,
    volume: Option<u32>,
}

impl Open {
    fn new(source: &Source) -> Outcome<Open> {
        if let Some(synthetic) = &source.synthetic {
            return Ok(Open::Synthetic {
                requests: synthetic.requests(),
                write_bytes: synthetic.plan().write_bytes,
            });
        }
        Ok(match source.format {
            Format::Native => Open::Native(Box::new(Reader::open(&source.path)?)),
            Format::U32 => Open::Raw(RawReader::open(&source.path)?),
            Format::Foreign(asked) => Open::Foreign(Box::new(ForeignTrace::new(source, asked)?)),
        })
    }

    /// The share of the trace that this many records are, the last of which came at `last_ns`; 0
    /// where that is not known.
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

    /// The next records in place of those before; false when there are no more.
    fn read_batch(&mut self, ios: &mut Vec<Io>) -> Outcome<bool> {
        match self {
            Open::Foreign(trace) => trace.read_batch(ios),
            Open::Native(reader) => Ok(reader.read_batch(ios)?),
            Open::Raw(reader) => {
                ios.clear();
                for io in reader.by_ref().take(BATCH) {
                    ios.push(io?);
                }
                Ok(!ios.is_empty())
            }
            Open::Synthetic { requests, .. } => {
                ios.clear();
                ios.extend(requests.by_ref().take(BATCH));
                Ok(!ios.is_empty())
            }
        }
    }
}

impl ForeignTrace {
    fn new(source: &Source, asked: Foreign) -> Outcome<ForeignTrace> {
        let mut input = Input::open(&source.path)?;
        let format = match asked {
            Foreign::Named(format) => format,
            Foreign::Auto => input.sniff()?,
        };
        Ok(ForeignTrace {
            importer: Importer::new(vec![input], format, &Options::default())?,
            path: source.path.clone(),
            file_bytes: std::fs::metadata(&source.path).map_or(0, |metadata| metadata.len()),
            volume: None,
        })
    }

    fn share(&self) -> f64 {
        self.importer.packed_bytes() as f64 / self.file_bytes.max(1) as f64
    }

    fn read_batch(&mut self, ios: &mut Vec<Io>) -> Outcome<bool> {
        let any = self.importer.read_batch(ios)?;
        for io in ios {
            if *self.volume.get_or_insert(io.tenant) != io.tenant {
                return Err(Failure::say(format!(
                    "{} has several volumes, whose addresses would overlap on one drive: import \
                     one of them (`anabranch import --volume`), or lay them side by side \
                     (`--renumber`), and replay that",
                    self.path.display()
                )));
            }
        }
        Ok(any)
    }
}

/// Whether a request still belongs to what is left of a quick look.
fn take(io: &Io, left: &mut u64) -> bool {
    if *left == 0 {
        return false;
    }
    if io.operation == anabranch_trace::Operation::Write && *left != u64::MAX {
        *left = left.saturating_sub(io.length_bytes);
    }
    true
}
