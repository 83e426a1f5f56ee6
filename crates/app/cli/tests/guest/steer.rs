//! `anabranch steer` over a drive of ours, in a guest whose kernel has ublk.

use serde_json::Value;

use crate::{
    MIB, amount, host_bytes,
    machine::{Hardware, Report, compiled, program, run_whole, text_of},
    served::Served,
};

/// Runs a script behind what all scripts that steer begin with.
fn steered(script: &str, served: &Served, more: &[(&'static str, &str)]) -> Report {
    let mut variables = served.variables();
    variables.extend(more.iter().map(|&(name, value)| (name, value.to_owned())));
    steered_by(script, &variables, |_| String::new())
}

/// The same with all of its variables; what it asks for is answered by `answer`.
pub fn steered_by(
    script: &str,
    variables: &[(&str, String)],
    answer: impl FnMut(&str) -> String,
) -> Report {
    steered_on(Hardware::default(), script, variables, answer)
}

/// The same in a guest with this hardware.
pub fn steered_on(
    hardware: Hardware<'_>,
    script: &str,
    variables: &[(&str, String)],
    answer: impl FnMut(&str) -> String,
) -> Report {
    steered_text(hardware, &text_of(script), variables, answer)
}

/// The same with a script's text.
pub fn steered_text(
    hardware: Hardware<'_>,
    script: &str,
    variables: &[(&str, String)],
    answer: impl FnMut(&str) -> String,
) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let text = text_of("steer-prelude.sh") + script;
    let mut files = program(directory.path());
    files.extend(["paths", "map-calls"].map(|name| compiled(name, directory.path())));
    run_whole(&text, 1800, variables, hardware, &files, answer)
}

/// Whether the guest's kernel lends a request's memory.
fn lends(report: &Report) -> bool {
    // UBLK_F_AUTO_BUF_REG of include/uapi/linux/ublk_cmd.h.
    const AUTO_BUFFER: u64 = 1 << 11;
    let host = report.json("host");
    host["found"]["ublk"]["answer"].as_u64().unwrap() & AUTO_BUFFER != 0
}

/// Counters of the server, and the drive's own streams.
fn judge(report: &Report, served: Served) -> Value {
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
    assert_eq!(counters["config"]["zero_copy"], lends(report));
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
    let options = "--scheme dac --json --models /tmp/models";
    let report = steered("steer.sh", &served, &[("OPTIONS", options), ("RESET", "")]);
    let counters = judge(&report, served);
    let bytes = |value: &Value| value.as_u64().unwrap();
    // The next server's models go on where these ended.
    let again = &report.json("counters-again")["shadow"];
    let seen = |shadow: &Value| bytes(&shadow["baseline"]["host_pages"]) * 4096;
    assert_eq!(bytes(&counters["shadow"]["kept_bytes"]), 0);
    assert_eq!(bytes(&again["kept_bytes"]), seen(&counters["shadow"]));
    assert!(seen(again) >= bytes(&again["kept_bytes"]));
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
    for load in ["load-lent", "load-copied"] {
        eprintln!(
            "longest write at a take-over without the probe: {} ms",
            longest_write_ms(&report, load)
        );
    }
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

/// Milliseconds that the longest write of a load by fio took.
pub fn longest_write_ms(report: &Report, load: &str) -> u64 {
    report.json(load)["jobs"][0]["write"]["clat_ns"]["max"]
        .as_u64()
        .unwrap()
        / 1_000_000
}

/// Bytes of each stream that is for data.
pub fn data(counters: &Value) -> Vec<u64> {
    let handles = counters["handles"].as_array().unwrap().iter();
    let data = handles.filter(|handle| handle["for"] == "data");
    data.map(|handle| handle["written_bytes"].as_u64().unwrap())
        .collect()
}

/// Each page was seen, and its writer is known, but for so many pages at most whose writer ended before its program was
/// looked at, which are counted.
fn known_but_for(counters: &Value, most_pages: u64) {
    let handover = &counters["handover"];
    for name in ["evicted_pages", "skipped_requests", "missed_pages"] {
        assert_eq!(handover[name], 0, "{counters:#}");
    }
    let nameless = handover["nameless_pages"].as_u64().unwrap();
    assert!(nameless <= most_pages, "{counters:#}");
    assert_eq!(counters["unknown_pages"], nameless, "{counters:#}");
}

/// The ways of one program to write, and MiB of each.
pub const WAYS: [(&str, u64); 5] = [
    ("buffered", 11),
    ("direct", 21),
    ("mapped", 5),
    ("synced", 9),
    ("ringed", 7),
];

/// The same as words of `paths`.
pub fn ways() -> String {
    WAYS.map(|(way, mib)| format!("{way}:{mib}")).join(" ")
}

/// Counters of a server that ended well and knew the writer of each page.
pub fn ended_knowing_writers(report: &Report) -> Value {
    assert!(!report.output("ended").contains("nobody tells"));
    report.json("counters")
}

/// Counters of the server under `steer-ways.sh`, where nothing went wrong.
pub fn judge_ways(report: &Report) -> Value {
    report.output("checked");
    let counters = ended_knowing_writers(report);
    // A superblock is written by a program that ends at once.
    known_but_for(&counters, 1);
    // Bytes that are not what was written.
    let wrong: Vec<&str> = report.output("read").split_whitespace().collect();
    assert_eq!(wrong, ["0", "0"]);
    // Once a file of 8 MiB was removed, more is given up, and no more than is free in its groups, at most two of 128 MiB. Before,
    // nothing is, unless the file system has freed a block of its own, as it may on a busy machine.
    // The server had all discards; no handle has any.
    let discards = |name: &str| {
        let all = report.output(name).split_whitespace();
        all.map(|word| word.parse::<u64>().unwrap()).nth(13)
    };
    // Field 14 of a block device's stat: sectors of 512 bytes that were discarded.
    let [before, after] =
        ["discards-before", "discards-after"].map(|name| 512 * discards(name).unwrap());
    eprintln!("bytes discarded: {before}, and with the removed file {after}");
    assert!((8 * MIB..=256 * MIB).contains(&(after - before)), "{after}");
    assert!(
        counters["discarded_bytes"].as_u64().unwrap() >= after,
        "{counters:#}"
    );
    counters
}

/// A run in which each program was looked at before it ended. A machine that is starved of its processors looks too late
/// now and then: those pages are nameless, which is counted, and such a run is made again, twice at most.
fn run_of_ways() -> (Served, Report) {
    let mut again = 2;
    loop {
        let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
        let report = steered("steer-ways.sh", &served, &[("PATHS", &ways())]);
        let nameless = &report.json("counters")["handover"]["nameless_pages"];
        if again == 0 || nameless.as_u64().unwrap() <= 1 {
            return (served, report);
        }
        eprintln!(
            "{nameless} pages are of programs that ended before they were looked at: once more"
        );
        again -= 1;
        served.stop();
    }
}

#[test]
fn each_way_of_a_program_to_write_has_a_stream_to_the_byte() {
    let (served, report) = run_of_ways();
    let counters = judge_ways(&report);
    let (written, drive) = (data(&counters), host_bytes(&served.stop()));
    // The default handle has what another server wrote before.
    assert_eq!(written[1..], drive[1..written.len()]);
    for (way, mib) in WAYS {
        assert!(drive.contains(&(mib * MIB)), "{way}: {drive:?}");
    }
    // A program without frame pointers: its stack's words are guessed from, so that its two calls may have more than a
    // stream each, as far as there are streams; nothing of them is in a stream of the other program.
    assert!(
        written.iter().sum::<u64>() >= (53 + 32 + 8) * MIB,
        "{written:?}"
    );
    eprintln!("bytes of each handle: {written:?}");
}

#[test]
fn few_pages_are_missed_and_each_is_told_while_others_call_upon_maps() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    let report = steered("steer-crowd.sh", &served, &[("LOOPS", &amount(1, 8))]);
    report.output("load");
    let counters = report.json("crowd");
    let of = |name: &str| counters["handover"][name].as_u64().unwrap();
    eprintln!("{:#}", counters["handover"]);
    // The calls did keep the first program from running, and the others took nearly all that it was skipped on. A kernel
    // before 7.0 that Debian makes does not preempt a thread within such a call.
    let major = report.output("kernel").trim().split('.').next();
    let is_preempted = major.unwrap().parse::<u32>().unwrap() >= 7;
    assert_eq!(of("late_requests") > 0, is_preempted, "{counters:#}");
    let (missed, nameless) = (of("missed_pages"), of("nameless_pages"));
    assert!(missed * 20 < missed + nameless + of("found_pages"));
    // Each page without a writer is counted, and told.
    assert!(counters["unknown_pages"].as_u64().unwrap() >= missed);
    served.stop();
}

#[test]
fn who_takes_over_lets_no_request_wait_for_the_probe_and_groups_have_handles_that_do_not_mix() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    // The name of a control group is its maker's text.
    let other = "two\u{1b}[31m";
    // The same program, by the same calls: their groups tell them apart.
    let variables = [
        ("FIRST", "direct:21 mapped:5"),
        ("SECOND", "direct:13 mapped:3"),
        ("OTHER", other),
    ];
    let report = steered("steer-contexts.sh", &served, &variables);
    let counters = report.json("taken-over");
    // Eight MiB were asked for while no server was there, with some metadata; four were written behind the probe.
    let unknown = counters["unknown_pages"].as_u64().unwrap();
    assert!((1024..=2048 + 64).contains(&unknown), "{counters:#}");
    let written = data(&counters);
    assert!(written[1..].contains(&(4 * MIB)), "{counters:#}");
    served.stop();

    let grouped = report.json("grouped");
    let names = grouped["tenants"].as_array().unwrap().iter();
    let names: Vec<&Value> = names.map(|tenant| &tenant["control_group"]).collect();
    assert_eq!(names, ["one", "silent", other], "{grouped:#}");
    let notes = grouped["limitations"].as_array().unwrap();
    assert!(
        notes.len() == 1 && notes[0].to_string().contains("silent"),
        "{grouped:#}"
    );
    let written = data(&grouped);
    eprintln!("bytes of each handle: {written:?}");
    // A new program's first requests wait for a look at it no longer than 100 ms; under emulation one takes longer.
    for mib in [21, 5, 13, 3] {
        let all = mib * MIB - MIB / 2..=mib * MIB;
        let found = written.iter().filter(|bytes| all.contains(bytes)).count();
        assert_eq!(found, 1, "{mib} MiB: {written:?}");
    }
}

