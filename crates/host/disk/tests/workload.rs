//! Programs on a drive: needs root, loop devices and ext4.

// Helpers of tests are tests: a failed step ends them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod common;

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anabranch_disk::{
    Drive, FileSystemKind, InterruptSource, Output, Workload, WorkloadError, status_code,
};
use common::{MIB, finish, mounted, run, wait_until};

fn drive() -> Drive {
    mounted(FileSystemKind::Ext4, 32 * MIB)
}

#[test]
fn the_program_runs_in_the_drives_directory_and_is_told_where_that_is() {
    let drive = drive();
    let status = run(
        &drive,
        r#"pwd >seen; echo "$ANABRANCH_DIR" >>seen; echo {dir}/x >>seen"#,
    );
    assert!(status.success());
    let directory = drive.mount_point();
    let seen = fs::read_to_string(directory.join("seen")).unwrap();
    let directory = directory.display();
    assert_eq!(seen, format!("{directory}\n{directory}\n{directory}/x\n"));
}

#[test]
fn the_programs_status_is_passed_on() {
    let drive = drive();
    assert_eq!(status_code(run(&drive, "exit 7")), 7);
    assert_eq!(status_code(run(&drive, "kill -TERM $$")), 143);
}

#[test]
fn the_programs_two_output_streams_go_where_they_are_sent() {
    let drive = drive();
    let stream = |name: &str| {
        fs::File::create(drive.mount_point().join(name))
            .unwrap()
            .into()
    };
    let output = Output {
        stdout: stream("one"),
        stderr: stream("two"),
    };
    let mut workload =
        Workload::spawn(&["sh", "-c", "echo said; echo warned >&2"], &drive, output).unwrap();
    assert!(finish(&mut workload).success());
    let read = |name: &str| fs::read_to_string(drive.mount_point().join(name)).unwrap();
    assert_eq!(
        (read("one"), read("two")),
        ("said\n".into(), "warned\n".into())
    );
}

#[test]
fn a_relative_program_is_looked_for_where_we_were_started() {
    let drive = drive();
    let here = std::env::current_dir().unwrap();
    let up = "../".repeat(here.components().count() - 1);
    let mut workload =
        Workload::spawn(&[format!("{up}bin/true")], &drive, Output::inherited()).unwrap();
    assert!(finish(&mut workload).success());
}

#[test]
fn a_command_that_cannot_start_says_why() {
    let drive = drive();
    let spawn = |name: &str| Workload::spawn(&[name], &drive, Output::inherited()).unwrap_err();
    let error = spawn("no-such-benchmark");
    assert!(matches!(error, WorkloadError::NotFound { .. }), "{error}");
    // Written by a shell: a descriptor of ours could be copied by another test's fork and keep the file busy.
    run(&drive, "echo '#!/no/such/interpreter' >script");
    let script = drive.mount_point().join("script");
    let error = spawn(script.to_str().unwrap()).to_string();
    assert!(error.contains("chmod +x"), "{error}");
    run(&drive, "chmod +x script");
    let error = spawn(script.to_str().unwrap()).to_string();
    assert!(error.contains("interpreter"), "{error}");
    let error = Workload::spawn::<&str>(&[], &drive, Output::inherited()).unwrap_err();
    assert!(matches!(error, WorkloadError::NoCommand), "{error}");
}

#[test]
fn a_daemon_the_program_left_behind_is_ended_and_named() {
    let mut drive = drive();
    run(&drive, "setsid sleep 1000 >log 2>&1 &");
    let names = || drive.namespace().processes();
    wait_until("the daemon to be itself", || {
        names().iter().any(|process| process.name == "sleep")
    });
    let workload = Workload::spawn(&["true"], &drive, Output::inherited()).unwrap();
    let ended = workload.end_stragglers();
    assert!(
        ended.iter().any(|process| process.name == "sleep"),
        "{ended:?}"
    );
    assert!(drive.namespace().processes().is_empty());
    drive.unmount().unwrap();
}

#[test]
fn a_daemon_deaf_to_sigterm_is_killed_after_two_seconds() {
    let drive = drive();
    run(
        &drive,
        "setsid sh -c 'trap \"\" TERM; touch ready; while :; do sleep 1000; done' & while [ ! -e ready ]; do sleep 0.02; done",
    );
    let mut workload = Workload::spawn(&["true"], &drive, Output::inherited()).unwrap();
    finish(&mut workload);
    let begin = Instant::now();
    assert!(!workload.end_stragglers().is_empty());
    assert!(begin.elapsed() >= Duration::from_secs(2));
    assert!(drive.namespace().processes().is_empty());
}

