//! Hints of files, set as they are opened: what arrives at a drive in which stream, by the drive's own counters.

use crate::{
    host_bytes,
    machine::{Report, program, run_text, text_of},
    served::Served,
};

/// Of a file system: what a section's groups 2 to 5 (short, medium, long, extreme) were given, in MiB.
const WRITTEN: &[(&str, [u64; 4])] = &[
    // Two files each were open before, one under the name that it has lost: it is taken by that it has.
    ("buffered", [3, 3, 4, 5]),
    ("direct", [0, 0, 2, 0]),
    ("renamed", [0, 0, 0, 1]),
    ("restored", [0, 0, 0, 0]),
    ("left", [0, 1, 0, 0]),
    ("after", [0, 0, 0, 0]),
];

/// Of each section its status and what it says.
const WORDS: &[(&str, i32, &str)] = &[
    ("doctor", 3, "tells 6 streams apart by GROUP NUMBER"),
    ("no-mount", 2, "no file system is mounted there"),
    ("no-directory", 2, "findmnt"),
    ("deaf-rules", 2, "--yes sets hints all the same"),
    ("by-page", 2, "anabranch goes by who writes which page"),
    ("two-ext4", 2, "another process sets hints"),
];

/// MiB in the groups 2 to 5, whole.
fn written(report: &Report, name: &str) -> [u64; 4] {
    let output = report.output(name);
    let pages: Vec<u64> = output
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(pages.len(), 7, "{name}: {output}");
    assert_eq!((pages[1], pages[6]), (0, 0), "{name}: {output}");
    [2, 3, 4, 5].map(|group: usize| {
        assert_eq!(pages[group] % 256, 0, "{name}: {output}");
        pages[group] / 256
    })
}

fn is_undone(report: &Report, system: &str) {
    let of = |name: &str| report.json(&format!("{name}-{system}"));
    let ended = of("ended");
    let set = |hint: &str| ended["hints_set"][hint].as_u64().unwrap();
    // a.log, early.log and those of the files soon gone that were seen; b.idx; c.sst; d.ibd and a.ibd.
    assert!(set("short") >= 2, "{ended:#}");
    assert_eq!(
        [set("medium"), set("long"), set("extreme")],
        [1, 1, 2],
        "{ended:#}"
    );
    assert_eq!(
        (&ended["refused"], &ended["overflows"]),
        (&0.into(), &0.into())
    );
    let restored = &ended["restored"];
    // early.log, b.idx, c.sst, d.ibd, a.ibd.
    assert_eq!(restored["restored"], 5, "{ended:#}");
    assert_eq!(restored["changed"], 0, "{ended:#}");
    let undone = of("undone")["restored"].clone();
    assert_eq!(undone["restored"], 1, "{undone:#}");
    assert_eq!(undone["vanished"], 1, "{undone:#}");
    assert_eq!(of("nothing")["restored"]["restored"], 0);
    report.output(&format!("unmounted-{system}"));
    assert_eq!(of("followed")["files_left"], 0);
    assert!(!report.output(&format!("clean-{system}")).contains("hints"));
}

#[test]
fn files_are_given_hints_and_their_writes_arrive_in_them() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    let directory = tempfile::tempdir().unwrap();
    let files = program(directory.path());
    let text = text_of("hints-prelude.sh") + &text_of("hints.sh");
    let report = run_text(&text, 1800, &served.variables(), &files, |_| String::new());
    let kernel = report.output("kernel").trim();
    eprintln!("kernel {kernel}");
    // There ext4 gives no hint to what it writes out of the page cache.
    let is_deaf =
        |system, name: &str| system == "ext4" && kernel.starts_with("6.") && name != "direct";
    for (name, status, words) in WORDS {
        let section = report.section(name);
        assert_eq!(section.status, *status, "{name}: {}", section.output);
        assert!(section.output.contains(words), "{name}: {}", section.output);
    }
    for system in ["ext4", "xfs"] {
        for (name, expected) in WRITTEN {
            let expected = if is_deaf(system, name) {
                [0; 4]
            } else {
                *expected
            };
            assert_eq!(
                written(&report, &format!("{name}-{system}")),
                expected,
                "{name}-{system}"
            );
        }
        is_undone(&report, system);
    }
    let written = host_bytes(&served.stop());
    eprintln!("F2FS: bytes in each handle {written:?}");
    if report.sections().any(|(name, _)| name == "f2fs") {
        report.output("f2fs");
    }
    // A hot file stays with metadata, a cold one and one between have handles; kernels whose F2FS hands nothing on
    // cannot be asked.
    let (apart, none) = ([5 << 20, 8 << 20, 0, 0, 0, 0, 0], [0; 7]);
    assert!(written[1..] == apart || written[1..] == none, "{written:?}");
}
