//! One queue of the block device: a thread that takes requests, has the drive do them, and answers.
//!
//! `unsafe` only to hand commands that name memory to the ring: the memory is the queue's own, or the kernel's buffer of
//! the request, and stays until the command's completion has been seen.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use io_uring::{IoUring, cqueue, opcode, opcode::UringCmd80, squeue, types};
use nix::libc::{EIO, ENODEV, EOPNOTSUPP, ETIME};

use crate::abi::{self, io_command};
use crate::again::{self, Controllers};
use crate::command::{Asked, Command, Request, Target, error_of, refuses_directive, whole_pages};
use crate::counters::Counters;
use crate::error::SteerError;
use crate::memory::{Buffers, Descriptors};
use crate::placer::Placer;
use crate::split::{Piece, Run, pages_of, split};
use crate::writers::Writers;
use anabranch_ssd::PageRange;

/// How often a queue without work looks up (our choice): the pulse that the watchdog feels.
const IDLE: types::Timespec = types::Timespec::new().sec(1);
/// Until a command is asked for again; in memory for as long as the kernel may look at it.
static PAUSE: types::Timespec = types::Timespec::new().nsec(again::PAUSE_NS);

/// What all queues of a device share.
pub struct Shared {
    pub target: Target,
    pub placer: Mutex<Placer>,
    pub writers: RwLock<Arc<dyn Writers>>,
    pub counters: Counters,
    pub controllers: Controllers,
    /// When each queue last went round, in milliseconds since the server began.
    pub pulses: Vec<AtomicU64>,
    pub began: Instant,
    /// Whether the queues were told to end: a silent one is not stuck then.
    pub has_ended: AtomicBool,
}

/// What a queue is made with.
pub struct Make {
    pub number: u16,
    pub depth: u16,
    pub most_bytes: u32,
    /// Whether the kernel lends the request's memory; else it copies.
    pub lends: bool,
    pub device: Arc<File>,
    pub drive: OwnedFd,
    pub shared: Arc<Shared>,
}

/// A request under way.
#[derive(Debug)]
struct Tag {
    request: Request,
    commands: Vec<Command>,
    /// Commands whose completion is still to come.
    pending: usize,
    /// Since when the drive lives and refuses commands of it that were cut off.
    lives_since: Option<Instant>,
    error: i32,
    /// The list of ranges of a Deallocate.
    range: Box<[u8; 16]>,
}

/// Which operation has completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The block device's own command.
    Device = 0,
    /// A command of the drive's.
    Drive = 1,
    /// The pause before one is asked for again.
    Pause = 2,
}

/// Where a completion belongs, in 64 bits: what it is of, the tag, the command's index.
fn word(of: Of, tag: u16, index: usize) -> u64 {
    (of as u64) << 62 | (index as u64) << 16 | u64::from(tag)
}

pub struct Queue {
    make: Make,
    ring: IoUring<squeue::Entry128, cqueue::Entry32>,
    descriptors: Descriptors,
    buffers: Option<Buffers>,
    tags: Vec<Tag>,
    live: u16,
    runs: Vec<Run>,
    pieces: Vec<Piece>,
}

