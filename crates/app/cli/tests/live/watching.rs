//! `anabranch watch`: devices that are there already, counted and told of while programs write.

use std::{collections::BTreeSet, fs, os::unix::fs::symlink, process::Command};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    support::{ANABRANCH, Device, MIB, Place, Started, anabranch, wait_until},
    watcher::{PAGE, Watcher, dd, free_address, overwrite, scrape, written},
};

/// A watcher of all of a drive that offers its figures, and where it does.
fn measured(place: &Place, device: &Device) -> (Watcher, String) {
    let address = free_address();
    let words = [
        &device.0,
        "--sample",
        "1/1",
        "-s",
        "baseline",
        "--metrics",
        &address,
    ];
    (Watcher::start(place, &words), address)
}

#[test]
fn two_devices_are_counted_exactly_each_by_itself() {
    let place = Place::new();
    let (one, two) = (Device::new(&place), Device::of(&place.path("other")));
    let watcher = Watcher::start(
        &place,
        &[
            &one.0,
            &two.0,
            "--sample",
            "1/1",
            "-s",
            "baseline+gc,pcstream",
        ],
    );
    dd(&one, 20);
    dd(&two, 7);
    dd(&two, 7);
    let (last, ended) = watcher.end();
    let devices = last["devices"].as_array().unwrap();
    assert_eq!(written(&devices[0]), (20 * MIB, 20 * MIB));
    assert_eq!(written(&devices[1]), (14 * MIB, 14 * MIB));
    for device in devices {
        assert_eq!(device["source"]["lost_events"], 0);
        assert_eq!(device["contexts"][0]["role"], "dd");
        assert_eq!(
            device["contexts"][0]["written_bytes"],
            device["source"]["write_bytes"]
        );
        assert_eq!(
            device["schemes"][0]["host_page_bytes"],
            device["source"]["write_bytes"]
        );
    }
    let overwritten = &devices[1]["contexts"][0];
    assert_eq!(overwritten["ended_bytes"], 7 * MIB);
    let half = overwritten["quantiles_bytes"][2].as_f64().unwrap();
    assert!((half / (7 * MIB) as f64 - 1.0).abs() < 0.01, "{half}");
    for words in ["too early to tell", "at this rate"] {
        assert!(ended.stdout.contains(words), "{}", ended.stdout);
    }
}

#[test]
fn a_partition_is_watched_by_itself_and_with_its_disk() {
    let place = Place::new();
    let disk = Device::new(&place);
    // A loop device that is detached keeps its partitions for whoever has it next.
    let _ = Command::new("delpart").args([&disk.0, "1"]).output();
    let added = ["1", "2048", "65536"];
    assert!(
        Command::new("addpart")
            .arg(&disk.0)
            .args(added)
            .status()
            .unwrap()
            .success()
    );
    let partition = format!("{}p1", disk.0);
    wait_until("the partition's node", || fs::metadata(&partition).is_ok());
    let words = [&disk.0, &partition, "--sample", "1/1", "-s", "baseline"];
    let watcher = Watcher::start(&place, &words);
    overwrite(&partition, 8192, 300);
    overwrite(&disk.0, 256, 50);
    let (last, _) = watcher.end();
    let told = |at: usize| written(&last["devices"][at]).0;
    assert_eq!((told(0), told(1)), (350 * PAGE, 300 * PAGE));
    assert_eq!(last["devices"][1]["kind"], "partition");
    assert_eq!(last["devices"][1]["device_bytes"], 65536 * 512);
    let _ = Command::new("delpart").args([&disk.0, "1"]).output();
}

#[test]
fn what_no_sample_has_is_counted_in_the_kernel_and_changes_nothing() {
    let (place, other) = (Place::new(), Place::new());
    let device = Device::new(&place);
    let traces = place.path("traces");
    fs::create_dir(&traces).unwrap();
    let words = [&device.0, "--sample", "1/16", "-s", "baseline,sepbit"];
    // A trace holds all that is written, so the one that keeps it is told of every request.
    let all = Watcher::start(&place, &[&words[..], &["--traces", &traces]].concat());
    let some = Watcher::start(&other, &words);
    dd(&device, 60);
    overwrite(&device.0, 60 * 256, 20_000);
    let discard = ["--offset", "4096", "--length", "8M", &device.0];
    assert!(
        Command::new("blkdiscard")
            .args(discard)
            .status()
            .unwrap()
            .success()
    );
    overwrite(&device.0, 60 * 256, 10_000);
    let (all, some) = (all.end().0, some.end().0);
    let (all, some) = (&all["devices"][0], &some["devices"][0]);
    let bytes = 60 * MIB + 30_000 * PAGE;
    assert_eq!(
        (written(all), written(some)),
        ((bytes, bytes), (bytes, bytes))
    );
    for part in ["records", "discarded_bytes", "flushes", "lost_events"] {
        assert_eq!(all["source"][part], some["source"][part], "{part}");
    }
    assert_eq!(some["source"]["discarded_bytes"], 8 * MIB);
    // A window ends where it is looked at; all else is the same to the page.
    for scheme in 0..2 {
        for part in ["name", "host_page_bytes", "copied_bytes", "waf", "error"] {
            let of = |device: &Value| device["schemes"][scheme][part].clone();
            assert_eq!(of(all), of(some), "{part}");
        }
    }
    // Contexts are earned by what is told; what was written is all accounted for.
    let accounted = |device: &Value| -> u64 {
        let contexts = device["contexts"].as_array().unwrap().iter();
        let listed = contexts.map(|context| context["written_bytes"].as_u64().unwrap());
        listed.sum::<u64>() + device["unlisted_bytes"].as_u64().unwrap()
    };
    assert_eq!(accounted(all), accounted(some));
}

