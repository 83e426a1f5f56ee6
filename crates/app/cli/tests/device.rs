//! Output of the command on the device: relocations, time, faults and life.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use command::{anabranch, complaint, json, replay, text, trace};

/// The schemes of a trace's replay, as JSON.
fn schemes(trace: &Path, options: &str) -> Vec<Value> {
    let output = replay(trace, &format!("{options} --json"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    json(&output)["schemes"].as_array().unwrap().clone()
}

#[test]
fn every_host_side_meets_every_relocation_asked_for() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let options = "--unit 1MiB --scheme baseline,pcstream --relocation mixed,gc,age";
    let found = schemes(&trace, options);
    let names: Vec<&str> = found
        .iter()
        .map(|scheme| scheme["name"].as_str().unwrap())
        .collect();
    let expected = [
        "baseline",
        "baseline+gc",
        "baseline+age",
        "pcstream*",
        "pcstream*+gc",
        "pcstream*+age",
    ];
    assert_eq!(names, expected);
}

#[test]
fn time_changes_no_count_and_tells_throughput_and_latencies() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let options = "--device golden --size 64MiB --unit 1MiB --scheme baseline,baseline+gc";
    let counted = schemes(&trace, options);
    for issue in ["closed", "open"] {
        let timed = schemes(&trace, &format!("{options} --time {issue} --queue-depth 4"));
        for (timed, counted) in timed.iter().zip(&counted) {
            for key in ["media_bytes", "copied_bytes", "erased_units", "streams"] {
                assert_eq!(timed[key], counted[key], "{issue} {key}");
            }
            let time = &timed["time"];
            assert!(time["elapsed_ns"].as_u64().unwrap() > 0);
            assert_eq!(time["latency"]["write"]["requests"], 1200);
            let latency = |key: &str| time["latency"]["write"][key].as_u64().unwrap();
            assert!(latency("p50_ns") <= latency("p99_ns"));
            assert!(latency("p99_ns") <= latency("max_ns"));
            assert!(counted["time"].is_null());
        }
    }
}

#[test]
fn time_on_a_drive_without_timing_is_refused_with_the_reason() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let profile = directory.path().join("timeless.toml");
    let shown = anabranch(&["devices", "--show", "golden"]);
    let golden = String::from_utf8(shown.stdout).unwrap();
    let timeless = golden.split("[timing]").next().unwrap();
    fs::write(&profile, timeless).unwrap();
    let words = complaint(
        &[
            "replay",
            text(&trace),
            "--device",
            text(&profile),
            "--time",
            "open",
        ],
        2,
    );
    assert!(
        words.contains("timeless.toml") && words.contains("[timing]"),
        "{words}"
    );
    let words = complaint(&["replay", text(&trace), "--queue-depth", "4"], 2);
    assert!(words.contains("--time"), "{words}");
}

#[test]
fn a_drive_whose_units_fail_ends_read_only_and_says_when() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let lives = "--unit 1MiB --over-provisioning 0.5 --scheme baseline --rated-erases 4";
    let dies = format!("{lives} --fault worn");
    let lived = schemes(&trace, lives);
    assert_eq!(lived[0]["read_only"], false);
    let died = schemes(&trace, &dies);
    assert_eq!(died[0]["read_only"], true);
    assert!(died[0]["host_page_bytes"].as_u64() < lived[0]["host_page_bytes"].as_u64());
    let table = String::from_utf8(replay(&trace, &dies).stdout).unwrap();
    assert!(table.contains("READ-ONLY after"), "{table}");
}

