//! `anabranch calibrate` against served drives whose profiles it does not see.
//!
//! ANABRANCH_HIDDEN says how many drives are drawn; the table of docs/results/steered-drive.md is of 10, the short form of 3.

#![cfg(all(feature = "calibrate", feature = "serve"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod command;
mod served;

use std::{fs, process::Command};

use anabranch_initiator::{Host, HostOptions, Tag};
use anabranch_ssd::victims::VictimRule;
use serde_json::Value;
use tempfile::TempDir;

use command::{anabranch, complaint, text};
use served::{SUBSYSTEM, Served};

const MIB: u64 = 1 << 20;
/// Figures may be off by this share.
const MOST_OFF: f64 = 0.05;

/// A drive drawn by a seed.
struct Hidden {
    page_bytes: u64,
    unit_bytes: u64,
    logical_bytes: u64,
    over_provisioning: f64,
    block_bytes: u64,
    /// Options of serving.
    mode: &'static [&'static str],
    /// Handles and how many of them are persistently isolated.
    handles: Option<(u64, u64)>,
    /// Rule of victims, of the profile and as a finding; `None` is one that is none of those told.
    victims: (&'static str, Option<&'static str>),
    /// Free units at which collection starts, and at which it stops.
    thresholds: (u64, u64),
}

/// Rules of victims with the findings that they make, as often as they are drawn.
const RULES: [(&str, Option<&str>); 8] = [
    ("greedy", Some("greedy")),
    ("cost-benefit", Some("age")),
    ("fifo", Some("fifo")),
    ("greedy", Some("greedy")),
    ("cost-benefit", Some("age")),
    ("fifo", Some("fifo")),
    ("cost-benefit-root", Some("age")),
    ("3-choices", None),
];

/// SplitMix64, as a function of a seed and a question.
fn draw(seed: u64, question: u64, below: u64) -> u64 {
    let mut mixed = (seed << 8 | question).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) % below
}

impl Hidden {
    fn drawn(seed: u64) -> Hidden {
        let draw = |question, below| draw(seed, question, below);
        // Whole mapping units of the largest kind, and no power of two mostly.
        let unit_bytes = MIB + (draw(0, 17) << 16);
        let count = 2 + draw(1, 5);
        let isolated = match draw(2, 3) {
            0 => 0,
            1 => count,
            // One initially isolated handle would have nobody to share with.
            _ => draw(3, count - 1),
        };
        let (mode, handles): (&[&str], _) = match seed % 5 {
            0 => (&["--mode", "plain"], None),
            1 => (&["--mode", "plain", "--scheme", "baseline+gc"], None),
            _ => (&["--mode", "fdp"], Some((count, isolated))),
        };
        let units = 96 + draw(4, 64);
        let start = 1 + draw(10, 4);
        // Without FDP the unit is told by the distance of copies, so that a drive must collect one at a time.
        let stop = start + handles.map_or(0, |_| draw(11, 3));
        // Room for what isolated handles keep open, twice over, and for what collection leaves free.
        let spare = 2 * count + 8 + draw(5, 24) + start - 1;
        Hidden {
            page_bytes: 4096 << draw(6, 5),
            unit_bytes,
            logical_bytes: units * unit_bytes - (draw(7, 8) << 16),
            over_provisioning: spare as f64 / units as f64,
            block_bytes: [512, 4096][draw(8, 2) as usize],
            mode,
            handles,
            victims: RULES[draw(12, RULES.len() as u64) as usize],
            thresholds: (start, stop),
        }
    }

    /// Units of flash.
    fn units(&self) -> f64 {
        let units = self.logical_bytes as f64 * (1.0 + self.over_provisioning);
        (units / self.unit_bytes as f64).ceil()
    }

    fn profile(&self) -> String {
        let (count, isolated) = self.handles.unwrap_or((1, 0));
        let internal = match self.handles {
            None => 8,
            Some((count, isolated)) => isolated + u64::from(isolated < count),
        };
        let fdp = match self.handles {
            None => String::new(),
            Some(_) => {
                format!("[fdp]\nnruh = {count}\nnrg = 1\npersistently_isolated = {isolated}\n")
            }
        };
        let share = |units: u64| (units as f64 + 0.5) / self.units();
        format!(
            "description = 'hidden'\nsource = 'drawn'\n[geometry]\nchannels = 1\ndies_per_channel = 1\n\
             pages_per_block = {}\npage_bytes = {}\nlogical_bytes = {}\nover_provisioning = {}\n\
             [streams]\nhost = {count}\ninternal = {internal}\n{fdp}\
             [gc]\nvictim = '{}'\nstart_free = {:.6}\nstop_free = {:.6}\n",
            self.unit_bytes / self.page_bytes,
            self.page_bytes,
            self.logical_bytes,
            self.over_provisioning,
            self.victims.0,
            share(self.thresholds.0),
            share(self.thresholds.1),
        )
    }

    /// Spare as it comes to in whole units. Those that collection leaves free from the host, but for the one in reserve,
    /// are seen by nobody.
    fn spare(&self) -> f64 {
        let units = self.units() - (self.thresholds.0 - 1) as f64;
        units * self.unit_bytes as f64 / self.logical_bytes as f64 - 1.0
    }

