//! Small files that unpack to large ones: an import takes no more memory for them than for others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use anabranch_trace::foreign::Packed;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
/// Bytes that the bombs unpack to, each of the same value.
const UNPACKED_BYTES: u64 = 384 * MIB;
/// What an import may hold (docs/traces.md: windows, names, footprint), and the program itself.
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
