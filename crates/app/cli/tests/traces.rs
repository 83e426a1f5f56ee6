//! The traces we ship replay to the counts that stand in `traces/README.md`, to the last page.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::Value;

use command::{anabranch, json, text};

/// What all traces may weigh together: they are in everybody's clone.
const MOST_BYTES: u64 = 40 << 20;
/// What one may weigh.
const MOST_BYTES_EACH: u64 = 4 << 20;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../traces")
}

/// The cells of the table's rows: name, drive MiB, unit, records, written, discarded, and what
/// `baseline` and `pcstream` copy.
fn rows() -> Vec<Vec<String>> {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let is_row = |cells: &Vec<String>| cells.len() == 8 && cells[1].parse::<u64>().is_ok();
    readme.lines().map(cells).filter(is_row).collect()
}

/// The row as a replay makes it.
fn replayed(name: &str, unit: &str) -> Vec<String> {
    let path = folder().join(format!("{name}.parquet"));
    let schemes = ["--scheme", "baseline,pcstream", "--json"];
    let arguments = [&["replay", text(&path), "--unit", unit], &schemes[..]].concat();
    let output = anabranch(&arguments);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let result = json(&output);
    let number = |value: &Value| value.as_u64().unwrap().to_string();
    let source = &result["source"];
    let drive_mib = result["device"]["logical_bytes"].as_u64().unwrap() >> 20;
    vec![
        name.to_owned(),
        drive_mib.to_string(),
        unit.to_owned(),
        number(&source["records"]),
        number(&source["write_bytes"]),
        number(&source["discarded_bytes"]),
        number(&result["schemes"][0]["copied_bytes"]),
        number(&result["schemes"][1]["copied_bytes"]),
    ]
}

#[test]
fn every_shipped_trace_replays_to_the_counts_beside_it() {
    let found: Vec<Vec<String>> = rows()
        .iter()
        .map(|row| replayed(&row[0], &row[2]))
        .collect();
    let lines = |rows: &[Vec<String>]| -> String {
        let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
        rows.iter().map(line).collect()
    };
    assert!(lines(&rows()) == lines(&found), "found:\n{}", lines(&found));
}

#[test]
fn every_shipped_trace_is_the_one_that_was_signed() {
    let check = std::process::Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(folder())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success(), "{words}");
    let signed = fs::read_to_string(folder().join("SHA256SUMS")).unwrap();
    let names = signed.lines().filter_map(|line| line.split("  ").nth(1));
    let signed: BTreeSet<&str> = names.collect();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder()).unwrap().flatten() {
        let entry = entry.path();
        let inside = fs::read_dir(&entry).into_iter().flatten().flatten();
        let inside = inside.map(|entry| entry.path());
        for path in inside.chain([entry.clone()]) {
            if path.extension().is_some_and(|ending| ending == "parquet") {
                let name = path.strip_prefix(folder()).unwrap();
                found.insert(name.to_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(signed, found.iter().map(String::as_str).collect());
}

#[test]
fn every_trace_has_a_row_and_all_together_stay_small() {
    let named: BTreeSet<String> = rows().iter().map(|row| row[0].clone()).collect();
    let mut files = BTreeSet::new();
    let mut bytes = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let length = path.metadata().unwrap().len();
        bytes += length;
        if path.extension().is_some_and(|ending| ending == "parquet") {
            assert!(length <= MOST_BYTES_EACH, "{}", path.display());
            files.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert_eq!(named, files);
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}
