//! A served drive as a SCSI one, on a stock kernel: TCMU and tcm_loop, sd's permanent streams, and the hints of files
//! that ext4 and XFS write out of the page cache; what arrives in which stream, by the drive's own counters.

use crate::{
    MIB,
    machine::{Report, program, run_text, text_of},
};

/// Of each section its status and what it says.
const WORDS: &[(&str, i32, &str)] = &[
    ("no-name", 2, "is no name of a SCSI drive"),
    ("placement", 2, "SCSI has no Flexible Data Placement"),
    ("timed", 2, "leave --time on out"),
    ("served", 0, "at /dev/sda"),
    ("said", 0, "permanent stream count = 6"),
    ("doctor", 3, "streams apart by GROUP NUMBER"),
    (
        "busy",
        1,
        "another process serves a SCSI drive of this name",
    ),
    ("taken-over", 0, "as a server before left it"),
    ("dead", 1, "nput/output error"),
    ("other-size", 1, "is left of another drive"),
    ("other-contents", 1, "is left of another drive"),
    ("no-contents", 1, "is left of another drive"),
    ("memory", 1, "take it away by hand"),
    ("by-hand", 0, ""),
];

/// Bytes that streams 0 to 7 were written.
fn streams(report: &Report, name: &str) -> [u64; 8] {
    let output = report.output(name);
    let numbers: Vec<u64> = output
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    numbers
        .try_into()
        .unwrap_or_else(|_| panic!("{name}: {output}"))
}

/// Bytes written to streams 2 to 5 (short, medium, long, extreme) between two sections; the others are not hinted.
fn between(report: &Report, from: &str, to: &str) -> [u64; 4] {
    let (before, after) = (streams(report, from), streams(report, to));
    let written: Vec<u64> = before.iter().zip(after).map(|(b, a)| a - b).collect();
    assert_eq!(
        (written[1], written[6], written[7]),
        (0, 0, 0),
        "{written:?}"
    );
    [2, 3, 4, 5].map(|stream: usize| written[stream])
}

#[test]
fn hints_of_what_file_systems_write_arrive_at_a_scsi_drive_of_ours() {
    let directory = tempfile::tempdir().unwrap();
    let files = program(directory.path());
    let text = text_of("hints-prelude.sh") + &text_of("scsi.sh");
    let report = run_text(&text, 1800, &[], &files, |_| String::new());
    let kernel = report.output("kernel").trim();
    eprintln!("kernel {kernel}");
    for (name, status, words) in WORDS {
        let section = report.section(name);
        assert_eq!(section.status, *status, "{name}: {}", section.output);
        assert!(section.output.contains(words), "{name}: {}", section.output);
    }
    for system in ["ext4", "xfs"] {
        let of = |name: &str| format!("{name}-{system}");
        let buffered = between(&report, &of("none"), &of("buffered"));
        // There ext4 gives no hint to what it writes out of the page cache.
        let is_deaf = system == "ext4" && kernel.starts_with("6.");
        let expected = if is_deaf {
            [0; 4]
        } else {
            [2, 3, 4, 5].map(|n| n * MIB)
        };
        assert_eq!(buffered, expected, "{system}");
        let direct = between(&report, &of("buffered"), &of("direct"));
        assert_eq!(direct, [0, 0, 2 * MIB, 0], "{system}");
        report.output(&of("sums"));
        report.output(&of("trimmed"));
        let discarded = |name| -> u64 { report.output(&of(name)).trim().parse().unwrap() };
        let given_up = discarded("discarded") - discarded("held");
        assert!(given_up >= 6 * MIB, "{system}: {given_up}");
    }
    report.output("written");
    report.output("whole");
    let waited: u64 = report.output("waited").trim().parse().unwrap();
    eprintln!("a command without a server failed after {waited} s");
    assert!(waited < 600, "{waited}");
    let counters = report.json("stopped");
    assert!(counters["commands"]["unsafe_shutdowns"].as_u64().unwrap() == 2);
    for name in ["gone", "gone-by-hand"] {
        let gone = &report.section(name).output;
        assert!(!gone.lines().any(|line| line.starts_with('/')), "{gone}");
    }
    assert_eq!(report.section("warnings").output.trim(), "");
}
