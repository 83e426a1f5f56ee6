//! Experiments: that each file reads, that a result says everything, and that the counts of a
//! quick one are what they were.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use command::{anabranch, complaint, json, text};

fn experiments() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3);
    root.unwrap().join("lab/experiments")
}

/// A directory of one experiment, called `x`.
fn directory(experiment: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("experiments")).unwrap();
    fs::write(directory.path().join("experiments/x.toml"), experiment).unwrap();
    directory
}

fn run(directory: &TempDir) -> Value {
    let from = directory.path().join("experiments");
    let output = anabranch(&["experiment", "x", "--directory", text(&from), "--json"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let left = directory.path().join("out/experiments/x.json");
    let left: Value = serde_json::from_slice(&fs::read(left).unwrap()).unwrap();
    assert_eq!(left, json(&output));
    left
}

const SMALL: &str = r#"
title = "small"
source = "nobody"
setup = "none"

[[run]]
name = "fio"
trace = "synthetic:fio-fms16:size=256MiB,write=1GiB"
scheme = ["baseline", "hints"]
unit = ["1MiB", "2MiB"]
no-discards = [false, true]

[[lifetimes]]
name = "lives"
trace = "synthetic:fio-fms16:size=256MiB,write=1GiB"
by = ["file", "address", "pcstream*"]

[[claim]]
claim = "streams save copies"
published = 2.0
bound = "at-least"
run = "fio"
at = { unit = "1MiB", no-discards = "false" }
field = "waf"
of = "baseline"
over = "hints"
show = "ratio"

[[claim]]
claim = "each file has one lifetime"
published = 1.0
tolerance = 0.001
run = "lives"
field = "explained"
of = "file"

[[claim]]
claim = "the wrong way round"
order = "hints > baseline"
run = "fio"
at = { unit = "2MiB", no-discards = "true" }
field = "waf"
"#;

#[test]
fn a_result_has_claims_and_every_figure_they_rest_on() {
    let result = run(&directory(SMALL));
    let claims = result["claims"].as_array().unwrap();
    let holds: Vec<bool> = claims
        .iter()
        .map(|claim| claim["holds"].as_bool().unwrap())
        .collect();
    assert_eq!(holds, [true, true, false]);
    for claim in claims {
        for key in ["claim", "published", "ours", "why"] {
            assert!(claim[key].is_string(), "{key}");
        }
    }
    let comparisons = result["runs"][0]["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 4);
    assert_eq!(comparisons[0]["at"]["unit"], "1MiB");
    assert_eq!(comparisons[1]["result"]["device"]["unit_bytes"], 2 << 20);
    let command = comparisons[3]["command"].as_str().unwrap();
    assert!(command.contains("--no-discards"), "{command}");
    let found = &result["lifetimes"][0]["by"];
    assert_eq!(found[0]["groups"].as_array().unwrap().len(), 4);
}

#[test]
fn the_command_printed_makes_the_same_counts() {
    let result = run(&directory(SMALL));
    let cell = &result["runs"][0]["comparisons"][0];
    let mut words: Vec<&str> = cell["command"]
        .as_str()
        .unwrap()
        .split(' ')
        .skip(1)
        .collect();
    words.push("--json");
    assert_eq!(
        json(&anabranch(&words))["schemes"],
        cell["result"]["schemes"]
    );
}

#[test]
fn what_an_experiment_does_not_know_it_says() {
    let complains = |wrong: &str, right: &str| {
        let directory = directory(&SMALL.replacen(right, wrong, 1));
        let from = directory.path().join("experiments");
        complaint(&["experiment", "x", "--directory", text(&from)], 2)
    };
    let unit = "unit = [\"1MiB\", \"2MiB\"]";
    assert!(complains("units = \"1MiB\"", unit).contains("units"));
    assert!(complains("why-not = \"\"\nrun = \"fio\"", "run = \"fio\"").contains("why-not"));
    assert!(complains("run = \"foo\"", "run = \"fio\"").contains("foo"));
    assert!(complains("over = \"pcstream\"", "over = \"hints\"").contains("pcstream"));
    assert!(complains("field = \"wav\"", "field = \"waf\"").contains("wav"));
    assert!(
        complains(
            "at = { unit = \"3MiB\" }",
            "at = { unit = \"1MiB\", no-discards = \"false\" }"
        )
        .contains("3MiB")
    );
    assert!(
        complains(
            "at = { unit = \"1MiB\" }",
            "at = { unit = \"1MiB\", no-discards = \"false\" }"
        )
        .contains("several")
    );
}

#[test]
fn every_experiment_shipped_reads_and_is_listed() {
    let from = experiments();
    let output = anabranch(&["experiment", "list", "--directory", text(&from)]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let list = String::from_utf8(output.stdout).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(list.contains(name), "{name}");
        }
    }
}

#[test]
fn the_counts_of_small_experiments_are_what_they_were() {
    let output = anabranch(&[
        "experiment",
        "counts",
        "--directory",
        text(&experiments()),
        "--json",
        "-o",
        text(&TempDir::new().unwrap().path().join("counts.json")),
    ]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let result = json(&output);
    let claims = result["claims"].as_array().unwrap();
    assert!(claims.len() > 10);
    for claim in claims {
        assert_eq!(claim["holds"], true, "{claim}");
    }
}

#[test]
fn a_claim_that_no_comparison_answers_is_refused_before_anything_is_replayed() {
    // To replay it would fail in another way.
    let unreadable = SMALL.replace(
        "synthetic:fio-fms16:size=256MiB,write=1GiB\"\nscheme",
        "no-such-trace\"\nscheme",
    );
    let cases = [
        (", no-discards = \"false\" }", " }", "several comparisons"),
        ("unit = \"1MiB\"", "unit = \"3MiB\"", "no comparison at"),
        (
            "over = \"hints\"",
            "over = \"sepbit\"",
            "does not compare scheme sepbit",
        ),
    ];
    for (right, wrong, words) in cases {
        assert!(unreadable.contains(right));
        let directory = directory(&unreadable.replacen(right, wrong, 1));
        let from = directory.path().join("experiments");
        let complaint = complaint(&["experiment", "x", "--directory", text(&from)], 2);
        assert!(complaint.contains(words), "{complaint}");
        assert!(
            complaint.contains("claim \"streams save copies\""),
            "{complaint}"
        );
    }
}
