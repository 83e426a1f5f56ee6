//! The eBPF programs and maps: loading and attaching them, and exchanging records and replies.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use libbpf_rs::{
    ErrorKind, Link, MapCore, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel,
    ProgramInput, ProgramMut, RingBuffer, RingBufferBuilder,
};
use nix::unistd::{SysconfVar, sysconf};
use tracing::info;

use crate::device_number::file_system_number;
use crate::error::ProbeError;
use crate::event::{Event, ImageKey, MAX_FRAMES, MAX_RANGES, MalformedRecord};
use crate::reply::Reply;
use crate::sampling::Sampling;
use crate::shared_words::SharedWords;
use crate::skipped::{Hook, Loaded, Skipped, skipped, told_of};
use crate::support::Support;

static CAPTURE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe.bpf.o"));
static HANDOVER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/handover.bpf.o"));

/// The hooks for requests: `probe.bpf.c`. A handover has the tracepoint's programs beside the kprobe's.
const REQUEST_KPROBE: &str = "on_bio_entry";
const REQUEST_TRACEPOINT: &str = "on_bio";
const LATE: [&str; 2] = [REQUEST_TRACEPOINT, "on_bio_late"];
/// The hooks for hints: `fcntl` alone, or every system call of the machine.
const FCNTL: &str = "on_fcntl";
/// The hook for renamed files, which watches a function's way out as that for `fcntl` does.
const RENAME: &str = "on_rename";
const EVERY_CALL: &str = "on_syscall_exit";
/// Program that user space runs to answer: no hook.
const REPLY: &str = "on_reply";
const REPLY_WORDS: usize = 6 + 2 * MAX_RANGES + 2 * MAX_FRAMES;

/// Settings that are decided before the programs are loaded.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The target's device number in the kernel: major << 20 | minor.
    pub device: u32,
    pub reads: bool,
    pub hints: bool,
    /// Whether writers of different control groups are different writers.
    pub groups: bool,
    pub generations: bool,
    pub ring_bytes: u32,
    /// Whether commands that programs pass to the drive themselves are seen: an NVMe drive's.
    pub passed: bool,
    pub form: Form,
}

/// The work that the programs do.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// They send every request.
    Capture,
    /// They note the writers of pages on their way. With a directory of pins, maps and links outlive the process.
    Handover { pins: Option<PathBuf> },
}

impl Settings {
    fn pins(&self) -> Option<&Path> {
        match &self.form {
            Form::Handover { pins } => pins.as_deref(),
            Form::Capture => None,
        }
    }

    /// The programs that take what that of the hook `first` was skipped on.
    fn late(&self, first: &str) -> &'static [&'static str] {
        let has_both = matches!(self.form, Form::Handover { .. }) && first == REQUEST_KPROBE;
        if has_both { &LATE } else { &[] }
    }
}

/// The hooks of which the kernel may not have the better ones.
#[derive(Debug, Clone, Copy)]
struct Hooks {
    requests: &'static str,
    /// If hints are to be seen.
    hints: Option<&'static str>,
}

impl Hooks {
    fn best(settings: &Settings, support: &Support) -> Hooks {
        Hooks {
            requests: match support.queued_flag {
                // From 7.0 on the kernel skips a tracepoint's program that another thread is still in (docs/probe.md).
                Some(_) => REQUEST_KPROBE,
                None => REQUEST_TRACEPOINT,
            },
            hints: (settings.hints && support.sees_hints).then_some(FCNTL),
        }
    }

    /// Those to try where the kernel refuses these.
    fn next_best(self) -> Option<Hooks> {
        if self.hints == Some(FCNTL) {
            return Some(Hooks {
                hints: Some(EVERY_CALL),
                ..self
            });
        }
        (self.requests == REQUEST_KPROBE).then_some(Hooks {
            requests: REQUEST_TRACEPOINT,
            // It may have been the kprobe that the kernel refused.
            hints: self.hints.map(|_| FCNTL),
        })
    }
}

/// The maps that a process which takes over continues to use.
const PINNED: [&str; 11] = [
    "window", "sources", "tallies", "numbers", "stacks", "names", "pages", "files", "writers",
    "images", "steps",
];

/// The loaded and attached programs.
#[derive(Debug)]
pub(crate) struct KernelSide {
    // Dropped in this order: nothing is sent any more when the ring goes.
    _links: Vec<Link>,
    /// The ring; one thread at a time takes records out.
    ring: Mutex<RingBuffer<'static>>,
    inbox: Inbox,
    /// Input of `on_reply`.
    reply: SharedWords,
    /// Replies that the kernel side did not take.
    unanswered: AtomicU64,
    lost: SharedWords,
    /// A capture's.
    sampling: Option<Sampling>,
    loaded: Vec<Loaded>,
    /// One thread at a time has a program run.
    object: Mutex<Object>,
}

