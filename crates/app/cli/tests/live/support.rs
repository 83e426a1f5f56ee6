//! Helpers of these tests: a place of one's own, the command, and patience.

use std::{
    fs::{self, File},
    io::{Read, Write as _},
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread::{JoinHandle, sleep, spawn},
    time::{Duration, Instant},
};

use anabranch_trace::{Io, Operation, Reader};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

/// Time limit of every wait here.
const PATIENCE: Duration = Duration::from_secs(180);

/// The smallest drive: what most tests run on.
pub const SMALL: [&str; 6] = ["--size", "64MiB", "--unit", "1MiB", "--scheme", "baseline"];

/// A program that tells the place it has begun (`$0`) and then writes until it is ended.
pub const WRITES_FOREVER: &str =
    "touch \"$0\"; while :; do dd if=/dev/zero of=x bs=1M count=4 conv=fsync status=none; done";

pub const MIB: u64 = 1 << 20;

/// A loop device of 64 MiB, given back at the end.
pub struct Device(pub String);

impl Device {
    pub fn new(place: &Place) -> Device {
        Device::of(&place.path("image"))
    }

    /// The one whose bytes lie in a file.
    pub fn of(image: &str) -> Device {
        Device::bound("--find", image)
    }

    /// The same with a number that no other test is given while a lower one is free, so that it can be had again.
    pub fn with_a_number_of_its_own(image: &str) -> Device {
        static BOUND: AtomicU32 = AtomicU32::new(0);
        let number = 64 + std::process::id() % 64 * 4 + BOUND.fetch_add(1, Ordering::Relaxed) % 4;
        Device::bound(&format!("/dev/loop{number}"), image)
    }

    fn bound(which: &str, image: &str) -> Device {
        File::create(image).unwrap().set_len(64 * MIB).unwrap();
        let made = Command::new("losetup")
            .args(["--show", which, image])
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "losetup: {words}");
        Device(String::from_utf8(made.stdout).unwrap().trim().to_owned())
    }

    pub fn dd(&self, mebibytes: u64) -> Vec<String> {
        let of = format!("of={}", self.0);
        let count = format!("count={mebibytes}");
        [
            "dd",
            "if=/dev/zero",
            &of,
            "bs=1M",
            &count,
            "oflag=direct",
            "status=none",
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A directory for one test, open to all users.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Place {
        let directory = TempDir::new().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Place(directory)
    }

    pub fn directory(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory())
    }

    pub fn has(&self, name: &str) -> bool {
        Path::new(&self.path(name)).exists()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// The names in it, hidden ones included.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Nothing uses the place any more: no process names it, no loop device lies in it, and the
    /// system shows no drive.
    pub fn wait_until_abandoned(&self) {
        wait_until("the processes of the run to end", || {
            processes_with(self.directory()).is_empty()
        });
        wait_until("the loop device to clear itself", || {
            loop_devices_in(self.directory()).is_empty()
        });
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        assert!(!mounts.contains("/mnt/anabranch"), "{mounts}");
    }
}

/// The command line of every process that names `word`.
fn processes_with(word: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(word))
        .collect()
}

fn loop_devices_in(directory: &str) -> Vec<PathBuf> {
    fs::read_dir("/sys/block")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|device| {
            fs::read_to_string(device.join("loop/backing_file"))
                .is_ok_and(|file| file.starts_with(directory))
        })
        .collect()
}

/// Asks again until it is so, for a bounded time.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        sleep(Duration::from_millis(10));
    }
}

/// A command that has ended, and all it said.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    /// Without the lines on how far it came: `readiness.rs` is about those.
    pub stderr: String,
}

impl Ended {
    /// Itself, if it ended with this status; else the test ends with what the command said.
    #[track_caller]
    pub fn with_status(self, code: i32) -> Ended {
        assert_eq!(
            self.status.code(),
            Some(code),
            "{}{}",
            self.stdout,
            self.stderr
        );
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Whether the comparison was printed.
    #[track_caller]
    pub fn shows_table(&self) {
        assert!(
            self.stdout.contains("| baseline") && self.stdout.contains("drive: "),
            "{}{}",
            self.stdout,
            self.stderr
        );
    }

    /// The words for a program that wrote no file on the drive, and no table.
    #[track_caller]
    pub fn compares_nothing(&self) {
        assert_eq!(self.stdout, "", "{}", self.stderr);
        let words = "the program wrote nothing to the drive, so that there is nothing to compare";
        assert!(self.stderr.contains(words), "{}", self.stderr);
    }

    /// One line that says all these things, and nothing on standard output.
    #[track_caller]
    pub fn complains(&self, words: &[&str]) {
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("anabranch: "), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word}: {}", self.stderr);
        }
    }
}

