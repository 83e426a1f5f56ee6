//! Drives kept in files.

use std::{fs::File, path::Path};

use anabranch_ssd::state::SavedDrive;

use crate::fault::{Fault, Result};

/// Reads a drive that was kept in a file.
///
/// # Errors
/// When there is none.
pub fn open(path: &Path) -> Result<SavedDrive> {
    let fail = |error: &dyn std::fmt::Display| {
        Fault::say(format!("saved drive {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(|error| fail(&error))?;
    SavedDrive::read(file).map_err(|error| fail(&error))
}
