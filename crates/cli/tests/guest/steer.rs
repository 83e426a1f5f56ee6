//! `anabranch steer` over a drive of ours, in a guest whose kernel has ublk.

use std::{path::PathBuf, process::Command};

use serde_json::Value;

use crate::{
    amount, host_bytes,
    machine::{Report, run_text, text_of},
    served::Served,
};

/// The command with its libraries, to be run in the guest.
fn command(directory: &tempfile::TempDir) -> Vec<PathBuf> {
    let program = env!("CARGO_BIN_EXE_anabranch");
    let bare = directory.path().join("anabranch");
    let stripped = Command::new("strip")
        .arg("-o")
        .args([bare.as_path(), program.as_ref()])
        .status();
    assert!(stripped.expect("strip is there (binutils)").success());
    let listed = Command::new("ldd")
        .arg(program)
        .output()
        .expect("ldd lists libraries");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let paths = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    paths.map(PathBuf::from).chain([bare]).collect()
}

/// Runs a script behind what all scripts that steer begin with.
fn steered(script: &str, served: &Served, more: &[(&'static str, &str)]) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let mut variables = served.variables();
    variables.extend(more.iter().map(|&(name, value)| (name, value.to_owned())));
    let text = text_of("steer-prelude.sh") + &text_of(script);
    run_text(&text, 900, &variables, &command(&directory), |_| {
        String::new()
    })
}

/// What the server counted, and the drive's own streams.
fn judge(report: &Report, served: Served, is_zero_copy: bool) -> Value {
    for name in [
        "bare", "hot", "files", "buffered", "checked", "ended", "same", "again",
    ] {
        report.output(name);
    }
    report.refused("nothing-there", "name an NVMe namespace");
    report.refused("twice", "is steered already, as /dev/ublkb0 by process");
    report.refused("mounted", "mounted or held by another program");
    report.refused(
        "holds",
        "holds an ext2, ext3 or ext4 file system: say --yes",
    );
    assert_ne!(report.section("taken").status, 0);
    assert_eq!(report.output("kernel").trim(), "");
    let counters = report.json("counters");
    assert_eq!(counters["config"]["zero_copy"], is_zero_copy);
    assert_eq!(counters["errors"], 0);
    assert!(counters["metadata_pages"].as_u64().unwrap() > 0);
    assert!(counters["discarded_bytes"].as_u64().unwrap() > 0);
    assert!(
        counters["split_writes"].as_u64().unwrap() > 0,
        "{counters:#}"
    );
    let shadow = &counters["shadow"];
    assert_eq!(shadow["missed_requests"], 0);
    let steered: Vec<u64> = counters["handles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|handle| handle["written_bytes"].as_u64().unwrap())
        .collect();
    let drive = host_bytes(&served.stop());
    // The default handle has zeroes by command too, and the last mount, which another server counted, wrote a superblock.
    let data = 1..steered.len() - 1;
    assert_eq!(steered[data.clone()], drive[data.clone()]);
    assert!(
        steered[data].iter().filter(|&&bytes| bytes > 0).count() >= 2,
        "{steered:?}"
    );
    counters
}

#[test]
fn every_write_arrives_in_the_handle_that_was_chosen_for_it() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    let options = "--scheme dac --json";
    let report = steered("steer.sh", &served, &[("OPTIONS", options), ("RESET", "")]);
    let counters = judge(&report, served, true);
    let bytes = |value: &Value| value.as_u64().unwrap();
    // Zeroes by command are data to the drive too.
    assert_eq!(
        bytes(&counters["drive"]["host_bytes"]),
        bytes(&counters["written_bytes"]) + bytes(&counters["zeroed_bytes"])
    );
    assert_eq!(counters["unplaced_bytes"], 0);
}

#[test]
fn a_drive_with_streams_is_steered_by_copies_too_and_forgets_them_without_harm() {
    let served = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "512MiB", "--unit", "4MiB",
    ]);
    let options = "--scheme autostream-sfr --json --copy --queues 1 --depth 8 --handles 0-5";
    let report = steered(
        "steer.sh",
        &served,
        &[("OPTIONS", options), ("RESET", "yes")],
    );
    report.output("after-reset");
    let counters = report.json("counters");
    assert!(counters["unplaced_bytes"].as_u64().unwrap() > 0);
    assert_eq!(counters["errors"], 0);
    for name in [
        "bare", "hot", "files", "buffered", "checked", "ended", "same", "again",
    ] {
        report.output(name);
    }
    served.stop();
}

#[test]
fn a_server_killed_under_load_is_taken_over_and_nothing_is_lost() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    let (kills, written) = (amount(2, 20), amount(32, 400) + "M");
    let report = steered(
        "steer-killed.sh",
        &served,
        &[("KILLS", &kills), ("WRITTEN", &written)],
    );
    for name in [
        "load-lent",
        "waited-lent",
        "left-lent",
        "checked-lent",
        "load-copied",
        "waited-copied",
        "left-copied",
        "checked-copied",
    ] {
        report.output(name);
    }
    assert_eq!(report.output("kernel").trim(), "");
    served.stop();
}

#[test]
fn writes_go_by_who_wrote_them_and_a_server_that_takes_over_still_knows() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    let report = steered("steer-contexts.sh", &served, &[]);
    report.output("checked");
    assert!(!report.output("ended").contains("nobody tells"));
    let data = |counters: &Value| -> Vec<u64> {
        let handles = counters["handles"].as_array().unwrap().iter();
        let data = handles.filter(|handle| handle["for"] == "data");
        data.map(|handle| handle["written_bytes"].as_u64().unwrap())
            .collect()
    };
    let counters = report.json("counters");
    let written = data(&counters);
    assert!(written.iter().sum::<u64>() >= 32 << 20, "{counters:#}");
    assert!(
        written.iter().filter(|&&bytes| bytes >= 1 << 20).count() >= 2,
        "{counters:#}"
    );
    // Bytes that are not what was written.
    let wrong: Vec<&str> = report.output("read").split_whitespace().collect();
    assert_eq!(wrong, ["0", "0"]);
    let later = report.json("taken-over");
    for counters in [&counters, &later] {
        let lost = |name: &str| counters["handover"][name].as_u64().unwrap();
        assert_eq!(
            lost("evicted_pages") + lost("skipped_requests"),
            0,
            "{counters:#}"
        );
        // A page whose writer is not known is counted, and told.
        let unknown = lost("missed_pages") + lost("nameless_pages");
        assert_eq!(counters["unknown_pages"], unknown, "{counters:#}");
        assert!(unknown <= 8, "{counters:#}");
    }
    let one_writer = data(&later).into_iter().max().unwrap();
    let unknown = later["unknown_pages"].as_u64().unwrap() * 4096;
    assert!(
        one_writer <= 8 << 20 && one_writer + unknown >= 8 << 20,
        "{later:#}"
    );
    served.stop();
}
