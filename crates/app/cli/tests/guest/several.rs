//! Several drives steered at once: a server each, and no byte in the other's handles.

use serde_json::Value;

use crate::{
    MIB, amount, host_bytes,
    served::Served,
    steer::{data, longest_write_ms, steered_by},
};

/// Bytes that a server sent to each handle; zeroes by command are in the default one.
fn sent(counters: &Value) -> Vec<u64> {
    let handles = counters["handles"].as_array().unwrap().iter();
    let mut sent: Vec<u64> = handles
        .map(|handle| handle["written_bytes"].as_u64().unwrap())
        .collect();
    sent[0] += counters["zeroed_bytes"].as_u64().unwrap();
    sent
}

/// A drive of two namespaces, each with four handles.
pub fn drive_of_two() -> Served {
    Served::start(&[
        "--device",
        "fdp-8ruh",
        "--size",
        "512MiB",
        "--unit",
        "8MiB",
        "--namespaces",
        "256MiB:0-3,rest:4-7",
    ])
}

#[test]
fn two_namespaces_are_steered_at_once_each_in_its_own_handles() {
    let served = drive_of_two();
    let mut variables = served.variables();
    variables.push(("AMOUNT", amount(16, 200) + "M"));
    let report = steered_by("several.sh", &variables, |_| String::new());
    for name in ["load-0", "load-1", "checked-1", "checked-2"] {
        report.output(name);
    }
    let both = ["steered-1", "steered-2"].map(|name| report.json(name));
    for counters in &both {
        assert_eq!(
            (&counters["errors"], &counters["unplaced_bytes"]),
            (&0.into(), &0.into())
        );
    }
    let [mut own, other] = both.map(|counters| sent(&counters));
    assert_eq!((own.len(), other.len()), (4, 4));
    match report.output("number").trim() {
        "1" => own.extend(other),
        _ => own = [other, own].concat(),
    }
    let drive = host_bytes(&served.stop());
    assert_eq!(
        own, drive,
        "what the servers sent, and what the drive has in each handle"
    );
    assert!(own[..4].iter().sum::<u64>() > 32 * MIB && own[4..].iter().sum::<u64>() > 32 * MIB);
}

#[test]
fn a_scheme_and_one_handle_are_compared_by_the_drives_own_log() {
    let served = Served::start(&[
        "--device", "fdp-8ruh", "--size", "32MiB", "--unit", "256KiB",
    ]);
    let mut variables = served.variables();
    let (period, load) = (amount(4, 10), amount(22, 130));
    variables.extend([("PERIOD", period), ("LOAD", load)]);
    let report = steered_by("steer-compared.sh", &variables, |_| String::new());
    report.output("load");
    let steered = report.json("steered");
    let compared = &steered["comparison"];
    eprintln!("{compared:#}\n{}", report.output("top"));
    let periods = compared["periods"].as_array().unwrap();
    for way in ["steered", "one handle"] {
        assert!(periods.iter().any(|period| period["way"] == way), "{way}");
    }
    let of = |period: &Value, name: &str| period[name].as_u64().unwrap();
    for period in periods {
        let waf = of(period, "media_bytes") as f64 / of(period, "host_bytes") as f64;
        assert_eq!(period["waf"].as_f64(), Some(waf));
    }
    // Periods follow each other without a gap; the load ends within one.
    let all = periods
        .iter()
        .map(|period| of(period, "settling_bytes") + of(period, "host_bytes"));
    let (all, log) = (all.sum::<u64>(), of(&steered["drive"], "host_bytes"));
    assert!(all <= log && all * 2 > log, "{all} of {log}");
    let verdict = compared["verdict"].as_str().unwrap();
    assert!(report.output("top").contains(verdict), "{verdict}");
    // Sent as the periods have it, to the byte.
    let (own, drive) = (sent(&steered), host_bytes(&served.stop()));
    assert_eq!(own, drive);
    assert_eq!(own.iter().sum::<u64>(), log);
    assert!(own[0] > 0 && own[1..].iter().sum::<u64>() > 0, "{own:?}");
}

#[test]
fn a_mirror_of_steered_drives_outlives_a_killed_server_and_a_failed_member() {
    let served = drive_of_two();
    let mut variables = served.variables();
    variables.push(("AMOUNT", amount(24, 200) + "M"));
    let report = steered_by("arrays.sh", &variables, |_| String::new());
    for name in ["load", "let-go", "checked-1", "checked-2"] {
        report.output(name);
    }
    eprintln!(
        "longest write at a take-over with the probe: {} ms",
        longest_write_ms(&report, "load")
    );
    // Who wrote waited for the next server: no member was dropped.
    assert!(report.output("both-work").contains("[UU]"));
    assert_eq!(report.output("sums-1"), report.output("sums-2"));
    assert_eq!(report.output("kernel").trim(), "");
    // All of the array was written to the new member, in the handle of the rule for md's thread but for what it writes before
    // it is known: 2 MiB on a busy machine. A mirror's writes by other threads, meanwhile and later, are in others.
    let array_bytes: u64 = report.output("array-bytes").trim().parse().unwrap();
    let rebuilt = data(&report.json("steered-2"));
    eprintln!("bytes of each handle of the new member: {rebuilt:?}");
    let own = rebuilt[2];
    let others = rebuilt.iter().sum::<u64>() - own;
    assert!(own + others >= array_bytes, "{rebuilt:?}");
    assert!(own >= array_bytes / 32 * 31, "{own} of {array_bytes}");
    assert!(own <= array_bytes && others >= 12 * MIB, "{rebuilt:?}");
    served.stop();
}

#[test]
fn a_drive_that_dies_under_a_mirror_is_replaced_and_no_write_is_lost() {
    const OTHER: &str = "nqn.2014-08.org.example:other";
    let drive = ["--device", "fdp-8ruh", "--size", "256MiB", "--unit", "8MiB"];
    let served = Served::start(&drive);
    let other = Served::start(&[&drive[..], &["--nqn", OTHER]].concat());
    let mut variables = served.variables();
    variables.push(("OTHER_PORT", other.address().port().to_string()));
    variables.push(("OTHER", OTHER.to_owned()));
    variables.push(("AMOUNT", amount(24, 200) + "M"));
    let report = steered_by("array-dies.sh", &variables, |_| String::new());
    eprintln!(
        "longest write as the drive goes: {} ms; the server of the drive: {}",
        longest_write_ms(&report, "load"),
        report.section("let-go").output
    );
    // Programs saw no error, and the array goes on without the drive.
    for name in ["load", "checked-0", "checked-1"] {
        report.output(name);
    }
    assert!(report.output("degraded").contains("[U_]"));
    // The server of a drive that is gone can be ended, and its block device goes with it.
    assert!(!report.output("nodes").contains("ublkb1"));
    assert_eq!(report.output("sums-0"), report.output("sums-1"));
    served.stop();
    other.stop();
}
