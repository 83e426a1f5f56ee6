//! How figures are distributed over the traces of a sweep: a mean hides the volumes that suffer.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    path::Path,
};

use anabranch_compare::{Fault, Outcome};
use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, UInt32Type, UInt64Type},
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Serialize;

use crate::finished::files;

/// What a group is measured against.
const BASELINE: &str = "baseline";

/// The values below which shares of all values lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    /// The least.
    pub least: f64,
    /// A tenth lie at or below it.
    pub p10: f64,
    /// A quarter.
    pub p25: f64,
    /// Half: the median.
    pub p50: f64,
    /// Three quarters.
    pub p75: f64,
    /// Nine tenths.
    pub p90: f64,
    /// 99 of a hundred.
    pub p99: f64,
    /// The largest.
    pub most: f64,
}

impl Quantiles {
    /// Of some values, by the nearest rank; `None` of none.
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
    /// The drive: profile, fill or size, and what else tells it from others.
    pub drive: String,
    /// The scheme.
    pub scheme: String,
    /// Cells with writes.
    pub cells: usize,
    /// Cells whose WAF had settled.
    pub steady: usize,
    /// Write amplification of the cells.
    pub waf: Option<Quantiles>,
    /// WAF of all bytes together: what a fleet of such drives wears.
    pub waf_of_all: Option<f64>,
    /// WAF of `baseline` over the cell's, where both were swept.
    pub lifetime_vs_baseline: Option<Quantiles>,
    /// Cells that copied more than `baseline` did.
    pub worse_than_baseline: usize,
}

/// A row, as far as it is summed up.
#[derive(Debug, Clone)]
struct Row {
    comparison: String,
    drive: String,
    scheme: String,
    host_bytes: u64,
    media_bytes: u64,
    waf: Option<f64>,
    steady: bool,
}

/// Sums a sweep's directory up: groups by drive and scheme, in the order of their names.
///
/// # Errors
/// When there is nothing there, or a file cannot be read.
pub fn summary(directory: &Path) -> Outcome<Vec<Group>> {
    let rows = rows(directory)?;
    let bases = rows.iter().filter(|row| row.scheme == BASELINE);
    let bases: HashMap<&str, f64> = bases
        .filter_map(|row| Some((row.comparison.as_str(), row.waf?)))
        .collect();
    let mut groups: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        let key = (row.drive.as_str(), row.scheme.as_str());
        groups.entry(key).or_default().push(row);
    }
    let group = |((drive, scheme), rows): ((&str, &str), Vec<&Row>)| {
        let lifetime = |row: &&Row| Some(bases.get(row.comparison.as_str())? / row.waf?);
        let lifetimes: Vec<f64> = rows.iter().filter_map(lifetime).collect();
        let wafs: Vec<f64> = rows.iter().filter_map(|row| row.waf).collect();
        let host: u64 = rows.iter().map(|row| row.host_bytes).sum();
        let media: u64 = rows.iter().map(|row| row.media_bytes).sum();
        Group {
            drive: drive.to_owned(),
            scheme: scheme.to_owned(),
            cells: wafs.len(),
            steady: rows.iter().filter(|row| row.steady).count(),
            waf: Quantiles::of(wafs),
            waf_of_all: (host > 0).then(|| media as f64 / host as f64),
            worse_than_baseline: lifetimes.iter().filter(|&&times| times < 1.0).count(),
            lifetime_vs_baseline: Quantiles::of(lifetimes),
        }
    };
    Ok(groups.into_iter().map(group).collect())
}

fn rows(directory: &Path) -> Outcome<Vec<Row>> {
    let files = files(directory)?;
    if files.is_empty() {
        return Err(Fault::say(format!(
            "{} holds no cells of a sweep: `anabranch sweep GRID -o {0}` makes some",
            directory.display()
        )));
    }
    let mut rows = Vec::new();
    for path in files {
        let unread = |error: &dyn std::fmt::Display| {
            Fault::say(format!("{} is no part of a sweep: {error}", path.display()))
        };
        let file = File::open(&path).map_err(|error| unread(&error))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file);
        let reader = builder.and_then(|builder| builder.build());
        for batch in reader.map_err(|error| unread(&error))? {
            let batch = batch.map_err(|error| unread(&error))?;
            let read = read(&batch).ok_or_else(|| unread(&"its columns are others"))?;
            rows.extend(read);
        }
    }
    Ok(rows)
}

fn read(batch: &RecordBatch) -> Option<Vec<Row>> {
    let texts = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let counts = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<UInt64Type>();
    let smalls = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<UInt32Type>();
    let reals = |name: &str| {
        batch
            .column_by_name(name)?
            .as_primitive_opt::<Float64Type>()
    };
    let (comparison, device, scheme) = (texts("comparison")?, texts("device")?, texts("scheme")?);
    let (victim, unit) = (texts("victim_rule")?, counts("unit_bytes")?);
    let (host, internal) = (smalls("host_streams")?, smalls("internal_streams")?);
    let (host_bytes, media_bytes) = (counts("host_bytes")?, counts("media_bytes")?);
    let (logical, physical) = (counts("logical_bytes")?, counts("physical_bytes")?);
    let (waf, fill) = (reals("waf")?, reals("fill")?);
    let steady = batch.column_by_name("steady")?.as_boolean_opt()?;
    let row = |at: usize| {
        // Filled drives are of many sizes, and one kind; their spare is rounded up to whole units.
        let size = match fill.is_valid(at) {
            true => format!("{:.1} % full", 100.0 * fill.value(at)),
            false => {
                let spare = physical.value(at) as f64 / logical.value(at).max(1) as f64 - 1.0;
                format!("{} bytes, {:.1} % spare", logical.value(at), 100.0 * spare)
            }
        };
        Row {
            comparison: comparison.value(at).to_owned(),
            drive: format!(
                "{}: {size}, units of {} bytes, {}, {}+{} streams",
                device.value(at),
                unit.value(at),
                victim.value(at),
                host.value(at),
                internal.value(at)
            ),
            scheme: scheme.value(at).to_owned(),
            host_bytes: host_bytes.value(at),
            media_bytes: media_bytes.value(at),
            waf: waf.is_valid(at).then(|| waf.value(at)),
            steady: steady.value(at),
        }
    };
    Some((0..batch.num_rows()).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
