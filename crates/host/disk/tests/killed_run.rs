//! A run that is killed leaves nothing behind. The run is this test program, started once more.

// Helpers of tests are tests: a failed step ends them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anabranch_disk::{FileSystemKind, Output, Workload};
use common::{Binding, MIB, blank, bound_to, names, processes_with, wait_until};

/// Place of the held drive's bytes; empty for memory. Set only by the tests below.
const BACKING: &str = "ANABRANCH_TEST_BACKING";
/// Mark in the command lines of the held drive's processes.
const MARK: &str = "ANABRANCH_TEST_MARK";

#[test]
#[ignore = "holds a drive until it is killed; other tests start it"]
fn hold_a_drive() {
    let (Ok(backing), Ok(mark)) = (std::env::var(BACKING), std::env::var(MARK)) else {
        return;
    };
    let backing_dir = (!backing.is_empty()).then(|| backing.into());
    let mut drive = blank(FileSystemKind::Ext4, 64 * MIB, backing_dir);
    drive.format_and_mount().unwrap();
    // A child, a grandchild, a daemon in a session of its own, and one in a container, all writing.
    let writing = |file: &str| format!("sh -c 'while echo {mark}; do sleep 0.01; done >{file}' &");
    let script = format!(
        "{} setsid {} setsid unshare -m {} wait",
        writing("one"),
        writing("two"),
        writing("three")
    );
    let _workload = Workload::spawn(&["sh", "-c", &script], &drive, Output::inherited()).unwrap();
    wait_until("the programs to write", || {
        ["one", "two", "three"]
            .iter()
            .all(|name| drive.mount_point().join(name).exists())
    });
    println!("\nheld {}", drive.device().path().display());
    sleep(Duration::from_secs(60));
}

fn start_holder(backing: &str, mark: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_a_drive", "--ignored", "--nocapture"])
        .env(BACKING, backing)
        .env(MARK, mark)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

fn device_of(holder: &mut Child) -> String {
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("held ").map(str::to_owned))
        .expect("the holder failed: see its message above")
}

fn kill(mut holder: Child) {
    holder.kill().unwrap();
    holder.wait().unwrap();
}

/// This test program may run more than once at a time.
fn mark(name: &str) -> String {
    format!("mark-of-the-{name}-of-{}", std::process::id())
}

fn a_killed_run_leaves_nothing(backing: &str, mark: &str) {
    let before = names("/mnt");
    let mut holder = start_holder(backing, mark);
    let device = device_of(&mut holder);
    let binding = Binding::of(Path::new(&device));
    assert!(binding.is_bound());
    assert!(!processes_with(mark).is_empty());
    kill(holder);
    wait_until("the programs to be killed", || {
        processes_with(mark).is_empty()
    });
    wait_until("the loop device to clear itself", || !binding.is_bound());
    assert_eq!(names("/mnt"), before);
}

#[test]
fn a_killed_run_in_memory_leaves_no_process_device_or_directory() {
    a_killed_run_leaves_nothing("", &mark("run-in-memory"));
}

#[test]
fn a_killed_run_on_a_disk_leaves_no_file_either() {
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = directory.path().to_str().unwrap();
    a_killed_run_leaves_nothing(path, &mark("run-on-disk"));
    assert!(bound_to(directory.path()).is_empty());
    assert_eq!(names(path).len(), 0);
}

#[test]
fn a_run_killed_at_any_moment_of_its_start_leaves_nothing() {
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = directory.path().to_str().unwrap();
    let mark = &mark("run-cut-short");
    for milliseconds in 0..40 {
        let holder = start_holder(path, mark);
        sleep(Duration::from_millis(milliseconds * 4));
        kill(holder);
    }
    wait_until("the programs to be killed", || {
        processes_with(mark).is_empty()
    });
    wait_until("the loop devices to clear themselves", || {
        bound_to(directory.path()).is_empty()
    });
    assert_eq!(names(path).len(), 0);
}
