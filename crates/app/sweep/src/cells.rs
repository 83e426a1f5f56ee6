//! The rows of a sweep, with the columns that a summary needs.

use std::{collections::HashMap, fmt, fs::File, path::Path};

use anabranch_compare::{CompareError, Result};
use anabranch_placement::{Bytes, SchemeSpec};
use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, UInt32Type, UInt64Type},
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Serialize;

use crate::finished::files;

/// The result of one scheme on one drive fed with one trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The name shared by all cells that differ in the scheme only.
    pub comparison: String,
    /// The trace, as the grid named it.
    pub trace: String,
    /// Seed of everything random.
    pub seed: u64,
    /// The kind of drive.
    pub drive: GridDrive,
    /// Name of the scheme, with its parameters.
    pub scheme: String,
    /// Whether it is a bound, which knows the future and cannot be built.
    pub is_bound: bool,
    /// Bytes that the host wrote, in whole pages.
    pub host_page_bytes: u64,
    /// Bytes programmed into the flash.
    pub media_bytes: u64,
    /// Bytes that garbage collection copied.
    pub copied_bytes: u64,
    /// Media bytes over host bytes; `None` without writes.
    pub waf: Option<f64>,
    /// Whether the WAF had settled.
    pub steady: bool,
}

/// A kind of drive: the settings that grids vary. Drives filled to one share have many sizes, and are one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GridDrive {
    /// The profile.
    pub device: String,
    /// The share of the drive that the trace's written pages fill; `None` where the drive has a size of its own.
    pub fill: Option<f64>,
    /// Bytes the host sees, where there is no fill.
    pub logical_bytes: Option<u64>,
    /// Spare flash as a share of the bytes the host sees; with a fill, before it is rounded up to whole units, which
    /// differs from size to size. `None` in sweeps of older versions.
    pub spare: Option<f64>,
    /// Bytes of an erase unit.
    pub unit_bytes: u64,
    /// The rule that chooses victims of garbage collection.
    pub victim_rule: String,
    /// Streams that the host may name on this cell's drive.
    pub host_streams: u32,
    /// Streams that only garbage collection writes.
    pub internal_streams: u32,
}

impl fmt::Display for GridDrive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ", self.device)?;
        match (self.fill, self.logical_bytes) {
            (None, Some(logical)) => write!(f, "{}", Bytes(logical).rounded())?,
            (fill, _) => write!(f, "{} % full", tenths(fill.unwrap_or(0.0)))?,
        }
        if let Some(spare) = self.spare {
            write!(f, ", {} % spare", tenths(spare))?;
        }
        write!(
            f,
            ", units of {}, {}, {}+{} streams",
            Bytes(self.unit_bytes).rounded(),
            self.victim_rule,
            self.host_streams,
            self.internal_streams
        )
    }
}

/// A share in percent, rounded to tenths.
fn tenths(share: f64) -> f64 {
    (1000.0 * share).round() / 10.0
}

/// Reads every cell of a sweep's directory, in the order of the files.
///
/// # Errors
/// When the directory holds no sweep, or a file cannot be read.
pub fn cells(directory: &Path) -> Result<Vec<Cell>> {
    let files = files(directory)?;
    if files.is_empty() {
        return Err(CompareError::wrong_use(format!(
            "{} holds no cells of a sweep: `anabranch sweep GRID -o {0}` makes some",
            directory.display()
        )));
    }
    let (mut cells, mut bounds) = (Vec::new(), HashMap::new());
    for path in files {
        let unread = |error: &dyn fmt::Display| {
            CompareError::wrong_use(format!("{} is no part of a sweep: {error}", path.display()))
        };
        let file = File::open(&path).map_err(|error| unread(&error))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file);
        let reader = builder.and_then(|builder| builder.build());
        for batch in reader.map_err(|error| unread(&error))? {
            let batch = batch.map_err(|error| unread(&error))?;
            let read = read(&batch).ok_or_else(|| unread(&"its columns are others"))?;
            cells.extend(read);
        }
    }
    for cell in &mut cells {
        let is_bound = match bounds.get(&cell.scheme) {
            Some(known) => *known,
            None => *bounds
                .entry(cell.scheme.clone())
                .or_insert(is_bound(&cell.scheme)),
        };
        cell.is_bound = is_bound;
    }
    Ok(cells)
}

/// Whether the scheme of that name is a bound. Schemes that name files are not.
fn is_bound(scheme: &str) -> bool {
    let read = |_: &str| Ok(String::new());
    SchemeSpec::read(scheme, &read).is_ok_and(|spec| spec.is_bound())
}

fn read(batch: &RecordBatch) -> Option<Vec<Cell>> {
    let texts = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let counts = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<UInt64Type>();
    let smalls = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<UInt32Type>();
    let reals = |name: &str| {
        batch
            .column_by_name(name)?
            .as_primitive_opt::<Float64Type>()
    };
    let (comparison, trace) = (texts("comparison")?, texts("trace")?);
    let (device, scheme) = (texts("device")?, texts("scheme")?);
    let (victim, unit, seed) = (
        texts("victim_rule")?,
        counts("unit_bytes")?,
        counts("seed")?,
    );
    let (host, internal) = (smalls("host_streams")?, smalls("internal_streams")?);
    let (host_page_bytes, media_bytes) = (counts("host_page_bytes")?, counts("media_bytes")?);
    let copied_bytes = counts("copied_bytes")?;
    let (logical, physical) = (counts("logical_bytes")?, counts("physical_bytes")?);
    let (waf, fill) = (reals("waf")?, reals("fill")?);
    let asked = reals("over_provisioning");
    let steady = batch.column_by_name("steady")?.as_boolean_opt()?;
    let drive = |at: usize| {
        let fill = fill.is_valid(at).then(|| fill.value(at));
        let spare = match fill {
            Some(_) => asked.map(|asked| asked.value(at)),
            None => Some(physical.value(at) as f64 / logical.value(at).max(1) as f64 - 1.0),
        };
        GridDrive {
            device: device.value(at).to_owned(),
            fill,
            logical_bytes: fill.is_none().then(|| logical.value(at)),
            spare,
            unit_bytes: unit.value(at),
            victim_rule: victim.value(at).to_owned(),
            host_streams: host.value(at),
            internal_streams: internal.value(at),
        }
    };
    let cell = |at: usize| Cell {
        comparison: comparison.value(at).to_owned(),
        trace: trace.value(at).to_owned(),
        seed: seed.value(at),
        drive: drive(at),
        scheme: scheme.value(at).to_owned(),
        is_bound: false,
        host_page_bytes: host_page_bytes.value(at),
        media_bytes: media_bytes.value(at),
        copied_bytes: copied_bytes.value(at),
        waf: waf.is_valid(at).then(|| waf.value(at)),
        steady: steady.value(at),
    };
    Some((0..batch.num_rows()).map(cell).collect())
}
