//! Opening an input, with an error for each kind of thing that is no trace.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::error::TraceError;

/// Opens a regular file that is not empty. Answers with it and its length in bytes.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64), TraceError> {
    // Looked at before it is opened: opening a pipe would wait for its writer.
    let metadata = fs::metadata(path).map_err(|source| unopened(path, source))?;
    if !metadata.is_file() {
        return Err(TraceError::NotAFile { path: path.into() });
    }
    if metadata.len() == 0 {
        return Err(TraceError::Empty { path: path.into() });
    }
    let file = File::open(path).map_err(|source| unopened(path, source))?;
    Ok((file, metadata.len()))
}

/// Opens a file as [`open_regular`] does, or else a pipe or a device, which has no length.
pub(crate) fn open_readable(path: &Path) -> Result<(File, Option<u64>), TraceError> {
    let metadata = fs::metadata(path).map_err(|source| unopened(path, source))?;
    if metadata.is_file() || metadata.is_dir() {
        return open_regular(path).map(|(file, length_bytes)| (file, Some(length_bytes)));
    }
    let file = File::open(path).map_err(|source| unopened(path, source))?;
    Ok((file, None))
}

fn unopened(path: &Path, source: io::Error) -> TraceError {
    TraceError::Open {
        path: path.into(),
        source,
    }
}
