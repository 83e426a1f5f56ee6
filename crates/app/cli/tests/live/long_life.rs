//! `anabranch watch` over a long life: programs and files come and go, a device is taken away and brought back, the
//! clock is set, traces rotate, their disk is full. Nothing grows, and nothing is lost without a word.

use std::{
    fs,
    os::unix::fs::symlink,
    process::Command,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    support::{ANABRANCH, Device, MIB, Place, wait_until},
    watcher::{PAGE, Watcher, overwrite, written},
    watching_on::{away_and_back, traces_in},
};

/// Programs of a round that write to the device itself, and as many that each make a file.
const PROGRAMS: u64 = 20;
/// A disk of traces is full once in this time at most: a trace that failed is tried again after a minute.
const FULL_EVERY: Duration = Duration::from_secs(64);
/// The traces of a device that are kept, and the room of their disk, MiB. Each trace has the names of all contexts and
/// files that are known, so that it grows with a life; beside what is kept of two devices there is room for one at work
/// of each.
const KEPT_MIB: u64 = 16;
const DISK_MIB: u64 = 4 * KEPT_MIB;
/// Seconds by which the clock is set ahead: days, years, and back before it began.
const CLOCKS: [i64; 5] = [0, 86_400, -7_200, 400_000_000, -1_000_000];

/// Bound of growth: files and writers, of each at most this many (`MAX_WRITERS` of a probe), and the bytes of a file,
/// in the probe's table and in what schemes were told.
const MOST: u64 = 65_536;
const FILE_BYTES: u64 = 96;
/// Bytes of a writer with a new name. A place in the map is 24 bytes and one of the map's own, and half of the places
/// are empty when it is full. The allocator has 112 bytes for its claims (80, the two counts of an `Arc`, 8 of its own)
/// and 32 for its name. Writers with one call path share it.
const WRITER_BYTES: u64 = 2 * (24 + 1) + 112 + 32;
/// Contexts, and freed memory that the C library keeps: 6 MiB where it was measured (docs/results/speed.md). Our choice.
const OTHER_BYTES: u64 = 16 * MIB;

fn succeeds(command: &mut Command) {
    let done = command.output().unwrap();
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {words}");
}

/// Something mounted, until it is dropped.
struct Mounted(String);

