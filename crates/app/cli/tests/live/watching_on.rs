//! `anabranch watch` for long: killed and started again, devices that come and go, traces that fill a disk.

use std::{fs, process::Command};

use anabranch_trace::Reader;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    support::{ANABRANCH, Device, MIB, Place, Started, anabranch, wait_until},
    watcher::{PAGE, Watcher, dd, overwrite, written},
};

/// Signals the watcher and waits until the file it writes then is another.
fn kept_by(watcher: &Watcher, state: &str) {
    let made = || fs::metadata(state).and_then(|found| found.modified()).ok();
    let before = made();
    watcher.started.signal(Signal::SIGHUP);
    wait_until("the state to be written", || made() != before);
}

/// The sum of a figure over a device's contexts.
fn of_contexts(device: &Value, key: &str) -> u64 {
    let rows = device["contexts"].as_array().unwrap().iter();
    rows.map(|row| row[key].as_u64().unwrap()).sum()
}

#[test]
fn a_watcher_that_is_killed_goes_on_where_its_state_was_kept() {
    let place = Place::new();
    let device = Device::new(&place);
    let state = place.path("state");
    let words = [
        &device.0,
        "--sample",
        "1/1",
        "-s",
        "baseline,pcstream",
        "--state",
        &state,
    ];
    let watcher = Watcher::start(&place, &words);
    dd(&device, 60);
    overwrite(&device.0, 60 * 256, 30_000);
    let all = 60 * MIB + 30_000 * PAGE;
    watcher.wait_until("all writes to be seen", |now| {
        written(&now["devices"][0]).0 == all
    });
    kept_by(&watcher, &state);
    watcher.started.signal(Signal::SIGKILL);
    drop(watcher);

    let (after, _) = Watcher::start(&place, &words).end();
    let device_after = &after["devices"][0];
    assert_eq!(written(device_after).0, all);
    assert_eq!(device_after["schemes"][0]["host_page_bytes"], all);
    assert!(device_after["schemes"][0]["copied_bytes"].as_u64() > Some(10 * MIB));
    assert_eq!(of_contexts(device_after, "written_bytes"), all);
    // What lives is in the shadow drives again: what overwrites it ends lives that began before the restart.
    let watcher = Watcher::start(&place, &words);
    let filled = watcher.now()["devices"][0]["filled"].as_f64().unwrap();
    assert!((filled - 60.0 / 64.0).abs() < 1e-3, "{filled}");
    overwrite(&device.0, 60 * 256, 20_000);
    let (last, _) = watcher.end();
    let last = &last["devices"][0];
    assert_eq!(written(last).0, all + 20_000 * PAGE);
    let ended = [last, device_after].map(|device| of_contexts(device, "ended_bytes"));
    assert_eq!(ended[0], ended[1] + 20_000 * PAGE);
    let waf = [last, device_after].map(|device| device["schemes"][0]["waf"].as_f64().unwrap());
    assert!((waf[0] - waf[1]).abs() < 0.3, "{waf:?}");
    refuses_what_is_not_its_state(&place, &device, &state, &words);
}

/// The state of another device, and a file that is none, are refused.
fn refuses_what_is_not_its_state(place: &Place, device: &Device, state: &str, words: &[&str]) {
    let other = Device::of(&place.path("other"));
    let refused = anabranch(&["watch", &other.0, "--state", state, "--unit", "1MiB"]);
    refused
        .with_status(2)
        .complains(&["--state", "not watched", &device.0]);
    fs::write(state, "what was there").unwrap();
    anabranch(&[&["watch", "--unit", "1MiB"], words].concat())
        .with_status(2)
        .complains(&["--state", "no state of a watcher"]);
}

