//! `steer --mount`: each file's life-time hint, as rules say, on a file system that hands hints on. No data passes
//! through the command.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anabranch_compare::read_text;
use anabranch_doctor::{Reach, Verdict};
use anabranch_placement::{FileRules, SchemeSpec};
use anabranch_report::printable;
use anabranch_steer::{FileHints, HintCounts, HintsLeft, Opened, Restored, SteerError, open_files};
use anabranch_trace::WriteHint;
use clap::Args;
use serde_json::{Value, json};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::SteerArguments;
use crate::{
    error::{CommandError, Result},
    output::give,
    say,
};

/// Time that a look for opened files waits (our choice): an end that was asked for comes as soon.
const PACE: Duration = Duration::from_millis(50);
/// Between two checks that the file system is still there (our choice).
const EVERY: Duration = Duration::from_secs(1);

/// Arguments for giving files hints.
#[derive(Debug, Args)]
pub struct HintArguments {
    /// Instead of a drive: set the life-time hint of each file of the file system mounted here, as `--scheme manual`
    /// says by the file's name. It must hand hints on: --yes sets them where that is not known
    #[arg(long, value_name = "DIR", conflicts_with_all = ["device", "handles", "queues", "depth", "copy", "unwatched",
        "shadow", "spare", "lifetimes", "watchdog", "metrics", "tenant", "html"])]
    pub mount: Option<PathBuf>,
    /// Give all files the hints that they had, at the end
    #[arg(long, requires = "mount")]
    pub restore: bool,
    /// Only give all files the hints that they had, after an earlier command that was killed or left its hints
    #[arg(long, requires = "mount", conflicts_with_all = ["restore", "scheme"])]
    pub undo: bool,
}

/// A mounted file system's place.
struct Mount {
    root: PathBuf,
    /// The file system's number.
    device: u64,
}

/// The state at the end.
struct End<'a> {
    root: &'a Path,
    scheme: &'a str,
    counts: HintCounts,
    /// Times that more files were opened than the kernel's queue held.
    overflows: u64,
    /// Files that have hints of ours.
    left: usize,
    restored: Option<Restored>,
}