impl Queue {
    /// A queue, to be made on the thread that runs it: the kernel remembers whose it is. All its tags are fetched.
    pub fn new(make: Make) -> Result<Queue, SteerError> {
        let depth = make.depth;
        let ring: IoUring<squeue::Entry128, cqueue::Entry32> = IoUring::builder()
            .setup_cqsize(u32::from(depth) * 4)
            .setup_single_issuer()
            .setup_coop_taskrun()
            .build(u32::from(depth) * 2)
            .map_err(SteerError::Ring)?;
        if make.lends {
            let lent = ring.submitter().register_buffers_sparse(depth.into());
            lent.map_err(SteerError::Ring)?;
        }
        let descriptors =
            Descriptors::map(&make.device, make.number, depth).map_err(SteerError::Ring)?;
        let buffers = match make.lends {
            true => None,
            false => Some(Buffers::new(depth, make.most_bytes).map_err(SteerError::Ring)?),
        };
        let idle = || Tag {
            request: Request {
                asked: Asked::Unknown,
                start_bytes: 0,
                length_bytes: 0,
            },
            commands: Vec::new(),
            pending: 0,
            lives_since: None,
            error: 0,
            range: Box::new([0; 16]),
        };
        let mut queue = Queue {
            make,
            ring,
            descriptors,
            buffers,
            tags: (0..depth).map(|_| idle()).collect(),
            live: depth,
            runs: Vec::new(),
            pieces: Vec::new(),
        };
        for tag in 0..depth {
            queue.fetch(tag, abi::io::FETCH, 0)?;
        }
        queue.ring.submit().map_err(SteerError::Ring)?;
        let refused = queue.ring.completion().next().map_or(0, |one| one.result());
        match refused < 0 {
            true => Err(SteerError::Control {
                what: "let a queue fetch",
                source: io::Error::from_raw_os_error(-refused),
            }),
            false => Ok(queue),
        }
    }

