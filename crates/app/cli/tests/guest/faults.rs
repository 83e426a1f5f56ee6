//! A steered drive's data, and its waiting requests, when drive or server fail (docs/steer-operation.md,
//! "When something fails").

use std::{cell::RefCell, net::SocketAddr, path::Path};

use crate::{
    amount,
    between::Between,
    machine::Report,
    served::{SUBSYSTEM, Served},
    steer::steered_by,
};

const DRIVE: [&str; 6] = ["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"];

/// The sections that had to succeed.
fn went_well(report: &Report, names: &[&str]) {
    for name in names {
        report.output(name);
    }
}

fn number(report: &Report, name: &str) -> u64 {
    let output = report.output(name).trim();
    output
        .parse()
        .unwrap_or_else(|_| panic!("{name}: {output}"))
}

/// Variables of a script for a drive at a port.
fn variables(port: u16) -> Vec<(&'static str, String)> {
    vec![("PORT", port.to_string()), ("NQN", SUBSYSTEM.to_owned())]
}

/// Nothing stands between, yet.
fn between(address: SocketAddr, data: &Path) -> (Between, Vec<(&'static str, String)>) {
    let between = Between::start(address, data);
    let variables = variables(between.port());
    (between, variables)
}

#[test]
fn a_stuck_server_is_killed_from_outside_and_nobody_waits_for_longer_than_that() {
    let served = Served::start(&DRIVE);
    let mut variables = variables(served.address().port());
    variables.push(("WRITTEN", amount(16, 200) + "M"));
    let report = steered_by("steer-stuck.sh", &variables, |_| String::new());
    went_well(
        &report,
        &[
            "load-stopped",
            "told",
            "is-dead",
            "load-queue",
            "told-queue",
            "queue-is-dead",
            "not-stuck",
            "lives",
            "spared",
            "load-grouped",
            "checked",
            "ended",
            "no-guard",
        ],
    );
    assert_eq!(report.output("kernel").trim(), "");
    // The one queue of at least two, in a process that was not stopped.
    assert!(number(&report, "queues") >= 2);
    assert!(!report.output("queue-alone").contains("T (stopped)"));
    // Eight seconds without a sign of life; the rest is the take-over under emulation.
    let silent_s = number(&report, "silent_s");
    eprintln!("stopped, and taken over after {silent_s} s");
    assert!((8..180).contains(&silent_s), "{silent_s} s");
    served.stop();
}

#[test]
fn what_a_drive_refuses_is_told_and_one_that_is_away_comes_back_with_what_it_had() {
    // With a file it has a cache to flush.
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let namespaces = [
        "--namespaces",
        "384MiB:0-3,rest:4-7",
        "--data",
        data.to_str().unwrap(),
    ];
    let served = Served::start(&[&DRIVE[..], &namespaces].concat());
    let (between, mut variables) = between(served.address(), Path::new("/dev/null"));
    variables.push(("WRITTEN", amount(16, 200) + "M"));
    let report = steered_by("steer-drive.sh", &variables, |what| between.asked(what));
    for (name, words) in [
        ("partition-mounted", "mounted or held by another program"),
        ("partition-table", "holds a partition table"),
        ("read-refused", "No data available"),
        ("write-refused", "No data available"),
        ("full", "No space left on device"),
        ("flush-refused", "rror"),
        ("load-gone", "Input/output error"),
        ("no-drive", "cannot open"),
        ("lives", "is steered already, as /dev/ublkb0 by process"),
        ("load-given", "Input/output error"),
    ] {
        report.refused(name, words);
    }
    for name in ["read-refused", "write-refused", "full", "flush-refused"] {
        assert_eq!(
            number(&report, &format!("{name}-left")),
            0,
            "{name} was asked of the drive"
        );
    }
    went_well(
        &report,
        &[
            "rewritten",
            "load-after",
            "load-silent",
            "checked-silent",
            "ended",
            "nothing-left",
            "kept",
            "load-waited",
            "checked",
            "given-up",
            "given-left",
            "kept-bare",
            "other",
        ],
    );
    // Nothing but what was written.
    assert!(
        report
            .output("reread")
            .lines()
            .any(|line| line.trim() == "0")
    );
    assert_eq!(number(&report, "other-bytes"), 128 << 20);
    assert_eq!(report.output("silent-state").trim(), "connecting");
    served.stop();
}

#[test]
fn what_was_flushed_or_forced_outlives_the_drive_s_power() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut drive = DRIVE.to_vec();
    drive.extend(["--data", data.to_str().unwrap()]);
    let served = RefCell::new(Served::start(&drive));
    let address = served.borrow().address();
    let (between, mut variables) = between(address, &data);
    variables.push(("FILES", amount(40, 400)));
    let lost = RefCell::new(0);
    let report = steered_by("steer-power.sh", &variables, |what| {
        let answer = between.asked(what);
        if what == "cut" {
            let mut served = served.borrow_mut();
            served.kill();
            *lost.borrow_mut() = between.forget();
            served.kill_and_restart();
            between.asked("back");
        }
        answer
    });
    assert_eq!(
        report
            .output("cache")
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["write", "back", "1"]
    );
    let counts: Vec<u64> = report
        .output("flushed")
        .split_whitespace()
        .map(|count| count.parse().unwrap())
        .collect();
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    eprintln!(
        "{counts:?} flushes and forced writes; {} blocks forgotten",
        lost.borrow()
    );
    // The drive does forget: what was not flushed is as it was before.
    assert!(*lost.borrow() >= 256);
    assert_eq!(number(&report, "forgotten"), 0);
    went_well(&report, &["given-up", "renamed", "sums", "checked"]);
    let forced: Vec<&str> = report.output("forced").split_whitespace().collect();
    assert_eq!(forced, ["0", "1048576"]);
    served.into_inner().stop();
}

#[test]
fn a_drive_that_was_written_or_made_anew_meanwhile_is_not_written_over_by_the_next_server() {
    let served = Served::start(&[&DRIVE[..], &["--namespaces", "256MiB:0-3"]].concat());
    let mut variables = variables(served.address().port());
    variables.push(("HANDLES", "0,1,2,3".to_owned()));
    let report = steered_by("steer-meanwhile.sh", &variables, |_| String::new());
    let waits = "/dev/ublkb0 waits for a server";
    for (name, words) in [
        ("read-only", "is set read-only"),
        ("held", "failed"),
        ("unproved", "/dev/ublkb0, which waits for its server"),
        ("written", waits),
        ("written", "was written meanwhile"),
        ("written-again", "was written meanwhile"),
        ("anew", "its EUI-64, NGUID or UUID is another"),
        ("anew-insisted", waits),
    ] {
        report.refused(name, words);
    }
    for name in ["waits", "unheld"] {
        let shown = &report.section(name).output;
        assert!(
            shown.contains("/dev/ublkb0, which waits for its server"),
            "{shown}"
        );
    }
    assert!(report.section("waits").output.contains("(ublkb0-waits)"));
    for name in ["going-on", "taken-over", "after"] {
        assert!(report.output(name).contains("going on with"), "{name}");
    }
    assert_eq!(number(&report, "one-guard"), 1);
    assert_eq!(number(&report, "number"), 1);
    went_well(&report, &["given-up", "clean", "kept", "anew-given-up"]);
    // Nothing of the old file system came onto the new namespace.
    assert_ne!(report.section("bare").status, 0);
    served.stop();
}
