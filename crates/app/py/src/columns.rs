//! Columns of tables from elsewhere, converted to a trace's columns.

use std::sync::Arc;

use anabranch_trace::{ArrowTrace, Operation, WriteHint};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, RecordBatch, StringArray, UInt8Array,
    UInt32Array, UInt64Array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use pyo3::PyResult;

use crate::errors::usage;

/// A batch with the trace's columns, whatever its own order. Columns of the right type stay where
/// they are, others are cast, and missing ones get the value for "not known". Only `offset_bytes`
/// and `length_bytes` must exist.
pub fn traced(batch: &RecordBatch) -> PyResult<RecordBatch> {
    let schema = ArrowTrace::columns();
    let rows = batch.num_rows();
    let columns = schema
        .fields()
        .iter()
        .map(|field| match batch.column_by_name(field.name()) {
            Some(found) => fitted(field.name(), found, field.data_type()),
            None => absent(field.name(), rows),
        })
        .collect::<PyResult<Vec<ArrayRef>>>()?;
    RecordBatch::try_new(schema, columns).map_err(usage)
}

/// Casts a column to the type it must have.
fn fitted(name: &str, found: &ArrayRef, wanted: &DataType) -> PyResult<ArrayRef> {
    if found.null_count() > 0 {
        return Err(usage(format!(
            "column {name} has nulls; fill them in first"
        )));
    }
    if found.data_type() == wanted {
        return Ok(Arc::clone(found));
    }
    // Errors instead of nulls where a value does not fit.
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let cast = |array: &ArrayRef, to: &DataType| {
        let fit = cast_with_options(array, to, &strict);
        fit.map_err(|error| usage(format!("column {name}: {error}")))
    };
    if matches!(wanted, DataType::Dictionary(..)) && found.data_type().is_integer() {
        let codes = cast(found, &DataType::UInt8)?;
        return coded(name, &codes);
    }
    if matches!(wanted, DataType::Dictionary(..)) {
        let words = cast(found, &DataType::Utf8)?;
        return cast(&words, wanted);
    }
    cast(found, wanted)
}

/// Converts codes of operations and hints to their words.
fn coded(name: &str, codes: &ArrayRef) -> PyResult<ArrayRef> {
    let words: Vec<&str> = match name {
        "operation" => Operation::ALL.map(Operation::name).to_vec(),
        _ => WriteHint::ALL.map(WriteHint::name).to_vec(),
    };
    let codes = UInt8Array::from(codes.to_data());
    if let Some(wrong) = codes
        .values()
        .iter()
        .find(|&&code| usize::from(code) >= words.len())
    {
        return Err(usage(format!(
            "column {name}: {wrong} is none of 0 to {} ({})",
            words.len() - 1,
            words.join(", ")
        )));
    }
    let words = Arc::new(StringArray::from(words));
    let array = DictionaryArray::try_new(codes, words).map_err(usage)?;
    Ok(Arc::new(array))
}

/// A column of the values that stand for "not known": every request is a write, at time 0, without
/// a context.
fn absent(name: &str, rows: usize) -> PyResult<ArrayRef> {
    Ok(match name {
        "offset_bytes" | "length_bytes" => {
            return Err(usage(format!(
                "there is no column {name}: a trace needs offset_bytes and length_bytes"
            )));
        }
        "time_ns" => Arc::new(UInt64Array::from_value(0, rows)),
        "operation" => coded(name, &codes(Operation::Write as u8, rows))?,
        "hint" => coded(name, &codes(WriteHint::NotSet as u8, rows))?,
        "hint_granted" => Arc::new(BooleanArray::from(vec![false; rows])),
        _ => Arc::new(UInt32Array::from_value(0, rows)),
    })
}

fn codes(code: u8, rows: usize) -> ArrayRef {
    Arc::new(UInt8Array::from_value(code, rows))
}
