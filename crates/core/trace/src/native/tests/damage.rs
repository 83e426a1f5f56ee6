use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;

use super::super::batch::{Columns, schema};
use super::super::metadata;
use super::*;
use crate::RecordError;

fn error_of(path: &Path) -> TraceError {
    let error = read(path).unwrap_err();
    assert!(
        error.to_string().contains(&*path.to_string_lossy()),
        "{error}"
    );
    error
}

fn error_of_bytes(bytes: &[u8]) -> TraceError {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, bytes).unwrap();
    error_of(file.path())
}

/// Writes a batch as another program would, with these metadata entries.
fn foreign(batch: &RecordBatch, entries: Vec<KeyValue>) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = ArrowWriter::try_new(file.reopen().unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    for entry in entries {
        writer.append_key_value_metadata(entry);
    }
    writer.close().unwrap();
    file
}

fn entries() -> Vec<KeyValue> {
    metadata::entries(Path::new("trace"), &some_tables()).unwrap()
}

fn with_entry(key: &str, value: &str) -> Vec<KeyValue> {
    let mut entries = entries();
    entries.retain(|entry| entry.key != key);
    entries.push(KeyValue::new(key.into(), String::from(value)));
    entries
}

fn batch_of(ios: &[Io]) -> RecordBatch {
    let mut columns = Columns::default();
    columns.extend(ios);
    columns.into_batch(schema()).unwrap()
}

/// The batch with another array as its column of that name.
fn with_column(batch: &RecordBatch, name: &str, array: ArrayRef, nullable: bool) -> RecordBatch {
    let place = batch.schema().index_of(name).unwrap();
    let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
    fields[place] = Arc::new(Field::new(name, array.data_type().clone(), nullable));
    let mut columns = batch.columns().to_vec();
    columns[place] = array;
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

#[test]
fn an_empty_file_is_an_error() {
    assert!(matches!(error_of_bytes(b""), TraceError::Empty { .. }));
}

#[test]
fn a_text_file_is_no_parquet_file() {
    for text in [
        "a",
        "PA",
        "time,offset\n1,2\n",
        "a text that ends like one PAR1",
    ] {
        assert!(matches!(
            error_of_bytes(text.as_bytes()),
            TraceError::NotParquet { .. }
        ));
    }
}

#[test]
fn a_directory_a_device_and_a_pipe_are_no_files() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in [directory.path(), Path::new("/dev/null"), &pipe] {
        assert!(matches!(error_of(path), TraceError::NotAFile { .. }));
    }
}

#[test]
fn a_missing_file_is_an_error() {
    let error = error_of(Path::new("/no/such/trace.parquet"));
    assert!(matches!(error, TraceError::Open { .. }));
}

#[test]
fn a_value_that_unpacks_to_megabytes_is_refused_before_it_is_unpacked() {
    let batch = batch_of(&some_ios(3));
    let long = "x".repeat(8 << 20);
    let words: ArrayRef = Arc::new(StringArray::from(vec!["write", "write", &long]));
    let file = foreign(&with_column(&batch, "operation", words, false), entries());
    let error = Reader::open(file.path()).unwrap_err().to_string();
    assert!(error.contains("\"operation\" unpacks to"), "{error}");
    // Many short values are as good as ever.
    let (_directory, path) = written(300_000);
    assert!(Reader::open(&path).is_ok());
}

#[test]
fn a_parquet_file_of_someone_else_is_foreign() {
    let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let file = foreign(&batch, Vec::new());
    assert!(matches!(error_of(file.path()), TraceError::Foreign { .. }));
}

#[test]
fn a_newer_schema_is_named() {
    let file = foreign(&batch_of(&some_ios(3)), with_entry("anabranch.schema", "2"));
    let error = error_of(file.path());
    assert!(matches!(&error, TraceError::Schema { found, .. } if found == "2"));
}

#[test]
fn tables_that_are_missing_or_wrong_are_an_error() {
    let unnumbered = serde_json::to_string(&[Context::unknown(), Context::unknown()]).unwrap();
    for entries in [
        vec![KeyValue::new("anabranch.schema".into(), String::from("1"))],
        with_entry("anabranch.contexts", "["),
        with_entry("anabranch.contexts", "[]"),
        with_entry("anabranch.contexts", &unnumbered),
        with_entry("anabranch.files", "[]"),
        with_entry("anabranch.files", r#"[{"name": "a"}]"#),
        with_entry("anabranch.capture", "{}"),
    ] {
        let file = foreign(&batch_of(&some_ios(3)), entries);
        let error = error_of(file.path());
        assert!(matches!(error, TraceError::Tables { .. }), "{error}");
    }
}

#[test]
fn a_field_that_a_later_version_added_is_passed_over() {
    let mut capture = serde_json::to_value(&some_tables().capture).unwrap();
    capture["cpus"] = 4.into();
    let ios = some_ios(3);
    let file = foreign(
        &batch_of(&ios),
        with_entry("anabranch.capture", &capture.to_string()),
    );
    assert_eq!(read(file.path()).unwrap(), (ios, some_tables()));
}

#[test]
fn a_column_behind_ours_is_passed_over() {
    let ios = some_ios(3);
    let batch = batch_of(&ios);
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        columns.push((field.name().clone(), column.clone()));
    }
    columns.push((
        "note".into(),
        Arc::new(StringArray::from(vec!["a", "b", "c"])),
    ));
    let wider = RecordBatch::try_from_iter(columns).unwrap();
    assert_eq!(read(foreign(&wider, entries()).path()).unwrap().0, ios);
}

