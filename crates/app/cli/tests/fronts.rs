//! The same writes through every front end cost the same, to the page: NVMe, SCSI, and a replay.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod command;
mod served;

use std::{fs, path::Path, sync::Arc};

use anabranch_initiator::{Host, HostOptions, Tag};
use anabranch_nvme::{Options, Target, Totals, drive::ServedDrive, store::Store};
use anabranch_scsi::Unit;
use anabranch_ssd::{Config, Device, relocate::RelocationKind};
use anabranch_trace::{ContextId, Io, Operation, Writer};
use command::{anabranch, json, text};
use serde_json::{Value, json};
use served::{SUBSYSTEM, Served};

const BLOCK: u64 = 4096;
const DRIVE: &[&str] = &[
    "--device",
    "demo",
    "--size",
    "64MiB",
    "--unit",
    "3MiB",
    "--over-provisioning",
    "20%",
];

/// Each context's stream, by its number.
const RULES: &str =
    "[[rule]]\nrole = \"role1\"\nstream = 1\n[[rule]]\nrole = \"role2\"\nstream = 2\n";

/// The drive filled in order; then runs of pages overwritten, low addresses more often, and some discarded. What is hot is
/// of another context than what is cold.
fn requests() -> Vec<Io> {
    const PAGES: u64 = (64 << 20) / BLOCK;
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let write = |first: u64, pages: u64| Io {
        context: ContextId(if first < PAGES / 4 { 1 } else { 2 }),
        ..Io::write(first * BLOCK, pages * BLOCK)
    };
    let mut ios: Vec<Io> = (0..PAGES).step_by(256).map(|at| write(at, 256)).collect();
    for _ in 0..12_000 {
        let first = draw(PAGES - 4) * draw(PAGES - 4) / PAGES;
        let io = write(first, 1 + draw(4));
        ios.push(match draw(20) {
            0 => Io {
                operation: Operation::Discard,
                ..io
            },
            _ => io,
        });
    }
    ios
}

/// The same as a trace.
fn trace(path: &Path, ios: &[Io]) {
    let mut writer = Writer::create(path).unwrap();
    ios.iter().for_each(|io| writer.push(io).unwrap());
    let tables = command::tables(command::DEVICE_BYTES, &["role1", "role2"]);
    writer.finish(&tables).unwrap();
}

/// Figures that must be equal: bytes written, copied and erased, their WAF, and the bytes of each stream.
fn counts(device: &Value) -> Value {
    let streams = device["streams"].as_array().unwrap();
    let streams: Vec<Value> = streams
        .iter()
        .filter(|one| one["host_page_bytes"] != 0 || one["copied_bytes"] != 0)
        .map(|one| json!([one["id"], one["host_page_bytes"], one["copied_bytes"]]))
        .collect();
    let names = [
        "host_page_bytes",
        "media_bytes",
        "copied_bytes",
        "erased_bytes",
    ];
    json!([names.map(|name| &device[name]), streams])
}

fn replayed(path: &str, rules: &str) -> Value {
    let scheme = format!("manual:rules={rules}");
    let mut words = vec!["replay", path, "--scheme", &scheme, "--json"];
    words.extend(DRIVE);
    let result = json(&anabranch(&words));
    counts(&result["schemes"][0])
}

/// Through NVMe/TCP; answers with what the drive was made of, too.
fn over_nvme(ios: &[Io]) -> (Value, Config) {
    let mut words = vec!["--mode", "streams"];
    words.extend(DRIVE);
    let served = Served::start(&words);
    let mut host = Host::connect(served.address(), &HostOptions::numbered(SUBSYSTEM, 1)).unwrap();
    host.enable_streams(true).unwrap();
    for io in ios {
        let (first, blocks) = (io.offset_bytes / BLOCK, (io.length_bytes / BLOCK) as u32);
        match io.operation {
            Operation::Write => {
                let data = vec![1; io.length_bytes as usize];
                let tag = Tag::Stream(io.context.0 as u16);
                host.write(first, &data, tag).unwrap();
            }
            _ => host.deallocate(&[(first, blocks)]).unwrap(),
        }
    }
    drop(host);
    let result = served.stop();
    let config = serde_json::from_value(result["config"]["drive"].clone()).unwrap();
    (counts(&result["device"]), config)
}

/// By the bytes of SCSI commands, without a kernel: WRITE(16) with the stream in GROUP NUMBER, and UNMAP.
fn over_scsi(ios: &[Io], config: Config) -> Value {
    let relocation = RelocationKind::Gc.build(&config);
    let device = Device::watched(config.clone(), &*relocation, Default::default()).unwrap();
    let drive = ServedDrive::streams(device, Box::new(relocation), false);
    let drive = drive.whole(BLOCK as u32).unwrap();
    let store = Store::memory(config.logical_bytes());
    let options = Options::new(SUBSYSTEM);
    let target = Target::new(options, drive, store, Totals::default(), None).unwrap();
    let unit = Unit::new(&Arc::clone(&target), "fronts").unwrap();
    for io in ios {
        let (first, blocks) = (io.offset_bytes / BLOCK, (io.length_bytes / BLOCK) as u32);
        match io.operation {
            Operation::Write => {
                let mut cdb = [0; 16];
                cdb[0] = 0x8a;
                cdb[2..10].copy_from_slice(&first.to_be_bytes());
                cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
                cdb[14] = io.context.0 as u8;
                let data = vec![1; io.length_bytes as usize];
                unit.execute(&cdb, &data).unwrap();
            }
            _ => {
                let mut list = [0; 24];
                list[3] = 16;
                list[8..16].copy_from_slice(&first.to_be_bytes());
                list[16..20].copy_from_slice(&blocks.to_be_bytes());
                let unmap = [0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0];
                unit.execute(&unmap, &list).unwrap();
            }
        }
    }
    let drive = target.drive();
    drive.verify().unwrap();
    let counters = drive.counters();
    let bytes = |pages: u64| pages * BLOCK;
    let streams = drive.stream_counters().iter().enumerate();
    let streams: Vec<Value> = streams
        .map(|(id, one)| {
            json!({
                "id": id,
                "host_page_bytes": bytes(one.host_pages),
                "copied_bytes": bytes(one.copied_pages),
            })
        })
        .collect();
    counts(&json!({
        "host_page_bytes": bytes(counters.host_pages),
        "media_bytes": bytes(counters.media_pages()),
        "copied_bytes": bytes(counters.copied_pages),
        "erased_bytes": counters.erased_units * config.unit_bytes(),
        "streams": streams,
    }))
}

#[test]
fn nvme_scsi_and_a_replay_count_the_same_to_the_page() {
    let directory = tempfile::tempdir().unwrap();
    let (path, ios) = (directory.path().join("t.parquet"), requests());
    trace(&path, &ios);
    let rules = directory.path().join("rules.toml");
    fs::write(&rules, RULES).unwrap();
    let replayed = replayed(text(&path), text(&rules));
    let (over_nvme, config) = over_nvme(&ios);
    assert_ne!(
        replayed[0][2], 0,
        "the trace is too small: nothing was copied"
    );
    assert_eq!(over_nvme, replayed);
    assert_eq!(over_scsi(&ios, config), replayed);
}
