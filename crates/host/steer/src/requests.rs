//! Requests of the block device under way, and the next step of each. Its effects are its caller's: commands go to the
//! drive, answers to the block device.
//!
//! ```text
//! a request arrives:    the host collects, and a rewrite has its pages or there is no room?   hold it, begin again
//!                       a write: place its pages, one command for each stream                 else: one command
//! a command completes:  the drive refuses its directive?                      send it again without one
//!                       a reset cut it off, and the drive may come back?      send it again after a pause
//!                       keep the first error of the request
//! the last completes:   forget who wrote the pages, unlock them, answer the block device
//! ```

#[cfg(test)]
mod simulation;

use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use anabranch_ssd::{PageRange, StreamId};
use nix::libc::{EIO, EOPNOTSUPP};

use crate::abi::NvmeCommand;
use crate::command::{Action, Command, Request, error_of, refuses_directive, whole_pages};
use crate::counters::Counters;
use crate::retry::is_cut_off;
use crate::shared::Shared;
use crate::split::{Piece, Run, pages_of, split};

/// The most times that a write is held for want of room (our choice: half a second at the least). The model then goes on
/// without the survivors, which the drive has to copy.
const MOST_HOLDS: u32 = 5000;

/// The next step of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// These commands of it go to the drive.
    Issue(Range<usize>),
    /// This command goes to the drive again, after a pause.
    Pause(usize),
    /// It is looked at again, after a pause: a rewrite of its pages is under way, or the host that collects has no room.
    Hold,
    /// Nothing: other commands of it are under way.
    Wait,
    /// The block device is answered.
    Answer(i32),
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
    /// Times that it was held.
    holds: u32,
    /// The list of ranges of a Deallocate.
    // Boxed: the command names its address, so it must not move before the completion.
    range: Box<[u8; 16]>,
}

/// The requests of one queue, by tag.
pub struct Requests {
    shared: Arc<Shared>,
    tags: Vec<Tag>,
    runs: Vec<Run>,
    pieces: Vec<Piece>,
}

