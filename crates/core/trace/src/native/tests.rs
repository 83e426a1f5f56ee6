mod damage;
mod digest;
mod round_trip;

use std::path::{Path, PathBuf};

use super::{Reader, Writer};
use crate::{
    Capture, Context, ContextId, ContextKind, File, FileId, Frame, Io, Operation, Tables, Tenant,
    TraceError, WriteHint,
};

/// Tables with three contexts and two files, of a drive of 1 GiB.
fn some_tables() -> Tables {
    let mut tables = Tables::new(Capture {
        device_bytes: 1 << 30,
        file_system: "ext4".into(),
        command: vec!["db_bench".into(), "--num=1000".into()],
        kernel: "6.18.0".into(),
        started_unix_s: 1_700_000_000,
        lost_events: 3,
        limitations: vec!["no folio contexts".into()],
        host: String::new(),
        drive: Some(serde_json::json!({ "version": 1, "device": "demo", "share": 0.075 })),
        sampled: None,
        tenants: Vec::new(),
        placements: Vec::new(),
    });
    for id in 1..3 {
        tables.contexts.push(Context {
            id: ContextId(id),
            signature: u64::MAX - u64::from(id),
            kind: ContextKind::Application,
            role: "rocksdb:low".into(),
            frames: vec![Frame {
                build_id: "00ff".into(),
                object: "/usr/bin/db_bench".into(),
                file_offset: 0x1234,
                symbol: None,
            }],
            generation: 2,
        });
    }
    tables.files.push(File {
        name: "000012.sst".into(),
        next_name: "000012.sst.old".into(),
    });
    tables
}

/// Records that keep to [`some_tables`], of every operation and hint.
fn some_ios(count: usize) -> Vec<Io> {
    let one = |number: u64| {
        let operation = Operation::ALL[(number % 7 % 4) as usize];
        let flush = operation == Operation::Flush;
        Io {
            time_ns: number * 1000 + number % 13,
            operation,
            offset_bytes: if flush {
                0
            } else {
                number * 0x9e37_79b9 % (1 << 18) * 4096
            },
            length_bytes: if flush { 0 } else { 4096 },
            context: ContextId((number % 3) as u32),
            file: FileId((number % 2) as u32),
            hint: WriteHint::ALL[(number % 6) as usize],
            hint_granted: number % 6 > 3,
            tenant: (number % 2) as u32,
        }
    };
    (0..count as u64).map(one).collect()
}

fn write(path: &Path, ios: &[Io], tables: &Tables) {
    let mut writer = Writer::create(path).unwrap();
    // One by one, and many at once: these cross the bounds of row groups.
    let (first, rest) = ios.split_at(ios.len().min(5));
    first.iter().for_each(|io| writer.push(io).unwrap());
    let mut many = rest.chunks(1000);
    many.try_for_each(|ios| writer.push_all(ios)).unwrap();
    writer.finish(tables).unwrap();
}

fn read(path: &Path) -> Result<(Vec<Io>, Tables), TraceError> {
    let mut reader = Reader::open(path)?;
    let (mut all, mut some) = (Vec::new(), Vec::new());
    while reader.read_batch(&mut some)? {
        all.extend_from_slice(&some);
    }
    Ok((all, reader.tables().clone()))
}

/// A directory, and the path of a trace of so many records in it.
fn written(count: usize) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    write(&path, &some_ios(count), &some_tables());
    (directory, path)
}
