//! The probe on the running kernel: root, eBPF, loop devices, real file systems and programs.
//! These tests fail with the reason where the machine cannot run them.

// A test ends with a panic; its helpers are not functions the linter knows as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "live/begun.rs"]
mod begun;
#[path = "live/btrfs.rs"]
mod btrfs;
#[path = "live/call_paths.rs"]
mod call_paths;
#[path = "live/compiled.rs"]
mod compiled;
#[path = "live/drive.rs"]
mod drive;
#[path = "live/generations.rs"]
mod generations;
#[path = "live/renamed.rs"]
mod renamed;
#[path = "live/watch.rs"]
mod watch;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anabranch_probe::{Probe, ProbeOptions};
use anabranch_trace::{ContextKind, Io, Operation, Rate, Sample, Sampled, WriteHint};

use drive::{Drive, run};
use watch::{Watched, watch, watch_sampled};

const MIB: u64 = 1 << 20;

fn dd(arguments: &[&str], file: &Path) {
    let mut command = Command::new("dd");
    command
        .args(["if=/dev/zero", "status=none"])
        .args(arguments);
    run(command.arg(format!("of={}", file.display())));
}

/// Runs a Python program with a file's path as its argument.
fn python(program: &str, file: &Path) {
    run(Command::new("python3").arg("-c").arg(program).arg(file));
}

fn sync(directory: &Path) {
    run(Command::new("sync").arg("-f").arg(directory));
}

const MMAP_WRITER: &str = "
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4 << 20)
memory = mmap.mmap(file, 4 << 20)
for page in range(0, 4 << 20, 4096):
    memory[page] = 1
memory.flush()
";

fn every_kind_of_write(file_system: &str, mebibytes: u64) {
    let drive = Drive::with(file_system, mebibytes);
    let root = drive.path();
    let watched = watch(&ProbeOptions::new(&drive.device), || {
        dd(
            &["bs=64k", "count=128", "conv=fsync"],
            &root.join("buffered"),
        );
        dd(
            &["bs=64k", "count=64", "oflag=direct"],
            &root.join("direct"),
        );
        python(MMAP_WRITER, &root.join("mapped"));
        std::fs::remove_file(root.join("buffered")).unwrap();
        // Makes the file system write its metadata to their places as well.
        run(Command::new("fsfreeze").arg("--freeze").arg(root));
        run(Command::new("fsfreeze").arg("--unfreeze").arg(root));
        // XFS discards behind the commit's back.
        thread::sleep(Duration::from_secs(2));
    });
    watched.assert_written("buffered", 8 * MIB, "dd");
    watched.assert_written("direct", 4 * MIB, "dd");
    watched.assert_written("mapped", 4 * MIB, "python");
    // A program that has ended before the probe looked at it keeps its name alone.
    let program = [ContextKind::Application, ContextKind::Folded];
    assert!(watched.kinds().iter().any(|kind| program.contains(kind)));
    assert!(watched.kinds().contains(&ContextKind::Journal));
    assert!(watched.kinds().contains(&ContextKind::Metadata));
    assert!(!watched.kinds().contains(&ContextKind::Unknown));
    let discarded: u64 = watched
        .ios
        .iter()
        .filter(|io| io.operation == Operation::Discard)
        .map(|io| io.length_bytes)
        .sum();
    assert!(discarded >= 8 * MIB, "{discarded} bytes discarded");
    assert!(watched.ios.is_sorted_by_key(|io| io.time_ns));
    assert_eq!(watched.captured.lost_events, 0);
}

/// Not a test by itself: a probe runs this very program again as its inspector, by this name.
#[test]
fn anabranch_program_inspector() {
    anabranch_probe::inspect_if_asked();
}

#[test]
fn ext4_writes_of_every_kind_carry_their_writer() {
    every_kind_of_write("ext4", 256);
}

#[test]
fn xfs_writes_of_every_kind_carry_their_writer() {
    every_kind_of_write("xfs", 320);
}

