//! Options of schemes on the command line besides numbers: rules, and lifetimes learned before.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{fs, path::Path};

use anabranch_trace::{Context, ContextId, ContextKind, File, FileId, Io, Writer};
use serde_json::Value;
use tempfile::TempDir;

use command::anabranch;

/// The schemes of a comparison that went well.
fn schemes(arguments: &[&str]) -> Vec<Value> {
    let output = anabranch(&[&["replay", "--unit", "1MiB", "--json"], arguments].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    result["schemes"].as_array().unwrap().clone()
}

/// Refusals of wrong use.
fn complaint(arguments: &[&str]) -> String {
    let output = anabranch(&[&["replay"], arguments].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

/// A log rewritten and tables written in turn, by two contexts whose numbers a second trace gives
/// the other way round.
fn trace(directory: &TempDir, name: &str, log: u32, tables: u32) -> String {
    let path = directory.path().join(name);
    let mut writer = Writer::create(&path).unwrap();
    for round in 0..600_u64 {
        for (context, at) in [(log, round % 8), (tables, 8 + (round * 7) % 48)] {
            let io = Io {
                context: ContextId(context),
                file: FileId(context),
                ..Io::write(at << 20, 1 << 20)
            };
            writer.push(&io).unwrap();
        }
    }
    let mut rows = command::tables(command::DEVICE_BYTES, &[]);
    for id in 1..=2 {
        let (signature, name) = if id == log {
            (0xabc, "000001.log")
        } else {
            (0xdef, "000002.sst")
        };
        rows.contexts.push(Context::new(
            ContextId(id),
            signature,
            ContextKind::Application,
            "writer",
        ));
        rows.files.push(File {
            name: name.to_owned(),
            ..File::default()
        });
    }
    writer.finish(&rows).unwrap();
    text(&path)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Streams the host wrote to, and what it wrote there.
fn host_page_bytes(scheme: &Value) -> Vec<(u64, u64)> {
    let streams = scheme["streams"].as_array().unwrap().iter();
    let number = |stream: &Value, key: &str| stream[key].as_u64().unwrap();
    streams
        .map(|stream| (number(stream, "id"), number(stream, "host_page_bytes")))
        .filter(|(_, bytes)| *bytes > 0)
        .collect()
}

#[test]
fn rules_are_shipped_or_in_a_file() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory, "t.parquet", 1, 2);
    let rules = directory.path().join("mine.toml");
    fs::write(&rules, "[[rule]]\nfile = \"*.log\"\nstream = 5\n").unwrap();
    let mine = format!("manual:rules={}", text(&rules));
    let found = schemes(&[
        &trace,
        "--scheme",
        "manual:rules=rocksdb,fstream",
        "--scheme",
        &mine,
    ]);
    assert_eq!(found[0]["parameters"]["rules"], "rocksdb");
    let written = 600 << 20;
    assert_eq!(host_page_bytes(&found[0]), [(1, written), (3, written)]);
    assert_eq!(host_page_bytes(&found[1]), [(1, written), (2, written)]);
    assert_eq!(found[2]["name"], mine);
    assert_eq!(host_page_bytes(&found[2]), [(0, written), (5, written)]);

    fs::write(&rules, "[[rule]]\nname = \"*.log\"\nstream = 5\n").unwrap();
    let wrong = complaint(&[&trace, "--scheme", &mine]);
    assert!(
        wrong.contains("mine.toml") && wrong.contains("name"),
        "{wrong}"
    );
    let none = complaint(&[&trace, "--scheme", "manual:rules=cassandra"]);
    assert!(none.contains("cassandra-multi-log"), "{none}");
}

#[test]
fn rules_that_place_nothing_are_told_in_a_line_and_in_the_result() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory, "t.parquet", 1, 2);
    let rules = directory.path().join("mine.toml");
    let rule = |file: &str| format!("[[rule]]\nfile = \"{file}\"\nstream = 5\n");
    let scheme = format!("manual:rules={}", text(&rules));
    let told = |files: &[&str]| {
        fs::write(
            &rules,
            files.iter().map(|file| rule(file)).collect::<String>(),
        )
        .unwrap();
        let output = anabranch(&["replay", &trace, "--unit", "1MiB", "--scheme", &scheme]);
        let table = String::from_utf8(output.stdout).unwrap();
        let lines = table.lines().filter(|line| line.contains("rules of"));
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        let idle = schemes(&[&trace, "--scheme", &scheme])[0]["rules"]["idle"].clone();
        (lines, idle)
    };
    let (lines, idle) = told(&["*.lgo", "*.sts"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("no write matched any of the 2 rules") && lines[0].contains("mine.toml"),
        "{lines:?}"
    );
    assert_eq!(idle, serde_json::json!([1, 2]));
    let (lines, idle) = told(&["*.log", "*.tmp", "*.sst", "*.log"]);
    assert!(lines[0].ends_with(": 2, 4"), "{lines:?}");
    assert_eq!(idle, serde_json::json!([2, 4]));
    assert_eq!(told(&["*"]), (Vec::new(), serde_json::json!([])));
}

#[test]
fn lifetimes_learned_in_one_run_are_known_in_the_next() {
    let directory = TempDir::new().unwrap();
    let first = trace(&directory, "first.parquet", 1, 2);
    let second = trace(&directory, "second.parquet", 2, 1);
    let profile = text(&directory.path().join("lifetimes.json"));
    let run = |trace: &str| {
        let scheme = ["--scheme", "pcstream*", "--lifetimes", &profile];
        host_page_bytes(&schemes(&[&[trace], &scheme[..]].concat())[0])
    };
    assert_eq!(run(&first)[0].0, 0, "at first all go to the default stream");
    assert!(
        fs::read_to_string(&profile)
            .unwrap()
            .contains("0000000000000abc")
    );
    let bytes: Vec<u64> = run(&second).iter().map(|(_, bytes)| *bytes).collect();
    assert_eq!(
        bytes,
        [600 << 20, 600 << 20],
        "then each has its own at once"
    );

    let grid = complaint(&[&first, "--streams", "4,8", "--profile", &profile]);
    assert!(grid.contains("--lifetimes"), "{grid}");
    let kept = fs::read_to_string(&profile).unwrap();
    fs::write(
        &profile,
        kept.replace("lifetime_bytes\": ", "lifetime_bytes\": 9"),
    )
    .unwrap();
    let unit = ["--unit", "1MiB", "--lifetimes", &profile];
    let changed = complaint(&[&[first.as_str()], &unit[..]].concat());
    assert!(changed.contains("lifetimes.json: lifetimes"), "{changed}");
}

#[test]
fn every_scheme_is_listed_with_its_presets_and_its_source() {
    let output = anabranch(&["schemes"]);
    let listed = String::from_utf8(output.stdout).unwrap();
    for word in [
        "autostream-mq",
        "preset=paper|sepbit-port|log10-emulator",
        "HotStorage'14",
        "FStream (FAST'18)",
        "cassandra-multi-data",
        "tenants=N",
    ] {
        assert!(listed.contains(word), "{word}");
    }
}

#[test]
fn a_host_that_collects_in_time_comes_to_an_end() {
    // Units of 512 KiB: several are emptied at a time, and one that took the room of the first was emptied for ever.
    let traces = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../traces/mariadb-tpcc.parquet"
    );
    let drive = ["--unit", "512KiB", "--fill", "90%", "--device", "fdp-8ruh"];
    let time = ["--time", "closed", "--queue-depth", "32", "--json"];
    let scheme = ["replay", traces, "--scheme", "anabranch+host"];
    let output = anabranch(&[&scheme[..], &drive, &time].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let collected = &result["schemes"][0]["collected"];
    assert!(
        collected["rewritten_bytes"].as_u64().unwrap() > 0,
        "{collected}"
    );
}
