//! The user's program on the drive.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::drive::Drive;
use crate::processes::{Process, RunProcesses};
use crate::program::find_program;

/// The text in the program's arguments that stands for the drive's directory.
const PLACEHOLDER: &[u8] = b"{dir}";
/// The environment variable that holds the drive's directory.
const VARIABLE: &str = "ANABRANCH_DIR";
/// Time that processes left behind by the program have to end by themselves. Our choice.
const GRACE: Duration = Duration::from_secs(2);

/// The reason why the program did not start, or cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// No command was given.
    #[error("no command to run: give one after `--`")]
    NoCommand,

    /// No program of that name was found.
    #[error(
        "{name}: command not found; is it installed (`apt-file search bin/{name}` names the package)? sudo has a PATH of its own: `command -v {name}` as yourself shows the full path, give that"
    )]
    NotFound {
        /// The program as it was given.
        name: String,
    },

    /// The file does not exist.
    #[error("{}: no such file; a path is seen from where anabranch was started", path.display())]
    NoSuchFile {
        /// The file's absolute path.
        path: PathBuf,
    },

    /// The file exists, but the kernel does not start it.
    #[error("{} cannot be started ({source}): {}", path.display(), start_remedy(source))]
    Start {
        /// The file's path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },

    /// The kernel did not tell the program's state.
    #[error("the program's exit status was lost ({0})")]
    Wait(#[source] io::Error),
}

fn start_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "make it executable, `chmod +x`",
        io::ErrorKind::NotFound => {
            "the interpreter its first line or its ELF header names is missing"
        }
        _ => "is it a program for this machine, or a script without `#!`?",
    }
}

/// The origin of an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptSource {
    /// Ctrl-C: the terminal has already sent SIGINT to the whole foreground group, with the program in it.
    Terminal,
    /// A signal to this process only (`kill`, a supervisor).
    Process,
}

/// The targets of a program's two output streams.
#[derive(Debug)]
pub struct Output {
    /// The target of standard output.
    pub stdout: Stdio,
    /// The target of standard error.
    pub stderr: Stdio,
}

impl Output {
    /// The targets of our own output streams.
    pub fn inherited() -> Self {
        Output {
            stdout: Stdio::inherit(),
            stderr: Stdio::inherit(),
        }
    }
}

/// The running program, with the processes it has started.
///
/// The program stays in our process group, so that the terminal is the program's as well: Ctrl-C and Ctrl-Z reach both.
#[derive(Debug)]
pub struct Workload {
    child: Child,
    processes: RunProcesses,
    was_interrupted: bool,
}

impl Workload {
    /// Starts `command` (program and arguments) in the drive's directory. `{dir}` in an argument becomes that
    /// directory, which is also in the variable `ANABRANCH_DIR`. A program given by a relative path is looked for in
    /// the directory this process was started in. The program's input is ours, and `output` says where its output goes.
    ///
    /// # Errors
    /// When there is no command, or the program cannot be found or started.
    pub fn spawn<S: AsRef<OsStr>>(
        command: &[S],
        drive: &Drive,
        output: Output,
    ) -> Result<Self, WorkloadError> {
        Workload::spawn_in(command, drive, Some(drive.mount_point()), output)
    }

    /// Starts `command` as [`spawn`](Self::spawn) does, in another directory; without one, in the directory this
    /// process was started in.
    ///
    /// # Errors
    /// As for [`spawn`](Self::spawn).
    pub fn spawn_in<S: AsRef<OsStr>>(
        command: &[S],
        drive: &Drive,
        start: Option<&Path>,
        output: Output,
    ) -> Result<Self, WorkloadError> {
        let directory = drive.mount_point();
        let words: Vec<OsString> = command
            .iter()
            .map(|word| insert_directory(word.as_ref(), directory))
            .collect();
        let (name, arguments) = words.split_first().ok_or(WorkloadError::NoCommand)?;
        let path = locate(name)?;
        let mut program = Command::new(&path);
        program
            .arg0(name)
            .args(arguments)
            .env(VARIABLE, directory)
            .stdout(output.stdout)
            .stderr(output.stderr);
        if let Some(start) = start {
            program.current_dir(start);
        }
        let processes = drive.namespace().run_processes().clone();
        let child = processes
            .admit(&mut program)
            .and_then(|()| program.spawn())
            .map_err(|source| WorkloadError::Start {
                path: path.clone(),
                source,
            })?;
        tracing::info!(program = ?path, pid = child.id(), "program started");
        Ok(Workload {
            child,
            processes,
            was_interrupted: false,
        })
    }

