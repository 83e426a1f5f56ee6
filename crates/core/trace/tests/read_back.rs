//! Every form of a trace is read back by the tools that people use for it.
//!
//! fio, blkparse and btt are Debian's packages `fio` and `blktrace`; libCacheSim is a package of the Python interpreter
//! that `ANABRANCH_PYTHON` names, or else of `target/venv`. `scripts/setup.sh test` installs them all. The tools of
//! `fiu`, `mqsim`, `tencent` and `ftrace` are in no registry: their text is compared with their documented columns.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "read_back/fio.rs"]
mod fio;
#[path = "read_back/texts.rs"]
mod texts;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anabranch_trace::foreign::{Exporter, Form};
use anabranch_trace::{Capture, Context, ContextId, ContextKind, Io, Operation, Tables};
use tempfile::TempDir;

use fio::{Fio, replayed};
use texts::{libcachesim, lines_of_blkparse};

const SECTOR: u64 = 512;
const KIB: u64 = 1 << 10;
const TIB: u64 = 1 << 40;
const HOUR_NS: u64 = 3_600_000_000_000;

/// A request of a volume, as a tool has it.
type Seen = (u32, Operation, u64, u64);

/// Requests of all operations to three volumes: parts of sectors, addresses beyond 2^32 sectors, equal times, hours.
fn requests() -> Vec<Io> {
    use Operation::{Discard, Flush, Read, Write};
    let io = |time_ns, volume, context, operation, offset_bytes, length_bytes| Io {
        time_ns,
        operation,
        tenant: volume,
        context: ContextId(context),
        ..Io::write(offset_bytes, length_bytes)
    };
    vec![
        io(0, 0, 1, Write, 0, 4 * KIB),
        io(200_000, 0, 1, Read, 4 * KIB, 8 * KIB),
        io(300_500, 0, 2, Discard, 8 * KIB, 16 * KIB),
        io(300_500, 1, 2, Write, 1024 * KIB, 128 * KIB),
        io(400_000, 0, 1, Flush, 0, 0),
        io(400_000, 2, 1, Write, 700, 400),
        io(500_000, 2, 1, Discard, 700, 2000),
        io(500_001, 2, 1, Discard, 700, 400),
        io(2 * HOUR_NS, 1, 2, Read, 3 * TIB, 512),
        io(2 * HOUR_NS + 1, 1, 2, Write, 3 * TIB, 4 * KIB),
        io(2 * HOUR_NS + 1_500, 2, 2, Flush, 0, 0),
    ]
}

fn seen(ios: &[Io]) -> Vec<Seen> {
    let seen = |io: &Io| (io.tenant, io.operation, io.offset_bytes, io.length_bytes);
    ios.iter().map(seen).collect()
}

/// The requests in whole sectors: a read or write has every sector that it touches, a discard those within it.
fn in_sectors() -> Vec<Io> {
    let mut ios = requests();
    let widened = &mut ios[5];
    (widened.offset_bytes, widened.length_bytes) = (SECTOR, 2 * SECTOR);
    let narrowed = &mut ios[6];
    (narrowed.offset_bytes, narrowed.length_bytes) = (2 * SECTOR, 3 * SECTOR);
    ios.remove(7);
    ios
}

/// Exports requests in a form, as a file of the directory. Returns its path.
fn exported(directory: &TempDir, ios: &[Io], form: Form, name: &str) -> PathBuf {
    let mut tables = Tables::new(Capture::default());
    for (id, role) in [(1, "writer"), (2, "reader")] {
        let kind = ContextKind::Application;
        let context = Context::new(ContextId(id), id.into(), kind, role);
        tables.contexts.push(context);
    }
    let path = directory.path().join(name);
    let file = File::create(&path).unwrap();
    let mut exporter = Exporter::new(form, &tables, file);
    ios.iter().for_each(|io| exporter.push(io).unwrap());
    exporter.finish().unwrap();
    path
}

/// Runs a tool in a directory. A test fails where the tool is missing.
fn tool(program: &Path, arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(directory).output();
    let name = program.display();
    let output = output.unwrap_or_else(|error| {
        panic!("{name} cannot be run: {error}; `scripts/setup.sh test` installs it")
    });
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {words}");
    output
}

#[test]
fn fio_replays_a_blktrace_request_by_request() {
    let directory = TempDir::new().unwrap();
    exported(&directory, &requests(), Form::Blktrace, "t.blktrace.0");
    let Fio {
        requests, left_out, ..
    } = replayed(&directory, "t.blktrace.0", &["--replay_redirect=drive"]);
    let expected = in_sectors();
    // One file stands for all devices.
    let expected = seen(&expected).into_iter();
    let expected: Vec<Seen> = expected
        .map(|(_, what, from, length)| (0, what, from, length))
        .collect();
    assert_eq!(requests, expected);
    assert_eq!(left_out, 0);
}

#[test]
fn fio_replays_both_logs_request_by_request() {
    for form in [Form::FioIologV2, Form::FioIologV3] {
        let directory = TempDir::new().unwrap();
        exported(&directory, &requests(), form, "t.iolog");
        let Fio {
            requests: found,
            left_out,
            ..
        } = replayed(&directory, "t.iolog", &[]);
        let mut expected = seen(&requests());
        let all = expected.len();
        if !fio::has_discards_in_logs() {
            expected.retain(|(_, operation, ..)| *operation != Operation::Discard);
        }
        assert_eq!(found, expected, "{form:?}");
        assert_eq!(left_out, all - expected.len(), "{form:?}");
    }
}

