//! Lifetimes of contexts, kept in a file from one run to the next.

use std::{
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anabranch_placement::KnownLifetimes;
use anabranch_replay::Lane;
use anabranch_trace::WholeFile;

use crate::{
    error::{CompareError, Result},
    small_file::settings,
};

/// A file of lifetimes, with its content when the run began.
#[derive(Debug)]
pub struct Lifetimes {
    path: PathBuf,
    known: KnownLifetimes,
}

impl Lifetimes {
    /// Reads the file. A file that does not exist yet counts as empty.
    pub fn open(path: &Path) -> Result<Lifetimes> {
        let say = |what: &dyn std::fmt::Display| {
            CompareError::wrong_use(format!("--lifetimes {}: {what}", path.display()))
        };
        let known = match settings(path) {
            Ok(text) => KnownLifetimes::parse(&text).map_err(|error| say(&error))?,
            Err(error) if error.kind() == ErrorKind::NotFound => KnownLifetimes::default(),
            Err(error) => return Err(say(&error)),
        };
        // A file that cannot be written is better known before the run than after.
        WholeFile::create(path)?;
        Ok(Lifetimes {
            path: path.to_owned(),
            known,
        })
    }

    /// Gives a lane the lifetimes that earlier runs learned.
    pub fn restore(&self, lane: &mut Lane) {
        lane.restore_lifetimes(&self.known);
    }

    /// Writes the lifetimes known to the first lane that learns of contexts.
    pub fn keep(&self, lanes: &[Lane]) -> Result {
        let Some(learned) = lanes.iter().find_map(|lane| lane.assign().learned()) else {
            return Ok(());
        };
        let mut file = WholeFile::create(&self.path)?;
        file.write_all(learned.text().as_bytes()).map_err(|error| {
            let path = self.path.display();
            CompareError::failed(format!("cannot write {path}: {error}"))
        })?;
        Ok(file.finish()?)
    }
}
