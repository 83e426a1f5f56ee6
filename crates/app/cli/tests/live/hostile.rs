//! Other users' programs that want a recording to fail: it ends in time and in bounded memory, and the bytes of all
//! others are exact.

use std::{
    env, fs,
    net::TcpStream,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use anabranch_trace::{Operation, Reader};
use nix::sys::signal::Signal;

use super::{
    group::Group,
    support::{ANABRANCH, Device, Ended, MIB, Place, Started, anabranch, wait_until, writes},
    watcher::{Watcher, free_address, scrape, written},
};

const PROGRAM: &str = include_str!("hostile.py");
const ATTACKS: [&str; 9] = [
    "pipe", "link", "hole", "cut", "storm", "name", "many", "fuse", "groups",
];
/// Bytes of private memory that a recorder and its inspector have at most: 512 MiB that the inspector may have, and
/// what a recording of a small device takes.
const MOST_RESIDENT: u64 = (512 + 256) * MIB;
/// The longest that a recording may go on after its program has ended: a minute for names of calls, and what a machine
/// under load takes.
const MOST_AFTER: Duration = Duration::from_secs(240);
/// The half of the device that the others write.
const HONEST_BYTES: u64 = 32 * MIB;

/// Private memory of a process and of each of its children, in bytes.
fn resident_each(pid: i32) -> Vec<(String, u64)> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let own = pid.to_string();
    let all = children.split_whitespace().chain([own.as_str()]);
    let of = |pid: &str| {
        // The program that runs beside is not the recorder's.
        let name = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let is_ours = String::from_utf8_lossy(&name).contains("anabranch");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let kibibytes = line?.split_whitespace().next()?.parse::<u64>().ok()?;
        let state = status.lines().find(|line| line.starts_with("State:"))?;
        is_ours.then(|| (format!("{pid}, {state}"), kibibytes << 10))
    };
    all.filter_map(of).collect()
}

fn resident(pid: i32) -> u64 {
    resident_each(pid).iter().map(|(_, bytes)| bytes).sum()
}

/// A user without privileges: a place and a control group of his own.
struct Hostile {
    group: Group,
    place: Place,
}

impl Hostile {
    fn new() -> Hostile {
        let place = Place::new();
        fs::write(place.path("hostile.py"), PROGRAM).unwrap();
        Hostile {
            group: Group::new(&place),
            place,
        }
    }

    /// The command that attacks whoever looks at what writes to a target.
    fn command(&self, target: &str, seed: u64, rounds: u64, attacks: &[&str]) -> String {
        format!(
            "python3 {} {target} {} {} {seed} {rounds} {}",
            self.place.path("hostile.py"),
            self.place.directory(),
            self.group.path(),
            attacks.join(" ")
        )
    }

    /// Bytes that it wrote; it has ended.
    fn written(&self) -> u64 {
        let text = fs::read_to_string(self.place.path("written")).unwrap();
        text.parse().unwrap()
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        // Its file server ends, and with it every look at its files.
        let _ = fs::write(self.place.path("stop"), "");
        let silent = self.place.path("silent");
        let is_mounted = || {
            fs::read_to_string("/proc/mounts")
                .unwrap()
                .contains(&silent)
        };
        for _ in 0..500 {
            if !is_mounted() {
                break;
            }
            sleep(Duration::from_millis(10));
            let umount = Command::new("umount").args(["-l", &silent]).output();
            drop(umount);
        }
    }
}

/// Waits for the end of a command beside which a hostile program runs: it has so much memory at most, and so much time
/// once that program has ended.
fn ends_in_bounds(started: &mut Started, hostile: &Hostile, most_bytes: u64) {
    let began = Instant::now();
    let mut attacks_ended = None;
    while !started.ends_within(Duration::from_millis(20)) {
        let each = resident_each(started.pid());
        let bytes: u64 = each.iter().map(|(_, bytes)| bytes).sum();
        assert!(bytes < most_bytes, "{bytes} bytes: {each:?}");
        if hostile.place.has("written") {
            attacks_ended.get_or_insert_with(Instant::now);
        }
        let late = attacks_ended.is_some_and(|at: Instant| at.elapsed() > MOST_AFTER);
        assert!(!late, "the command does not end");
        assert!(began.elapsed() < Duration::from_secs(600));
    }
}

