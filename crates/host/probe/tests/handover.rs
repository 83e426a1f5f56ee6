//! The handover on the running kernel: root, eBPF, loop devices, a bpffs. Where the machine cannot do it, these tests
//! fail and say why.

// A test ends with a panic; its helpers are not functions the linter knows as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

#[path = "live/drive.rs"]
mod drive;
#[path = "live/generations.rs"]
mod generations;
#[path = "live/pages.rs"]
mod pages;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anabranch_probe::{FoldLimits, Handover, HandoverOptions};
use libbpf_rs::Link;

use drive::{Drive, run};
use pages::{Judged, follow, judge, judge_in_the_end, write};

const THREADS: u64 = 32;
const PAGES: usize = 300;
/// From 512 MiB on, ext4's blocks are of 4 KiB, as the handover's pages are.
const MEBIBYTES: u64 = 640;

fn options(drive: &Drive, pins: Option<PathBuf>) -> HandoverOptions {
    HandoverOptions {
        device: drive.device.clone(),
        fold: FoldLimits::default(),
        pins,
        tenants: Vec::new(),
        generations: true,
    }
}

fn all_right(pages: u64) -> Judged {
    Judged {
        right: pages,
        ..Judged::default()
    }
}

fn sync(drive: &Drive) {
    run(Command::new("sync").arg("-f").arg(drive.path()));
}

fn every_page_has_its_writer(file_system: &str) {
    let drive = Drive::with(file_system, MEBIBYTES);
    let handover = Handover::attach(&options(&drive, None)).unwrap();
    follow(&handover, || {
        write(drive.path(), 0..THREADS, PAGES);
        sync(&drive);
    });
    let pages = THREADS * PAGES as u64;
    assert_eq!(judge(&handover, &drive.device), all_right(pages));
    let counts = handover.counts();
    assert!(counts.filled >= pages, "{counts:?}");
    assert_eq!((counts.evicted, counts.skipped), (0, 0), "{counts:?}");
    // Asked for once more when they were acknowledged, none is known.
    handover.done(0, MEBIBYTES << 20 >> 12);
    assert_eq!(judge(&handover, &drive.device).unknown, pages);
    assert!(handover.kernel_bytes() > 0);
    assert!(
        handover.kernel_bytes() <= 32 << 20,
        "{}",
        handover.kernel_bytes()
    );
}

/// Not a test by itself: a probe runs this very program again as its inspector, by this name.
#[test]
fn anabranch_program_inspector() {
    anabranch_probe::inspect_if_asked();
}

#[test]
fn a_page_has_the_generation_that_its_file_is_of() {
    let drive = Drive::with("ext4", MEBIBYTES);
    let handover = Handover::attach(&options(&drive, None)).unwrap();
    follow(&handover, || {
        let mut python = Command::new("python3");
        run(python.arg("-c").arg(generations::PROGRAM).arg(drive.path()));
    });
    let pages = 0..MEBIBYTES << 20 >> 12;
    let writers: Vec<_> = pages.filter_map(|page| handover.writer_of(page)).collect();
    let (contexts, files) = handover.news(0, 0).unwrap();
    generations::judge(writers.iter().map(|writer| {
        let name = files[writer.file.0 as usize].name.as_str();
        (name, &contexts[writer.context.0 as usize])
    }));
}

/// The names of the files whose pages are on their way.
fn names(handover: &Handover) -> BTreeSet<String> {
    let pages = 0..MEBIBYTES << 20 >> 12;
    let files = pages.filter_map(|page| Some(handover.writer_of(page)?.file.0 as usize));
    let rows: BTreeSet<usize> = files.filter(|&row| row > 0).collect();
    let name = |row| handover.news(usize::MAX, row).unwrap().1[0].name.clone();
    rows.into_iter().map(name).collect()
}

