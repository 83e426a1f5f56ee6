//! Events of a stream that several processors wrote into, put into the order of their time.
//!
//! `blktrace -o -` writes what each processor has in turn, a buffer at a time, so that times go back from one buffer to
//! the next. An event is handed on once so many later ones were read that no earlier one can follow.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::record_outcome::Step;

/// Events that are held. Our choice: what blktrace buffers for three processors by default (four buffers of 512 KiB,
/// 48 bytes an event), and 8 MiB. Of a longer stretch out of order, the import says that the clock goes back.
const MOST_HELD: usize = 1 << 17;

/// Events in the order of their time; events of one time in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    held: BinaryHeap<Reverse<Held>>,
    read: u64,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    place: u64,
    step: Step,
}

impl Held {
    fn key(&self) -> (u64, u64) {
        (self.step.io.time_ns, self.place)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Held) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Reorder {
    /// Takes the events that were read, and leaves in their place those that are handed on.
    pub(super) fn pass(&mut self, steps: &mut Vec<Step>, is_end: bool) {
        for step in steps.drain(..) {
            let place = self.read;
            self.read += 1;
            self.held.push(Reverse(Held { place, step }));
        }
        // The end hands on a batch at a time, as everything before.
        let keep = if is_end { 0 } else { MOST_HELD };
        while self.held.len() > keep && steps.len() < super::reader::BATCH {
            steps.extend(self.held.pop().map(|Reverse(held)| held.step));
        }
    }

    /// Whether no event is held.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}
