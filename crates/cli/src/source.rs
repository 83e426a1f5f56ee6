//! Where a replay's requests come from.

use std::path::{Path, PathBuf};

use anabranch_trace::{Io, RawReader, Reader, Tables};

use crate::{arguments::Format, failure::Outcome};

/// Bytes of writes after which `--quick` ends (our choice).
const QUICK_BYTES: u64 = 1 << 30;
/// Requests of a raw trace handed on at a time (our choice).
const RAW_BATCH: usize = 8192;

/// A trace file, opened anew for each pass over it.
#[derive(Debug, Clone)]
pub struct Source {
    pub path: PathBuf,
    pub format: Format,
    pub quick: bool,
    /// The tables of a native trace; a raw one has none.
    pub tables: Option<Tables>,
}

impl Source {
    /// A trace in the form asked for, or the one its name suggests.
    pub fn new(path: &Path, format: Option<Format>, quick: bool) -> Outcome<Source> {
        let raw = path.extension().is_some_and(|extension| extension == "u32");
        let format = format.unwrap_or(if raw { Format::U32 } else { Format::Native });
        let tables = match format {
            Format::Native => Some(Reader::open(path)?.tables().clone()),
            Format::U32 => None,
        };
        Ok(Source {
            path: path.to_owned(),
            format,
            quick,
            tables,
        })
    }

    /// Hands every batch of requests to `sink`, with the share of the trace that is then done.
    pub fn each_batch(&self, mut sink: impl FnMut(&[Io], f64) -> Outcome) -> Outcome {
        let mut left = if self.quick { QUICK_BYTES } else { u64::MAX };
        let mut done = 0_u64;
        let mut trace = Open::new(self)?;
        let total = trace.records().unwrap_or(0).max(1) as f64;
        let mut ios = Vec::new();
        while left > 0 && trace.read_batch(&mut ios)? {
            let kept = ios.iter().take_while(|io| take(io, &mut left)).count();
            done += kept as u64;
            sink(&ios[..kept], done as f64 / total)?;
        }
        Ok(())
    }
}

/// A trace while it is read.
enum Open {
    Native(Box<Reader>),
    Raw(RawReader),
}

impl Open {
    fn new(source: &Source) -> Outcome<Open> {
        Ok(match source.format {
            Format::Native => Open::Native(Box::new(Reader::open(&source.path)?)),
            Format::U32 => Open::Raw(RawReader::open(&source.path)?),
        })
    }

    /// How many records it has; a pipe does not tell.
    fn records(&self) -> Option<u64> {
        match self {
            Open::Native(reader) => Some(reader.rows()),
            Open::Raw(reader) => reader.pages(),
        }
    }

    /// The next records in place of those before; false when there are no more.
    fn read_batch(&mut self, ios: &mut Vec<Io>) -> Outcome<bool> {
        match self {
            Open::Native(reader) => Ok(reader.read_batch(ios)?),
            Open::Raw(reader) => {
                ios.clear();
                for io in reader.by_ref().take(RAW_BATCH) {
                    ios.push(io?);
                }
                Ok(!ios.is_empty())
            }
        }
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
