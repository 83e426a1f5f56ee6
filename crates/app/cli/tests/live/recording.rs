//! `anabranch record`: a device that is there already.

use std::{fs::File, process::Command, thread::sleep, time::Duration};

use nix::sys::signal::Signal;

use super::{
    group::{Group, writer},
    support::{ANABRANCH, Device, MIB, Place, Started, anabranch, is_attached, wait_until, writes},
};

#[test]
fn a_device_is_recorded_while_a_program_runs() {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let dd = device.dd(20);
    let dd: Vec<&str> = dd.iter().map(String::as_str).collect();
    let record = ["record", "--device", &device.0, "-o", &trace, "--"];
    let ended = anabranch(&[&record[..], &dd].concat()).with_status(0);
    assert!(ended.stdout.contains("0 events lost"), "{ended:?}");
    let writes = writes(&trace);
    assert_eq!(
        writes.iter().map(|io| io.length_bytes).sum::<u64>(),
        20 * MIB
    );
    let contexts = anabranch(&["contexts", &trace, "--json"])
        .with_status(0)
        .json();
    assert_eq!(contexts["contexts"][0]["role"], "dd");

    let failing = [&record[..], &["sh", "-c", "exit 7"]].concat();
    anabranch(&failing).with_status(7);
}

#[test]
fn a_sampled_recording_has_the_bytes_of_all_and_replays_as_the_sample_it_is() {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let dd = device.dd(40);
    let dd: Vec<&str> = dd.iter().map(String::as_str).collect();
    let record = [
        "record", "--device", &device.0, "--sample", "1/8", "-o", &trace, "--",
    ];
    anabranch(&[&record[..], &dd].concat()).with_status(0);
    let writes = writes(&trace);
    // Whole requests of dd: one page of eight, each of eight times the size.
    assert_eq!(
        writes.iter().map(|io| io.length_bytes).sum::<u64>(),
        40 * MIB
    );
    assert!(
        writes
            .iter()
            .all(|io| io.offset_bytes.is_multiple_of(8 * 4096))
    );
    let drive = ["--json", "--unit", "1MiB", "--scheme", "baseline,pcstream"];
    let replay = |more: &[&str]| anabranch(&[&["replay", &trace], &drive[..], more].concat());
    let told = replay(&["--sample", "1/8"]).with_status(0).json();
    let untold = replay(&[]).with_status(0).json();
    assert_eq!(untold["schemes"], told["schemes"]);
    assert_eq!(untold["sampled"]["trace_rate"], "1/8");
    assert_eq!(untold["schemes"][0]["host_page_bytes"], 40 * MIB);
    let coarser = replay(&["--sample", "1/16"]).with_status(0).json();
    assert_eq!(coarser["sampled"]["hashes"].as_array().unwrap().len(), 4);
    assert!(
        replay(&["--sample", "1/4"])
            .with_status(2)
            .stderr
            .contains("1/8 works")
    );
    let by_requests = replay(&["--scheme", "sequential"]);
    assert!(
        by_requests
            .with_status(2)
            .stderr
            .contains("goes by requests")
    );
}

#[test]
fn a_recording_without_a_program_lasts_until_it_is_interrupted() {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let record = ["record", "--device", &device.0, "-t", &trace];
    let started = Started::new(Command::new(ANABRANCH).args(record));
    wait_until("the probe to be attached", || is_attached(started.pid()));
    sleep(Duration::from_millis(300));
    let dd = device.dd(5);
    assert!(
        Command::new(&dd[0])
            .args(&dd[1..])
            .status()
            .unwrap()
            .success()
    );
    assert!(
        !place.has("trace.parquet"),
        "a trace that is not complete is not seen"
    );
    started.signal(Signal::SIGINT);
    started.end().with_status(0);
    assert_eq!(
        writes(&trace).iter().map(|io| io.length_bytes).sum::<u64>(),
        5 * MIB
    );
}

#[test]
fn a_recording_told_to_end_ends_its_program_and_keeps_the_trace() {
    let place = Place::new();
    let device = Device::new(&place);
    let (trace, began) = (place.path("trace.parquet"), place.path("began"));
    let script = format!("{}; touch \"$0\"; exec sleep 60", device.dd(3).join(" "));
    let record = ["record", "--device", &device.0, "-o", &trace, "--"];
    let program = ["sh", "-c", &script, &began];
    let mut started = Started::new(Command::new(ANABRANCH).args(record).args(program));
    started.wait_for(&place, "began");
    started.signal(Signal::SIGTERM);
    started.end().with_status(130);
    assert_eq!(
        writes(&trace).iter().map(|io| io.length_bytes).sum::<u64>(),
        3 * MIB
    );
}

