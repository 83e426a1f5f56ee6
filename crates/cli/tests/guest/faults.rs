//! What becomes of a steered drive's data, and of who waits for it, when drive or server fail (docs/steer.md, "When
//! something fails").

use crate::{
    amount,
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

/// What a script must know of a drive at a port.
fn variables(port: u16) -> Vec<(&'static str, String)> {
    vec![("PORT", port.to_string()), ("NQN", SUBSYSTEM.to_owned())]
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
    // Eight seconds without a sign of life; the rest is the take-over under emulation.
    let silent_s = number(&report, "silent_s");
    eprintln!("stopped, and taken over after {silent_s} s");
    assert!((8..180).contains(&silent_s), "{silent_s} s");
    served.stop();
}
