//! Nothing of a load is missing in a recording, held against the drive's own counters; nor is a hint, of which `fcntl` alone is asked,
//! nor what was read before a file was begun, nor the name of a file that was renamed when all of it was written.

use std::{collections::BTreeMap, fs};

use anabranch_trace::{Io, Reader, Tables, WriteHint};

use crate::{
    amount,
    machine::{Report, compiled, program, run_with},
    served::Served,
};

/// Bytes of the files of these names in a recording, by `told`.
fn by_name<T>(
    report: &Report,
    recording: &str,
    names: &[&str],
    told: impl Fn(&Tables, &Io) -> T,
) -> BTreeMap<String, T> {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace.parquet");
    fs::write(&trace, report.bytes(recording)).unwrap();
    let reader = Reader::open(&trace).unwrap();
    let tables = reader.tables().clone();
    let named = reader.map(Result::unwrap).map(|io| {
        let name = tables.files[io.file.0 as usize].name.clone();
        (name, told(&tables, &io))
    });
    named.filter(|(name, _)| names.contains(&&**name)).collect()
}

#[test]
fn what_many_threads_write_is_captured_to_the_byte() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "256MiB", "--unit", "4MiB"]);
    let mut variables = served.variables();
    variables.push(("LOOPS", amount(1, 8)));
    let directory = tempfile::tempdir().unwrap();
    let mut files = program(directory.path());
    files.push(compiled("asks", directory.path()));
    let report = run_with("captured.sh", 1800, &variables, &files, |_| String::new());
    let kernel = report.output("kernel").trim();
    report.output("fio");
    let counted = |name| report.json(name)["hbmw"].as_u64().unwrap();
    let written = counted("after") - counted("before");
    let recorded = report.json("recorded");
    let captured = recorded["written_bytes"].as_u64().unwrap();
    let lost = recorded["capture"]["lost_events"].as_u64().unwrap();
    eprintln!("kernel {kernel}: {written} bytes written, {captured} captured, {lost} events lost");
    // Thirty-two threads of 2 MiB, and what the file system adds.
    assert!(written > 64 << 20, "{written}");
    assert_eq!((captured, lost), (written, 0), "{recorded:#}");
    let contexts = report.json("contexts");
    let contexts = contexts["contexts"].as_array().unwrap().iter();
    let told: u64 = contexts
        .map(|context| context["written_bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(told, written);
    // Where the way out of one function can be watched, that of every system call is not.
    let hooked = report.output("hooked");
    assert!(hooked.contains("on_fcntl"), "{hooked}");
    assert!(!hooked.contains("on_syscall_exit"), "{hooked}");
    let asked = [
        ("granted", (WriteHint::Extreme, true)),
        ("refused", (WriteHint::Medium, false)),
    ];
    assert_eq!(
        by_name(&report, "hints", &["granted", "refused"], |_, io| {
            (io.hint, io.hint_granted)
        }),
        asked.map(|(name, hint)| (name.to_owned(), hint)).into()
    );
    let merged = ["0-first", "1-second", "2-third"];
    let next_name = |tables: &Tables, io: &Io| tables.files[io.file.0 as usize].next_name.clone();
    assert_eq!(
        by_name(&report, "merges", &["index.lock"], next_name),
        [("index.lock".to_owned(), "index".to_owned())].into()
    );
    let generation = |tables: &Tables, io: &Io| tables.contexts[io.context.0 as usize].generation;
    let told = by_name(&report, "merges", &merged, generation);
    // Linux 6.1 does not tell of reads, and is said not to.
    let limitations = recorded["capture"]["limitations"].to_string();
    let expected = if limitations.contains("mm_filemap_get_pages") {
        [0, 0, 0]
    } else {
        [0, 1, 2]
    };
    assert_eq!(told.into_values().collect::<Vec<_>>(), expected);
}
