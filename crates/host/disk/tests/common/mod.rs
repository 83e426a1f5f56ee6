//! Helpers of this crate's tests: drives in namespaces of their own, and patience.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anabranch_disk::{Drive, DriveOptions, FileSystemKind, MountNamespace, Output, Workload};

pub const MIB: u64 = 1 << 20;

/// A mounted drive, or the reason why this machine cannot make one. A namespace belongs to a thread, so tests
/// that run as threads of one process do not meet.
pub fn mounted(file_system: FileSystemKind, bytes: u64) -> Drive {
    let mut drive = blank(file_system, bytes, None);
    drive
        .format_and_mount()
        .unwrap_or_else(|error| panic!("{error}"));
    drive
}

pub fn blank(file_system: FileSystemKind, bytes: u64, backing_dir: Option<PathBuf>) -> Drive {
    let namespace = MountNamespace::enter().unwrap_or_else(|error| panic!("{error}"));
    let options = DriveOptions {
        bytes,
        file_system,
        backing_dir,
    };
    Drive::create(namespace, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a shell command on the drive to its end.
pub fn run(drive: &Drive, script: &str) -> ExitStatus {
    let mut workload = Workload::spawn(&["sh", "-c", script], drive, Output::inherited()).unwrap();
    finish(&mut workload)
}

pub fn finish(workload: &mut Workload) -> ExitStatus {
    wait_for("the workload to end", || workload.try_wait().unwrap())
}

/// Asks again until there is an answer, at most 20 s.
pub fn wait_for<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = answer() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        sleep(Duration::from_millis(20));
    }
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// One binding of a loop device: the kernel counts them up, so a reused number is told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    directory: PathBuf,
    sequence: String,
}

impl Binding {
    pub fn of(device: &Path) -> Binding {
        let directory = Path::new("/sys/block").join(device.file_name().unwrap());
        let sequence = std::fs::read_to_string(directory.join("diskseq")).unwrap();
        Binding {
            directory,
            sequence,
        }
    }

    pub fn is_bound(&self) -> bool {
        self.directory.join("loop/backing_file").exists()
            && std::fs::read_to_string(self.directory.join("diskseq"))
                .is_ok_and(|sequence| sequence == self.sequence)
    }
}

/// The loop devices whose backing file lies or lay in `directory`.
pub fn bound_to(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir("/sys/block")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|device| {
            std::fs::read_to_string(device.join("loop/backing_file"))
                .is_ok_and(|file| file.starts_with(directory.to_str().unwrap()))
        })
        .collect()
}

/// The processes that carry `word` in their command line.
pub fn processes_with(word: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let command_line = std::fs::read(path.join("cmdline")).ok()?;
            let text = String::from_utf8_lossy(&command_line).replace('\0', " ");
            text.contains(word)
                .then(|| format!("{}: {text}", path.display()))
        })
        .collect()
}

/// Returns the entries of a directory, in order.
pub fn names(directory: &str) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    names
}