#[test]
fn the_first_write_of_a_program_without_frame_pointers_has_its_call_path() {
    let drive = Drive::with("ext4", 64);
    let file = drive.path().join("first");
    let watched = watch(&ProbeOptions::new(&drive.device), || {
        // It lives until it was looked at.
        let once = "import os, sys, time; file = open(sys.argv[1], 'wb', 0); file.write(bytes(4 << 20)); os.fsync(file); time.sleep(1)";
        python(once, &file);
    });
    watched.assert_written("first", 4 * MIB, "python");
    for io in watched.writes_to("first") {
        let context = watched.context(io);
        assert_eq!(context.kind, ContextKind::Application, "{context:?}");
        assert!(context.frames.len() > 1, "{context:?}");
    }
}

#[test]
fn a_program_that_ended_before_it_was_looked_at_has_its_call_path() {
    let drive = Drive::with("ext4", 64);
    let probe = Probe::attach(&ProbeOptions::new(&drive.device)).unwrap();
    // Nobody reads what the kernel side tells until both have ended.
    for name in ["first", "second"] {
        dd(
            &["bs=1M", "count=4", "conv=fsync"],
            &drive.path().join(name),
        );
    }
    let watched = Watched::end(probe, Vec::new());
    let mut contexts = BTreeSet::new();
    for name in ["first", "second"] {
        watched.assert_written(name, 4 * MIB, "dd");
        contexts.extend(watched.writes_to(name).map(|io| io.context.0));
    }
    assert_eq!(contexts.len(), 1, "{:?}", watched.captured.contexts);
    let frames = &watched
        .context(watched.writes_to("first").next().unwrap())
        .frames;
    let files: Vec<&str> = frames.iter().map(|frame| frame.object.as_str()).collect();
    assert!(
        files.first().is_some_and(|file| file.contains("libc")),
        "{files:?} {:?}",
        watched.captured
    );
    assert!(
        files.iter().any(|file| file.ends_with("/bin/dd")),
        "{files:?}"
    );
    assert!(frames.iter().all(|frame| !frame.build_id.is_empty()));
    let said = &watched.captured.limitations;
    assert!(
        said.iter().all(|said| !said.contains("ended before")),
        "{said:?}"
    );
}

#[test]
fn one_request_with_the_pages_of_two_writers_is_split() {
    let drive = Drive::with("ext4", 64);
    let file = drive.path().join("shared");
    let watched = watch(&ProbeOptions::new(&drive.device), || {
        dd(&["bs=64k", "count=16"], &file);
        let append = "import sys; file = open(sys.argv[1], 'ab'); [file.write(bytes(65536)) for _ in range(16)]";
        python(append, &file);
        sync(drive.path());
    });
    let by = |role: &str| -> u64 {
        let ios = watched
            .writes_to("shared")
            .filter(|io| watched.context(io).role == role);
        ios.map(|io| io.length_bytes).sum()
    };
    assert_eq!((by("dd"), by("python")), (MIB, MIB));
}

/// Direct requests to a device itself: writes of all lengths at all places, of parts of pages too, discards, a flush.
/// Prints each write and discard.
const REQUESTS: &str = "
import fcntl, mmap, os, random, struct, sys
device = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
buffer, chance = mmap.mmap(-1, 1 << 20), random.Random(7)
for page in range(4096):
    os.pwrite(device, memoryview(buffer)[:4096], page * 4096)
    print('w', page * 4096, 4096)
for _ in range(1500):
    sectors = chance.choice([1, 3, 8, 9, 16, 40, 129, 400])
    at = chance.randrange(32768 - sectors)
    if chance.random() < 0.7:
        os.pwrite(device, memoryview(buffer)[:512 * sectors], 512 * at)
        print('w', 512 * at, 512 * sectors)
    else:
        at, sectors = at // 8 * 8, -(-sectors // 8) * 8
        fcntl.ioctl(device, 0x1277, struct.pack('QQ', 512 * at, 512 * sectors))
        print('d', 512 * at, 512 * sectors)
