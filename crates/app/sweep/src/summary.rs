//! The distribution of figures over the traces of a sweep: a mean would hide the volumes that suffer.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use anabranch_compare::Result;
use serde::Serialize;

use crate::cells::{Cell, cells};

/// The scheme with which groups are compared.
const BASELINE: &str = anabranch_replay::ORDINARY;

/// With fewer values than this only the least and the most are shown, since tenths would mean little (our choice).
pub const FEW: usize = 20;

/// Quantiles of some values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    /// The least value.
    pub least: f64,
    /// A tenth of the values lie at or below it.
    pub p10: f64,
    /// A quarter of the values lie at or below it.
    pub p25: f64,
    /// Half of the values lie at or below it: the median.
    pub p50: f64,
    /// Three quarters of the values lie at or below it.
    pub p75: f64,
    /// Nine tenths of the values lie at or below it.
    pub p90: f64,
    /// 99 of 100 values lie at or below it.
    pub p99: f64,
    /// The largest value.
    pub most: f64,
}

impl Quantiles {
    /// The quantiles of `values`, by the nearest rank; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Quantiles> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values[rank.saturating_sub(1).min(last)]
        };
        Some(Quantiles {
            least: at(0.0),
            p10: at(0.1),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            most: at(1.0),
        })
    }
}

/// One scheme on one kind of drive, over all traces and seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The drive: profile, fill or size, and the settings that tell it from others.
    pub drive: String,
    /// Name of the scheme, with its parameters.
    pub scheme: String,
    /// Whether it is a bound, which knows the future and cannot be built.
    pub is_bound: bool,
    /// Cells with writes.
    pub cells: usize,
    /// Cells whose WAF had settled.
    pub steady: usize,
    /// Write amplification of the cells.
    pub waf: Option<Quantiles>,
    /// WAF of all cells' bytes together, as in a fleet of such drives.
    pub waf_of_all: Option<f64>,
    /// WAF of an ordinary drive, `baseline+gc`, over the cell's, where both were swept.
    pub lifetime_vs_ordinary: Option<Quantiles>,
    /// The share of an ordinary drive's copies that the cell saves, where that copied any; below 0 where it copies more.
    pub copies_removed: Option<Quantiles>,
    /// Cells that write as little as the best scheme on the same drive and trace. Several may tie, and bounds do not
    /// compete.
    pub best: usize,
    /// Cells that copied more than an ordinary drive did.
    pub worse_than_ordinary: usize,
}

/// Sums a sweep's directory up: groups by drive and scheme, in the order of their names.
///
/// # Errors
/// When the directory holds no sweep, or a file cannot be read.
pub fn summary(directory: &Path) -> Result<Vec<Group>> {
    Ok(summed_up(&cells(directory)?))
}

/// Sums cells up, as [`summary`] does.
pub fn summed_up(cells: &[Cell]) -> Vec<Group> {
    let rivals = Rivals::of(cells);
    let mut groups: BTreeMap<(String, &str), Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        let key = (cell.drive.to_string(), cell.scheme.as_str());
        groups.entry(key).or_default().push(cell);
    }
    let group = |((drive, scheme), cells)| rivals.group(drive, scheme, cells);
    groups.into_iter().map(group).collect()
}

/// The cells with which each cell is compared.
struct Rivals<'a> {
    /// The cell of the ordinary drive in each comparison.
    bases: HashMap<&'a str, &'a Cell>,
    /// The fewest media bytes that a scheme of each comparison writes; bounds do not count.
    least_bytes: HashMap<&'a str, u64>,
}

