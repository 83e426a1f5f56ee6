//! A machine that steers a drive is reset under load, and steers again: the drive stays up, as one behind PCIe does whose
//! machine is reset.

use std::cell::RefCell;

use serde_json::Value;

use crate::{
    MIB, amount,
    doctor::proved,
    host_bytes,
    machine::{Hardware, Report, text_of},
    served::Served,
    steer::steered_text,
};

/// One boot.
fn boot(
    script: &str,
    hardware: Hardware<'_>,
    variables: &[(&str, String)],
    told: &RefCell<Vec<String>>,
) -> Report {
    let text = text_of("steer-reboot-prelude.sh") + &text_of(script);
    steered_text(hardware, &text, variables, |what| {
        told.borrow_mut().push(what.to_owned());
        String::new()
    })
}

/// Sum and number of each record that was told.
fn records(told: &[String]) -> Vec<[&str; 2]> {
    let records = told.iter().filter_map(|line| line.strip_prefix("record "));
    let words = records.map(|line| line.split_whitespace().collect::<Vec<_>>());
    words.map(|words| [words[1], words[0]]).collect()
}

/// Bytes that hosts wrote, as the drive's own log has them.
fn hosts(report: &Report, name: &str) -> u64 {
    report.json(name)["hbmw"].as_u64().unwrap()
}

/// Placement identifier and reclaim unit handle of each placement handle.
fn handles(report: &Report) -> Vec<[u64; 2]> {
    let status = report.json("handles");
    let handles = status["ruhss"].as_array().unwrap().iter();
    handles
        .map(|one| ["pid", "ruhid"].map(|field| one[field].as_u64().unwrap()))
        .collect()
}

/// Signature and idle runs of each context whose lifetime is kept.
fn contexts(report: &Report, name: &str) -> Vec<(String, u64)> {
    let kept = report.json(name);
    let contexts = kept["contexts"].as_array().unwrap().iter();
    contexts
        .map(|one| {
            let signature = one["signature"].as_str().unwrap().to_owned();
            (signature, one["idle_runs"].as_u64().unwrap())
        })
        .collect()
}

/// The drive counts on, and its handles are what they were; the bytes of hosts at the end.
fn counts_on(before: &Report, after: &Report) -> u64 {
    let counted = [
        hosts(before, "statistics"),
        hosts(after, "statistics"),
        hosts(after, "statistics-after"),
    ];
    eprintln!("bytes of hosts before and after the reset, and at the end: {counted:?}");
    // The load wrote until the reset.
    assert!(
        counted[1] > counted[0] && counted[2] >= counted[1] + 8 * MIB,
        "{counted:?}"
    );
    let [first, second] = [handles(before), handles(after)];
    assert_eq!(first.len(), 7);
    assert_eq!(first, second);
    counted[2]
}

/// The saved state was read again: a context that was not seen since then is a run older.
fn remembers(before: &Report, after: &Report) {
    let [learned, found, later] = [
        contexts(before, "learned"),
        contexts(after, "learned"),
        contexts(after, "learned-after"),
    ];
    // It is kept every minute, too, so there may be more.
    let has = |(signature, _): &(String, u64)| found.iter().any(|(other, _)| other == signature);
    assert!(
        !learned.is_empty() && learned.iter().all(has),
        "{learned:?}, then {found:?}"
    );
    let is_older =
        |(signature, idle): &(String, u64)| later.contains(&(signature.clone(), idle + 1));
    assert!(found.iter().any(is_older), "{found:?}, later {later:?}");
}

#[test]
fn a_machine_that_is_reset_under_load_steers_again_and_nothing_that_was_forced_out_is_lost() {
    let served = Served::start(&[
        "--device",
        "fdp-8ruh",
        "--size",
        "512MiB",
        "--unit",
        "8MiB",
        "--namespaces",
        "448MiB:0-6,rest:7",
    ]);
    let mut variables = served.variables();
    variables.push(("SCHEME", "pcstream:samples=1".to_owned()));
    variables.push(("RECORDS", amount(16, 200)));
    let told = RefCell::default();
    let hardware = Hardware {
        is_reset: true,
        ..Hardware::default()
    };
    let before = boot("steer-reboot.sh", hardware, &variables, &told);
    let told = told.into_inner();
    let records = records(&told);
    assert_eq!(records.len().to_string(), amount(16, 200));
    // fio ran, on a file system that was mounted.
    before.output("is-loaded");

    variables.push(("SUMS", records.concat().join(" ")));
    let after = boot(
        "steer-rebooted.sh",
        Hardware::default(),
        &variables,
        &RefCell::default(),
    );
    assert!(
        after.output("greeting").contains("steering"),
        "{}",
        after.output("greeting")
    );
    after.output("records");
    after.output("checked");

    let bytes = counts_on(&before, &after);
    remembers(&before, &after);
    let counters: Value = after.json("counters");
    assert_eq!(
        (&counters["errors"], &counters["unplaced_bytes"]),
        (&0.into(), &0.into())
    );
    let drive = host_bytes(&served.stop());
    assert_eq!(drive.iter().sum::<u64>(), bytes, "{drive:?}");
    let own = counters["handles"].as_array().unwrap().iter();
    let own: Vec<u64> = own
        .map(|one| one["written_bytes"].as_u64().unwrap())
        .collect();
    eprintln!(
        "{} records; bytes of each handle after the reset {own:?}, of the drive {drive:?}",
        records.len()
    );
    assert!(own.iter().zip(&drive).all(|(own, drive)| own <= drive));
    // The handles take writes as before, by the drive's own count.
    let proofs = after.json("proved");
    assert!(proved(&proofs).contains(&"ublk"), "{proofs:#}");
}
