//! A first look at each trace: what a plan must know of it.

use std::{collections::BTreeMap, path::Path};

use anabranch_compare::{Outcome, Requests, TraceFile, Watch, learn};
use anabranch_trace::Operation;
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
    /// Page sizes for which the pages it writes are counted; none where that need not be known.
    pub page_bytes: Vec<u32>,
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
    /// Bytes of the device it was captured on; 0 where that is not known.
    pub device_bytes: u64,
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

    fn is_idle(&self) -> bool {
        self.page_bytes.is_empty() && !self.counts_writes
    }
}

/// Looks at a trace, which lies at `path` (the trace's own, or a copy). A trace that need only be
/// opened is not read.
///
/// # Errors
/// When it cannot be read.
pub fn look(asked: &Look, path: &Path, watch: &mut dyn Watch) -> Outcome<Seen> {
    let format = parse_format(asked.format.as_deref())?;
    let mut file = TraceFile::open(path, format, asked.quick)?;
    file.name.clone_from(&asked.trace);
    let capture = file.tables.as_ref().map(|tables| &tables.capture);
    let mut seen = Seen {
        trace: asked.trace.clone(),
        trace_bytes: asked.trace_bytes,
        device_bytes: capture.map_or(0, |capture| capture.device_bytes),
        ..Seen::default()
    };
    if asked.is_idle() {
        return Ok(seen);
    }
    for &page_bytes in &asked.page_bytes {
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
