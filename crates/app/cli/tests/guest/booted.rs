//! A system with systemd and udev: the units and the rules of the packages at work, as the guides have it.

use std::{fs, path::PathBuf};

use crate::{
    MIB,
    machine::{Hardware, Report, compiled, program, root, run_whole, text_of},
    served::Served,
    several::drive_of_two,
};

/// Runs a script as a service of systemd. `packed` are files of the packages.
fn booted(script: &str, variables: &[(&str, String)], packed: &[&str]) -> Report {
    let directory = tempfile::tempdir().unwrap();
    // `scripts/guest-init.sh` starts a file of this name as the first process.
    let first = directory.path().join("first.sh");
    fs::write(&first, text_of("booted-first.sh")).unwrap();
    let packed = packed
        .iter()
        .map(|name| root().join("packaging").join(name));
    let files: Vec<PathBuf> = program(directory.path())
        .into_iter()
        .chain(packed)
        .chain([compiled("paths", directory.path()), first])
        .collect();
    let script = text_of("booted-prelude.sh") + &text_of(script);
    let nothing = |_: &str| String::new();
    run_whole(
        &script,
        1800,
        variables,
        Hardware::default(),
        &files,
        nothing,
    )
}

#[test]
fn a_mirror_of_steered_drives_comes_up_at_a_boot_and_ends_in_order() {
    let served = drive_of_two();
    let packed = [
        "anabranch-steer@.service",
        "anabranch-steer.target",
        "61-anabranch.rules",
    ];
    let report = booted("booted-array.sh", &served.variables(), &packed);
    let links = |name: &str| {
        let links = report.output(name).lines();
        let ours = links.filter_map(|link| link.strip_prefix("anabranch-"));
        ours.map(str::to_owned).collect::<Vec<_>>()
    };
    // Each link names the drive behind the block device.
    let drives = report.output("drives");
    assert_eq!(links("before-links").len(), 2);
    for drive in links("before-links") {
        let its = format!("nvme-{drive}");
        assert!(drives.lines().any(|line| line == its), "{its}: {drives}");
    }
    let alone = report.output("alone");
    for property in ["Requires=", "After="] {
        let mut lines = alone.lines();
        let line = lines.find(|line| line.starts_with(property)).unwrap();
        assert!(line.contains("anabranch-steer@"), "{alone}");
    }
    // Nobody waited for a server until systemd killed it.
    let ended = report.output("ended");
    assert!(ended.contains("md0 stopped"), "{ended}");
    assert!(!ended.contains("anabranch-steer@"), "{ended}");
    assert!(!report.output("log").contains("watchdog was killed"));
    // Started again, the array is found on the block devices.
    for moment in ["before", "after"] {
        let array = report.output(&format!("{moment}-array"));
        for word in ["ublkb0[", "ublkb1[", "[UU]"] {
            assert!(array.contains(word), "{moment}: {array}");
        }
    }
    assert_eq!(links("after-links"), links("before-links"));
    assert_eq!(report.output("after-sums"), report.output("before-sums"));
    // A server whose block device is used says by what, and ends once it is let go.
    assert_eq!(report.output("waits").trim(), "ActiveState=deactivating");
    assert!(report.output("log").contains("is in use by md0: "));
    let ends: Vec<&str> = report
        .sections()
        .filter(|(name, _)| name.starts_with("end-of-"))
        .map(|(_, section)| section.output.as_str())
        .collect();
    assert_eq!(ends.len(), 2);
    for end in ends {
        assert!(end.contains("Result=success"), "{end}");
        assert!(end.contains("ActiveState=inactive"), "{end}");
    }
    assert!(!report.output("nodes").contains("ublkb"));
    assert_eq!(report.output("kernel").trim(), "");
    served.stop();
}

#[test]
fn the_units_that_watch_and_record_do_so_with_what_they_may() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "256MiB", "--unit", "8MiB"]);
    let packed = ["anabranch-watch.service", "anabranch-record@.service"];
    let report = booted("booted-watch.sh", &served.variables(), &packed);
    let written = |text: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("anabranch_watch_written_bytes_total"));
        let (_, value) = line.unwrap().rsplit_once(' ').unwrap();
        value.parse::<f64>().unwrap() as u64
    };
    assert!(written(report.output("metrics")) >= 8 * MIB);
    // The file on which it keeps its state, and the snapshot.
    assert!(report.output("kept").contains("watch.state"));
    report.json("snapshot");
    for name in ["watch-end", "record-end"] {
        let end = report.output(name);
        assert!(end.contains("Result=success"), "{name}: {end}");
        assert!(end.contains("ActiveState=inactive"), "{name}: {end}");
    }
    // Call paths of a program of another user's image are read in the unit, too.
    let contexts = report.output("contexts");
    for call in ["direct", "buffered"] {
        assert!(contexts.contains(call), "{call}: {contexts}");
    }
    served.stop();
}

#[test]
fn a_volume_on_a_steered_drive_comes_up_at_a_boot_and_ends_in_order() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "256MiB", "--unit", "8MiB"]);
    let packed = ["anabranch-steer@.service", "61-anabranch.rules"];
    let report = booted("booted-volume.sh", &served.variables(), &packed);
    assert!(report.output("filter").contains("global_filter"));
    let ended = report.output("ended");
    assert!(!ended.contains("anabranch-steer@"), "{ended}");
    for moment in ["before", "after"] {
        let volumes = report.output(&format!("{moment}-volumes"));
        let words: Vec<&str> = volumes.split_whitespace().collect();
        assert_eq!(words, ["/dev/ublkb0", "group"], "{moment}");
    }
    assert_eq!(report.output("after-sums"), report.output("before-sums"));
    report.output("again");
    assert_eq!(report.output("kernel").trim(), "");
    served.stop();
}