os.fsync(device)
";

fn requests_of_samples_alone_are_told(samples: &[Sampled]) {
    let drive = Drive::empty(16);
    let mut asked = String::new();
    let watched = watch_sampled(&ProbeOptions::new(&drive.device), samples, || {
        asked = run(Command::new("python3")
            .args(["-c", REQUESTS])
            .arg(&drive.device));
    });
    let asked: Vec<Io> = asked
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let (at, bytes) = (words[1].parse().unwrap(), words[2].parse().unwrap());
            match words[0] {
                "w" => Io::write(at, bytes),
                _ => Io {
                    operation: Operation::Discard,
                    ..Io::write(at, bytes)
                },
            }
        })
        .collect();
    let kept: Vec<Sample> = samples.iter().copied().map(Sample::new).collect();
    let is_told = |io: &&Io| kept.iter().any(|sample| sample.apply(io).is_some());
    let parts = |io: &Io| (io.operation, io.offset_bytes, io.length_bytes);
    let expected: Vec<_> = asked.iter().filter(is_told).map(parts).collect();
    let told = watched
        .ios
        .iter()
        .filter(|io| io.operation != Operation::Flush);
    assert_eq!(told.map(parts).collect::<Vec<_>>(), expected);
    assert!(!expected.is_empty() && expected.len() < asked.len());
    let bytes = |operation, is_wanted: &dyn Fn(&&Io) -> bool| -> u64 {
        let wanted = asked
            .iter()
            .filter(|io| io.operation == operation)
            .filter(is_wanted);
        wanted.map(|io| io.length_bytes).sum()
    };
    let untold = watched.untold;
    let is_untold = |io: &&Io| !is_told(io);
    assert_eq!(untold.write_bytes, bytes(Operation::Write, &is_untold));
    assert_eq!(
        untold.discarded_bytes,
        bytes(Operation::Discard, &is_untold)
    );
    assert_eq!(untold.read_bytes, 0);
    let left_out = (asked.len() - expected.len()) as u64;
    assert_eq!(untold.requests, left_out + untold.flushes);
    assert!(untold.flushes > 0);
    assert_eq!(watched.captured.lost_events, 0);
}

#[test]
fn of_a_sample_the_kernel_tells_what_it_has_a_page_of_and_counts_the_rest() {
    let sampled = |pages, hash, page_bytes| Sampled {
        rate: Rate::one_of(pages).unwrap(),
        hash,
        page_bytes,
    };
    requests_of_samples_alone_are_told(&[sampled(64, 5, 4096)]);
    let several: Vec<Sampled> = (0..4)
        .map(|number| sampled(256, 5 + (number << 32), 4096))
        .collect();
    requests_of_samples_alone_are_told(&several);
    requests_of_samples_alone_are_told(&[sampled(8, u64::MAX, 16_384), sampled(8, 0, 16_384)]);
}

