use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::RecordError;

fn any_frame() -> impl Strategy<Value = Frame> {
    let fields = (
        any::<String>(),
        any::<String>(),
        any::<u64>(),
        any::<Option<String>>(),
    );
    fields.prop_map(|(build_id, object, file_offset, symbol)| Frame {
        build_id,
        object,
        file_offset,
        symbol,
    })
}

fn any_context() -> impl Strategy<Value = Context> {
    let kinds = vec![
        ContextKind::Application,
        ContextKind::Folded,
        ContextKind::Journal,
        ContextKind::Metadata,
        ContextKind::Kernel,
    ];
    let frames = prop::collection::vec(any_frame(), 0..3);
    let names = (select(kinds), any::<String>());
    let fields = (any::<u64>(), names, frames, any::<u8>());
    fields.prop_map(|(signature, (kind, role), frames, generation)| Context {
        id: ContextId::UNKNOWN,
        signature,
        kind,
        role,
        frames,
        generation,
    })
}

fn any_capture() -> impl Strategy<Value = Capture> {
    let words = || prop::collection::vec(any::<String>(), 0..3);
    let device_bytes = prop_oneof![Just(0), 1u64..=u64::MAX];
    let texts = (any::<String>(), words(), any::<String>(), words());
    let fields = (device_bytes, texts, any::<u64>(), any::<u64>());
    fields.prop_map(
        |(device_bytes, texts, started_unix_s, lost_events)| Capture {
            device_bytes,
            file_system: texts.0,
            command: texts.1,
            kernel: texts.2,
            started_unix_s,
            lost_events,
            drive: None,
            sampled: None,
            limitations: texts.3,
            ..Capture::default()
        },
    )
}

fn any_tables() -> impl Strategy<Value = Tables> {
    let contexts = prop::collection::vec(any_context(), 0..4);
    let names = prop::collection::vec(any::<String>(), 0..4);
    (contexts, names, any_capture()).prop_map(|(contexts, names, capture)| {
        let mut tables = Tables::new(capture);
        for (id, context) in (1..).zip(contexts) {
            let id = ContextId(id);
            tables.contexts.push(Context { id, ..context });
        }
        tables.files.extend(names.into_iter().map(|name| File {
            name,
            ..File::default()
        }));
        tables
    })
}

/// Any record that these tables allow.
fn any_io(tables: &Tables) -> impl Strategy<Value = Io> + use<> {
    let device_bytes = match tables.capture.device_bytes {
        0 => u64::MAX,
        known => known,
    };
    let (contexts, files) = (tables.contexts.len() as u32, tables.files.len() as u32);
    let range =
        (0..device_bytes).prop_flat_map(move |offset| (Just(offset), 1..=device_bytes - offset));
    let whose = (0..contexts, 0..files, any::<u32>());
    let hint = (select(WriteHint::ALL.to_vec()), any::<bool>());
    let operation = select(Operation::ALL.to_vec());
    (any::<u64>(), operation, range, whose, hint).prop_map(
        |(time_ns, operation, range, (context, file, tenant), (hint, hint_granted))| {
            let (offset_bytes, length_bytes) = match operation {
                Operation::Flush => (0, 0),
                _ => range,
            };
            Io {
                time_ns,
                operation,
                offset_bytes,
                length_bytes,
                context: ContextId(context),
                file: FileId(file),
                hint,
                hint_granted,
                tenant,
            }
        },
    )
}

