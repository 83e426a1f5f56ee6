//! `anabranch emmc`: recorded commands to a card, and commands in contexts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// Bytes of registers are grouped by their fields.
#![allow(clippy::unusual_byte_groupings, clippy::precedence)]

mod command;

use std::fs;

use command::{anabranch, complaint, json, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// `mmc_request_start` as Linux 7.3.4 told it of ext4 on an SD card of 4 GiB (QEMU's; its eMMC is for other boards): a file
/// system made and mounted, three files of 128 KiB, one removed, and a trim. Nothing in Linux names a context.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mmc/ext4-card.txt.gz");

fn put(path: &str, more: &[&str]) -> Value {
    let size = ["--size", "4GiB", "--unit", "4MiB", "--json"];
    let words = [&["emmc", path][..], &size, more].concat();
    let output = anabranch(&words);
    assert!(output.status.success(), "{output:?}");
    json(&output)
}

/// A line of the event, as the kernel writes it.
fn line(opcode: u32, argument: u32, count: u32, blocks: u32) -> String {
    let count_opcode = if count == 0 { 0 } else { 23 };
    format!(
        "  kworker/0:1H-9  [000] .....  1.000001: mmc_request_start: mmc0: start struct mmc_request[0001]: \
         cmd_opcode={opcode} cmd_arg={argument:#x} cmd_flags=0xb5 sbc_opcode={count_opcode} sbc_arg={count:#x} \
         blocks={blocks} block_size=512 blk_addr=0 data_flags=0x100 tag=1\n"
    )
}

/// SWITCH of a context's byte.
fn configure(context: u32, byte: u32) -> String {
    line(6, 3 << 24 | (36 + context) << 16 | byte << 8, 0, 0)
}

/// A write or a read of pages in a context.
fn transfer(opcode: u32, context: u32, page: u32, pages: u32) -> String {
    line(opcode, page * 8, context << 25 | pages * 8, pages * 8)
}

fn written(directory: &TempDir, lines: &[String]) -> String {
    let path = directory.path().join("mmc.txt");
    fs::write(&path, lines.concat()).unwrap();
    text(&path).to_owned()
}

#[test]
fn recorded_commands_count_as_their_import_does() {
    let told = put(RECORDED, &[]);
    assert_eq!(told["card"], "mmc0");
    assert_eq!(
        (&told["commands"], &told["rules"]),
        (&json!(189), &json!([]))
    );
    let none = &told["contexts"][0];
    assert_eq!((&none["writes"], &none["reads"]), (&json!(34), &json!(91)));
    assert_eq!(
        (&told["erased"]["erases"], &told["waf"]),
        (&json!(10), &json!(1.0))
    );
    let directory = TempDir::new().unwrap();
    let imported = directory.path().join("card.parquet");
    let import = anabranch(&["import", RECORDED, "-o", text(&imported)]);
    assert!(import.status.success(), "{import:?}");
    let drive = ["--device", "emmc-64g", "--size", "4GiB", "--unit", "4MiB"];
    let replay = [
        &["replay", text(&imported), "--scheme", "baseline", "--json"][..],
        &drive,
    ]
    .concat();
    let replayed = json(&anabranch(&replay));
    let host_bytes = &replayed["schemes"][0]["host_bytes"];
    assert_eq!(&told["host_bytes"], host_bytes, "{replayed}");
}

#[test]
fn contexts_are_streams_and_are_counted_one_by_one() {
    let directory = TempDir::new().unwrap();
    let mut lines = vec![
        configure(1, 0b01),
        configure(2, 0b01_001_1_01),
        configure(3, 0b11),
    ];
    for turn in 0..8 {
        lines.push(transfer(25, 1, turn % 3, 1));
        lines.push(transfer(25, 2, 4096 + turn * 16, 16));
        lines.push(transfer(25, 3, 9000 + turn, 1));
    }
    lines.push(transfer(18, 3, 9000, 8));
    lines.extend([configure(2, 0), line(6, 0x0320_0101, 0, 0)]);
    let told = put(&written(&directory, &lines), &[]);
    assert_eq!((&told["rules"], &told["flushes"]), (&json!([]), &json!(1)));
    let bytes = [0, 1, 2, 3].map(|context: usize| &told["contexts"][context]["written_bytes"]);
    assert_eq!(
        bytes,
        [&json!(0), &json!(32_768), &json!(524_288), &json!(32_768)]
    );
    let second = &told["contexts"][2];
    assert_eq!(
        (&second["opened"], &second["closed"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(told["contexts"][3]["read_bytes"], json!(32_768));
}

#[test]
fn a_wrong_sequence_is_told_by_its_line_and_rule() {
    let directory = TempDir::new().unwrap();
    let lines = [
        transfer(25, 1, 0, 1),
        configure(1, 0b10),
        transfer(25, 1, 0, 1),
        configure(1, 0b01),
        configure(2, 0b001_1_01),
        transfer(25, 2, 5, 1),
        transfer(25, 0, 5, 1),
    ];
    let path = written(&directory, &lines);
    let told = put(&path, &[]);
    let breaches = json!([
        {"line": 1, "rule": "closed"},
        {"line": 3, "rule": "write-in-read-only"},
        {"line": 4, "rule": "reopened"},
        {"line": 6, "rule": "unit-order"},
    ]);
    assert_eq!(told["first_breaches"], breaches);
    assert_eq!(told["host_bytes"], json!(4096));
    // A device with fewer contexts.
    let told = put(&path, &["--streams", "2"]);
    let rules: Vec<&Value> = told["first_breaches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["rule"])
        .collect();
    assert_eq!(
        rules,
        [
            "closed",
            "write-in-read-only",
            "reopened",
            "number",
            "number"
        ]
    );
}

#[test]
fn what_is_no_trace_of_commands_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = written(&directory, &[line(13, 0, 0, 0), "nonsense\n".to_owned()]);
    let words = complaint(&["emmc", &path, "--size", "64MiB", "--unit", "1MiB"], 2);
    assert!(
        words.contains("line 2") && words.contains("nonsense"),
        "{words}"
    );
    let block = "a-1 [000] ..... 1.5: block_rq_issue: 8,0 W 4096 () 8 + 8 none,0,0 [a]\n";
    let block = written(&directory, &[block.to_owned()]);
    let words = complaint(&["emmc", &block, "--size", "64MiB", "--unit", "1MiB"], 2);
    assert!(words.contains("no commands"), "{words}");
    let words = complaint(
        &[
            "emmc", RECORDED, "--card", "mmc7", "--size", "4GiB", "--unit", "4MiB",
        ],
        2,
    );
    assert!(words.contains("mmc7"), "{words}");
}
