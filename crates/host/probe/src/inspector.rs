//! The process that reads files which other users chose: maps of programs, build-ids, code, symbols.
//!
//! A file may never answer (FUSE, a pipe), be cut short while it is mapped (SIGBUS), or claim to be larger than memory.
//! So this process asks another, which has few privileges, little memory and little time; one that does not answer is
//! killed, and the next question starts the next one.

mod call_frames;
mod code_file;
mod confinement;
mod maps;
pub(crate) mod message;
mod perf_map;
mod process;
mod symbol_files;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::heap::private_bytes;
use message::{Answer, Limits, MARK, Question, WORD, receive, send};

pub use process::inspect_if_asked;

/// The longest that an inspector may take until it is ready, before anything is recorded. Our choice: an emulated
/// machine takes some seconds.
const BEGIN: Duration = Duration::from_secs(30);
/// The longest that one started anew may take: records wait meanwhile. Our choice.
const START: Duration = Duration::from_secs(5);
/// The time until the next attempt after one could not be started. Our choice.
const PAUSE: Duration = Duration::from_secs(60);
/// The most killed inspectors that still hang in the kernel; no more are started until one is gone. Our choice.
const MAX_HANGING: usize = 8;
/// The most private memory that they may hold together, beside which another is started. Our choice.
const MAX_HANGING_BYTES: u64 = 64 << 20;
/// The longest that a start waits for them to give it back. Our choice: a loaded machine takes that long to end one.
const LEAVE: Duration = Duration::from_millis(500);
/// The time between two looks whether the waiting is to be given up. Our choice.
const SLICE: Duration = Duration::from_millis(50);

/// A process to ask.
#[derive(Debug)]
pub(crate) struct Inspector {
    limits: Limits,
    running: Option<Running>,
    /// Killed and not yet gone.
    hanging: Vec<Child>,
    /// The last time that none could be started.
    failed: Option<Instant>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    stream: UnixStream,
}

impl Inspector {
    /// An inspector that works within limits. It is started when something is asked, or by [`Inspector::begin`].
    pub(crate) fn new(limits: Limits) -> Inspector {
        Inspector {
            limits,
            running: None,
            hanging: Vec::new(),
            failed: None,
        }
    }

    /// Starts the process now, so that the first question finds it ready. One that cannot be started is tried anew when
    /// something is asked.
    pub(crate) fn begin(&mut self) {
        if let Ok(running) = self.start(BEGIN) {
            self.running = Some(running);
        }
    }