#[test]
fn the_last_snapshot_is_the_replay_of_the_trace_at_the_same_rate_and_hash() {
    let place = Place::new();
    let device = Device::new(&place);
    let traces = place.path("traces");
    fs::create_dir(&traces).unwrap();
    let sampled = ["--sample", "1/4", "--samples", "2", "--seed", "5"];
    let schemes = ["-s", "baseline,pcstream,sequential,sepbit,anabranch"];
    let more = [&device.0, "--traces", &traces];
    let watcher = Watcher::start(&place, &[&sampled[..], &schemes, &more].concat());
    dd(&device, 60);
    overwrite(&device.0, 60 * 256, 40_000);
    let (last, _) = watcher.end();
    let told = &last["devices"][0];
    assert_eq!(
        written(told),
        (60 * MIB + 40_000 * PAGE, 60 * MIB + 40_000 * PAGE)
    );
    let trace = fs::read_dir(&traces)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let replay = [
        "replay",
        trace.to_str().unwrap(),
        "--unit",
        "1MiB",
        "--json",
    ];
    let replayed = anabranch(&[&replay[..], &sampled, &schemes].concat());
    let replayed = replayed.with_status(0).json();
    let (schemes, replayed) = (&told["schemes"], &replayed["schemes"]);
    assert_eq!(schemes.as_array().unwrap().len(), 5);
    assert!(
        schemes[0]["copied_bytes"].as_u64() > Some(10 * MIB),
        "{schemes:#}"
    );
    for (own, other) in schemes
        .as_array()
        .unwrap()
        .iter()
        .zip(replayed.as_array().unwrap())
    {
        for figure in ["name", "host_page_bytes", "copied_bytes", "waf"] {
            assert_eq!(own[figure], other[figure], "{figure} of {}", own["name"]);
        }
        assert_eq!(own["error"], other["sampled"]["error"], "{}", own["name"]);
    }
}

#[test]
fn thousands_of_programs_leave_few_contexts_and_fewer_labels() {
    let place = Place::new();
    let device = Device::new(&place);
    // Names without digits, so that each is a role of its own.
    let letters = || (b'a'..=b'z').map(char::from);
    let names: Vec<String> = letters()
        .flat_map(|one| {
            letters().flat_map(move |two| ["", "x", "y"].map(|end| format!("w-{one}{two}{end}")))
        })
        .collect();
    let dd = fs::canonicalize("/bin/dd").unwrap();
    for name in &names {
        symlink(&dd, place.path(name)).unwrap();
    }
    let (watcher, address) = measured(&place, &device);
    let script = "cd \"$1\"; for name in w-*; do ./$name if=/dev/zero of=\"$0\" bs=4k count=1 oflag=direct status=none; done";
    let run = Command::new("sh")
        .args(["-c", script, &device.0, place.directory()])
        .status();
    assert!(run.unwrap().success());
    let all = names.len() as u64 * PAGE;
    watcher.wait_until("all programs to be seen", |now| {
        written(&now["devices"][0]).0 == all
    });
    let text = scrape(&address);
    let labels: BTreeSet<&str> = text
        .lines()
        .filter(|line| line.starts_with("anabranch_watch_context_written_bytes_total"))
        .collect();
    assert_eq!(labels.len(), 65, "{text}");
    let sum: f64 = labels
        .iter()
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        .sum();
    assert_eq!(sum as u64, all);
    let (last, _) = watcher.end();
    let device = &last["devices"][0];
    let known = device["contexts"].as_array().unwrap().len() as u64;
    assert!(known <= 32 && known + device["unlisted_contexts"].as_u64().unwrap() <= 1024);
    assert_eq!(device["source"]["lost_events"], 0);
}

