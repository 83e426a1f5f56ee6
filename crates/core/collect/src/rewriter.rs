//! When a host that collects reads survivors and writes them anew.
//!
//! ```text
//! few units are free in the model:    begin to empty one
//! nobody waits for the drive:         read its next survivors
//! the host has written:               read so many that the unit is empty when the host has used up what that wins, and
//!                                     the faster the fewer units are free
//! the model has no unit to write to:  the host's request waits until the unit is empty
//! survivors were read:                write those anew that live there yet
//! all of them are written:            the unit is free
//! ```

use std::collections::VecDeque;

use anabranch_ssd::Emptying;

/// Reads and rewrites under way at a time (our choice: enough that reading, sending and programming overlap).
const UNDER_WAY: usize = 8;

/// Survivors that are being read.
#[derive(Debug)]
struct Chunk {
    tag: u64,
    /// The number of their unit.
    unit: u64,
    pages: Vec<u32>,
    is_read: bool,
}

/// The units that are being emptied, and the survivors under way.
#[derive(Debug, Default)]
pub(crate) struct Rewriter {
    /// The units, of which the last is read; the first has this number.
    units: VecDeque<Emptying>,
    first_unit: u64,
    /// Survivors that are being read, in the order in which they are written.
    reading: VecDeque<Chunk>,
    /// The names of rewrites under way, and the numbers of the units whose survivors they are.
    writing: Vec<(u64, u64)>,
    /// The number of the unit whose survivors were handed out last.
    moving: u64,
    last_tag: u64,
    /// Pages that the units win, less those that the host has written since.
    room: u64,
    /// Survivors that may be read while others wait for the drive; less than none after more were read.
    credit: f64,
    /// The host's pages up to which credit was given.
    credited_pages: u64,
}

impl Rewriter {
    /// Begins with a unit that wins so many pages.
    pub(crate) fn begin(&mut self, emptying: Emptying, gain: u32) {
        self.units.push_back(emptying);
        self.room += u64::from(gain);
    }

    /// The units that are being emptied.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Emptying> {
        self.units.iter()
    }

    /// The unit whose survivors are read now; none where another one has to begin.
    pub(crate) fn unit_to_read(&mut self) -> Option<&mut Emptying> {
        self.units.back_mut().filter(|unit| !unit.is_seen())
    }

    /// The first unit, if its survivors are all dealt with, and lie elsewhere in the drive: before that it holds them still.
    pub(crate) fn take_emptied(&mut self) -> Option<Emptying> {
        let is_read = |chunk: &Chunk| chunk.unit == self.first_unit;
        let is_written = |writing: &(u64, u64)| writing.1 == self.first_unit;
        let is_emptied = !self.reading.iter().any(is_read) && !self.writing.iter().any(is_written);
        let emptied = self.units.front().filter(|unit| unit.is_seen());
        let emptied = *emptied.filter(|_| is_emptied)?;
        self.units.pop_front();
        self.first_unit += 1;
        Some(emptied)
    }

    /// The units that are being emptied, when nothing is under way any more.
    pub(crate) fn into_units(self) -> VecDeque<Emptying> {
        self.units
    }

    /// Gives credit for what the host has written, up to so many pages in all, while so many survivors are left: as much as
    /// empties the units in time, times `haste`.
    pub(crate) fn wrote(&mut self, host_pages: u64, survivors: u32, haste: f64) {
        let pages = host_pages.saturating_sub(self.credited_pages);
        self.credited_pages = host_pages;
        let share = haste * f64::from(survivors) / self.room.max(1) as f64;
        self.credit = (self.credit + pages as f64 * share).min(f64::from(survivors));
        self.room = self.room.saturating_sub(pages);
    }

    /// Heeds the ends of reads and rewrites, by their names.
    pub(crate) fn ended(&mut self, tags: &[u64]) {
        for tag in tags {
            match self.reading.iter_mut().find(|chunk| chunk.tag == *tag) {
                Some(chunk) => chunk.is_read = true,
                None => self.writing.retain(|writing| writing.0 != *tag),
            }
        }
    }

    /// The next survivors that were read, and their unit, where `room_pages` are free. Those of the first unit always find
    /// room. The others would take what the first leaves, before it is free itself, and would find none.
    pub(crate) fn next_read(&mut self, room_pages: u64) -> Option<(&mut Emptying, Vec<u32>)> {
        let next = self.reading.front().filter(|chunk| chunk.is_read)?;
        if next.unit > self.first_unit && (next.pages.len() as u64) > room_pages {
            return None;
        }
        let chunk = self.reading.pop_front()?;
        self.moving = chunk.unit;
        let unit = (chunk.unit - self.first_unit) as usize;
        Some((self.units.get_mut(unit)?, chunk.pages))
    }

    /// Whether it is time to read more: at once where it is urgent, and as far as there is credit otherwise.
    pub(crate) fn may_read(&self, is_urgent: bool) -> bool {
        let under_way = self.reading.len() + self.writing.len();
        (is_urgent || self.credit > 0.0) && under_way < UNDER_WAY
    }

    /// Takes survivors of the last unit that are read now, and answers with the name of the read.
    pub(crate) fn reads(&mut self, pages: Vec<u32>) -> u64 {
        self.credit -= pages.len() as f64;
        let tag = self.next_tag();
        self.reading.push_back(Chunk {
            tag,
            unit: self.first_unit + self.units.len() as u64 - 1,
            pages,
            is_read: false,
        });
        tag
    }

    /// The name of a rewrite that begins now.
    pub(crate) fn writes(&mut self) -> u64 {
        let tag = self.next_tag();
        self.writing.push((tag, self.moving));
        tag
    }

    fn next_tag(&mut self) -> u64 {
        self.last_tag += 1;
        self.last_tag
    }
}
