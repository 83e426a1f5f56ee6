//! The drive's state in a file, so that a drive that is stopped and started has its age.
//!
//! A line of JSON with the form's version; pieces ([`Piece`]): the mapping in runs, what of it has
//! changed in the meantime, and at last all else, with a line of JSON and the form of [`SavedDrive`];
//! then a checksum of all of that (XXH3, 64 bits). Numbers are little-endian. The mapping is copied
//! a part at a time, so that the drive is locked for no longer than a part takes. The file appears
//! whole or not at all. Beside it lies a mark while the drive is served: where it is still there at the
//! start, the drive was not stopped, and the file is older than the contents. Contents need no
//! checkpoint; what the file then lacks is learned from them ([`ServedDrive::reconcile`]).

mod ahead;
mod files;
mod read;
mod write;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anabranch_ssd::{
    Counters,
    state::{SavedDrive, StateError},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use files::System;
pub use files::{Files, Input, Output};

use crate::{
    drive::ServedDrive,
    namespace::{Layout, NamespaceError},
    time::Time,
    totals::{Tally, Totals},
};

/// Version of the form. Files of version 1, a line of JSON and a whole [`SavedDrive`], and of version 2,
/// whose drive is one namespace, are read still.
const VERSION: u32 = 3;
/// The first that is made of pieces.
const FIRST_IN_PIECES: u32 = 2;
/// Longest line of JSON (our choice).
const MOST_HEADER: usize = 64 << 10;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Form {
    version: u32,
    /// Whether the mapping records when pages were written.
    #[serde(default)]
    ages: bool,
}

/// Kind of a piece. Its words follow its kind and two numbers, of 32 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// Physical places of logical pages, from the first number on as many as the second; the ages of as many
    /// follow, where there are any.
    Run = 1,
    /// As many pages as the first number says, where they lie, and their ages, as in a run.
    Changes = 2,
    /// All else: so many bytes, the second number being the higher half.
    Rest = 3,
}

/// A state that cannot be read or written.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error("state file {}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        problem: io::Error,
    },
    /// The file is not a drive's state, or is damaged.
    #[error("state file {}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The contradiction found.
        problem: String,
    },
}

/// The part of the state beside the translation layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    version: u32,
    /// Placement of writes: mode and scheme, as whoever made it names them.
    pub placement: String,
    /// Whether it began as an aged drive: it then has pages that hold data to the translation
    /// layer alone.
    #[serde(default)]
    pub aged: bool,
    /// Log2 of the bytes of a logical block, before version 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    block_shift: Option<u32>,
    /// The namespaces, and how many there have been.
    #[serde(default)]
    namespaces: Vec<Layout>,
    #[serde(default)]
    births: u64,
    /// The FDP configuration that is enabled, if any is.
    #[serde(default = "first")]
    fdp_configuration: Option<u8>,
    /// Counters of commands.
    pub tally: Tally,
    /// The device's counters when the FDP statistics were last cleared.
    pub cleared_at: Counters,
}

/// The configuration that a drive with Flexible Data Placement begins with.
#[allow(clippy::unnecessary_wraps, reason = "the field may be none")]
fn first() -> Option<u8> {
    Some(0)
}

impl Header {
    /// Gives a drive the namespaces that were kept. Before version 3 there was one, of all its pages
    /// and handles.
    ///
    /// # Errors
    /// When they are none of this drive's.
    pub fn namespaces(&self, drive: ServedDrive) -> Result<ServedDrive, NamespaceError> {
        match self.block_shift {
            Some(shift) => drive.whole(1_u32.checked_shl(shift).unwrap_or(0)),
            None => drive.with_kept(&self.namespaces, self.births, self.fdp_configuration),
        }
    }
}

/// Mark of a state: changes whenever the state does, time apart, so that equal marks are of one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    counters: Counters,
    cleared_at: Counters,
    read_only: bool,
    namespaces: Vec<Layout>,
    births: u64,
    fdp_configuration: Option<u8>,
    /// Without the time served.
    tally: Tally,
}

impl Mark {
    /// Makes the mark of a drive and of its commands' counters.
    pub(crate) fn of(drive: &ServedDrive, totals: &Totals) -> Mark {
        let made = drive.namespaces().iter().filter(|one| one.is_made());
        Mark {
            counters: *drive.counters(),
            cleared_at: drive.cleared_at(),
            read_only: drive.is_read_only(),
            namespaces: made.map(|one| one.layout()).collect(),
            births: drive.namespaces().births(),
            fdp_configuration: drive.fdp_configuration(),
            tally: totals.sums(),
        }
    }
}

/// Source of a state: a drive that hosts may use while it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) drive: &'a Mutex<ServedDrive>,
    pub(crate) totals: &'a Totals,
    /// The time since it is served: read when the state's last part is made, as its counters are.
    pub(crate) time: &'a Time,
    /// Most bytes that were copied under one lock.
    pub(crate) most_saved: &'a AtomicU64,
}

