//! Requests in flight: each counts once, however often it is issued.
//!
//! ```text
//! on an issue:      unless it repeats a request that was taken back too late, put it into the window
//! on a requeue:     remove its bytes from the newest issue in the window that holds them, or that grew to them by a
//!                   merge; remember them with the context
//! on a failure:     the same
//! on a reissue:     give it that context: mostly a kernel thread issues again
//! on a split:       remember the rest, which old kernels queue again
//! on a queue event: pass over such a rest, else put it into the window
//! on a completion:  count its bytes
//! when the window is full, its oldest request is handed on
//! ```
//!
//! A requeue whose issue has left the window takes back the next issue of the same bytes instead.

use std::collections::VecDeque;

use super::options::Event;
use super::record_outcome::{Moment, Step};
use crate::io::{ContextId, Io, Operation};

/// Requests held back, so that a requeue finds them. Our choice: more than a device has in flight (NVMe queues hold
/// 1,024 in most drivers), and 160 KiB.
const MOST_HELD: usize = 4096;

/// Ranges remembered of each kind: requeues that came late, rests of splits. Our choice.
const MOST_RANGES: usize = 64;

/// Requests that may still be taken back, and the bytes that were issued and completed.
#[derive(Debug)]
pub(super) struct InFlight {
    /// The event that is taken as the request.
    taken: Event,
    window: VecDeque<Io>,
    /// Whether a request has left the window.
    has_handed_on: bool,
    /// Requeues whose request has left the window.
    late: VecDeque<Io>,
    /// Requests that were taken back and not issued again.
    taken_back: VecDeque<Io>,
    /// Rests of split requests.
    rests: VecDeque<Io>,
    issued: Bytes,
    completed: Bytes,
}

/// Requests of one event and their bytes, of reads, writes and discards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bytes {
    events: u64,
    bytes: u64,
}

impl InFlight {
    pub(super) fn new(taken: Event) -> InFlight {
        InFlight {
            taken,
            window: VecDeque::new(),
            has_handed_on: false,
            late: VecDeque::new(),
            taken_back: VecDeque::new(),
            rests: VecDeque::new(),
            issued: Bytes::default(),
            completed: Bytes::default(),
        }
    }

    /// Takes the next events, and appends to `ios` the requests that can no longer be taken back.
    pub(super) fn take(&mut self, steps: &[Step], ios: &mut Vec<Io>) {
        for step in steps {
            self.step(step);
            if self.window.len() > MOST_HELD {
                ios.extend(self.window.pop_front());
                self.has_handed_on = true;
            }
        }
    }

    /// Appends all requests that are left.
    pub(super) fn drain(&mut self, ios: &mut Vec<Io>) {
        self.has_handed_on |= !self.window.is_empty();
        ios.extend(self.window.drain(..));
    }

    fn step(&mut self, step: &Step) {
        let io = step.io;
        match step.moment {
            Moment::Of(Event::Issue) => self.issue(io),
            Moment::Of(Event::Complete) => {
                self.completed.add(io.length_bytes);
                self.rests.retain(|rest| !overlap(rest, &io));
                // A later request for the same bytes is no reissue.
                self.taken_back.retain(|taken| !overlap(taken, &io));
                if self.taken == Event::Complete {
                    self.window.push_back(io);
                }
            }
            Moment::Of(Event::Queue) if self.taken == Event::Queue => self.queue(io),
            Moment::Of(Event::Queue) => {}
            Moment::Requeue | Moment::Failed => self.requeue(&io, step.moment == Moment::Requeue),
            Moment::Split => self.split(&io),
        }
    }

    fn issue(&mut self, mut io: Io) {
        self.issued.add(io.length_bytes);
        if self.taken != Event::Issue {
            return;
        }
        io.context = self.owner(&io);
        let late = self.late.iter().position(|late| is_within(late, &io));
        let Some(late) = late.and_then(|place| self.late.remove(place)) else {
            self.window.push_back(io);
            return;
        };
        self.issued.take(late.length_bytes);
        self.window.extend(without(&io, &late));
    }

    /// The context of a request: that of the one taken back which it issues again, else its own.
    fn owner(&mut self, io: &Io) -> ContextId {
        let is_again = |taken: &Io| is_within(taken, io) || is_within(io, taken);
        let place = self.taken_back.iter().rposition(is_again);
        let Some(taken) = place.and_then(|place| self.taken_back.remove(place)) else {
            return io.context;
        };
        if is_within(io, &taken) {
            // What was taken back may be issued in parts.
            self.taken_back.extend(without(&taken, io));
        }
        taken.context
    }