#[test]
fn what_parts_of_pages_cost_is_told_apart_from_copies() {
    let directory = TempDir::new().unwrap();
    let profile = |page_bytes: u32| {
        let path = directory.path().join(format!("{page_bytes}.toml"));
        let text = format!(
            "description = \"a test\"\nsource = \"a test\"\n[geometry]\nchannels = 1\ndies_per_channel = 1\n\
             pages_per_block = {}\npage_bytes = {page_bytes}\nlogical_bytes = 67108864\nover_provisioning = 0.1\n\
             [streams]\nhost = 1\ninternal = 1\n",
            (1 << 20) / page_bytes
        );
        fs::write(&path, text).unwrap();
        path
    };
    // Random writes of 4 KiB: each costs a page, whatever its size.
    let told = |page_bytes: u32| {
        let load = "synthetic:fio-zipf:size=64MiB,write=16MiB";
        let profile = profile(page_bytes);
        let output = anabranch(&[
            "replay",
            load,
            "--device",
            text(&profile),
            "--scheme",
            "baseline",
        ]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
        String::from_utf8(output.stdout).unwrap()
    };
    let small = told(4096);
    assert!(!small.contains("parts of pages") && !small.contains("page-rounded"));
    assert!(
        small.contains("written: 16.00 MiB = ") && small.contains("host GiB"),
        "{small}"
    );
    let large = told(16384);
    assert!(
        large.contains("written: 16.00 MiB by hosts, page-rounded 64.00 MiB = 1.00 capacities"),
        "{large}"
    );
    assert!(
        large.contains("page-rounded GiB") && !large.contains("host GiB"),
        "{large}"
    );
    assert!(
        large.contains("parts of pages: 16.00 MiB were asked for"),
        "{large}"
    );
    assert!(
        large.contains("16.00 KiB") && large.contains("4.00 times as much"),
        "{large}"
    );
}

#[test]
fn every_scheme_begins_with_the_aged_drive_it_is_given() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let drive = directory.path().join("aged.drive");
    let made = anabranch(&[
        "precondition",
        "--device",
        "golden",
        "--size",
        "64MiB",
        "--unit",
        "1MiB",
        "-o",
        text(&drive),
    ]);
    let told = String::from_utf8(made.stdout).unwrap();
    let words = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{words}");
    assert!(told.contains("steady state: yes"), "{told}");

    let pair = "--scheme baseline,baseline+gc --device golden";
    let young = schemes(&trace, &format!("{pair} --size 64MiB --unit 1MiB"));
    let from = format!("{pair} --drive {}", text(&drive));
    let aged = schemes(&trace, &from);
    for (aged, young) in aged.iter().zip(&young) {
        let copied = |scheme: &Value| scheme["copied_bytes"].as_u64().unwrap();
        assert_eq!(aged["host_page_bytes"], young["host_page_bytes"]);
        assert!(copied(aged) > copied(young), "{aged} {young}");
    }
    let timed = schemes(&trace, &format!("{from} --time closed"));
    for (timed, counted) in timed.iter().zip(&aged) {
        assert_eq!(timed["copied_bytes"], counted["copied_bytes"]);
    }
    // `all` leaves out what would have to know when the data on it will die.
    let from = format!("--device golden --drive {}", text(&drive));
    let all = schemes(&trace, &from);
    assert!(all.len() > 2 && all.iter().all(|scheme| scheme["name"] != "oracle"));
}

#[test]
fn preconditioning_tells_what_it_did_as_json_and_refuses_what_it_cannot() {
    let directory = TempDir::new().unwrap();
    let drive = directory.path().join("aged.drive");
    let size = ["--device", "golden", "--size", "64MiB", "--unit", "1MiB"];
    let make = [&["precondition", "-o", text(&drive)], &size[..]].concat();
    let zipf = ["--fill", "90%", "--pattern", "zipf=1.1", "--json"];
    let told = json(&anabranch(&[&make[..], &zipf].concat()));
    assert_eq!(
        told["mapped_bytes"],
        14746 * 4096,
        "nine tenths of 16384 pages"
    );
    assert_eq!(told["config"]["plan"]["pattern"]["zipf"], 1.1);
    assert_eq!(told["steady"], true);
    let within = |low: &Value, high: &Value| low.as_f64() <= high.as_f64();
    let band = &told["steady_band"];
    assert!(within(&band["least"], &told["waf_window"]), "{told}");
    assert!(within(&told["waf_window"], &band["most"]), "{told}");
    assert!(told["wear"]["mean_erases"].as_f64() > Some(1.0), "{told}");
    // Cut short it says so, and the drive is kept all the same.
    let short = anabranch(&[&make[..], &["--capacities", "1"]].concat());
    let words = String::from_utf8(short.stdout).unwrap();
    assert!(words.contains("steady state: NO - only 2.00"), "{words}");

    fs::remove_file(&drive).unwrap();
    for wrong in [
        ["--pattern", "zipf=11"],
        ["--pattern", "zipf=nan"],
        ["--pattern", "backwards"],
        ["--fill", "101%"],
        ["--victim", "greedy,fifo"],
    ] {
        let words = complaint(&[&make[..], &wrong].concat(), 2);
        let named = wrong.iter().any(|word| words.contains(word));
        assert!(named || words.contains("one"), "{words}");
    }
    assert!(!drive.exists());
}

#[test]
fn a_saved_drive_that_is_none_or_cut_short_is_named_with_the_reason() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let drive = directory.path().join("aged.drive");
    let size = ["--size", "64MiB", "--unit", "1MiB", "--capacities", "1"];
    let made = [&["precondition", "-o", text(&drive)], &size[..]].concat();
    assert!(anabranch(&made).status.success());
    let whole = fs::read(&drive).unwrap();
    let replay = ["replay", text(&trace), "--drive", text(&drive)];
    for (content, reason) in [
        (&whole[..whole.len() / 2], "cut short"),
        (&b"page,stream\n1,2\n"[..], "no saved drive"),
    ] {
        fs::write(&drive, content).unwrap();
        let words = complaint(&replay, 2);
        assert!(
            words.contains("aged.drive") && words.contains(reason),
            "{words}"
        );
    }
    fs::write(&drive, &whole).unwrap();
    let words = complaint(&[&replay[..], &["--size", "1GiB"]].concat(), 2);
    assert!(words.contains("--size"), "{words}");
    let words = complaint(&[&replay[..], &["--scheme", "baseline,oracle"]].concat(), 2);
    assert!(words.contains("oracle"), "{words}");
}
