//! Counts of events on which the kernel skipped the probe's programs.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;

use libbpf_rs::ProgramMut;

/// The kind of event that a program is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    Requests,
    /// Requests that the first program was skipped on.
    LateRequests,
    /// Commands that programs pass to a drive; where these are found as they are issued, all requests.
    Commands,
    DirtyPages,
    Calls,
    /// Reads of files.
    Reads,
    Renames,
    /// Requests that a device made of others sends below.
    Remaps,
    /// Pages that are marked as dirty again, since they could not be written out.
    Redirtied,
    Exits,
}

/// A program in the kernel.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub hook: Hook,
    /// The file in which the kernel describes the program, as long as the program exists.
    told: PathBuf,
}

impl Loaded {
    /// `late` are the programs that take what the one for requests was skipped on.
    pub(crate) fn new(program: &ProgramMut<'_>, late: &[&str]) -> Loaded {
        let hook = match program.name().to_str() {
            Some("on_dirty_folio") => Hook::DirtyPages,
            Some("on_fcntl" | "on_syscall_exit") => Hook::Calls,
            Some("on_read_pages" | "on_map_pages") => Hook::Reads,
            Some("on_rename") => Hook::Renames,
            Some("on_remap") => Hook::Remaps,
            Some("on_redirty") => Hook::Redirtied,
            Some("on_exit") => Hook::Exits,
            Some("on_pass" | "on_pass_and_wait" | "on_issue") => Hook::Commands,
            Some(name) if late.contains(&name) => Hook::LateRequests,
            _ => Hook::Requests,
        };
        Loaded {
            hook,
            told: place_of(program.as_fd()),
        }
    }

    /// Missed runs of the program; `None` where the kernel does not count them.
    pub(crate) fn misses(&self) -> Option<u64> {
        count(&fs::read_to_string(&self.told).ok()?, "recursion_misses:")
    }
}

/// The file in which the kernel describes the object of a descriptor.
fn place_of(descriptor: BorrowedFd<'_>) -> PathBuf {
    format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd()).into()
}

/// A count that the kernel gives for a program or a map.
pub(crate) fn told_of(descriptor: BorrowedFd<'_>, name: &str) -> Option<u64> {
    count(&fs::read_to_string(place_of(descriptor)).ok()?, name)
}

fn count(told: &str, name: &str) -> Option<u64> {
    let mut lines = told.lines();
    let count = lines.find_map(|line| line.strip_prefix(name))?;
    count.trim().parse().ok()
}

/// Events on which the kernel skipped the programs. It skips a program that is already running on the same processor,
/// in an interrupt or, where programs are preemptible, in another thread; and a kprobe's while a thread of that processor is
/// within a call about a map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub requests: u64,
    /// Commands that programs passed to a drive, or requests among which these were looked for.
    pub commands: u64,
    pub dirty_pages: u64,
    pub calls: u64,
    /// Whether the kernel does not count all of them.
    pub uncounted: bool,
    /// Replies that the programs did not take.
    pub unanswered: u64,
}

/// Sums up the events that each program was skipped on.
pub(crate) fn skipped(programs: impl Iterator<Item = (Hook, Option<u64>)>) -> Skipped {
    let mut skipped = Skipped::default();
    for (hook, misses) in programs {
        let count = match hook {
            Hook::Requests => &mut skipped.requests,
            Hook::Commands => &mut skipped.commands,
            // Nearly all of them the first has taken; one read of the many before a file says nothing; a file is called
            // by its name before; a request below whose remap was not seen has its submitter as its writer; a page that
            // was put off has, rarely, who put it off; and of hardly any process that ends is there anything to tell.
            Hook::LateRequests
            | Hook::Reads
            | Hook::Renames
            | Hook::Remaps
            | Hook::Redirtied
            | Hook::Exits => continue,
            Hook::DirtyPages => &mut skipped.dirty_pages,
            Hook::Calls => &mut skipped.calls,
        };
        *count += misses.unwrap_or(0);
        skipped.uncounted |= misses.is_none();
    }
    skipped
}

impl Skipped {
    /// Number of events whose absence makes the capture incomplete. Skipped system calls are left out: hardly any of
    /// them asks for a hint.
    pub(crate) fn events(self) -> u64 {
        self.requests + self.commands + self.dirty_pages
    }

    /// The same of a capture in which no program passed a command.
    pub(crate) fn without_commands(self) -> Skipped {
        Skipped {
            commands: 0,
            ..self
        }
    }

    /// Sentences on the events that were skipped.
    pub(crate) fn limitations(self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.requests > 0 {
            sentences.push(format!(
                "{} requests are missing: the kernel skipped the probe's program on them (recursion_misses), since it or a call about an eBPF map was under way on the same processor.",
                self.requests
            ));
        }
        if self.commands > 0 {
            sentences.push(format!(
                "{} times the kernel skipped the program that looks for commands which programs pass to the drive (recursion_misses): some may be missing.",
                self.commands
            ));
        }
        if self.dirty_pages > 0 {
            sentences.push(format!(
                "{} times a page was made dirty unseen, since the kernel skipped the probe's program (recursion_misses): those writes carry the last writer of their file.",
                self.dirty_pages
            ));
        }
        if self.calls > 0 {
            sentences.push(format!(
                "{} system calls were not looked at for write hints, since the kernel skipped the probe's program (recursion_misses): a hint that was refused may be missing.",
                self.calls
            ));
        }
        if self.unanswered > 0 {
            sentences.push(format!(
                "The kernel refused {} answers to the probe's programs: the call paths of those programs were looked for in the words of their stacks alone.",
                self.unanswered
            ));
        }
        if self.uncounted {
            sentences.push(
                "The kernel does not count the events on which it skips a program: some may be missing."
                    .to_owned(),
            );
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_count_is_read() {
        let told = "pos:\t0\nprog_type:\t26\nrecursion_misses:\t17\nverified_insns:\t9\n";
        assert_eq!(count(told, "recursion_misses:"), Some(17));
        assert_eq!(count("pos:\t0\n", "recursion_misses:"), None);
    }

    #[test]
    fn skipped_requests_and_pages_are_lost_events_and_calls_are_told_alone() {
        let all = [
            (Hook::Requests, Some(3)),
            (Hook::DirtyPages, Some(20)),
            (Hook::Calls, Some(100)),
        ];
        let skipped = skipped(all.into_iter());
        assert_eq!(skipped.events(), 23);
        let told = skipped.limitations();
        assert_eq!(told.len(), 3);
        for (sentence, count) in told
            .iter()
            .zip(["3 requests", "20 times", "100 system calls"])
        {
            assert!(sentence.starts_with(count), "{sentence}");
        }
    }

    #[test]
    fn a_kernel_that_skips_nothing_gets_no_words_and_one_that_does_not_count_some() {
        assert!(Skipped::default().limitations().is_empty());
        let refused = Skipped {
            unanswered: 3,
            ..Skipped::default()
        };
        assert!(refused.limitations()[0].contains("refused 3 answers"));
        assert_eq!(refused.events(), 0);
        let told = skipped([(Hook::Requests, None)].into_iter()).limitations();
        assert!(told[0].contains("does not count"), "{told:?}");
    }
}