/// Records a device while a program attacks and another writes; answers what the recording said.
fn attacked(seed: u64, rounds: u64, attacks: &[&str]) -> Ended {
    eprintln!("hostile programs under seed {seed}: {attacks:?}");
    let (place, hostile) = (Place::new(), Hostile::new());
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let honest = format!(
        "for n in 1 2 3 4; do {}; sleep 0.2; done",
        device.dd(HONEST_BYTES / MIB).join(" ")
    );
    let attack = hostile.command(&device.0, seed, rounds, attacks);
    let script = format!("({honest}) & {attack}; wait");
    let tenants = format!("{}/*", hostile.group.name);
    let mut command = Command::new(ANABRANCH);
    command.args(["record", "--device", &device.0, "-o", &trace]);
    if attacks.contains(&"groups") {
        command.args(["--tenant", &tenants]);
    }
    let mut started = Started::new(command.args(["--", "sh", "-c", &script]));
    ends_in_bounds(&mut started, &hostile, MOST_RESIDENT);
    let ended = started.end().with_status(0);
    let all = writes(&trace);
    let bytes = |is_honest: bool| -> u64 {
        let own = all
            .iter()
            .filter(|io| (io.offset_bytes < HONEST_BYTES) == is_honest);
        own.map(|io| io.length_bytes).sum()
    };
    assert_eq!(bytes(true), 4 * HONEST_BYTES, "seed {seed}");
    assert_eq!(bytes(false), hostile.written(), "seed {seed}");
    assert!(hostile.written() > 0, "seed {seed}: {}", ended.stderr);
    let tables = Reader::open(&trace).unwrap().tables().clone();
    assert_eq!(tables.capture.lost_events, 0, "seed {seed}");
    // Whatever the others do, an honest program's context is known, and is its own.
    let honest = all.iter().filter(|io| io.offset_bytes < HONEST_BYTES);
    for io in honest {
        let context = &tables.contexts[io.context.0 as usize];
        assert_eq!(context.role, "dd", "seed {seed}");
    }
    ended
}

#[test]
fn a_pipe_or_a_device_in_the_place_of_unlinked_code_holds_no_recording_up() {
    // A recorder that opened the pipe would wait for good: beyond what `attacked` waits.
    let ended = attacked(1, 8, &["pipe", "link"]);
    // Neither is opened, so nothing is waited for.
    assert!(!ended.stdout.contains("led to nothing"), "{}", ended.stdout);
}

#[test]
fn a_symbol_table_of_gigabytes_takes_no_memory_of_the_recorder() {
    attacked(2, 3, &["hole"]);
}

#[test]
fn a_program_that_is_cut_short_while_it_is_read_ends_no_recording() {
    attacked(3, 4, &["cut"]);
}

#[test]
fn a_file_whose_server_never_answers_costs_a_recording_names_and_nothing_else() {
    let ended = attacked(4, 4, &["fuse"]);
    assert!(ended.stdout.contains("led to nothing"), "{}", ended.stdout);
}

#[test]
fn control_groups_that_come_and_go_cost_a_recording_nothing() {
    let ended = attacked(5, 6, &["groups"]);
    let words = [ended.stdout, ended.stderr].concat();
    assert!(!words.contains('\u{1b}'), "{words:?}");
}

#[test]
fn a_run_beside_hostile_programs_ends_with_its_table_and_its_trace() {
    let (place, hostile) = (Place::new(), Hostile::new());
    let trace = place.path("trace.parquet");
    let attack = hostile.command("attacked", 6, 12, &ATTACKS);
    let small = [
        "run", "--size", "128MiB", "--unit", "1MiB", "-s", "baseline", "--chdir",
    ];
    let mut command = Command::new(ANABRANCH);
    command
        .args(small)
        .args(["--backing", place.directory(), "-t", &trace])
        .args(["--", "sh", "-c", &attack]);
    let mut started = Started::new(&mut command);
    ends_in_bounds(&mut started, &hostile, MOST_RESIDENT);
    started.end().with_status(0).shows_table();
    let mut reader = Reader::open(&trace).unwrap();
    let (mut bytes, mut batch) = (0, Vec::new());
    while reader.read_batch(&mut batch).unwrap() {
        let writes = batch.iter().filter(|io| io.operation == Operation::Write);
        bytes += writes.map(|io| io.length_bytes).sum::<u64>();
    }
    assert_eq!(reader.tables().capture.lost_events, 0);
    // And what the file system writes for itself.
    assert!(
        bytes >= hostile.written() && hostile.written() > 0,
        "{bytes}"
    );
}

#[test]
fn a_watcher_beside_hostile_programs_stays_up_and_counts_every_byte() {
    let (place, hostile) = (Place::new(), Hostile::new());
    let device = Device::new(&place);
    let address = free_address();
    let words = [&device.0, "--memory", "128MiB", "--metrics", &address];
    let watcher = Watcher::start(&place, &words);
    let attack = hostile.command(&device.0, 7, 24, &ATTACKS);
    let mut program = Started::new(Command::new("sh").args(["-c", &attack]));
    let mut most = 0;
    while !program.ends_within(Duration::from_millis(20)) {
        most = most.max(resident(watcher.started.pid()));
    }
    program.end().with_status(0);
    let written_bytes = hostile.written();
    watcher.wait_until("the writes", |now| {
        written(&now["devices"][0]).0 == written_bytes
    });
    assert!(most < MOST_RESIDENT, "{most} bytes");
    let up = format!("anabranch_watch_up{{device=\"{}\"}} 1.0\n", device.0);
    wait_until("the watcher to be up", || scrape(&address).contains(&up));
    let began = Instant::now();
    watcher.end();
    assert!(began.elapsed() < MOST_AFTER);
}