#[test]
fn a_budget_is_kept_by_coarser_samples_and_told() {
    let place = Place::new();
    let device = Device::new(&place);
    let words = [
        &device.0,
        "--sample",
        "1/2",
        "--samples",
        "2",
        "--cpu",
        "0.001%",
    ];
    let watcher = Watcher::start(&place, &words);
    dd(&device, 60);
    let rate = |now: &Value| now["devices"][0]["rate"].as_str().unwrap().to_owned();
    watcher.wait_until("a coarser rate", |now| rate(now) != "1/2");
    overwrite(&device.0, 60 * 256, 20_000);
    let (last, ended) = watcher.end();
    let told = &last["devices"][0];
    assert_eq!(written(told).0, 60 * MIB + 20_000 * PAGE);
    assert!(
        ended.stderr.contains("is more than --cpu allows"),
        "{}",
        ended.stderr
    );
    let filled = told["filled"].as_f64().unwrap();
    assert!((filled - 60.0 / 64.0).abs() < 0.02, "{filled}");
    // Every byte is counted once, at whichever rate.
    let host = told["schemes"][0]["host_page_bytes"].as_u64().unwrap() as f64;
    let all = written(told).0 as f64;
    assert!((host / all - 1.0).abs() < 0.05, "{host} of {all}");

    let memory = |bytes: &str| {
        let words = [
            "watch", &device.0, "--unit", "1MiB", "--ring", "64KiB", "--for", "1s",
        ];
        anabranch(&[&words[..], &["--memory", bytes]].concat())
    };
    let refused = memory("2MiB").with_status(2).stderr;
    assert!(
        refused.contains("--memory") && refused.contains("works"),
        "{refused}"
    );
    let enough = memory("256MiB").with_status(0);
    assert!(enough.stdout.contains(" at 1/1,"), "{}", enough.stdout);
}

const DASHBOARD: &str = include_str!("../../../../../packaging/anabranch-watch.grafana.json");
const UNIT: &str = include_str!("../../../../../packaging/anabranch-watch.service");

/// Returns the value of a key of the service's unit.
fn of_unit(key: &str) -> &'static str {
    let line = UNIT.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.strip_prefix('=')).unwrap()
}

/// The names of our metrics in a text, as they are without what a counter's samples end in.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = words.filter(|word| word.starts_with("anabranch_watch_"));
    ours.map(|word| word.trim_end_matches("_total").to_owned())
        .collect()
}

#[test]
fn the_service_may_do_what_it_must_and_its_dashboard_asks_for_what_there_is() {
    let place = Place::new();
    let device = Device::new(&place);
    let address = free_address();
    let output = place.path("watch.json");
    let options = of_unit("Environment").trim_matches('"');
    let options = options.strip_prefix("OPTIONS=").unwrap();
    let line = of_unit("ExecStart")
        .strip_prefix("/usr/bin/anabranch ")
        .unwrap();
    let line = line
        .replace("$OPTIONS", &options.replace("127.0.0.1:9471", &address))
        .replace("$DEVICES", &device.0)
        .replace("/var/lib/anabranch", place.directory())
        .replace("/run/anabranch", place.directory());
    let capabilities = of_unit("CapabilityBoundingSet")
        .to_lowercase()
        .replace("cap_", ",+");
    let capabilities = format!("--bounding-set=-all{}", capabilities.replace(' ', ""));
    let mut command = Command::new("setpriv");
    command.args([
        &capabilities,
        "--inh-caps=-all",
        "--no-new-privs",
        ANABRANCH,
    ]);
    command.args(line.split(' ')).args([
        "--every",
        "0.2s",
        "--unit",
        "1MiB",
        "-s",
        "baseline,pcstream",
    ]);
    let mut started = Started::new(&mut command);
    started.wait_for(&place, "watch.json");
    overwrite(&device.0, 16_384, 20_000);
    let now = || serde_json::from_slice::<Value>(&fs::read(&output).unwrap()).unwrap();
    wait_until("the writes", || {
        written(&now()["devices"][0]).0 == 20_000 * PAGE
    });
    let text = scrape(&address);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/openmetrics-text"), "{head}");
    let told: BTreeSet<String> = body
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .map(str::to_owned)
        .collect();
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let asked = metrics_in(&dashboard.to_string());
    assert!(asked.len() > 10, "{asked:?}");
    let missing: Vec<&String> = asked
        .difference(&told)
        .filter(|name| *name != "anabranch_watch_")
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {told:?}");
    // Every sample has a family, a value, and labels that close.
    for sample in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = sample.rsplit_once(' ').unwrap();
        assert!(value == "NaN" || value.parse::<f64>().is_ok(), "{sample}");
        let family = name.split('{').next().unwrap().trim_end_matches("_total");
        assert!(told.contains(family), "{sample}");
    }
    started.signal(Signal::SIGTERM);
    started.end().with_status(0);
    assert!(place.has("watch.state"));
}

#[test]
fn names_of_programs_reach_no_output_as_they_are() {
    let place = Place::new();
    let device = Device::new(&place);
    let dd = fs::canonicalize("/bin/dd").unwrap();
    let evil = "w\"}\n\u{1b}[2J";
    symlink(&dd, place.path(evil)).unwrap();
    let (watcher, address) = measured(&place, &device);
    let run = Command::new(place.path(evil))
        .args(&device.dd(1)[1..])
        .status();
    assert!(run.unwrap().success());
    watcher.wait_until("the write", |now| written(&now["devices"][0]).0 == MIB);
    let text = scrape(&address);
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(body.contains("role=\"w\\\"}\\\\n\\\\u001b[J\""), "{body}");
    let (_, ended) = watcher.end();
    for text in [body, &ended.stdout, &ended.stderr] {
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
