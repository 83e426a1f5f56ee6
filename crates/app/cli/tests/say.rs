//! Messages on standard error: fewer with `-q`, reasons with `-v`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    fs,
    io::{BufRead as _, BufReader, Lines, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, ChildStderr, Command, Stdio},
};

use anabranch_initiator::{Host, HostOptions};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

use command::{anabranch, text, trace};

/// Returns the standard error of a call, after its status was checked.
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

/// A served drive that says why.
struct Served {
    process: Child,
    lines: Lines<BufReader<ChildStderr>>,
    address: String,
}

impl Served {
    fn start(arguments: &[&str]) -> Served {
        let mut process = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_anabranch"), "serve", "-v"])
            .args(["--listen", "127.0.0.1:0", "--size", "64MiB"])
            .args(["--unit", "1MiB"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut served = Served {
            lines: BufReader::new(process.stderr.take().unwrap()).lines(),
            process,
            address: String::new(),
        };
        let greeting = served.line("serving ");
        let address = greeting.split(" at ").nth(1).unwrap();
        served.address = address.split(';').next().unwrap().to_owned();
        served
    }

    /// The next line with these words.
    fn line(&mut self, part: &str) -> String {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        lines.find(|line| line.contains(part)).expect(part)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // `timeout` passes it on; killed, it would leave what it started behind.
        let _ = kill(Pid::from_raw(self.process.id() as i32), Signal::SIGTERM);
        let _ = self.process.wait();
    }
}

#[test]
fn a_host_that_breaks_the_protocol_is_dropped_and_v_says_why() {
    let mut served = Served::start(&[]);
    let mut stream = TcpStream::connect(&served.address).unwrap();
    stream.write_all(&[0xee; 256]).unwrap();
    let dropped = served.line("connection dropped");
    assert!(dropped.contains("the host broke the protocol"), "{dropped}");
}

#[test]
fn a_host_that_may_not_connect_or_goes_silent_is_an_event_that_names_it_and_the_reason() {
    let subsystem = "nqn.2026-01.local.anabranch:demo";
    let hosts = [1, 2].map(|number| HostOptions {
        keep_alive_ms: 500,
        ..HostOptions::numbered(subsystem, number)
    });
    let allowed = hosts[0].name.as_str();
    let mut served = Served::start(&[
        "--log-format",
        "json",
        "--nqn",
        subsystem,
        "--allow-host",
        allowed,
    ]);
    let address: SocketAddr = served.address.parse().unwrap();
    Host::connect(address, &hosts[1]).expect_err("it is not allowed");
    let event = |line: String| serde_json::from_str::<Value>(&line).unwrap();
    let refused = event(served.line("host refused"));
    assert_eq!(refused["level"], "WARN");
    let fields = &refused["fields"];
    assert_eq!(fields["host"], hosts[1].name.as_str());
    assert_eq!(fields["reason"], "its name is not among those allowed");

    let connected = Host::connect(address, &hosts[0]).unwrap();
    let dropped = event(served.line("connection dropped"));
    assert_eq!(dropped["fields"]["host"], allowed);
    let reason = dropped["fields"]["reason"].as_str().unwrap();
    assert!(reason.contains("keep-alive"), "{reason}");
    drop(connected);
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
