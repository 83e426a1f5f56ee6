//! Outputs are whole or absent, at whichever system call the command is killed, and they are on the
//! disk before it has its name. strace counts the calls and kills at one of them.
//!
//! The contents of a file system change at the calls of [`CALLS`] alone, so that kills at these are kills at
//! any moment. ANABRANCH_KILLS says how many kills each verb gets; the short form is 12. Where there are
//! more kills than calls, calls are met again. ANABRANCH_KILLED names a verb that is killed alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod command;
#[cfg(feature = "live")]
#[path = "killed/live.rs"]
mod live;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use command::{anabranch, text, trace};
use tempfile::TempDir;

const KILLS: usize = 12;
/// Calls at which what a file system holds can change.
const CALLS: &str = "openat,creat,write,writev,pwrite64,pwritev,pwritev2,copy_file_range,sendfile,splice,fallocate,\
                     ftruncate,fsync,fdatasync,link,linkat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat";
/// Content of an output before the run.
const BEFORE: &str = "before <!-- experiment small -->\n<!-- end of small -->\n";

/// A verb with what it writes below `{out}`; inputs lie below `{in}`.
struct Case {
    words: &'static str,
    /// Whether something may be at the outputs before; it must for a document.
    over: Over,
}

#[derive(Clone, Copy, PartialEq)]
enum Over {
    Nothing,
    Anything,
    Always,
}

/// A command to a card.
const MMC: &str =
    "a-1 [0] 1.0: mmc_request_start: mmc0: x: cmd_opcode=25 cmd_arg=0x8 blocks=8 block_size=512\n";

const CASES: [Case; 16] = [
    on("replay {in}/t.parquet --scheme baseline --unit 1MiB -o {out}/r.json --html {out}/p.html"),
    // What was there is a profile, or wrong.
    new("replay {in}/t.parquet --scheme pcstream --unit 1MiB --lifetimes {out}/lives.json"),
    on("import {in}/t.csv --format msr -o {out}/i.parquet"),
    on("contexts {in}/t.parquet -o {out}/c.json"),
    on("coverage {in}/t.parquet -o {out}/c.json"),
    on("emmc {in}/mmc.txt -d demo -o {out}/e.json"),
    on("diff {in}/r.json {in}/other.json -o {out}/d.json"),
    on("report {in}/r.json -o {out}/p.html"),
    on("precondition --size 8MiB --unit 64KiB --capacities 1 -o {out}/aged.drive"),
    on("export {in}/t.parquet --unit 1MiB --to rules,hints,fdp,fio -o {out}/advice"),
    on("export {in}/t.parquet --to csv -o {out}/t.csv"),
    on(
        "experiment {in}/small.toml --directory {in}/experiments -o {out}/r.json --html {out}/p.html",
    ),
    Case {
        words: "experiment {in}/small.toml --directory {in}/experiments -o {in}/r2.json --document {out}/d.md",
        over: Over::Always,
    },
    new("sweep {in}/grid.toml -o {out}/fleet --batch 1 --workers 1"),
    on("schemes -o {out}/s.json"),
    on("devices -o {out}/d.json"),
];

/// `serve` has a test of its own, and `steer` needs a drive, which it writes beside what others write.
/// `doctor`, `top`, `waf` and `workloads` write as `schemes` does; `run`, `record` and `watch` have tests of their own, since no two
/// of them write the same.
const WITHOUT: [&str; 10] = [
    "doctor",
    "help",
    "record",
    "run",
    "serve",
    "steer",
    "top",
    "waf",
    "watch",
    "workloads",
];

const fn on(words: &'static str) -> Case {
    let over = Over::Anything;
    Case { words, over }
}

const fn new(words: &'static str) -> Case {
    let over = Over::Nothing;
    Case { words, over }
}

/// The files below a directory by name, but for those that are hidden until they are whole.
type Tree = BTreeMap<String, Vec<u8>>;