#[test]
fn pages_of_a_device_that_holds_no_file_system_are_of_who_writes_them_out() {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let dd = device
        .dd(20)
        .join(" ")
        .replace("oflag=direct", "conv=fsync");
    let record = [
        "record", "--device", &device.0, "-o", &trace, "--", "sh", "-c", &dd,
    ];
    anabranch(&record).with_status(0);
    let contexts = anabranch(&["contexts", &trace, "--json"])
        .with_status(0)
        .json();
    let contexts = contexts["contexts"].as_array().unwrap();
    assert!(
        contexts.iter().any(|one| one["role"] == "dd"),
        "{contexts:?}"
    );
    let is_metadata = |one: &serde_json::Value| one["kind"] == "metadata";
    assert!(!contexts.iter().any(is_metadata), "{contexts:?}");
}

#[test]
fn what_is_no_block_device_or_no_program_is_named_and_no_trace_is_left() {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let image = place.path("image");
    for (device, program, words) in [
        ("/dev/nonexistent", "true", ["/dev/nonexistent", "lsblk"]),
        (&image, "true", [&image, "not a block device"]),
        ("/dev/null", "true", ["/dev/null", "not a block device"]),
        (
            &device.0,
            "no-such-program",
            ["no-such-program", "installed"],
        ),
    ] {
        let record = ["record", "--device", device, "-o", &trace, "--", program];
        anabranch(&record).with_status(2).complains(&words);
    }
    assert_eq!(place.names(), ["image"]);
}

#[test]
fn a_device_that_goes_meanwhile_is_told() {
    let place = Place::new();
    let device = Device::with_a_number_of_its_own(&place.path("image"));
    let trace = place.path("trace.parquet");
    let record = ["record", "--device", &device.0, "-o", &trace, "--"];
    let detach = ["losetup", "--detach", &device.0];
    let ended = anabranch(&[&record[..], &detach].concat()).with_status(0);
    let words = format!("{} is gone, or another than before", device.0);
    assert!(ended.stderr.contains(&words), "{}", ended.stderr);
    assert!(place.has("trace.parquet"));
}

#[test]
fn a_recording_ends_after_its_time_or_once_enough_was_written() {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let record = ["record", "--device", &device.0, "-o", &trace, "--json"];
    let told = anabranch(&[&record[..], &["--for", "1s"]].concat())
        .with_status(0)
        .json();
    assert_eq!(told["written_bytes"], 0);
    let script = format!("{}; exec sleep 60", device.dd(3).join(" "));
    let most = ["--max", "2MiB", "--", "sh", "-c", &script];
    let told = anabranch(&[&record[..], &most].concat())
        .with_status(0)
        .json();
    assert_eq!(told["written_bytes"], 3 * MIB);
    assert_eq!(told["older_trace"], format!("{trace}.old"));
}

#[test]
fn of_several_programs_on_a_device_one_process_and_one_control_group_are_recorded() {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let go = place.path("go");
    let writer = |mebibytes| writer(&place, &device, mebibytes);
    let (by_id, other, by_group) = (writer(3), writer(5), writer(7));
    let group = Group::new(&place);
    group.take(by_group.pid());
    let record = ["record", "--device", &device.0, "-o", &trace, "--json"];
    let id = by_id.pid().to_string();
    let chosen = ["--pid", &id, "--cgroup", &group.name];
    let mut started = Started::new(Command::new(ANABRANCH).args(record).args(chosen));
    wait_until("the probe to be attached", || is_attached(started.pid()));
    sleep(Duration::from_millis(300));
    File::create(&go).unwrap();
    for mebibytes in [3, 5, 7] {
        started.wait_for(&place, &format!("done-{mebibytes}"));
    }
    started.signal(Signal::SIGINT);
    let told = started.end().with_status(0).json();
    assert_eq!(told["written_bytes"], 10 * MIB, "{told}");
    assert_eq!(told["left_out"]["written_bytes"], 5 * MIB, "{told}");
    assert_eq!(
        writes(&trace).iter().map(|io| io.length_bytes).sum::<u64>(),
        10 * MIB
    );
    let notes = told["capture"]["limitations"].to_string();
    assert!(notes.contains("writes of others, 5242880 bytes"), "{notes}");
    // Their children stay for a minute otherwise.
    for python in [&by_id, &other] {
        let _ = Command::new("pkill")
            .args(["-P", &python.pid().to_string()])
            .status();
    }
}

#[test]
fn a_process_or_control_group_that_is_not_there_is_named() {
    let place = Place::new();
    let device = Device::new(&place);
    let record = [
        "record",
        "--device",
        &device.0,
        "-o",
        &place.path("t.parquet"),
    ]
    .map(str::to_owned);
    let record: Vec<&str> = record.iter().map(String::as_str).collect();
    for (chosen, words) in [
        (["--pid", "4194304"], ["--pid 4194304", "pgrep"]),
        (
            ["--cgroup", "no.such"],
            ["--cgroup no.such", "/proc/PID/cgroup"],
        ),
    ] {
        let ended = anabranch(&[&record[..], &chosen, &["--", "true"]].concat());
        ended.with_status(2).complains(&words);
    }
    assert!(!place.has("t.parquet"));
}
