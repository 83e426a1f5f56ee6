//! Files of programs, as an [`Inspector`] reads them while a capture runs.

use std::fs;
use std::time::{Duration, Instant};

use crate::bounded::BoundedMap;
use crate::inspector::Inspector;
use crate::inspector::message::{Answer, CodeFile, CodePlace, Limits, Program, Question};
use crate::unwinding::Rule;

/// Limits of one question. Our choice: on an idle machine an answer takes some milliseconds, and records wait in the
/// ring meanwhile.
const LIMITS: Limits = Limits {
    seconds: 2,
    heap_bytes: 64 << 20,
    address_bytes: 2 << 30,
};
/// The time for which programs of a user are not looked at after one of them led to no answer. Our choice.
const QUARANTINE: Duration = Duration::from_secs(60);
/// The most users that are remembered for it. Our choice.
const MAX_USERS: usize = 1024;
/// The time that may be waited in vain at once, and the share of the capture's time: one in so many. Our choice: were
/// it more, requests of other programs would be lost for want of room in the ring.
const SPARE: Duration = Duration::from_secs(4);
const SHARE: u32 = 20;

/// Answers on files of programs.
#[derive(Debug)]
pub(crate) struct ProgramFiles {
    inspector: Inspector,
    began: Instant,
    /// Time that was waited in vain.
    waited: Duration,
    /// The last time that a user's program led to no answer; the user is `None` for programs that are gone.
    users: BoundedMap<Option<u32>, Instant>,
    unanswered: u64,
}

impl ProgramFiles {
    /// Answers on files, from an inspector that is started here: a program that ends soon must not wait for it.
    pub(crate) fn new() -> ProgramFiles {
        let mut inspector = Inspector::new(LIMITS);
        inspector.begin();
        ProgramFiles {
            inspector,
            began: Instant::now(),
            waited: Duration::ZERO,
            users: BoundedMap::new(MAX_USERS),
            unanswered: 0,
        }
    }

    /// The executable mappings of a process.
    pub(crate) fn program(&mut self, tgid: u32) -> Option<Program> {
        match self.ask(tgid, &Question::Program(tgid))? {
            Answer::Program(program) => Some(program),
            _ => None,
        }
    }

    /// The build-id of a file; `None` if it has none or cannot be read.
    pub(crate) fn build_id(&mut self, file: CodeFile) -> Option<String> {
        match self.ask(file.tgid, &Question::BuildId(file))? {
            Answer::Text(text) => text,
            _ => None,
        }
    }

    /// The rules of places in files of a process; `None` if there is no answer.
    pub(crate) fn rules(
        &mut self,
        tgid: u32,
        files: Vec<CodeFile>,
        places: Vec<CodePlace>,
    ) -> Option<Vec<Rule>> {
        match self.ask(tgid, &Question::Rules(files, places))? {
            Answer::Rules(rules) => Some(rules),
            _ => None,
        }
    }

    /// The functions of a just-in-time compiler at addresses of a process; `None` if it has no map of them.
    pub(crate) fn functions(
        &mut self,
        tgid: u32,
        addresses: Vec<u64>,
    ) -> Option<Vec<Option<String>>> {
        match self.ask(tgid, &Question::Functions(tgid, addresses))? {
            Answer::Functions(functions) => functions,
            _ => None,
        }
    }

    /// A sentence on questions without an answer, if there are any.
    pub(crate) fn limitation(&self) -> Option<String> {
        (self.unanswered > 0).then(|| {
            format!(
                "{} looks at files of programs led to nothing: a file did not answer, was cut short, or asked for too \
                 much memory. Calls of programs of these users are known in part or not at all; their writes are \
                 counted as all others.",
                self.unanswered
            )
        })
    }

    fn ask(&mut self, tgid: u32, question: &Question) -> Option<Answer> {
        let user = user_of(tgid);
        let answer = self.asked(user, question);
        self.unanswered += u64::from(answer.is_none());
        answer
    }

    fn asked(&mut self, user: Option<u32>, question: &Question) -> Option<Answer> {
        let quarantine = self.users.get_mut(&user);
        let is_quarantined = quarantine.is_some_and(|since| since.elapsed() < QUARANTINE);
        if is_quarantined || self.waited > SPARE + self.began.elapsed() / SHARE {
            return None;
        }
        let now = Instant::now();
        let answer = self.inspector.ask(question, &mut || true);
        if answer.is_none() {
            self.waited += now.elapsed();
            self.users.insert(user, Instant::now());
        }
        answer
    }
}

/// The real user of a process (proc_pid_status(5)); `None` if it is gone. The owner of `/proc/PID` would be root for a
/// process that wants it so (PR_SET_DUMPABLE).
fn user_of(tgid: u32) -> Option<u32> {
    let status = fs::read(format!("/proc/{tgid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().next()?.parse().ok()
}
