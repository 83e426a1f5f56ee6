//! Other people's tests of drives, as Debian has their sources: fio's of NVMe's passthrough, and nvme-cli's. `scripts/suites.sh build`
//! fetches them; what of them fails is listed here with its reason, and in docs/results/served-drive.md.

use std::process::Command;

use super::{
    machine::{Report, root, run_on},
    served::Served,
};

/// Result of one of the tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    passed: usize,
    skipped: usize,
    failed: Vec<String>,
}

/// Of fio's scripts: a line for each case, and a summary.
fn of_fio(output: &str) -> Outcome {
    let cases = |verdict: &str| -> Vec<String> {
        let lines = output.lines().filter(|line| line.starts_with("Test "));
        let such = lines.filter(|line| {
            line.split_whitespace()
                .nth(2)
                .map(|word| word.trim_end_matches(':'))
                == Some(verdict)
        });
        such.map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
            .collect()
    };
    let failed = cases("FAILED");
    let summary = output
        .lines()
        .rev()
        .find(|line| line.contains("test(s) passed"));
    let summary = summary.unwrap_or_else(|| panic!("no summary: {output}"));
    let numbers: Vec<usize> = summary
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert_eq!(numbers[1], failed.len(), "{output}");
    Outcome {
        passed: numbers[0],
        skipped: numbers[2],
        failed,
    }
}

/// Of nose2: the names of those that failed, then how many were run, and of these, skipped.
fn of_nose(output: &str) -> Outcome {
    let failed: Vec<String> = output
        .lines()
        .filter_map(|line| {
            line.strip_prefix("FAIL: ")
                .or_else(|| line.strip_prefix("ERROR: "))
        })
        .map(|name| name.split_whitespace().next().unwrap().to_owned())
        .collect();
    let ran = output
        .lines()
        .find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok());
    let ran: usize = ran.unwrap_or_else(|| panic!("nothing ran: {output}"));
    let skipped = output.split_once("skipped=").map_or(0, |(_, rest)| {
        rest.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
            .parse()
            .unwrap()
    });
    Outcome {
        passed: ran - failed.len() - skipped,
        skipped,
        failed,
    }
}

/// Expected failures: test, case, reason.
const EXPECTED: &[(&str, &str, &str)] = &[
    (
        "nvme_compare_test",
        "test_nvme_compare",
        "it brings two blocks of data for a command of one, which over a fabric is a wrong SGL length (TCP has no bit bucket)",
    ),
    (
        "nvme_get_features_test",
        "test_get_mandatory_features",
        "interrupt coalescing and vectors (08h, 09h) are mandatory for PCIe alone",
    ),
    (
        "nvme_writeuncor_test",
        "test_write_uncor",
        "Write Uncorrectable is optional (ONCS bit 1), not offered, and not looked for by the test",
    ),
];

/// Boots the guest with the suites' system and runs some of them on a drive.
fn run_suites(served: &Served, suite: &str, tests: &[&str]) -> Report {
    let built = Command::new(root().join("scripts/suites.sh"))
        .arg("build")
        .status();
    assert!(built.expect("scripts/suites.sh starts").success());
    let mut variables = served.variables();
    variables.push(("SUITE", suite.to_owned()));
    variables.push(("TESTS", tests.join(" ")));
    let report = run_on(
        &root().join("target/suites/disk"),
        "suites.sh",
        7200,
        &variables,
    );
    eprintln!("{}", report.output("versions"));
    // The drive answers still.
    report.json("still");
    report
}

/// Prints a row of the table in docs/results/served-drive.md, and demands that what fails is what is expected to.
fn check(test: &str, outcome: &Outcome) {
    let Outcome {
        passed,
        skipped,
        failed,
    } = outcome;
    eprintln!("| {test} | {passed} | {} | {skipped} |", failed.len());
    let mut expected = Vec::new();
    for (_, case, reason) in EXPECTED.iter().filter(|(one, _, _)| *one == test) {
        eprintln!("  {case}: {reason}");
        expected.push(*case);
    }
    assert_eq!(
        *failed, expected,
        "{test}: what fails, and what is expected to"
    );
}

fn check_fio(served: Served, tests: &[&str]) {
    let report = run_suites(&served, "fio", tests);
    for test in tests {
        let output = &report.section(test).output;
        eprintln!("{output}");
        check(test, &of_fio(output));
    }
    served.stop();
}

#[test]
#[ignore = "long: make test-guest runs it"]
fn suites_of_fio_pass_on_a_drive_with_placement() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    check_fio(served, &["nvmept_fdp", "nvmept_trim"]);
}

#[test]
#[ignore = "long: make test-guest runs it"]
fn suites_of_fio_pass_on_a_drive_with_streams() {
    let served = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "256MiB", "--unit", "4MiB",
    ]);
    check_fio(served, &["nvmept_streams"]);
}

#[test]
#[ignore = "long: make test-guest runs it"]
fn suites_of_nvme_cli_pass() {
    let served = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "256MiB", "--unit", "4MiB",
    ]);
    let report = run_suites(&served, "nvme-cli", &[]);
    for (test, section) in report.sections() {
        if test.ends_with("_test") {
            check(test, &of_nose(&section.output));
        }
    }
    served.stop();
}
