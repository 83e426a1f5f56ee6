//! QEMU's own NVMe drive with Flexible Data Placement, in the guest as one behind PCIe. It keeps no flash: units that are
//! full are followed by fresh ones, and nothing is ever copied. What it counts of handles and hosts is exact.
//!
//! QEMU has it from 8.1 on: `scripts/guest-qemu.sh` finds or fetches one. Run by `make test-guest`.

use std::{fs::File, path::Path, process::Command};

use serde_json::Value;

use crate::{
    MIB,
    machine::{Hardware, Report, program, root, run_whole, text_of},
    steer::{WAYS, ended_knowing_writers, judge_ways, steered_on, ways},
};

const BLOCK_BYTES: u64 = 4096;
const HANDLES: usize = 8;
const SERIAL: &str = "qemu-1";

/// Variables of `scripts/guest.sh` for such a drive, whose bytes are in a file of this directory.
fn environment(directory: &Path, bytes: u64, unit_bytes: u64) -> [(&'static str, String); 2] {
    let found = Command::new(root().join("scripts/guest-qemu.sh")).output();
    let found = found.expect("scripts/guest-qemu.sh starts");
    let said = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "no QEMU with such a drive: {said}");
    let place = String::from_utf8(found.stdout).unwrap();
    let place = place.trim();
    let version = Command::new(Path::new(place).join("qemu-system-x86_64"))
        .arg("--version")
        .output();
    eprint!("{}", String::from_utf8_lossy(&version.unwrap().stdout));
    let file = directory.join("drive");
    File::create(&file).unwrap().set_len(bytes).unwrap();
    let handles: Vec<String> = (0..HANDLES).map(|handle| handle.to_string()).collect();
    let devices = format!(
        "-device nvme-subsys,id=subsystem,nqn=anabranch,fdp=on,fdp.runs={unit_bytes},fdp.nrg=1,fdp.nruh={HANDLES} \
         -device nvme,id=controller,serial={SERIAL},subsys=subsystem \
         -drive file={},id=contents,if=none,format=raw,cache=unsafe,discard=unmap \
         -device nvme-ns,drive=contents,bus=controller,logical_block_size={BLOCK_BYTES},physical_block_size={BLOCK_BYTES},\
         fdp.ruhs={}",
        file.display(),
        handles.join(";")
    );
    let path = std::env::var("PATH").unwrap_or_default();
    [("PATH", format!("{place}:{path}")), ("GUEST_QEMU", devices)]
}