#[test]
fn fio_keeps_the_hours_between_requests_of_a_blktrace_and_a_log() {
    // At 10,000 times the pace; the wait follows the first request, which is at 0.
    let hours = [
        Io::write(0, 4 * KIB),
        Io {
            time_ns: 2 * HOUR_NS,
            ..Io::write(0, 4 * KIB)
        },
    ];
    for (form, name) in [
        (Form::Blktrace, "t.blktrace.0"),
        (Form::FioIologV3, "t.iolog"),
    ] {
        let directory = TempDir::new().unwrap();
        exported(&directory, &hours, form, name);
        let pace = [
            "--replay_redirect=drive",
            "--replay_no_stall=0",
            "--replay_time_scale=1000000",
        ];
        let Fio {
            requests,
            runtime_ms,
            ..
        } = replayed(&directory, name, &pace);
        assert_eq!(requests.len(), 2, "{form:?}");
        assert!(
            (600..60_000).contains(&runtime_ms),
            "{form:?}: {runtime_ms} ms"
        );
    }
}

#[test]
fn blkparse_prints_each_event_of_a_blktrace_and_counts_them() {
    let directory = TempDir::new().unwrap();
    exported(&directory, &requests(), Form::Blktrace, "t.blktrace.0");
    let output = tool(
        Path::new("blkparse"),
        &["-i", "t.blktrace.0"],
        directory.path(),
    );
    let printed = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<String> = in_sectors().iter().flat_map(lines_of_blkparse).collect();
    assert_eq!(texts::events(&printed), expected);
    // blkparse counts discards as writes, and flushes as reads without data; 4 + 16 + 128 + 1 + 1.5 + 4 KiB.
    for (count, bytes) in [
        ("Writes Queued: 6", "154KiB"),
        ("Write Dispatches: 6", "154KiB"),
        ("Writes Completed: 6", "154KiB"),
        ("Reads Queued: 4", "8KiB"),
        ("Read Dispatches: 4", "8KiB"),
        ("Reads Completed: 4", "8KiB"),
    ] {
        let line = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            line.contains(&format!("{count}, {bytes}")),
            "{count}, {bytes}: {printed}"
        );
    }
    assert!(printed.contains("Skips: 0 forward"), "{printed}");
}

#[test]
fn the_text_of_blkparse_is_what_blkparse_prints_of_the_binary() {
    let directory = TempDir::new().unwrap();
    exported(&directory, &requests(), Form::Blktrace, "t.blktrace.0");
    let ours = exported(&directory, &requests(), Form::Blkparse, "t.txt");
    let output = tool(
        Path::new("blkparse"),
        &["-q", "-a", "issue", "-i", "t.blktrace.0"],
        directory.path(),
    );
    let theirs = String::from_utf8(output.stdout).unwrap();
    let ours = fs::read_to_string(&ours).unwrap();
    assert_eq!(
        texts::without_numbers(&ours),
        texts::without_numbers(&theirs)
    );
    let output = tool(Path::new("verify_blkparse"), &["t.txt"], directory.path());
    let words = String::from_utf8(output.stdout).unwrap();
    assert_eq!(words.trim(), "Events 10: 0 unordered, 0 aliases");
}

#[test]
fn btt_has_each_request_of_a_blktrace_by_device_and_direction() {
    let directory = TempDir::new().unwrap();
    exported(&directory, &requests(), Form::Blktrace, "t.blktrace.0");
    let merged = ["-q", "-O", "-i", "t.blktrace.0", "-d", "t.bin"];
    tool(Path::new("blkparse"), &merged, directory.path());
    let output = tool(
        Path::new("btt"),
        &["-i", "t.bin", "-B", "blocks"],
        directory.path(),
    );
    let expected = in_sectors();
    for volume in 0..3 {
        for (letter, of_direction) in [
            ("r", &[Operation::Read][..]),
            ("w", &[Operation::Write, Operation::Discard]),
            (
                "c",
                &[Operation::Read, Operation::Write, Operation::Discard],
            ),
        ] {
            let file = directory
                .path()
                .join(format!("blocks_259,{volume}_{letter}.dat"));
            // Without such a request there is no file.
            let found = fs::read_to_string(file).unwrap_or_default();
            let found: Vec<String> = found.lines().map(|line| line.trim().to_owned()).collect();
            let ios = expected
                .iter()
                .filter(|io| io.tenant == volume && of_direction.contains(&io.operation));
            let wanted: Vec<String> = ios.map(texts::line_of_btt).collect();
            assert_eq!(found, wanted, "259,{volume}, {letter}");
        }
    }
    // Device, requests queued and issued, their ratio, sectors: least, mean, most, all.
    let words = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = words.split_whitespace().collect();
    for row in [
        "(259, 0) | 3 3 1.0 | 8 18 32 56",
        "(259, 1) | 3 3 1.0 | 1 88 256 265",
        "(259, 2) | 2 2 1.0 | 2 2 3 5",
    ] {
        assert!(words.join(" ").contains(row), "{row}: {words:?}");
    }
}

#[test]
fn libcachesim_reads_the_objects_of_each_form_it_has_a_reader_for() {
    let directory = TempDir::new().unwrap();
    for (form, expected) in libcachesim::expected() {
        let file = exported(&directory, &requests(), form, form.name());
        assert_eq!(
            libcachesim::read(form, &file, directory.path()),
            expected,
            "{form:?}"
        );
    }
}

#[test]
fn forms_without_a_tool_have_their_documented_columns() {
    for (form, expected) in texts::DOCUMENTED {
        let directory = TempDir::new().unwrap();
        let file = exported(&directory, &requests(), form, form.name());
        assert_eq!(fs::read_to_string(file).unwrap(), expected, "{form:?}");
    }
}
