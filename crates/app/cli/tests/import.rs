//! `anabranch import` as a script uses it, and `replay` of other people's traces.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anabranch_trace::{Io, Reader};
use serde_json::Value;
use tempfile::TempDir;

fn anabranch(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Returns the standard error of a call that ends well.
fn said(arguments: &[&str]) -> String {
    let output = anabranch(arguments);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words}");
    words
}

/// Returns the complaint of a call that ends with status 2.
fn complaint(arguments: &[&str]) -> String {
    let output = anabranch(arguments);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}");
    words
}

fn write(directory: &TempDir, name: &str, text: &str) -> String {
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn output(directory: &TempDir) -> (PathBuf, String) {
    let path = directory.path().join("t.parquet");
    let text = path.display().to_string();
    (path, text)
}

fn records(path: &Path) -> Vec<Io> {
    let mut reader = Reader::open(path).unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.read_batch(&mut batch).unwrap() {
        all.append(&mut batch);
    }
    all
}

/// Overwrites of an 8 MiB volume, in the form of Alibaba's traces.
fn alibaba(volume: u32, writes: u64) -> String {
    let mut text = String::new();
    for place in 0..writes {
        let page = place * 7919 % 2048;
        writeln!(
            text,
            "{volume},W,{},4096,{}",
            page * 4096,
            1_577_808_000_000_000 + place
        )
        .unwrap();
    }
    text
}

#[test]
fn a_trace_is_named_read_and_summed_up() {
    let directory = TempDir::new().unwrap();
    let text = "# a comment\n7,W,4096,8192,1577808144000000\n7,W,8192,4096,1577808145500000\n\
                7,R,0,512,1577808145500000\n7,R,0,0,1577808145500001\n";
    let file = write(&directory, "a.csv", text);
    let (path, name) = output(&directory);
    let words = said(&["import", &file, "-o", &name]);
    let lines: Vec<&str> = words.lines().collect();
    assert_eq!(
        lines,
        [
            "anabranch: format alibaba: Alibaba block traces: bytes, microseconds since 1970, by \
             its looks",
            "anabranch: 3 requests in 1.500000 s: read 512 B, wrote 12.00 KiB, discarded 0 B, flushes \
             0; ever written 8.00 KiB; bytes 0 to 12288 (12.00 KiB); skipped: without data \
             1, notes 1",
        ]
    );
    assert_eq!(records(&path).len(), 3);
    let capture = Reader::open(&path).unwrap().tables().capture.clone();
    assert_eq!(capture.started_unix_s, 1_577_808_144);
}

#[test]
fn standard_input_may_be_packed_and_the_numbers_are_there_as_json() {
    let directory = TempDir::new().unwrap();
    let (path, name) = output(&directory);
    let mut child = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["import", "-", "--format", "alibaba", "-o", &name, "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let packed = zstd::encode_all(alibaba(3, 5000).as_bytes(), 1).unwrap();
    child.stdin.take().unwrap().write_all(&packed).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["format"], "alibaba");
    assert_eq!(json["summary"]["written"]["requests"], 5000);
    assert_eq!(json["summary"]["footprint_bytes"], 8 << 20);
    assert_eq!(records(&path).len(), 5000);
}

#[test]
fn a_malformed_record_leaves_no_trace_unless_it_may_be_skipped() {
    let directory = TempDir::new().unwrap();
    let file = write(
        &directory,
        "a.csv",
        "7,W,0,512,1\n7,X,0,512,2\n7,W,0,512,3\n",
    );
    let (path, name) = output(&directory);
    let words = complaint(&["import", &file, "--format", "alibaba", "-o", &name]);
    assert!(
        words.contains("a.csv, line 2: its operation is not R or W"),
        "{words}"
    );
    assert!(!path.exists());
    let words = said(&[
        "import",
        &file,
        "--format",
        "alibaba",
        "-o",
        &name,
        "--skip-bad",
    ]);
    assert!(words.contains("skipped: malformed 1"), "{words}");
    assert!(words.contains("the first malformed record:"), "{words}");
    assert_eq!(records(&path).len(), 2);
}

#[test]
fn volumes_are_laid_side_by_side_without_holes() {
    let directory = TempDir::new().unwrap();
    let gib: u64 = 1 << 30;
    let text = format!(
        "9,W,{},8192,1\n2,W,{gib},4096,2\n2,R,0,4096,3\n9,W,4096,512,4\n2,W,{gib},4096,5\n",
        5 * gib
    );
    let file = write(&directory, "a.csv", &text);
    let (path, name) = output(&directory);
    let words = complaint(&["import", &file, "-o", &name]);
    assert!(words.contains("several volumes"), "{words}");
    assert!(!path.exists(), "nothing is left of it");
    let words = said(&["import", &file, "-o", &name, "--renumber"]);
    assert!(words.contains("fills a drive of 16.00 KiB;"), "{words}");
    let places: Vec<(u32, u64, u64)> = records(&path)
        .iter()
        .map(|io| (io.tenant, io.offset_bytes, io.length_bytes))
        .collect();
    assert_eq!(
        places,
        [(9, 8192, 8192), (2, 0, 4096), (9, 4096, 512), (2, 0, 4096)]
    );
    let capture = Reader::open(&path).unwrap().tables().capture.clone();
    assert_eq!(capture.device_bytes, 16 << 10);
    let beside: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(beside.len(), 2, "only the input and the output are left");
}

#[test]
fn a_pattern_names_files_in_the_order_people_count() {
    let directory = TempDir::new().unwrap();
    for day in [1, 2, 10] {
        write(
            &directory,
            &format!("day.{day}"),
            &format!("5 0 {day} 1 0\n"),
        );
    }
    let (path, name) = output(&directory);
    let pattern = directory.path().join("day.*").display().to_string();
    said(&["import", &pattern, "-o", &name]);
    let sectors: Vec<u64> = records(&path)
        .iter()
        .map(|io| io.offset_bytes / 512)
        .collect();
    assert_eq!(sectors, [1, 2, 10]);
    let words = complaint(&["import", &pattern.replace("day", "night"), "-o", &name]);
    assert!(words.contains("no file matches"), "{words}");
}

/// 100 writes of one volume, a second apart, of which the 50th has the clock that is given, in microseconds.
fn with_a_clock(us: u64) -> String {
    (0..100).fold(String::new(), |mut text, line| {
        let us = if line == 50 {
            us
        } else {
            1_577_808_000_000_000 + line * 1_000_000
        };
        writeln!(text, "7,W,{},4096,{us}", line * 4096).unwrap();
        text
    })
}

#[test]
fn one_wrong_clock_is_told_whether_it_goes_forward_or_back() {
    let directory = TempDir::new().unwrap();
    let (_, trace) = output(&directory);
    let told = |us| {
        let input = write(&directory, "io_traces.csv", &with_a_clock(us));
        said(&["import", &input, "-o", &trace])
    };
    let right = told(1_577_808_050_000_000);
    assert!(!right.contains("clock"), "{right}");
    // Before all others, and a little before the one before.
    let back = told(0);
    assert!(
        back.contains("the clock goes back at 1 of 100 requests, by 18261.67 days at most"),
        "{back}"
    );
    let back = told(1_577_808_048_500_000);
    assert!(
        back.contains("the clock goes back at 1 of 100 requests, by 0.500000 s at most"),
        "{back}"
    );
    let forward = told(1_577_808_000_000_000 + 14_662 * 86_400_000_000);
    assert!(forward.contains("one pause of 14662.00 days"), "{forward}");
    assert!(
        forward.contains("goes back at 1 of 100 requests, by 14662.00 days"),
        "{forward}"
    );
}

#[test]
fn a_csv_is_read_by_its_map() {
    let directory = TempDir::new().unwrap();
    let file = write(&directory, "a.csv", "5;17\n6;18\n");
    let (path, name) = output(&directory);
    let import = |map: &'static [&'static str]| {
        [&["import", &file, "--format", "csv", "-o", &name], map].concat()
    };
    let words = complaint(&import(&[]));
    assert!(words.contains("--columns"), "{words}");
    let words = complaint(&import(&["--columns", "colour=1"]));
    assert!(words.contains("no key \"colour\""), "{words}");
    said(&import(&[
        "--columns",
        "time-col=1,obj-id-col=2,delimiter=;,size-unit=block",
    ]));
    let found = records(&path);
    assert_eq!(
        (found[1].time_ns, found[1].offset_bytes),
        (1_000_000_000, 18 * 4096)
    );
}

