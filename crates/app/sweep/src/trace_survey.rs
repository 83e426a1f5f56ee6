//! A first look at each trace, for what a plan must know of it.

use std::{collections::BTreeMap, path::Path};

use anabranch_compare::{
    DriveOptions, Requests, Result, Size, TraceFile, TraceOrigin, Watch, learn,
};
use anabranch_trace::{Capture, Operation};
use serde::{Deserialize, Serialize};

use crate::{batch::parse_format, key::key};

/// The subject of a look at a trace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Look {
    /// The trace, as the grid names it.
    pub trace: String,
    /// The trace's length in bytes, a part of what a result depends on; 0 where it has none.
    pub trace_bytes: u64,
    /// The trace's form; `None` where it is guessed.
    pub format: Option<String>,
    /// Whether only the first GiB of writes counts.
    pub quick: bool,
    /// Whether to count the pages that held data at one time, instead of all pages ever written.
    pub pack: bool,
    /// Page sizes, in bytes, of the drives that the grid names.
    pub page_bytes: Vec<u32>,
    /// Whether to count the written pages in these sizes or, where no drive is named, in that of
    /// the trace's own drive.
    pub fills: bool,
    /// Whether to count them also where the trace does not tell the size of its device.
    pub follows: bool,
    /// Whether to count the bytes written, which decide the memory of schemes that know the future.
    pub counts_writes: bool,
}

/// The findings of a look at a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The trace, as the grid names it.
    pub trace: String,
    /// The trace's length in bytes.
    pub trace_bytes: u64,
    /// The trace's capture; `None` where its form has none.
    pub capture: Option<Capture>,
    /// Bytes it writes, each request widened to whole 4 KiB pages; 0 where they were not counted.
    pub written_bytes: u64,
    /// Number of requests; 0 where they were not counted.
    pub requests: u64,
    /// Number of pages ever written, by page size in bytes.
    pub pages: BTreeMap<u32, u64>,
}

impl Look {
    /// The name of the file that holds what was found.
    pub fn key(&self) -> String {
        key(self)
    }

    /// The page sizes in which written pages are counted.
    fn page_sizes(&self, origin: &TraceOrigin) -> Result<Vec<u32>> {
        let counts = self.fills || self.follows && matches!(origin.size, Size::Footprint);
        match (counts, self.page_bytes.is_empty()) {
            (false, _) => Ok(Vec::new()),
            (true, false) => Ok(self.page_bytes.clone()),
            (true, true) => Ok(vec![origin.page_bytes()?]),
        }
    }
}

impl Seen {
    /// The origin of the drive, as the trace tells it.
    pub(crate) fn origin(&self, options: &DriveOptions) -> Result<TraceOrigin> {
        match &self.capture {
            Some(capture) => TraceOrigin::of(capture, options),
            None => Ok(TraceOrigin::of_addresses()),
        }
    }
}

/// Looks at a trace, which is read from `path` (its own, or that of a copy). A trace that need only
/// be opened is not read to the end.
///
/// # Errors
/// When the trace cannot be read.
pub fn survey_trace(asked: &Look, path: &Path, watch: &mut dyn Watch) -> Result<Seen> {
    let format = parse_format(asked.format.as_deref())?;
    let mut file = TraceFile::open(path, format, asked.quick)?;
    file.name.clone_from(&asked.trace);
    let capture = file.tables.as_ref().map(|tables| tables.capture.clone());
    let mut seen = Seen {
        trace: asked.trace.clone(),
        trace_bytes: asked.trace_bytes,
        capture,
        ..Seen::default()
    };
    let page_sizes = asked.page_sizes(&seen.origin(&DriveOptions::default())?)?;
    if page_sizes.is_empty() && !asked.counts_writes {
        return Ok(seen);
    }
    for page_bytes in page_sizes {
        let learned = learn(&file, page_bytes, asked.pack, watch)?;
        seen.pages.insert(page_bytes, learned.pages);
    }
    Requests::each_batch(&file, &mut |ios, done| {
        for io in ios {
            seen.requests += 1;
            if io.operation == Operation::Write {
                let end = (io.offset_bytes.saturating_add(io.length_bytes)).div_ceil(4096);
                seen.written_bytes += (end - io.offset_bytes / 4096) * 4096;
            }
        }
        watch.done(done)
    })?;
    Ok(seen)
}
