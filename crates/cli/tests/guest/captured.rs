//! What `anabranch record` captures is what the device counts, on the guest's kernel.

use crate::{
    MIB, amount,
    machine::{Report, program, run_with},
};

fn bytes(report: &Report, name: &str) -> u64 {
    report.output(name).trim().parse().unwrap()
}

#[test]
fn what_32_threads_write_is_captured_to_the_byte() {
    let directory = tempfile::tempdir().unwrap();
    let written = amount(1, 8) + "M";
    let files = program(directory.path());
    let report = run_with("captured.sh", 900, &[("WRITTEN", written)], &files, |_| {
        String::new()
    });
    let kernel = report.output("kernel").trim();
    eprintln!("captured on kernel {kernel}");
    let said = report.output("record");
    let counted = bytes(&report, "after") - bytes(&report, "before");
    let contexts = report.json("contexts");
    let captured: u64 = contexts["contexts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|context| context["written_bytes"].as_u64().unwrap())
        .sum();
    assert!(counted >= 64 * MIB, "{counted}");
    // Where there is a hook that the kernel never skips, nothing is missing.
    assert_eq!(report.section("kprobes").status, 0, "{kernel}");
    assert!(said.contains(", 0 events lost"), "{kernel}: {said}");
    assert!(!said.contains("requests are missing"), "{kernel}: {said}");
    assert_eq!(captured, counted, "{kernel}: {said}");
}