impl Mounted {
    fn new(words: &[&str], at: String) -> Mounted {
        fs::create_dir(&at).unwrap();
        succeeds(Command::new("mount").args(words).arg(&at));
        Mounted(at)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A watcher whose clock can be set, and which says what it says in a file.
struct LongRun {
    watcher: Watcher,
    device: Device,
    /// A second device, with files.
    files: (Device, Mounted),
    traces: Mounted,
    round: u64,
    asked: u64,
    filled: Option<Instant>,
    fills: usize,
    /// The last to go: what is mounted lies in it.
    place: Place,
}

impl LongRun {
    fn start() -> LongRun {
        let place = Place::new();
        // It goes away and comes back for hours, beside other tests that want numbers.
        let device = Device::with_a_number_of_its_own(&place.path("image"));
        let other = Device::of(&place.path("other"));
        // Tables of inodes zeroed later are discards to the watcher, and writes to the kernel's count.
        let made = [
            "-q",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            &other.0,
        ];
        succeeds(Command::new("mkfs.ext4").args(made));
        let size = format!("size={DISK_MIB}m");
        let traces = Mounted::new(&["-t", "tmpfs", "-o", &size, "none"], place.path("traces"));
        let (library, clock) = (place.path("clock.so"), place.path("clock"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/clock.c");
        let compiled = ["-shared", "-fPIC", "-O1", "-o", &library, source];
        succeeds(Command::new("gcc").args(compiled));
        fs::write(&clock, "0").unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec \"$0\" \"$@\" 2>\"$SAID\"", ANABRANCH])
            .env("SAID", place.path("said"))
            .env("LD_PRELOAD", library)
            .env("ANABRANCH_TEST_CLOCK", clock);
        let state = place.path("state");
        let sampled = [
            "--sample",
            "1/4",
            "--samples",
            "2",
            "-s",
            "baseline,pcstream",
        ];
        let most = format!("{KEPT_MIB}MiB");
        let kept = [
            "--traces", &traces.0, "--keep", "12h", "--max", &most, "--state", &state,
        ];
        let words = [&[&device.0[..], &other.0][..], &sampled, &kept].concat();
        let watcher = Watcher::started(command, &place, &words);
        let mounted = Mounted::new(&[&other.0], place.path("mnt"));
        LongRun {
            watcher,
            device,
            files: (other, mounted),
            traces,
            round: 0,
            asked: 0,
            filled: None,
            fills: 0,
            place,
        }
    }

    /// A name that no program and no file had before.
    fn name(&self, number: u64) -> String {
        let letter = |number: u64| char::from(b'a' + (number % 26) as u8);
        let all = self.round * PROGRAMS + number;
        let name = (0..5).map(|place| letter(all / 26_u64.pow(place)));
        name.collect()
    }

    /// Programs that write once and are gone, with names that nothing had before.
    fn short_lived(&self) {
        let dd = fs::canonicalize("/bin/dd").unwrap();
        let once = |name: &str, words: &[&str]| {
            let path = self.place.path(name);
            symlink(&dd, &path).unwrap();
            succeeds(
                Command::new(&path)
                    .args(["if=/dev/zero", "bs=4k"])
                    .args(words),
            );
            fs::remove_file(&path).unwrap();
        };
        let of = format!("of={}", self.device.0);
        for number in 0..PROGRAMS {
            let name = self.name(number);
            once(&format!("w-{name}"), &[&of, "count=1", "oflag=direct"]);
            let file = format!("{}/{name}", self.files.1.0);
            once(
                &format!("f-{name}"),
                &[&format!("of={file}"), "count=4", "conv=fsync"],
            );
            fs::remove_file(&file).unwrap();
        }
    }

    fn said(&self, words: &str) -> usize {
        let said = fs::read_to_string(self.place.path("said")).unwrap();
        said.lines().filter(|line| line.contains(words)).count()
    }

    /// The disk of the traces is full while those of both devices are ended: it is told that they are lost.
    fn fill(&mut self) {
        let told = self.said("is lost");
        let filler = format!("{}/filler", self.traces.0);
        let _ = fs::write(&filler, vec![0; ((DISK_MIB + 1) * MIB) as usize]).unwrap_err();
        self.watcher.started.signal(Signal::SIGHUP);
        wait_until("a lost trace to be told", || {
            self.said("is lost") == told + 2
        });
        fs::remove_file(&filler).unwrap();
        self.filled = Some(Instant::now());
        self.fills += 1;
    }

    /// A round; answers the memory of process and kernel at its end, bytes.
    fn go_round(mut self) -> (LongRun, u64) {
        overwrite(&self.device.0, 60 * 256, 3000);
        self.short_lived();
        self.asked += (3000 + PROGRAMS) * PAGE;
        let asked = self.asked;
        self.watcher.wait_until("the writes of a round", |now| {
            now["devices"][0]["source"]["write_bytes"] == asked
        });
        self.round += 1;
        let clock = CLOCKS[self.round as usize % CLOCKS.len()];
        fs::write(self.place.path("clock"), clock.to_string()).unwrap();
        let has_room = self.filled.is_none_or(|at| at.elapsed() > FULL_EVERY);
        if self.round.is_multiple_of(4) && has_room {
            // Whatever the clock says, no trace has come of age: what went made room for others.
            let before = traces_in(&self.traces.0);
            self.watcher.started.signal(Signal::SIGHUP);
            wait_until("a trace to be ended", || {
                traces_in(&self.traces.0) != before
            });
            let left = traces_in(&self.traces.0);
            assert!(
                left.len() >= before.len().min(3),
                "{before:?}, then {left:?}"
            );
        }
        if self.round % 8 == 7 && has_room {
            self.fill();
        }
        if self.round.is_multiple_of(8) {
            self.device = away_and_back(&self.watcher, &self.place, self.device);
        }
        let own = &self.watcher.now()["own"];
        let memory = ["memory_bytes", "kernel_bytes"].map(|name| own[name].as_u64().unwrap());
        (self, memory.iter().sum())
    }
}

/// Final report on a device.
fn holds(device: &Value) {
    assert_eq!(device["source"]["lost_events"], 0);
    let (seen, counted) = written(device);
    assert_eq!(seen, counted);
    let known = device["contexts"].as_array().unwrap().len() as u64;
    assert!(known + device["unlisted_contexts"].as_u64().unwrap() <= 4096);
}

/// Attaching takes more for a moment, which the C library keeps unless it is told to give it back: 9 MiB were held
/// without that, and 3 with it.
#[test]
fn memory_that_attaching_takes_for_a_moment_is_given_back() {
    let place = Place::new();
    let device = Device::new(&place);
    let watcher = Watcher::start(&place, &[&device.0, "-s", "baseline"]);
    let memory_bytes = watcher.now()["own"]["memory_bytes"].as_u64().unwrap();
    watcher.end();
    assert!(memory_bytes < 6 * MIB, "{memory_bytes}");
}

/// As long as `ANABRANCH_SOAK_MINUTES` says (`make soak`), or for some seconds.
#[test]
fn a_long_life_takes_no_more_memory_than_a_short_one() {
    let lasts = std::env::var("ANABRANCH_SOAK_MINUTES")
        .map_or(Duration::from_secs(15), |minutes| {
            Duration::from_secs(60 * minutes.parse::<u64>().unwrap())
        });
    let (mut long, mut memory) = (LongRun::start(), Vec::new());
    let until = Instant::now() + lasts;
    while Instant::now() < until || long.round < 16 {
        let bytes;
        (long, bytes) = long.go_round();
        memory.push(bytes);
    }
    let aways = (long.round / 8) as usize;
    let told = fs::read_to_string(long.place.path("said")).unwrap();
    let kept = traces_in(&long.traces.0).into_iter();
    let kept: u64 = kept.map(|path| fs::metadata(path).unwrap().len()).sum();
    // Of each of two devices.
    assert!(kept <= 2 * KEPT_MIB * MIB, "{kept}");
    drop(long.files.1);
    let (last, _) = long.watcher.end();
    let devices = last["devices"].as_array().unwrap();
    devices.iter().for_each(holds);
    assert_eq!(written(&devices[0]).0, long.asked);
    // After the first third nothing grows but what is bounded: files (6 MiB), and the writers of the second device's
    // probe (12 MiB), of which each program that makes a file is one. The first device's probe begins anew with it.
    let third = memory.len() / 3;
    let before = memory[third..third + 2].iter().max().unwrap();
    let after = memory[memory.len() - 2..].iter().min().unwrap();
    eprintln!(
        "{} rounds, {} programs, {} files, {aways} times without the device, {} with a full disk: {} MiB of memory \
         after a third, {} at the end, {:.2} s of processor",
        long.round,
        2 * long.round * PROGRAMS,
        long.round * PROGRAMS,
        long.fills,
        before >> 20,
        after >> 20,
        last["own"]["cpu_s"].as_f64().unwrap()
    );
    let said = |words: &str| told.lines().filter(|line| line.contains(words)).count();
    // What says that it is gone says what happens when it is back.
    assert_eq!([said("is gone"), said("is back")], [aways, 2 * aways]);
    assert_eq!(said("is lost"), 2 * long.fills);
    // Besides them each device is told once, when watching begins, and each time that it is attached to.
    let others = said("") - said("attaching to ");
    assert_eq!(others, 2 + 2 * (aways + long.fills), "{told}");
    let came = MOST.min(PROGRAMS * (memory.len() - third) as u64);
    let allowed = OTHER_BYTES + came * (FILE_BYTES + WRITER_BYTES);
    assert!(*after < before + allowed, "{memory:?}");
}