impl<'a> Source<'a> {
    pub(crate) fn drive(&self) -> MutexGuard<'a, ServedDrive> {
        self.drive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn saved_at_once(&self, bytes: u64) {
        self.most_saved.fetch_max(bytes, Ordering::Relaxed);
    }
}

/// Place of a drive's state.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    files: Arc<dyn Files>,
    path: PathBuf,
    placement: String,
    aged: bool,
}

/// A state that was read.
#[derive(Debug)]
pub struct Found {
    /// The state's header.
    pub header: Header,
    /// The translation layer.
    pub drive: SavedDrive,
}

impl Checkpoint {
    /// A state in a file, of a drive that places writes so.
    pub fn at(path: &Path, placement: &str) -> Checkpoint {
        Checkpoint {
            files: Arc::new(System),
            path: path.to_owned(),
            placement: placement.to_owned(),
            aged: false,
        }
    }

    /// Makes it the state of a drive that began as an aged one.
    #[must_use]
    pub fn of_aged(self, aged: bool) -> Checkpoint {
        Checkpoint { aged, ..self }
    }

    /// Keeps the state in other files than the system's.
    #[must_use]
    pub fn within(self, files: Arc<dyn Files>) -> Checkpoint {
        Checkpoint { files, ..self }
    }

    /// Reads the state; `None` if there is none yet.
    ///
    /// # Errors
    /// When there is one that cannot be read or makes no sense.
    pub fn read(&self) -> Result<Option<Found>, CheckpointError> {
        let file = match self.files.open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(problem) => return Err(self.failed(problem)),
        };
        let found = read::read(file).map_err(|error| self.refused(error))?;
        Ok(Some(found))
    }

    /// Whether the drive was served and never stopped since.
    pub fn was_killed(&self) -> bool {
        self.files.is_there(&self.mark())
    }

    /// The drive is served from now on.
    ///
    /// # Errors
    /// When the mark cannot be made.
    pub fn begin(&self) -> Result<(), CheckpointError> {
        let mark = self.files.create(&self.mark());
        let made = mark.and_then(|mut mark| mark.sync());
        let made = made.and_then(|()| self.sync_directory());
        made.map_err(|problem| self.failed(problem))
    }

    /// Writes the state as it is now, and answers its mark.
    ///
    /// # Errors
    /// When it cannot be written; the former state stays.
    pub(crate) fn write(&self, source: Source<'_>) -> Result<Mark, CheckpointError> {
        self.write_while(source, true)
    }

    /// Writes the state as [`Checkpoint::write`] does, whether or not hosts are served meanwhile.
    fn write_while(&self, source: Source<'_>, served: bool) -> Result<Mark, CheckpointError> {
        let new = self.beside(".new");
        let file = self.files.create(&new).map_err(StateError::Write);
        let written = file
            .and_then(|file| write::write(source, served, file, |mark| self.header(source, mark)));
        let mark = written.map_err(|error| self.refused(error))?;
        let renamed = self
            .files
            .rename(&new, &self.path)
            .and_then(|()| self.sync_directory());
        renamed.map_err(|problem| self.failed(problem))?;
        Ok(mark)
    }

    /// Writes the state, how long the drive was served included, and that it was stopped.
    ///
    /// # Errors
    /// As [`Checkpoint::write`].
    pub(crate) fn end(&self, source: Source<'_>) -> Result<(), CheckpointError> {
        self.write_while(source, false)?;
        let removed = self
            .files
            .remove(&self.mark())
            .and_then(|()| self.sync_directory());
        removed.map_err(|problem| self.failed(problem))
    }

    fn header(&self, source: Source<'_>, mark: &Mark) -> Header {
        Header {
            version: VERSION,
            placement: self.placement.clone(),
            aged: self.aged,
            block_shift: None,
            namespaces: mark.namespaces.clone(),
            births: mark.births,
            fdp_configuration: mark.fdp_configuration,
            tally: Tally {
                served_ms: mark.tally.served_ms + source.time.now_ms(),
                ..mark.tally
            },
            cleared_at: mark.cleared_at,
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        let parent = self.path.parent();
        let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
        self.files.sync_directory(parent.unwrap_or(Path::new(".")))
    }

    fn mark(&self) -> PathBuf {
        self.beside(".serving")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    fn failed(&self, problem: io::Error) -> CheckpointError {
        CheckpointError::File {
            path: self.path.clone(),
            problem,
        }
    }

    /// Tells an error of the system from a damaged file.
    fn refused(&self, error: StateError) -> CheckpointError {
        match error {
            StateError::Read(problem) | StateError::Write(problem) => self.failed(problem),
            error => CheckpointError::Damaged {
                path: self.path.clone(),
                problem: error.to_string(),
            },
        }
    }
}