fn tree(root: &Path) -> Tree {
    let (mut tree, mut left) = (Tree::new(), vec![root.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = text(path.strip_prefix(root).unwrap()).to_owned();
            let own = text(Path::new(path.file_name().unwrap()));
            if path.is_dir() {
                left.push(path);
            } else if !(own.starts_with(".anabranch-") && own.ends_with(".partial")) {
                tree.insert(name, fs::read(path).unwrap());
            }
        }
    }
    tree
}

/// Empties the place of outputs, and puts what was there before.
fn prepare(out: &Path, names: impl Iterator<Item = impl AsRef<str>>) {
    fs::remove_dir_all(out).unwrap();
    fs::create_dir(out).unwrap();
    for name in names {
        let path = out.join(name.as_ref());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, BEFORE).unwrap();
    }
}

/// The calls of the command's first thread; with `-f` those of all it starts, too.
fn strace(log: &Path, more: &[&str], words: &[String]) -> ExitStatus {
    let mut command = Command::new("strace");
    command
        .args(["-qqq", "-e", "signal=none", "-o", text(log)])
        .args(["-e", &format!("trace={CALLS}")])
        .args(more)
        .arg(env!("CARGO_BIN_EXE_anabranch"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = command.status();
    status.expect("strace is missing: apt-get install strace")
}

/// A call at which files change: its name, and how many of that name its thread has made with it.
type KillPoint = (String, usize);

/// The calls of a run that was not killed. What gets a name must be on the disk by then.
fn points(log: &Path) -> Vec<KillPoint> {
    let log = fs::read_to_string(log).unwrap();
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    let mut files = Files::default();
    let mut points = Vec::new();
    for line in log.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        let begins = !call.starts_with(['<', '+']);
        let Some((name, rest)) = call.split_once('(').filter(|_| begins) else {
            continue;
        };
        let count = counts.entry((thread, name)).or_default();
        *count += 1;
        if files.change(name, rest) {
            points.push((name.to_owned(), *count));
        }
    }
    assert!(files.named > 0, "nothing got a name: {log}");
    points
}

/// State of the files after a run's calls.
#[derive(Default)]
struct Files<'a> {
    /// The numbers of open files that hold what may not be on the disk.
    unsynced: BTreeSet<u32>,
    /// The number that each path was opened as.
    made: HashMap<&'a str, u32>,
    /// Files that got a name.
    named: u32,
}

impl<'a> Files<'a> {
    /// Takes a call, by its name and the rest of its line. Answers whether it changes files.
    fn change(&mut self, name: &str, rest: &'a str) -> bool {
        let file = rest.split([',', ')', ' ']).next().unwrap();
        let file: u32 = file.parse().unwrap_or(0);
        let path = rest.split('"').nth(1);
        match name {
            "openat" => {
                let opened = rest.rsplit(' ').next();
                let opened = opened.and_then(|number| number.parse().ok());
                if let (Some(opened), Some(path)) = (opened, path) {
                    // The number of a file that was closed is given to the next.
                    self.unsynced.remove(&opened);
                    self.made.insert(path, opened);
                }
                rest.contains("O_CREAT") || rest.contains("O_TMPFILE")
            }
            "write" | "writev" | "pwrite64" => {
                self.unsynced.insert(file);
                file > 2
            }
            "fsync" | "fdatasync" => {
                self.unsynced.remove(&file);
                true
            }
            "linkat" => {
                let (_, open) = rest.split_once("/proc/self/fd/").unwrap();
                let open = open.split('"').next().unwrap().parse().unwrap();
                self.name(Some(open), rest);
                true
            }
            "rename" | "renameat" | "renameat2" => {
                self.name(path.and_then(|old| self.made.get(old)).copied(), rest);
                true
            }
            _ => true,
        }
    }

    /// A file gets a name.
    fn name(&mut self, file: Option<u32>, rest: &str) {
        self.named += 1;
        let is_whole = file.is_none_or(|file| !self.unsynced.contains(&file));
        assert!(is_whole, "named before it is on the disk: {rest}");
    }
}