const HINTS: &str = "
import fcntl, os, struct, sys
def write(name, hint):
    file = os.open(sys.argv[1] + name, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.fcntl(file, 1036, hint)
    except OSError as error:
        assert error.errno == 22
    os.write(file, bytes(65536))
    os.fsync(file)
write('granted', struct.pack('=Q', 5))
write('refused', struct.pack('=II', 3, 0xdead))
write('silent', b'')
write('old', struct.pack('=Q', 2))
os.unlink(sys.argv[1] + 'old')
";

#[test]
fn hints_are_seen_whether_granted_or_refused() {
    let drive = Drive::with("ext4", 64);
    let watched = watch(&ProbeOptions::new(&drive.device), || {
        python(HINTS, &drive.path().join(""));
        dd(
            &["bs=64k", "count=1", "conv=fsync"],
            &drive.path().join("new"),
        );
    });
    let hint = |name| {
        let io = watched
            .writes_to(name)
            .next()
            .unwrap_or_else(|| panic!("no write to {name}"));
        (io.hint, io.hint_granted)
    };
    assert_eq!(hint("granted"), (WriteHint::Extreme, true));
    assert_eq!(hint("refused"), (WriteHint::Medium, false));
    assert_eq!(hint("old"), (WriteHint::Short, true));
    assert_eq!(
        hint("new"),
        (WriteHint::NotSet, false),
        "a reused inode number inherits nothing"
    );
}

/// Every hint, buffered and direct, each in a file of its own.
const ALL_HINTS: &str = "
import fcntl, mmap, os, struct, sys
block = mmap.mmap(-1, 65536)
for hint in range(2, 6):
    for name, flag in ('buffered', 0), ('direct', os.O_DIRECT):
        file = os.open(f'{sys.argv[1]}{name}{hint}', os.O_RDWR | os.O_CREAT | flag)
        fcntl.fcntl(file, 1036, struct.pack('=Q', hint))
        for _ in range(16):
            os.write(file, block)
        os.fsync(file)
";

#[test]
fn what_was_asked_for_is_what_the_requests_carry_where_the_kernel_grants_it() {
    for (file_system, mebibytes) in [("ext4", 64), ("xfs", 320)] {
        let drive = Drive::with(file_system, mebibytes);
        let watched = watch(&ProbeOptions::new(&drive.device), || {
            python(ALL_HINTS, &drive.path().join(""));
        });
        for (number, hint) in (2..6).zip(&WriteHint::ALL[2..]) {
            for way in ["buffered", "direct"] {
                let name = format!("{way}{number}");
                let ios: Vec<_> = watched.writes_to(&name).collect();
                assert!(!ios.is_empty(), "{file_system}: {name}");
                let all_asked = ios.iter().all(|io| io.hint == *hint && io.hint_granted);
                assert!(all_asked, "{file_system}: {name}: {ios:?}");
            }
        }
        let astray = |words: &&String| words.contains("another life-time hint");
        let astray = watched.captured.limitations.iter().find(astray);
        assert_eq!(astray, None, "{file_system}");
    }
}

#[test]
fn without_watching_for_hints_the_granted_ones_are_seen() {
    let drive = Drive::with("xfs", 320);
    let options = ProbeOptions {
        hints: false,
        ..ProbeOptions::new(&drive.device)
    };
    let watched = watch(&options, || python(HINTS, &drive.path().join("")));
    let hint = |name| {
        watched
            .writes_to(name)
            .next()
            .map(|io| (io.hint, io.hint_granted))
    };
    assert_eq!(hint("granted"), Some((WriteHint::Extreme, true)));
    assert_eq!(hint("refused"), Some((WriteHint::NotSet, false)));
    assert!(
        watched
            .captured
            .limitations
            .iter()
            .any(|line| line.contains("hints"))
    );
}

#[test]
fn reads_are_seen_when_asked_for() {
    let drive = Drive::with("ext4", 64);
    let file = drive.path().join("file");
    dd(&["bs=64k", "count=16", "oflag=direct"], &file);
    let read = || {
        let mut dd = Command::new("dd");
        dd.args(["of=/dev/null", "bs=64k", "status=none", "iflag=direct"]);
        run(dd.arg(format!("if={}", file.display())));
    };
    let bytes = |watched: &Watched| -> u64 {
        let reads = watched
            .ios
            .iter()
            .filter(|io| io.operation == Operation::Read);
        reads
            .filter(|io| watched.file_name(io) == "file")
            .map(|io| io.length_bytes)
            .sum()
    };
    let mut options = ProbeOptions::new(&drive.device);
    assert_eq!(bytes(&watch(&options, read)), 0);
    options.reads = true;
    assert_eq!(bytes(&watch(&options, read)), MIB);
}

#[test]
fn a_partitions_offsets_count_from_its_own_start() {
    let drive = Drive::partitioned(64);
    let partition = format!("{}p1", drive.device.display());
    let write = || {
        dd(
            &[
                "bs=64k",
                "count=1",
                "seek=16",
                "oflag=direct",
                "conv=notrunc",
            ],
            partition.as_ref(),
        )
    };
    let offsets =
        |watched: Watched| -> Vec<u64> { watched.writes().map(|io| io.offset_bytes).collect() };
    assert_eq!(offsets(watch(&ProbeOptions::new(&partition), write)), [MIB]);
    assert_eq!(
        offsets(watch(&ProbeOptions::new(&drive.device), write)),
        [2 * MIB]
    );
}

fn db_bench(directory: &Path) {
    run(Command::new("db_bench")
        .args([
            "--benchmarks=fillrandom,overwrite",
            "--num=100000",
            "--value_size=800",
            "--compression_type=none",
            "--write_buffer_size=4194304",
            "--target_file_size_base=4194304",
            "--max_bytes_for_level_base=16777216",
            "--bytes_per_sync=1048576",
            "--wal_bytes_per_sync=262144",
        ])
        .arg(format!("--db={}", directory.join("db").display())));
}

#[test]
fn rocksdbs_logging_flush_and_compaction_are_told_apart() {
    let drive = Drive::with("ext4", 1024);
    let watched = watch(&ProbeOptions::new(&drive.device), || db_bench(drive.path()));
    let application = watched.share(|io| watched.context(io).kind == ContextKind::Application);
    assert!(application > 0.95, "{application}");
    // What each kind of file is written by, in the words of RocksDB's own functions.
    let by = |suffix: &str, function: &str| {
        watched.share(|io| {
            let frames = &watched.context(io).frames;
            let symbols = frames.iter().filter_map(|frame| frame.symbol.as_deref());
            watched.file_name(io).ends_with(suffix)
                && symbols.into_iter().any(|symbol| symbol.contains(function))
        })
    };
    let of = |suffix: &str| watched.share(|io| watched.file_name(io).ends_with(suffix));
    assert!(by(".log", "WriteToWAL") > 0.95 * of(".log"), "logging");
    let (flush, compaction) = (by(".sst", "FlushJob"), by(".sst", "CompactionJob"));
    assert!(flush > 0.05 && compaction > 0.05, "{flush} {compaction}");
    assert!(flush + compaction > 0.95 * of(".sst"));
    assert_eq!(watched.captured.lost_events, 0);
    assert!(watched.captured.contexts.len() < 40);
    // This RocksDB passes its hint as four bytes, and the kernel refuses what lies behind them.
    assert!(watched.writes().any(|io| io.hint != WriteHint::NotSet));
}

#[test]
fn what_a_ring_too_small_loses_is_counted() {
    let drive = Drive::with("ext4", 64);
    let options = ProbeOptions {
        ring_bytes: 4096,
        ..ProbeOptions::new(&drive.device)
    };
    let mut probe = Probe::attach(&options).unwrap();
    dd(
        &["bs=4k", "count=4096", "oflag=direct"],
        &drive.path().join("direct"),
    );
    let mut seen = 0;
    probe.drain(&mut |_| seen += 1).unwrap();
    assert!(seen > 0 && seen < 64, "{seen} seen");
    assert!(seen + probe.lost_events() >= 4096);
    assert_eq!(probe.lost_events(), probe.finish(&mut || true).lost_events);
}

#[test]
fn two_captures_side_by_side_see_the_same() {
    let drive = Drive::with("ext4", 64);
    let options = ProbeOptions::new(&drive.device);
    let mut inner = None;
    let outer = watch(&options, || {
        inner = Some(watch(&options, || {
            dd(
                &["bs=64k", "count=16", "oflag=direct"],
                &drive.path().join("file"),
            );
        }));
    });
    inner.unwrap().assert_written("file", MIB, "dd");
    outer.assert_written("file", MIB, "dd");
}
