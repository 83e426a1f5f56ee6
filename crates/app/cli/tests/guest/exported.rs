//! Exported fio jobs, run by fio: bytes land in the streams that the export promised.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anabranch_trace::{ContextId, Io, Writer};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    command::tables,
    host_bytes,
    machine::run_with,
    served::{SUBSYSTEM, Served},
};

const DRIVE: [&str; 6] = [
    "--device", "fdp-8ruh", "--size", "32MiB", "--unit", "512KiB",
];
const DEVICE_BYTES: u64 = 32 << 20;
const REQUEST_BYTES: u64 = 64 << 10;
const REQUESTS: u64 = 1_600;
/// A pace at which jobs beside each other keep the order of the trace, more or less.
const PACE_NS: u64 = 2_000_000;
/// Tolerance between the drive and the promise: jobs run beside each other, and a guest under
/// emulation does not keep the order of requests that are close.
const TOLERANCE: f64 = 0.1;

/// Two programs in turn: one rewrites a small log, one rewrites tables in no order. The log's places
/// lie among those of the tables, so that addresses do not tell them apart.
fn trace(directory: &Path) -> PathBuf {
    let path = directory.join("t.parquet");
    let mut writer = Writer::create(&path).unwrap();
    let mut state = 1_u64;
    for number in 0..REQUESTS {
        let (context, slot) = if number.is_multiple_of(2) {
            (1, number / 2 % 32 * 14)
        } else {
            // Knuth's multiplier for 64 bits (The Art of Computer Programming, 3.3.4).
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            let table = (state >> 33) % 416;
            (2, table / 13 * 14 + 1 + table % 13)
        };
        let io = Io {
            time_ns: number * PACE_NS,
            context: ContextId(context),
            ..Io::write(slot * REQUEST_BYTES, REQUEST_BYTES)
        };
        writer.push(&io).unwrap();
    }
    writer
        .finish(&tables(DEVICE_BYTES, &["log", "table"]))
        .unwrap();
    path
}

fn anabranch(arguments: &[&str]) -> Value {
    let command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    let output = { command }.args(arguments).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Placement of each write of the trace by the file's ranges; the first that holds it counts.
fn by_range(scheme: &str, log: &str) -> Vec<u64> {
    let ranges: Vec<Vec<u64>> = scheme
        .lines()
        .map(|line| {
            line.split(',')
                .map(|number| number.parse().unwrap())
                .collect()
        })
        .collect();
    let mut bytes = vec![0; 8];
    for line in log.lines().filter(|line| line.contains(" write ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let (offset, length): (u64, u64) = (words[3].parse().unwrap(), words[4].parse().unwrap());
        let range = ranges
            .iter()
            .find(|range| range[0] <= offset && offset < range[1]);
        bytes[range.map_or(0, |range| range[2] as usize)] += length;
    }
    bytes
}

/// Bytes that the log of each stream's job writes.
fn by_job(directory: &Path) -> Vec<u64> {
    let bytes = |stream: usize| {
        let log = directory.join(format!("stream-{stream}.iolog"));
        let text = fs::read_to_string(log).unwrap_or_default();
        let writes = text.lines().filter(|line| line.contains(" write "));
        writes
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    (0..8).map(bytes).collect()
}

fn waf(counters: &Value) -> f64 {
    counters["device"]["waf"].as_f64().unwrap()
}

fn promised(told: &Value, what: &str) -> f64 {
    let checks = told["checks"].as_array().unwrap().iter();
    let mut found = checks.filter(|check| check["what"].as_str().unwrap().starts_with(what));
    found.next().unwrap()["under_it"]["waf"].as_f64().unwrap()
}

/// Bytes are in the streams expected, of which more than one has some, and the WAF is the promised one.
fn assert_kept(what: &str, counters: &Value, expected: &[u64], promise: f64) {
    let used = expected.iter().filter(|bytes| **bytes > 0).count();
    assert!(used > 1, "{what}: {expected:?}");
    assert_eq!(host_bytes(counters), expected, "{what}: bytes by stream");
    let found = waf(counters);
    eprintln!("{what}: WAF {promise:.3} promised, {found:.3} found");
    assert!(
        (found / promise - 1.0).abs() < TOLERANCE,
        "{what}: {found} for {promise}"
    );
}

#[test]
fn fio_puts_bytes_into_the_streams_that_an_export_promised() {
    let directory = TempDir::new().unwrap();
    let trace = trace(directory.path());
    let (trace, advice) = (trace.to_str().unwrap(), directory.path().join("advice"));
    let log = directory.path().join("trace.iolog");
    let to = advice.to_str().unwrap();
    let export = ["export", trace, "--to", "fio", "--json", "-o", to];
    let told = anabranch(&[&export[..], &DRIVE].concat());
    let to = log.to_str().unwrap();
    anabranch(&["export", trace, "--to", "fio-iolog-v3", "--json", "-o", to]);

    let (by_stream, by_address) = (Served::start(&DRIVE), Served::start(&DRIVE));
    let fio = advice.join("fio");
    let mut files: Vec<PathBuf> = fs::read_dir(&fio)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.push(log.clone());
    let mut variables = by_stream.variables();
    variables.push(("PORT_OF_RANGES", by_address.address().port().to_string()));
    let report = run_with("exported.sh", 300, &variables, &files, |_| String::new());
    assert_eq!(variables[1].1, SUBSYSTEM);
    for name in ["streams", "ranges", "job"] {
        report.output(name);
    }

    let promise = |what| promised(&told, what);
    assert_kept(
        "streams.fio",
        &by_stream.stop(),
        &by_job(&fio),
        promise("fio/streams.fio"),
    );
    let scheme = fs::read_to_string(fio.join("dp_scheme")).unwrap();
    let expected = by_range(&scheme, &fs::read_to_string(&log).unwrap());
    assert_kept(
        "dp_scheme",
        &by_address.stop(),
        &expected,
        promise("fio/dp_scheme"),
    );
}
