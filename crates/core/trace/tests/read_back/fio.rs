//! A trace replayed by fio's `null` engine, which asks for no drive.

use std::path::Path;

use anabranch_trace::Operation;
use serde::Deserialize as _;
use serde_json::Value;
use tempfile::TempDir;

use super::{Seen, tool};

/// The requests that fio issued, in order, those it left out, and how long it took.
pub struct Fio {
    pub requests: Vec<Seen>,
    pub left_out: usize,
    pub runtime_ms: u64,
}

/// Operations by fio's numbers (`io_ddir.h`), with their names in its report.
const OPERATIONS: [(Operation, &str); 4] = [
    (Operation::Read, "read"),
    (Operation::Write, "write"),
    (Operation::Discard, "trim"),
    (Operation::Flush, "sync"),
];

/// Whether this fio replays discards of logs: release 3.34 is the first ("iolog: handle trim commands").
pub fn has_discards_in_logs() -> bool {
    let output = tool(Path::new("fio"), &["--version"], Path::new("."));
    let version = String::from_utf8(output.stdout).unwrap();
    let numbers = version.trim().trim_start_matches("fio-").split(['.', '-']);
    let numbers: Vec<u32> = numbers.map_while(|number| number.parse().ok()).collect();
    numbers[..] >= [3, 34][..]
}

/// Replays a trace as fast as fio can, unless the options ask for its pace. What fio issues and what it reports agree.
pub fn replayed(directory: &TempDir, trace: &str, options: &[&str]) -> Fio {
    let log = format!("--read_iolog={trace}");
    let fixed = [
        "--name=job",
        &log,
        "--ioengine=null",
        "--replay_no_stall=1",
        "--debug=io",
        "--output-format=json",
    ];
    let output = tool(
        Path::new("fio"),
        &[&fixed[..], options].concat(),
        directory.path(),
    );
    let words =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    let requests: Vec<Seen> = words.lines().filter_map(issued).collect();
    let (_, report) = words.split_at(words.find("\n{").unwrap());
    let report = Value::deserialize(&mut serde_json::Deserializer::from_str(report)).unwrap();
    let job = &report["jobs"][0];
    assert_eq!(job["error"], 0, "{words}");
    for (operation, name) in OPERATIONS {
        let of = || requests.iter().filter(|request| request.1 == operation);
        assert_eq!(job[name]["total_ios"], of().count(), "{name}");
        if operation != Operation::Flush {
            assert_eq!(
                job[name]["io_bytes"],
                of().map(|request| request.3).sum::<u64>(),
                "{name}"
            );
        }
    }
    Fio {
        requests,
        left_out: words
            .lines()
            .filter(|line| line.contains("bad ddir: 2"))
            .count(),
        runtime_ms: job["job_runtime"].as_u64().unwrap(),
    }
}

/// The request of a line such as `io 7 queue: io_u 0x1: off=0x1000,len=0x2000,ddir=0,file=volume-1`.
fn issued(line: &str) -> Option<Seen> {
    let (_, request) = line.split_once(" queue: io_u ")?;
    let (_, request) = request.split_once(": ")?;
    let values: Vec<&str> = request
        .split(',')
        .filter_map(|part| Some(part.split_once('=')?.1))
        .collect();
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let [offset, length, operation, file] = values[..] else {
        panic!("{line}");
    };
    let volume = file
        .rsplit_once("volume-")
        .map_or(0, |(_, number)| number.parse().unwrap());
    let (operation, _) = OPERATIONS[operation.parse::<usize>().unwrap()];
    Some((volume, operation, number(offset), number(length)))
}
