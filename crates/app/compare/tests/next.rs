//! "Next" leads somewhere: from a trace on any drive, what the verdict says to do next ends after at most three steps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use anabranch_compare::{
    ComparisonOptions, ReplayOptions, TraceFile, Unwatched, options_of, read_text, replay, schemes,
};
use anabranch_replay::{Answer, Comparison};
use anabranch_ssd::profile::Profile;

/// The most steps of a walk.
const MOST_STEPS: usize = 3;

/// A shipped trace.
fn shipped(name: &str) -> TraceFile {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../traces");
    TraceFile::open(&traces.join(name), None, false).unwrap()
}

fn compared(options: &ReplayOptions, trace: &TraceFile) -> Comparison {
    let specs = schemes(&options.comparison, true, &read_text).unwrap();
    let results = replay(options, &specs, &[trace], &mut Unwatched).unwrap();
    results.into_iter().next().unwrap()
}

/// Follows "Next" from a trace on a drive until it ends, and answers with the last result.
fn walk(trace: &TraceFile, drive: &[&str]) -> Comparison {
    let comparison = ComparisonOptions {
        schemes: vec!["baseline+gc,anabranch+fdp".to_owned()],
        ..ComparisonOptions::default()
    };
    let mut words: Vec<String> = drive.iter().map(|word| (*word).to_owned()).collect();
    let mut seen = Vec::new();
    loop {
        let found = compared(&options_of(&words, &comparison).unwrap(), trace);
        let verdict = found.verdict.clone().unwrap();
        assert!(!seen.contains(&words), "{seen:?} and again {words:?}");
        seen.push(words);
        assert!(seen.len() <= MOST_STEPS, "{seen:?}: {}", verdict.headline);
        let Some(next) = found.fuller_drive() else {
            assert!(
                !verdict.next.contains("anabranch replay"),
                "{}: {}",
                verdict.headline,
                verdict.next
            );
            return found;
        };
        // The sentence is the same command, quoted for a shell.
        assert!(verdict.next.ends_with(&next.join(" ")), "{}", verdict.next);
        words = next;
    }
}

#[test]
fn next_ends_after_three_steps_at_most_from_shipped_traces_on_several_profiles() {
    let profiles: [&[&str]; 7] = [
        &[],
        &["--device", "fdp-pm9d3"],
        &["--device", "pm963"],
        &["--device", "fdp-8ruh"],
        &["--device", "demo", "--size", "4GiB"],
        &["--device", "golden", "--size", "2GiB"],
        &["--size", "4GiB", "--unit", "64MiB"],
    ];
    for name in ["redis.parquet", "fio-fms16.parquet"] {
        let trace = shipped(name);
        for drive in profiles {
            walk(&trace, drive);
        }
    }
}

#[test]
#[ignore = "replays every shipped trace on every profile: minutes, in a release build"]
fn next_ends_after_three_steps_at_most_from_every_shipped_trace_on_every_profile() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../traces");
    let names = std::fs::read_dir(traces).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names.filter(|name| name.ends_with(".parquet")) {
        let trace = shipped(&name);
        walk(&trace, &[]);
        for profile in Profile::names() {
            walk(&trace, &["--device", profile]);
        }
    }
}

#[test]
fn a_drive_far_larger_than_its_trace_is_scaled_with_its_units_and_spare() {
    let whole = Profile::shipped("fdp-pm9d3").unwrap();
    for (name, options) in [
        ("redis.parquet", &["--device", "fdp-pm9d3"][..]),
        ("redis.parquet", &["--device", "fdp-pm9d3", "--fill", "90%"]),
        ("fio-fms16.parquet", &["--device", "fdp-pm9d3"]),
    ] {
        let words: Vec<String> = options.iter().map(|word| (*word).to_owned()).collect();
        let comparison = ComparisonOptions {
            schemes: vec!["baseline+gc,anabranch+fdp".to_owned()],
            ..ComparisonOptions::default()
        };
        let found = compared(&options_of(&words, &comparison).unwrap(), &shipped(name));
        let stands_for = found.device.scaled.unwrap();
        assert_eq!(stands_for.logical_bytes, whole.logical_bytes());
        assert_eq!(stands_for.unit_bytes, whole.unit_bytes());
        let units = found.device.logical_bytes as f64 / found.device.unit_bytes as f64;
        let own = whole.logical_bytes() as f64 / whole.unit_bytes() as f64;
        assert!(
            (units / own - 1.0).abs() < 0.02,
            "{name}: {units} for {own}"
        );
        let about = found.verdict.unwrap().about;
        assert!(about.contains("stands for one of 12 GiB"), "{about}");
    }
    // Who names the unit has it.
    let words = ["--device", "fdp-pm9d3", "--unit", "1MiB"].map(str::to_owned);
    let options = options_of(&words, &ComparisonOptions::default()).unwrap();
    let found = compared(&options, &shipped("redis.parquet"));
    assert_eq!(
        (found.device.unit_bytes, found.device.scaled),
        (1 << 20, None)
    );
}

#[test]
fn a_drive_far_from_full_has_no_answer_and_the_one_its_trace_fills_is_another() {
    let trace = shipped("fio-fms16.parquet");
    let young = compared(
        &options_of(
            &["--size".to_owned(), "16GiB".to_owned()],
            &ComparisonOptions::default(),
        )
        .unwrap(),
        &trace,
    );
    assert_eq!(young.verdict.unwrap().answer, Answer::NoAnswerYet);
    let last = walk(&trace, &["--size", "16GiB"]);
    assert!(last.config.contains_key("fill"));
}
