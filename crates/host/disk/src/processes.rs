//! The processes of a run: all in its control group, and all that share its mount namespace.
//!
//! A daemon that forked twice and made a session of its own is still in both, so that it is found without a process
//! tree; a container's processes are in the group, and processes that another program brought into the namespace are
//! seen there.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::control_group::ControlGroup;

/// The time between two looks whether processes have ended.
const POLL: Duration = Duration::from_millis(10);
/// How long a killed process may take to disappear before we give up on it, since it hangs in the kernel. Our choice.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// A process that belongs to the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The process's id.
    pub pid: i32,
    /// The process's name, as `ps -o comm` shows it.
    pub name: String,
}

/// The process with that id, if it lives.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(Process {
        pid: i32::try_from(pid).ok()?,
        name: String::from_utf8_lossy(&name).trim_end().to_owned(),
    })
}

/// Whether this very program runs there, begun by this process: an inspector of the probe, which is not the run's.
fn is_own_child(pid: u32) -> bool {
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own = program("self");
    own.is_some() && program(&pid.to_string()) == own && parent(pid) == Some(std::process::id())
}

/// The process that began another (proc_pid_stat(5), field 4). The name, in parentheses, may hold anything.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit(')')
        .next()?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Finds and signals the processes of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunProcesses {
    /// The target of the link /proc/PID/ns/mnt.
    namespace: PathBuf,
    /// The run's control group; `None` where the kernel has none.
    group: Option<Arc<ControlGroup>>,
    /// The processes that are never signalled: this one and the guardian.
    excluded: [u32; 2],
}

impl RunProcesses {
    /// The processes in `group` and in the calling thread's mount namespace, without this one and `guardian`.
    pub(crate) fn of_this_thread(
        guardian: u32,
        group: Option<Arc<ControlGroup>>,
    ) -> std::io::Result<Self> {
        Ok(RunProcesses {
            namespace: fs::read_link("/proc/thread-self/ns/mnt")?,
            group,
            excluded: [std::process::id(), guardian],
        })
    }

    /// Makes the process that `command` starts one of them from its first moment.
    pub(crate) fn admit(&self, command: &mut Command) -> std::io::Result<()> {
        self.group
            .as_ref()
            .map_or(Ok(()), |group| group.admit(command))
    }

    /// The processes that live now. Dead ones that nobody has waited for hold nothing and do not count.
    pub(crate) fn list(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let in_namespace = ids.filter(|pid| self.is_in_namespace(*pid) && !is_own_child(*pid));
        let mut members: BTreeSet<u32> = in_namespace.collect();
        members.extend(self.group.iter().flat_map(|group| group.members()));
        let others = members
            .into_iter()
            .filter(|pid| !self.excluded.contains(pid));
        others.filter_map(process).collect()
    }

    fn is_in_namespace(&self, pid: u32) -> bool {
        fs::read_link(format!("/proc/{pid}/ns/mnt")).is_ok_and(|link| link == self.namespace)
    }

    /// Sends `signal` to all processes that live now. Answers which ones.
    pub(crate) fn signal(&self, signal: Signal) -> Vec<Process> {
        let processes = self.list();
        for process in &processes {
            // It may have ended since: nothing to do then.
            let _ = kill(Pid::from_raw(process.pid), signal);
        }
        processes
    }

    /// Asks all processes to end, and kills those alive after `grace`. Answers with those it had to ask.
    pub(crate) fn end(&self, grace: Duration) -> Vec<Process> {
        let asked = self.signal(Signal::SIGTERM);
        if !asked.is_empty() && !self.gone_within(grace) {
            self.kill();
        }
        asked
    }

    /// Kills all processes, again and again until none is left, since one that forks may slip through a single pass.
    pub(crate) fn kill(&self) {
        if let Some(group) = &self.group {
            // Before Linux 5.14 there is no such file, and the passes below do it.
            let _ = group.kill();
        }
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