#[test]
fn whatever_a_hostile_user_does_a_recording_ends_and_the_bytes_of_all_are_exact() {
    let minutes = env::var("ANABRANCH_SOAK_MINUTES").ok();
    let minutes: u64 = minutes.and_then(|text| text.parse().ok()).unwrap_or(0);
    let until = Instant::now() + Duration::from_secs(60 * minutes);
    for seed in 10.. {
        attacked(seed, 24, &ATTACKS);
        if Instant::now() >= until {
            eprintln!("hostile programs under seeds 10..={seed}: every recording held");
            break;
        }
    }
}

/// Waits until a command catches an interruption, and interrupts it: while its probe is attached, that is.
fn interrupted_at_once(words: &[&str]) -> (Duration, Ended) {
    let started = Started::new(Command::new(ANABRANCH).args(words));
    wait_until("SIGINT to be caught", || {
        let status = fs::read_to_string(format!("/proc/{}/status", started.pid())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        caught >> (Signal::SIGINT as u64 - 1) & 1 == 1
    });
    sleep(Duration::from_millis(100));
    let began = Instant::now();
    started.signal(Signal::SIGINT);
    let ended = started.end();
    (began.elapsed(), ended)
}

#[test]
fn an_interruption_while_probes_attach_is_obeyed_at_once() {
    let place = Place::new();
    let device = Device::new(&place);
    let trace = place.path("trace.parquet");
    let run = ["run", "--size", "64MiB", "--no-trace"];
    for words in [
        &["record", "--device", &device.0, "-o", &trace][..],
        &["watch", &device.0],
        &[
            &run[..],
            &["--backing", place.directory(), "--", "sleep", "60"],
        ]
        .concat(),
    ] {
        let (took, ended) = interrupted_at_once(words);
        assert!(took < Duration::from_secs(3), "{words:?}: {took:?}");
        // Where the kernel was faster, it is the end of a recording of nothing.
        let is_known = ended.stderr.contains("interrupted before") || ended.status.success();
        assert!(is_known, "{words:?}: {ended:?}");
    }
    // Its file lies in the place as well.
    drop(device);
    place.wait_until_abandoned();
}

#[test]
fn a_watcher_that_looks_no_more_is_not_up() {
    let place = Place::new();
    let device = Device::new(&place);
    let address = free_address();
    let words = ["watch", &device.0, "--unit", "1MiB", "--every", "0.1s"];
    let more = ["--json", "--metrics", &address];
    let mut command = Command::new(ANABRANCH);
    // Nobody reads its standard output, which is soon full.
    let started = Started::new(command.args(words).args(more));
    let up = |value: &str| {
        let line = format!("anabranch_watch_up{{device=\"{}\"}} {value}\n", device.0);
        scrape(&address).contains(&line)
    };
    wait_until("the watcher's figures", || {
        TcpStream::connect(&address).is_ok()
    });
    wait_until("the watcher to be up", || up("1.0"));
    wait_until("the watcher not to be up", || up("0.0"));
    started.signal(Signal::SIGINT);
    started.end().with_status(0);
}

#[test]
fn a_trace_or_page_that_cannot_be_written_keeps_nothing_else_back() {
    let place = Place::new();
    let (result, page) = (place.path("result.json"), place.path("page.html"));
    let trace = place.path("trace.parquet");
    let dd = "dd if=/dev/zero of=x bs=1M count=20 conv=fsync status=none";
    let small = [
        "run", "--size", "64MiB", "--unit", "1MiB", "-s", "baseline", "--chdir",
    ];
    for (trace, page) in [("/dev/full", page.as_str()), (&trace, "/dev/full")] {
        let _ = fs::remove_file(&result);
        let outputs = ["-t", trace, "-o", &result, "--html", page];
        let program = ["--", "sh", "-c", dd];
        let ended = anabranch(&[&small[..], &outputs, &program].concat()).with_status(1);
        ended.shows_table();
        assert!(ended.stderr.contains("/dev/full"), "{}", ended.stderr);
        assert!(place.has("result.json"));
    }
    assert!(place.has("page.html") && place.has("trace.parquet"));
    let device = Device::new(&place);
    let record = ["record", "--device", &device.0, "-o", "/dev/full", "--"];
    let dd = device.dd(3);
    let dd: Vec<&str> = dd.iter().map(String::as_str).collect();
    let ended = anabranch(&[&record[..], &dd].concat()).with_status(1);
    assert!(ended.stdout.contains("NOT written"), "{}", ended.stdout);
    assert!(ended.stderr.contains("/dev/full"), "{}", ended.stderr);
}
