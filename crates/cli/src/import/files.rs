//! The files an import reads.

use std::{
    cmp::Ordering,
    fs, io,
    path::{Path, PathBuf},
};

use anabranch_trace::foreign::Input;

use crate::failure::{Failure, Outcome};

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
    pub fn find(names: &[String]) -> Outcome<Files> {
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
    pub fn open(&self) -> Outcome<Vec<Input>> {
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

fn matching(pattern: &str) -> Outcome<Vec<PathBuf>> {
    let found = glob::glob(pattern).map_err(Failure::usage)?;
    let mut paths = found
        .collect::<Result<Vec<PathBuf>, _>>()
        .map_err(Failure::usage)?;
    if paths.is_empty() {
        return Err(Failure::say(format!("no file matches {pattern}")));
    }
    paths.sort_by(|one, other| count_order(&one.to_string_lossy(), &other.to_string_lossy()));
    Ok(paths)
}

/// The order of names in which numbers within them count as numbers.
fn count_order(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    while !one.is_empty() && !other.is_empty() {
        let (first, one_rest) = split(one);
        let (second, other_rest) = split(other);
        let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        let order = if is_number(first) && is_number(second) {
            let (a, b) = (
                first.trim_start_matches('0'),
                second.trim_start_matches('0'),
            );
            a.len().cmp(&b.len()).then(a.cmp(b)).then(first.cmp(second))
        } else {
            first.cmp(second)
        };
        if order != Ordering::Equal {
            return order;
        }
        (one, other) = (one_rest, other_rest);
    }
    one.len().cmp(&other.len())
}

/// The digits, or the rest up to the next digit, that a name begins with.
fn split(name: &str) -> (&str, &str) {
    let digits = name.starts_with(|c: char| c.is_ascii_digit());
    let end = name.find(|c: char| c.is_ascii_digit() != digits);
    name.split_at(end.unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = [
            "day.10", "day.9", "day.1", "day", "day.01", "b2c10", "b2c9", "b",
        ];
        names.sort_by(|one, other| count_order(one, other));
        assert_eq!(
            names,
            [
                "b", "b2c9", "b2c10", "day", "day.01", "day.1", "day.9", "day.10"
            ]
        );
    }
}
