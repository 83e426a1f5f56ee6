//! `--namespaces`: what a new drive is parted into.

use std::str::FromStr;

use anabranch_compare::bytes;
use anabranch_nvme::{
    drive::{MOST_HANDLES, ServedDrive},
    namespace::{MOST_NAMESPACES, Wanted},
};

use crate::error::{CommandError, Result};

/// The namespaces that are asked for, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceList(Vec<Part>);

/// A namespace of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// Bytes; what is left, where none are named.
    bytes: Option<u64>,
    /// Reclaim unit handles; all there are, where none are named.
    handles: Option<Vec<u16>>,
}

impl FromStr for NamespaceList {
    type Err = String;

    fn from_str(text: &str) -> Result<NamespaceList, String> {
        if text == "none" {
            return Ok(NamespaceList(Vec::new()));
        }
        let parts: Result<Vec<Part>, String> = text.split(',').map(part).collect();
        let parts = parts?;
        if parts.len() > MOST_NAMESPACES as usize {
            return Err(format!("a drive has at most {MOST_NAMESPACES} namespaces"));
        }
        let before = parts.iter().rev().skip(1);
        if { before }.any(|part| part.bytes.is_none()) {
            return Err("`rest` leaves nothing to those behind it: name it last".to_owned());
        }
        Ok(NamespaceList(parts))
    }
}

fn part(text: &str) -> Result<Part, String> {
    let (size, handles) = match text.split_once(':') {
        Some((size, handles)) => (size, Some(list(handles)?)),
        None => (text, None),
    };
    let bytes = match size {
        "rest" => None,
        size => Some(bytes(size).map_err(|error| error.to_string())?),
    };
    Ok(Part { bytes, handles })
}

/// Handles, and ranges of them, between which stands a plus: 0-3+6.
fn list(text: &str) -> Result<Vec<u16>, String> {
    let wrong = || format!("\"{text}\" are no handles: write them as 0-3+6");
    let mut handles = Vec::new();
    for piece in text.split('+') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
        let range = number(first)?..=number(last)?;
        if range.is_empty() {
            return Err(wrong());
        }
        handles.extend(range);
    }
    Ok(handles)
}

/// A new drive with blocks of so many bytes, parted; whole, where no list is given.
pub fn new(
    drive: ServedDrive,
    list: Option<&NamespaceList>,
    block_bytes: u32,
) -> Result<ServedDrive> {
    let Some(NamespaceList(parts)) = list else {
        return drive.whole(block_bytes).map_err(CommandError::usage);
    };
    let all = drive.as_fdp().map(|device| device.configuration().handles);
    if all.is_none() && parts.iter().any(|part| part.handles.is_some()) {
        return Err(CommandError::wrong_use(
            "--namespaces: handles are of drives with FDP: leave them out, or serve with --mode fdp",
        ));
    }
    let wanted = |part: &Part| Wanted {
        bytes: part.bytes,
        block_shift: block_bytes.trailing_zeros(),
        shared: true,
        handles: match &part.handles {
            Some(handles) => handles.clone(),
            None => (0..all.unwrap_or(0).min(MOST_HANDLES)).collect(),
        },
    };
    let wanted: Vec<Wanted> = parts.iter().map(wanted).collect();
    let parted = drive.with(&wanted);
    parted.map_err(|error| CommandError::wrong_use(format!("--namespaces: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(Option<u64>, Option<Vec<u16>>)> {
        let NamespaceList(parts) = text.parse().unwrap();
        let pairs = parts.into_iter().map(|part| (part.bytes, part.handles));
        pairs.collect()
    }

    #[test]
    fn a_list_says_sizes_and_handles() {
        assert_eq!(parts("none"), []);
        assert_eq!(parts("rest"), [(None, None)]);
        assert_eq!(
            parts("2MiB:0-2+7,rest:3"),
            [
                (Some(2 << 20), Some(vec![0, 1, 2, 7])),
                (None, Some(vec![3]))
            ]
        );
    }

    #[test]
    fn what_is_no_list_is_an_error_that_says_why() {
        for (text, word) in [
            ("rest,1GiB", "last"),
            ("1GiB:", "0-3+6"),
            ("1GiB:3-1", "0-3+6"),
            ("1GiB:3-1+5", "0-3+6"),
            ("1GiB:70000", "0-3+6"),
            ("", "size"),
            (&"1MiB,".repeat(128), "size"),
        ] {
            let error = text.parse::<NamespaceList>().unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
