//! Doubts about a foreign trace reach whoever imports or replays it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::process::Command;

use tempfile::TempDir;

/// Runs a command, which must succeed or fail as `succeeds` says. Answers its two outputs.
fn run(arguments: &[&str], succeeds: bool) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, words) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.success(), succeeds, "{words}");
    (out, words)
}

/// A file of that text, and a name for what is made of it.
fn file(directory: &TempDir, text: &str) -> (String, String) {
    let name = |name: &str| directory.path().join(name).display().to_string();
    let path = name("t.txt");
    fs::write(&path, text).unwrap();
    (path, name("t.parquet"))
}

#[test]
fn a_namespace_that_may_be_a_device_is_not_advised_to_be_laid_beside_it_alone() {
    let directory = TempDir::new().unwrap();
    let text = "fio-1 [001] ..... 9203.2: block_rq_issue: 259,0 WS 4096 () 2048 + 8 [fio]\n\
                app-4 [003] ..... 9203.3: nvme_setup_cmd: nvme0: disk=ng0n1, qid=4, cmdid=17, nsid=1, flags=0x0, \
                meta=0x0, cmd=(nvme_cmd_write slba=4096, len=7, ctrl=0x20, dsmgmt=65536, reftag=0)\n";
    let (trace, to) = file(&directory, text);
    let (_, words) = run(&["import", &trace, "-o", &to], false);
    for part in [
        "(259,0, nvme0n1)",
        "if nvme0n1 is one of those with numbers (`lsblk -o NAME,MAJ:MIN`)",
        "`anabranch import --volume all`",
    ] {
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn a_replay_says_what_an_import_says() {
    let directory = TempDir::new().unwrap();
    let bytes: String = (1..200_u64)
        .map(|line| {
            format!(
                "{} 0 {} 4096 {}\n",
                line * 20,
                line * 4096 % (1 << 20),
                line % 2
            )
        })
        .collect();
    let events: String = (1..200_u64)
        .map(|line| {
            format!(
                "app-4 [003] ..... {line}.3: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid={line}, nsid=1, flags=0x0, \
                 meta=0x0, cmd=(nvme_cmd_write slba={}, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\nCPU:1 [LOST 3 EVENTS]\n",
                line * 8
            )
        })
        .collect();
    for (text, doubts) in [
        (
            bytes,
            &[
                "id-unit=byte,size-unit=byte",
                "are more than any drive takes",
            ][..],
        ),
        (
            events,
            &["(`nvme id-ns`)", "says that 597 events are missing"],
        ),
    ] {
        let (trace, to) = file(&directory, &text);
        let (_, import) = run(&["import", &trace, "-o", &to], true);
        let (result, replay) = run(&["replay", &trace, "--scheme", "baseline", "--json"], true);
        let (_, export) = run(&["export", &trace, "--to", "alibaba", "-o", &to], true);
        for doubt in doubts {
            assert!(import.contains(doubt), "{import}");
            assert!(replay.contains(doubt), "{replay}");
            assert!(export.contains(doubt), "{export}");
        }
        let is_lost = result.contains("\"lost_events\": 597");
        assert_eq!(is_lost, text.contains("LOST"), "{result}");
    }
}

#[test]
fn a_volume_without_the_event_that_is_taken_is_advised_the_one_that_it_has() {
    let directory = TempDir::new().unwrap();
    let text = "w-1 [001] ..... 1.1: block_bio_queue: 253,0 WS 0 + 8 [w]\n\
                w-1 [001] ..... 1.2: block_rq_issue: 8,0 WS 4096 () 0 + 8 [w]\n";
    let (trace, to) = file(&directory, text);
    let import = ["import", &trace, "-o", &to, "--volume"];
    let (_, words) = run(&[&import[..], &["253,0"]].concat(), false);
    assert!(
        words.contains("--event queue takes 1 of the other events"),
        "{words}"
    );
    let (_, words) = run(&[&import[..], &["9,9"]].concat(), false);
    assert!(words.contains("--volume 8,0 has some"), "{words}");
    run(
        &[&import[..], &["253,0", "--event", "queue"]].concat(),
        true,
    );
}
