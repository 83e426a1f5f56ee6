//! Events that wait: for their call stacks, and until it is known which layer of the kernel counts.
//!
//! perf prints the stack behind its event. ftrace writes it into the same processor's ring right after, so that events
//! of other processors may stand between: an event waits for its stack until its processor has another one.
//!
//! A command to an NVMe drive or a card also waits until its disk is decided; see `layers.rs`.

use std::collections::VecDeque;

use super::layers::{DiskCommand, Disks, Evidence, Fate, Pairing};
use super::line::{Side, Source};
use super::stack::{ftrace_frame, perf_frame};
use crate::foreign::names::{CallPath, Names};
use crate::foreign::options::Event as Taken;
use crate::foreign::parse_error::ParseError;
use crate::foreign::record_outcome::{Found, Moment, Passed};
use crate::io::Io;

/// Events that wait for their stacks. Our choice: more than the processors whose events stand between.
const MOST_WAITING: usize = 64;

/// Events that wait behind a command whose disk is not decided. Our choice: some hundredths of a second of a busy
/// drive, and 1 MiB.
const MOST_UNDECIDED: usize = 4096;

/// Frames of a path that are kept. Our choice: perf records 127 at most (`kernel.perf_event_max_stack`).
const MOST_FRAMES: usize = 127;

/// Events that wait, in the order of the trace.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    events: VecDeque<Event>,
    /// The commands among them that no event of the block layer was found for.
    open: usize,
    /// The number of the first event that waits.
    first: u64,
    /// The event that frames belong to, by number, and the side of the stack where it was said.
    current: Option<(u64, Option<Side>)>,
    ready: VecDeque<Found>,
}

#[derive(Debug)]
struct Event {
    /// Task and processor, as a hash.
    source: u64,
    is_whole: bool,
    moment: Moment,
    io: Io,
    /// Of an event of a layer below the block layer, the command.
    command: Option<DiskCommand>,
    path: CallPath,
}

impl Waiting {
    /// Notes an event of a source: earlier ones of it have their stack.
    pub(super) fn pass(
        &mut self,
        source: Source<'_>,
        disks: &mut Disks,
        names: &mut Names,
    ) -> Result<(), ParseError> {
        let source = source.hash();
        self.current = None;
        for event in self
            .events
            .iter_mut()
            .filter(|event| event.source == source)
        {
            event.is_whole = true;
        }
        self.release(false, disks, names)
    }

    /// Lets an event wait for its stack, and a command until its disk is decided.
    pub(super) fn wait(
        &mut self,
        source: Source<'_>,
        moment: Moment,
        io: Io,
        command: Option<DiskCommand>,
    ) {
        self.current = Some((self.first + self.events.len() as u64, None));
        self.open += usize::from(command.as_ref().is_some_and(DiskCommand::is_open));
        self.events.push_back(Event {
            source: source.hash(),
            is_whole: false,
            moment,
            io,
            command,
            path: CallPath::default(),
        });
    }

    /// Finds the command that an event of the block layer belongs to, the oldest of the same source and moment that
    /// gives evidence. Answers it with its evidence.
    pub(super) fn pair(
        &mut self,
        source: Source<'_>,
        moment: Moment,
        evidence: impl Fn(&Io, &DiskCommand) -> Option<Evidence>,
    ) -> Option<(&mut DiskCommand, Evidence)> {
        let is_issue = moment == Moment::Of(Taken::Issue);
        let (source, mut found) = (source.hash(), None);
        if self.open == 0 {
            return None;
        }
        for event in &mut self.events {
            let is_of = event.source == source && event.moment == moment;
            let command = event.command.as_mut().filter(|one| is_of && one.is_open());
            let Some(command) = command else {
                continue;
            };
            let fits = evidence(&event.io, command).filter(|_| found.is_none());
            if let Some(evidence) = fits {
                command.state = Pairing::Paired;
                found = Some((command, evidence));
            } else if is_issue {
                // An issue stands right behind its command; completions are told in batches.
                command.state = Pairing::Alone;
            } else {
                continue;
            }
            self.open -= 1;
        }
        found
    }

    /// Notes the heading of a stack: it belongs to the newest event of the source.
    pub(super) fn begin_stack(&mut self, source: Source<'_>, side: Side) {
        let source = source.hash();
        let place = self.events.iter().rposition(|event| event.source == source);
        self.current = place.map(|place| (self.first + place as u64, Some(side)));
    }

    /// Adds a line of a stack to the event it belongs to, if that waits.
    pub(super) fn add_frame(&mut self, line: &[u8]) {
        let Some((number, side)) = self.current else {
            return;
        };
        let place = number
            .checked_sub(self.first)
            .and_then(|place| usize::try_from(place).ok());
        let Some(event) = place.and_then(|place| self.events.get_mut(place)) else {
            return;
        };
        let step = match side {
            Some(Side::Kernel) => None,
            Some(Side::Program) => ftrace_frame(line),
            None => perf_frame(line),
        };
        if let Some(step) = step
            && event.path.frames.len() < MOST_FRAMES
        {
            event.path.push(step.frame, step.distinction);
        }
    }

    /// Makes events whole that need not wait any longer, or all.
    pub(super) fn release(
        &mut self,
        all: bool,
        disks: &mut Disks,
        names: &mut Names,
    ) -> Result<(), ParseError> {
        while let Some(event) = self.events.front() {
            let is_full = self.events.len() > MOST_UNDECIDED;
            let is_undecided = event
                .command
                .as_ref()
                .is_some_and(|command| disks.is_undecided(command));
            if !all && is_undecided && !is_full {
                break;
            }
            if !all && !event.is_whole && self.events.len() <= MOST_WAITING {
                break;
            }
            let Some(event) = self.events.pop_front() else {
                break;
            };
            self.first += 1;
            let found = self.found(event, disks, names)?;
            self.ready.push_back(found);
        }
        Ok(())
    }

    /// The outcome of an event that waits no longer.
    fn found(
        &mut self,
        mut event: Event,
        disks: &mut Disks,
        names: &mut Names,
    ) -> Result<Found, ParseError> {
        if let Some(command) = &event.command {
            self.open -= usize::from(command.is_open());
            match disks.fate(command, event.moment, &mut event.io, names)? {
                Fate::Taken => {}
                Fate::LeftOut => return Ok(Found::Passed(Passed::OtherEvent)),
            }
        }
        if !event.path.frames.is_empty() {
            event.io.context = names.call_path(event.io.context, event.path)?;
        }
        Ok(Found::Event(event.moment, event.io))
    }

    pub(super) fn ready(&mut self) -> Option<Found> {
        self.ready.pop_front()
    }
}
