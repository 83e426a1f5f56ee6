//! A cell as a row of a Parquet file.

use std::sync::Arc;

use anabranch_compare::{CompareError, Result};
use anabranch_replay::{Comparison, SchemeResult};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};
use serde::Serialize;

use crate::batch::{Batch, Common};

/// The column of the whole result, which alone is worth compressing: a batch has few rows, and to prepare to compress
/// the other columns costs more than to write them.
const OUTCOME: &str = "outcome";
/// Level of zstd, as for traces: higher levels gain little.
const ZSTD_LEVEL: i32 = 3;

/// The sources of a row's values.
struct Cell<'a> {
    common: &'a Common,
    outcome: &'a Comparison,
    scheme: &'a SchemeResult,
}

/// A column: its name, and its value in a row.
type Column = (&'static str, Value);

/// The function for a value in a row; those with `Option` may be null.
enum Value {
    Text(fn(&Cell<'_>) -> Result<String>),
    Flag(fn(&Cell<'_>) -> bool),
    Small(fn(&Cell<'_>) -> u32),
    Count(fn(&Cell<'_>) -> u64),
    MaybeCount(fn(&Cell<'_>) -> Option<u64>),
    MaybeReal(fn(&Cell<'_>) -> Option<f64>),
}

/// Every column, in order. Columns are added behind these; none is renamed (docs/sweeps.md).
const COLUMNS: &[Column] = &[
    (
        "cell",
        Value::Text(|row| Ok(row.common.cell(&row.scheme.name))),
    ),
    ("comparison", Value::Text(|row| Ok(row.common.comparison()))),
    ("version", Value::Text(|row| Ok(row.common.version.clone()))),
    ("trace", Value::Text(|row| Ok(row.common.trace.clone()))),
    ("trace_bytes", Value::Count(|row| row.common.trace_bytes)),
    ("quick", Value::Flag(|row| row.common.quick)),
    ("fill", Value::MaybeReal(|row| row.common.fill)),
    ("pack", Value::Flag(|row| row.common.pack)),
    ("no_discards", Value::Flag(|row| row.common.no_discards)),
    ("seed", Value::Count(|row| row.common.seed)),
    (
        "device",
        Value::Text(|row| Ok(row.outcome.device.profile.clone())),
    ),
    (
        "logical_bytes",
        Value::Count(|row| row.outcome.device.logical_bytes),
    ),
    (
        "physical_bytes",
        Value::Count(|row| row.outcome.device.physical_bytes),
    ),
    (
        "unit_bytes",
        Value::Count(|row| row.outcome.device.unit_bytes),
    ),
    (
        "page_bytes",
        Value::Small(|row| row.outcome.device.page_bytes),
    ),
    (
        "physical_units",
        Value::Small(|row| row.outcome.device.physical_units),
    ),
    (
        "victim_rule",
        Value::Text(|row| Ok(row.outcome.device.victim_rule.to_string())),
    ),
    (
        "host_streams",
        Value::Small(|row| row.outcome.device.host_streams.into()),
    ),
    (
        "internal_streams",
        Value::Small(|row| row.outcome.device.internal_streams.into()),
    ),
    ("scheme", Value::Text(|row| Ok(row.scheme.name.clone()))),
    (
        "parameters",
        Value::Text(|row| text(&row.scheme.parameters)),
    ),
    ("requests", Value::Count(|row| row.outcome.source.records)),
    (
        "lost_events",
        Value::Count(|row| row.outcome.source.lost_events),
    ),
    (
        "host_page_bytes",
        Value::Count(|row| row.scheme.host_page_bytes),
    ),
    ("media_bytes", Value::Count(|row| row.scheme.media_bytes)),
    ("copied_bytes", Value::Count(|row| row.scheme.copied_bytes)),
    ("erased_bytes", Value::Count(|row| row.scheme.erased_bytes)),
    (
        "discarded_bytes",
        Value::Count(|row| row.scheme.discarded_bytes),
    ),
    ("mapped_bytes", Value::Count(|row| row.scheme.mapped_bytes)),
    ("sealed_units", Value::Count(|row| row.scheme.sealed_units)),
    ("streams_used", Value::Small(|row| row.scheme.streams_used)),
    ("waf", Value::MaybeReal(|row| row.scheme.waf)),
    ("waf_window", Value::MaybeReal(|row| row.scheme.waf_window)),
    (
        "waf_second_half",
        Value::MaybeReal(|row| row.scheme.waf_second_half),
    ),
    ("steady", Value::Flag(|row| row.scheme.steady)),
    (
        "steady_reason",
        Value::Text(|row| Ok(row.scheme.steady_reason.clone())),
    ),
    ("read_only", Value::Flag(|row| row.scheme.read_only)),
    ("memory_bytes", Value::Count(|row| row.scheme.memory_bytes)),
    (
        "life_bytes",
        Value::MaybeCount(|row| row.scheme.wear.as_ref()?.life_bytes),
    ),
    (
        "elapsed_ns",
        Value::MaybeCount(|row| Some(row.scheme.time.as_ref()?.elapsed_ns)),
    ),
    (
        "write_p99_ns",
        Value::MaybeCount(|row| Some(row.scheme.time.as_ref()?.latency.write.p99_ns)),
    ),
    (
        "read_p99_ns",
        Value::MaybeCount(|row| Some(row.scheme.time.as_ref()?.latency.read.p99_ns)),
    ),
    ("drive", Value::Text(|row| text(&row.common.drive.config))),
    (OUTCOME, Value::Text(|row| text(row.scheme))),
    (
        "over_provisioning",
        Value::MaybeReal(|row| Some(row.common.drive.over_provisioning)),
    ),
    (
        "sampled_one_of",
        Value::MaybeCount(|row| {
            let thinned = row.common.drive.thinned;
            thinned.map(|thinned| u64::from(thinned.rate.pages()))
        }),
    ),
    (
        "waf_error",
        Value::MaybeReal(|row| row.scheme.sampled.as_ref()?.error),
    ),
];

fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(CompareError::work)
}

impl Value {
    fn field(&self, name: &str) -> Field {
        let (kind, nullable) = match self {
            Value::Text(_) => (DataType::Utf8, false),
            Value::Flag(_) => (DataType::Boolean, false),
            Value::Small(_) => (DataType::UInt32, false),
            Value::Count(_) => (DataType::UInt64, false),
            Value::MaybeCount(_) => (DataType::UInt64, true),
            Value::MaybeReal(_) => (DataType::Float64, true),
        };
        Field::new(name, kind, nullable)
    }

    fn array(&self, rows: &[Cell<'_>]) -> Result<ArrayRef> {
        Ok(match self {
            Value::Text(of) => {
                let texts = rows.iter().map(of).collect::<Result<Vec<String>>>()?;
                Arc::new(StringArray::from(texts))
            }
            Value::Flag(of) => Arc::new(rows.iter().map(of).map(Some).collect::<BooleanArray>()),
            Value::Small(of) => Arc::new(UInt32Array::from_iter_values(rows.iter().map(of))),
            Value::Count(of) => Arc::new(UInt64Array::from_iter_values(rows.iter().map(of))),
            Value::MaybeCount(of) => Arc::new(rows.iter().map(of).collect::<UInt64Array>()),
            Value::MaybeReal(of) => Arc::new(rows.iter().map(of).collect::<Float64Array>()),
        })
    }
}

/// The columns of a sweep's files, in order.
pub fn schema() -> SchemaRef {
    let fields = COLUMNS.iter().map(|(name, value)| value.field(name));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// The Parquet file of a batch.
pub(crate) fn file(batch: &Batch, outcome: &Comparison) -> Result<Vec<u8>> {
    // These figures depend on the schemes that happen to be in the same comparison, not on the cell.
    let apart = |scheme: &SchemeResult| SchemeResult {
        lifetime_vs_ordinary: None,
        gap_closed: Default::default(),
        ..scheme.clone()
    };
    let schemes: Vec<SchemeResult> = outcome.schemes.iter().map(apart).collect();
    let cell = |scheme| Cell {
        common: &batch.common,
        outcome,
        scheme,
    };
    let rows: Vec<Cell<'_>> = schemes.iter().map(cell).collect();
    let columns = COLUMNS.iter().map(|(_, value)| value.array(&rows));
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    let records = RecordBatch::try_new(schema(), columns).map_err(CompareError::work)?;
    let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(CompareError::work)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_column_compression(OUTCOME.into(), Compression::ZSTD(level))
        .set_created_by(concat!("anabranch ", env!("CARGO_PKG_VERSION")).into())
        .build();
    let mut bytes = Vec::new();
    let writer = ArrowWriter::try_new(&mut bytes, schema(), Some(properties));
    let mut writer = writer.map_err(CompareError::work)?;
    writer.write(&records).map_err(CompareError::work)?;
    writer.close().map_err(CompareError::work)?;
    Ok(bytes)
}