#[test]
fn a_trace_without_requests_says_what_is_there_instead() {
    let directory = TempDir::new().unwrap();
    let text =
        "253,0 1 1 0.000000000 697 Q WS 8 + 8 [dd]\n253,0 1 2 0.000100000 697 C WS 8 + 8 [0]\n";
    let file = write(&directory, "dm.txt", text);
    let (path, name) = output(&directory);
    let words = complaint(&["import", &file, "-o", &name]);
    assert!(words.contains("skipped: other events 2"), "{words}");
    assert!(words.contains("--event queue"), "{words}");
    assert!(!path.exists());
    said(&["import", &file, "-o", &name, "--event", "queue"]);
    assert_eq!(records(&path).len(), 1);
}

#[test]
fn the_event_that_an_import_lacks_is_the_one_that_it_advises() {
    let directory = TempDir::new().unwrap();
    let text = "swapper 0 [002] 1200.000100: block:block_rq_complete: 8,16 W () 4096 + 8 [0]\n\
                swapper 0 [002] 1200.001500: block:block_rq_complete: 8,16 FF () 18446744073709551615 + 0 [0]\n";
    let file = write(&directory, "perf.txt", text);
    let (path, name) = output(&directory);
    let words = complaint(&["import", &file, "-o", &name]);
    assert!(words.contains("--event complete takes 2"), "{words}");
    assert!(!words.contains("--event queue"), "{words}");
    said(&["import", &file, "-o", &name, "--event", "complete"]);
    assert_eq!(records(&path).len(), 2);
    let alibaba = write(&directory, "a.csv", &alibaba(3, 10));
    let words = complaint(&["import", &alibaba, "-o", &name, "--event", "issue"]);
    assert!(words.contains("alibaba does not use --event"), "{words}");
}

