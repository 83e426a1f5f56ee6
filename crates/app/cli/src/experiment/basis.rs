//! The basis of a claim's figures: the drives, whether they had settled, and the commands to repeat.

use serde::Serialize;

use super::{
    cell_findings::{CellFindings, percent},
    grid::Again,
};

/// A description of the comparisons that a claim looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Basis {
    /// Fill of the drives: at their fullest moment if the experiment says so, otherwise at the end.
    pub fill: String,
    /// The size of their erase units.
    pub unit: String,
    /// Their flash beyond the bytes the host sees, as a share of these.
    pub spare: String,
    /// Whether the schemes looked at had settled: `yes`, `no`, or `in part`.
    pub steady: String,
    /// The commands that repeat the comparisons, with only the schemes looked at.
    pub commands: Vec<Again>,
}

/// The origin of a figure.
#[derive(Debug, Clone, Copy)]
pub enum RowSource<'a> {
    /// A scheme of a comparison, by its place in the result.
    Scheme(&'a CellFindings, usize),
    /// The lifetimes of a trace.
    Lifetimes,
}

impl Basis {
    /// The basis of all comparisons that a claim looked at.
    pub fn new(sources: &[RowSource<'_>]) -> Basis {
        let mut cells: Vec<(&CellFindings, Vec<usize>)> = Vec::new();
        for source in sources {
            let RowSource::Scheme(cell, scheme) = *source else {
                continue;
            };
            match cells
                .iter_mut()
                .find(|(known, _)| std::ptr::eq(*known, cell))
            {
                Some((_, schemes)) if schemes.contains(&scheme) => {}
                Some((_, schemes)) => schemes.push(scheme),
                None => cells.push((cell, vec![scheme])),
            }
        }
        let each =
            |of: fn(&CellFindings) -> String| distinct(cells.iter().map(|(cell, _)| of(cell)));
        Basis {
            fill: each(CellFindings::fill),
            unit: each(|cell| size(cell.result.device.unit_bytes)),
            spare: each(|cell| percent(cell.over_provisioning, 1)),
            steady: steady(&cells),
            commands: cells
                .iter()
                .map(|(cell, schemes)| cell.again(schemes))
                .collect(),
        }
    }

    /// Text on the drive and on whether it had settled, for one cell of a table.
    pub fn words(&self) -> String {
        if self.commands.is_empty() {
            "lifetimes of the trace".to_owned()
        } else {
            format!(
                "{}; {}; {}; {}",
                self.fill, self.unit, self.spare, self.steady
            )
        }
    }
}

fn steady(cells: &[(&CellFindings, Vec<usize>)]) -> String {
    let verdicts = cells.iter().flat_map(|(cell, schemes)| {
        let verdict = |scheme: &usize| cell.result.schemes.get(*scheme).map(|one| one.steady);
        schemes.iter().filter_map(verdict)
    });
    let (yes, no): (Vec<bool>, Vec<bool>) = verdicts.partition(|steady| *steady);
    let words = match (yes.is_empty(), no.is_empty()) {
        (true, true) => "",
        (false, true) => "yes",
        (true, false) => "no",
        (false, false) => "in part",
    };
    words.to_owned()
}

fn distinct(words: impl Iterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen.join(", ")
}

/// Bytes as text: whole MiB or GiB if they are, else MiB by two decimals.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ => format!("{:.2} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}
