//! Bounds on the command line: two passes over a trace, and the gap to them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{fs, path::PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use command::{anabranch, trace};

/// The result of a replay in units of 2 MiB with 15 % to spare.
fn replay(arguments: &[&str]) -> Value {
    let drive = ["--unit", "2MiB", "--over-provisioning", "15%", "--json"];
    let output = anabranch(&[&["replay"], arguments, &drive].concat());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn copied(result: &Value, scheme: usize) -> f64 {
    result["schemes"][scheme]["copied_bytes"].as_f64().unwrap()
}

/// A hundred pages in turn, beside any of twelve thousand.
fn raw(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("pages.u32");
    let page = |step: u32| match step % 2 {
        0 => step / 2 % 100,
        _ => (step.wrapping_mul(2_654_435_761) >> 8) % 12_000,
    };
    let bytes: Vec<u8> = (0..80_000)
        .flat_map(|step| page(step).to_le_bytes())
        .collect();
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn each_scheme_shows_what_share_of_the_gap_it_closes() {
    let directory = TempDir::new().unwrap();
    let trace = trace(&directory);
    let trace = trace.to_str().unwrap();
    let result = replay(&[trace, "--scheme", "baseline+gc,pcstream,oracle"]);
    let schemes = &result["schemes"];
    let share = |index: usize| schemes[index]["gap_closed"]["oracle"].as_f64().unwrap();
    assert_eq!((share(0), share(2)), (0.0, 1.0));
    let saved = copied(&result, 0) - copied(&result, 1);
    let gap = copied(&result, 0) - copied(&result, 2);
    assert!((share(1) - saved / gap).abs() < 1e-12);
    // Several settings were tried, and the result says which was best.
    assert_eq!(schemes[2]["name"], "oracle");
    assert_ne!(schemes[2]["parameters"]["classes"], "0");
    let bounds = [
        "replay",
        trace,
        "--scheme",
        "baseline+gc,oracle",
        "--unit=2MiB",
    ];
    let table = String::from_utf8(anabranch(&bounds).stdout).unwrap();
    let words = ["gap to oracle", " 0.0 % |", " 100.0 % |", "\ngap: "];
    assert!(words.iter().all(|word| table.contains(word)), "{table}");
}

#[test]
fn the_first_pass_reads_every_form_as_the_lanes_do() {
    let directory = TempDir::new().unwrap();
    let (native, raw) = (trace(&directory), raw(&directory));
    let (native, raw) = (native.to_str().unwrap(), raw.to_str().unwrap());
    for trace in [
        vec![native],
        vec![native, "--quick"],
        vec![native, "--fill", "95%"],
        vec![raw, "--fill", "95%"],
    ] {
        let schemes = ["--scheme", "baseline,oracle:classes=3"];
        let result = replay(&[&trace[..], &schemes].concat());
        let (baseline, oracle) = (copied(&result, 0), copied(&result, 1));
        assert!(oracle * 2.0 < baseline, "{trace:?}: {oracle} of {baseline}");
    }
}

#[test]
fn what_can_be_read_once_only_is_not_read_twice() {
    for options in [["--scheme", "oracle"], ["--fill", "90%"]] {
        let pipe = ["replay", "/dev/null", "--format", "u32"];
        let output = anabranch(&[&pipe[..], &options].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("/dev/null can be read once only"), "{said}");
    }
}
