//! The processes of a run: all that share its mount namespace.
//!
//! A daemon that forked twice and made a session of its own still has the namespace it was born in, so this
//! finds it without a process tree. A program that enters yet another mount namespace (a container) is not seen.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How often we look whether processes have ended.
const POLL: Duration = Duration::from_millis(10);
/// How long a killed process may take to be gone before we give up on it (it hangs in the kernel). Our choice.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// A process that belongs to the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its name, as `ps -o comm` shows it.
    pub name: String,
}

/// "name (pid), name (pid)", or who else it can be.
pub(crate) fn names(processes: &[Process]) -> String {
    if processes.is_empty() {
        return "this process or one outside the run".to_owned();
    }
    let words: Vec<String> = processes
        .iter()
        .map(|process| format!("{} ({})", process.name, process.pid))
        .collect();
    words.join(", ")
}

/// Finds and signals the processes of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunProcesses {
    /// What /proc/PID/ns/mnt points to.
    namespace: PathBuf,
    /// Ourselves and the guardian.
    excluded: [u32; 2],
}

impl RunProcesses {
    /// The processes in the calling thread's mount namespace, without our own and `guardian`.
    pub(crate) fn of_this_thread(guardian: u32) -> std::io::Result<Self> {
        Ok(RunProcesses {
            namespace: fs::read_link("/proc/thread-self/ns/mnt")?,
            excluded: [std::process::id(), guardian],
        })
    }

    /// Those that live now. The dead that nobody has waited for yet hold nothing and do not count.
    pub(crate) fn list(&self) -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
            .filter(|pid| !self.excluded.contains(pid))
            .filter_map(|pid| self.member(pid))
            .collect()
    }

    fn member(&self, pid: u32) -> Option<Process> {
        let namespace = fs::read_link(format!("/proc/{pid}/ns/mnt")).ok()?;
        if namespace != self.namespace {
            return None;
        }
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(Process {
            pid: i32::try_from(pid).ok()?,
            name: name.trim_end().to_owned(),
        })
    }

    /// Sends `signal` to all that live now, and says to whom.
    pub(crate) fn signal(&self, signal: Signal) -> Vec<Process> {
        let processes = self.list();
        for process in &processes {
            // It may have ended since: nothing to do then.
            let _ = kill(Pid::from_raw(process.pid), signal);
        }
        processes
    }

    /// Asks all to end, kills what lives after `grace`, and returns those it had to ask.
    pub(crate) fn end(&self, grace: Duration) -> Vec<Process> {
        let asked = self.signal(Signal::SIGTERM);
        if !asked.is_empty() && !self.gone_within(grace) {
            self.kill();
        }
        asked
    }

    /// Kills all, again and again until none is left, for one that forks may slip through a single pass.
    pub(crate) fn kill(&self) {
        let deadline = Instant::now() + KILL_PATIENCE;
        while !self.signal(Signal::SIGKILL).is_empty() && Instant::now() < deadline {
            sleep(POLL);
        }
    }

    fn gone_within(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while !self.list().is_empty() {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(POLL);
        }
        true
    }
}