/// The most records that are taken at once. Our choice.
pub(crate) const MAX_RECORDS: usize = 4096;

/// Records that were taken out of the ring.
type Inbox = Arc<Mutex<Vec<Result<Event, MalformedRecord>>>>;

impl KernelSide {
    /// Loads the programs for which this kernel has hooks, and attaches them: the better hooks first.
    pub(crate) fn attach(settings: &Settings, support: &Support) -> Result<KernelSide, ProbeError> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| {
            loader_log().push_str(&line)
        })));
        let mut hooks = Hooks::best(settings, support);
        loop {
            match (
                KernelSide::attach_with(hooks, settings, support),
                hooks.next_best(),
            ) {
                (Err(error), Some(next)) => {
                    info!(%error, ?hooks, "other hooks are tried");
                    hooks = next;
                }
                (ended, _) => return ended,
            }
        }
    }

    fn attach_with(
        hooks: Hooks,
        settings: &Settings,
        support: &Support,
    ) -> Result<KernelSide, ProbeError> {
        loader_log().clear();
        let object = load(hooks, settings, support)?;
        let inbox = Inbox::default();
        let ring = ring(&object, &inbox).map_err(refused("ring buffer"))?;
        let (mut links, mut loaded) = (Vec::new(), Vec::new());
        let pins = settings.pins();
        let attached = |program: &ProgramMut<'_>| program.autoload() && program.name() != REPLY;
        for program in object.progs_mut().filter(attached) {
            let mut link = program.attach().map_err(refused("attaching"))?;
            info!(program = ?program.name(), "attached");
            loaded.push(Loaded::new(&program, settings.late(hooks.requests)));
            if let Some(pins) = pins {
                pin(&mut link, &pins.join(program.name())).map_err(refused("pinning"))?;
            }
            links.push(link);
        }
        // Only now, or requests between the two would have no writers. Programs that another process pinned at other
        // hooks would go on beside ours.
        for other in object.progs().filter(|program| !program.autoload()) {
            pins.map(|pins| fs::remove_file(pins.join(other.name())));
        }
        Ok(KernelSide {
            _links: links,
            ring: Mutex::new(ring),
            inbox,
            reply: words(&object, "reply", REPLY_WORDS)?,
            unanswered: AtomicU64::new(0),
            lost: words(&object, "lost", 1)?,
            sampling: match settings.form {
                Form::Capture => Some(words(&object, "sampling", Sampling::WORDS)?),
                Form::Handover { .. } => None,
            }
            .map(Sampling::new),
            loaded,
            object: Mutex::new(object),
        })
    }

    /// Takes records that wait, [`MAX_RECORDS`] at most; waits at most `timeout` for some.
    pub(crate) fn receive(
        &self,
        timeout: Duration,
    ) -> Result<Vec<Result<Event, MalformedRecord>>, ProbeError> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = match ring.poll(timeout) {
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(error),
            // After the time-out, too: the kernel side wakes nobody for a single request.
            _ => ring.consume(),
        };
        match taken {
            // The callback has `MAX_RECORDS` and wants no more for now.
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                return Err(refused("polling")(error));
            }
            _ => {}
        }
        Ok(std::mem::take(
            &mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    /// Sends a reply to the kernel side. One that it does not take is counted.
    pub(crate) fn send_reply(&self, reply: &Reply) {
        // IMPORTANT: locked first. All threads write the same words, which are one reply until the program has run.
        let object = self.object();
        for (at, word) in reply_words(reply).into_iter().enumerate() {
            self.reply.word(at).store(word, Ordering::Relaxed);
        }
        let program = object.progs_mut().find(|program| program.name() == REPLY);
        // A program, and no call about a map: during such a call the kernel skips kprobes of that processor.
        let ended = program.map(|program| program.test_run(ProgramInput::default()));
        if !matches!(ended, Some(Ok(done)) if done.return_value == 0) {
            self.unanswered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of records that were lost because the ring was full.
    pub(crate) fn found_full(&self) -> u64 {
        self.lost.word(0).load(Ordering::Relaxed)
    }

    /// The samples that requests are told of: a capture's.
    pub(crate) fn sampling(&self) -> Option<&Sampling> {
        self.sampling.as_ref()
    }

    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, ProbeError> {
        map(&self.object(), name)
    }

    /// Bytes of memory that the kernel holds for all maps; 0 where it does not tell.
    pub(crate) fn map_bytes(&self) -> u64 {
        let told = |map: libbpf_rs::Map<'_>| told_of(map.as_fd(), "memlock:");
        self.object().maps().filter_map(told).sum()
    }

    fn object(&self) -> MutexGuard<'_, Object> {
        self.object.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are programs that take the requests which the first was skipped on.
    pub(crate) fn has_late(&self) -> bool {
        let mut hooks = self.loaded.iter().map(|loaded| loaded.hook);
        hooks.any(|hook| hook == Hook::LateRequests)
    }

    /// The events on which the kernel skipped the programs.
    pub(crate) fn skipped(&self) -> Skipped {
        let programs = self.loaded.iter();
        Skipped {
            unanswered: self.unanswered.load(Ordering::Relaxed),
            ..skipped(programs.map(|loaded| (loaded.hook, loaded.misses())))
        }
    }
}

fn load(hooks: Hooks, settings: &Settings, support: &Support) -> Result<Object, ProbeError> {
    let refuse = refused("opening");
    let bytes = match settings.form {
        Form::Capture => CAPTURE,
        Form::Handover { .. } => HANDOVER,
    };
    let late = settings.late(hooks.requests);
    let mut object = ObjectBuilder::default()
        .open_memory(bytes)
        .map_err(&refuse)?;
    for mut program in object.progs_mut() {
        let wanted = match program.name().to_str() {
            Some("on_dirty_folio") => support.sees_dirty_pages,
            Some("on_read_pages" | "on_map_pages") => settings.generations && support.sees_reads,
            Some(REPLY | "on_exit") => true,
            // A kernel that refuses to watch the way out of `fcntl` refuses that of other functions, and their entries.
            Some("on_issue") => settings.passed && hooks.hints != Some(FCNTL),
            Some("on_pass" | "on_pass_and_wait") => settings.passed && hooks.hints == Some(FCNTL),
            Some("on_remap") => support.sees_remaps,
            // A kernel that refuses the kprobe for requests may refuse this one.
            Some("on_redirty") => support.sees_redirtied && hooks.requests == REQUEST_KPROBE,
            Some(RENAME) => support.sees_renames && hooks.hints == Some(FCNTL),
            name => name.is_some_and(|name| {
                name == hooks.requests || hooks.hints == Some(name) || late.contains(&name)
            }),
        };
        program.set_autoload(wanted);
    }
    configure(&mut object, settings, support, !late.is_empty()).map_err(&refuse)?;
    if let Some(pins) = settings.pins() {
        for mut map in object.maps_mut() {
            let name = map.name().to_owned();
            if PINNED.iter().any(|pinned| name == *pinned) {
                // A map that is pinned there already is used again.
                map.set_pin_path(pins.join(name)).map_err(&refuse)?;
            }
        }
    }
    object.load().map_err(refused("loading"))
}

/// The bytes of `struct config` of `bpf/events.h`; also sets the size of the ring.
fn configure(
    object: &mut OpenObject,
    settings: &Settings,
    support: &Support,
    is_late: bool,
) -> libbpf_rs::Result<()> {
    // A BPF ring has a power of two of bytes, in whole pages.
    let ring_bytes = settings.ring_bytes.clamp(4096, 1 << 30).next_power_of_two();
    let page_bytes = sysconf(SysconfVar::PAGE_SIZE)
        .ok()
        .flatten()
        .unwrap_or(4096);
    let mut config = Vec::new();
    for field in [
        settings.device,
        page_bytes.trailing_zeros(),
        u32::from(settings.reads),
        support.queued_flag.unwrap_or(0),
    ] {
        config.extend(field.to_ne_bytes());
    }
    config.extend((u64::from(ring_bytes) / 4).to_ne_bytes());
    config.extend(
        [settings.groups, is_late, settings.generations]
            .map(|is_so| u32::from(is_so).to_ne_bytes())
            .concat(),
    );
    config.extend(file_system_number(settings.device).to_ne_bytes());
    for mut map in object.maps_mut() {
        if map.name() == "ring" {
            map.set_max_entries(ring_bytes)?;
        } else if map.name() == ".rodata.config" {
            map.set_initial_value(&config)?;
        }
    }
    Ok(())
}

/// Lets a link outlive the process, in place of the link that another process left.
fn pin(link: &mut Link, path: &Path) -> libbpf_rs::Result<()> {
    // A dead process's link ends with its file. Ours is attached already, so no request is missed in between.
    let _ = fs::remove_file(path);
    link.pin(path)
}

fn ring(object: &Object, inbox: &Inbox) -> libbpf_rs::Result<RingBuffer<'static>> {
    let map = object
        .maps()
        .find(|map| map.name() == OsStr::new("ring"))
        .ok_or_else(|| libbpf_rs::Error::from_raw_os_error(nix::errno::Errno::ENOENT as i32))?;
    let inbox = inbox.clone();
    let mut builder = RingBufferBuilder::new();
    builder.add(&map, move |record| {
        let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push(Event::decode(record));
        // A program that writes faster than its records are taken would never have its replies.
        if inbox.len() < MAX_RECORDS {
            0
        } else {
            -(nix::errno::Errno::EAGAIN as i32)
        }
    })?;
    builder.build()
}

fn map(object: &Object, name: &str) -> Result<MapHandle, ProbeError> {
    object
        .maps()
        .find(|map| map.name() == OsStr::new(name))
        .ok_or_else(|| libbpf_rs::Error::from_raw_os_error(nix::errno::Errno::ENOENT as i32))
        .and_then(|map| MapHandle::try_from(&map))
        .map_err(refused("maps"))
}

/// An array of the kernel side in memory, of one value of so many words.
fn words(object: &Object, name: &'static str, count: usize) -> Result<SharedWords, ProbeError> {
    let unreadable = |source| ProbeError::Read {
        path: PathBuf::from(name),
        source,
    };
    let array = map(object, name)?;
    if array.value_size() as usize != 8 * count {
        return Err(unreadable(std::io::ErrorKind::InvalidData.into()));
    }
    SharedWords::map(&array, count).map_err(|error| unreadable(error.into()))
}

/// The words of `struct reply` of `bpf/events.h`.
fn reply_words(reply: &Reply) -> Vec<u64> {
    let (forgotten, image, ranges, steps) = match reply {
        Reply::Ranges(image, ranges, short) => (short.unwrap_or(0), *image, Some(ranges), &[][..]),
        Reply::Steps(image, steps) => (0, *image, None, &steps[..]),
        Reply::Resend(hash) => (*hash, ImageKey::default(), None, &[][..]),
    };
    let has_ranges = u64::from(ranges.is_some());
    let ranges = ranges.map_or(&[][..], |ranges| ranges);
    let ranges = &ranges[..ranges.len().min(MAX_RANGES)];
    // All ones: the kernel side's search has a fixed length, and no address lies above these.
    let unused = std::iter::repeat_n(u64::MAX, MAX_RANGES - ranges.len());
    let starts = ranges.iter().map(|range| range.0).chain(unused.clone());
    let ends = ranges.iter().map(|range| range.1).chain(unused);
    let steps = &steps[..steps.len().min(MAX_FRAMES)];
    let unused = std::iter::repeat_n(0, 2 * (MAX_FRAMES - steps.len()));
    [forgotten, has_ranges]
        .into_iter()
        .chain(image.to_words())
        .chain([ranges.len() as u64])
        .chain(starts)
        .chain(ends)
        .chain([steps.len() as u64])
        .chain(steps.iter().flat_map(|&(address, step)| [address, step]))
        .chain(unused)
        .collect()
}

/// The loader's messages since the last attempt. It prints by a callback without state.
fn loader_log() -> MutexGuard<'static, String> {
    static LOG: Mutex<String> = Mutex::new(String::new());
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(step: &'static str) -> impl Fn(libbpf_rs::Error) -> ProbeError {
    move |source| {
        let log = loader_log();
        let mut lines: Vec<&str> = log.lines().rev().take(LOG_LINES).collect();
        lines.reverse();
        ProbeError::Refused {
            step,
            source,
            log: lines.join("\n"),
        }
    }
}

/// Number of the loader's last messages that are shown: they say what went wrong.
const LOG_LINES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_the_kernel_sides_layout() {
        let image = ImageKey { image: 7, tgid: 11 };
        let ranges = vec![(0x1000, 0x2000), (0x5000, 0x6000)];
        let words = reply_words(&Reply::Ranges(image, ranges, Some(13)));
        assert_eq!(words.len(), REPLY_WORDS);
        assert_eq!(words[..8], [13, 1, 7, 11, 2, 0x1000, 0x5000, u64::MAX]);
        assert_eq!(words[5 + MAX_RANGES..][..3], [0x2000, 0x6000, u64::MAX]);

        let words = reply_words(&Reply::Steps(image, vec![(0x1010, 5), (0x5050, 6)]));
        assert_eq!(words.len(), REPLY_WORDS);
        assert_eq!(words[..5], [0, 0, 7, 11, 0]);
        let steps = &words[5 + 2 * MAX_RANGES..];
        assert_eq!(steps[..6], [2, 0x1010, 5, 0x5050, 6, 0]);

        let words = reply_words(&Reply::Resend(17));
        assert_eq!(words.len(), REPLY_WORDS);
        assert_eq!(words[..2], [17, 0]);
    }
}
