//! `anabranch serve` as a process: killed and started again, and counted like a replay.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod model;
#[path = "../served/mod.rs"]
mod served;

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use anabranch_initiator::{Entry, Host, HostOptions, Tag, Transfer};
use model::{BLOCK, Part};
use serde_json::Value;
use served::{SUBSYSTEM, Served};

fn host(served: &Served, number: u8) -> Host {
    Host::connect(served.address(), &HostOptions::numbered(SUBSYSTEM, number)).unwrap()
}

#[test]
fn a_drive_killed_under_load_loses_nothing_flushed_and_serves_nothing_old() {
    let mut served = Served::start(&[
        "--device",
        "demo",
        "--mode",
        "streams",
        "--size",
        "64MiB",
        "--unit",
        "1MiB",
        "--over-provisioning",
        "30%",
        "--data",
        "DATA",
    ]);
    // Three hosts, a third of the drive each, and a margin that nobody writes.
    let mut parts: Vec<Part> = (1..=3)
        .map(|number| Part::new(number, u64::from(number - 1) * 5000, 4000))
        .collect();
    for round in 1..=4 {
        let done = AtomicU64::new(0);
        parts = thread::scope(|scope| {
            let workers: Vec<_> = parts
                .drain(..)
                .map(|part| {
                    let (address, done) = (served.address(), &done);
                    scope.spawn(move || part.work(address, done))
                })
                .collect();
            while done.load(Ordering::Relaxed) < round * 7919 {
                assert!(
                    !workers.iter().any(thread::ScopedJoinHandle::is_finished),
                    "a host gave up"
                );
                thread::yield_now();
            }
            served.kill();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap())
                .collect()
        });
        served.kill_and_restart();
        let mut reader = host(&served, 9);
        parts.iter_mut().for_each(|part| part.check(&mut reader));
    }
    // Stopped in an orderly way, it is the same drive, and its translation layer knows of all that it holds.
    let counters = served.stop_and_restart();
    let mut reader = host(&served, 9);
    parts.iter_mut().for_each(|part| part.check(&mut reader));
    let held: usize = parts.iter().map(Part::held).sum();
    let mapped = counters["device"]["mapped_bytes"].as_u64().unwrap() as usize / BLOCK;
    assert!(
        held <= mapped && mapped <= 12_000,
        "{held} blocks hold data, {mapped} are mapped"
    );
    assert_eq!(served.stop()["commands"]["unsafe_shutdowns"], 4);
}

/// The drive filled in order, then pages overwritten by a cubed random number: hot and cold ones.
fn pages() -> Vec<u32> {
    let capacity = 16_384_u32;
    let mut state = 1_u64;
    let random = (0..50_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let share = (state >> 40) as f64 / f64::from(1 << 24);
        (share * share * share * f64::from(capacity)) as u32
    });
    (0..capacity).chain(random).collect()
}

const DRIVE: [&str; 8] = [
    "--device",
    "demo",
    "--size",
    "64MiB",
    "--unit",
    "1MiB",
    "--over-provisioning",
    "20%",
];

/// The device's part of a result, without what only one of both tells.
fn counts(result: &Value) -> Value {
    let names = [
        "host_page_bytes",
        "media_bytes",
        "copied_bytes",
        "discarded_bytes",
        "erased_bytes",
        "mapped_bytes",
        "waf",
    ];
    let mut counts: serde_json::Map<String, Value> = names
        .iter()
        .map(|&name| (name.to_owned(), result[name].clone()))
        .collect();
    let streams = result["streams"].as_array().unwrap().iter();
    let written =
        streams.filter(|stream| stream["host_page_bytes"] != 0 || stream["copied_bytes"] != 0);
    let rows = written.map(|stream| {
        serde_json::json!([
            stream["id"],
            stream["host_page_bytes"],
            stream["copied_bytes"]
        ])
    });
    counts.insert("streams".to_owned(), rows.collect());
    counts.into()
}

fn replayed(scheme: &str, time: &[&str], pages: &[u32]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace.u32");
    fs::write(
        &trace,
        pages
            .iter()
            .flat_map(|page| page.to_le_bytes())
            .collect::<Vec<u8>>(),
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command
        .args(["replay", "--json", "--scheme", scheme])
        .args(DRIVE)
        .args(time)
        .arg(&trace);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    counts(&result["schemes"][0])
}

fn served(scheme: &str, pages: &[u32]) -> Value {
    let mut arguments = DRIVE.to_vec();
    arguments.extend(["--mode", "plain", "--scheme", scheme]);
    let served = Served::start(&arguments);
    let mut host = host(&served, 1);
    let queue = host.io().unwrap();
    for &page in pages {
        if queue.outstanding() == 64 {
            assert!(queue.wait().unwrap().status.is_success());
        }
        queue
            .submit(
                Entry::write(page.into(), 1, Tag::None),
                Transfer::out(vec![page as u8; BLOCK]),
            )
            .unwrap();
        if queue.outstanding().is_multiple_of(16) {
            queue.flush().unwrap();
        }
    }
    queue.flush().unwrap();
    while queue.outstanding() > 0 {
        assert!(queue.wait().unwrap().status.is_success());
    }
    counts(&served.stop()["device"])
}

#[test]
fn the_same_writes_count_the_same_served_and_replayed() {
    let pages = pages();
    // A replay without a clock hands pages to the device in batches. A scheme whose halves learn from one another
    // notices that, so it is compared with a replay that goes page by page, as a drive does.
    let cases: [(&str, &[&str]); 4] = [
        ("baseline", &[]),
        ("baseline+gc", &[]),
        ("autostream-sfr", &[]),
        ("sepbit", &["--time", "closed"]),
    ];
    for (scheme, time) in cases {
        let replayed = replayed(scheme, time, &pages);
        assert!(
            replayed["copied_bytes"].as_u64().unwrap() > 0,
            "{scheme} never collected"
        );
        assert_eq!(served(scheme, &pages), replayed, "{scheme}");
    }
}
