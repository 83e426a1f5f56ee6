//! The drive's state in a file, so that a drive that is stopped and started has its age.
//!
//! A line of JSON, then the translation layer in the form of [`SavedDrive`]. The file appears whole
//! or not at all. Beside it lies a mark while the drive is served: where it is still there at the
//! start, the drive was not stopped, and the file is older than the contents. Contents need no
//! checkpoint; what the file then lacks is learned from them ([`Drive::reconcile`]).

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use anabranch_ssd::{Counters, SavedDrive, StateError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{drive::Drive, target::Target, totals::Tally};

/// Version of the line of JSON.
const VERSION: u32 = 1;
/// Longest such line (our choice).
const MOST_HEADER: u64 = 64 << 10;

/// A state that cannot be read or written.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error("state file {}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: io::Error,
    },
    /// It is none, or damaged.
    #[error("state file {}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// What the state says besides the translation layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    version: u32,
    /// How the drive places writes: mode and scheme, as whoever made it names them.
    pub placement: String,
    /// Whether it began as an aged drive: it then has pages that hold data to the translation
    /// layer alone.
    #[serde(default)]
    pub aged: bool,
    /// Log2 of the bytes of a logical block.
    pub block_shift: u32,
    /// Counters of commands.
    pub tally: Tally,
    /// The device's counters when the FDP statistics were last cleared.
    pub cleared_at: Counters,
}

/// What changes whenever the state does, time apart: two that are equal are of one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    counters: Counters,
    cleared_at: Counters,
    read_only: bool,
    block_shift: u32,
    /// Without the time served.
    tally: Tally,
}

impl Mark {
    /// That of a target, whose drive this is.
    pub(crate) fn of(target: &Target, drive: &Drive) -> Mark {
        Mark {
            counters: *drive.counters(),
            cleared_at: drive.cleared_at(),
            read_only: drive.is_read_only(),
            block_shift: target.block_shift(),
            tally: target.totals.sums(),
        }
    }
}

/// Where the state is kept.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    path: PathBuf,
    placement: String,
    aged: bool,
}

/// What was found there.
#[derive(Debug)]
pub struct Found {
    /// What the state says.
    pub header: Header,
    /// The translation layer.
    pub drive: SavedDrive,
}

impl Checkpoint {
    /// A state in a file, of a drive that places writes so.
    pub fn at(path: &Path, placement: &str) -> Checkpoint {
        Checkpoint {
            path: path.to_owned(),
            placement: placement.to_owned(),
            aged: false,
        }
    }

    /// The same, of a drive that began as an aged one.
    #[must_use]
    pub fn of_aged(self, aged: bool) -> Checkpoint {
        Checkpoint { aged, ..self }
    }

    /// Reads the state; `None` if there is none yet.
    ///
    /// # Errors
    /// When there is one that cannot be read or makes no sense.
    pub fn read(&self) -> Result<Option<Found>, CheckpointError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(problem) => return Err(self.failed(problem)),
        };
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        let read = reader
            .by_ref()
            .take(MOST_HEADER)
            .read_until(b'\n', &mut line);
        read.map_err(|problem| self.failed(problem))?;
        let header: Header = serde_json::from_slice(&line).map_err(|error| self.damaged(&error))?;
        if header.version != VERSION {
            let problem = format!("version {}, not {VERSION}", header.version);
            return Err(self.damaged(&problem));
        }
        if ![9, 12].contains(&header.block_shift) {
            return Err(self.damaged(&"blocks of neither 512 nor 4096 bytes"));
        }
        let drive = SavedDrive::read(reader).map_err(|error| self.damaged(&error))?;
        Ok(Some(Found { header, drive }))
    }

    /// Whether the drive was served and never stopped since.
    pub fn was_killed(&self) -> bool {
        self.mark().exists()
    }

    /// The drive is served from now on.
    ///
    /// # Errors
    /// When the mark cannot be made.
    pub fn begin(&self) -> Result<(), CheckpointError> {
        let made = File::create(self.mark()).and_then(|mark| mark.sync_all());
        let made = made.and_then(|()| self.sync_directory());
        made.map_err(|problem| self.failed(problem))
    }

    /// Writes the state as it is now, and answers its mark.
    ///
    /// # Errors
    /// When it cannot be written; the former state stays.
    pub(crate) fn write(&self, target: &Target) -> Result<Mark, CheckpointError> {
        let (bytes, mark) = self.bytes(target).map_err(|error| self.damaged(&error))?;
        let written = self.replace(&bytes);
        written.map_err(|problem| self.failed(problem))?;
        Ok(mark)
    }

    /// Writes the state, how long the drive was served included, and that it was stopped.
    ///
    /// # Errors
    /// As [`Checkpoint::write`].
    pub(crate) fn end(&self, target: &Target) -> Result<(), CheckpointError> {
        self.write(target)?;
        let removed = fs::remove_file(self.mark()).and_then(|()| self.sync_directory());
        removed.map_err(|problem| self.failed(problem))
    }

    /// Taken in memory, so that the drive is locked no longer than that takes.
    fn bytes(&self, target: &Target) -> Result<(Vec<u8>, Mark), StateError> {
        let mut bytes = Vec::new();
        let drive = target.drive();
        let mark = Mark::of(target, &drive);
        let header = Header {
            version: VERSION,
            placement: self.placement.clone(),
            aged: self.aged,
            block_shift: mark.block_shift,
            tally: Tally {
                served_ms: mark.tally.served_ms + target.now_ms(),
                ..mark.tally
            },
            cleared_at: mark.cleared_at,
        };
        let line = serde_json::to_vec(&header);
        bytes.extend(line.map_err(|error| StateError::Inconsistent(error.to_string()))?);
        bytes.push(b'\n');
        drive.save(&mut bytes)?;
        Ok((bytes, mark))
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let new = self.beside(".new");
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        self.sync_directory()
    }

    fn sync_directory(&self) -> io::Result<()> {
        let parent = self.path.parent();
        let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
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

    fn damaged(&self, problem: &dyn ToString) -> CheckpointError {
        CheckpointError::Damaged {
            path: self.path.clone(),
            problem: problem.to_string(),
        }
    }
}
