//! Traces of a device that is watched, one after another in a directory, the oldest of them deleted.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anabranch_trace::{Io, Tables, TraceError, Writer};
use anabranch_watch::{Keep, Segment};

use crate::say;

/// How long no trace is begun after one could not be written (our choice).
const PAUSE: Duration = Duration::from_secs(60);

/// The traces of one device.
pub struct Traces {
    directory: PathBuf,
    device: String,
    keep: Keep,
    /// The one at work, and when it was begun: by the machine's clock, which may be set, and by one that may not.
    writer: Option<(Writer, u64, Instant)>,
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
            writer: None,
            failed: None,
        }
    }

    /// Adds requests. What cannot be written is told, and watching goes on without a trace for a while.
    pub fn push(&mut self, ios: &[Io]) {
        if self.writer.is_none() {
            if self.failed.is_some_and(|at| at.elapsed() < PAUSE) {
                return;
            }
            let mut began_s = now_s();
            // Of two in a second the second has a name of its own.
            while self.path(began_s).exists() {
                began_s += 1;
            }
            match Writer::create(self.path(began_s)) {
                Ok(writer) => self.writer = Some((writer, began_s, Instant::now())),
                Err(error) => return self.fail(&error),
            }
        }
        if let Some((writer, ..)) = &mut self.writer
            && let Err(error) = ios.iter().try_for_each(|io| writer.push(io))
        {
            self.fail(&error);
        }
    }

    /// Whether the one at work is to be ended.
    pub fn is_due(&self) -> bool {
        let writer = self.writer.as_ref();
        writer.is_some_and(|(writer, _, began)| {
            self.keep
                .ends(began.elapsed().as_secs(), writer.size_bytes())
        })
    }

    /// Ends the one at work, and deletes those that are too old or too many.
    pub fn rotate(&mut self, tables: &Tables) {
        if let Some((writer, began_s, _)) = self.writer.take() {
            let mut tables = tables.clone();
            tables.capture.started_unix_s = began_s;
            match writer.finish(&tables) {
                Ok(()) => self.failed = None,
                Err(error) => self.fail(&error),
            }
        }
        let segments = self.segments();
        for old in self.keep.gone(&segments, now_s()) {
            if let Err(error) = fs::remove_file(self.directory.join(&old.name)) {
                say::note(&format!("{}: cannot be deleted: {error}", old.name));
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
        say::note(&format!(
            "{error}: this trace of {} is lost, and the next is tried in {} s; watching goes on",
            self.device,
            PAUSE.as_secs()
        ));
        self.writer = None;
        self.failed = Some(Instant::now());
    }
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
