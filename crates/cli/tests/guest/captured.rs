//! Nothing of a load is missing in a recording, held against the drive's own counters.

use crate::{
    amount,
    machine::{program, run_with},
    served::Served,
};

#[test]
fn what_many_threads_write_is_captured_to_the_byte() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "256MiB", "--unit", "4MiB"]);
    let mut variables = served.variables();
    variables.push(("LOOPS", amount(1, 8)));
    let directory = tempfile::tempdir().unwrap();
    let files = program(directory.path());
    let report = run_with("captured.sh", 1800, &variables, &files, |_| String::new());
    let kernel = report.output("kernel").trim();
    report.output("fio");
    let counted = |name| report.json(name)["hbmw"].as_u64().unwrap();
    let written = counted("after") - counted("before");
    let recorded = report.json("recorded");
    let captured = recorded["written_bytes"].as_u64().unwrap();
    let lost = recorded["capture"]["lost_events"].as_u64().unwrap();
    eprintln!("kernel {kernel}: {written} bytes written, {captured} captured, {lost} events lost");
    // Thirty-two threads of 2 MiB, and what the file system adds.
    assert!(written > 64 << 20, "{written}");
    assert_eq!((captured, lost), (written, 0), "{recorded:#}");
    let contexts = report.json("contexts");
    let contexts = contexts["contexts"].as_array().unwrap().iter();
    let told: u64 = contexts
        .map(|context| context["written_bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(told, written);
}
