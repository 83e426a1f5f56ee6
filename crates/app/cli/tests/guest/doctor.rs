//! `anabranch doctor` in the guest: its words, with each piece there and with one missing, and its proofs.

use serde_json::{Value, json};

use crate::{
    host_bytes,
    machine::{Report, program, run_with},
    served::Served,
    steer::steered_by,
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
    ("unprivileged", 3, "run it with sudo"),
    (
        "unprivileged",
        3,
        "/dev/ublk-control cannot be opened (Permission denied",
    ),
    (
        "unprivileged",
        3,
        "The drive cannot be asked: cannot open /dev/ng0n1: Permission denied",
    ),
    (
        "unprivileged",
        3,
        "/dev/ng0n1 is there, and refuses this process.",
    ),
    ("unprivileged", 3, "remedy: run it as root"),
    (
        "without-tracing",
        3,
        "the drive cannot be asked what it has (above)",
    ),
    (
        "without-btf",
        3,
        "this kernel has no BTF at /sys/kernel/btf/vmlinux",
    ),
    (
        "without-btf",
        3,
        "ublk is there, but nobody sees who writes: this kernel has no BTF",
    ),
    (
        "without-btf",
        3,
        "remedy: schemes by address and age need no tracing",
    ),
    ("without-btf", 3, "8 handles"),
    ("without-io-uring", 3, "`sysctl kernel.io_uring_disabled=0`"),
    (
        "without-character",
        3,
        "nvme0n1 has no NVMe character device here",
    ),
    ("without-character", 3, "kernels since 5.13 make it"),
    ("swap", 3, "the kernel's swap uses the drive"),
    ("swap", 3, "swapoff"),
    ("loop", 3, "the loop device loop0 uses the drive"),
    ("mapped", 3, "dm-0 lies on the drive"),
    ("mapped", 3, "steer a drive that nothing else is made of"),
    ("parted", 3, "nvme0n1p1 lies on the drive"),
    ("part", 3, "nvme0n1p1 is a partition of nvme0n1"),
    ("part", 3, "remedy: `anabranch doctor /dev/nvme0n1`"),
    (
        "plain",
        3,
        "has neither Flexible Data Placement nor the Streams Directive",
    ),
    ("plain", 3, "the drive has nothing to steer to"),
    ("plain", 3, "the drive has no handles to name in them"),
    ("plain-proof", 2, "neither Flexible Data Placement"),
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
pub fn proved(found: &Value) -> Vec<&str> {
    let proofs = found["proofs"].as_array().unwrap().iter();
    proofs
        .map(|proof| {
            assert_eq!(proof["holds"], true, "{found:#}");
            proof["conduit"].as_str().unwrap()
        })
        .collect()
}

/// Answers for a user without privileges: refusals in place of answers, and verdicts.
fn lacks_leave(told: &str) {
    let told: Value = serde_json::from_str(told).unwrap_or_else(|error| panic!("{error}: {told}"));
    let found = &told["found"];
    for asked in [&found["tracing"], &found["ublk"], &found["device"]["drive"]] {
        assert!(
            asked["refusal"].is_string() && asked["answer"].is_null(),
            "{told:#}"
        );
    }
    let verdicts = told["verdicts"].as_array().unwrap();
    for name in ["tracing", "drive", "ublk", "passthrough"] {
        let one = verdicts.iter().find(|one| one["conduit"] == name).unwrap();
        assert_eq!(one["reach"], "no", "{told:#}");
    }
}

#[test]
fn the_configuration_in_force_and_who_shares_handles_are_told() {
    let drive = ["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"];
    let served = Served::start(&[&drive[..], &["--namespaces", "none"]].concat());
    let report = steered_by("doctor-shared.sh", &served.variables(), |_| String::new());
    let fdp = |name: &str| report.json(name)["found"]["device"]["drive"]["answer"]["fdp"].clone();
    let alone = fdp("alone");
    // The second configuration has half of the handles, the first all eight.
    assert_eq!(
        (&alone["configuration"], &alone["drive_handles"]),
        (&1.into(), &4.into())
    );
    assert_eq!(alone["unit_bytes"], 8 << 20);
    let (used, unused) = ("host_specified", "unused");
    assert_eq!(
        alone["usage"],
        json!([used, used, unused, unused]),
        "{alone:#}"
    );
    assert_eq!(alone["neighbours"], json!([]));
    let both = fdp("both-json");
    assert_eq!(both["usage"], json!([used, used, used, unused]), "{both:#}");
    let neighbour = json!({ "device": "/dev/ng0n2", "handles": { "answer": [2, 1] } });
    assert_eq!(both["neighbours"], json!([neighbour]), "{both:#}");
    for (name, words) in [
        (
            "both",
            "Of the drive's 4 handles 0-1 are this namespace's; 1-2 are those of /dev/ng0n2, and 1 is shared",
        ),
        ("both", "3 is used by no namespace"),
        (
            "both",
            "remedy: make the namespaces anew, each with handles",
        ),
        (
            "other",
            "1-2 are this namespace's; 0-1 are those of /dev/ng0n1, and 1 is shared",
        ),
        (
            "other",
            "remedy: make the namespaces anew, each with handles",
        ),
        (
            "note",
            "note: /dev/ng0n2 writes to the same reclaim units as handle 1 here",
        ),
        (
            "hidden",
            "0-1 are this namespace's; 2 is used by a namespace that this host does not see; 3 is used by no namespace",
        ),
    ] {
        let told = &report.section(name).output;
        assert!(told.contains(words), "{name} lacks {words}: {told}");
    }
    // One handle that is left tells nothing apart: no command is offered.
    for name in ["both", "other", "note"] {
        let told = &report.section(name).output;
        assert!(!told.contains("--handles"), "{name}: {told}");
    }
    assert!(!report.output("no-note").contains("note: /dev"));
    served.stop();
}

#[test]
fn the_doctor_says_what_is_so_and_proves_it() {
    let fdp = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    let streams = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "256MiB", "--unit", "4MiB",
    ]);
    let plain = Served::start(&[
        "--device", "demo", "--mode", "plain", "--size", "256MiB", "--unit", "4MiB",
    ]);
    let directory = tempfile::tempdir().unwrap();
    let mut variables = fdp.variables();
    for (name, served) in [("PORT2", &streams), ("PORT3", &plain)] {
        let others = served.variables();
        let port = others.into_iter().find(|(name, _)| *name == "PORT");
        variables.push((name, port.unwrap().1));
    }
    let files = program(directory.path());
    let report = run_with("doctor.sh", 1800, &variables, &files, |_| String::new());
    eprintln!("the doctor's guest is {}", report.output("kernel").trim());

    has_its_words(&report);
    lacks_leave(&report.section("unprivileged-json").output);
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
    plain.stop();
}
