//! Records to columns and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, RecordBatch, StringArray, UInt8Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::io::{ContextId, FileId, Io, Operation, WriteHint};
use crate::record::{Limits, RecordError};

/// The columns of a trace file in memory: each string is a code into a short dictionary.
pub(super) fn schema() -> SchemaRef {
    let word = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("time_ns", DataType::UInt64, false),
        Field::new("operation", word.clone(), false),
        Field::new("offset_bytes", DataType::UInt64, false),
        Field::new("length_bytes", DataType::UInt64, false),
        Field::new("context", DataType::UInt32, false),
        Field::new("file", DataType::UInt32, false),
        Field::new("hint", word, false),
        Field::new("hint_granted", DataType::Boolean, false),
        Field::new("tenant", DataType::UInt32, false),
    ]))
}

/// Records on their way into a file, column by column.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) time_ns: Vec<u64>,
    pub(super) operation: Vec<u8>,
    pub(super) offset_bytes: Vec<u64>,
    pub(super) length_bytes: Vec<u64>,
    pub(super) context: Vec<u32>,
    pub(super) file: Vec<u32>,
    pub(super) hint: Vec<u8>,
    pub(super) hint_granted: Vec<bool>,
    pub(super) tenant: Vec<u32>,
}

impl Columns {
    pub(super) fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Appends records, column by column.
    pub(super) fn extend(&mut self, ios: &[Io]) {
        self.time_ns.extend(ios.iter().map(|io| io.time_ns));
        self.operation
            .extend(ios.iter().map(|io| io.operation as u8));
        self.offset_bytes
            .extend(ios.iter().map(|io| io.offset_bytes));
        self.length_bytes
            .extend(ios.iter().map(|io| io.length_bytes));
        self.context.extend(ios.iter().map(|io| io.context.0));
        self.file.extend(ios.iter().map(|io| io.file.0));
        self.hint.extend(ios.iter().map(|io| io.hint as u8));
        self.hint_granted
            .extend(ios.iter().map(|io| io.hint_granted));
        self.tenant.extend(ios.iter().map(|io| io.tenant));
    }

    /// Removes all rows, and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.time_ns.clear();
        self.operation.clear();
        self.offset_bytes.clear();
        self.length_bytes.clear();
        self.context.clear();
        self.file.clear();
        self.hint.clear();
        self.hint_granted.clear();
        self.tenant.clear();
    }

    /// The columns as one batch.
    pub(super) fn into_batch(self, schema: SchemaRef) -> Result<RecordBatch, ArrowError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(self.time_ns)),
            words(self.operation, Operation::ALL.map(Operation::name))?,
            Arc::new(UInt64Array::from(self.offset_bytes)),
            Arc::new(UInt64Array::from(self.length_bytes)),
            Arc::new(UInt32Array::from(self.context)),
            Arc::new(UInt32Array::from(self.file)),
            words(self.hint, WriteHint::ALL.map(WriteHint::name))?,
            Arc::new(BooleanArray::from(self.hint_granted)),
            Arc::new(UInt32Array::from(self.tenant)),
        ];
        RecordBatch::try_new(schema, columns)
    }
}

fn words<const N: usize>(codes: Vec<u8>, names: [&str; N]) -> Result<ArrayRef, ArrowError> {
    let names = Arc::new(StringArray::from_iter_values(names));
    let array = DictionaryArray::try_new(UInt8Array::from(codes), names)?;
    Ok(Arc::new(array))
}

/// The reason why a batch cannot be used.
#[derive(Debug)]
pub(super) enum BatchError {
    /// The columns differ from what the file's own metadata promised.
    Columns,
    /// A record cannot be used.
    Record {
        /// The record's row in the batch.
        row: usize,
        fault: RecordError,
    },
}

/// Appends a batch's records to `ios`, each checked against `limits`. All or none are appended.
pub(super) fn decode(
    batch: &RecordBatch,
    limits: Limits,
    ios: &mut Vec<Io>,
) -> Result<(), BatchError> {
    let view = View::of(batch).ok_or(BatchError::Columns)?;
    let before = ios.len();
    ios.reserve(batch.num_rows());
    for row in 0..batch.num_rows() {
        match view
            .record(row)
            .and_then(|io| limits.check(&io).map(|()| io))
        {
            Ok(io) => ios.push(io),
            Err(fault) => {
                ios.truncate(before);
                return Err(BatchError::Record { row, fault });
            }
        }
    }
    Ok(())
}

/// A batch's columns, unpacked. All have the same length.
struct View<'a> {
    time_ns: &'a [u64],
    operation: Words<'a, Operation>,
    offset_bytes: &'a [u64],
    length_bytes: &'a [u64],
    context: &'a [u32],
    file: &'a [u32],
    hint: Words<'a, WriteHint>,
    hint_granted: &'a BooleanArray,
    tenant: &'a [u32],
}

impl<'a> View<'a> {
    fn of(batch: &'a RecordBatch) -> Option<View<'a>> {
        let [
            time_ns,
            operation,
            offset,
            length,
            context,
            file,
            hint,
            granted,
            tenant,
        ] = batch.columns()
        else {
            return None;
        };
        if batch.columns().iter().any(|column| column.null_count() > 0) {
            return None;
        }
        Some(View {
            time_ns: time_ns.as_primitive_opt::<UInt64Type>()?.values(),
            operation: Words::of(operation, Operation::from_name)?,
            offset_bytes: offset.as_primitive_opt::<UInt64Type>()?.values(),
            length_bytes: length.as_primitive_opt::<UInt64Type>()?.values(),
            context: context.as_primitive_opt::<UInt32Type>()?.values(),
            file: file.as_primitive_opt::<UInt32Type>()?.values(),
            hint: Words::of(hint, WriteHint::from_name)?,
            hint_granted: granted.as_boolean_opt()?,
            tenant: tenant.as_primitive_opt::<UInt32Type>()?.values(),
        })
    }

    fn record(&self, row: usize) -> Result<Io, RecordError> {
        Ok(Io {
            time_ns: self.time_ns[row],
            operation: self.operation.get(row).map_err(RecordError::Operation)?,
            offset_bytes: self.offset_bytes[row],
            length_bytes: self.length_bytes[row],
            context: ContextId(self.context[row]),
            file: FileId(self.file[row]),
            hint: self.hint.get(row).map_err(RecordError::Hint)?,
            hint_granted: self.hint_granted.value(row),
            tenant: self.tenant[row],
        })
    }
}

/// A column of words: the codes, and the value of each code.
struct Words<'a, T> {
    codes: &'a [u8],
    meanings: Vec<Option<T>>,
    names: &'a StringArray,
}

impl<'a, T: Copy> Words<'a, T> {
    fn of(column: &'a dyn Array, meaning: fn(&str) -> Option<T>) -> Option<Words<'a, T>> {
        let column = column.as_dictionary_opt::<UInt8Type>()?;
        let names = column.values().as_string_opt::<i32>()?;
        let meanings = names.iter().map(|name| meaning(name?)).collect();
        let codes = column.keys().values();
        Some(Words {
            codes,
            meanings,
            names,
        })
    }

    /// The row's value, or as an error the word that has none.
    fn get(&self, row: usize) -> Result<T, String> {
        let code = usize::from(self.codes[row]);
        match self.meanings.get(code) {
            Some(Some(value)) => Ok(*value),
            Some(None) => Err(self.names.value(code).into()),
            None => Err(String::new()),
        }
    }
}
