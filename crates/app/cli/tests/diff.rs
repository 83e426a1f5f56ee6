//! Two results side by side.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use command::{anabranch, complaint, text, trace};

/// A result with so many streams.
fn result(directory: &TempDir, streams: &str, schemes: &str) -> PathBuf {
    let trace = trace(directory);
    let path = directory.path().join(format!("{streams}.json"));
    let drive = ["--unit", "1MiB", "--streams", streams, "--scheme", schemes];
    let output = anabranch(&[&["replay", text(&trace), "-o", text(&path)], &drive[..]].concat());
    assert!(output.status.success());
    path
}

#[test]
fn a_trace_in_place_of_a_result_is_told_how_to_make_one() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    for verb in [&["report"][..], &["diff", text(&trace)]] {
        let words = complaint(&[verb, &[text(&trace)]].concat(), 2);
        assert!(
            words.contains("is a trace and no result") && words.contains("-o RESULT.json"),
            "{words}"
        );
    }
}

#[test]
fn what_was_set_otherwise_and_what_moved_are_told() {
    let directory = TempDir::new().unwrap();
    let two = result(&directory, "2", "baseline,pcstream");
    let four = result(&directory, "4", "baseline,pcstream*");
    let output = anabranch(&["diff", text(&two), text(&four), "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let difference = &told["differences"][0];
    let changed = difference["changed"].as_array().unwrap();
    let streams = json!({ "key": "config.drive.host_streams", "before": 2, "after": 4 });
    assert!(changed.contains(&streams), "{changed:#?}");
    let before: Value = serde_json::from_slice(&fs::read(&two).unwrap()).unwrap();
    let schemes = difference["schemes"].as_array().unwrap();
    let names: Vec<&Value> = schemes.iter().map(|scheme| &scheme["name"]).collect();
    assert_eq!(names, ["baseline", "pcstream", "pcstream*"]);
    assert_eq!(schemes[0]["before"]["waf"], before["schemes"][0]["waf"]);
    assert!(schemes[1]["after"].is_null() && schemes[2]["before"].is_null());
    // Its name in earlier versions.
    let earlier = anabranch(&["compare", text(&two), text(&four), "--json"]);
    assert_eq!(earlier.stdout, output.stdout);
    let table = anabranch(&["diff", text(&two), text(&four)]).stdout;
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("config.drive.host_streams"), "{table}");
    assert!(table.contains("+0.0 %"), "baseline has not moved: {table}");
}

#[test]
fn two_traces_are_called_so_and_the_same_trace_is_not() {
    let directory = TempDir::new().unwrap();
    let replayed = |load: &str, name: &str, streams: &str| {
        let path = directory.path().join(name);
        let drive = [
            "--unit",
            "256KiB",
            "--streams",
            streams,
            "--scheme",
            "baseline",
        ];
        let output = anabranch(&[&["replay", load, "-o", text(&path)], &drive[..]].concat());
        assert!(output.status.success());
        path
    };
    let one = "synthetic:fio-fms16:size=64MiB,write=128MiB";
    let other = "synthetic:fio-zipf:size=64MiB,write=192MiB";
    let [before, again, after] = [
        replayed(one, "a.json", "2"),
        replayed(one, "b.json", "4"),
        replayed(other, "c.json", "2"),
    ];
    let said = |after: &PathBuf| {
        let output = anabranch(&["diff", text(&before), text(after)]);
        String::from_utf8(output.stdout).unwrap()
    };
    let words = said(&after);
    assert!(
        words.starts_with("These are two traces") && words.contains(one) && words.contains(other),
        "{words}"
    );
    assert!(!said(&again).contains("These are two"));
}

#[test]
fn grids_of_different_length_are_not_compared() {
    let directory = TempDir::new().unwrap();
    let one = result(&directory, "2", "baseline");
    let grid = result(&directory, "2,4", "baseline");
    let said = complaint(&["diff", text(&one), text(&grid)], 2);
    assert!(said.contains("holds 1 result"), "{said}");
}