    /// Serves until the device is stopped.
    pub fn run(mut self) -> Result<(), SteerError> {
        let mut seen = Vec::with_capacity(usize::from(self.make.depth) * 4);
        while self.live > 0 {
            self.pulse();
            let waiting = types::SubmitArgs::new().timespec(&IDLE);
            match self.ring.submitter().submit_with_args(1, &waiting) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(ETIME) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The kernel has no room for more completions until these are seen.
                Err(error) if error.raw_os_error() == Some(nix::libc::EBUSY) => {}
                Err(error) => return Err(SteerError::Ring(error)),
            }
            let completions = self.ring.completion();
            seen.extend(completions.map(|one| (one.user_data(), one.result())));
            for (word, result) in seen.drain(..) {
                let tag = word as u16;
                let index = (word >> 16 & 0xffff) as usize;
                match word >> 62 {
                    0 => self.arrived(tag, result)?,
                    1 => self.answered(tag, index, result)?,
                    _ => self.issue(tag, index)?,
                }
            }
        }
        Ok(())
    }

    fn pulse(&self) {
        let shared = &self.make.shared;
        if let Some(pulse) = shared.pulses.get(usize::from(self.make.number)) {
            let now = u64::try_from(shared.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            pulse.store(now, Ordering::Relaxed);
        }
    }

    fn push(&mut self, entry: squeue::Entry128) -> Result<(), SteerError> {
        loop {
            // SAFETY: see the head of this file.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return Ok(());
            }
            self.ring.submit().map_err(SteerError::Ring)?;
        }
    }

    /// Answers a tag's request, if it has one, and waits for its next.
    fn fetch(&mut self, tag: u16, number: u32, result: i32) -> Result<(), SteerError> {
        let address = self
            .buffers
            .as_ref()
            .map_or(0, |buffers| buffers.address(tag));
        let command = io_command(self.make.number, tag, result, address);
        let device = types::Fd(self.make.device.as_raw_fd());
        let mut fetch = UringCmd80::new(device, number).cmd(command);
        if self.make.lends {
            // Into which slot the kernel puts the next request's memory.
            fetch = fetch.addr(Some(tag.into()));
        }
        self.push(fetch.build().user_data(word(Of::Device, tag, 0)))
    }

    /// The device has a request, or lets a tag go.
    fn arrived(&mut self, tag: u16, result: i32) -> Result<(), SteerError> {
        if result != 0 {
            self.live -= 1;
            return match -result {
                ENODEV => Ok(()),
                error => Err(SteerError::Control {
                    what: "take an answer",
                    source: io::Error::from_raw_os_error(error),
                }),
            };
        }
        let request = Request::of(&self.descriptors.get(tag));
        let mut commands = self.reuse(tag);
        self.plan(&request, tag, &mut commands);
        let none = commands.is_empty();
        if let Some(place) = self.tags.get_mut(usize::from(tag)) {
            place.request = request;
            place.pending = commands.len();
            place.lives_since = None;
            place.error = 0;
            place.commands = commands;
        }
        if none {
            let result = match request.asked {
                Asked::Unknown => -EOPNOTSUPP,
                _ => 0,
            };
            return self.fetch(tag, abi::io::COMMIT_AND_FETCH, result);
        }
        let count = self
            .tags
            .get(usize::from(tag))
            .map_or(0, |tag| tag.commands.len());
        (0..count).try_for_each(|index| self.issue(tag, index))
    }

    fn reuse(&mut self, tag: u16) -> Vec<Command> {
        let place = self.tags.get_mut(usize::from(tag));
        let mut commands = place
            .map(|tag| std::mem::take(&mut tag.commands))
            .unwrap_or_default();
        commands.clear();
        commands
    }

    /// The commands of a request.
    fn plan(&mut self, request: &Request, tag: u16, commands: &mut Vec<Command>) {
        let (start_bytes, length_bytes) = (request.start_bytes, request.length_bytes);
        let counters = &self.make.shared.counters;
        match request.asked {
            Asked::Read => commands.push(Command::Read {
                start_bytes,
                length_bytes: u32::try_from(length_bytes).unwrap_or(u32::MAX),
                offset_bytes: 0,
            }),
            Asked::Write {
                is_metadata,
                forced,
            } => self.plan_write(request, is_metadata, forced, commands),
            Asked::Flush => {
                counters.flushes.add(1);
                commands.push(Command::Flush);
            }
            Asked::Discard => {
                counters.discarded_bytes.add(length_bytes);
                self.discard(whole_pages(start_bytes, length_bytes));
                let range = self.make.shared.target.range(start_bytes, length_bytes);
                if let Some(place) = self.tags.get_mut(usize::from(tag)) {
                    *place.range = range;
                }
                commands.push(Command::Deallocate);
            }
            Asked::Zeroes { may_discard } => {
                let counted = match may_discard {
                    true => &counters.discarded_bytes,
                    false => &counters.zeroed_bytes,
                };
                counted.add(length_bytes);
                let pages = whole_pages(start_bytes, length_bytes);
                match may_discard {
                    true => self.discard(pages),
                    false => self.zero(pages),
                }
                commands.push(Command::Zeroes {
                    start_bytes,
                    length_bytes,
                    may_discard,
                });
            }
            Asked::Unknown => {}
        }
    }

    fn discard(&self, pages: PageRange) {
        if pages.count > 0 {
            let placer = self.make.shared.placer.lock();
            placer
                .unwrap_or_else(PoisonError::into_inner)
                .discard(pages);
        }
    }

    fn zero(&self, pages: PageRange) {
        if pages.count > 0 {
            let placer = self.make.shared.placer.lock();
            placer.unwrap_or_else(PoisonError::into_inner).zero(pages);
        }
    }

    fn plan_write(
        &mut self,
        request: &Request,
        is_metadata: bool,
        forced: bool,
        commands: &mut Vec<Command>,
    ) {
        let shared = &self.make.shared;
        let length_bytes = u32::try_from(request.length_bytes).unwrap_or(u32::MAX);
        let (first, count) = pages_of(request.start_bytes, length_bytes);
        let pages = PageRange::new(u32::try_from(first).unwrap_or(u32::MAX), count);
        let writers = shared
            .writers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let placer = shared.placer.lock();
        let mut placer = placer.unwrap_or_else(PoisonError::into_inner);
        let unknown = placer.place(pages, is_metadata, &**writers, &mut self.runs);
        drop(placer);
        split(
            request.start_bytes,
            length_bytes,
            &self.runs,
            &mut self.pieces,
        );
        let counters = &shared.counters;
        counters.writes.add(1);
        counters.split_writes.add(u64::from(self.pieces.len() > 1));
        counters.unknown_pages.add(unknown.into());
        if is_metadata {
            counters.metadata_pages.add(count.into());
        }
        commands.extend(self.pieces.iter().map(|piece| Command::Write {
            start_bytes: request.start_bytes + u64::from(piece.offset_bytes),
            length_bytes: piece.length_bytes,
            offset_bytes: piece.offset_bytes,
            stream: piece.stream,
            placed: true,
            forced,
        }));
    }

    /// Hands one command of a request to the drive.
    fn issue(&mut self, tag: u16, index: usize) -> Result<(), SteerError> {
        let Some(place) = self.tags.get(usize::from(tag)) else {
            return Ok(());
        };
        let Some(command) = place.commands.get(index) else {
            return Ok(());
        };
        let moves_data = matches!(command, Command::Read { .. } | Command::Write { .. });
        // Of memory that the kernel lent, addresses count from the request's first byte.
        let data = self
            .buffers
            .as_ref()
            .map_or(0, |buffers| buffers.address(tag));
        let range = place.range.as_ptr() as u64;
        let command = self
            .make
            .shared
            .target
            .encode(command, data, range)
            .to_bytes();
        let drive = types::Fd(self.make.drive.as_raw_fd());
        let mut entry = UringCmd80::new(drive, abi::NVME_COMMAND).cmd(command);
        if moves_data && self.make.lends {
            entry = entry.buf_index(Some(tag));
        }
        self.push(entry.build().user_data(word(Of::Drive, tag, index)))
    }

    /// The drive has done a command, or has not.
    fn answered(&mut self, tag: u16, index: usize, answer: i32) -> Result<(), SteerError> {
        let Some(place) = self.tags.get_mut(usize::from(tag)) else {
            return Ok(());
        };
        if let Some(Command::Write {
            placed: placed @ true,
            length_bytes,
            ..
        }) = place.commands.get_mut(index)
            && refuses_directive(answer)
        {
            *placed = false;
            let unplaced = u64::from(*length_bytes);
            self.make.shared.counters.unplaced_bytes.add(unplaced);
            return self.issue(tag, index);
        }
        let shared = &self.make.shared;
        if again::is_cut_off(answer) && shared.controllers.are_asked_again(&mut place.lives_since) {
            shared.counters.repeated_commands.add(1);
            let pause = squeue::Entry128::from(opcode::Timeout::new(&PAUSE).build());
            return self.push(pause.user_data(word(Of::Pause, tag, index)));
        }
        let error = error_of(answer);
        if place.error == 0 {
            place.error = error;
        }
        if let (0, Some(command)) = (error, place.commands.get(index)) {
            count(&self.make.shared.counters, command);
        }
        place.pending = place.pending.saturating_sub(1);
        if place.pending > 0 {
            return Ok(());
        }
        let (request, error) = (place.request, place.error);
        self.finish(tag, &request, error)
    }

    fn finish(&mut self, tag: u16, request: &Request, error: i32) -> Result<(), SteerError> {
        let shared = &self.make.shared;
        if matches!(request.asked, Asked::Write { .. }) {
            let length_bytes = u32::try_from(request.length_bytes).unwrap_or(u32::MAX);
            let (first, count) = pages_of(request.start_bytes, length_bytes);
            let writers = shared
                .writers
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            writers.done(first, count.into());
        }
        let result = match error {
            0 => request.success(),
            _ => {
                shared.counters.errors.add(1);
                // A positive result would count as success.
                if error < 0 { error } else { -EIO }
            }
        };
        self.fetch(tag, abi::io::COMMIT_AND_FETCH, result)
    }
}

fn count(counters: &Counters, command: &Command) {
    match *command {
        Command::Read { length_bytes, .. } => counters.read_bytes.add(length_bytes.into()),
        Command::Write {
            length_bytes,
            stream,
            ..
        } => {
            if let Some(written) = counters.written_bytes.get(usize::from(stream.0)) {
                written.add(length_bytes.into());
            }
        }
        _ => {}
    }
}

/// How long ago the slowest queue last went round; no time once they were told to end.
pub fn slowest(shared: &Shared) -> Duration {
    if shared.has_ended.load(Ordering::Relaxed) {
        return Duration::ZERO;
    }
    let now = shared.began.elapsed();
    let pulses = shared.pulses.iter();
    let since = pulses
        .map(|pulse| now.saturating_sub(Duration::from_millis(pulse.load(Ordering::Relaxed))));
    since.max().unwrap_or(Duration::ZERO)
}