#[test]
fn the_first_interruption_lets_the_program_finish_and_the_second_kills() {
    let drive = drive();
    let script = "trap 'touch heard' INT; touch ready; while :; do sleep 0.05; done";
    let mut workload = Workload::spawn(&["sh", "-c", script], &drive, Output::inherited()).unwrap();
    let file = |name: &str| drive.mount_point().join(name).exists();
    wait_until("the program to be ready", || file("ready"));
    workload.interrupt(InterruptSource::Process);
    wait_until("the program to hear it", || file("heard"));
    assert!(workload.try_wait().unwrap().is_none());
    workload.interrupt(InterruptSource::Process);
    assert_eq!(status_code(finish(&mut workload)), 137);
}

#[test]
fn an_interruption_by_the_terminal_is_not_sent_twice() {
    let drive = drive();
    let mut workload = Workload::spawn(&["sleep", "1000"], &drive, Output::inherited()).unwrap();
    workload.interrupt(InterruptSource::Terminal);
    sleep(Duration::from_millis(200));
    assert!(workload.try_wait().unwrap().is_none());
    workload.interrupt(InterruptSource::Terminal);
    assert_eq!(status_code(finish(&mut workload)), 137);
}

#[test]
fn a_plain_program_ends_at_the_first_interruption() {
    let drive = drive();
    let mut workload = Workload::spawn(&["sleep", "1000"], &drive, Output::inherited()).unwrap();
    workload.interrupt(InterruptSource::Process);
    assert_eq!(status_code(finish(&mut workload)), 130);
}

/// A drive on which a program left something that lives in a mount namespace of its own.
fn drive_with_a_container() -> Drive {
    let drive = drive();
    let script = "setsid unshare -m sh -c 'echo >up; exec sleep 77' </dev/null >/dev/null 2>&1 &";
    assert!(run(&drive, script).success());
    wait_until("the container to start", || {
        drive.mount_point().join("up").exists()
    });
    drive
}

#[test]
fn what_lives_in_a_mount_namespace_of_its_own_is_ended_with_the_rest() {
    let mut drive = drive_with_a_container();
    let mut workload = Workload::spawn(&["true"], &drive, Output::inherited()).unwrap();
    assert!(finish(&mut workload).success());
    let ended = workload.end_stragglers();
    assert!(ended.iter().any(|one| one.name == "sleep"), "{ended:?}");
    drive.unmount().unwrap();
}

#[test]
fn what_still_holds_the_drive_elsewhere_is_named() {
    let mut drive = drive_with_a_container();
    let words = drive.unmount().unwrap_err().to_string();
    assert!(words.contains("still held by sleep ("), "{words}");
}

#[test]
fn an_interruption_reaches_what_lives_in_a_mount_namespace_of_its_own() {
    let drive = drive();
    let script = "unshare -m sh -c 'trap \"echo >caught; exit\" INT; echo >up; while :; do sleep 0.05; done'";
    let mut workload = Workload::spawn(&["sh", "-c", script], &drive, Output::inherited()).unwrap();
    wait_until("the container to start", || {
        drive.mount_point().join("up").exists()
    });
    workload.interrupt(InterruptSource::Process);
    finish(&mut workload);
    wait_until("the signal to be caught", || {
        drive.mount_point().join("caught").exists()
    });
}

#[test]
fn a_swap_file_left_on_is_given_up() {
    let mut drive = drive();
    let script = "dd if=/dev/zero of='a swap' bs=1M count=4 2>/dev/null && chmod 600 'a swap' \
                  && mkswap 'a swap' >/dev/null && swapon 'a swap'";
    assert!(run(&drive, script).success());
    drive.unmount().unwrap();
    let swaps = fs::read_to_string("/proc/swaps").unwrap();
    assert!(!swaps.contains("a\\040swap"), "{swaps}");
}

#[test]
fn what_a_program_mounts_over_the_drive_is_taken_away_and_told() {
    let mut drive = drive();
    assert!(!drive.uncover().unwrap());
    let script = "echo below >file; mount -t tmpfs over {dir} && mount -t tmpfs over {dir} && echo >{dir}/lost";
    assert!(run(&drive, script).success());
    assert!(drive.uncover().unwrap());
    assert!(drive.mount_point().join("file").exists());
    drive.unmount().unwrap();
}
