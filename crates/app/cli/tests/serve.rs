//! `anabranch serve` as a process: what it costs, how it ends, what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod command;
mod scrape;
mod served;

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anabranch_initiator::{Entry, Host, HostOptions, NewNamespace, Tag, Transfer};
use anabranch_trace::{Operation, Reader};
use command::{anabranch, complaint, json, trace};
use scrape::{free_address, scrape};
use serde_json::Value;
use served::{SUBSYSTEM, Served};

const BLOCK: u64 = 4096;

fn host(served: &Served) -> Host {
    Host::connect(served.address(), &HostOptions::numbered(SUBSYSTEM, 1)).unwrap()
}

/// The text of metrics, once it is as it should be.
fn scraped(address: &str, is_so: impl Fn(&str) -> bool) -> String {
    let began = Instant::now();
    loop {
        let text = scrape(address);
        if is_so(&text) {
            return text;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{text}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the metrics of the shadow drive of `baseline`.
fn figure(text: &str, name: &str) -> f64 {
    let name = format!("anabranch_shadow_scheme_{name}{{scheme=\"baseline\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    line.expect(&name).trim().parse().unwrap()
}

/// Reads the counts that must be equal: bytes written, copied and erased, and those of each stream.
fn counts(device: &Value) -> Value {
    let streams = device["streams"].as_array().unwrap();
    let streams: Vec<[&Value; 3]> = streams
        .iter()
        .map(|stream| {
            [
                &stream["id"],
                &stream["host_page_bytes"],
                &stream["copied_bytes"],
            ]
        })
        .filter(|[_, host, copied]| **host != 0 || **copied != 0)
        .collect();
    serde_json::json!([
        device["host_page_bytes"],
        device["media_bytes"],
        device["copied_bytes"],
        device["erased_bytes"],
        streams,
    ])
}

/// Requests of a trace, by a host.
fn send(host: &mut Host, trace: &Path) {
    for io in Reader::open(trace).unwrap().map(Result::unwrap) {
        let (first, blocks) = (io.offset_bytes / BLOCK, (io.length_bytes / BLOCK) as u32);
        match io.operation {
            Operation::Write => {
                let data = vec![blocks as u8; io.length_bytes as usize];
                host.write(first, &data, Tag::None).unwrap();
            }
            _ => host.deallocate(&[(first, blocks)]).unwrap(),
        }
    }
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
        send(&mut host, &path);
        drop(host);
        let counted = counts(&served.stop()["device"]);
        // Garbage was collected; the papers' legacy drive copied for it, too.
        let collected = if scheme == "baseline" { 2 } else { 3 };
        assert_ne!(replayed[collected], 0, "{scheme}: the trace is too small");
        assert_eq!(counted, replayed, "{scheme}");
    }
}

#[test]
fn shadow_drives_make_of_hosts_writes_what_a_replay_makes_of_them() {
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
        "--seed",
        "5",
    ];
    for sampled in [&[][..], &["--sample", "1/4", "--samples", "3"]] {
        let schemes = "baseline,sepbit,autostream-sfr";
        let replay = [
            "replay",
            path.to_str().unwrap(),
            "--json",
            "--scheme",
            schemes,
        ];
        let replayed = json(&anabranch(&[&replay[..], &drive, sampled].concat()));
        let shadow = ["--mode", "plain", "--shadow", schemes];
        let served = Served::start(&[&shadow[..], &drive, sampled].concat());
        let mut host = host(&served);
        send(&mut host, &path);
        drop(host);
        let told = served.stop();
        assert_eq!(
            told["device"]["host_page_bytes"],
            replayed["source"]["host_page_bytes"]
        );
        let shadows = told["shadows"]["schemes"].as_array().unwrap();
        assert_eq!(shadows.len(), 3);
        assert_ne!(shadows[0]["copied_bytes"], 0, "the trace is too small");
        for (shadow, scheme) in shadows.iter().zip(replayed["schemes"].as_array().unwrap()) {
            for part in ["name", "host_page_bytes", "copied_bytes"] {
                assert_eq!(shadow[part], scheme[part], "{part} of {scheme:#}");
            }
            assert_eq!(shadow["error"].is_null(), sampled.is_empty());
        }
    }
}

#[test]
fn shadow_drives_begin_with_what_the_drive_holds_and_count_what_comes() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let words = [
        "--device",
        "fdp-8ruh",
        "--size",
        "64MiB",
        "--unit",
        "1MiB",
        "--data",
        data.to_str().unwrap(),
    ];
    let served = Served::start(&words);
    let mut one = host(&served);
    for first in (0..16_384).step_by(256) {
        one.write(first, &vec![7; 1 << 20], Tag::None).unwrap();
    }
    drop(one);
    served.stop();
    let metrics = free_address();
    let served = Served::start(
        &[
            &words[..],
            &["--shadow", "baseline", "--shadow", "pcstream"],
            &["--metrics", &metrics],
        ]
        .concat(),
    );
    let mut one = host(&served);
    // A full drive pays for each of these.
    for write in 0..4096 {
        one.write(
            write * 7919 % 16_384,
            &[1; 4096],
            Tag::Placement((write % 2) as u16),
        )
        .unwrap();
    }
    drop(one);
    let text = scraped(&metrics, |text| figure(text, "host_page_bytes_total") > 0.0);
    assert_eq!(text.matches("# EOF").count(), 1, "{text}");
    assert!(text.ends_with("# EOF\n") && text.contains("\nanabranch_host_bytes_total "));
    assert!(figure(&text, "host_page_bytes_total") <= 4096.0 * 4096.0);
    assert!(figure(&text, "copied_bytes_total") > 0.0, "{text}");
    let told = served.stop();
    let shadow = &told["shadows"]["schemes"][0];
    assert_eq!(shadow["host_page_bytes"], 4096 * 4096);
    let copied = |of: &Value| of["copied_bytes"].as_u64().unwrap();
    assert!(copied(shadow) > 16 << 20, "{shadow}");
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
        (&["--namespaces", "rest,1MiB"], "last"),
        (&["--namespaces", "1TiB"], "free"),
        (&["--namespaces", "1MiB:0-1"], "--mode fdp"),
        (
            &["--device", "fdp-8ruh", "--namespaces", "1GiB:0+0"],
            "at most once",
        ),
        (
            &["--device", "fdp-8ruh", "--namespaces", "1GiB:8"],
            "0 to 8 (excluded)",
        ),
        (&["--scsi", "a,b"], "letters, digits"),
        (&["--scsi", "a", "--time", "on"], "leave --time on out"),
        (&["--scsi", "a", "--nqn", "b"], "--nqn"),
        (&["--scsi", "a", "--max-queues", "2"], "--max-queues"),
        (&["--scsi", "a", "--dhchap-hash", "sha256"], "--dhchap-hash"),
        (
            &["--scsi", "a", "--device", "fdp-8ruh", "--mode", "fdp"],
            "--mode streams",
        ),
    ] {
        let mut words = vec!["serve"];
        words.extend(arguments);
        let said = complaint(&words, 2);
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn a_scsi_drive_that_cannot_be_makes_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("drive");
    for words in [
        &["--scsi", "a,b"][..],
        &["--scsi", "a", "--device", "fdp-8ruh", "--mode", "fdp"],
    ] {
        let arguments = [&["serve", "--data", data.to_str().unwrap()], words].concat();
        complaint(&arguments, 2);
        assert_eq!(directory.path().read_dir().unwrap().count(), 0, "{words:?}");
    }
}

#[test]
fn secrets_that_others_may_read_or_that_are_none_are_refused_unrepeated() {
    use std::{fs, os::unix::fs::PermissionsExt as _};
    // As nvme-cli 2.13 prints it; with a character changed it is none.
    let secret = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";
    let changed = secret.replace("AwQF", "AwQG");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hosts");
    let path = file.to_str().unwrap();
    let refused = |text: &str, mode: u32, word: &str| {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let said = complaint(&["serve", "--host-secret", path], 2);
        assert!(
            said.contains(word) && said.contains("--host-secret"),
            "{said}"
        );
        assert!(!said.contains("AAEC"), "{said}");
    };
    let list = format!("nqn.2014-08.org.example:host {secret}\n");
    for mode in [0o644, 0o640, 0o660, 0o602] {
        refused(&list, mode, "chmod 600");
    }
    refused(
        &list.replace(secret, &changed),
        0o600,
        "line 1: its checksum is wrong",
    );
    refused(secret, 0o600, "line 1 is not `NQN SECRET`");
    refused("# nobody\n", 0o600, "nvme gen-dhchap-key");
    fs::remove_file(&file).unwrap();
    let said = complaint(&["serve", "--host-secret", path], 2);
    assert!(said.contains("No such file"), "{said}");
    let said = complaint(&["serve", "--controller-secret", path], 2);
    assert!(said.contains("--host-secret"), "{said}");
    let said = complaint(&["serve", "--dhchap-group", "ffdhe1024"], 2);
    assert!(said.contains("ffdhe2048"), "{said}");
}

#[test]
fn a_parted_drive_is_parted_after_a_kill_too() {
    let mut served = Served::start(&[
        "--device",
        "fdp-8ruh",
        "--size",
        "256MiB",
        "--unit",
        "4MiB",
        "--namespaces",
        "64MiB:0-1,rest:2+7",
        "--data",
        "DATA",
    ]);
    let mut one = host(&served);
    let write = |host: &mut Host, id: u32, blocks: u32, handle: u16| {
        let entry = Entry::write(100, blocks, Tag::Placement(handle)).at(id);
        let data = vec![id as u8; blocks as usize * 4096];
        let written = host.io().unwrap().run(entry, Transfer::out(data));
        assert!(written.unwrap().status.is_success());
    };
    write(&mut one, 1, 16, 1);
    write(&mut one, 2, 32, 1);
    // A third, which is made and attached while the drive is served.
    let deleted = one.delete_namespace(1).unwrap();
    assert!(deleted.status.is_success());
    let new = NewNamespace {
        handles: vec![4],
        ..NewNamespace::of(1024)
    };
    assert_eq!(one.create_namespace(&new).unwrap().result, 1);
    let own = one.controller.identifier;
    let attached = one.attach_namespace(1, true, &[own]).unwrap();
    assert!(attached.status.is_success());
    write(&mut one, 1, 8, 0);
    drop(one);
    served.kill_and_restart();
    let mut one = host(&served);
    assert_eq!(one.namespace.blocks, 1024);
    assert_eq!(one.namespace_list(0x02, 0).unwrap(), [1, 2]);
    for (id, blocks) in [(1, 8), (2, 32)] {
        let entry = Entry::read(100, blocks + 1).at(id);
        let transfer = Transfer::In((blocks as usize + 1) * 4096);
        let read = one.io().unwrap().succeed("read", entry, transfer).unwrap();
        let (data, behind) = read.data.split_at(blocks as usize * 4096);
        assert!(data.iter().all(|&byte| byte == id as u8));
        assert!(behind.iter().all(|&byte| byte == 0));
    }
    write(&mut one, 1, 4, 0);
    drop(one);
    let counted = served.stop();
    let namespaces = counted["namespaces"].as_array().unwrap();
    let of = |index: usize, key: &str| namespaces[index][key].as_u64().unwrap();
    assert_eq!((of(0, "id"), of(0, "logical_bytes")), (1, 4 << 20));
    assert_eq!(of(0, "mapped_bytes"), 8 * BLOCK);
    assert_eq!((of(1, "id"), of(1, "mapped_bytes")), (2, 32 * BLOCK));
    assert_eq!(of(1, "logical_bytes"), (256 - 64) << 20);
    // After the restart it went where the namespace's handle 0 is.
    let handle = &counted["device"]["streams"][4]["host_page_bytes"];
    assert!(handle.as_u64().unwrap() >= 4 * BLOCK);
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
