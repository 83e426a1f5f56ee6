//! `anabranch watch` for long: killed and started again, devices that come and go, traces that fill a disk.

use std::{
    fs,
    os::unix::fs::symlink,
    process::Command,
    time::{Duration, Instant},
};

use anabranch_trace::Reader;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    support::{Device, MIB, Place, anabranch, wait_until},
    watcher::{PAGE, Watcher, dd, overwrite, written},
};

/// Signals the watcher and waits until the file it writes then is another.
fn kept_by(watcher: &Watcher, state: &str) {
    let made = || fs::metadata(state).and_then(|found| found.modified()).ok();
    let before = made();
    watcher.started.signal(Signal::SIGHUP);
    wait_until("the state to be written", || made() != before);
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
    assert_eq!(device_after["schemes"][0]["host_bytes"], all);
    assert!(device_after["schemes"][0]["copied_bytes"].as_u64() > Some(10 * MIB));
    let roles = |device: &Value| -> Vec<(String, u64, u64)> {
        let rows = device["contexts"].as_array().unwrap().iter();
        let row = |row: &Value| {
            let number = |name: &str| row[name].as_u64().unwrap();
            (
                row["role"].to_string(),
                number("written_bytes"),
                number("ended_bytes"),
            )
        };
        rows.map(row).collect()
    };
    let bytes: u64 = roles(device_after).iter().map(|row| row.1).sum();
    assert_eq!(bytes, all);
    // What lives is in the shadow drives again: what overwrites it ends lives that began before the restart.
    let watcher = Watcher::start(&place, &words);
    let filled = watcher.now()["devices"][0]["filled"].as_f64().unwrap();
    assert!((filled - 60.0 / 64.0).abs() < 1e-3, "{filled}");
    overwrite(&device.0, 60 * 256, 20_000);
    let (last, _) = watcher.end();
    let last = &last["devices"][0];
    assert_eq!(written(last).0, all + 20_000 * PAGE);
    let ended = |device: &Value| roles(device).iter().map(|row| row.2).sum::<u64>();
    assert_eq!(ended(last), ended(device_after) + 20_000 * PAGE);
    let waf = |device: &Value| device["schemes"][0]["waf"].as_f64().unwrap();
    assert!(
        (waf(last) - waf(device_after)).abs() < 0.3,
        "{} {}",
        waf(last),
        waf(device_after)
    );

    // Another device is not that one.
    let other = Device::of(&place.path("other"));
    let refused = anabranch(&["watch", &other.0, "--state", &state, "--unit", "1MiB"]);
    refused
        .with_status(2)
        .complains(&["--state", "not watched", &device.0]);
    fs::write(&state, "what was there").unwrap();
    anabranch(&[&["watch", "--unit", "1MiB"], &words[..]].concat())
        .with_status(2)
        .complains(&["--state", "no state of a watcher"]);
}

#[test]
fn a_device_that_goes_and_comes_back_is_watched_again() {
    let place = Place::new();
    let device = Device::new(&place);
    let watcher = Watcher::start(&place, &[&device.0, "--sample", "1/1", "-s", "baseline"]);
    dd(&device, 3);
    let device = away_and_back(&watcher, &place, device);
    dd(&device, 4);
    let (last, ended) = watcher.end();
    assert_eq!(written(&last["devices"][0]).0, 7 * MIB);
    assert!(
        ended.stderr.contains("is gone") && ended.stderr.contains("is back"),
        "{}",
        ended.stderr
    );
}

fn traces_in(directory: &str) -> Vec<String> {
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

/// Programs that write a page each and are gone, with names that nothing had before.
fn short_lived(place: &Place, device: &Device, round: u64, programs: u64) {
    let letter = |number: u64| char::from(b'a' + (number % 26) as u8);
    let dd = fs::canonicalize("/bin/dd").unwrap();
    for number in 0..programs {
        let all = round * programs + number;
        let name: String = (0..4)
            .map(|place| letter(all / 26_u64.pow(place)))
            .collect();
        let path = place.path(&format!("w-{name}"));
        let _ = symlink(&dd, &path);
        let of = format!("of={}", device.0);
        let words = [
            "if=/dev/zero",
            &of,
            "bs=4k",
            "count=1",
            "oflag=direct",
            "status=none",
        ];
        assert!(Command::new(&path).args(words).status().unwrap().success());
        fs::remove_file(&path).unwrap();
    }
}

/// Unbinds a device, and binds it again once that was seen.
fn away_and_back(watcher: &Watcher, place: &Place, device: Device) -> Device {
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

/// As long as `ANABRANCH_SOAK_MINUTES` says (`make soak`), or for some seconds.
#[test]
fn a_long_life_takes_no_more_memory_than_a_short_one() {
    let lasts = std::env::var("ANABRANCH_SOAK_MINUTES")
        .map_or(Duration::from_secs(15), |minutes| {
            Duration::from_secs(60 * minutes.parse::<u64>().unwrap())
        });
    let place = Place::new();
    let mut device = Device::new(&place);
    let path = device.0.clone();
    let (traces, state) = (place.path("traces"), place.path("state"));
    fs::create_dir(&traces).unwrap();
    let sampled = [
        &path,
        "--sample",
        "1/4",
        "--samples",
        "2",
        // A pipe that nobody empties holds 64 KiB of lines.
        "-q",
        "-s",
        "baseline,pcstream",
    ];
    let kept = ["--traces", &traces, "--max", "4MiB", "--state", &state];
    let watcher = Watcher::start(&place, &[&sampled[..], &kept].concat());
    let (mut memory, mut asked, mut round) = (Vec::new(), 0, 0);
    let until = Instant::now() + lasts;
    while Instant::now() < until || round < 16 {
        overwrite(&path, 60 * 256, 3000);
        short_lived(&place, &device, round, 20);
        asked += 3020 * PAGE;
        watcher.wait_until("the writes of a round", |now| {
            now["devices"][0]["source"]["write_bytes"] == asked
        });
        round += 1;
        if round.is_multiple_of(4) {
            watcher.started.signal(Signal::SIGHUP);
        }
        if round.is_multiple_of(8) {
            device = away_and_back(&watcher, &place, device);
        }
        let own = &watcher.now()["own"];
        memory.push(own["memory_bytes"].as_u64().unwrap() + own["kernel_bytes"].as_u64().unwrap());
    }
    let (last, ended) = watcher.end();
    let told = &last["devices"][0];
    assert_eq!(written(told), (asked, asked));
    assert_eq!(told["source"]["lost_events"], 0);
    let known = told["contexts"].as_array().unwrap().len() as u64;
    assert!(known + told["unlisted_contexts"].as_u64().unwrap() <= 4096);
    let kept: u64 = traces_in(&traces)
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    assert!(kept <= 4 * MIB, "{kept}");
    assert_eq!(ended.stderr, "");
    // After the first third nothing grows but what contexts and files are bounded by.
    let before = memory[memory.len() / 3..memory.len() / 3 + 2]
        .iter()
        .max()
        .unwrap();
    let after = memory[memory.len() - 2..].iter().min().unwrap();
    eprintln!(
        "{round} rounds, {} programs: {} MiB of memory after a third, {} at the end, {:.2} s of processor",
        round * 20,
        before >> 20,
        after >> 20,
        last["own"]["cpu_s"].as_f64().unwrap()
    );
    assert!(*after < before + 8 * MIB, "{memory:?}");
}
