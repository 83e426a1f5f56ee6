//! `anabranch doctor` in the guest: its words, with each piece there and with one missing, and its proofs.

use serde_json::Value;

use crate::{
    host_bytes,
    machine::{Report, program, run_with},
    served::Served,
};

const PROOF_BYTES: u64 = 64 << 10;

/// Of each section its status, and what it says.
const WORDS: &[(&str, i32, &str)] = &[
    ("free", 0, "8 handles"),
    ("free", 0, "reclaim units of 8 MiB"),
    ("free", 0, "endurance group 1"),
    ("free", 0, "nobody uses it"),
    ("free", 0, "would carry each write"),
    ("holds", 2, "ext4 file system: say --yes"),
    ("anyway", 0, "proved: 64 KiB arrived in handle 1, as asked"),
    ("mounted", 3, "mounted ext4 on /mnt"),
    ("mounted", 3, "umount /mnt"),
    ("disturbed", 2, "mounted on /mnt"),
    ("disturbed", 2, "nothing was written"),
    ("open", 3, "(sleep) has the drive open"),
    ("open", 3, "end that process"),
    ("without-ublk", 3, "modprobe ublk_drv"),
    ("nothing", 2, "lsblk"),
    ("host", 0, "a killed server may be followed by another"),
    ("clean", 0, ""),
];

fn has_its_words(report: &Report) {
    for (name, status, words) in WORDS {
        let section = report.section(name);
        assert_eq!(section.status, *status, "{name}: {}", section.output);
        assert!(
            section.output.contains(words),
            "{name} lacks {words}: {}",
            section.output
        );
    }
}

/// The conduits with a proof; all of them hold.
fn proved(found: &Value) -> Vec<&str> {
    let proofs = found["proofs"].as_array().unwrap().iter();
    proofs
        .map(|proof| {
            assert_eq!(proof["holds"], true, "{found:#}");
            proof["conduit"].as_str().unwrap()
        })
        .collect()
}

#[test]
fn the_doctor_says_what_is_so_and_proves_it() {
    let fdp = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    let streams = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "256MiB", "--unit", "4MiB",
    ]);
    let directory = tempfile::tempdir().unwrap();
    let mut variables = fdp.variables();
    let other = streams.variables();
    let port = other.iter().find(|(name, _)| *name == "PORT").unwrap();
    variables.push(("PORT2", port.1.clone()));
    let files = program(directory.path());
    let report = run_with("doctor.sh", 1800, &variables, &files, |_| String::new());
    eprintln!("the doctor's guest is {}", report.output("kernel").trim());

    has_its_words(&report);
    let found = report.json("proved");
    // What the kernel has of its own is asked of it.
    let kernels = found["found"]["device"]["write_streams"]
        .as_u64()
        .unwrap_or(0);
    let expected: &[&str] = match kernels {
        0 => &["passthrough", "ublk"],
        _ => &["passthrough", "file_hints", "write_streams", "ublk"],
    };
    assert_eq!(proved(&found), expected);

    assert_eq!(proved(&report.json("streams")), ["passthrough", "ublk"]);

    // Twice through each conduit, and nothing else was sent to handle 1.
    let written = host_bytes(&fdp.stop());
    assert_eq!(
        written[1],
        2 * expected.len() as u64 * PROOF_BYTES,
        "{written:?}"
    );
    assert_eq!(written[2..].iter().sum::<u64>(), 0, "{written:?}");
    streams.stop();
}
