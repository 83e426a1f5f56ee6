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
    let host_page_bytes = &replayed["schemes"][0]["host_page_bytes"];
    assert_eq!(&told["host_page_bytes"], host_page_bytes, "{replayed}");
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
    assert_eq!(told["host_page_bytes"], json!(4096));
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

/// The same lines, of another host.
fn of_host(host: &str, line: &str) -> String {
    line.replace("mmc0:", &format!("{host}:"))
}

fn words(path: &str, more: &[&str]) -> String {
    let size = ["--size", "64MiB", "--unit", "1MiB"];
    let output = anabranch(&[&["emmc", path][..], &size, more].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_card_is_the_first_with_data_and_what_is_passed_over_is_told() {
    let directory = TempDir::new().unwrap();
    let lines = [
        of_host("mmc1", &line(52, 0, 0, 0)),
        configure(1, 0b01),
        transfer(25, 1, 0, 1),
        transfer(25, 2, 1, 1),
        transfer(25, 0, 1, 1),
        line(6, 0x03b3_0101, 0, 0),
        transfer(25, 0, 1, 1),
    ];
    let path = written(&directory, &lines);
    let told = put(&path, &[]);
    assert_eq!(
        (&told["card"], &told["commands"]),
        (&json!("mmc0"), &json!(6))
    );
    assert_eq!(told["commands_to_other_cards"], json!(1));
    // What came before the data is not lost, and lines are told as they stand.
    assert_eq!(told["contexts"][1]["writes"], json!(1));
    assert_eq!(
        told["first_breaches"],
        json!([{"line": 4, "rule": "closed"}])
    );
    let text = words(&path, &[]);
    assert!(text.contains("1 commands to other cards"), "{text}");
    assert!(
        text.contains("1 reads, writes and erases of boot"),
        "{text}"
    );
    let told = put(&path, &["--card", "mmc1"]);
    assert_eq!(
        (&told["card"], &told["commands"]),
        (&json!("mmc1"), &json!(1))
    );
}

#[test]
fn bytes_asked_for_are_told_beside_those_of_whole_pages() {
    let directory = TempDir::new().unwrap();
    let lines: Vec<String> = (0..8).map(|page| line(25, page * 8, 1, 1)).collect();
    let path = written(&directory, &lines);
    let told = put(&path, &[]);
    let bytes = (&told["asked_bytes"], &told["host_page_bytes"]);
    assert_eq!(bytes, (&json!(4096), &json!(32_768)));
    let text = words(&path, &[]);
    assert!(
        text.contains("4.00 KiB written, 32.00 KiB in whole pages"),
        "{text}"
    );
}

#[test]
fn a_transfer_without_its_length_is_refused_as_import_does() {
    let directory = TempDir::new().unwrap();
    let line = line(25, 0, 0, 8).replace("blocks=8 ", "");
    let path = written(&directory, &[line]);
    let told = complaint(&["emmc", &path, "--size", "64MiB", "--unit", "1MiB"], 2);
    assert!(told.contains("line 1") && told.contains("blocks"), "{told}");
    let parquet = directory.path().join("card.parquet");
    let told = complaint(
        &["import", &path, "--format", "ftrace", "-o", text(&parquet)],
        2,
    );
    assert!(told.contains("blocks"), "{told}");
}

/// Result of importing lines: bytes written, discarded, flushes.
fn imported(lines: &[String]) -> Value {
    let directory = TempDir::new().unwrap();
    let path = written(&directory, lines);
    let parquet = directory.path().join("card.parquet");
    let import = anabranch(&[
        "import",
        &path,
        "--volume",
        "mmc0",
        "-o",
        text(&parquet),
        "--json",
    ]);
    assert!(import.status.success(), "{import:?}");
    json(&import)
}

#[test]
fn import_heeds_switches_resets_and_tasks_as_the_card_does() {
    let lines = [
        // Bits of PARTITION_CONFIG set; a reset leads back. Bits of FLUSH_CACHE cleared flush nothing.
        line(6, 0x01b3_0101, 0, 0),
        transfer(25, 0, 0, 1),
        line(0, 0, 0, 0),
        transfer(25, 0, 0, 2),
        line(6, 0x0220_0101, 0, 0),
        // A task at its address, not at its number.
        line(44, 7 << 16 | 8, 0, 0),
        line(45, 80, 0, 0),
        line(47, 7 << 16, 0, 8),
        // Both steps of a secure trim.
        line(35, 0, 0, 0),
        line(36, 7, 0, 0),
        line(38, 0x8000_0001, 0, 0),
        line(35, 0, 0, 0),
        line(36, 7, 0, 0),
        line(38, 0x8000_8000, 0, 0),
    ];
    let import = imported(&lines);
    let told = put(&written(&TempDir::new().unwrap(), &lines), &[]);
    let sums = &import["summary"];
    let requests = (&sums["written"]["requests"], &sums["discarded"]["requests"]);
    assert_eq!(requests, (&json!(2), &json!(1)), "{import}");
    assert_eq!(sums["end_byte"], json!(80 * 512 + 4096));
    assert_eq!(sums["written"]["bytes"], told["asked_bytes"]);
    assert_eq!(sums["flushes"], told["flushes"]);
    assert_eq!(
        (
            &import["skipped"]["other_volumes"],
            &told["other_partitions"]
        ),
        (&json!(1), &json!(1))
    );
    let erased = &told["erased"];
    assert_eq!(
        (&erased["secure_marks"], &erased["secure"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn the_help_tells_the_drive_that_is_taken() {
    let help = anabranch(&["emmc", "--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("[default: emmc-64g]"), "{help}");
    assert!(
        !help.contains("else demo") && !help.contains("captured"),
        "{help}"
    );
}
