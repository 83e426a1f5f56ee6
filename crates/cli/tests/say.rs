//! What is said on standard error: less with `-q`, why with `-v`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    process::{Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

use command::{anabranch, text, trace};

/// What a call says on standard error, after its status was checked.
fn said(arguments: &[&str], status: i32) -> String {
    let output = anabranch(arguments);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{words}");
    words
}

/// A grid of which one drive is too small for a unit of its.
fn sweep(directory: &TempDir) -> [String; 4] {
    let path = trace(directory);
    let grid = directory.path().join("grid.toml");
    let words = format!(
        "traces = '{}'\nschemes = ['baseline']\n[drive]\nunit = ['1MiB', '32MiB']\n",
        text(&path)
    );
    fs::write(&grid, words).unwrap();
    let output = directory.path().join("fleet");
    ["sweep", text(&grid), "-o", text(&output)].map(str::to_owned)
}

#[test]
fn quiet_says_nothing_but_what_went_wrong() {
    let directory = TempDir::new().unwrap();
    let csv = directory.path().join("t.csv");
    fs::write(&csv, "128166372003061629,hm,0,Write,4096,4096,1\n").unwrap();
    let output = directory.path().join("t.parquet");
    let import = ["import", text(&csv), "-o", text(&output)];
    assert!(said(&import, 0).contains("1 requests"));
    assert_eq!(said(&[&import[..], &["-q"]].concat(), 0), "");
    let wrong = said(&["-q", "import", "/nowhere.csv", "-o", text(&output)], 2);
    assert!(wrong.contains("/nowhere.csv"), "{wrong}");
}

#[test]
fn events_as_json_name_the_cell_that_failed_and_why() {
    let directory = TempDir::new().unwrap();
    let sweep = sweep(&directory);
    let sweep = sweep.each_ref().map(String::as_str);
    let words = said(&[&sweep[..], &["-v", "--log-format", "json"]].concat(), 1);
    let events = words.lines().filter(|line| line.starts_with('{'));
    let events: Vec<Value> = events
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let failed = events
        .iter()
        .find(|event| event["fields"]["message"] == "cell failed")
        .unwrap_or_else(|| panic!("{words}"));
    assert_eq!(failed["level"], "WARN");
    let fields = &failed["fields"];
    assert!(fields["cell"].as_str().unwrap().contains("baseline"));
    assert!(fields["fault"].as_str().unwrap().contains("unit"));
}

#[test]
fn without_v_nothing_is_an_event() {
    let directory = TempDir::new().unwrap();
    let sweep = sweep(&directory);
    let words = said(&sweep.each_ref().map(String::as_str), 1);
    assert!(words.lines().all(|line| line.starts_with("anabranch: ")));
    assert!(words.contains("failed: "), "{words}");
}

#[test]
fn a_host_that_breaks_the_protocol_is_dropped_and_v_says_why() {
    let mut served = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_anabranch"), "serve", "-v"])
        .args(["--listen", "127.0.0.1:0", "--size", "64MiB"])
        .args(["--unit", "1MiB"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(served.stderr.take().unwrap()).lines();
    let mut line = |part: &str| {
        let mut lines = lines.by_ref().map_while(Result::ok);
        lines.find(|line| line.contains(part))
    };
    let greeting = line("serving ").expect("it begins");
    let address = greeting.split(" at ").nth(1).unwrap();
    let address = address.split(';').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&[0xee; 256]).unwrap();
    let dropped = line("connection dropped").expect("it says so");
    assert!(dropped.contains("the host broke the protocol"), "{dropped}");
    // `timeout` passes it on; killed, it would leave what it started behind.
    kill(Pid::from_raw(served.id() as i32), Signal::SIGTERM).unwrap();
    served.wait().unwrap();
}

#[test]
fn v_says_what_a_run_made_and_attached() {
    let run = ["run", "-v", "--size", "64MiB", "--unit", "1MiB"];
    let rest = ["--scheme", "baseline", "--no-trace", "--chdir", "--"];
    let words = said(&[&run[..], &rest, &["touch", "here"]].concat(), 0);
    for part in [
        "drive made",
        "mounted",
        "attached program=",
        "program started",
        "unmounted",
        "capture ended",
    ] {
        assert!(words.contains(part), "{part} is not in:\n{words}");
    }
}
