//! Files that ask for more memory than they are worth: small ones that unpack to large ones, and large ones of others;
//! and long texts that messages repeat.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use anabranch_replay::SCHEMA;
use anabranch_trace::{Io, Writer, foreign::Packed};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
/// Bytes that the bombs unpack to, each of the same value.
const UNPACKED_BYTES: u64 = 384 * MIB;
/// Memory bound of an import (docs/traces.md: windows, names, footprint), and of the program itself.
const MOST_BYTES: u64 = 96 * MIB;
/// The largest window of a zstd frame that is taken.
const WINDOW_LOG: u32 = 27;

fn bomb(directory: &TempDir, name: &str) -> PathBuf {
    let path = directory.path().join(name);
    let packed = Packed::by_name(&path, File::create(&path).unwrap()).unwrap();
    fill(packed, b'7').finish().unwrap();
    path
}

fn fill<W: Write>(mut to: W, byte: u8) -> W {
    let block = vec![byte; MIB as usize];
    (0..UNPACKED_BYTES / MIB).for_each(|_| to.write_all(&block).unwrap());
    to
}

/// The most memory the command ever had, and its exit status.
fn peak(arguments: &[&str]) -> (u64, Option<i32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = Path::new("/proc")
        .join(child.id().to_string())
        .join("status");
    let mut most = 0;
    loop {
        // The kernel keeps the mark: what is read late is as good as what is read in time.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) * 1024);
        if let Some(ended) = child.try_wait().unwrap() {
            return (most, ended.code());
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn import(file: &Path, format: &str, most_bytes: u64) {
    let output = file.with_extension("parquet");
    let (file, to) = (file.to_str().unwrap(), output.to_str().unwrap());
    let (peak_bytes, status) = peak(&["import", file, "--format", format, "--skip-bad", "-o", to]);
    assert_eq!(status, Some(2), "{format}: there is no request in it");
    assert!(peak_bytes > MIB, "{format}: the memory was seen");
    assert!(
        peak_bytes <= most_bytes,
        "{format}: {} MiB",
        peak_bytes / MIB
    );
    assert!(!output.exists());
}

#[test]
fn bombs_of_one_long_line_are_read_in_little_memory() {
    let directory = TempDir::new().unwrap();
    for name in ["bomb.gz", "bomb.zst"] {
        let file = bomb(&directory, name);
        assert!(fs::metadata(&file).unwrap().len() < MIB);
        for format in ["fiu", "blkparse", "ftrace", "fio", "blktrace"] {
            import(&file, format, MOST_BYTES);
        }
    }
}

#[test]
fn a_frame_of_the_largest_window_takes_that_window_and_no_more() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("window.zst");
    let mut encoder = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
    encoder.window_log(WINDOW_LOG).unwrap();
    fill(encoder, b'7').finish().unwrap();
    import(&path, "fiu", MOST_BYTES + (1 << WINDOW_LOG));
}

/// Length bound of a message that repeats a text, its own words included (`report::foreign`: 8,000 characters).
const MOST_MESSAGE_BYTES: usize = 10_000;

#[test]
fn large_json_that_is_no_result_is_refused_in_little_more_memory_than_its_text() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("numbers.json");
    for (before, item, after) in [
        ("[0", ",0", "]"),
        ("{\"a\": [[]", ",[]", "]}"),
        ("{\"schema\": 0, \"results\": [{}", ",{}", "]}"),
    ] {
        let items = item.repeat(64 * MIB as usize / item.len());
        fs::write(&path, [before, &items, after].concat()).unwrap();
        drop(items);
        let text_bytes = fs::metadata(&path).unwrap().len();
        let path = path.to_str().unwrap();
        let (peak_bytes, status) = peak(&["compare", path, path]);
        assert_eq!(status, Some(2), "{before}");
        let most = text_bytes..=text_bytes + MOST_BYTES;
        assert!(
            most.contains(&peak_bytes),
            "{before}: {} MiB",
            peak_bytes / MIB
        );
    }
}

#[test]
fn a_text_of_any_length_is_cut_where_a_message_repeats_it() {
    let directory = TempDir::new().unwrap();
    let long = "x".repeat(8 * MIB as usize);
    let at = |name: &str, text: String| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let result = at(
        "result.json",
        format!("{{\"schema\": {SCHEMA}, \"results\": \"{long}\"}}"),
    );
    let rules = at(
        "rules.toml",
        format!("[[rule]]\nkind = \"{long}\"\nstream = 1\n"),
    );
    let manual = format!("manual:rules={rules}");
    let argument = &long[..100_000];
    for arguments in [
        ["compare", result.as_str(), result.as_str()].as_slice(),
        &["replay", "no.parquet", "--scheme", &manual],
        &["replay", "no.parquet", "--scheme", argument],
        &["replay", argument],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:.40?}");
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains("xxx"), "it repeats the text: {words:.300}");
        assert!(
            words.contains(" bytes] "),
            "it says that it cuts: {words:.300}"
        );
        assert!(words.len() < MOST_MESSAGE_BYTES, "{}", words.len());
        assert!(output.stdout.is_empty());
    }
}

/// A trace of two writes: one of so many bytes, and one of a page at its end.
fn vast(directory: &TempDir, name: &str, bytes: u64) -> PathBuf {
    let path = directory.path().join(name);
    let mut writer = Writer::create(&path).unwrap();
    writer.push(&Io::write(0, bytes)).unwrap();
    writer.push(&Io::write(bytes, 4096)).unwrap();
    writer.finish(&command::tables(bytes + 4096, &[])).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 16 << 10);
    path
}

#[test]
fn a_small_trace_of_vast_addresses_is_refused_in_little_memory() {
    let directory = TempDir::new().unwrap();
    for log in [42, 48, 62] {
        let trace = vast(&directory, "vast.parquet", 1 << log);
        let replay = ["replay", trace.to_str().unwrap(), "--fill", "90%"];
        for options in [&replay[..], &[&replay[..], &["--pack"]].concat()] {
            let (peak_bytes, status) = peak(options);
            assert_eq!(status, Some(2), "2^{log} bytes: {options:?}");
            assert!(peak_bytes <= MOST_BYTES, "{} MiB", peak_bytes / MIB);
        }
    }
}

#[test]
fn a_trace_of_vast_addresses_costs_a_sweep_its_own_cells_alone() {
    let directory = TempDir::new().unwrap();
    vast(&directory, "vast.parquet", 1 << 60);
    command::trace(&directory);
    let grid = directory.path().join("grid.toml");
    let words = format!(
        "traces = '{}/*.parquet'\nschemes = ['baseline+gc', 'sepbit']\nfill = ['90%']\npack = true\n\
         [drive]\nunit = '256KiB'\n",
        directory.path().display()
    );
    fs::write(&grid, words).unwrap();
    let fleet = directory.path().join("fleet");
    let sweep = ["sweep", command::text(&grid), "-o", command::text(&fleet)];
    let output = command::anabranch(&[&sweep[..], &["--json"]].concat());
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("vast.parquet"), "{words}");
    let groups = &command::json(&output)["groups"];
    assert_eq!(groups.as_array().unwrap().len(), 2, "{words}");
}
