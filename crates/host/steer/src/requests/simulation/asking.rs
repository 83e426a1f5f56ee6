//! Requests that the block layer asks for, and their pages' writers.

use std::ops::Range;

use anabranch_trace::{ContextId, FileId, WriteHint};

use super::drive::Version;
use super::places::{page_of, sectors_of};
use super::{SECTOR_BYTES, SECTORS, Waiting, World};
use crate::command::{Action, Request};
use crate::writers::Writer;

impl World {
    pub fn version(&mut self) -> Version {
        self.last += 1;
        self.last
    }

    pub fn any_request(&mut self) -> Option<Request> {
        let asked = match self.random.below(100) {
            0..=49 => Action::Write {
                is_metadata: self.random.one_in(8),
                forced: self.random.one_in(6),
            },
            50..=74 => Action::Read,
            75..=84 => Action::Flush,
            85..=91 => Action::Discard,
            92..=98 => Action::Zeroes {
                may_discard: self.random.one_in(2),
            },
            _ => Action::Unknown,
        };
        let block = 1 << self.drive.block_shift;
        let blocks = (SECTORS * SECTOR_BYTES / block) as u64;
        let first = match self.rewritten_block() {
            // Where a survivor is under way, faults show.
            Some(block) if self.random.one_in(2) => {
                block + self.random.below(8).min(blocks - 1 - block)
            }
            _ => self.random.below(blocks),
        };
        // Many are smaller than a page, of drives whose blocks are.
        let most_sectors = if self.random.one_in(2) { 8 } else { 64 };
        let most = (most_sectors * SECTOR_BYTES / block).max(1) as u64;
        let count = (1 + self.random.below(most)).min(blocks - first);
        let (first, count) = match asked {
            Action::Flush => (0, 0),
            _ => (first, count),
        };
        let request = Request {
            asked,
            start_bytes: first * block as u64,
            length_bytes: count * block as u64,
        };
        let own = sectors_of(&request);
        let overlaps = |other: &Waiting| {
            let other = sectors_of(&other.request);
            own.start < other.end && other.start < own.end
        };
        (!self.waiting.values().any(overlaps)).then_some(request)
    }

    /// Runs of pages have a writer each, or none that is known.
    pub fn tell_writers(&mut self, sectors: &Range<usize>) {
        let mut page = page_of(sectors.start);
        let end = page_of(sectors.end - 1) + 1;
        while page < end {
            let next = end.min(page + 1 + self.random.below(4));
            let writer = Writer {
                context: ContextId(self.random.below(4) as u32),
                file: FileId(0),
                hint: WriteHint::NotSet,
                tenant: 0,
            };
            if !self.random.one_in(5) {
                self.writers.record(page..next, writer);
            }
            page = next;
        }
    }
}
