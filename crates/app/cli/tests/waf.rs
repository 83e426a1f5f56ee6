//! `anabranch waf`: files that anybody may have written, readings of before, and a served drive's own pages.

#![cfg(feature = "steer")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod command;
#[cfg(feature = "serve")]
mod served;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use command::{anabranch, complaint, json as printed, text};

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(TempDir::new().unwrap())
    }

    fn file(&self, name: &str, json: &Value) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, json.to_string()).unwrap();
        path
    }
}

/// The SMART log and OCP's log of a drive.
fn logs(place: &Place, units: u64, flash_bytes: u64) -> String {
    let smart = place.file("smart.json", &json!({"data_units_written": units}));
    let media = json!({"physical_media_units_written": {"hi": 0, "lo": flash_bytes}});
    let ocp = place.file("ocp.json", &media);
    format!("{},{}", text(&smart), text(&ocp))
}

#[test]
fn files_of_one_drive_are_put_together_and_an_earlier_reading_makes_an_interval() {
    let place = Place::new();
    let before = place.0.path().join("before.json");
    let files = logs(&place, 1000, 1_024_000_000);
    let first = printed(&anabranch(&["waf", &files, "--json", "-o", text(&before)]));
    assert_eq!(
        first,
        serde_json::from_slice::<Value>(&fs::read(&before).unwrap()).unwrap()
    );
    let drive = &first["drives"][0];
    assert_eq!(drive["waf"], 2.0);
    assert_eq!(drive["host_bytes"], 512_000_000);
    assert_eq!(drive["logs"], "SMART log, OCP SMART log");
    assert_eq!(drive["interval"], Value::Null);
    let files = logs(&place, 2000, 2_560_000_000);
    let since = ["waf", &files, "--since", text(&before)];
    let second = printed(&anabranch(&[&since[..], &["--json"]].concat()));
    let interval = &second["drives"][0]["interval"];
    assert_eq!(interval["host_bytes"], 512_000_000);
    assert_eq!(interval["waf"], 3.0);
    let table = anabranch(&since).stdout;
    let table = String::from_utf8(table).unwrap();
    assert!(
        table.contains("2.500") && table.contains("3.000"),
        "{table}"
    );
    // Counters that went back are no interval, and the total stays.
    let files = logs(&place, 500, 2_560_000_000);
    let back = anabranch(&["waf", &files, "--since", text(&before)]).stdout;
    let back = String::from_utf8(back).unwrap();
    assert!(back.contains("counters went back"), "{back}");
}

#[test]
fn a_figure_that_is_missing_is_said_and_never_made_up() {
    let place = Place::new();
    let smart = place.file("smart.json", &json!({"data_units_written": 1000}));
    let found = anabranch(&["waf", text(&smart)]);
    assert!(found.status.success());
    let table = String::from_utf8(found.stdout).unwrap();
    assert!(
        table.contains("bytes written to the flash are not known"),
        "{table}"
    );
    let found = printed(&anabranch(&["waf", text(&smart), "--json"]));
    assert_eq!(found["drives"][0]["waf"], Value::Null);
    assert_eq!(found["drives"][0]["flash_bytes"], Value::Null);
    let csv = anabranch(&["waf", text(&smart), "--csv"]).stdout;
    let csv = String::from_utf8(csv).unwrap();
    assert!(
        csv.starts_with("drive,model,host_bytes,flash_bytes,waf,logs\n"),
        "{csv}"
    );
    assert!(csv.contains(",512000000,,,"), "{csv}");
}

