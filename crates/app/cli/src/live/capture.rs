//! The way of events from the kernel to the trace and to the schemes.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anabranch_compare::bytes;
use anabranch_placement::Names;
use anabranch_probe::{CaptureFilter, Captured, LeftOut, Probe, ProbeOptions};
use anabranch_trace::{Capture, Io, Sample, Sampled, Tables, TraceError, Writer};
use serde_json::Value;

use super::interrupt::Interrupt;
use crate::{
    arguments::CaptureArguments,
    attaching::attach,
    error::{CommandError, Result},
    kernel::said_by_kernel,
};

/// The longest that a look for new events waits, which is the pace of the live view.
const POLL: Duration = Duration::from_millis(50);

/// A probe at work, with the trace it fills.
pub struct Capturing {
    probe: Probe,
    writer: Option<Writer>,
    /// The reason why the trace is not written any more.
    refused: Option<TraceError>,
    /// The sample of the pages that is kept, if it is not all of them.
    sampled: Option<Sampled>,
    /// Whether what is left out, or who is a tenant, is found by every write: of some processes alone, or with tenants
    /// by control group.
    needs_all: bool,
    batch: Vec<Io>,
    /// Number of rows of each table whose names were passed on.
    files: usize,
    contexts: usize,
    started_unix_s: u64,
}

impl Capturing {
    /// Attaches the probe to a device for the writes of `only`, everybody's where that is empty, and begins the trace where one is wanted.
    pub fn start(
        device: &Path,
        arguments: &CaptureArguments,
        only: Vec<CaptureFilter>,
        trace: Option<&PathBuf>,
        interrupt: &mut Interrupt,
    ) -> Result<Capturing> {
        let ring_bytes = u32::try_from(bytes(&arguments.ring)?)
            .map_err(|_| CommandError::wrong_use("--ring is at most 2GiB"))?;
        let needs_all = !only.is_empty() || !arguments.tenants.tenant.is_empty();
        let options = ProbeOptions {
            reads: arguments.reads,
            hints: !arguments.no_hints,
            generations: !arguments.generations.no_generations,
            ring_bytes,
            only,
            tenants: arguments.tenants.tenant.clone(),
            ..ProbeOptions::new(device)
        };
        let writer = trace.map(Writer::create).transpose()?;
        let probe = attach(options, || interrupt.came().is_some())?;
        let started_unix_s = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        Ok(Capturing {
            probe,
            writer,
            refused: None,
            sampled: None,
            needs_all,
            batch: Vec::new(),
            files: 0,
            contexts: 0,
            started_unix_s,
        })
    }

    /// Keeps from now on only a sample of the device's pages.
    pub fn sample(&mut self, sampled: Sampled) {
        self.sampled = Some(sampled);
        if !self.needs_all {
            self.probe.tell_only(&[sampled]);
        }
    }

    /// Passes on the requests since the last call, with the names that are new in them. Waits a moment if there are
    /// none.
    pub fn poll(&mut self, sink: impl FnMut(Names, &[Io])) -> Result {
        let batch = &mut self.batch;
        batch.clear();
        self.probe
            .poll(POLL, &mut |io| batch.push(io))
            .map_err(CommandError::work)?;
        self.hand_on(sink)
    }

    /// Passes on everything that has happened until now.
    pub fn drain(&mut self, sink: impl FnMut(Names, &[Io])) -> Result {
        let batch = &mut self.batch;
        batch.clear();
        self.probe
            .drain(&mut |io| batch.push(io))
            .map_err(CommandError::work)?;
        self.hand_on(sink)
    }

    fn hand_on(&mut self, mut sink: impl FnMut(Names, &[Io])) -> Result {
        if let Some(sampled) = self.sampled {
            let sample = Sample::new(sampled);
            let kept = self.batch.iter().filter_map(|io| sample.apply(io));
            self.batch = kept.collect();
        }
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.push_all(&self.batch)
        {
            // What the requests are worth to others is not lost with the trace.
            self.writer = None;
            self.refused = Some(error);
        }
        if !self.batch.is_empty() {
            let names = self.new_names();
            sink(names, &self.batch);
        }
        Ok(())
    }

    /// The names that were not passed on before.
    fn new_names(&mut self) -> Names {
        let files = self.probe.files_from(self.files);
        let contexts = self.probe.contexts_from(self.contexts);
        let first_file = u32::try_from(self.files).unwrap_or(u32::MAX);
        let names = Names::of_rows(first_file, files, &contexts);
        self.files += files.len();
        self.contexts += contexts.len();
        names
    }

    /// Whether the trace could not be written on.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Number of events lost so far.
    pub fn lost_events(&self) -> u64 {
        self.probe.lost_events()
    }

    /// Counts of requests left out so far because their process is not wanted.
    pub fn left_out(&self) -> LeftOut {
        self.probe.left_out()
    }

    /// Detaches the probe. Answers with the tables, and with the trace to be kept, which holds a description of its
    /// drive. An interruption meanwhile ends the search for names of calls.
    pub fn finish(
        self,
        device_bytes: u64,
        file_system: &str,
        command: &[OsString],
        drive: Option<Value>,
        interrupt: &mut Interrupt,
    ) -> Recorded {
        let mut is_wanted = true;
        let Captured {
            contexts,
            files,
            tenants,
            placements,
            lost_events,
            limitations,
        } = self.probe.finish(&mut || {
            is_wanted &= interrupt.came().is_none();
            is_wanted
        });
        let capture = Capture {
            device_bytes,
            file_system: file_system.to_owned(),
            command: command
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            kernel: said_by_kernel("osrelease"),
            host: said_by_kernel("hostname"),
            started_unix_s: self.started_unix_s,
            lost_events,
            limitations,
            drive,
            sampled: self.sampled,
            tenants,
            placements,
        };
        let tables = Tables {
            contexts,
            files,
            capture,
        };
        Recorded {
            tables,
            writer: self.writer,
            refused: self.refused,
        }
    }
}

/// A finished recording. IMPORTANT: its trace is lost unless [`Recorded::keep`] is called.
pub struct Recorded {
    /// The tables of contexts and files, and the capture.
    pub tables: Tables,
    writer: Option<Writer>,
    refused: Option<TraceError>,
}

impl Recorded {
    /// Completes the trace at `path`. An older trace there is renamed first, as `perf record` does. Answers with the
    /// new name of that.
    pub fn keep(self, path: &Path) -> Result<Option<PathBuf>> {
        if let Some(error) = self.refused {
            return Err(error.into());
        }
        let Some(writer) = self.writer else {
            return Ok(None);
        };
        let older = set_aside(path).map_err(|error| {
            let words = format!("{}: the older trace cannot be set aside", path.display());
            CommandError::work(anyhow::Error::new(error).context(words))
        })?;
        if let Err(error) = writer.finish(&self.tables) {
            // It is still the trace of that name.
            let _ = older.map(|older| std::fs::rename(older, path));
            return Err(error.into());
        }
        Ok(older)
    }
}

/// Renames a file to `FILE.old`, if there is one; pipes and devices stay.
fn set_aside(path: &Path) -> std::io::Result<Option<PathBuf>> {
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let path = path.canonicalize()?;
    let mut name = path.clone().into_os_string();
    name.push(".old");
    let older = PathBuf::from(name);
    std::fs::rename(&path, &older)?;
    Ok(Some(older))
}