/// Sets hints until it is told to stop, or the file system is unmounted.
pub fn set(arguments: &SteerArguments) -> Result {
    let asked = arguments.hints.mount.as_deref().unwrap_or(Path::new("/"));
    let mount = Mount::of(asked)?;
    let place = HintsLeft::place(mount.device);
    if arguments.hints.undo {
        return undo(&mount, &place, arguments);
    }
    let (scheme, rules) = rules(arguments)?;
    if !arguments.yes {
        mount.hands_hints_on()?;
    }
    let opened = Opened::watch(&mount.root).map_err(CommandError::usage)?;
    let left = HintsLeft::open(&place).map_err(CommandError::usage)?;
    if left.files() > 0 {
        say::line(&format!(
            "{} files may have hints of an earlier command: --restore and --undo count them in",
            left.files()
        ));
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(CommandError::work)?;
    let mut hints = FileHints::new(rules, &mount.root, left);
    say::line(&printable(&format!(
        "setting the hints of files on {} by {}",
        mount.root.display(),
        scheme.name()
    )));
    let (overflows, is_there) = follow(&mount, &opened, &mut hints, &mut signals)?;
    drop(opened);
    end(arguments, &mount, scheme.name(), hints, overflows, is_there)
}

/// The rules that say a class for each file.
fn rules(arguments: &SteerArguments) -> Result<(SchemeSpec, FileRules)> {
    let scheme = SchemeSpec::read(&arguments.scheme, &read_text).map_err(CommandError::usage)?;
    let refused = |reason| {
        CommandError::wrong_use(format!(
            "--scheme: {reason}; --scheme manual:rules=mine.toml works, and so do the shipped sets, as in manual:rules=sqlite"
        ))
    };
    let rules = FileRules::of(&scheme).map_err(refused)?;
    if !rules.left_out().is_empty() {
        say::print_note(&format!(
            "rules {:?} ask who writes, where or with which hint: of a file as a whole nobody can say that, and they are \
             left out",
            rules.left_out()
        ));
    }
    Ok((scheme, rules))
}

/// Sees to each file that is open or is opened. Also whether the file system is still mounted at the end.
fn follow(
    mount: &Mount,
    opened: &Opened,
    hints: &mut FileHints,
    signals: &mut Signals,
) -> Result<(u64, bool)> {
    let (mut overflows, mut looked) = (0, Instant::now());
    let mut failed = Ok(());
    open_files(mount.device, &mut |file| {
        keep_first_error(&mut failed, hints.meet(file))
    });
    while signals.pending().next().is_none() {
        let dropped = opened.poll(PACE, &mut |file| {
            keep_first_error(&mut failed, hints.meet(file))
        });
        if dropped.map_err(CommandError::work)? {
            overflows += 1;
            open_files(mount.device, &mut |file| {
                keep_first_error(&mut failed, hints.meet(file))
            });
        }
        std::mem::replace(&mut failed, Ok(())).map_err(CommandError::work)?;
        if looked.elapsed() >= EVERY {
            looked = Instant::now();
            if !mount.is_there() {
                return Ok((overflows, false));
            }
            hints.left().tend(&mount.root).map_err(CommandError::work)?;
        }
    }
    Ok((overflows, mount.is_there()))
}

/// Keeps the first failure.
fn keep_first_error(failed: &mut Result<(), SteerError>, now: Result<(), SteerError>) {
    if failed.is_ok() {
        *failed = now;
    }
}

fn end(
    arguments: &SteerArguments,
    mount: &Mount,
    scheme: &str,
    hints: FileHints,
    overflows: u64,
    is_there: bool,
) -> Result {
    let counts = hints.counts();
    let left = hints.into_left();
    let files = left.files();
    let (mut files, mut restored) = (files, None);
    if is_there && arguments.hints.restore {
        let done = left.restore(&mount.root).map_err(CommandError::work)?;
        (files, restored) = (done.refused as usize, Some(done));
    } else if !is_there {
        say::line(&format!("{} was unmounted", mount.root.display()));
        // Where it is mounted elsewhere, its files have their hints still.
        if !mount.is_mounted_somewhere() {
            left.forget().map_err(CommandError::work)?;
            files = 0;
        }
    }
    let end = End {
        root: &mount.root,
        scheme,
        counts,
        overflows,
        left: files,
        restored,
    };
    let output = arguments.output.as_deref();
    give(&end.json(), output, arguments.json, || end.text())
}

/// Undoes what an earlier command has left.
fn undo(mount: &Mount, place: &Path, arguments: &SteerArguments) -> Result {
    let is_there = place.try_exists().map_err(|error| {
        CommandError::wrong_use(format!(
            "cannot look, as root, for {}: {error}",
            place.display()
        ))
    })?;
    let restored = if is_there {
        let left = HintsLeft::open(place).map_err(CommandError::usage)?;
        left.restore(&mount.root).map_err(CommandError::work)?
    } else {
        Restored::default()
    };
    let json = json!({ "schema": 1, "mount": mount.root, "restored": restored_json(restored) });
    let output = arguments.output.as_deref();
    give(&json, output, arguments.json, || words(restored))
}

impl Mount {
    /// The file system mounted at a directory.
    fn of(asked: &Path) -> Result<Mount> {
        let wrong = |problem: &dyn std::fmt::Display| {
            CommandError::wrong_use(format!(
                "--mount {}: {problem}; `findmnt` lists the mount points there are",
                asked.display()
            ))
        };
        let root = fs::canonicalize(asked).map_err(|error| wrong(&error))?;
        let device = |path: &Path| fs::metadata(path).map(|found: Metadata| found.dev());
        let own = device(&root).map_err(|error| wrong(&error))?;
        let is_root = match root.parent() {
            None => true,
            Some(above) => device(above).map_err(|error| wrong(&error))? != own,
        };
        if !root.is_dir() || !is_root {
            return Err(wrong(&"no file system is mounted there"));
        }
        Ok(Mount { root, device: own })
    }

    /// Whether it is still mounted.
    fn is_there(&self) -> bool {
        fs::metadata(&self.root).is_ok_and(|found| found.dev() == self.device)
    }

    fn numbers(&self) -> String {
        let (major, minor) = (
            nix::sys::stat::major(self.device),
            nix::sys::stat::minor(self.device),
        );
        format!("{major}:{minor}")
    }

    /// Whether this mount namespace has it anywhere.
    fn is_mounted_somewhere(&self) -> bool {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let numbers = self.numbers();
        table
            .lines()
            .any(|line| line.split(' ').nth(2) == Some(&numbers))
    }

    /// Refuses a file system from which no hint reaches the drive.
    fn hands_hints_on(&self) -> Result {
        let refused = |words: &str| {
            CommandError::wrong_use(format!(
                "--mount {}: {words} --yes sets hints all the same",
                self.root.display()
            ))
        };
        let link = PathBuf::from(format!("/sys/dev/block/{}", self.numbers()));
        let name = match fs::read_link(&link) {
            Ok(target) => target.file_name().unwrap_or_default().to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(refused("no block device is known to lie below it."));
            }
            Err(error) => return Err(CommandError::work(error)),
        };
        let device = anabranch_doctor::device(Path::new("/"), &Path::new("/dev").join(name));
        let Verdict { reach, words, .. } =
            anabranch_doctor::file_hints(&device.map_err(CommandError::wrong_use)?);
        match reach {
            Reach::No => Err(refused(&words)),
            Reach::Partly => {
                say::line(&words);
                Ok(())
            }
            Reach::Yes => Ok(()),
        }
    }
}

fn restored_json(restored: Restored) -> Value {
    json!({
        "restored": restored.restored,
        "vanished": restored.vanished,
        "changed": restored.changed,
        "refused": restored.refused,
    })
}

fn words(restored: Restored) -> String {
    format!(
        "{} files have the hints again that they had; {} are gone, or their hints were forgotten; {} have other hints by \
         now and keep them; {} could not be opened now: --undo tries again\n",
        restored.restored, restored.vanished, restored.changed, restored.refused
    )
}

impl End<'_> {
    fn json(&self) -> Value {
        let set = WriteHint::ALL.iter().zip(self.counts.set);
        let set: serde_json::Map<String, Value> = set
            .map(|(hint, count)| (hint.name().to_owned(), count.into()))
            .collect();
        json!({
            "schema": 1,
            "mount": self.root,
            "scheme": self.scheme,
            "hints_set": set,
            "had_their_hint": self.counts.had,
            "refused": self.counts.refused,
            "overflows": self.overflows,
            "files_left": self.left,
            "restored": self.restored.map(restored_json),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (hint, count) in WriteHint::ALL.iter().zip(self.counts.set) {
            if count > 0 {
                text += &format!("{:<8} {count} files\n", hint.name());
            }
        }
        text += &format!(
            "{} openings of files that had their hint\n",
            self.counts.had
        );
        if self.counts.refused > 0 {
            text += &format!(
                "{} openings where the kernel refused a hint\n",
                self.counts.refused
            );
        }
        match self.restored {
            Some(restored) => text += &words(restored),
            None if self.left > 0 => {
                text += &format!(
                    "{} files keep their hints: --undo gives them back\n",
                    self.left
                );
            }
            None => {}
        }
        text
    }
}
