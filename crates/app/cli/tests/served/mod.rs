//! `anabranch serve` as a process of its own, that can be stopped, killed and started again.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

/// The subsystem's name, where a test gives no other.
pub const SUBSYSTEM: &str = "nqn.2014-08.org.example:guest";
/// Longest wait for the target to begin or end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A served drive.
pub struct Served {
    arguments: Vec<String>,
    directory: TempDir,
    port: u16,
    child: Child,
}

impl Served {
    /// Starts it with arguments; `DATA` among them is a file that lives as long as this.
    pub fn start(arguments: &[&str]) -> Served {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data").to_str().unwrap().to_owned();
        let words = arguments.iter().map(|&word| {
            if word == "DATA" {
                data.clone()
            } else {
                word.to_owned()
            }
        });
        let arguments: Vec<String> = words.collect();
        let (child, port) = spawn(&arguments, &directory, 0);
        Served {
            arguments,
            directory,
            port,
            child,
        }
    }

    /// Variables of a script in the guest.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PORT", self.port.to_string()),
            ("NQN", SUBSYSTEM.to_owned()),
        ]
    }

    /// Address it listens on.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Bytes of memory its process has (VmRSS).
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.expect("a process has memory") << 10
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Killed as it is, and started again at the same port.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        (self.child, _) = spawn(&self.arguments, &self.directory, self.port);
    }

    /// Stopped in an orderly way; its counters.
    pub fn stop(mut self) -> Value {
        self.end()
    }

    /// Stopped in an orderly way, and started again at the same port; its counters in between.
    pub fn stop_and_restart(&mut self) -> Value {
        let counters = self.end();
        (self.child, _) = spawn(&self.arguments, &self.directory, self.port);
        counters
    }

    fn end(&mut self) -> Value {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        let begin = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < PATIENCE, "serve does not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(self.child.wait().unwrap().success());
        let text = fs::read_to_string(self.directory.path().join("counters")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(arguments: &[String], directory: &TempDir, port: u16) -> (Child, u16) {
    let mut command = Command::new("setpriv");
    command.args([
        "--pdeathsig",
        "KILL",
        env!("CARGO_BIN_EXE_anabranch"),
        "serve",
    ]);
    if !arguments.iter().any(|word| word == "--nqn") {
        command.args(["--nqn", SUBSYSTEM]);
    }
    command
        .arg("--listen")
        .arg(format!("127.0.0.1:{port}"))
        .args(arguments);
    command
        .arg("--output")
        .arg(directory.path().join("counters"));
    let piped = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("setpriv starts anabranch");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut told = String::new();
    let port = loop {
        let Some(Ok(line)) = lines.next() else {
            let _ = child.kill();
            panic!("serve does not begin:\n{told}");
        };
        told.push_str(&line);
        told.push('\n');
        if let Some((_, rest)) = line.split_once(" at 127.0.0.1:") {
            break rest.split(';').next().unwrap().parse().unwrap();
        }
    };
    // What else it says goes where ours goes; its pipe must not fill up.
    std::thread::spawn(move || {
        lines
            .map_while(Result::ok)
            .for_each(|line| eprintln!("serve: {line}"))
    });
    (child, port)
}
