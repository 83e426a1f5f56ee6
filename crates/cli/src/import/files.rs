//! The files an import reads.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anabranch_compare::matching;
use anabranch_trace::foreign::Input;

use crate::failure::{Failure, Result};

/// What standard input is called.
const STANDARD_INPUT: &str = "-";

/// Files in the order in which they are read.
pub struct Files {
    paths: Vec<PathBuf>,
    /// Their bytes together; not known where one is a pipe.
    bytes: Option<u64>,
}

impl Files {
    /// Finds files by name or pattern. A pattern's files come in the order people count in, 9
    /// before 10; what the shell has expanded comes as the shell has it.
    pub fn find(names: &[String]) -> Result<Files> {
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
            return Err(Failure::say("- is standard input, which can be read once"));
        }
        let bytes = paths.iter().map(|path| length(path)).sum();
        Ok(Files { paths, bytes })
    }

    /// Opens them all.
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

    /// What they are called together.
    pub fn name(&self) -> String {
        match self.paths.as_slice() {
            [one] => one.display().to_string(),
            many => format!("{} files", many.len()),
        }
    }

    /// The share of them that this many bytes are; 0 where it is not known.
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