impl Rivals<'_> {
    fn of(cells: &[Cell]) -> Rivals<'_> {
        let (mut bases, mut least_bytes) = (HashMap::new(), HashMap::new());
        for cell in cells {
            let comparison = cell.comparison.as_str();
            if cell.scheme == BASELINE {
                bases.insert(comparison, cell);
            }
            if !cell.is_bound {
                let least = least_bytes.entry(comparison).or_insert(cell.media_bytes);
                *least = cell.media_bytes.min(*least);
            }
        }
        Rivals { bases, least_bytes }
    }

    fn group(&self, drive: String, scheme: &str, cells: Vec<&Cell>) -> Group {
        let base = |cell: &Cell| self.bases.get(cell.comparison.as_str()).copied();
        let lifetimes = cells
            .iter()
            .filter_map(|cell| Some(base(cell)?.waf? / cell.waf?));
        let lifetimes: Vec<f64> = lifetimes.collect();
        let removed = cells.iter().filter_map(|cell| {
            let copied = base(cell)?.copied_bytes;
            (copied > 0).then(|| 1.0 - cell.copied_bytes as f64 / copied as f64)
        });
        let removed: Vec<f64> = removed.collect();
        let best = |cell: &&&Cell| {
            let least = self.least_bytes.get(cell.comparison.as_str());
            !cell.is_bound && least == Some(&cell.media_bytes)
        };
        let wafs: Vec<f64> = cells.iter().filter_map(|cell| cell.waf).collect();
        let host: u64 = cells.iter().map(|cell| cell.host_page_bytes).sum();
        let media: u64 = cells.iter().map(|cell| cell.media_bytes).sum();
        Group {
            drive,
            scheme: scheme.to_owned(),
            is_bound: cells.iter().any(|cell| cell.is_bound),
            cells: wafs.len(),
            steady: cells.iter().filter(|cell| cell.steady).count(),
            waf: Quantiles::of(wafs),
            waf_of_all: (host > 0).then(|| media as f64 / host as f64),
            best: cells.iter().filter(best).count(),
            worse_than_ordinary: lifetimes.iter().filter(|&&times| times < 1.0).count(),
            lifetime_vs_ordinary: Quantiles::of(lifetimes),
            copies_removed: Quantiles::of(removed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::GridDrive;

    fn cell(trace: &str, scheme: &str, copied_bytes: u64) -> Cell {
        Cell {
            comparison: trace.into(),
            trace: trace.into(),
            seed: 0,
            drive: GridDrive::default(),
            scheme: scheme.into(),
            is_bound: scheme == "oracle",
            host_page_bytes: 100,
            media_bytes: 100 + copied_bytes,
            copied_bytes,
            waf: Some((100 + copied_bytes) as f64 / 100.0),
            steady: true,
        }
    }

    #[test]
    fn who_is_best_is_counted_volume_by_volume_and_without_bounds() {
        let groups = summed_up(&[
            cell("a", "baseline+gc", 100),
            cell("a", "sepbit", 50),
            cell("a", "oracle", 0),
            cell("b", "baseline+gc", 20),
            cell("b", "sepbit", 30),
            cell("b", "oracle", 10),
            cell("c", "baseline+gc", 0),
            cell("c", "sepbit", 0),
            cell("c", "oracle", 0),
        ]);
        let of = |name: &str| groups.iter().find(|group| group.scheme == name).unwrap();
        let (base, sepbit) = (of("baseline+gc"), of("sepbit"));
        assert_eq!((base.best, sepbit.best, of("oracle").best), (2, 2, 0));
        assert_eq!((sepbit.cells, sepbit.worse_than_ordinary), (3, 1));
        let removed = sepbit.copies_removed.unwrap();
        assert_eq!((removed.least, removed.most), (-0.5, 0.5));
        assert_eq!(base.lifetime_vs_ordinary.unwrap().p50, 1.0);
    }

    #[test]
    fn quantiles_are_values_that_occur() {
        let found = Quantiles::of((1..=100).map(f64::from).collect()).unwrap();
        assert_eq!((found.least, found.p10, found.p50), (1.0, 10.0, 50.0));
        assert_eq!((found.p90, found.p99, found.most), (90.0, 99.0, 100.0));
        let one = Quantiles::of(vec![3.0]).unwrap();
        assert_eq!((one.least, one.p99), (3.0, 3.0));
        assert_eq!(Quantiles::of(Vec::new()), None);
    }
}
