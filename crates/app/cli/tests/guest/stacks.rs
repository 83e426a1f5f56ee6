//! Stacks above a steered drive: which of them keep who wrote.

use crate::{MIB, machine::Report, served::Served, steer::steered_by};

/// Calls of the script's program, and MiB that it writes by each. The kernel writes out what the last two leave.
const CALLS: [(&str, u64); 3] = [("direct", 5), ("buffered", 3), ("mapped", 2)];
/// Most bytes of a call that its handle may miss: a new program's first requests wait for a look at it no longer than
/// 100 ms, and under emulation one takes longer.
const MISSED_BYTES: u64 = MIB / 2;

/// Data bytes that each handle got while a stack was written to.
fn grown(report: &Report, stack: &str) -> Vec<u64> {
    let [before, after] = ["before", "after"].map(|moment| {
        let so_far = report.json(&format!("{stack}-{moment}"));
        let handles = so_far["handles"].as_array().unwrap().iter();
        let bytes = handles.map(|handle| handle["written_bytes"].as_u64().unwrap());
        bytes.collect::<Vec<_>>()
    });
    after
        .iter()
        .zip(before)
        .map(|(after, before)| after - before)
        .collect()
}

/// Calls whose bytes, as many times as the stack writes them, are in a handle of their own.
fn kept(grown: &[u64], copies: u64) -> Vec<&'static str> {
    let calls = CALLS.iter().filter(|(_, mib)| {
        let all = copies * (mib * MIB - MISSED_BYTES)..=copies * mib * MIB;
        grown.iter().any(|bytes| all.contains(bytes))
    });
    calls.map(|(name, _)| *name).collect()
}

#[test]
fn stacks_keep_who_wrote_or_are_known_to_lose_it() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "1GiB", "--unit", "8MiB"]);
    let report = steered_by("steer-stacks.sh", &served.variables(), |_| String::new());
    eprintln!("kernel {}", report.output("release").trim());
    let all = ["direct", "buffered", "mapped"].as_slice();
    // dm-crypt, RAID 5 and a thin volume write from threads of their own, the first two other pages; each request
    // below stands for a write above. A loop device does not report which.
    let stacks = [
        ("none", 1, all),
        ("linear", 1, all),
        ("overlay", 1, all),
        ("multipath", 1, all),
        ("raid0", 1, all),
        ("raid1", 2, all),
        ("raid1-bitmap", 2, all),
        ("raid10", 2, all),
        ("btrfs", 1, all),
        ("dm-crypt", 1, all),
        ("dm-crypt-direct", 1, all),
        ("raid5", 1, all),
        ("thin", 1, all),
        ("thin-again", 1, all),
        ("loop", 1, &all[1..]),
    ];
    for (stack, ..) in stacks {
        eprintln!("{stack}: {:?}", grown(&report, stack));
    }
    for (stack, copies, expected) in stacks {
        assert_eq!(kept(&grown(&report, stack), copies), expected, "{stack}");
    }
    // The file system has no room before it has committed what was there: it marks pages again that it puts off.
    let mapped = CALLS[2].1 * MIB;
    let again = grown(&report, "thin-again");
    assert!(again.contains(&mapped), "pages put off: {again:?}");
    // LVM finds the volume on the drive as well, and takes that; by the line that `doctor` prints, it does not.
    assert!(report.output("unfiltered").contains("/dev/nvme0n1"));
    assert!(report.output("doctor").contains("LVM looks at"));
    let filtered = report.output("filtered");
    assert_eq!(filtered.trim(), "/dev/ublkb0");
    let doctor = report.output("doctor-dm-crypt");
    assert!(doctor.contains("/dev/ublkb0, which process"), "{doctor}");
    // What no program is seen behind is told, with its share.
    let counters = report.json("counters");
    let handover = &counters["handover"];
    let of = |name: &str| handover[name].as_u64().unwrap();
    let share = of("kernel_thread_pages") as f64 / of("found_pages") as f64;
    eprintln!("by threads of the kernel: {share:.3}, of {handover}");
    assert!(share > 0.01 && share < 0.5, "{share}");
    let limitations = counters["limitations"].to_string();
    for words in ["written by threads of the kernel", "md_raid", "kworker"] {
        assert!(limitations.contains(words), "{words}: {limitations}");
    }
    assert_eq!(
        (&counters["errors"], report.output("kernel").trim()),
        (&0.into(), "")
    );
    report.output("ended");
    served.stop();
}
