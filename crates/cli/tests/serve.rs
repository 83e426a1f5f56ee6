//! `anabranch serve` as a process: what it costs, how it ends, what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod command;
mod served;

use anabranch_initiator::{Host, HostOptions, Tag};
use anabranch_trace::{Operation, Reader};
use command::{anabranch, complaint, json, trace};
use serde_json::Value;
use served::{SUBSYSTEM, Served};

const BLOCK: u64 = 4096;

fn host(served: &Served) -> Host {
    Host::connect(served.address(), &HostOptions::numbered(SUBSYSTEM, 1)).unwrap()
}

/// What must be equal: bytes written, copied and erased, and what each stream took.
fn counts(device: &Value) -> Value {
    let streams = device["streams"].as_array().unwrap();
    let streams: Vec<[&Value; 3]> = streams
        .iter()
        .filter(|stream| stream["host_bytes"] != 0 || stream["copied_bytes"] != 0)
        .map(|stream| {
            [
                &stream["id"],
                &stream["host_bytes"],
                &stream["copied_bytes"],
            ]
        })
        .collect();
    serde_json::json!([
        device["host_bytes"],
        device["media_bytes"],
        device["copied_bytes"],
        device["erased_bytes"],
        streams,
    ])
}

#[test]
fn long_writes_and_discards_cost_the_same_over_the_network_as_in_a_replay() {
    let directory = tempfile::tempdir().unwrap();
    let path = trace(&directory);
    let drive = [
        "--device",
        "demo",
        "--size",
        "64MiB",
        "--unit",
        "3MiB",
        "--over-provisioning",
        "20%",
    ];
    for scheme in ["baseline", "autostream-sfr", "sepbit"] {
        let mut words = vec![
            "replay",
            path.to_str().unwrap(),
            "--scheme",
            scheme,
            "--json",
        ];
        words.extend(drive);
        let replayed = json(&anabranch(&words));
        let replayed = counts(&replayed["schemes"][0]);
        let mut words = vec!["--mode", "plain", "--scheme", scheme];
        words.extend(drive);
        let served = Served::start(&words);
        let mut host = host(&served);
        for io in Reader::open(&path).unwrap().map(Result::unwrap) {
            let (first, blocks) = (io.offset_bytes / BLOCK, (io.length_bytes / BLOCK) as u32);
            match io.operation {
                Operation::Write => {
                    let data = vec![blocks as u8; io.length_bytes as usize];
                    host.write(first, &data, Tag::None).unwrap();
                }
                _ => host.deallocate(&[(first, blocks)]).unwrap(),
            }
        }
        drop(host);
        let counted = counts(&served.stop()["device"]);
        // Garbage was collected; the papers' legacy drive copied for it, too.
        let collected = if scheme == "baseline" { 2 } else { 3 };
        assert_ne!(replayed[collected], 0, "{scheme}: the trace is too small");
        assert_eq!(counted, replayed, "{scheme}");
    }
}

#[test]
fn a_drive_that_is_stopped_and_started_has_its_age() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let words = [
        "--device",
        "demo",
        "--size",
        "64MiB",
        "--unit",
        "1MiB",
        "--data",
        data.to_str().unwrap(),
    ];
    let served = Served::start(&words);
    let mut one = host(&served);
    for round in 0..3 {
        for first in (0..16_384).step_by(256) {
            one.write((first * 7) % 16_384, &vec![round; 1 << 20], Tag::None)
                .unwrap();
        }
    }
    drop(one);
    let before = served.stop();
    let served = Served::start(&words);
    let after = served.stop();
    assert_eq!(after["device"], before["device"]);
    assert_eq!(after["commands"]["power_cycles"], 2);
    assert_eq!(after["commands"]["unsafe_shutdowns"], 0);
    // The state is of that drive, and of no other.
    let mut other = vec!["serve"];
    other.extend(words);
    other.extend(["--mode", "plain", "--scheme", "sepbit"]);
    let words = complaint(&other, 2);
    assert!(words.contains("--state"), "{words}");
}

#[test]
fn what_would_be_unsafe_or_makes_no_sense_is_refused() {
    for (arguments, word) in [
        (&["--listen", "0.0.0.0:0"][..], "--allow-host"),
        (&["--metrics", "0.0.0.0:0"], "--allow-any-reader"),
        (&["--metrics", "[::]:0"], "--allow-any-reader"),
        // Who may connect says nothing of who may ask for metrics.
        (
            &["--metrics", "0.0.0.0:0", "--allow-any-host"],
            "--allow-any-reader",
        ),
        (&["--allow-any-reader"], "--metrics"),
        // Allowed, it is no longer what is wrong.
        (
            &["--metrics", "0.0.0.0:0", "--allow-any-reader", "--nqn", ""],
            "no name",
        ),
        (&["--scheme", "sepbit"], "--mode plain"),
        (&["--mode", "fdp"], "[fdp]"),
        (&["--mode", "plain", "--scheme", "oracle"], "oracle"),
        (&["--nqn", ""], "name"),
        (&["--device", "demo,golden"], "one"),
        (&["--data", "/"], "/"),
        (&["--block-bytes", "1000"], "512"),
    ] {
        let mut words = vec!["serve"];
        words.extend(arguments);
        let said = complaint(&words, 2);
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn an_aged_drive_keeps_its_age_though_it_has_no_contents() {
    let directory = tempfile::tempdir().unwrap();
    let aged = directory.path().join("aged.drive");
    let output = anabranch(&[
        "precondition",
        "--device",
        "demo",
        "--size",
        "64MiB",
        "--unit",
        "1MiB",
        "--capacities",
        "1",
        "-o",
        aged.to_str().unwrap(),
    ]);
    assert!(output.status.success());
    let mut served = Served::start(&[
        "--device",
        "demo",
        "--drive",
        aged.to_str().unwrap(),
        "--data",
        "DATA",
    ]);
    let mut one = host(&served);
    assert_eq!(one.read(0, 256).unwrap(), vec![0; 1 << 20]);
    one.write(0, &vec![1; 1 << 20], Tag::None).unwrap();
    drop(one);
    served.kill_and_restart();
    assert_eq!(host(&served).read(0, 256).unwrap(), vec![1; 1 << 20]);
    let counted = served.stop();
    assert_eq!(counted["device"]["mapped_bytes"], 64 << 20);
}