impl Requests {
    /// None under way, of a queue with so many tags.
    pub fn new(shared: Arc<Shared>, depth: u16) -> Requests {
        let idle = || Tag {
            request: Request {
                asked: Action::Unknown,
                start_bytes: 0,
                length_bytes: 0,
            },
            commands: Vec::new(),
            pending: 0,
            lives_since: None,
            error: 0,
            holds: 0,
            range: Box::new([0; 16]),
        };
        Requests {
            shared,
            tags: (0..depth).map(|_| idle()).collect(),
            runs: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// A tag brings a request.
    pub fn arrived(&mut self, tag: u16, request: Request) -> Step {
        if let Some(place) = self.tags.get_mut(usize::from(tag)) {
            (place.request, place.holds) = (request, 0);
        }
        self.begin(tag, request)
    }

    /// A request that was held is looked at again.
    pub fn again(&mut self, tag: u16) -> Step {
        match self.tags.get(usize::from(tag)).map(|place| place.request) {
            Some(request) => self.begin(tag, request),
            None => Step::Wait,
        }
    }

    fn begin(&mut self, tag: u16, request: Request) -> Step {
        // IMPORTANT: before `plan`, which moves the scheme's clock and counts. A held request begins again from here.
        if self.is_held(tag, &request) {
            return Step::Hold;
        }
        let mut commands = self.reuse(tag);
        self.plan(&request, tag, &mut commands);
        let count = commands.len();
        if let Some(place) = self.tags.get_mut(usize::from(tag)) {
            place.request = request;
            place.pending = count;
            place.lives_since = None;
            place.error = 0;
            place.commands = commands;
        }
        match (count, request.asked) {
            // Nothing goes to the drive: the answer is due at once, or the tag would never come back.
            (0, asked) => {
                self.unlock(tag);
                let is_known = asked != Action::Unknown;
                Step::Answer(if is_known { 0 } else { -EOPNOTSUPP })
            }
            _ => Step::Issue(0..count),
        }
    }

    /// Whether a request has to wait for a host that collects. Else its pages are locked until it is answered.
    fn is_held(&mut self, tag: u16, request: &Request) -> bool {
        let (Some(locks), Some(place)) = (&self.shared.locks, self.tags.get_mut(usize::from(tag)))
        else {
            return false;
        };
        let changed = request.changed_pages();
        if let Some(pages) = changed {
            // IMPORTANT: locked until `begin` has locked the pages. A rewrite compares versions and sets its mark under
            // this lock, so of the two only one goes on.
            let placer = self.shared.placer.lock();
            let placer = placer.unwrap_or_else(PoisonError::into_inner);
            let count = u32::try_from(pages.end - pages.start).unwrap_or(u32::MAX);
            let is_write = matches!(request.asked, Action::Write { .. });
            let may_wait = is_write && place.holds < MOST_HOLDS;
            let has_no_room =
                may_wait && placer.model().is_some_and(|model| model.should_wait(count));
            // IMPORTANT: `begin` last, since it locks the pages. A request that is held must hold none of them.
            if has_no_room || !locks.begin(pages) {
                // Counts requests, not looks at them.
                self.shared.counters.waits.add(u64::from(place.holds == 0));
                place.holds = place.holds.saturating_add(1);
                return true;
            }
        }
        // Not before: with held requests alone the drive counts as idle, and the collecting that they wait for hurries.
        locks.arrived();
        false
    }

    fn reuse(&mut self, tag: u16) -> Vec<Command> {
        let place = self.tags.get_mut(usize::from(tag));
        let mut commands = place
            .map(|tag| std::mem::take(&mut tag.commands))
            .unwrap_or_default();
        commands.clear();
        commands
    }

    fn plan(&mut self, request: &Request, tag: u16, commands: &mut Vec<Command>) {
        let (start_bytes, length_bytes) = (request.start_bytes, request.length_bytes);
        let counters = &self.shared.counters;
        match request.asked {
            Action::Read => commands.push(Command::Read {
                start_bytes,
                length_bytes: u32::try_from(length_bytes).unwrap_or(u32::MAX),
                offset_bytes: 0,
            }),
            Action::Write {
                is_metadata,
                forced,
            } => self.plan_write(request, is_metadata, forced, commands),
            Action::Flush => {
                counters.flushes.add(1);
                commands.push(Command::Flush);
            }
            Action::Discard => {
                counters.discarded_bytes.add(length_bytes);
                self.discard(whole_pages(start_bytes, length_bytes));
                let range = self.shared.target.range(start_bytes, length_bytes);
                if let Some(place) = self.tags.get_mut(usize::from(tag)) {
                    *place.range = range;
                }
                commands.push(Command::Deallocate);
            }
            Action::Zeroes { may_discard } => {
                let pages = whole_pages(start_bytes, length_bytes);
                if may_discard {
                    // Zeroes that the drive may keep as holes are a discard to it.
                    counters.discarded_bytes.add(length_bytes);
                    self.discard(pages);
                } else {
                    // No directive goes with Write Zeroes: they are data of the default handle.
                    counters.zeroed_bytes.add(length_bytes);
                    self.zero(pages);
                }
                commands.push(Command::Zeroes {
                    start_bytes,
                    length_bytes,
                    may_discard,
                });
            }
            Action::Unknown => {}
        }
    }

    fn discard(&self, pages: PageRange) {
        if pages.count > 0 {
            let placer = self.shared.placer.lock();
            placer
                .unwrap_or_else(PoisonError::into_inner)
                .discard(pages);
        }
    }

    fn zero(&self, pages: PageRange) {
        let placer = self.shared.placer.lock();
        let mut placer = placer.unwrap_or_else(PoisonError::into_inner);
        // Also where no page is zeroed as a whole: the command is sent all the same, and `answered` counts it out.
        if let Some(locks) = &self.shared.locks {
            locks.begin_write(StreamId::DEFAULT.index());
        }
        if pages.count > 0 {
            placer.zero(pages);
        }
    }

    fn plan_write(
        &mut self,
        request: &Request,
        is_metadata: bool,
        forced: bool,
        commands: &mut Vec<Command>,
    ) {
        let shared = &self.shared;
        let length_bytes = u32::try_from(request.length_bytes).unwrap_or(u32::MAX);
        let (first, count) = pages_of(request.start_bytes, length_bytes);
        // Drives of 16 TiB and more are refused, so page numbers have 32 bits.
        let pages = PageRange::new(u32::try_from(first).unwrap_or(u32::MAX), count);
        // IMPORTANT: the writers first, then the placer. Nothing may take these locks the other way round.
        let writers = shared
            .writers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let placer = shared.placer.lock();
        let mut placer = placer.unwrap_or_else(PoisonError::into_inner);
        let unknown = placer.place(pages, is_metadata, &**writers, &mut self.runs);
        split(
            request.start_bytes,
            length_bytes,
            &self.runs,
            &mut self.pieces,
        );
        if let Some(locks) = &shared.locks {
            // IMPORTANT: under the placer's lock. The model has these pages already, and the drive has not.
            let streams = self.pieces.iter().map(|piece| piece.stream.index());
            streams.for_each(|stream| locks.begin_write(stream));
        }
        drop(placer);
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

    /// A command as the drive takes it, and whether it moves data; `data` is where the request's data begin. To be sent: it
    /// is counted in the ledger.
    pub fn issue(&self, tag: u16, index: usize, data: u64) -> Option<(NvmeCommand, bool)> {
        let place = self.tags.get(usize::from(tag))?;
        let command = place.commands.get(index)?;
        let moves_data = matches!(command, Command::Read { .. } | Command::Write { .. });
        let range = place.range.as_ptr() as u64;
        // IMPORTANT: before it is sent. Were it sent first, a server killed in between would seem a foreign write.
        self.shared.ledger.add_sent(command.written_bytes());
        Some((self.shared.target.encode(command, data, range), moves_data))
    }

    /// The drive has done a command, or has not. `now` is asked for where time matters.
    pub fn answered(
        &mut self,
        tag: u16,
        index: usize,
        answer: i32,
        now: impl FnOnce() -> Instant,
    ) -> Step {
        let Some(place) = self.tags.get_mut(usize::from(tag)) else {
            return Step::Wait;
        };
        let shared = &self.shared;
        if let Some(Command::Write {
            placed: placed @ true,
            length_bytes,
            ..
        }) = place.commands.get_mut(index)
            && refuses_directive(answer)
        {
            // The drive was reset and has forgotten its streams: the data matter more than their place.
            *placed = false;
            let unplaced = u64::from(*length_bytes);
            shared.counters.unplaced_bytes.add(unplaced);
            // Still pending, and only once: the plain write is not `placed`, so its status is final.
            return Step::Issue(index..index + 1);
        }
        let lives_since = &mut place.lives_since;
        // IMPORTANT: a retry is safe, since nothing that overlaps is under way: the block layer waits for this answer.
        if is_cut_off(answer) && shared.controllers.are_asked_again(lives_since, now()) {
            shared.counters.repeated_commands.add(1);
            return Step::Pause(index);
        }
        let error = error_of(answer);
        // The first error is the request's; the other commands are waited for, since they name its memory.
        if place.error == 0 {
            place.error = error;
        }
        if let Some(command) = place.commands.get(index) {
            // After an error, too: the write began, and is over.
            if let (Some(locks), Some(stream)) = (&shared.locks, command.written_stream()) {
                locks.end_write(stream.index());
            }
            if error == 0 {
                count(&shared.counters, command);
            }
        }
        place.pending = place.pending.saturating_sub(1);
        if place.pending > 0 {
            return Step::Wait;
        }
        // IMPORTANT: before the answer. Behind it the next write to these pages may be on its way, and `finish` would
        // forget its writer.
        let answer = finish(shared, &place.request, place.error);
        self.unlock(tag);
        Step::Answer(answer)
    }

    /// All commands of a request are done: its pages may be rewritten again.
    fn unlock(&mut self, tag: u16) {
        let (Some(locks), Some(place)) = (&self.shared.locks, self.tags.get(usize::from(tag)))
        else {
            return;
        };
        locks.answered();
        if let Some(pages) = place.request.changed_pages() {
            locks.end(pages);
        }
    }
}

/// All commands of a request are done: what the block device is answered.
fn finish(shared: &Shared, request: &Request, error: i32) -> i32 {
    if matches!(request.asked, Action::Write { .. }) {
        let length_bytes = u32::try_from(request.length_bytes).unwrap_or(u32::MAX);
        let (first, count) = pages_of(request.start_bytes, length_bytes);
        let writers = shared
            .writers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        // Also of a write that failed: its pages' next writer is another.
        writers.done(first, count.into());
    }
    match error {
        0 => request.success(),
        _ => {
            shared.counters.errors.add(1);
            // A positive result would count as success.
            if error < 0 { error } else { -EIO }
        }
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
        // Flushes, discards and zeroes were counted by `plan`.
        _ => {}
    }
}
