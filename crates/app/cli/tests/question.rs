//! One question, asked of the command and of sweeps: what does not go together is refused in the same
//! words, and a trace is replayed on the drive it was recorded for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{fs, path::PathBuf};

use anabranch_compare::{DriveOptions, TraceOrigin, one_drive};
use anabranch_trace::{Reader, Writer};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use command::{DEVICE_BYTES, anabranch, complaint, json, text, trace};

#[derive(Deserialize)]
struct Table {
    wrong: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    options: toml::Table,
    words: String,
    #[serde(default)]
    of_a_cell: bool,
}

/// The options that do not go together, which Python's tests read as well.
fn rows() -> Vec<Row> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("../compare/tests/wrong.toml")).unwrap();
    toml::from_str::<Table>(&text).unwrap().wrong
}

fn texts(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::Array(values) => values.iter().flat_map(texts).collect(),
        toml::Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

#[test]
fn what_does_not_go_together_is_refused_by_the_command_in_the_words_of_the_table() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    for row in rows() {
        let mut call = vec!["replay".to_owned(), text(&trace).to_owned()];
        for (key, value) in &row.options {
            let option = key.trim_end_matches("_ms").replace('_', "-");
            call.push(format!("--{option}"));
            if value.as_bool().is_none() {
                call.push(texts(value).join(","));
            }
        }
        let words: Vec<&str> = call.iter().map(String::as_str).collect();
        let told = complaint(&words, 2);
        assert!(told.contains(&row.words), "{call:?}: {told}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_by_sweeps_in_the_words_of_the_table() {
    const OF_REPLAY: [&str; 3] = ["drive", "lifetimes", "profile"];
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let path = directory.path().join("grid.toml");
    let out = directory.path().join("out");
    for row in rows() {
        if OF_REPLAY.iter().any(|key| row.options.contains_key(*key)) {
            continue;
        }
        let (mut top, mut drive, mut time) = Default::default();
        for (key, value) in row.options {
            let (section, key): (&mut toml::Table, _) = match key.as_str() {
                "fill" | "pack" | "sample" | "samples" => (&mut top, key.as_str()),
                "time" => (&mut time, "issue"),
                "queue_depth" | "time_scale" | "collect_after_idle_ms" => (&mut time, key.as_str()),
                _ => (&mut drive, key.as_str()),
            };
            section.insert(key.to_owned(), value);
        }
        let grid = format!(
            "traces = '{}'\nschemes = 'baseline'\n{top}\n[drive]\n{drive}\n[time]\n{time}\n",
            text(&trace)
        );
        fs::write(&path, &grid).unwrap();
        let status = if row.of_a_cell { 1 } else { 2 };
        let told = complaint(&["sweep", text(&path), "-o", text(&out)], status);
        assert!(told.contains(&row.words), "{grid}: {told}");
    }
}

#[test]
fn an_impossible_cell_is_told_and_the_others_are_done() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let grid = directory.path().join("grid.toml");
    let out = directory.path().join("fleet");
    let missing = directory.path().join("missing.parquet");
    let words = format!(
        "traces = ['{}', '{}']\nschemes = ['baseline', 'pcstream']\n\
         [drive]\nunit = ['1MiB', '24MiB', '5000']\n",
        text(&trace),
        text(&missing)
    );
    fs::write(&grid, words).unwrap();
    let swept = anabranch(&["sweep", text(&grid), "-o", text(&out)]);
    assert_eq!(swept.status.code(), Some(1));
    let table = String::from_utf8(swept.stdout).unwrap();
    assert!(table.contains("| pcstream |"), "{table}");
    let told = String::from_utf8(swept.stderr).unwrap();
    for named in [
        "demo --unit 24MiB: ",
        "demo --unit 5000: ",
        " (baseline, pcstream)\n",
        "missing.parquet",
        "2 cells done now",
    ] {
        assert!(told.contains(named), "{named} in {told}");
    }
    let summary = anabranch(&["sweep", "--summary", "-o", text(&out), "--json"]);
    assert_eq!(json(&summary)["groups"].as_array().unwrap().len(), 2);
}

/// The trace of the other tests as a run on a drive of one's own leaves it.
fn recorded(directory: &TempDir) -> PathBuf {
    let options = DriveOptions {
        size: Some(DEVICE_BYTES.to_string()),
        unit: vec!["512KiB".to_owned()],
        streams: vec![5],
        ..DriveOptions::default()
    };
    let (_, drive) = one_drive(&options, &TraceOrigin::default(), "one").unwrap();
    let mut reader = Reader::open(trace(directory)).unwrap();
    let mut tables = reader.tables().clone();
    tables.capture.drive = Some(drive.to_json());
    let path = directory.path().join("run.parquet");
    let mut writer = Writer::create(&path).unwrap();
    let mut ios = Vec::new();
    while reader.read_batch(&mut ios).unwrap() {
        ios.iter().for_each(|io| writer.push(io).unwrap());
    }
    writer.finish(&tables).unwrap();
    path
}

#[test]
fn a_trace_is_replayed_on_the_drive_it_was_recorded_for_unless_another_is_named() {
    let directory = TempDir::new().unwrap();
    let run = recorded(&directory);
    let device = |trace: &PathBuf, more: &[&str]| {
        let call = ["replay", text(trace), "--scheme", "baseline", "--json"];
        let output = anabranch(&[&call[..], more].concat());
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        let device = json(&output)["device"].clone();
        let of = |key: &str| device[key].as_u64().unwrap();
        ((of("unit_bytes") >> 10, of("host_streams")), said)
    };
    let (own, said) = device(&run, &[]);
    assert_eq!(own, (512, 5));
    assert_eq!(
        said.matches("recorded for (demo of 64MiB in erase units of 512KiB)")
            .count(),
        1
    );
    assert_eq!(device(&run, &["--streams", "3"]).0, (512, 3));
    let (changed, said) = device(&run, &["--unit", "1MiB"]);
    assert_eq!(changed, (1024, 5));
    let told = "recorded for, changed to demo of 64MiB in erase units of 1MiB";
    assert!(said.contains(told), "{said}");
    // Of a grid that begins with its own drive, not every drive is that one.
    let grid = [
        "replay",
        text(&run),
        "-s",
        "baseline",
        "--unit",
        "512KiB,1MiB",
    ];
    let said = String::from_utf8(anabranch(&grid).stderr).unwrap();
    assert!(
        said.contains("recorded for, changed as the options say"),
        "{said}"
    );
    let (named, said) = device(&run, &["--device", "demo", "--unit", "1MiB"]);
    assert_eq!((named, said.as_str()), ((1024, 8), ""));
    // A trace that tells of no drive is on the default one, as ever.
    let plain = directory.path().join("t.parquet");
    assert_eq!(
        device(&plain, &["--unit", "1MiB"]),
        ((1024, 8), String::new())
    );
    let grid = directory.path().join("grid.toml");
    fs::write(
        &grid,
        format!("traces = '{}'\nschemes = 'baseline'\n", text(&run)),
    )
    .unwrap();
    let out = directory.path().join("fleet");
    let swept = anabranch(&["sweep", text(&grid), "-o", text(&out), "--json"]);
    let swept: Value = json(&swept);
    let drive = swept["groups"][0]["drive"].as_str().unwrap();
    assert!(drive.contains("units of 512KiB"), "{drive}");
}