#[test]
fn what_is_no_drive_and_no_file_of_counters_is_refused_with_a_remedy() {
    let place = Place::new();
    let at = |name: &str| place.0.path().join(name);
    let refused = |words: &[&str], reason: &str| {
        let told = complaint(&[&["waf"], words].concat(), 2);
        assert!(told.contains(reason), "{words:?}: {told}");
    };
    refused(&["/dev/null"], "smartctl -x -j /dev/null");
    refused(
        &[text(place.0.path())],
        "neither a drive nor a regular file",
    );
    refused(&[text(&at("none.json"))], "No such file");
    nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused(&[text(&at("pipe"))], "neither a drive nor a regular file");
    fs::write(at("words"), "no JSON").unwrap();
    refused(&[text(&at("words"))], "smartctl -x -j");
    fs::write(at("deep"), "[".repeat(100_000)).unwrap();
    refused(&[text(&at("deep"))], "it is no JSON");
    fs::write(at("large"), " ".repeat((16 << 20) + 1)).unwrap();
    refused(&[text(&at("large"))], "more than the 16 MiB");
    let other = place.file("other.json", &json!({"a": 1}));
    refused(&[text(&other)], "it has no counter of writes");
    let smart = place.file("smart.json", &json!({"data_units_written": 1}));
    refused(&[text(&smart), "--every", "1s"], "files do not change");
    refused(&[text(&smart), "--since", text(&other)], "it is no reading");
}

/// A drive that `smartctl` names, with so many data units.
fn named(serial: &str, units: u64) -> Value {
    json!({"model_name": "A", "serial_number": serial, "log": {"data_units_written": units}})
}

#[test]
fn files_of_two_drives_are_not_one_drive() {
    let place = Place::new();
    let first = place.file("first.json", &named("S1", 1000));
    let media = json!({"serial_number": "S2", "physical_media_units_written": 600_000_000});
    let second = place.file("second.json", &media);
    let joined = format!("{},{}", text(&first), text(&second));
    let told = complaint(&["waf", &joined], 2);
    assert!(
        told.contains("second.json: ") && told.contains("serial numbers S1 and S2"),
        "{told}"
    );
    let both = printed(&anabranch(&["waf", text(&first), text(&second), "--json"]));
    assert_eq!(both["drives"][1]["flash_bytes"], 600_000_000);
    let list = place.file("list.json", &json!([named("S1", 1), named("S3", 2)]));
    assert!(complaint(&["waf", text(&list)], 2).contains("S1 and S3"));
}

#[test]
fn an_earlier_reading_is_of_the_same_drive_or_said_not_to_be() {
    let place = Place::new();
    let before = place.0.path().join("before.json");
    // `nvme` writes no serial number: the only drive of both is the same, under whatever name.
    let file = |name: &str, units: u64| place.file(name, &json!({"data_units_written": units}));
    let (monday, tuesday) = (file("monday.json", 1000), file("tuesday.json", 3000));
    anabranch(&["waf", text(&monday), "-o", text(&before)]);
    let since = ["--since", text(&before), "--json"];
    let found = printed(&anabranch(&[&["waf", text(&tuesday)], &since[..]].concat()));
    let interval = |found: &Value, drive: usize| found["drives"][drive]["interval"].clone();
    assert_eq!(interval(&found, 0)["host_bytes"], 1_024_000_000);
    // Of two, each is looked for by its name.
    let two = ["waf", text(&monday), text(&tuesday)];
    let found = printed(&anabranch(&[&two, &since[..]].concat()));
    assert_eq!(interval(&found, 0)["host_bytes"], 0);
    let why = interval(&found, 1)["missing"].clone();
    assert!(why.as_str().unwrap().contains("not of"), "{why}");
    let table = anabranch(&[&two, &since[..2]].concat()).stdout;
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("no figures of the interval: "), "{table}");
    // Another serial number is another drive, also in a file of the same name.
    let drive = place.file("drive.json", &named("S1", 1000));
    anabranch(&["waf", text(&drive), "-o", text(&before)]);
    place.file("drive.json", &named("S2", 3000));
    let told = complaint(&[&["waf", text(&drive)], &since[..]].concat(), 2);
    assert!(
        told.contains("(serial number S1), and not of") && told.contains("(serial number S2)"),
        "{told}"
    );
    place.file("drive.json", &named("S1", 3000));
    let found = printed(&anabranch(&[&["waf", text(&drive)], &since[..]].concat()));
    assert_eq!(interval(&found, 0)["host_bytes"], 1_024_000_000);
}