#[test]
fn a_column_that_is_missing_or_of_another_type_is_named() {
    let batch = batch_of(&some_ios(2));
    let narrow: ArrayRef = Arc::new(UInt32Array::from(vec![1, 2]));
    let null: ArrayRef = Arc::new(UInt64Array::from(vec![Some(1), None]));
    for (batch, column) in [
        (
            batch.project(&[0, 1, 3, 4, 5, 6, 7, 8]).unwrap(),
            "offset_bytes",
        ),
        (batch.project(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap(), "tenant"),
        (
            with_column(&batch, "offset_bytes", narrow, false),
            "offset_bytes",
        ),
        (with_column(&batch, "time_ns", null, true), "time_ns"),
    ] {
        let error = error_of(foreign(&batch, entries()).path());
        assert!(matches!(&error, TraceError::Column { column: named, .. } if named == column));
    }
}

#[test]
fn a_record_that_breaks_a_promise_is_named_by_its_row() {
    let bad = |io: Io| {
        let mut ios = some_ios(9_000);
        ios[8_500] = io;
        let error = error_of(foreign(&batch_of(&ios), entries()).path());
        let TraceError::Record {
            row: 8_500, fault, ..
        } = error
        else {
            panic!("{error}");
        };
        fault
    };
    let good = Io::write(0, 4096);
    let flush = Operation::Flush;
    let (context, file) = (ContextId(3), FileId(2));
    assert_eq!(
        bad(Io {
            length_bytes: 0,
            ..good
        }),
        RecordError::NoLength(Operation::Write)
    );
    assert_eq!(
        bad(Io {
            operation: flush,
            ..good
        }),
        RecordError::FlushRange
    );
    assert!(matches!(
        bad(Io::write(u64::MAX, 1)),
        RecordError::Overflow { .. }
    ));
    assert!(matches!(
        bad(Io::write(1 << 30, 1)),
        RecordError::PastEnd { .. }
    ));
    assert!(matches!(
        bad(Io { context, ..good }),
        RecordError::Context { .. }
    ));
    assert!(matches!(bad(Io { file, ..good }), RecordError::File { .. }));
}

#[test]
fn a_word_that_means_nothing_is_named() {
    let batch = batch_of(&some_ios(2));
    let word: ArrayRef = Arc::new(StringArray::from(vec!["none", "trim"]));
    let operation = with_column(&batch, "operation", word.clone(), false);
    assert_eq!(operation.schema().field(1).data_type(), &DataType::Utf8);
    let error = error_of(foreign(&operation, entries()).path());
    assert!(
        error
            .to_string()
            .contains("record 0 (the first is 0): its operation is unknown: \"none\"")
    );
    let hint = with_column(&batch, "hint", word, false);
    let error = error_of(foreign(&hint, entries()).path());
    assert!(
        error
            .to_string()
            .contains("record 1 (the first is 0): its write hint is unknown: \"trim\"")
    );
}

#[test]
fn after_an_error_nothing_more_is_read() {
    let mut ios = some_ios(20_000);
    ios[10] = Io::write(0, 0);
    let file = foreign(&batch_of(&ios), entries());
    let mut reader = Reader::open(file.path()).unwrap();
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
    let mut batch = Vec::new();
    assert!(!reader.read_batch(&mut batch).unwrap());
}

#[test]
fn a_trace_cut_off_anywhere_is_an_error() {
    let (_directory, path) = written(2_000);
    let whole = std::fs::read(&path).unwrap();
    for length in (0..whole.len())
        .step_by(11)
        .chain(whole.len() - 64..whole.len())
    {
        let error = error_of_bytes(&whole[..length]);
        let told = match length {
            0 => matches!(error, TraceError::Empty { .. }),
            1..4 => matches!(error, TraceError::NotParquet { .. }),
            _ => matches!(error, TraceError::CutOff { .. }),
        };
        assert!(told, "{length}: {error}");
    }
}

#[test]
fn a_trace_without_its_middle_is_an_error() {
    let (_directory, path) = written(2_000);
    let whole = std::fs::read(&path).unwrap();
    for gone in [1, 8, 100, 1_000] {
        for at in (0..whole.len() - gone).step_by(97) {
            let bytes = [&whole[..at], &whole[at + gone..]].concat();
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(&file, bytes).unwrap();
            // Where the gap lies in what nobody reads, all the rest is as it was.
            if let Ok(found) = read(file.path()) {
                assert_eq!(found, (some_ios(2_000), some_tables()));
            }
        }
    }
}

#[test]
fn flipped_bits_never_end_in_a_panic() {
    let (_directory, path) = written(2_000);
    let whole = std::fs::read(&path).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut random = 0x2545_f491_4f6c_dd1du64;
    for _ in 0..2_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random % 3 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = (random >> 8) as usize % bytes.len();
            bytes[at] ^= 1 << (random % 8);
        }
        std::fs::write(&file, bytes).unwrap();
        // An error or not: what comes out keeps to the tables it came with.
        if let Ok((ios, tables)) = read(file.path()) {
            let limits = crate::record::Limits::of(&tables);
            assert!(ios.iter().all(|io| limits.check(io).is_ok()));
        }
    }
}
