//! Drives watched in a guest: one that counts its own writes, beside its shadow; and those that are made of others.

use crate::{
    MIB, amount,
    machine::{program, run_with},
    served::Served,
};

#[test]
fn what_the_drive_counts_stands_beside_its_shadows_and_agrees() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "256MiB", "--unit", "4MiB"]);
    let mut variables = served.variables();
    variables.push(("AMOUNT", format!("{}M", amount(32, 512))));
    let directory = tempfile::tempdir().unwrap();
    let files = program(directory.path());
    let report = run_with("watched.sh", 1800, &variables, &files, |_| String::new());
    let kernel = report.output("kernel").trim();
    assert_eq!(report.output("ended").trim(), "0");
    let counted = |name: &str, field: &str| report.json(name)[field].as_u64().unwrap();
    let since = |field| counted("after", field) - counted("before", field);
    let watched = report.json("watched");
    let device = &watched["devices"][0];
    let drive = &device["drive"];
    assert_eq!(drive["log"], "FDP statistics");
    assert_eq!(drive["host_bytes"], since("hbmw"));
    assert_eq!(drive["media_bytes"], since("mbmw"));
    // Of what was asked for nothing is missing.
    assert_eq!(device["source"]["write_bytes"], since("hbmw"));
    assert_eq!(device["source"]["lost_events"], 0);
    let waf = |value: &serde_json::Value| value.as_f64().unwrap();
    let own = waf(&drive["waf"]);
    let schemes = device["schemes"].as_array().unwrap();
    let shadow = schemes
        .iter()
        .find(|scheme| scheme["name"] == "baseline+fdp");
    let shadow = waf(&shadow.unwrap()["waf"]);
    eprintln!("kernel {kernel}: the drive's own WAF {own}, its shadow's {shadow}");
    assert!(own > 1.05, "nothing was copied: {own}");
    assert!((shadow / own - 1.0).abs() < 0.01, "{shadow} {own}");
    assert!(
        report
            .output("words")
            .contains("the drive (FDP statistics)")
    );
}

#[test]
fn drives_made_of_others_are_seen_where_requests_enter_them() {
    let directory = tempfile::tempdir().unwrap();
    let files = program(directory.path());
    let report = run_with("stacked.sh", 900, &[], &files, |_| String::new());
    assert_eq!(
        report.output("ended").trim(),
        "0",
        "{}",
        report.output("words")
    );
    let watched = report.json("watched");
    let expected = [
        (
            "/dev/mapper/group-volume",
            "device-mapper, above its mapping",
            "writes-lvm",
            5,
        ),
        (
            "/dev/mapper/secret",
            "device-mapper, above its mapping",
            "writes-crypt",
            6,
        ),
        ("/dev/md0", "md array, above its members", "writes-md", 7),
        (
            "/dev/mapper/paths",
            "device-mapper, above its mapping",
            "writes-paths",
            8,
        ),
    ];
    let devices = watched["devices"].as_array().unwrap();
    let (path, tops) = devices.split_last().unwrap();
    assert_eq!(tops.len(), expected.len());
    // Multipath hands finished requests down to a path: they are counted by the kernel, and seen above alone.
    assert_eq!(path["device"], "/dev/loop4");
    assert_eq!(path["kernel_write_bytes"], 8 * MIB);
    assert_eq!(path["source"]["write_bytes"], 0);
    for (device, (path, kind, writer, mebibytes)) in tops.iter().zip(expected) {
        assert_eq!(device["device"], path);
        assert_eq!(device["kind"], kind);
        assert_eq!(device["source"]["write_bytes"], mebibytes * MIB, "{path}");
        assert_eq!(device["source"]["lost_events"], 0, "{path}");
        let contexts = &device["contexts"];
        assert_eq!(contexts.as_array().unwrap().len(), 1, "{path}: {contexts}");
        assert_eq!(
            contexts[0]["written_bytes"],
            mebibytes * MIB,
            "{path}: {contexts}"
        );
        assert!(
            contexts[0].to_string().contains(writer),
            "{path}: {contexts}"
        );
    }
    eprintln!("kernel {}", report.output("kernel").trim());
}