fn is_watched_again(rate: &str) {
    let place = Place::new();
    let device = Device::new(&place);
    let watcher = Watcher::start(&place, &[&device.0, "--sample", rate, "-s", "baseline"]);
    dd(&device, 3);
    overwrite(&device.0, 64 * 256, 500);
    let device = away_and_back(&watcher, &place, device);
    dd(&device, 4);
    overwrite(&device.0, 64 * 256, 700);
    let (last, ended) = watcher.end();
    assert_eq!(written(&last["devices"][0]).0, 7 * MIB + 1200 * PAGE);
    assert!(
        ended.stderr.contains("is gone") && ended.stderr.contains("is back"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_device_that_goes_and_comes_back_is_watched_again() {
    is_watched_again("1/1");
    // Most of the single pages are then counted in the kernel alone.
    is_watched_again("1/16");
}

#[test]
fn a_device_that_grows_has_larger_shadow_drives() {
    let place = Place::new();
    let device = Device::new(&place);
    let watcher = Watcher::start(&place, &[&device.0, "--sample", "1/1", "-s", "baseline"]);
    dd(&device, 30);
    watcher.wait_until("the writes", |now| {
        written(&now["devices"][0]).0 == 30 * MIB
    });
    let image = fs::OpenOptions::new().write(true).open(place.path("image"));
    image.unwrap().set_len(96 * MIB).unwrap();
    let grown = Command::new("losetup")
        .args(["--set-capacity", &device.0])
        .status();
    assert!(grown.unwrap().success());
    watcher.wait_until("the new size", |now| {
        let device = &now["devices"][0];
        device["is_watched"] == true && device["device_bytes"] == 96 * MIB
    });
    // What lives is a part of the larger drive.
    let filled = watcher.now()["devices"][0]["filled"].as_f64().unwrap();
    assert!((filled - 30.0 / 96.0).abs() < 1e-3, "{filled}");
    overwrite(&device.0, 96 * 256, 2000);
    let (last, ended) = watcher.end();
    let last = &last["devices"][0];
    assert_eq!(written(last).0, 30 * MIB + 2000 * PAGE);
    assert_eq!(last["schemes"][0]["host_page_bytes"], 2000 * PAGE);
    assert!(ended.stderr.contains("96.00 MiB now"), "{}", ended.stderr);
}

#[test]
fn samples_go_on_with_what_the_whole_drive_counted_and_other_samples_do_not() {
    let place = Place::new();
    let device = Device::new(&place);
    let state = place.path("state");
    let watched = |sampled: &[&str], writes: u64| {
        let words = [&[&device.0, "-s", "baseline", "--state", &state], sampled].concat();
        let watcher = Watcher::start(&place, &words);
        overwrite(&device.0, 60 * 256, writes);
        let (last, ended) = watcher.end();
        (
            last["devices"][0]["schemes"][0]["host_page_bytes"]
                .as_u64()
                .unwrap(),
            ended.stderr,
        )
    };
    let all = 30_000 * PAGE;
    assert_eq!(watched(&["--sample", "1/1"], 30_000).0, all);
    assert_eq!(watched(&["--sample", "1/2"], 0).0, all);
    let (host_page_bytes, said) = watched(&["--sample", "1/2", "--samples", "2"], 0);
    assert_eq!(host_page_bytes, 0);
    assert!(said.contains("another number of samples"), "{said}");
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let place = Place::new();
    let device = Device::new(&place);
    let words = [
        "watch", &device.0, "--unit", "1MiB", "--every", "0.2s", "--json",
    ];
    let head = format!("\"$0\" \"$@\" | head -n 2 >{}", place.path("lines"));
    let mut command = Command::new("timeout");
    command
        .args(["60", "bash", "-o", "pipefail", "-c", &head, ANABRANCH])
        .args(words);
    Started::new(&mut command).end().with_status(0);
    let lines = fs::read_to_string(place.path("lines")).unwrap();
    assert_eq!(lines.lines().count(), 2);
}

/// The files of a directory, by name.
pub fn traces_in(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut paths: Vec<String> = entries
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    paths.sort();
    paths
}

#[test]
fn traces_are_rotated_by_a_signal_and_by_size_and_the_oldest_go() {
    let place = Place::new();
    let device = Device::new(&place);
    let traces = place.path("traces");
    fs::create_dir(&traces).unwrap();
    fs::write(format!("{traces}/mine.parquet"), "not ours").unwrap();
    let words = [
        &device.0, "-s", "baseline", "--traces", &traces, "--keep", "7d",
    ];
    let watcher = Watcher::start(&place, &words);
    for round in 1..=3_u64 {
        dd(&device, 2);
        let all = 2 * round * MIB;
        watcher.wait_until("the writes", |now| written(&now["devices"][0]).0 == all);
        watcher.started.signal(Signal::SIGHUP);
        let ended = round as usize + 1;
        wait_until("the trace to be ended", || {
            traces_in(&traces).len() == ended
        });
    }
    watcher.end();
    let ours: Vec<String> = traces_in(&traces)
        .into_iter()
        .filter(|path| !path.contains("mine"))
        .collect();
    assert_eq!(ours.len(), 3, "{ours:?}");
    for trace in &ours {
        let contexts = anabranch(&["contexts", trace, "--json"])
            .with_status(0)
            .json();
        assert_eq!(contexts["contexts"][0]["written_bytes"], 2 * MIB);
        // Each trace has its own beginning.
        let first = Reader::open(trace).unwrap().next().unwrap().unwrap();
        assert_eq!(first.time_ns, 0, "{trace}");
    }
    // A limit below what is there already leaves the newest, if any.
    let words = [
        &device.0, "-s", "baseline", "--traces", &traces, "--max", "16KiB",
    ];
    let watcher = Watcher::start(&place, &words);
    overwrite(&device.0, 4096, 20_000);
    watcher.end();
    let left = traces_in(&traces);
    let ours = left.iter().filter(|path| !path.contains("mine"));
    let bytes: u64 = ours.map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(bytes <= 16 << 10, "{bytes} bytes in {left:?}");
    assert!(left.iter().any(|path| path.contains("mine")));
}

#[test]
fn a_disk_that_is_full_of_traces_stops_nothing_but_them() {
    let place = Place::new();
    let device = Device::new(&place);
    let traces = place.path("traces");
    fs::create_dir(&traces).unwrap();
    let small = ["-t", "tmpfs", "-o", "size=64k", "none", &traces];
    assert!(
        Command::new("mount")
            .args(small)
            .status()
            .unwrap()
            .success()
    );
    let watcher = Watcher::start(&place, &[&device.0, "-s", "baseline", "--traces", &traces]);
    overwrite(&device.0, 16_384, 60_000);
    let (last, ended) = watcher.end();
    let _ = Command::new("umount").arg(&traces).status();
    assert_eq!(written(&last["devices"][0]).0, 60_000 * PAGE);
    assert!(
        ended.stderr.contains("watching goes on"),
        "{}",
        ended.stderr
    );
}

/// Unbinds a device, and binds it again once that was seen.
pub fn away_and_back(watcher: &Watcher, place: &Place, device: Device) -> Device {
    let is_watched = |now: &Value| now["devices"][0]["is_watched"] == true;
    let path = device.0.clone();
    drop(device);
    watcher.wait_until("the device to be missed", |now| !is_watched(now));
    let image = place.path("image");
    // Another test may have taken the number that was given up: until it ends.
    wait_until("its number to be free", || {
        let bound = Command::new("losetup").args([&path, &image]).status();
        bound.unwrap().success()
    });
    watcher.wait_until("the device to be back", is_watched);
    Device(path)
}
