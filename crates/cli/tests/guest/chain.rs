//! The whole chain: RocksDB in the guest on a drive of ours, recorded on it as it is; what a replay promises of that
//! drive with streams; and what the drive's own log says once it is steered.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    machine::{Report, libraries, program, root, run_text, text_of},
    served::Served,
};

/// A drive small enough to be collected many times.
const DRIVE: [&str; 6] = ["--device", "fdp-8ruh", "--size", "64MiB", "--unit", "1MiB"];
/// Runs, and how far what was had may be from what was promised in their mean: two runs of RocksDB do not write the same.
const RUNS: usize = 3;
const TOLERANCE: f64 = 0.03;

/// What the drive's log says of a run.
#[derive(Debug, Clone, Copy)]
struct Had {
    host_bytes: f64,
    waf: f64,
}

/// One run on a fresh drive.
fn run(file_system: &str, records: bool) -> (Report, Had) {
    let served = Served::start(&DRIVE);
    let mut variables = served.variables();
    let words = |name, value: &str| (name, value.to_owned());
    variables.extend([
        words("FILE_SYSTEM", file_system),
        words("RECORD", if records { "yes" } else { "" }),
        words("KEYS", "30000"),
        words("TABLE_BYTES", "262144"),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let bench = Path::new("/usr/bin/db_bench");
    let mut files = program(directory.path());
    files.extend(libraries(bench));
    files.push(bench.to_owned());
    files.push(root().join("crates/cli/tests/guest/chain-work.sh"));
    let text = text_of("steer-prelude.sh") + &text_of("chain.sh");
    let report = run_text(&text, 3000, &variables, &files, |_| String::new());
    report.output("work");
    let log = report.json("log");
    let bytes = |key: &str| log[key].as_f64().unwrap();
    let had = Had {
        host_bytes: bytes("hbmw"),
        waf: bytes("mbmw") / bytes("hbmw"),
    };
    served.stop();
    (report, had)
}

/// WAF that a replay promises of the same drive without streams and with `anabranch`'s host half.
fn promised(trace: &[u8]) -> [f64; 2] {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rocksdb.parquet");
    fs::write(&path, trace).unwrap();
    let mut replay = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    replay.arg("replay").arg(&path).args(DRIVE);
    replay.args([
        "--relocation",
        "fdp",
        "--scheme",
        "baseline,anabranch",
        "--json",
    ]);
    let output = replay.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    [0, 1].map(|scheme| result["schemes"][scheme]["waf"].as_f64().unwrap())
}

/// Everything was captured, or the trace promises of something else.
fn was_captured(report: &Report) {
    let recorded = report.json("work");
    let lost = recorded["capture"]["lost_events"].as_u64().unwrap();
    let requests = recorded["requests"].as_u64().unwrap();
    assert!(lost * 1000 < requests, "{recorded:#}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Runs one after the other, each recorded, replayed and steered; a line for each.
fn chain(file_system: &str) {
    let (mut promise, mut found) = (Vec::new(), Vec::new());
    eprintln!(
        "{file_system}: MiB, WAF had without streams and replayed; MiB, WAF had with anabranch, and promised"
    );
    for _ in 0..RUNS {
        let (report, plain) = run(file_system, true);
        was_captured(&report);
        let [replayed, with_streams] = promised(&report.bytes("trace"));
        let (_, steered) = run(file_system, false);
        let mib = |had: Had| had.host_bytes / f64::from(1 << 20);
        eprintln!(
            "| {file_system} | {:.0} | {:.3} | {replayed:.3} | {:.0} | {:.3} | {with_streams:.3} |",
            mib(plain),
            plain.waf,
            mib(steered),
            steered.waf,
        );
        // The same writes: the model is the drive.
        assert!(
            (replayed / plain.waf - 1.0).abs() < 0.01,
            "{replayed} {plain:?}"
        );
        promise.push(with_streams);
        found.push(steered.waf);
    }
    let apart = mean(&found) / mean(&promise) - 1.0;
    assert!(
        apart.abs() < TOLERANCE,
        "{file_system}: {promise:?} {found:?}"
    );
}

#[test]
#[ignore = "two guests a run, minutes each: make test-guest"]
fn what_a_replay_promises_of_rocksdb_on_ext4_is_had() {
    chain("ext4");
}

#[test]
#[ignore = "two guests a run, minutes each: make test-guest"]
fn what_a_replay_promises_of_rocksdb_on_xfs_is_had() {
    chain("xfs");
}
