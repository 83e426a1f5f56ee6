//! Traces in the forms of others: what is exported is imported again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{fs, path::Path};

use anabranch_trace::foreign::Form;
use serde_json::Value;
use tempfile::TempDir;

use command::{anabranch, complaint, json, text, trace};

fn exported(source: &Path, form: &str, file: &Path) -> (Value, String) {
    let output = anabranch(&[
        "export",
        text(source),
        "--to",
        form,
        "--json",
        "-o",
        text(file),
    ]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{form}: {words}");
    (json(&output), words)
}

fn imported(file: &Path, form: Form, to: &Path) -> Value {
    let mut arguments = vec!["import", text(file), "--json", "-o", text(to)];
    if form == Form::Csv {
        arguments.extend(["--format", "csv", "--columns", Form::COLUMNS]);
    }
    let output = anabranch(&arguments);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", form.name());
    json(&output)
}

#[test]
fn every_form_of_a_trace_is_known_by_its_looks_and_has_all_its_writes() {
    let directory = TempDir::new().unwrap();
    let source = trace(&directory);
    for (form, ending) in Form::ALL
        .iter()
        .copied()
        .zip(["", ".gz", ".zst"].iter().cycle())
    {
        let file = directory.path().join(format!("exported{ending}"));
        let (told, _) = exported(&source, form.name(), &file);
        let back = imported(&file, form, &directory.path().join("back.parquet"));
        assert_eq!(back["format"], form.format().name());
        assert_eq!(
            back["summary"]["written"]["requests"],
            1200,
            "{}",
            form.name()
        );
        assert_eq!(
            back["summary"]["written"]["bytes"],
            1200_u64 << 20,
            "{}",
            form.name()
        );
        let discards = back["summary"]["discarded"]["requests"].as_u64().unwrap();
        let left_out = told["exported"]["discards_left_out"].as_u64().unwrap();
        assert_eq!(discards + left_out, 600, "{}", form.name());
        assert_eq!(back["skipped"]["malformed"], 0);
    }
}

#[test]
fn what_is_exported_and_imported_costs_the_same() {
    let directory = TempDir::new().unwrap();
    let source = trace(&directory);
    let waf = |trace: &Path, more: &[&str]| {
        let drive = [
            "replay",
            text(trace),
            "--scheme",
            "baseline,pcstream",
            "--size",
            "64MiB",
            "--unit",
            "1MiB",
            "--json",
        ];
        let output = anabranch(&[&drive, more].concat());
        let schemes = json(&output)["schemes"].clone();
        assert_ne!(
            schemes,
            Value::Null,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        [0, 1].map(|place: usize| schemes[place]["copied_bytes"].clone())
    };
    let file = directory.path().join("t.blkparse");
    exported(&source, "blkparse", &file);
    // Discards and the names of both writers are in it: nothing that a scheme asks for is lost.
    assert_eq!(waf(&file, &["--format", "blkparse"]), waf(&source, &[]));
}

#[test]
fn what_a_form_cannot_hold_is_said_in_one_line() {
    let directory = TempDir::new().unwrap();
    let source = trace(&directory);
    let file = directory.path().join("t.csv");
    let (_, words) = exported(&source, "msr", &file);
    assert_eq!(
        words.lines().collect::<Vec<_>>(),
        [
            "anabranch: format msr: MSR Cambridge: bytes, 100 nanoseconds since 1601",
            "anabranch: 1200 requests; lost: discards left out 600, contexts 1200",
        ]
    );
    let (_, words) = exported(&source, "csv", &file);
    assert!(words.contains("lost: contexts 1200"), "{words}");
    assert!(words.contains("--columns 'time-col=1,"), "{words}");
    let (_, words) = exported(&source, "blktrace", &file);
    // Digits of a thread's name are no part of its role.
    assert!(
        words.contains("lost: contexts known by the process's name alone 1200"),
        "{words}"
    );
}

#[test]
fn a_form_is_one_file_and_knows_no_schemes() {
    let directory = TempDir::new().unwrap();
    let source = trace(&directory);
    let file = directory.path().join("t.csv");
    let (source, file) = (text(&source).to_owned(), text(&file).to_owned());
    for (more, words) in [
        (vec!["--to", "msr,rules"], "export it by itself"),
        (
            vec!["--to", "msr", "--scheme", "sepbit"],
            "--scheme has no use",
        ),
    ] {
        let arguments = [vec!["export", &source, "-o", &file], more].concat();
        let complaint = complaint(&arguments, 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    assert!(!fs::exists(&file).unwrap());
}

#[test]
fn a_file_that_was_there_stays_whole_when_the_export_fails() {
    let directory = TempDir::new().unwrap();
    let mut bytes = fs::read(trace(&directory)).unwrap();
    let half = bytes.len() / 2;
    // Its tables are whole, and its records are not.
    bytes[16..half].fill(0xa5);
    let wounded = directory.path().join("wounded.parquet");
    fs::write(&wounded, bytes).unwrap();
    let file = directory.path().join("t.csv");
    fs::write(&file, "whole").unwrap();
    let output = anabranch(&["export", text(&wounded), "--to", "msr", "-o", text(&file)]);
    assert!(!output.status.success());
    assert_eq!(fs::read_to_string(&file).unwrap(), "whole");
    let names = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, 3, "nothing half-done beside it");
}
