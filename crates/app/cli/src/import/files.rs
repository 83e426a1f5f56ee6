//! The files that an import reads.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anabranch_compare::matching;
use anabranch_trace::foreign::Input;

use crate::error::{CommandError, Result};

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// Files in the order in which they are read.
pub struct InputFiles {
    paths: Vec<PathBuf>,
    /// Bytes of all files together; `None` if one is a pipe.
    bytes: Option<u64>,
}

impl InputFiles {
    /// Finds files by name or pattern. A pattern's files come in the order in which people count, 9
    /// before 10; files that the shell expanded stay in the shell's order.
    pub fn find(names: &[String]) -> Result<InputFiles> {
        let mut paths = Vec::new();
        for name in names {
            let is_pattern = name.contains(['*', '?', '[']) && !Path::new(name).exists();
            if is_pattern {
                paths.extend(matching(name)?);
            } else {
                paths.push(PathBuf::from(name));
            }
        }
        let standard = paths.iter().filter(|path| is_standard(path)).count();
        if standard > 1 {
            return Err(CommandError::wrong_use(
                "- is standard input, which can be read once",
            ));
        }
        let bytes = paths.iter().map(|path| length(path)).sum();
        Ok(InputFiles { paths, bytes })
    }

    /// Opens all files.
    pub fn open(&self) -> Result<Vec<Input>> {
        let opened = self.paths.iter().map(|path| {
            if is_standard(path) {
                Input::new("standard input", io::stdin())
            } else {
                Input::open(path)
            }
        });
        Ok(opened.collect::<Result<Vec<Input>, _>>()?)
    }

    /// A name for the files together.
    pub fn name(&self) -> String {
        match self.paths.as_slice() {
            [one] => one.display().to_string(),
            many => format!("{} files", many.len()),
        }
    }

    /// The share of the files that `bytes` are; 0 where their size is not known.
    pub fn share(&self, bytes: u64) -> f64 {
        self.bytes
            .map_or(0.0, |all| bytes as f64 / all.max(1) as f64)
    }
}

fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

fn length(path: &Path) -> Option<u64> {
    let metadata = fs::metadata(path).ok()?;
    metadata.is_file().then_some(metadata.len())
}