    /// Takes back what was requeued, or else failed.
    fn requeue(&mut self, io: &Io, is_requeued: bool) {
        if self.taken != Event::Issue {
            self.issued.take(io.length_bytes);
            return;
        }
        let place = self
            .window
            .iter()
            .rposition(|held| is_within(io, held) || has_grown(held, io));
        if let Some(held) = place.and_then(|place| self.window.remove(place)) {
            // What was merged into the request meanwhile was never issued.
            let part = if is_within(io, &held) { io } else { &held };
            self.issued.take(part.length_bytes);
            let place = place.unwrap_or_default();
            for (offset, piece) in without(&held, part).enumerate() {
                self.window.insert(place + offset, piece);
            }
            let context = held.context;
            remember(&mut self.taken_back, Io { context, ..*part });
        } else if self.has_handed_on && is_requeued && !self.is_back(io) {
            // Before anything was handed on, the issue was before the trace: nothing counts twice.
            remember(&mut self.late, *io);
        }
    }

    /// Whether a request was taken back already: one that failed may be requeued, too.
    fn is_back(&self, io: &Io) -> bool {
        self.taken_back.iter().any(|taken| is_within(io, taken))
    }

    fn split(&mut self, io: &Io) {
        if self.taken != Event::Queue {
            return;
        }
        let begins_within = |held: &&Io| {
            let end_bytes = held.offset_bytes.saturating_add(held.length_bytes);
            held.tenant == io.tenant && (held.offset_bytes..end_bytes).contains(&io.offset_bytes)
        };
        let Some(whole) = self.window.iter().rev().find(begins_within) else {
            return;
        };
        let done_bytes = io.offset_bytes - whole.offset_bytes;
        let rest = Io {
            offset_bytes: io.offset_bytes,
            length_bytes: whole.length_bytes - done_bytes,
            ..*whole
        };
        remember(&mut self.rests, rest);
    }

    /// Kernels before 4.12 queue the rest of a split request once more (Linux commit fbbaf700e7b1).
    fn queue(&mut self, io: Io) {
        let is_same = |rest: &Io| {
            is_within(rest, &io)
                && (rest.offset_bytes, rest.length_bytes) == (io.offset_bytes, io.length_bytes)
        };
        match self.rests.iter().position(is_same) {
            Some(place) => drop(self.rests.remove(place)),
            None => self.window.push_back(io),
        }
    }

    /// A sentence where the trace has issue and completion events, and their bytes disagree.
    pub(super) fn disagreement(&self) -> Option<String> {
        let (issued, completed) = (self.issued, self.completed);
        let has_both = issued.events > 0 && completed.events > 0;
        (has_both && issued.bytes != completed.bytes).then(|| {
            format!(
                "issue events have {} bytes and completion events {}: requests were in flight when the trace began or \
                 ended, events are missing, or requests were issued more than once",
                issued.bytes, completed.bytes
            )
        })
    }
}

impl Bytes {
    fn add(&mut self, bytes: u64) {
        self.events += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn take(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

fn remember(ranges: &mut VecDeque<Io>, io: Io) {
    if ranges.len() >= MOST_RANGES {
        ranges.pop_front();
    }
    ranges.push_back(io);
}

/// Whether all of `inner` is a part of `outer`: the same operation on the same volume.
fn is_within(inner: &Io, outer: &Io) -> bool {
    let end = |io: &Io| io.offset_bytes.saturating_add(io.length_bytes);
    inner.operation == outer.operation
        && inner.tenant == outer.tenant
        && inner.offset_bytes >= outer.offset_bytes
        && end(inner) <= end(outer)
        // A flush is within a flush, and nothing else is without bytes.
        && (inner.length_bytes > 0 || inner.operation == Operation::Flush)
}

/// Whether a request became another by merges at one of its ends.
fn has_grown(held: &Io, grown: &Io) -> bool {
    let end = |io: &Io| io.offset_bytes.saturating_add(io.length_bytes);
    is_within(held, grown) && (held.offset_bytes == grown.offset_bytes || end(held) == end(grown))
}

fn overlap(one: &Io, other: &Io) -> bool {
    one.tenant == other.tenant
        && one.offset_bytes < other.offset_bytes.saturating_add(other.length_bytes)
        && other.offset_bytes < one.offset_bytes.saturating_add(one.length_bytes)
}

/// The parts of a request before and behind the bytes of another, which lies within it.
fn without(whole: &Io, part: &Io) -> impl Iterator<Item = Io> {
    let end = |io: &Io| io.offset_bytes.saturating_add(io.length_bytes);
    let before = (whole.offset_bytes, part.offset_bytes);
    let behind = (end(part), end(whole));
    let whole = *whole;
    [before, behind]
        .into_iter()
        .filter(|(from, to)| to > from)
        .map(move |(from, to)| Io {
            offset_bytes: from,
            length_bytes: to - from,
            ..whole
        })
}

#[cfg(test)]
mod tests;
