//! The demo's road, short: an unmodified RocksDB on a drive, live, then replayed and explained.

use anabranch_trace::{ContextKind, Io, Operation, Reader, Tables, WriteHint};
use serde_json::Value;

use super::support::{Ended, Place, anabranch};

const DRIVE: [&str; 6] = [
    "--size",
    "160MiB",
    "--unit",
    "1MiB",
    "--scheme",
    "baseline+gc,hints,manual,autostream-sfr,fstream,vstream,pcstream,sepbit,baseline+age",
];

const DB_BENCH: [&str; 11] = [
    "db_bench",
    "--benchmarks=fillrandom,overwrite,overwrite",
    "--num=60000",
    "--value_size=800",
    "--compression_type=none",
    "--write_buffer_size=1048576",
    "--target_file_size_base=1048576",
    "--max_bytes_for_level_base=4194304",
    "--bytes_per_sync=262144",
    "--wal_bytes_per_sync=131072",
    "--db={dir}/db",
];

fn live(place: &Place) -> Ended {
    let (trace, result, log) = (place.path("t"), place.path("r"), place.path("log"));
    let options = ["-t", &trace, "-o", &result, "--log", &log, "--json", "--"];
    anabranch(&[&["run"], &DRIVE[..], &options, &DB_BENCH].concat()).with_status(0)
}

#[test]
fn a_sampled_run_is_the_sampled_replay_of_all_its_writes_to_the_page() {
    let place = Place::new();
    let (trace, log) = (place.path("t"), place.path("log"));
    let sampled = ["--sample", "1/8", "--samples", "2", "--seed", "5", "--json"];
    let options = ["-t", &trace, "--log", &log, "--"];
    let run = [&["run"], &DRIVE[..], &sampled, &options, &DB_BENCH].concat();
    let live = anabranch(&run).with_status(0).json();
    assert_eq!(live["sampled"]["unit_pages"], 32);
    assert!(live["schemes"][0]["copied_bytes"].as_u64().unwrap() > 0);
    let replay = [&["replay", &trace], &DRIVE[..], &sampled].concat();
    let replayed = anabranch(&replay).with_status(0).json();
    for part in ["schemes", "source", "device", "sampled"] {
        assert_eq!(live[part], replayed[part], "{part}");
    }
}

fn read(path: &str) -> (Vec<Io>, Tables) {
    let mut reader = Reader::open(path).unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.read_batch(&mut batch).unwrap() {
        all.extend_from_slice(&batch);
    }
    (all, reader.tables().clone())
}

#[test]
fn rocksdb_runs_live_and_its_trace_replays_to_the_same_counts_to_the_last_page() {
    let place = Place::new();
    let live = live(&place).json();
    assert_eq!(live, place.json("r"));
    assert_eq!(live["config"]["exit_status"], 0);
    assert_eq!(live["source"]["lost_events"], 0);
    let baseline = &live["schemes"][0];
    assert_eq!(baseline["name"], "baseline+gc");
    assert!(baseline["copied_bytes"].as_u64().unwrap() > 0, "{baseline}");
    assert!(baseline["waf"].as_f64().unwrap() > 1.0, "{baseline}");
    assert!(live["schemes"].as_array().unwrap().len() >= 6);

    let trace = place.path("t");
    let replay = [&["replay", &trace, "--json"], &DRIVE[..]].concat();
    let replayed = anabranch(&replay).with_status(0).json();
    for part in ["schemes", "source", "device", "steady"] {
        assert_eq!(live[part], replayed[part], "{part}");
    }
    // The drive's size is also in the trace, and the schemes do not see each other.
    let alone = [
        "replay",
        &trace,
        "--json",
        "--unit",
        "1MiB",
        "--scheme",
        "baseline+gc",
    ];
    let alone = anabranch(&alone).with_status(0);
    let mut beside = baseline.clone();
    // A gap is between two.
    beside["gap_closed"] = serde_json::json!({});
    assert_eq!(alone.json()["schemes"][0], beside);

    // What goes by names goes by them while the program runs, and tells them apart.
    let used = |name: &str| {
        let schemes = live["schemes"].as_array().unwrap().iter();
        let scheme = schemes.clone().find(|one| one["name"] == name).unwrap();
        let streams = scheme["streams"].as_array().unwrap().iter();
        streams
            .filter(|stream| stream["host_page_bytes"] != 0)
            .count()
    };
    assert!(used("manual") >= 4, "{}", used("manual"));
    assert!(used("fstream") >= 4, "{}", used("fstream"));
}

#[test]
fn rocksdbs_logging_flush_and_compaction_are_told_apart_and_its_refused_hints_are_seen() {
    let place = Place::new();
    live(&place);
    let (ios, tables) = read(&place.path("t"));
    assert_eq!(tables.capture.file_system, "ext4");
    assert_eq!(tables.capture.command, DB_BENCH);
    let writes = || ios.iter().filter(|io| io.operation == Operation::Write);
    let application =
        |io: &&Io| tables.contexts[io.context.0 as usize].kind == ContextKind::Application;
    let all: u64 = writes().map(|io| io.length_bytes).sum();
    let known: u64 = writes().filter(application).map(|io| io.length_bytes).sum();
    assert!(
        known * 10 >= all * 9,
        "{known} of {all} bytes have a context"
    );
    assert!(ios.iter().any(|io| io.operation == Operation::Discard));

    // Debian's RocksDB asks with 4 bytes, the kernel wants 8: asked, and refused.
    let hinted: Vec<&Io> = writes().filter(|io| io.hint != WriteHint::NotSet).collect();
    assert!(hinted.iter().any(|io| io.hint >= WriteHint::Short));
    assert!(hinted.iter().all(|io| !io.hint_granted));

    let contexts = anabranch(&["contexts", &place.path("t"), "--json"]).with_status(0);
    let contexts = contexts.json()["contexts"].clone();
    let with = |role: &str, call: &str| -> Vec<u64> {
        let rows = contexts.as_array().unwrap().iter();
        rows.filter(|row| row["role"] == role && calls(row, call))
            .map(|row| row["id"].as_u64().unwrap())
            .collect()
    };
    let log = with("db_bench", "DBImpl::WriteToWAL");
    let flush = with("rocksdb:high", "FlushJob::Run");
    let compaction = with("rocksdb:low", "CompactionJob::Run");
    for ids in [&log, &flush, &compaction] {
        assert!(!ids.is_empty(), "{log:?} {flush:?} {compaction:?}");
    }
    assert_eq!(with("db_bench", "CompactionJob::Run"), [0_u64; 0]);
    assert_eq!(with("rocksdb:high", "CompactionJob::Run"), [0_u64; 0]);
    assert_eq!(with("rocksdb:low", "DBImpl::WriteToWAL"), [0_u64; 0]);
}

/// Whether a call of the context's path has that name in it.
fn calls(row: &Value, name: &str) -> bool {
    let path = row["path"].as_array().unwrap().iter();
    path.map(|call| call.as_str().unwrap())
        .any(|call| call.contains(name))
}