/// Calls at which kills happen: spread over all, and, in the short form as well, the last ones, where files
/// get their names.
fn chosen(points: &[KillPoint], kills: usize) -> Vec<&KillPoint> {
    let all = points.len();
    let at = |kill: usize| match kills < all {
        true if kill.is_multiple_of(2) => all * kill / kills,
        true => all - 1 - kill / 2,
        false => kill % all,
    };
    (0..kills).map(|kill| &points[at(kill)]).collect()
}

fn inputs() -> TempDir {
    let place = TempDir::new().unwrap();
    let input = trace(&place);
    let at = |name: &str| text(&place.path().join(name)).to_owned();
    let made = |words: &[&str]| assert!(anabranch(words).status.success(), "{words:?}");
    made(&["export", text(&input), "--to", "msr", "-o", &at("t.csv")]);
    fs::write(at("mmc.txt"), MMC).unwrap();
    for (name, scheme) in [("r.json", "baseline"), ("other.json", "pcstream")] {
        made(&[
            "replay",
            text(&input),
            "--unit",
            "1MiB",
            "--scheme",
            scheme,
            "-o",
            &at(name),
        ]);
    }
    let grid = format!(
        "traces = '{}'\nschemes = ['baseline', 'hints']\n[drive]\nunit = '1MiB'\n",
        text(&input)
    );
    fs::write(at("grid.toml"), grid).unwrap();
    let experiment = "title = 'a'\nsource = 'a'\nsetup = 'a'\n[[run]]\nname = 'a'\ntrace = 't.parquet'\n\
                      scheme = 'baseline'\nunit = '1MiB'\n";
    fs::write(at("small.toml"), experiment).unwrap();
    fs::create_dir(at("experiments")).unwrap();
    place
}

/// Kills a verb so often, half of them with something at its outputs where there may be, and answers how
/// many kills met it alive.
fn kill(case: &Case, inputs: &Path, kills: usize) -> usize {
    let place = TempDir::new().unwrap();
    let (out, log) = (place.path().join("out"), place.path().join("log"));
    fs::create_dir(&out).unwrap();
    let words = case
        .words
        .replace("{in}", text(inputs))
        .replace("{out}", text(&out));
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    if case.over == Over::Always {
        prepare(&out, ["d.md"].iter());
    }
    assert!(strace(&log, &["-f"], &words).success(), "{words:?}");
    let whole = tree(&out);
    assert!(!whole.is_empty(), "{words:?} wrote nothing");
    let modes: &[bool] = match case.over {
        Over::Nothing => &[false],
        Over::Anything => &[false, true],
        Over::Always => &[true],
    };
    let (mut killed, mut calls) = (0, 0);
    for &is_over in modes {
        let prepare = || prepare(&out, whole.keys().filter(|_| is_over));
        prepare();
        let before = tree(&out);
        assert!(strace(&log, &["-f"], &words).success(), "{words:?}");
        let points = points(&log);
        calls += points.len();
        for (name, count) in chosen(&points, kills / modes.len()) {
            prepare();
            let inject = format!("inject={name}:signal=SIGKILL:when={count}");
            let ended = strace(Path::new("/dev/null"), &["-f", "-e", &inject], &words);
            killed += usize::from(!ended.success());
            let found = tree(&out);
            for (file, bytes) in &found {
                assert!(
                    whole.get(file) == Some(bytes) || before.get(file) == Some(bytes),
                    "{words:?} killed at {name} {count} left {} bytes of {file}, which has {:?}",
                    bytes.len(),
                    whole.get(file).map(Vec::len)
                );
            }
            let lost = before.keys().find(|file| !found.contains_key(*file));
            assert_eq!(lost, None, "{words:?} killed at {name} {count}");
        }
    }
    // What a kill leaves is no obstacle: the same again is done to its end.
    assert!(strace(&log, &["-f"], &words).success(), "{words:?}");
    assert_eq!(tree(&out), whole, "{words:?} after a kill");
    eprintln!(
        "{killed:>5} of {kills} kills at {calls} calls: {}",
        case.words
    );
    killed
}