#[test]
fn a_page_written_after_a_rename_has_the_files_new_name() {
    let drive = Drive::with("ext4", MEBIBYTES);
    let handover = Handover::attach(&options(&drive, None)).unwrap();
    let (old, new) = (
        drive.path().join("ib_logfile101"),
        drive.path().join("ib_logfile0"),
    );
    let mut file = File::create(&old).unwrap();
    let mut write = || {
        follow(&handover, || {
            file.write_all(&[1; 1 << 20]).unwrap();
            file.sync_all().unwrap();
        });
        names(&handover)
    };
    assert_eq!(write(), ["ib_logfile101".into()].into());
    // What is known of these pages is known for good, but for the name.
    assert_eq!(names(&handover), ["ib_logfile101".into()].into());
    std::fs::rename(&old, &new).unwrap();
    handover.done(0, MEBIBYTES << 20 >> 12);
    assert_eq!(write(), ["ib_logfile0".into()].into());
}

#[test]
fn every_page_of_32_threads_on_ext4_has_its_writer() {
    every_page_has_its_writer("ext4");
}

#[test]
fn every_page_of_32_threads_on_xfs_has_its_writer() {
    every_page_has_its_writer("xfs");
}

/// One handover takes over from another. The kernel ends the first one's programs some time after its links are gone;
/// with `is_first_held` they run until the end.
fn take_over(is_first_held: bool) {
    let drive = Drive::with("ext4", MEBIBYTES);
    let mount = tempfile::tempdir().unwrap();
    run(Command::new("mount")
        .args(["-t", "bpf", "bpf"])
        .arg(mount.path()));
    let pins = mount.path().join("drive");
    let handover = Handover::attach(&options(&drive, Some(pins.clone()))).unwrap();
    follow(&handover, || {
        write(drive.path(), 0..8, PAGES);
        sync(&drive);
    });
    drop(handover);
    write(drive.path(), 8..16, PAGES);
    sync(&drive);
    let held = if is_first_held {
        links(&pins)
    } else {
        Vec::new()
    };
    assert_eq!(held.is_empty(), !is_first_held);
    // A program that the first one's programs see first.
    let mut shell = Shell::in_directory(drive.path());
    shell.write("before");
    let next = Handover::attach(&options(&drive, Some(pins.clone()))).unwrap();
    follow(&next, || {
        write(drive.path(), 16..24, PAGES);
        sync(&drive);
        shell.write("between");
        shell.write("after");
    });
    let judged = judge_in_the_end(&next, &drive.device);
    assert_eq!(judged, all_right(24 * PAGES as u64));
    // A writer has a context of its own once it was asked for and is known.
    for _ in 0..2 {
        for page in 0..MEBIBYTES << 8 {
            next.writer_of(page);
        }
        next.poll(Duration::ZERO).unwrap();
    }
    let (contexts, _) = next.news(0, usize::MAX).unwrap();
    let shells = contexts.iter().filter(|context| context.role == "sh");
    let calls: Vec<usize> = shells.map(|context| context.frames.len()).collect();
    // Of a program whose code is not known, the first call alone is.
    assert!(calls.iter().any(|&calls| calls > 2), "{calls:?}");
    drop((held, shell));
    next.end().unwrap();
    assert!(!pins.exists());
    run(Command::new("umount").arg(mount.path()));
}

/// A process that writes files of 64 KiB, all by itself.
struct Shell {
    child: Child,
    told: BufReader<ChildStdout>,
}

impl Shell {
    fn in_directory(directory: &Path) -> Shell {
        let script = r#"text=$(head -c 65536 /dev/zero | tr '\0' x)
            while read -r name; do
                for number in 1 2 3 4 5; do printf %s "$text" >"$name$number"; done
                sync -f . && echo done
            done"#;
        let mut child = Command::new("sh")
            .args(["-c", script])
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        Shell { child, told }
    }

    fn write(&mut self, name: &str) {
        writeln!(self.child.stdin.as_ref().unwrap(), "{name}").unwrap();
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// The links that are pinned in a directory: those of the programs, which begin with `on_`.
fn links(pins: &Path) -> Vec<Link> {
    let entries = std::fs::read_dir(pins).unwrap().map(Result::unwrap);
    let programs = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"on_"));
    programs
        .map(|entry| Link::open(entry.path()).unwrap())
        .collect()
}

#[test]
fn who_takes_over_knows_what_was_written_before_and_meanwhile() {
    take_over(false);
}

#[test]
fn who_takes_over_knows_writers_that_the_first_ones_programs_saw_last() {
    take_over(true);
}