#[test]
fn a_span_of_nothing_is_said_to_be_doubtful() {
    let directory = TempDir::new().unwrap();
    let (_, name) = output(&directory);
    // An hour of milliseconds, taken for nanoseconds.
    let lines = (0..3_600_u64).map(|second| format!("{} 0 {} 8 0\n", second * 10, second * 8));
    let file = write(&directory, "five.trace", &lines.collect::<String>());
    let words = said(&["import", &file, "-o", &name]);
    assert!(words.contains("more than any drive takes"), "{words}");
    let words = said(&["import", &file, "-o", &name, "--columns", "time-unit=ms"]);
    assert!(!words.contains("more than any drive"), "{words}");
    let same = write(&directory, "same.csv", "7,W,0,512,5\n7,W,512,512,5\n");
    let words = said(&["import", &same, "-o", &name]);
    assert!(
        words.contains("2 requests in 0.000000 s are more"),
        "{words}"
    );
}

#[test]
fn a_stream_of_blktrace_is_read_from_standard_input() {
    let directory = TempDir::new().unwrap();
    let (path, name) = output(&directory);
    // A record of version 7: time, sector, bytes, action.
    let record = |time_ns: u64, sector: u64, length: u32, action: u32| {
        let mut bytes = vec![7];
        bytes.extend(b"tae");
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(time_ns.to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        for number in [length, action, 1000, 8 << 20, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([0; 4]);
        bytes
    };
    let (write, issue, requeue) = (1 << 17, 7 | 1 << 22, 6 | 1 << 21);
    // One processor's buffer, then another's: the requeue of the first request comes first.
    let stream = [
        record(2000, 8, 4096, requeue | write),
        record(3000, 8, 4096, issue | write),
        record(1000, 8, 4096, issue | write),
        record(4000, 64, 4096, issue | write),
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["import", "-", "-o", &name])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&stream.concat())
        .unwrap();
    assert!(child.wait().unwrap().success());
    let found: Vec<(u64, u64)> = records(&path)
        .iter()
        .map(|io| (io.time_ns, io.offset_bytes))
        .collect();
    assert_eq!(found, [(0, 4096), (1000, 32768)]);
}

#[test]
fn addresses_beyond_any_drive_are_refused_before_tables_are_made() {
    let directory = TempDir::new().unwrap();
    let (_, name) = output(&directory);
    let file = write(
        &directory,
        "a.csv",
        "7,W,0,9223372036854775808,1\n7,W,0,4096,2000000\n",
    );
    let words = complaint(&["import", &file, "-o", &name, "--renumber"]);
    assert!(words.contains("which no drive has"), "{words}");
    said(&["import", &file, "-o", &name]);
    for how in [&["--fill", "90%"][..], &["--pack", "--fill", "90%"]] {
        let words = complaint(&[&["replay", &name], how].concat());
        assert!(words.contains("a drive that it fills can have"), "{words}");
    }
}

#[test]
fn a_foreign_trace_is_replayed_as_its_import_is() {
    let directory = TempDir::new().unwrap();
    let file = write(&directory, "a.csv", &alibaba(3, 20_000));
    let (_, name) = output(&directory);
    said(&["import", &file, "-o", &name]);
    let schemes = |trace: &str, more: &[&str]| {
        let drive = [
            "--size",
            "8MiB",
            "--unit",
            "128KiB",
            "--over-provisioning",
            "20%",
        ];
        let call = [
            &["replay", trace, "--scheme", "baseline", "--json"],
            &drive[..],
            more,
        ]
        .concat();
        let output = anabranch(&call);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}");
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        json["schemes"].clone()
    };
    let imported = schemes(&name, &[]);
    assert_eq!(imported[0]["host_page_bytes"], 20_000 * 4096);
    assert_eq!(schemes(&file, &["--format", "alibaba"]), imported);
    assert_eq!(schemes(&file, &["--format", "auto"]), imported);
    assert_eq!(schemes(&file, &[]), imported, "auto is the default");
}