#[test]
fn servers_killed_while_they_take_over_a_reset_and_a_drive_that_is_gone_lose_nothing_and_hang_nobody()
 {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"]);
    let written = amount(16, 200) + "M";
    let report = steered("steer-faults.sh", &served, &[("WRITTEN", &written)]);
    for name in ["load", "checked", "after-reset", "ended", "nothing-left"] {
        report.output(name);
    }
    assert_eq!(report.output("kernel").trim(), "");
    assert_ne!(report.section("gone").status, 0);
    served.stop();
}

/// Result of a reset under load.
fn reset_under_load(drive: &[&str], options: &str) {
    let served = Served::start(drive);
    let resets = amount(2, 4).parse().map(|count| "reset ".repeat(count));
    let written = amount(128, 400) + "M";
    let report = steered(
        "steer-reset.sh",
        &served,
        &[
            ("WRITTEN", &written),
            ("OPTIONS", options),
            ("RESETS", &resets.unwrap()),
        ],
    );
    for name in ["load", "checked", "ended"] {
        report.output(name);
    }
    assert_eq!(report.output("kernel").trim(), "");
    let counters = report.json("counters");
    assert_eq!(counters["errors"], 0);
    // Commands were under way when it was reset.
    assert!(
        counters["repeated_commands"].as_u64().unwrap() > 0,
        "{counters:#}"
    );
    served.stop();
}

#[test]
fn who_writes_while_the_drive_is_reset_has_no_error() {
    let placement = ["--device", "fdp-8ruh", "--size", "512MiB", "--unit", "8MiB"];
    reset_under_load(&placement, "--scheme autostream-sfr --json");
}