/// Without a port the drive is the machine's own.
fn variables() -> [(&'static str, String); 2] {
    [("PORT", String::new()), ("SERIAL", SERIAL.to_owned())]
}

/// Bytes by which the rooms of the handles' units fell; no unit was filled meanwhile.
fn spent_bytes(report: &Report) -> Vec<u64> {
    let rooms = |name: &str| -> Vec<u64> {
        let status = report.json(name);
        let handles = status["ruhss"].as_array().unwrap().iter();
        handles.map(|one| one["ruamw"].as_u64().unwrap()).collect()
    };
    let (before, after) = (rooms("rooms-before"), rooms("rooms-after"));
    assert_eq!((before.len(), after.len()), (HANDLES, HANDLES));
    let both = before.iter().zip(after);
    both.map(|(before, after)| (before - after) * BLOCK_BYTES)
        .collect()
}

/// The report of a script that steers such a drive, in which no unit becomes full, so that each room falls by all that was
/// written to its handle.
fn steered(script: &str, more: &[(&'static str, String)]) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let environment = environment(directory.path(), 512 * MIB, 1024 * MIB);
    let hardware = Hardware {
        environment: &environment,
        ..Hardware::default()
    };
    let variables = [&variables()[..], more].concat();
    steered_on(hardware, script, &variables, |_| String::new())
}

/// Bytes of each handle by the server's count, which is the drive's.
fn agreed_bytes(report: &Report, counters: &Value) -> Vec<u64> {
    let handles = counters["handles"].as_array().unwrap().iter();
    let mut written: Vec<u64> = handles
        .map(|handle| handle["written_bytes"].as_u64().unwrap())
        .collect();
    let drive = spent_bytes(report);
    eprintln!("bytes of each handle: {written:?}, by the drive {drive:?}");
    // Zeroes by command are in the default handle.
    written[0] += counters["zeroed_bytes"].as_u64().unwrap();
    assert_eq!(written, drive);
    drive
}

#[test]
#[ignore = "fetches another QEMU where the system's has no such drive: make test-guest"]
fn each_way_to_write_is_in_a_handle_of_its_own_by_the_rooms_of_qemus_drive() {
    let report = steered("steer-ways.sh", &[("PATHS", ways())]);
    let counters = judge_ways(&report);
    let drive = agreed_bytes(&report, &counters);
    for (way, mib) in WAYS {
        assert!(drive.contains(&(mib * MIB)), "{way}: {drive:?}");
    }
    // Journal and metadata, in a handle of their own.
    let own = counters["metadata_pages"].as_u64().unwrap() * BLOCK_BYTES;
    assert_eq!(drive.last(), Some(&own), "{counters:#}");
    let statistics = report.json("statistics");
    // No unit was filled: what hosts wrote is what the media have.
    let bytes = |name: &str| statistics[name].as_u64().unwrap();
    assert!(bytes("hbmw") > 0, "{statistics:#}");
    assert_eq!(bytes("hbmw"), bytes("mbmw"), "{statistics:#}");
}

#[test]
#[ignore = "fetches another QEMU where the system's has no such drive: make test-guest"]
fn two_programs_share_qemus_drive_and_their_handles_do_not_mix() {
    // The same program, by the same calls: their directories tell them apart.
    let (first, second) = ("direct:21 mapped:5", "direct:13 mapped:3");
    let variables = [("FIRST", first.to_owned()), ("SECOND", second.to_owned())];
    let report = steered("steer-tenants.sh", &variables);
    report.output("checked");
    let drive = agreed_bytes(&report, &ended_knowing_writers(&report));
    for mib in [21, 5, 13, 3] {
        let found = drive.iter().filter(|&&bytes| bytes == mib * MIB).count();
        assert_eq!(found, 1, "{mib} MiB: {drive:?}");
    }
}

/// The doctor's words, and where its proofs arrived.
fn is_known_to_the_doctor(report: &Report) {
    let words = report.output("doctor");
    for word in [
        "8 handles",
        "reclaim units of 4 MiB",
        "endurance group 1",
        "nobody uses it",
        "would carry each write",
    ] {
        assert!(words.contains(word), "no {word}: {words}");
    }
    let proved = report.json("proved");
    let proofs = proved["proofs"].as_array().unwrap();
    assert!(proofs.len() >= 2, "{proved:#}");
    let conduits: Vec<&Value> = proofs.iter().map(|proof| &proof["conduit"]).collect();
    eprintln!("proved: {conduits:?}");
    assert!(
        proofs.iter().all(|proof| proof["holds"] == true),
        "{proved:#}"
    );
    let mut expected = vec![0; HANDLES];
    expected[1] = proofs.len() as u64 * (64 << 10);
    assert_eq!(spent_bytes(report), expected, "{proved:#}");
}

#[test]
#[ignore = "fetches another QEMU where the system's has no such drive: make test-guest"]
fn qemus_drive_is_proved_and_calibrated_as_far_as_it_tells() {
    let directory = tempfile::tempdir().unwrap();
    let environment = environment(directory.path(), 64 * MIB, 4 * MIB);
    let hardware = Hardware {
        environment: &environment,
        ..Hardware::default()
    };
    let files = program(directory.path());
    let script = text_of("qemu-drive.sh");
    let report = run_whole(&script, 1800, &variables(), hardware, &files, |_| {
        String::new()
    });
    eprintln!("kernel {}", report.output("kernel").trim());
    is_known_to_the_doctor(&report);

    eprintln!("{}", report.section("words").output);
    let told = &report.section("found").output;
    let found: Value = serde_json::from_str(told).unwrap_or_else(|error| {
        let said = &report.section("said").output;
        panic!("{error}: {told}\n{said}")
    });
    let found = &found["found"];
    // No spare is known: there is no profile, and the command says so.
    assert_eq!(report.section("found").status, 2);
    assert!(report.output("said").contains("no profile: the spare"));
    report.output("no-profile");
    assert_eq!(
        found["unit"]["bytes"]["best"],
        (4 * MIB) as f64,
        "{found:#}"
    );
    assert_eq!(found["unit"]["told_bytes"], 4 * MIB);
    assert_eq!(found["unit_by"], "room of a handle's unit");
    assert_eq!(found["mapping_unit"]["bytes"]["best"], BLOCK_BYTES as f64);
    assert_eq!(found["handle_count"], HANDLES);
    for handle in found["handles"].as_array().unwrap() {
        assert_eq!(handle["told"], "initial", "{found:#}");
        assert_eq!(handle["has_own_unit"], true, "{found:#}");
        // It never copies: nothing shows whether handles are kept apart.
        assert_eq!(handle["measured"], Value::Null, "{found:#}");
    }
    for unknown in ["spare", "physical"] {
        let figure = &found[unknown];
        assert!(figure.is_null() || figure["bytes"].is_null(), "{found:#}");
    }
    assert_eq!(found["discard"], "not_known");
    assert!(!found["notes"].as_array().unwrap().is_empty());
    // A fill and some lone writes; no overwriting without end.
    let sent = found["sent_bytes"].as_u64().unwrap();
    assert!((64 * MIB..80 * MIB).contains(&sent), "{sent}");
}
