//! Runs that are cut short: what was seen is shown, and nothing stays behind.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use nix::sys::signal::Signal;

use super::support::{
    ANABRANCH, Ended, Place, Started, WRITES_FOREVER, anabranch, ended_by, small_run,
};

/// A run that keeps all it makes in `place` and writes until it is ended.
fn start(place: &Place, script: &str) -> Started {
    let (trace, began) = (place.path("trace.parquet"), place.path("began"));
    let options = ["-t", &trace, "--backing", place.directory()];
    let arguments = small_run(&options, &["sh", "-c", script, &began]);
    // A group of its own, as a shell with job control gives it.
    let mut started = Started::new(Command::new(ANABRANCH).args(arguments).process_group(0));
    started.wait_for(place, "began");
    started
}

/// Asserts that an interrupted run has shown and kept what it saw, and left nothing else.
fn is_complete(place: &Place, ended: Ended) {
    let ended = ended.with_status(130);
    ended.shows_table();
    place.wait_until_abandoned();
    assert_eq!(place.names(), ["began", "trace.parquet"]);
    let trace = place.path("trace.parquet");
    // On the drive it was recorded for, which the trace carries.
    let replay = ["replay", &trace, "--scheme", "baseline"];
    let replayed = anabranch(&replay).with_status(0);
    assert_eq!(replayed.stdout, ended.stdout);
}

#[test]
fn a_run_interrupted_by_another_process_shows_and_keeps_what_it_saw() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let place = Place::new();
        let started = start(&place, WRITES_FOREVER);
        sleep(Duration::from_millis(300));
        started.signal(signal);
        is_complete(&place, started.end());
    }
}

#[test]
fn a_run_interrupted_with_its_whole_group_shows_and_keeps_what_it_saw() {
    let place = Place::new();
    let started = start(&place, WRITES_FOREVER);
    sleep(Duration::from_millis(300));
    started.signal_group(Signal::SIGINT);
    is_complete(&place, started.end());
}

#[test]
fn a_program_that_ignores_the_interruption_is_killed_by_the_second() {
    let place = Place::new();
    let stubborn = "trap '' INT TERM; touch \"$0\"; while :; do sleep 1; done";
    let started = start(&place, stubborn);
    started.signal(Signal::SIGINT);
    sleep(Duration::from_millis(500));
    started.signal(Signal::SIGINT);
    let ended = started.end().with_status(130);
    ended.complains(&["interrupted, and nothing is compared"]);
    place.wait_until_abandoned();
    assert_eq!(place.names(), ["began", "trace.parquet"]);
}

#[test]
fn ctrl_c_at_a_terminal_ends_the_view_and_shows_the_table() {
    let place = Place::new();
    let (trace, began) = (place.path("trace.parquet"), place.path("began"));
    let options = ["-t", &trace, "--backing", place.directory()];
    let noisy = WRITES_FOREVER.replace("do ", "do echo the program speaks; ");
    let arguments = small_run(&options, &["sh", "-c", &noisy, &began]);
    let words: Vec<String> = arguments
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect();
    let line = format!("exec '{ANABRANCH}' {}", words.join(" "));
    let mut command = Command::new("script");
    command
        .args([
            "--quiet",
            "--return",
            "--flush",
            "--command",
            &line,
            "/dev/null",
        ])
        .stdin(Stdio::piped());
    let mut terminal = Started::new(&mut command);
    terminal.wait_for(&place, "began");
    sleep(Duration::from_millis(800));
    terminal.type_in(b"\x03");
    let ended = terminal.end();
    let screen = ended.stdout.replace("\r\n", "\n");
    for words in [
        "MiB written",
        "MiB/s",
        "0 events lost",
        "baseline  WAF",
        "the program speaks\n",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    // The view is gone before the table is printed, and does not come back.
    let table = screen.rsplit_once("| scheme ").expect(&screen).1;
    assert!(!table.contains("WAF  "), "{table:?}");
    assert!(
        table.contains("anabranch: interrupted; the table holds what was seen"),
        "{table}"
    );
    assert_eq!(ended.status.code(), Some(130));
    place.wait_until_abandoned();
    assert_eq!(place.names(), ["began", "trace.parquet"]);
}

#[test]
fn a_run_interrupted_at_any_moment_of_its_start_leaves_nothing() {
    let place = Place::new();
    let directory = place.directory();
    for milliseconds in (0..160).step_by(10) {
        // The place is in the program's arguments, so that it would be found.
        let arguments = small_run(
            &["--backing", directory],
            &["sh", "-c", "sleep 600", directory],
        );
        // Whoever runs the tests in the background ignores SIGINT, and what inherits that is deaf to
        // one that comes before it listens.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", ANABRANCH]);
        let mut started = Started::new(command.args(arguments).process_group(0));
        sleep(Duration::from_millis(milliseconds));
        // dash is deaf between vfork and exec, and a single SIGINT is all a terminal sends: as a
        // person would, press again, which kills.
        for _ in 0..3 {
            started.signal_group(Signal::SIGINT);
            if started.ends_within(Duration::from_secs(10)) {
                break;
            }
        }
        let ended = started.end();
        assert!(
            ended.status.code() == Some(130) || ended_by(ended.status, Signal::SIGINT),
            "after {milliseconds} ms: {ended:?}"
        );
    }
    place.wait_until_abandoned();
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_killed_run_leaves_no_mount_device_trace_or_process() {
    let place = Place::new();
    let daemon = "setsid sh -c 'while :; do date >d; done' \"$0\" & ";
    let started = start(&place, &format!("{daemon}{WRITES_FOREVER}"));
    let namespace = fs::read_link(format!("/proc/{}/ns/mnt", started.pid())).unwrap();
    assert_ne!(namespace, fs::read_link("/proc/self/ns/mnt").unwrap());
    started.signal(Signal::SIGKILL);
    assert!(ended_by(started.end().status, Signal::SIGKILL));
    place.wait_until_abandoned();
    assert_eq!(place.names(), ["began"]);
}
