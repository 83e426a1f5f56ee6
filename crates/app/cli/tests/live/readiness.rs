//! The moment from which a recording sees writes, and who is told of it.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::net::UnixDatagram,
    process::{Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::support::{ANABRANCH, Device, MIB, Place, Started, anabranch, wait_until, writes};

/// A device, and the command that records it into a trace.
fn recorded(place: &Place) -> (Device, String, Command) {
    let device = Device::new(place);
    let trace = place.path("trace.parquet");
    let mut record = Command::new(ANABRANCH);
    record.args(["record", "--device", &device.0, "-t", &trace]);
    (device, trace, record)
}

fn written_bytes(trace: &str) -> u64 {
    writes(trace).iter().map(|io| io.length_bytes).sum()
}

fn run(words: &[String]) {
    let status = Command::new(&words[0]).args(&words[1..]).status();
    assert!(status.unwrap().success());
}

#[test]
fn attaching_is_said_at_once_and_recording_when_it_is_true() {
    let place = Place::new();
    let (device, trace, mut record) = recorded(&place);
    let mut record = record
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(record.stderr.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), format!("anabranch: attaching to {} …", device.0));
    assert_eq!(next(), "anabranch: recording from now");
    run(&device.dd(3));
    kill(Pid::from_raw(record.id() as i32), Signal::SIGINT).unwrap();
    assert!(record.wait().unwrap().success());
    assert_eq!(written_bytes(&trace), 3 * MIB);
}

#[test]
fn a_recording_goes_on_in_the_background_once_it_is_ready() {
    let place = Place::new();
    let (device, trace, mut record) = recorded(&place);
    let started = record
        .arg("--wait-ready")
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(started.status.success());
    let process: i32 = String::from_utf8(started.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    run(&device.dd(4));
    kill(Pid::from_raw(process), Signal::SIGINT).unwrap();
    wait_until("the trace", || place.has("trace.parquet"));
    assert_eq!(written_bytes(&trace), 4 * MIB);
    wait_until("its end", || kill(Pid::from_raw(process), None).is_err());
}

#[test]
fn what_cannot_be_attached_is_not_waited_for() {
    let ended = anabranch(&["record", "--device", "/dev/null", "--wait-ready"]).with_status(2);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("/dev/null"), "{ended:?}");
}

#[test]
fn whoever_waits_takes_the_recording_along_when_he_is_killed() {
    let place = Place::new();
    let (_device, trace, mut record) = recorded(&place);
    let waiting = Started::new(record.arg("--wait-ready"));
    let of_device = || {
        let found = Command::new("pgrep").args(["-f", &trace]).output().unwrap();
        String::from_utf8(found.stdout).unwrap().lines().count()
    };
    wait_until("both processes", || of_device() == 2);
    waiting.signal(Signal::SIGKILL);
    wait_until("their end", || of_device() == 0);
    assert!(!place.has("trace.parquet"));
}

#[test]
fn a_service_manager_is_told() {
    let place = Place::new();
    let (device, trace, mut record) = recorded(&place);
    let socket = place.path("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    let started = Started::new(record.env("NOTIFY_SOCKET", &socket));
    let mut word = [0; 64];
    let bytes = manager.recv(&mut word).unwrap();
    assert_eq!(&word[..bytes], b"READY=1\n");
    run(&device.dd(2));
    started.signal(Signal::SIGINT);
    started.end().with_status(0);
    assert_eq!(written_bytes(&trace), 2 * MIB);
}
