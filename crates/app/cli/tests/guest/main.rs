//! A drive of ours in the hands of a Linux guest: its kernel's nvme-tcp, nvme-cli, fio and file systems.
//!
//! `scripts/guest.sh build` makes the guest (scripts/setup.sh test does); without it these tests fail. Runs the short
//! form unless ANABRANCH_GUEST is `long` (`make test-guest`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod below;
mod between;
mod booted;
mod captured;
mod chain;
mod collects;
#[path = "../command/mod.rs"]
mod command;
mod doctor;
mod exported;
mod faults;
mod hints;
mod hypervisor;
mod machine;
mod page;
mod passed;
mod qemu;
mod reboot;
mod scsi;
mod secured;
#[path = "../served/mod.rs"]
mod served;
mod several;
mod stacks;
mod steer;
mod suites;
mod watched;

use machine::{Report, run};
use serde_json::Value;
use served::{SUBSYSTEM, Served};

const MIB: u64 = 1 << 20;

/// Amount of work: the short form's number or the long one's.
fn amount(short: u32, long: u32) -> String {
    let is_long = std::env::var("ANABRANCH_GUEST").is_ok_and(|form| form == "long");
    if is_long { long } else { short }.to_string()
}

/// Bytes that hosts wrote into each stream of the drive.
fn host_bytes(counters: &Value) -> Vec<u64> {
    let streams = counters["device"]["streams"].as_array().unwrap().iter();
    let host = streams.filter(|stream| stream["internal"] == false);
    host.map(|stream| stream["host_page_bytes"].as_u64().unwrap())
        .collect()
}

fn identifies_itself(report: &Report) {
    let controller = report.json("controller");
    assert_eq!(controller["subnqn"].as_str().unwrap(), SUBSYSTEM);
    let namespace = report.json("namespace");
    assert_eq!(
        namespace["lbafs"][namespace["flbas"].as_u64().unwrap() as usize]["ds"],
        12
    );
}

#[test]
fn streams_live_a_whole_life() {
    let served = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "1GiB", "--unit", "4MiB",
    ]);
    let report = run("streams.sh", 300, &served.variables(), |_| String::new());
    identifies_itself(&report);
    assert!(report.output("discover").contains(SUBSYSTEM));
    assert!(report.output("list").contains("/dev/nvme0n1"));

    // Supported, enabled, persistent: bits 0 identify, 1 streams.
    let directives = |name: &str| {
        let bytes = report.bytes(name);
        (bytes[0], bytes[32], bytes[64])
    };
    assert_eq!(directives("directives-before"), (0b11, 0b01, 0));
    assert_eq!(directives("directives-enabled"), (0b11, 0b11, 0));
    assert_eq!(directives("directives-after-reset"), (0b11, 0b01, 0));
    report.refused("status-before", "Invalid Field");
    report.refused("disabled", "Invalid Field");

    // A count, then identifiers, ascending.
    let open = |name: &str| {
        let numbers = report.numbers(name);
        numbers[1..=usize::from(numbers[0])].to_vec()
    };
    assert!(open("none-open").is_empty());
    assert_eq!(open("four-open"), [3, 9, 700, 65535]);
    assert_eq!(open("three-open"), [3, 9, 65535]);
    assert!(open("enabled-again").is_empty());
    // MSL, NSSA, NSSO; from byte 22 on NSA, NSO.
    let most = report.numbers("parameters")[0];
    assert!(most >= 7);
    assert_eq!(report.numbers("allocated")[11], 2);
    assert_eq!(report.numbers("released")[11], 0);
    report.refused("allocate-again", "Invalid Field");
    report.refused("bad-opcode", "Invalid Command Opcode");
    report.refused("bad-log", "Invalid Log Page");
    report.refused("bad-directive", "Invalid Field");
    for name in ["fio-3", "fio-65535", "fio-700"] {
        report.output(name);
    }

    // Each identifier's bytes are in a stream of their own; a later one of 1 MiB took any of them.
    let counters = served.stop();
    let written = host_bytes(&counters);
    for expected in [4 * MIB, 8 * MIB, 2 * MIB, 4096] {
        let found = written[1..]
            .iter()
            .any(|&bytes| bytes == expected || bytes == expected + MIB);
        assert!(found, "{expected}: {written:?}");
    }
    assert_eq!(written.iter().sum::<u64>(), 15 * MIB + 4096);
    assert_eq!(written[0], 0);
    let smart = |name: &str| report.json(name)["data_units_written"].as_u64().unwrap();
    let units = smart("smart-after") - smart("smart-before");
    assert_eq!(units, (15 * MIB + 4096).div_ceil(512_000));
}

/// Blocks that can still be written to each handle's unit.
fn room(report: &Report, name: &str) -> Vec<u64> {
    let status = report.json(name);
    let handles = status["ruhss"].as_array().unwrap().iter();
    handles
        .map(|handle| handle["ruamw"].as_u64().unwrap())
        .collect()
}

