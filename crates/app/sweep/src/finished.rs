//! The finished part of a sweep: each file on disk is whole.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use anabranch_compare::{CompareError, Result};
use anabranch_trace::WholeFile;
use arrow_array::cast::AsArray;
use parquet::arrow::{ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder};

use crate::{
    batch::Batch,
    trace_survey::{Look, Seen},
};

/// The directory of the rows, below the sweep's.
const CELLS: &str = "cells";
/// The directory of what was seen of traces, below the sweep's.
const LOOKS: &str = "looks";

/// The cells that a sweep's directory already has.
#[derive(Debug, Clone, Default)]
pub struct Finished(HashSet<String>);

impl Finished {
    /// Reads the directory. One that does not exist yet has no finished cell.
    ///
    /// # Errors
    /// When a file there was not written by a sweep.
    pub fn read(directory: &Path) -> Result<Finished> {
        let mut cells = HashSet::new();
        for path in files(directory)? {
            cells.extend(names(&path)?);
        }
        Ok(Finished(cells))
    }

    /// Whether a cell is done.
    pub(crate) fn has(&self, cell: &str) -> bool {
        self.0.contains(cell)
    }

    /// Number of cells that are done.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// The directories that a sweep fills.
pub fn directories(directory: &Path) -> [PathBuf; 2] {
    [CELLS, LOOKS].map(|name| directory.join(name))
}

/// The files of a sweep's rows, by name.
///
/// # Errors
/// When the directory cannot be read.
pub fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let cells = directory.join(CELLS);
    if !cells.exists() {
        return Ok(Vec::new());
    }
    let unread = |error| CompareError::failed(format!("cannot read {}: {error}", cells.display()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(&cells).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The names of the cells in a file.
fn names(path: &Path) -> Result<Vec<String>> {
    let strange = |error: &dyn std::fmt::Display| {
        CompareError::wrong_use(format!(
            "{} is no part of a sweep ({error}): remove it, or sweep into another directory",
            path.display()
        ))
    };
    let file = File::open(path).map_err(|error| strange(&error))?;
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| strange(&error))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), ["cell"]);
    let batches = builder.with_projection(mask).build();
    let mut names = Vec::new();
    for batch in batches.map_err(|error| strange(&error))? {
        let batch = batch.map_err(|error| strange(&error))?;
        let column = batch
            .columns()
            .first()
            .and_then(|one| one.as_string_opt::<i32>());
        let column = column.ok_or_else(|| strange(&"it has no column of cells"))?;
        names.extend(column.iter().flatten().map(str::to_owned));
    }
    Ok(names)
}

/// Writes a batch's file. It is on disk, whole, when this returns.
///
/// # Errors
/// When it cannot be written.
pub fn keep(directory: &Path, batch: &Batch, file: &[u8]) -> Result {
    let name = format!("{}.parquet", batch.key());
    write(&directory.join(CELLS), &name, file)
}

/// The findings of an earlier look at a trace, if there was one.
pub fn load_survey(directory: &Path, look: &Look) -> Option<Seen> {
    let path = directory.join(LOOKS).join(format!("{}.json", look.key()));
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Writes what was seen of a trace.
///
/// # Errors
/// When it cannot be written.
pub fn save_survey(directory: &Path, look: &Look, seen: &Seen) -> Result {
    let text = serde_json::to_vec(seen).map_err(CompareError::work)?;
    write(
        &directory.join(LOOKS),
        &format!("{}.json", look.key()),
        &text,
    )
}

/// Writes a file that appears whole or not at all.
fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result {
    let failed =
        |error| CompareError::failed(format!("cannot write {}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(failed)?;
    let mut file = WholeFile::create(directory.join(name))?;
    file.write_all(bytes).map_err(failed)?;
    Ok(file.finish()?)
}