#[test]
fn volumes_that_overlap_are_not_replayed_as_one_drive() {
    let directory = TempDir::new().unwrap();
    let text = format!("{}{}", alibaba(3, 10), alibaba(4, 10));
    let file = write(&directory, "a.csv", &text);
    let words = complaint(&[
        "replay", &file, "--format", "alibaba", "--size", "64MiB", "--unit", "1MiB",
    ]);
    assert!(words.contains("several volumes"), "{words}");
    assert!(words.contains("--renumber"), "{words}");
    assert!(words.contains("(3, 4, …)"), "{words}");
    assert!(words.contains("import --volume 3`"), "{words}");
    let (_, name) = output(&directory);
    let wrong = [
        "import", &file, "--format", "alibaba", "--volume", "5", "-o", &name,
    ];
    let other = complaint(&wrong);
    assert!(other.contains("--volume 3 has some"), "{other}");
    let imported = complaint(&["import", &file, "--format", "alibaba", "-o", &name]);
    let why = |words: &str| words.split(" has several").nth(1).unwrap().to_owned();
    assert_eq!(
        why(words.lines().last().unwrap()),
        why(imported.lines().last().unwrap())
    );
}

#[test]
fn the_drive_of_an_imported_trace_follows_from_what_it_writes() {
    let directory = TempDir::new().unwrap();
    // 8 MiB of pages, written over and over in no order, far up a large volume.
    let mut drawn = 1_u64;
    let mut far = String::new();
    for second in 0..20_000 {
        drawn = drawn
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let page = (1 << 28) + (drawn >> 33) % 2048;
        far += &format!("3,W,{},4096,{second}\n", page * 4096);
    }
    let file = write(&directory, "a.csv", &far);
    let (_, name) = output(&directory);
    said(&["import", &file, "--format", "alibaba", "-o", &name]);
    let replayed = |file: &str, more: &[&str]| {
        let output = anabranch(&[&["replay", file, "--json"], more].concat());
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{words}");
        assert!(words.contains("fills 90 % of demo"), "{words}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let result = replayed(&name, &[]);
    assert_eq!(result["config"]["fill"], 0.9);
    assert!(
        result["schemes"][0]["waf"].as_f64().unwrap() > 1.05,
        "garbage is collected"
    );
    assert!(result["device"]["physical_bytes"].as_u64().unwrap() < 16 << 20);
    let direct = replayed(&file, &["--format", "alibaba"]);
    // What a scheme holds in memory differs with the tables beside the requests.
    let media = |result: &Value| -> Vec<Value> {
        let schemes = result["schemes"].as_array().unwrap().iter();
        schemes
            .map(|scheme| scheme["media_bytes"].clone())
            .collect()
    };
    assert_eq!(media(&direct), media(&result));
    // Whoever names a drive has it.
    let named = anabranch(&[
        "replay", &name, "--json", "--fill", "50%", "--unit", "128KiB",
    ]);
    let named: Value = serde_json::from_slice(&named.stdout).unwrap();
    assert_eq!(named["config"]["fill"], 0.5);
    let contexts = anabranch(&["contexts", &name, "--json"]);
    let contexts: Value = serde_json::from_slice(&contexts.stdout).unwrap();
    assert_eq!(contexts["contexts"][0]["written_bytes"], 20_000 * 4096);
    let coverage = anabranch(&["coverage", &name, "--json"]);
    let words = String::from_utf8_lossy(&coverage.stderr);
    assert!(coverage.status.success(), "{words}");
    let coverage: Value = serde_json::from_slice(&coverage.stdout).unwrap();
    assert_eq!(coverage["traces"][0]["written_bytes"], 20_000 * 4096);
}

#[test]
fn what_is_wrong_with_an_import_is_told_with_what_helps() {
    let directory = TempDir::new().unwrap();
    let msr =
        "128166372003061629,hm,1,Write,0,4096,100\n128166372003061629,hm,2,Write,0,4096,100\n";
    let file = write(&directory, "a.csv", msr);
    let (_, name) = output(&directory);
    let words = complaint(&["import", &file, "-o", &name, "--volume", "hm_7"]);
    assert!(
        words.contains("hm_1, hm_2") && !words.contains("--event"),
        "{words}"
    );
    let packed = zstd::encode_all(alibaba(1, 5000).as_bytes(), 3).unwrap();
    let cut = directory.path().join("cut.csv.zst");
    fs::write(&cut, &packed[..packed.len() / 2]).unwrap();
    let cut = cut.to_str().unwrap();
    let words = complaint(&["import", cut, "--format", "alibaba", "-o", &name]);
    assert!(
        words.contains("copy or record it again") && !words.contains("disk"),
        "{words}"
    );
}

/// Files that a process has open in a directory, named or not.
fn open_files(process: u32, directory: &Path) -> usize {
    let Ok(links) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return 0;
    };
    let targets = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
    targets
        .filter(|target| target.starts_with(directory))
        .count()
}

#[test]
fn renumbering_that_is_killed_leaves_nothing_behind() {
    let directory = TempDir::new().unwrap();
    let (_, name) = output(&directory);
    let mut child = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args([
            "import",
            "-",
            "--format",
            "alibaba",
            "--renumber",
            "-o",
            &name,
        ])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Standard input stays open: the import waits for more when it is killed.
    let mut input = child.stdin.take().unwrap();
    input.write_all(alibaba(3, 5000).as_bytes()).unwrap();
    let canonical = fs::canonicalize(directory.path()).unwrap();
    for _ in 0..6000 {
        if open_files(child.id(), &canonical) > 0 {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(
        open_files(child.id(), &canonical) > 0,
        "it keeps requests beside the output"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
