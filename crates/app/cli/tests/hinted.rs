//! `steer --mount`: hints of files on a file system of memory, which keeps them as any other does. What arrives at a
//! drive is shown in the guest (`guest/hints.rs`). Root.

#![cfg(feature = "steer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    os::{fd::AsFd as _, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anabranch_trace::WriteHint;
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

const RULES: &str = "[[rule]]\nfile = \"*.log\"\nstream = 1\n[[rule]]\nfile = \"*.sst\"\ntenant = 7\nstream = 2\n\
                     [[rule]]\nfile = \"*.sst\"\nstream = 3\n";

fn anabranch() -> Command {
    Command::new(env!("CARGO_BIN_EXE_anabranch"))
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One file system at a time: the kernel gives the number of one that is gone to the next.
static ALONE: Mutex<()> = Mutex::new(());

/// A file system of its own, and rules beside it.
struct Place(
    TempDir,
    #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>,
);

impl Place {
    fn new() -> Place {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Place(TempDir::new().unwrap(), alone);
        fs::create_dir(place.root()).unwrap();
        let nothing = None::<&str>;
        mount(
            Some("none"),
            &place.root(),
            Some("tmpfs"),
            MsFlags::empty(),
            nothing,
        )
        .expect("root may mount");
        fs::write(place.rules(), RULES).unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("mnt")
    }

    fn rules(&self) -> PathBuf {
        self.0.path().join("rules.toml")
    }

    fn hint(&self, name: &str) -> WriteHint {
        anabranch_steer::hint(File::open(self.root().join(name)).unwrap().as_fd()).unwrap()
    }

    /// Waits until a file has a hint; the daemon sees to it within a moment.
    fn has(&self, name: &str, hint: WriteHint) {
        for _ in 0..1000 {
            if self.hint(name) == hint {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{name} has {}, not {}", self.hint(name).name(), hint.name());
    }

    fn call(&self, more: &[&str]) -> Command {
        let mut command = anabranch();
        command
            .args(["steer", "--mount"])
            .arg(self.root())
            .args(more);
        command
    }

    /// A daemon that has begun.
    fn start(&self, more: &[&str]) -> Child {
        let rules = format!("manual:rules={}", self.rules().display());
        let mut command = self.call(&["--yes", "--json", "--scheme", &rules]);
        command
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
        let begun = lines.any(|line| line.unwrap().contains("setting the hints"));
        assert!(begun, "it ended with {:?}", child.wait());
        child
    }

    fn undo(&self) -> Value {
        json(&self.call(&["--undo", "--json"]).output().unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = umount2(&self.root(), MntFlags::MNT_DETACH);
    }
}

fn json(output: &Output) -> Value {
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn end(child: Child, signal: Signal) -> Output {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
    child.wait_with_output().unwrap()
}

fn created(path: &Path) -> File {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap()
}

#[test]
fn files_have_the_hints_that_rules_say_and_have_their_own_again() {
    let place = Place::new();
    let root = place.root();
    let early = created(&root.join("early.log"));
    let daemon = place.start(&["--restore"]);
    place.has("early.log", WriteHint::Short);
    let left_alone = created(&root.join("notes.txt"));
    created(&root.join("1.sst"));
    created(&root.join("tenant-7/2.sst"));
    place.has("1.sst", WriteHint::Long);
    place.has("tenant-7/2.sst", WriteHint::Medium);
    assert_eq!(place.hint("notes.txt"), WriteHint::NotSet);
    // By a new name it has another class, once it is opened again; `hint` opens it.
    fs::rename(root.join("1.sst"), root.join("1.log")).unwrap();
    place.has("1.log", WriteHint::Short);
    let ended = json(&end(daemon, Signal::SIGINT));
    drop((early, left_alone));
    let set = &ended["hints_set"];
    assert_eq!(
        (&set["short"], &set["medium"], &set["long"]),
        (&2.into(), &1.into(), &1.into())
    );
    assert_eq!(ended["restored"]["restored"], 3, "{ended:#}");
    for name in ["early.log", "1.log", "tenant-7/2.sst"] {
        assert_eq!(place.hint(name), WriteHint::NotSet, "{name}");
    }
}

#[test]
fn what_a_killed_one_has_set_is_told_and_undone() {
    let place = Place::new();
    let root = place.root();
    let daemon = place.start(&[]);
    for name in ["a.log", "b.log", "c.log"] {
        created(&root.join(name));
        place.has(name, WriteHint::Short);
    }
    end(daemon, Signal::SIGKILL);
    place.has("a.log", WriteHint::Short);
    fs::remove_file(root.join("b.log")).unwrap();
    // The next counts them in, whether it goes on or only undoes.
    let mut next = place.start(&[]);
    let second = place
        .call(&["--yes", "--scheme", "manual"])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(complaint(&second).contains("another process sets hints"));
    assert!(place.call(&["--undo"]).output().unwrap().status.code() == Some(2));
    next.kill().unwrap();
    next.wait().unwrap();
    let undone = place.undo();
    assert_eq!(undone["restored"]["restored"], 2, "{undone:#}");
    assert_eq!(undone["restored"]["vanished"], 1, "{undone:#}");
    assert_eq!(place.hint("a.log"), WriteHint::NotSet);
    assert_eq!(place.undo()["restored"]["restored"], 0);
}

#[test]
fn files_that_vanish_and_an_unmount_stop_nobody() {
    let place = Place::new();
    let root = place.root();
    let daemon = place.start(&[]);
    for number in 0..2000 {
        let path = root.join(format!("{number}.log"));
        created(&path);
        fs::remove_file(path).unwrap();
    }
    // A pipe that nobody writes keeps nobody waiting.
    let pipe = root.join("pipe.log");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    drop(File::options().read(true).write(true).open(&pipe).unwrap());
    created(&root.join("stays.log"));
    place.has("stays.log", WriteHint::Short);
    umount2(&root, MntFlags::MNT_DETACH).unwrap();
    let ended = json(&daemon.wait_with_output().unwrap());
    assert_eq!(
        (&ended["refused"], &ended["files_left"]),
        (&0.into(), &0.into()),
        "{ended:#}"
    );
}

#[test]
fn what_cannot_be_is_refused_with_what_works() {
    let place = Place::new();
    let inside = place.root().join("inside");
    fs::create_dir(&inside).unwrap();
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = place.call(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let told = complaint(&output);
        for word in words {
            assert!(told.contains(word), "{arguments:?}: {told}");
        }
    };
    refused(&["--scheme", "manual"], &["no block device", "--yes"]);
    refused(
        &["--yes"],
        &["who writes which page", "manual:rules=mine.toml"],
    );
    refused(
        &["--device", "/dev/null"],
        &["--device", "cannot be used with"],
    );
    refused(&["--undo", "--scheme", "manual"], &["cannot be used with"]);
    let output = anabranch()
        .args(["steer", "--mount"])
        .arg(&inside)
        .output()
        .unwrap();
    assert!(complaint(&output).contains("no file system is mounted there"));
    assert_eq!(
        anabranch().arg("steer").output().unwrap().status.code(),
        Some(2)
    );
}

#[test]
fn whoever_is_not_root_is_told_so() {
    let place = Place::new();
    let copy = place.0.path().join("anabranch");
    // By a process of its own: a file that we have written could be held open by a fork of ours.
    let mut install = Command::new("install");
    install.arg(env!("CARGO_BIN_EXE_anabranch")).arg(&copy);
    assert!(install.status().unwrap().success());
    fs::set_permissions(place.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    drop(json(&end(place.start(&[]), Signal::SIGINT)));
    for asked in [&["--yes", "--scheme", "manual"][..], &["--undo"]] {
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        nobody.arg(place.0.path().join("anabranch"));
        nobody
            .args(["steer", "--mount"])
            .arg(place.root())
            .args(asked);
        let output = nobody.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{asked:?}");
        assert!(complaint(&output).contains("as root"), "{output:?}");
    }
    place.undo();
}
