//! Drives saved in files.

use std::{fs::File, path::Path};

use anabranch_ssd::state::SavedDrive;

use crate::error::{CompareError, Result};

/// Reads a saved drive.
///
/// # Errors
/// When the file cannot be read, or is not a saved drive.
pub fn open(path: &Path) -> Result<SavedDrive> {
    let fail = |error: &dyn std::fmt::Display| {
        CompareError::wrong_use(format!("saved drive {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(|error| fail(&error))?;
    SavedDrive::read(file).map_err(|error| fail(&error))
}