#[test]
fn a_verb_that_is_killed_at_any_call_leaves_what_was_there_or_the_whole() {
    let kills = std::env::var("ANABRANCH_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let only = std::env::var("ANABRANCH_KILLED").ok();
    let inputs = inputs();
    let mut run = 0;
    for case in &CASES {
        let verb = case.words.split(' ').next();
        if only.is_some() && only.as_deref() != verb {
            continue;
        }
        let killed = kill(case, inputs.path(), kills);
        assert!(killed * 2 >= kills, "{}: {killed} of {kills}", case.words);
        run += 1;
    }
    assert!(run > 0, "no case is of the verb {only:?}");
}

#[cfg(feature = "serve")]
mod served_state {
    use std::io::{BufRead as _, BufReader};

    use anabranch_nvme::Checkpoint;
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };

    use super::*;

    /// `serve` with its state in a file, under strace until it listens, then told to stop: whether it ended well.
    fn serve(state: &Path, log: &Path, more: &[&str]) -> bool {
        let address =
            "127.0.0.1:0 --size 8MiB --unit 64KiB --over-provisioning 50% --data memory --state";
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qqq", "-e", "signal=none", "-o", text(log)])
            .args(["-e", &format!("trace={CALLS}")])
            .args(more)
            .args([env!("CARGO_BIN_EXE_anabranch"), "serve", "--listen"])
            .args(address.split(' '))
            .arg(state)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .expect("strace is missing: apt-get install strace");
        let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
        // Nothing more is told by one that was killed before it listened.
        if told.any(|line| line.unwrap().contains("nvme connect")) {
            let children = format!("/proc/{0}/task/{0}/children", child.id());
            let served = fs::read_to_string(children).unwrap();
            for served in served.split_whitespace() {
                // One that was killed meanwhile is gone.
                let _ = kill(Pid::from_raw(served.parse().unwrap()), Signal::SIGTERM);
            }
        }
        told.for_each(drop);
        child.wait().unwrap().success()
    }

    #[test]
    fn a_served_drives_state_is_the_old_or_the_new_one_whenever_it_is_killed() {
        let kills = std::env::var("ANABRANCH_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
        let place = TempDir::new().unwrap();
        let (state, log) = (place.path().join("state"), place.path().join("log"));
        assert!(serve(&state, &log, &[]));
        let mut killed = 0;
        for is_over in [false, true] {
            if !is_over {
                fs::remove_file(&state).unwrap();
            }
            assert!(serve(&state, &log, &[]));
            let calls = points(&log);
            for (name, count) in chosen(&calls, kills / 2) {
                if !is_over {
                    let _ = fs::remove_file(&state);
                }
                let inject = format!("inject={name}:signal=SIGKILL:when={count}");
                killed += usize::from(!serve(&state, Path::new("/dev/null"), &["-e", &inject]));
                let found = Checkpoint::at(&state, "").read().unwrap();
                assert!(
                    found.is_some() || !is_over,
                    "killed at {name} {count}: no state"
                );
            }
        }
        // It goes on from what a kill left.
        assert!(serve(&state, &log, &[]));
        eprintln!("{killed:>5} of {kills} kills: serve --state");
        assert!(killed * 2 >= kills, "{killed} of {kills}");
    }
}

#[test]
fn every_verb_with_an_output_is_killed_or_is_told_why_not() {
    let help = String::from_utf8(anabranch(&["--help"]).stdout).unwrap();
    let (_, verbs) = help.split_once("Commands:\n").unwrap();
    let verbs = verbs.lines().take_while(|line| !line.is_empty());
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    // `calibrate` takes a drive, and writes one file as `precondition` does.
    for verb in verbs.filter(|verb| !["", "calibrate"].contains(verb)) {
        let is_killed = CASES
            .iter()
            .any(|case| case.words.split(' ').next() == Some(verb));
        assert!(is_killed || WITHOUT.contains(&verb), "{verb}");
    }
}