#[test]
fn placement_is_told_and_heeded() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "1GiB", "--unit", "8MiB"]);
    let report = run("placement.sh", 300, &served.variables(), |_| String::new());
    identifies_itself(&report);
    let attributes = report.json("controller")["ctratt"].as_u64().unwrap();
    assert_ne!(attributes & 1 << 19, 0, "no FDP in {attributes:#x}");
    for name in [
        "fio-1",
        "fio-2",
        "configurations",
        "usage",
        "feature",
        "hinted",
        "protected-write",
        "protected-read",
    ] {
        report.output(name);
    }
    // Blocks of 4 KiB in a unit of 8 MiB, and what is left of the first three handles' units.
    let unit = 2048;
    let left = |used: [u64; 3]| {
        let [first, second, third] = used.map(|used| unit - used);
        vec![first, second, third, unit, unit, unit, unit, unit]
    };
    assert_eq!(room(&report, "status-before"), left([0, 0, 0]));
    assert_eq!(room(&report, "status-placed"), left([0, 1024, 512]));
    assert_eq!(room(&report, "status-default"), left([256, 1024, 512]));
    assert_eq!(room(&report, "status-updated")[1..3], [unit, unit]);

    // Invalid identifier (3) of handle 0, not fully written (0) of handle 1.
    let events = report.json("events")["events"].as_array().unwrap().len();
    assert_eq!(events, 2, "{}", report.output("events"));
    let statistics = |name: &str, key: &str| report.json(name)[key].as_u64().unwrap();
    assert_eq!(statistics("statistics-before", "hbmw"), 0);
    assert_eq!(statistics("statistics-after", "hbmw"), 7 * MIB + 4096);
    assert_eq!(statistics("statistics-after", "mbmw"), 7 * MIB + 4096);

    // The kernel's hints reach handles, and not the default one alone.
    let streams: u32 = report.output("kernel-streams").trim().parse().unwrap();
    assert!(streams >= 5, "{streams}");
    let written = host_bytes(&served.stop());
    assert_eq!(written.iter().sum::<u64>(), 8 * MIB + 8192);
    assert_eq!(
        (written[0] % MIB, written[1..].iter().sum::<u64>()),
        (8192, 7 * MIB),
        "{written:?}"
    );
}

#[test]
fn namespaces_are_made_filled_and_deleted() {
    let served = Served::start(&[
        "--device",
        "fdp-8ruh",
        "--size",
        "1GiB",
        "--unit",
        "8MiB",
        "--namespaces",
        "256MiB:0-1",
    ]);
    let report = run("namespaces.sh", 600, &served.variables(), |_| String::new());
    let before = report.json("before");
    assert_eq!(before["nn"], 128);
    report.output("created");
    report.refused("too-large", "Capacity");
    assert!(report.output("list").contains("/dev/nvme0n2"));
    let ids = |name: &str| -> Vec<u64> {
        let list = report.json(name);
        let list = list["nsid_list"].as_array().unwrap().iter();
        list.map(|one| one["nsid"].as_u64().unwrap()).collect()
    };
    assert_eq!(ids("all"), [1, 2]);
    assert_eq!(ids("after"), [1]);
    assert_eq!(report.json("second")["nsze"], 65536);
    assert_eq!(report.output("sums"), report.output("sums-after"));
    let first = report.output("sums").lines().next().unwrap();
    assert_eq!(report.output("sums-first").trim(), first.trim());
    for name in [
        "attached",
        "usage",
        "fio-1",
        "fio-2",
        "extended",
        "subsystem-reset",
    ] {
        report.output(name);
    }
    // Each namespace's placement handles 0, for its file system, and 1 are handles of its own.
    let written = host_bytes(&served.stop());
    assert!(written[0] > 4 * MIB && written[4] > 4 * MIB, "{written:?}");
    assert_eq!((written[1], written[5]), (2 * MIB, 4 * MIB));
    assert_eq!([written[2], written[3], written[6], written[7]], [0; 4]);
}

#[test]
fn file_systems_are_made_filled_and_found_clean() {
    let served = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "512MiB", "--unit", "4MiB",
    ]);
    let mut variables = served.variables();
    variables.push(("FILES", amount(12, 120)));
    let report = run("filesystems.sh", 900, &variables, |_| String::new());
    for kind in ["ext4", "xfs", "f2fs"] {
        report.output(kind);
    }
    let counters = served.stop();
    assert!(counters["device"]["discarded_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn what_is_written_is_read_whatever_becomes_of_connections() {
    let served = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "512MiB", "--unit", "4MiB",
    ]);
    let mut variables = served.variables();
    variables.push(("SIZE", "64M".to_owned()));
    variables.push(("WRITTEN", amount(48, 2048) + "M"));
    variables.push(("CUTS", amount(3, 30)));
    let report = run("verify.sh", 1800, &variables, |_| String::new());
    for name in ["whole", "cut", "again", "wide"] {
        report.output(name);
    }
    assert_eq!(report.output("discarded").trim(), "0");
    served.stop();
}

#[test]
fn a_target_killed_under_load_loses_nothing() {
    let mut served = Served::start(&[
        "--device", "demo", "--mode", "streams", "--size", "512MiB", "--unit", "4MiB", "--data",
        "DATA",
    ]);
    let mut variables = served.variables();
    variables.push(("WRITTEN", amount(64, 1024) + "M"));
    let report = run("killed.sh", 900, &variables, |what| {
        assert_eq!(what, "kill");
        served.kill_and_restart();
        String::new()
    });
    for name in ["load", "flushed"] {
        report.output(name);
    }
    assert_eq!(report.json("smart")["unsafe_shutdowns"], 1);
    served.stop();
}
