//! A first look at each trace: what a plan must know of it.

use std::{collections::BTreeMap, path::Path};

use anabranch_compare::{DriveOptions, Origin, Requests, Result, Size, TraceFile, Watch, learn};
use anabranch_trace::{Capture, Operation};
use serde::{Deserialize, Serialize};

use crate::{batch::parse_format, key::key};

/// What is to be looked for in a trace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Look {
    /// The trace, as the grid names it.
    pub trace: String,
    /// Its length; part of what a result depends on. 0 where it has none.
    pub trace_bytes: u64,
    /// Its form.
    pub format: Option<String>,
    /// Whether only the first GiB of writes counts.
    pub quick: bool,
    /// Whether pages count that ever held data at one time.
    pub pack: bool,
    /// Page sizes of the drives that are named.
    pub page_bytes: Vec<u32>,
    /// Whether the pages it writes are counted for these, or, where no drive is named, for its own.
    pub fills: bool,
    /// Whether they are counted as well where it does not tell the size of its device.
    pub follows: bool,
    /// Whether the bytes it writes are counted: what schemes that know the future keep.
    pub counts_writes: bool,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The trace, as the grid names it.
    pub trace: String,
    /// Its length.
    pub trace_bytes: u64,
    /// How it was made; nothing where its form does not tell.
    pub capture: Option<Capture>,
    /// Bytes it writes, each request widened to whole 4 KiB pages; 0 where that was not asked.
    pub written_bytes: u64,
    /// Requests; 0 where that was not asked.
    pub requests: u64,
    /// Pages it ever writes, by the page size.
    pub pages: BTreeMap<u32, u64>,
}

impl Look {
    /// The name under which what was found is kept.
    pub fn key(&self) -> String {
        key(self)
    }

    /// The page sizes for which the pages it writes are counted.
    fn page_sizes(&self, origin: &Origin) -> Result<Vec<u32>> {
        let counts = self.fills || self.follows && matches!(origin.size, Size::Footprint);
        match (counts, self.page_bytes.is_empty()) {
            (false, _) => Ok(Vec::new()),
            (true, false) => Ok(self.page_bytes.clone()),
            (true, true) => Ok(vec![origin.page_bytes()?]),
        }
    }
}

impl Seen {
    /// What the trace tells of its drive.
    pub(crate) fn origin(&self, options: &DriveOptions) -> Result<Origin> {
        match &self.capture {
            Some(capture) => Origin::of(capture, options),
            None => Ok(Origin::of_addresses()),
        }
    }
}

/// Looks at a trace, which lies at `path` (the trace's own, or a copy). A trace that need only be
/// opened is not read.
///
/// # Errors
/// When it cannot be read.
pub fn look(asked: &Look, path: &Path, watch: &mut dyn Watch) -> Result<Seen> {
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