/// A command while it runs; dropped by a failed test, it is killed.
pub struct Started(Child);

impl Started {
    pub fn new(command: &mut Command) -> Started {
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Started(child.unwrap())
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    /// Keys pressed at its terminal; nobody hears them any more where that has just gone.
    pub fn type_in(&mut self, keys: &[u8]) {
        let pressed = self.0.stdin.as_mut().unwrap().write_all(keys);
        if let Err(error) = pressed {
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// A signal to it and to what shares its process group.
    pub fn signal_group(&self, signal: Signal) {
        kill(Pid::from_raw(-self.pid()), signal).unwrap();
    }

    /// Waits until the program has told `place` that it has begun.
    pub fn wait_for(&mut self, place: &Place, name: &str) {
        wait_until(name, || {
            if let Some(status) = self.0.try_wait().unwrap() {
                let mut words = String::new();
                let _ = self.0.stderr.take().unwrap().read_to_string(&mut words);
                panic!("ended early ({status}): {words}");
            }
            place.has(name)
        });
    }

    /// Whether it ends before long.
    pub fn ends_within(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.0.try_wait().unwrap().is_none() {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(Duration::from_millis(10));
        }
        true
    }

    /// Waits for its end, listening: a pipe that nobody empties holds 64 KiB.
    pub fn end(mut self) -> Ended {
        let stdout = listen(self.0.stdout.take().unwrap());
        let stderr = listen(self.0.stderr.take().unwrap());
        wait_until("the command to end", || {
            self.0.try_wait().unwrap().is_some()
        });
        let status = self.0.wait().unwrap();
        Ended {
            status,
            stdout: stdout.join().unwrap(),
            stderr: without_steps(&stderr.join().unwrap()),
        }
    }
}

fn without_steps(words: &str) -> String {
    let steps = ["anabranch: attaching to ", "anabranch: recording from now"];
    let is_step = |line: &&str| steps.iter().any(|step| line.starts_with(step));
    let lines = words.split_inclusive('\n');
    lines.filter(|line| !is_step(line)).collect()
}

/// Reads all that is said, on a thread of its own.
fn listen(mut voice: impl Read + Send + 'static) -> JoinHandle<String> {
    spawn(move || {
        let mut words = String::new();
        voice.read_to_string(&mut words).unwrap();
        words
    })
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The command under test.
pub const ANABRANCH: &str = env!("CARGO_BIN_EXE_anabranch");

/// Runs `anabranch` to its end.
pub fn anabranch(arguments: &[&str]) -> Ended {
    Started::new(Command::new(ANABRANCH).args(arguments)).end()
}

/// `anabranch run` with these options on the small drive, running this command.
pub fn run(options: &[&str], command: &[&str]) -> Ended {
    anabranch(&small_run(options, command))
}

/// The arguments of such a run: on the drive, and with no trace unless the options name one.
pub fn small_run<'a>(options: &[&'a str], command: &[&'a str]) -> Vec<&'a str> {
    let trace: &[&str] = if options.contains(&"-t") {
        &[]
    } else {
        &["--no-trace"]
    };
    [
        &["run"],
        &SMALL[..],
        &["--chdir"],
        trace,
        options,
        &["--"],
        command,
    ]
    .concat()
}

/// Whether a command was ended by this signal.
pub fn ended_by(status: ExitStatus, signal: Signal) -> bool {
    status.signal() == Some(signal as i32)
}

/// Whether a process holds eBPF programs that are attached.
pub fn is_attached(pid: i32) -> bool {
    fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut entries| {
        entries.any(|entry| {
            entry
                .and_then(|entry| fs::read_link(entry.path()))
                .is_ok_and(|target| target.to_string_lossy().contains("bpf_link"))
        })
    })
}

/// The writes of a trace of a [`Device`].
pub fn writes(trace: &str) -> Vec<Io> {
    let mut reader = Reader::open(trace).unwrap();
    assert_eq!(reader.tables().capture.device_bytes, 64 * MIB);
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.read_batch(&mut batch).unwrap() {
        all.extend(batch.iter().filter(|io| io.operation == Operation::Write));
    }
    all
}