    /// Asks a question; waits for the answer at most as long as the limits say, and no longer than `is_wanted`. `None`
    /// if there is no answer: the inspector has been killed then.
    pub(crate) fn ask(
        &mut self,
        question: &Question,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Option<Answer> {
        let patience = Duration::from_secs(self.limits.seconds.into());
        let answer = self
            .running()
            .and_then(|running| running.exchange(question, patience, is_wanted));
        if answer.is_err() {
            self.end();
        }
        answer.ok()
    }

    fn running(&mut self) -> io::Result<&mut Running> {
        if self.running.is_none() {
            if self.failed.is_some_and(|at| at.elapsed() < PAUSE) {
                return Err(ErrorKind::NotConnected.into());
            }
            let started = self.start(START);
            self.failed = started.is_err().then(Instant::now);
            self.running = Some(started?);
        }
        self.running
            .as_mut()
            .ok_or_else(|| ErrorKind::NotConnected.into())
    }

    fn start(&mut self, patience: Duration) -> io::Result<Running> {
        self.reap_within(LEAVE);
        // One that a file keeps in the kernel keeps its memory too: another would add to it.
        let has_no_room =
            self.hanging.len() >= MAX_HANGING || self.hanging_bytes() > MAX_HANGING_BYTES;
        if has_no_room || env::var_os(MARK).is_some() {
            return Err(ErrorKind::ResourceBusy.into());
        }
        let (stream, theirs) = UnixStream::pair()?;
        // This program, even if its file has been replaced meanwhile.
        let child = Command::new("/proc/self/exe")
            .arg0("anabranch-inspector")
            .args(loader_arguments())
            .arg(WORD)
            .env_clear()
            .env(MARK, "1")
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for the others.
            .process_group(0)
            .spawn()?;
        let mut running = Running { child, stream };
        match running.exchange(&Question::Begin(self.limits), patience, &mut || true) {
            Ok(Answer::Ready) => Ok(running),
            _ => {
                self.running = Some(running);
                self.end();
                Err(ErrorKind::NotConnected.into())
            }
        }
    }

    fn end(&mut self) {
        if let Some(mut running) = self.running.take() {
            // It may have ended by itself.
            let _ = running.child.kill();
            self.hanging.push(running.child);
        }
    }

    /// Takes leave of those that are gone. IMPORTANT: without waiting, since a file may keep one in the kernel for good.
    fn reap(&mut self) {
        self.hanging
            .retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }

    /// Takes leave of those that go within a time.
    fn reap_within(&mut self, time: Duration) {
        let until = Instant::now() + time;
        self.reap();
        while !self.hanging.is_empty() && Instant::now() < until {
            sleep(Duration::from_millis(5));
            self.reap();
        }
    }

    fn hanging_bytes(&self) -> u64 {
        let each = self.hanging.iter().map(|child| private_bytes(child.id()));
        each.sum()
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.end();
        self.reap_within(Duration::from_millis(100));
    }
}

impl Running {
    fn exchange(
        &mut self,
        question: &Question,
        patience: Duration,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> io::Result<Answer> {
        self.stream.set_write_timeout(Some(patience))?;
        send(&mut self.stream, question)?;
        receive(&mut Patient {
            stream: &mut self.stream,
            until: Instant::now() + patience,
            is_wanted,
        })
    }
}

/// The arguments with which a dynamic loader started this program, its own path the last; none where the kernel did.
/// `/proc/self/exe` is the loader then.
fn loader_arguments() -> Vec<OsString> {
    let line = fs::read("/proc/self/cmdline").unwrap_or_default();
    let all = line
        .strip_suffix(b"\0")
        .unwrap_or_default()
        .split(|byte| *byte == 0);
    let all: Vec<OsString> = all.map(|one| OsString::from_vec(one.to_vec())).collect();
    let loaders = all.len().saturating_sub(env::args_os().count());
    all.get(1..=loaders).unwrap_or_default().to_vec()
}

/// Reads until a time, or until nobody wants the answer any more.
struct Patient<'a> {
    stream: &'a mut UnixStream,
    until: Instant,
    is_wanted: &'a mut dyn FnMut() -> bool,
}

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() || !(self.is_wanted)() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left.min(SLICE)))?;
            match self.stream.read(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::message::{Call, CodeFile};
    use super::*;
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::{Pid, mkfifo};
    use std::fs::File;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::path::Path;
    use tempfile::TempDir;

    /// Not a test by itself: an inspector is this very program, run again by this name.
    #[test]
    fn anabranch_program_inspector() {
        inspect_if_asked();
    }

    const LIMITS: Limits = Limits {
        seconds: 1,
        heap_bytes: 64 << 20,
        address_bytes: 2 << 30,
    };

    fn ask(inspector: &mut Inspector, question: &Question) -> Option<Answer> {
        inspector.ask(question, &mut || true)
    }

    fn symbol_in(path: &Path) -> Question {
        Question::Symbol(Call {
            path: path.to_str().unwrap().to_owned(),
            build_id: String::new(),
            file_offset: 1,
            debug: true,
        })
    }

    /// A field of the status of a process's last thread: privileges are a thread's, and a test has its own, the last.
    fn status(pid: u32, field: &str) -> String {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let ids = threads.map(|one| one.unwrap().file_name().into_string().unwrap());
        let last = ids.max_by_key(|id| id.parse::<u32>().unwrap()).unwrap();
        let status = fs::read_to_string(format!("/proc/{pid}/task/{last}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.unwrap().trim().to_owned()
    }

    /// Whether a thread of a process runs, or waits for something else than to go on.
    fn runs(pid: u32) -> bool {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let mut states = threads.filter_map(|one| {
            let status = fs::read_to_string(one.ok()?.path().join("status")).ok()?;
            let state = status.lines().find_map(|line| line.strip_prefix("State:"));
            Some(state?.trim().to_owned())
        });
        states.any(|state| state.starts_with(['R', 'S', 'D']))
    }

    #[test]
    fn an_inspector_has_no_user_and_few_privileges() {
        let mut inspector = Inspector::new(LIMITS);
        ask(&mut inspector, &Question::Program(1)).unwrap();
        let pid = inspector.running.as_ref().unwrap().child.id();
        // CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE and CAP_CHECKPOINT_RESTORE, as far as this process has them.
        let held = u64::from_str_radix(&status(pid, "CapEff:"), 16).unwrap();
        assert_eq!(held & !(1 << 2 | 1 << 19 | 1 << 40), 0, "{held:x}");
        assert_eq!(status(pid, "NoNewPrivs:"), "1");
        // SECCOMP_MODE_FILTER.
        assert_eq!(status(pid, "Seccomp:"), "2");
        if nix::unistd::geteuid().is_root() {
            assert!(status(pid, "Uid:").starts_with("65534"));
            assert_ne!(held, 0);
        }
        let environment = fs::read(format!("/proc/{pid}/environ"));
        assert!(environment.is_ok_and(|words| words == b"ANABRANCH_INSPECTOR=1\0"));
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened_and_costs_no_time() {
        let place = TempDir::new().unwrap();
        let (pipe, link) = (place.path().join("pipe"), place.path().join("link"));
        mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink("/dev/null", &link).unwrap();
        let mut inspector = Inspector::new(LIMITS);
        ask(&mut inspector, &Question::Program(1)).unwrap();
        let began = Instant::now();
        for path in [&pipe, &link, &"/dev/null".into(), &place.path().into()] {
            let answer = ask(&mut inspector, &symbol_in(path));
            assert_eq!(answer, Some(Answer::Text(None)), "{}", path.display());
        }
        assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn a_file_put_in_the_place_of_another_has_not_its_build_id() {
        let own = env::current_exe().unwrap();
        let found = fs::metadata(&own).unwrap();
        let file = |inode| {
            let (major, minor) = (nix::sys::stat::major, nix::sys::stat::minor);
            Question::BuildId(CodeFile {
                tgid: 0,
                range: None,
                device: (major(found.dev()) as u32) << 20 | minor(found.dev()) as u32,
                inode,
                path: own.to_str().unwrap().to_owned(),
            })
        };
        let mut inspector = Inspector::new(LIMITS);
        let right = ask(&mut inspector, &file(found.ino()));
        assert!(matches!(right, Some(Answer::Text(Some(_)))), "{right:?}");
        let other = ask(&mut inspector, &file(found.ino() + 1));
        assert_eq!(other, Some(Answer::Text(None)));
    }

    #[test]
    fn an_inspector_that_ends_or_hangs_is_replaced_and_waited_for_no_longer_than_its_time() {
        let mut inspector = Inspector::new(LIMITS);
        for signal in [Signal::SIGKILL, Signal::SIGBUS, Signal::SIGSTOP] {
            assert!(ask(&mut inspector, &Question::Program(1)).is_some());
            let running = inspector.running.as_ref().unwrap();
            let pid = i32::try_from(running.child.id()).unwrap();
            kill(Pid::from_raw(pid), signal).unwrap();
            // Its first thread takes the signal, and another answers: both must have ended or stopped.
            while runs(running.child.id()) {
                sleep(Duration::from_millis(1));
            }
            let began = Instant::now();
            assert_eq!(ask(&mut inspector, &Question::Program(1)), None);
            assert!(began.elapsed() < Duration::from_secs(5));
            assert!(inspector.running.is_none());
        }
        drop(inspector);
    }

    /// A process that was asked to end and does not, with so much memory of its own.
    fn hanging(bytes: usize) -> Child {
        let text = format!("x = 'x' * {bytes}; print(flush=True); import time; time.sleep(60)");
        let mut child = Command::new("python3")
            .args(["-c", &text])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        child.stdout.take().unwrap().read_exact(&mut line).unwrap();
        child
    }

    #[test]
    fn none_is_started_beside_hanging_ones_with_much_memory() {
        let mut inspector = Inspector::new(LIMITS);
        inspector.hanging.push(hanging(1 << 20));
        assert!(ask(&mut inspector, &Question::Program(1)).is_some());
        inspector.end();
        inspector.hanging.push(hanging(64 << 20));
        assert_eq!(ask(&mut inspector, &Question::Program(1)), None);
        for child in &mut inspector.hanging {
            child.kill().unwrap();
        }
        inspector.failed = None;
        assert!(ask(&mut inspector, &Question::Program(1)).is_some());
        assert!(inspector.hanging.is_empty());
    }

    #[test]
    fn a_question_that_is_wanted_no_more_is_given_up() {
        let mut inspector = Inspector::new(Limits {
            seconds: 60,
            ..LIMITS
        });
        ask(&mut inspector, &Question::Program(1)).unwrap();
        let running = inspector.running.as_ref().unwrap();
        let pid = i32::try_from(running.child.id()).unwrap();
        kill(Pid::from_raw(pid), Signal::SIGSTOP).unwrap();
        while runs(running.child.id()) {
            sleep(Duration::from_millis(1));
        }
        let began = Instant::now();
        let is_wanted = &mut || began.elapsed() < Duration::from_millis(200);
        assert_eq!(inspector.ask(&Question::Program(1), is_wanted), None);
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_symbol_table_that_is_a_hole_of_gigabytes_ends_the_inspector_alone() {
        let place = TempDir::new().unwrap();
        let path = place.path().join("hole");
        let hole: u64 = 1 << 30;
        fs::write(&path, elf_with_symbols(hole)).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(hole + 4096).unwrap();
        let mut inspector = Inspector::new(LIMITS);
        assert_eq!(ask(&mut inspector, &symbol_in(&path)), None);
        assert!(ask(&mut inspector, &Question::Program(1)).is_some());
    }

    /// An ELF file of 64 bits (gABI, ELF header and section header) of one loaded segment, whose symbol table has so many bytes, from 4096 on.
    pub(crate) fn elf_with_symbols(bytes: u64) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        // Type ET_DYN, machine EM_X86_64, version 1.
        file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
        // Entry; program headers from 64 on, section headers from 120 on.
        for word in [0_u64, 64, 120] {
            file.extend(word.to_le_bytes());
        }
        // Flags; sizes and numbers of headers: 1 segment, 4 sections, whose names are in the last.
        file.extend([0; 4]);
        for half in [64_u16, 56, 1, 64, 4, 3] {
            file.extend(half.to_le_bytes());
        }
        // PT_LOAD, executable and readable, the first 4096 bytes.
        file.extend([1, 0, 0, 0, 5, 0, 0, 0]);
        for word in [0_u64, 0, 0, 4096, 4096, 4096] {
            file.extend(word.to_le_bytes());
        }
        // Name, type, flags, address, offset, size, link, info, alignment, bytes of an entry.
        let mut section = |name: u32, kind: u32, offset: u64, size: u64, link: u32, entry: u64| {
            file.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
            for word in [0, 0, offset, size] {
                file.extend(word.to_le_bytes());
            }
            file.extend([link.to_le_bytes(), [0; 4]].concat());
            file.extend([8_u64.to_le_bytes(), entry.to_le_bytes()].concat());
        };
        section(0, 0, 0, 0, 0, 0);
        section(1, 2, 4096, bytes / 24 * 24, 2, 24);
        section(9, 3, 400, 1, 0, 0);
        section(17, 3, 402, 27, 0, 0);
        file.resize(402, 0);
        file.extend(b"\0.symtab\0.strtab\0.shstrtab\0");
        file.resize(4096, 0);
        file
    }
}