fn any_trace() -> impl Strategy<Value = (Tables, Vec<Io>)> {
    any_tables().prop_flat_map(|tables| {
        let ios = prop::collection::vec(any_io(&tables), 0..60);
        (Just(tables), ios)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_was_written_is_read((tables, ios) in any_trace()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.parquet");
        write(&path, &ios, &tables);
        prop_assert_eq!(read(&path).unwrap(), (ios, tables));
    }
}

#[test]
fn a_trace_of_several_row_groups_comes_back_both_ways() {
    let ios = some_ios(300_000);
    let (_directory, path) = written(ios.len());
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.rows(), 300_000);
    let singly: Result<Vec<Io>, TraceError> = reader.collect();
    assert!(singly.unwrap() == ios);
    assert!(read(&path).unwrap().0 == ios);
}

#[test]
fn columns_of_one_value_and_of_several_are_read_back_in_every_group() {
    let group = super::super::ROW_GROUP_ROWS;
    let mut ios = some_ios(3 * group + 1);
    let same = ios[1];
    ios[group..2 * group].fill(same);
    ios[3 * group] = same;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    write(&path, &ios, &some_tables());
    assert!(read(&path).unwrap().0 == ios);
}

#[test]
fn columns_of_as_many_values_as_a_byte_numbers_and_of_one_more_are_read_back() {
    for different in [1, 2, 255, 256, 257, 70_000] {
        let mut ios = some_ios(70_000);
        for (number, io) in (0..).zip(&mut ios) {
            (io.operation, io.offset_bytes) = (Operation::Read, number * 4096);
            io.length_bytes = (1 + number % different) * 512;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.parquet");
        write(&path, &ios, &some_tables());
        assert!(read(&path).unwrap().0 == ios, "{different}");
    }
}

/// A disk with room for so many bytes.
struct SmallDisk(usize);

impl std::io::Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_once_it_is_noticed_and_to_everything_after() {
    let mut writer = Writer::to(Path::new("small"), SmallDisk(1000)).unwrap();
    let ios = some_ios(4 * super::super::ROW_GROUP_ROWS);
    let pushed = ios.iter().filter_map(|io| writer.push(io).err());
    let mut failures: Vec<TraceError> = pushed.collect();
    failures.extend(writer.end(&some_tables()).err());
    assert!(failures.len() >= 2);
    for (number, error) in failures.iter().enumerate() {
        let TraceError::Write { source, .. } = error else {
            panic!("{error}");
        };
        let is_full = source.kind() == std::io::ErrorKind::StorageFull;
        assert_eq!(is_full, number == 0, "{error}");
    }
}

#[test]
fn what_the_iterator_left_is_in_the_next_batch() {
    let (_directory, path) = written(100);
    let mut reader = Reader::open(path).unwrap();
    assert_eq!(reader.by_ref().take(40).count(), 40);
    let mut ios = some_ios(3);
    assert!(reader.read_batch(&mut ios).unwrap());
    assert_eq!(ios, some_ios(100)[40..]);
    assert!(!reader.read_batch(&mut ios).unwrap());
    assert!(ios.is_empty() && reader.next().is_none());
}

#[test]
fn twenty_thousand_records_take_a_few_hundred_kilobytes() {
    let (_directory, path) = written(20_000);
    assert!(std::fs::metadata(path).unwrap().len() < 400_000);
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(directory.path().join("trace.parquet")).unwrap();
    for io in some_ios(200_000) {
        writer.push(&io).unwrap();
    }
    drop(writer);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_record_that_no_reader_would_accept_is_refused_and_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    let mut writer = Writer::create(&path).unwrap();
    writer.push(&Io::write(0, 4096)).unwrap();
    let flush = Io {
        operation: Operation::Flush,
        ..Io::write(4096, 0)
    };
    let overflow = RecordError::Overflow {
        offset_bytes: u64::MAX,
        length_bytes: 2,
    };
    for (io, expected) in [
        (Io::write(4096, 0), RecordError::NoLength(Operation::Write)),
        (Io::write(u64::MAX, 2), overflow),
        (flush, RecordError::FlushRange),
    ] {
        let error = writer.push(&io).unwrap_err();
        assert!(matches!(error, TraceError::Record { row: 1, fault, .. } if fault == expected));
    }
    // Of many at once, those before it are taken.
    let sound = Io::write(8192, 4096);
    let error = writer.push_all(&[sound, flush, sound]).unwrap_err();
    assert!(matches!(error, TraceError::Record { row: 2, .. }));
    writer.push(&Io::write(12_288, 4096)).unwrap();
    let tables = Tables::new(Capture::default());
    writer.finish(&tables).unwrap();
    let ios = [0, 8192, 12_288].map(|offset_bytes| Io::write(offset_bytes, 4096));
    assert_eq!(read(&path).unwrap().0, ios);
}

#[test]
fn tables_that_do_not_hold_what_the_records_name_are_refused() {
    let small_device = Tables::new(Capture {
        device_bytes: 8192,
        ..Capture::default()
    });
    let unnumbered = Tables {
        contexts: Vec::new(),
        ..small_device.clone()
    };
    let far = Io::write(8192, 4096);
    let of_context = Io {
        context: ContextId(1),
        ..Io::write(0, 4096)
    };
    let of_file = Io {
        file: FileId(1),
        ..Io::write(0, 4096)
    };
    for (tables, io) in [
        (&small_device, far),
        (&small_device, of_context),
        (&small_device, of_file),
        (&unnumbered, Io::write(0, 4096)),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(directory.path().join("trace.parquet")).unwrap();
        writer.push(&io).unwrap();
        let error = writer.finish(tables).unwrap_err();
        assert!(matches!(error, TraceError::Tables { .. }), "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_signature_is_sixteen_digits_in_the_file() {
    let json = serde_json::to_value(&some_tables().contexts[1]).unwrap();
    assert_eq!(json["signature"], "fffffffffffffffe");
    assert_eq!(json["id"], 1);
    assert_eq!(json["kind"], "application");
}
