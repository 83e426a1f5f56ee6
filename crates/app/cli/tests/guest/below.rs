//! Recordings of a drive below dm-crypt and a volume: each write has its writer and its file.

use std::{collections::BTreeMap, fs};

use anabranch_trace::{Operation, Reader};

use crate::{
    MIB,
    machine::{Report, program, run_with},
};

/// Bytes written to files of these names in a recording, by the role of the thread and the name.
fn written(report: &Report, recording: &str, names: &[&str]) -> BTreeMap<(String, String), u64> {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace.parquet");
    fs::write(&trace, report.bytes(recording)).unwrap();
    let reader = Reader::open(&trace).unwrap();
    let tables = reader.tables().clone();
    let mut written = BTreeMap::new();
    for io in reader.map(Result::unwrap) {
        let role = &tables.contexts[io.context.0 as usize].role;
        let name = &tables.files[io.file.0 as usize].name;
        if io.operation == Operation::Write && names.contains(&&**name) {
            *written.entry((role.clone(), name.clone())).or_default() += io.length_bytes;
        }
    }
    written
}

#[test]
fn what_is_written_above_the_drive_is_recorded_below_with_its_writer_and_file() {
    let directory = tempfile::tempdir().unwrap();
    let files = program(directory.path());
    let report = run_with("below.sh", 900, &[], &files, |_| String::new());
    eprintln!("kernel {}", report.output("release").trim());
    for stack in ["encrypted", "linear"] {
        let recorded = report.json(&format!("{stack}-recorded"));
        assert_eq!(recorded["capture"]["lost_events"], 0, "{recorded:#}");
        let expected = [("buffers", "buffered", 3), ("directs", "direct", 5)];
        let expected = expected.map(|(role, file, mebibytes)| {
            let key = (role.to_owned(), file.to_owned());
            (key, mebibytes * MIB)
        });
        assert_eq!(
            written(&report, stack, &["buffered", "direct"]),
            expected.into(),
            "{stack}"
        );
    }
}