    /// The id of the program's first process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The program's exit status once it has ended; does not wait. Processes it started may still run.
    ///
    /// # Errors
    /// When the kernel does not know the process any more.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, WorkloadError> {
        self.child.try_wait().map_err(WorkloadError::Wait)
    }

    /// Interrupts the program. The first call sends SIGINT to the program and all it started, unless the terminal has
    /// sent it already; further calls kill them. It does not wait: [`try_wait`](Self::try_wait) tells when the program
    /// has ended.
    pub fn interrupt(&mut self, source: InterruptSource) {
        if self.was_interrupted {
            self.processes.kill();
        } else if source == InterruptSource::Process {
            self.processes.signal(Signal::SIGINT);
        }
        self.was_interrupted = true;
    }

    /// Ends every process of the run that still lives, daemons included: SIGTERM first, SIGKILL after 2 s. Answers with
    /// those it found, for a message to the user. Call it after the program has ended.
    pub fn end_stragglers(&self) -> Vec<Process> {
        self.processes.end(GRACE)
    }
}

/// The status that a shell would show: the exit code, or 128 + the number of the signal that ended the program.
pub fn status_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

fn locate(name: &OsStr) -> Result<PathBuf, WorkloadError> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    find_program(name, &search_path).ok_or_else(|| {
        if name.as_bytes().contains(&b'/') {
            let path = std::path::absolute(name).unwrap_or_else(|_| PathBuf::from(name));
            WorkloadError::NoSuchFile { path }
        } else {
            let name = name.to_string_lossy().into_owned();
            WorkloadError::NotFound { name }
        }
    })
}

/// Replaces `{dir}` in an argument. Arguments are bytes, and need not be UTF-8.
fn insert_directory(word: &OsStr, directory: &Path) -> OsString {
    let mut rest = word.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some(at) = rest
        .windows(PLACEHOLDER.len())
        .position(|window| window == PLACEHOLDER)
    {
        bytes.extend_from_slice(&rest[..at]);
        bytes.extend_from_slice(directory.as_os_str().as_bytes());
        rest = &rest[at + PLACEHOLDER.len()..];
    }
    bytes.extend_from_slice(rest);
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_becomes_the_directory_and_other_bytes_stay() {
        let insert =
            |word: &[u8]| insert_directory(OsStr::from_bytes(word), Path::new("/mnt/a")).into_vec();
        assert_eq!(insert(b"--db={dir}/x:{dir}"), b"--db=/mnt/a/x:/mnt/a");
        assert_eq!(insert(b"{dir"), b"{dir");
        assert_eq!(insert(b"\xff{dir}{"), b"\xff/mnt/a{");
        assert_eq!(insert(b""), b"");
    }

    #[test]
    fn a_status_is_the_exit_code_or_128_and_the_signal() {
        assert_eq!(status_code(ExitStatus::from_raw(0)), 0);
        assert_eq!(status_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(status_code(ExitStatus::from_raw(2)), 130);
        assert_eq!(status_code(ExitStatus::from_raw(9)), 137);
    }

    #[test]
    fn a_command_that_is_not_there_is_named() {
        let bare = locate("no-such-program-at-all".as_ref()).unwrap_err();
        assert!(
            bare.to_string()
                .starts_with("no-such-program-at-all: command not found"),
            "{bare}"
        );
        let path = locate("./no-such-program".as_ref()).unwrap_err();
        assert!(matches!(path, WorkloadError::NoSuchFile { .. }), "{path}");
    }
}
