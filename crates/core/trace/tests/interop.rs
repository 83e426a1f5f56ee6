//! A trace opens in pandas, polars and DuckDB with the values that were written.
//!
//! The Python interpreter is the one `ANABRANCH_PYTHON` names, or `python3`. Where it or a package
//! is missing, the test says so and passes; under continuous integration (`CI` set) it fails.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use anabranch_trace::{
    Capture, Context, ContextId, ContextKind, File, FileId, Io, Operation, Tables, WriteHint,
    Writer,
};
use serde_json::{Value, json};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop.py");

/// The script's exit status when a package is missing.
const MISSING: i32 = 77;

const REMEDY: &str = "install them (python3 -m venv V && V/bin/pip install pandas pyarrow polars \
                      duckdb) and set ANABRANCH_PYTHON=V/bin/python";

#[test]
fn pandas_polars_and_duckdb_see_what_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    let (ios, tables) = (some_ios(), some_tables());
    let mut writer = Writer::create(&path).unwrap();
    ios.iter().for_each(|io| writer.push(io).unwrap());
    writer.finish(&tables).unwrap();

    let python = std::env::var("ANABRANCH_PYTHON").unwrap_or_else(|_| "python3".into());
    let Ok(output) = run(&python, &path, &expected(&ios, &tables)) else {
        return unavailable(&format!("{python} cannot be run"));
    };
    let words = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => {}
        Some(MISSING) => unavailable(&format!("{python}: {}", words.trim())),
        _ => panic!("{python} sees another trace than was written:\n{words}"),
    }
}

fn run(python: &str, path: &Path, expected: &Value) -> std::io::Result<Output> {
    let expected = expected.to_string();
    Command::new(python)
        .arg(SCRIPT)
        .arg(path)
        .arg(expected)
        .output()
}

fn unavailable(why: &str) {
    let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!in_ci, "{why}; {REMEDY}");
    eprintln!("skipped, {why}; {REMEDY}");
}

/// More than one row group, every operation and hint, and a time that needs all 64 bits.
fn some_ios() -> Vec<Io> {
    let one = |number: u64| {
        let operation = Operation::ALL[(number % 4) as usize];
        let flush = operation == Operation::Flush;
        Io {
            time_ns: if number == 77 {
                u64::MAX
            } else {
                number * 1000
            },
            operation,
            offset_bytes: if flush { 0 } else { number * 4096 },
            length_bytes: if flush { 0 } else { 4096 + number % 3 * 512 },
            context: ContextId((number % 3) as u32),
            file: FileId((number % 2) as u32),
            hint: WriteHint::ALL[(number % 6) as usize],
            hint_granted: number.is_multiple_of(5),
            tenant: (number % 7) as u32,
        }
    };
    (0..140_000).map(one).collect()
}

fn some_tables() -> Tables {
    let mut tables = Tables::new(Capture {
        file_system: "ext4".into(),
        lost_events: 5,
        ..Capture::default()
    });
    for id in 1..3 {
        tables.contexts.push(Context::new(
            ContextId(id),
            u64::MAX - u64::from(id),
            ContextKind::Journal,
            "jbd2/loop-",
        ));
    }
    tables.files.push(File {
        name: "000012.sst".into(),
        ..File::default()
    });
    tables
}

fn expected(ios: &[Io], tables: &Tables) -> Value {
    let sum = |value: fn(&Io) -> u64| ios.iter().map(value).sum::<u64>();
    let count = |name: fn(&Io) -> &'static str| {
        let mut counts = BTreeMap::new();
        ios.iter()
            .for_each(|io| *counts.entry(name(io)).or_insert(0) += 1);
        counts
    };
    let signature = |context: &Context| format!("{:016x}", context.signature);
    json!({
        "rows": ios.len(),
        "last_time_ns": u64::MAX,
        "sums": {
            "offset_bytes": sum(|io| io.offset_bytes),
            "length_bytes": sum(|io| io.length_bytes),
            "context": sum(|io| io.context.0.into()),
            "file": sum(|io| io.file.0.into()),
            "hint_granted": sum(|io| io.hint_granted.into()),
            "tenant": sum(|io| io.tenant.into()),
        },
        "counts": {
            "operation": count(|io| io.operation.name()),
            "hint": count(|io| io.hint.name()),
        },
        "tables": {
            "schema": "1",
            "signatures": tables.contexts.iter().map(signature).collect::<Vec<_>>(),
            "files": tables.files.iter().map(|file| &file.name).collect::<Vec<_>>(),
            "capture": tables.capture,
        },
    })
}