    fn served(&self, directory: &TempDir) -> Served {
        let path = directory.path().join("hidden.toml");
        fs::write(&path, self.profile()).unwrap();
        let block = self.block_bytes.to_string();
        let words = ["--device", text(&path), "--block-bytes", &block];
        Served::start(&[&words, self.mode].concat())
    }
}

/// The serial number, which the refusal names.
fn serial(address: &str) -> String {
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("p.toml");
    let call = [
        "calibrate",
        address,
        "--nqn",
        SUBSYSTEM,
        "-o",
        text(&output),
    ];
    let told = complaint(&call, 2);
    let (_, rest) = told.split_once("--erase ").expect(&told);
    assert!(
        told.contains("nothing was written") && !output.exists(),
        "{told}"
    );
    rest.split(' ').next().unwrap().to_owned()
}

fn calibrated(address: &str, profile: &std::path::Path, more: &[&str]) -> Value {
    let serial = serial(address);
    let fixed = ["calibrate", address, "--nqn", SUBSYSTEM, "--erase", &serial];
    let options = ["--json", "--idle", "1", "-o", text(profile)];
    let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args([&fixed[..], &options, more].concat())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn hidden_drives_are_found_to_five_percent() {
    let most = std::env::var("ANABRANCH_HIDDEN");
    let most = most.map_or(3, |most| most.parse().unwrap());
    println!(
        "| drive | mapping unit KiB | unit KiB | spare | handles, of them persistently isolated | victims | freed at a \
         time | update ends a unit | written, capacities |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for seed in 1..=most {
        let hidden = Hidden::drawn(seed);
        let directory = TempDir::new().unwrap();
        let served = hidden.served(&directory);
        let kept = directory.path().join("found.toml");
        let found = calibrated(&served.address().to_string(), &kept, &[]);
        let found = &found["found"];
        let figure = |pointer: &str| found.pointer(pointer).and_then(Value::as_f64);
        // Isolation is measured of drives that empty what holds nothing first.
        let by = match hidden.victims.0 {
            "fifo" | "3-choices" => "told",
            _ => "measured",
        };
        let isolated = |found: &Value| {
            let handles = found["handles"].as_array().unwrap().iter();
            handles.filter(|one| one[by] == "persistent").count() as u64
        };
        let handles = hidden
            .handles
            .map(|_| (found["handle_count"].as_u64().unwrap(), isolated(found)));
        let near = |what: &str, pointer: &str, truth: f64| {
            let measured = figure(pointer).unwrap_or_else(|| panic!("{seed}: no {what}: {found}"));
            let off = (measured / truth - 1.0).abs();
            assert!(
                off <= MOST_OFF,
                "{seed}: {what} {measured}, in truth {truth}: {found:#}"
            );
            measured
        };
        let mapping = near(
            "mapping unit",
            "/mapping_unit/bytes/best",
            hidden.page_bytes as f64,
        );
        let unit = near("unit", "/unit/bytes/best", hidden.unit_bytes as f64);
        let spare = near("spare", "/spare/best", hidden.spare());
        assert_eq!(handles, hidden.handles, "{seed}: {found:#}");
        let collects = collects_as_served(seed, &hidden, found);
        println!(
            "| {seed} | {} of {} | {:.1} of {} | {:.2} % of {:.2} % | {} | {collects} | {:.1} |",
            mapping / 1024.0,
            hidden.page_bytes >> 10,
            unit / 1024.0,
            hidden.unit_bytes >> 10,
            spare * 100.0,
            hidden.spare() * 100.0,
            match (handles, hidden.handles) {
                (Some(found), Some(truth)) => format!("{found:?} of {truth:?}"),
                _ => "-".to_owned(),
            },
            figure("/sent_bytes").unwrap() / hidden.logical_bytes as f64,
        );
        let handles = found["handles"].as_array().unwrap().iter();
        let shares: Vec<_> = handles.map(|one| &one["copied_share"]).collect();
        eprintln!(
            "drive {seed}: copies a byte written anew in a dropped handle's place: {shares:?}"
        );
        assert_eq!(found["discard"], "frees_room", "{seed}");
        is_the_drive(&hidden, &kept);
    }
}

/// Checks that the findings on a drive's collection are true, or not told. The cells of the table.
fn collects_as_served(seed: u64, hidden: &Hidden, found: &Value) -> String {
    let (rule, told) = hidden.victims;
    let collection = &found["collection"];
    let victims = collection["victims"].as_str();
    assert!(
        victims.is_none() || victims == told,
        "{seed}: {rule} {found:#}"
    );
    let notes = found["notes"].to_string();
    assert_eq!(
        notes.contains("not told apart"),
        victims.is_none(),
        "{seed}: {notes}"
    );
    // A served drive does nothing by itself.
    assert_eq!(collection["idle_copied_bytes"], 0, "{seed}: {collection}");
    let empty_first = collection["takes_empty_units_first"].as_bool();
    let in_no_order = ["fifo", "3-choices"].contains(&rule);
    assert!(
        empty_first.is_none_or(|first| first != in_no_order),
        "{seed}: {found:#}"
    );
    let at_once = collection["units_at_once"].as_u64();
    let in_truth = hidden.thresholds.1 - hidden.thresholds.0 + 1;
    let ends = &found["unit_ends"];
    let shown = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    match hidden.handles {
        None => assert_eq!(
            (at_once, ends["update_ends_unit"].as_bool()),
            (None, None),
            "{seed}"
        ),
        Some(_) => {
            assert!(
                at_once.is_none() || at_once == Some(in_truth),
                "{seed}: {found:#}"
            );
            assert_eq!(ends["room_is_true"], true, "{seed}");
            assert_eq!(ends["update_ends_unit"], true, "{seed}");
            assert_eq!(ends["host_bytes"], hidden.unit_bytes, "{seed}");
        }
    }
    format!(
        "{} of {rule} | {} of {in_truth} | {}",
        victims.unwrap_or("not told apart"),
        shown(at_once),
        ends["update_ends_unit"]
            .as_bool()
            .map_or("-", |ends| if ends { "yes" } else { "no" }),
    )
}

/// The profile that was written is the drive that was served.
fn is_the_drive(hidden: &Hidden, kept: &std::path::Path) {
    let text = fs::read_to_string(kept).unwrap();
    let profile = anabranch_ssd::profile::Profile::parse("found", &text).unwrap();
    let found = profile.resolve("found").unwrap();
    let truth = anabranch_ssd::profile::Profile::parse("hidden", &hidden.profile()).unwrap();
    let truth = truth.resolve("hidden").unwrap();
    assert_eq!(found.page_bytes, truth.page_bytes, "{text}");
    assert_eq!(found.logical_pages, truth.logical_pages, "{text}");
    assert_eq!(
        found.persistently_isolated, truth.persistently_isolated,
        "{text}"
    );
    assert!(text.contains("# discard: frees room at once"), "{text}");
    assert!(text.contains("# write buffer: "), "{text}");
    let close = |one: u32, other: u32| f64::from(one) / f64::from(other) - 1.0;
    assert!(
        close(found.pages_per_unit, truth.pages_per_unit).abs() <= MOST_OFF,
        "{text}"
    );
    let seen = truth.physical_units - (truth.gc_start_free_units - 1);
    assert!(
        close(found.physical_units, seen).abs() <= MOST_OFF,
        "{text}"
    );
    let told = hidden
        .victims
        .1
        .and_then(|_| text.contains("\nvictim = ").then_some(()));
    let weighs_age = |rule| [VictimRule::CostBenefit, VictimRule::CostBenefitRoot].contains(&rule);
    assert!(
        told.is_none()
            || found.victim_rule == truth.victim_rule
            || weighs_age(found.victim_rule) && weighs_age(truth.victim_rule),
        "{text}"
    );
}

#[test]
fn a_drive_that_holds_something_or_is_not_named_is_not_touched() {
    let small = ["--device", "fdp-8ruh", "--size", "64MiB", "--unit", "1MiB"];
    let served = Served::start(&[&small[..], &["--over-provisioning", "30%"]].concat());
    let address = served.address().to_string();
    let serial = serial(&address);
    let mut host = Host::connect(served.address(), &HostOptions::numbered(SUBSYSTEM, 1)).unwrap();
    let mut block = vec![0; 4096];
    block[1080..1082].copy_from_slice(&[0x53, 0xef]);
    host.write(0, &block, Tag::None).unwrap();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("p.toml");
    let call = |more: &[&str]| {
        let fixed = [
            "calibrate",
            &address,
            "--nqn",
            SUBSYSTEM,
            "-o",
            text(&output),
        ];
        complaint(&[&fixed[..], more].concat(), 2)
    };
    let told = call(&["--erase", &serial]);
    assert!(told.contains("ext2") && told.contains("--yes"), "{told}");
    let told = call(&["--yes", "--erase", "another"]);
    assert!(told.contains("another is not the serial number"), "{told}");
    assert_eq!(host.read(0, 1).unwrap(), block);
    assert_eq!(host.fdp_statistics().unwrap().host_bytes, 4096);
    assert!(!output.exists());
}

#[test]
fn what_names_no_drive_is_refused_with_the_way_out() {
    for (words, way_out) in [
        (&["127.0.0.1:4420"][..], "--nqn"),
        (&["/dev/null", "--nqn", "nqn.x"], "address"),
        (&["/dev/null"], "lsblk"),
    ] {
        let told = complaint(&[&["calibrate"], words].concat(), 2);
        assert!(told.contains(way_out), "{told}");
    }
    let unreachable = ["calibrate", "127.0.0.1:1", "--nqn", "nqn.x"];
    assert!(complaint(&unreachable, 1).contains("127.0.0.1:1"));
    // Help shows that the drive's contents are lost.
    let help = anabranch(&["calibrate", "--help"]);
    assert!(String::from_utf8(help.stdout).unwrap().contains("LOST"));
}
