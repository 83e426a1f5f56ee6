//! A sweep's directory as a page.

use std::path::PathBuf;

use anabranch_compare::{CompareError, Result};
use anabranch_report::{Fleet, FleetDrive, FleetScheme};
use serde_json::Value;

use crate::{Cell, cells, summed_up};

/// The scheme with which the others are compared.
const BASELINE: &str = anabranch_replay::ORDINARY;

/// Collects the data for the page of these sweeps.
///
/// # Errors
/// When one of the directories holds no sweep, or a file there cannot be read.
pub fn fleet(directories: &[PathBuf]) -> Result<Fleet> {
    let mut all = Vec::new();
    for directory in directories {
        all.extend(cells(directory)?);
    }
    // In the order people count in, whoever finished first.
    all.sort_by(|one, other| key(one).cmp(&key(other)));
    let mut fleet = Fleet::default();
    for cell in &all {
        let trace = place(
            &mut fleet.traces,
            |name| *name == cell.trace,
            || cell.trace.clone(),
        );
        let name = cell.drive.to_string();
        let settings = serde_json::to_value(&cell.drive).map_err(CompareError::work)?;
        let drive = place(
            &mut fleet.drives,
            |drive| drive.name == name,
            || FleetDrive {
                name: name.clone(),
                settings,
            },
        );
        let scheme = place(
            &mut fleet.schemes,
            |scheme| scheme.name == cell.scheme,
            || FleetScheme {
                name: cell.scheme.clone(),
                is_bound: cell.is_bound,
                is_baseline: cell.scheme == BASELINE,
            },
        );
        let (host, media, copied) = (cell.host_page_bytes, cell.media_bytes, cell.copied_bytes);
        fleet.cells.push((
            trace,
            drive,
            scheme,
            cell.seed,
            host,
            media,
            copied,
            cell.steady,
        ));
    }
    let groups = summed_up(&all).into_iter().map(serde_json::to_value);
    fleet.groups = groups
        .collect::<Result<Vec<Value>, _>>()
        .map_err(CompareError::work)?;
    Ok(fleet)
}

/// The key that cells are sorted by: trace, drive, scheme with `baseline` first, seed.
fn key(cell: &Cell) -> (&str, String, bool, &str, u64) {
    let is_rival = cell.scheme != BASELINE;
    (
        &cell.trace,
        cell.drive.to_string(),
        is_rival,
        &cell.scheme,
        cell.seed,
    )
}

/// The index of a value in a list, to which it is added if it is new. The search begins at the end,
/// since sorted cells repeat the last values.
fn place<T>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    if let Some(found) = list.iter().rposition(is_it) {
        return found;
    }
    list.push(new());
    list.len() - 1
}
