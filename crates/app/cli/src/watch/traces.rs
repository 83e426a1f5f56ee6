//! Traces of a device that is watched, one after another in a directory, the oldest of them deleted.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anabranch_trace::{Io, Tables, TraceError, Writer};
use anabranch_watch::{Keep, Segment};

use super::clock::Clock;
use crate::say;

/// Delay before another trace is begun after one could not be written (our choice).
const PAUSE: Duration = Duration::from_secs(60);

/// A trace at work, and when it was begun.
struct Working {
    writer: Writer,
    began_s: u64,
    began: Instant,
    /// When its first request came, by the probe's clock: a trace's times are counted from there.
    first_ns: u64,
}

/// The traces of one device.
pub struct Traces {
    directory: PathBuf,
    device: String,
    keep: Keep,
    clock: Clock,
    working: Option<Working>,
    /// When the last one failed.
    failed: Option<Instant>,
}

impl Traces {
    /// None yet.
    pub fn new(directory: &Path, device: &str, keep: Keep) -> Traces {
        Traces {
            directory: directory.to_owned(),
            device: device.to_owned(),
            keep,
            clock: Clock::start(),
            working: None,
            failed: None,
        }
    }

    /// Adds requests. What cannot be written is told, and watching goes on without a trace for a while.
    pub fn push(&mut self, ios: &[Io]) {
        let Some(first) = ios.first() else {
            return;
        };
        if self.working.is_none() {
            if self.failed.is_some_and(|at| at.elapsed() < PAUSE) {
                return;
            }
            let mut began_s = self.clock.unix_s();
            // Of two in a second the second has a name of its own.
            while self.path(began_s).exists() {
                began_s += 1;
            }
            match Writer::create(self.path(began_s)) {
                Ok(writer) => {
                    self.working = Some(Working {
                        writer,
                        began_s,
                        began: Instant::now(),
                        first_ns: first.time_ns,
                    });
                }
                Err(error) => return self.fail(&error),
            }
        }
        let Some(working) = &mut self.working else {
            return;
        };
        let pushed = ios.iter().try_for_each(|io| {
            working.writer.push(&Io {
                time_ns: io.time_ns.saturating_sub(working.first_ns),
                ..*io
            })
        });
        if let Err(error) = pushed {
            self.fail(&error);
        }
    }

    /// Whether the one at work is to be ended.
    pub fn is_due(&self) -> bool {
        self.working.as_ref().is_some_and(|working| {
            let age_s = working.began.elapsed().as_secs();
            self.keep.ends(age_s, working.writer.size_bytes())
        })
    }

    /// Ends the one at work, if any, with its tables, and deletes those that are too old or too many.
    pub fn rotate(&mut self, tables: impl FnOnce() -> Tables) {
        if let Some(working) = self.working.take() {
            let mut tables = tables();
            tables.capture.started_unix_s = working.began_s;
            match working.writer.finish(&tables) {
                Ok(()) => self.failed = None,
                Err(error) => self.fail(&error),
            }
        }
        let segments = self.segments();
        for old in self.keep.gone(&segments, self.clock.unix_s()) {
            if let Err(error) = fs::remove_file(self.directory.join(&old.name)) {
                say::print_note(&format!("{}: cannot be deleted: {error}", old.name));
            }
        }
    }

    fn path(&self, began_s: u64) -> PathBuf {
        self.directory.join(Segment::name(&self.device, began_s))
    }

    fn segments(&self) -> Vec<Segment> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        let segment = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            Segment::of(&self.device, &name, entry.metadata().ok()?.len())
        };
        entries.filter_map(|entry| segment(entry.ok()?)).collect()
    }

    fn fail(&mut self, error: &TraceError) {
        say::print_note(&format!(
            "{error}: this trace of {} is lost, and the next is tried in {} s; watching goes on",
            self.device,
            PAUSE.as_secs()
        ));
        self.working = None;
        self.failed = Some(Instant::now());
    }
}