#[test]
fn json_is_read_as_programs_and_shells_write_it() {
    let place = Place::new();
    let path = place.0.path().join("drive.json");
    let smart = r#"{"data_units_written": 1000}"#;
    let media = r#"{"physical_media_units_written": {"hi": 0, "lo": 1024000000}}"#;
    let utf16: Vec<u8> = format!("\u{feff}[{smart}, {media}]")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [
        format!("\u{feff}[{smart}, {media}]").into_bytes(),
        format!("{smart}\n{media}\n").into_bytes(),
        format!("Seagate Extended SMART Information :\n{smart}{media}").into_bytes(),
        utf16,
    ] {
        fs::write(&path, bytes).unwrap();
        let found = printed(&anabranch(&["waf", text(&path), "--json"]));
        assert_eq!(found["drives"][0]["waf"], 2.0);
    }
}

#[test]
fn two_counts_that_contradict_each_other_are_noted_beside_what_is_missing() {
    let place = Place::new();
    let attribute = |id: u8, name: &str| json!({"id": id, "name": name, "raw": {"value": 129_493}});
    let table = [
        attribute(225, "Host_Writes_32MiB"),
        attribute(241, "Total_LBAs_Written"),
    ];
    let dell = place.file(
        "dell.json",
        &json!({"ata_smart_attributes": {"table": table}}),
    );
    let found = printed(&anabranch(&["waf", text(&dell), "--json"]));
    let drive = &found["drives"][0];
    assert_eq!(drive["host_bytes"], 4_345_064_062_976_u64);
    let notes = drive["notes"].to_string();
    assert!(
        notes.contains("one of their units is wrong") && notes.contains("flash are not known"),
        "{notes}"
    );
}

/// The pages that the drive of `anabranch serve` answers, as the command reads them of any drive.
#[cfg(feature = "serve")]
#[test]
fn a_served_drives_pages_give_the_counts_of_its_own_report() {
    use anabranch_counters::{Amplification, DriveIdentity, read};
    use anabranch_initiator::{Host, HostOptions, Tag};
    use served::{SUBSYSTEM, Served};

    let served = Served::start(&["--device", "fdp-8ruh", "--size", "64MiB", "--unit", "1MiB"]);
    let options = HostOptions::numbered(SUBSYSTEM, 1);
    let mut host = Host::connect(served.address(), &options).unwrap();
    let data = vec![7; 64 << 10];
    // Overwritten at random (Knuth's MMIX generator), so that garbage collection copies.
    let mut state = 1_u64;
    for _ in 0..3 * 1024 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        host.write((state >> 33) % 1000 * 16, &data, Tag::None)
            .unwrap();
    }
    let mut known = |has_fdp| {
        let drive = DriveIdentity {
            has_fdp,
            endurance_group: 1,
            ..DriveIdentity::default()
        };
        let counts = read(&drive, |page, specific, bytes| {
            host.log(page, bytes, specific).ok()
        });
        Amplification::of(&counts)
    };
    let (by_fdp, by_ocp) = (known(true), known(false));
    assert_eq!(by_fdp.host_bytes(), Some((3 * 64) << 20));
    assert_eq!(by_fdp.flash.unwrap().log, "FDP statistics");
    assert!(by_fdp.waf() > Some(1.0), "{by_fdp:?}");
    // By SMART and OCP's log, whose host bytes are rounded up to data units.
    assert_eq!(by_ocp.flash.unwrap().log, "OCP SMART log");
    let apart = (by_fdp.waf().unwrap() - by_ocp.waf().unwrap()).abs();
    assert!(apart < 0.01, "{by_fdp:?} {by_ocp:?}");
}
