//! A host that collects on a steered drive: its model of the drive, and how far the model knows it.
//!
//! ```text
//! write, discard:   the pages are known from now on; the model does what the drive is asked to do
//! no room:          the write waits while a unit is being emptied
//! next survivors:   until all but a unit's worth of pages are known, none: the model alone empties units
//!                   end with an emptied unit, or begin with one if few are free; name its next survivors to be read
//! rewrite:          survivors that were read and not changed since go on to the handles that the model chooses
//! ```

use std::io::{Read, Write};

use anabranch_collect::{Collector, Step};
use anabranch_ssd::{Config, Keeps, PageRange, StreamId, relocate::Relocate, state::StateError};

/// The model, kept under the placer's lock.
pub struct Collecting {
    collector: Collector,
    unknown: Unknown,
    /// Streams that were written to.
    written: Vec<bool>,
    /// Pages of the user so far.
    host_pages: u64,
    /// Survivors that the model moved although they stayed where they are: the drive copies them.
    left_pages: u64,
}

/// Pages that may hold data in units which the model does not know: those that were neither written nor discarded since it
/// began.
struct Unknown {
    bits: Vec<u64>,
    left: u64,
}

impl Unknown {
    fn all(pages: u32) -> Unknown {
        let mut bits = vec![u64::MAX; pages.div_ceil(64) as usize];
        if let (Some(last), rest @ 1..) = (bits.last_mut(), pages % 64) {
            *last = (1 << rest) - 1;
        }
        let left = pages.into();
        Unknown { bits, left }
    }

    fn load(from: &mut dyn Read, pages: u32) -> Result<Unknown, StateError> {
        let mut unknown = Unknown::all(pages);
        for word in &mut unknown.bits {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes).map_err(StateError::Read)?;
            // IMPORTANT: no bit beyond the drive. It would never become known, and `left` never 0.
            *word &= u64::from_le_bytes(bytes);
        }
        let left = unknown.bits.iter().map(|word| u64::from(word.count_ones()));
        unknown.left = left.sum();
        Ok(unknown)
    }

    fn save(&self, to: &mut dyn Write) -> Result<(), StateError> {
        for word in &self.bits {
            to.write_all(&word.to_le_bytes())
                .map_err(StateError::Write)?;
        }
        Ok(())
    }

    fn know(&mut self, pages: PageRange) {
        // The usual case once all is known: every write comes here.
        if self.left == 0 {
            return;
        }
        let mut page = u64::from(pages.first);
        let end = page + u64::from(pages.count);
        while page < end {
            let next = end.min((page / 64 + 1) * 64);
            let Some(word) = self.bits.get_mut((page / 64) as usize) else {
                return;
            };
            let mask = (u64::MAX >> (64 - (next - page))) << (page % 64);
            self.left -= u64::from((*word & mask).count_ones());
            *word &= !mask;
            page = next;
        }
    }
}

impl Collecting {
    /// A host that collects by this model. Where the drive may hold what the model does not know of, it collects once that is
    /// little.
    pub fn new(collector: Collector, is_known: bool) -> Collecting {
        let pages = collector.model().config().logical_pages;
        let mut unknown = Unknown::all(pages);
        if is_known {
            unknown.know(PageRange::new(0, pages));
        }
        Collecting {
            written: vec![false; usize::from(collector.model().config().host_streams)],
            collector,
            unknown,
            host_pages: 0,
            left_pages: 0,
        }
    }

    /// Reads a model that was kept; nothing where it is of another drive.
    ///
    /// # Errors
    /// When it is damaged, or the scheme does not know its state.
    pub fn load(
        from: &mut dyn Read,
        model: &Config,
        drive: &Config,
        relocation: &mut dyn Relocate,
    ) -> Result<Option<Collecting>, StateError> {
        let unknown = Unknown::load(from, model.logical_pages)?;
        let collector = Collector::load(from, model, drive, Keeps::Units, relocation)?;
        Ok(collector.map(|collector| Collecting {
            unknown,
            ..Collecting::new(collector, true)
        }))
    }

    /// Writes the model, when nothing is under way any more.
    pub(crate) fn save(
        &mut self,
        relocation: &mut dyn Relocate,
        to: &mut dyn Write,
    ) -> Result<(), StateError> {
        self.unknown.save(to)?;
        self.collector.save(relocation, to)
    }

    /// Bytes of memory that the model holds, and those that tell which pages it knows.
    pub fn memory_bytes(&self) -> u64 {
        self.collector.memory_bytes() + 8 * self.unknown.bits.len() as u64
    }

    /// The host's collector.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    /// Pages whose units the model does not know.
    pub fn unknown_pages(&self) -> u64 {
        self.unknown.left
    }

    /// Survivors that were left to the drive.
    pub fn left_pages(&self) -> u64 {
        self.left_pages
    }

    /// Whether the drive's units are known but for a unit's worth of pages.
    pub fn is_known(&self) -> bool {
        self.unknown.left <= u64::from(self.collector.model().config().pages_per_unit)
    }

    /// Pages are written to a stream. A model that has no room copies at once, and the drive is left to do the same.
    pub fn write(&mut self, relocation: &mut dyn Relocate, pages: PageRange, stream: StreamId) {
        self.unknown.know(pages);
        self.host_pages += u64::from(pages.count);
        if let Some(written) = self.written.get_mut(stream.index()) {
            *written = true;
        }
        // A model refuses only what is beyond its drive, and no request is.
        let _ = self.collector.write(relocation, pages, stream);
        self.leave_moved();
    }

    /// The model has moved survivors that nobody has read: they stay where they are.
    fn leave_moved(&mut self) {
        let left = &mut self.left_pages;
        let _ = self.collector.each_step(false, |step| {
            if let Step::Rewrite { pages, .. } = step {
                *left += pages.len() as u64;
            }
            Ok::<(), ()>(())
        });
    }

    /// Pages are discarded.
    pub fn discard(&mut self, pages: PageRange) {
        self.unknown.know(pages);
        let _ = self.collector.discard(pages);
    }

    /// Whether a write of so many pages should wait until a unit is emptied. Its stream is not known yet: it may be any that
    /// was written to.
    pub fn should_wait(&self, pages: u32) -> bool {
        let streams = (0..).map(StreamId).zip(&self.written);
        let mut written = streams.filter_map(|(stream, written)| written.then_some(stream));
        // A host that does not know the drive does not collect yet: nobody waits for what the model does alone.
        self.is_known()
            && self.collector.is_emptying()
            && written.any(|stream| self.collector.has_no_room(stream, pages))
    }

    /// Heeds the ends of reads and rewrites, by their names.
    pub fn ended(&mut self, tags: &[u64]) {
        self.collector.ended(tags);
    }

    /// A page cannot be read. The model takes it for dead, or it would empty its unit again and again; the drive copies it.
    pub fn cannot_read(&mut self, page: u32) {
        self.left_pages += 1;
        let _ = self.collector.discard(PageRange::new(page, 1));
    }

    /// Survivors that were read and `may` move go on to other units. Answers whether there were any; `act` is given where each
    /// goes.
    pub fn rewrite_next(
        &mut self,
        relocation: &mut dyn Relocate,
        may: impl FnMut(&u32) -> bool,
        mut act: impl FnMut(StreamId, &[u32], u64),
    ) -> bool {
        let has_read = self.collector.rewrite_next(relocation, may);
        let _ = self.collector.each_step(true, |step| {
            if let Step::Rewrite { handle, pages, tag } = step {
                act(handle, pages, tag);
            }
            Ok::<(), ()>(())
        });
        has_read
    }

    /// The survivors to be read next, and the name of the read: see [`Collector::next_survivors`]. Begins with a unit, and ends
    /// with one, where it is time.
    pub fn next_survivors(
        &mut self,
        relocation: &mut dyn Relocate,
        is_idle: bool,
    ) -> Option<(u64, Vec<u32>)> {
        self.collector.wrote(self.host_pages);
        loop {
            // A unit whose last survivors were overwritten names none: the next turn ends with it or begins another.
            while self.collector.empty_or_begin(relocation) {}
            let (tag, pages) = self.collector.next_survivors(is_idle)?;
            // In a unit with unknown pages the drive would still find survivors when the model takes it for empty. So only
            // the model moves them: else it would do so at a write without room, which would wait for all of the unit.
            if !self.is_known() {
                self.collector.ended(&[tag]);
                self.collector.rewrite_next(relocation, |_| true);
                self.leave_moved();
                return None;
            }
            if !pages.is_empty() {
                return Some((tag, pages));
            }
            // They are sought on in another turn: requests wait for the lock that is held.
            if self.is_seeking(is_idle) {
                return None;
            }
        }
    }

    /// Whether the next survivors are sought yet.
    pub fn is_seeking(&mut self, is_idle: bool) -> bool {
        self.collector.is_seeking(is_idle)
    }

    /// Pages until the unit of a handle ends, by the model.
    pub fn room(&self, handle: StreamId) -> u32 {
        self.collector.room(handle)
    }

    /// Ends the unit of a handle, as the drive has.
    pub fn end_unit(&mut self, handle: StreamId) {
        self.collector.end_unit(handle);
    }
}

#[cfg(test)]
mod tests {
    use anabranch_ssd::relocate::RelocationKind;

    use super::*;

    #[test]
    fn before_the_drive_is_known_the_model_alone_empties_units_and_nobody_waits() {
        let config = Config {
            internal_streams: 1,
            ..Config::new(512, 8, 80)
        };
        let mut relocation = RelocationKind::Gc.build(&config);
        let collector = Collector::new(config.clone(), &config, Keeps::Units, &mut *relocation);
        let mut collecting = Collecting::new(collector.unwrap(), false);
        let mut is_emptying = false;
        for step in 0..2_000_u32 {
            // Sixteen pages are never written.
            let page = step.wrapping_mul(2_654_435_761) % 496;
            collecting.write(&mut *relocation, PageRange::new(page, 1), StreamId(0));
            assert!(!collecting.should_wait(1));
            while collecting.is_seeking(true) {
                assert!(collecting.next_survivors(&mut *relocation, true).is_none());
            }
            assert!(collecting.next_survivors(&mut *relocation, true).is_none());
            is_emptying |= collecting.collector().is_emptying();
        }
        assert!(is_emptying && !collecting.is_known() && collecting.left_pages() > 0);
        collecting.collector().model().verify().unwrap();
        collecting.discard(PageRange::new(496, 16));
        assert!(collecting.is_known());
    }

    #[test]
    fn pages_are_known_once_written_or_discarded() {
        for pages in [1, 63, 64, 65, 300] {
            let mut unknown = Unknown::all(pages);
            assert_eq!(unknown.left, u64::from(pages));
            let mut known = vec![false; pages as usize];
            for step in 0..200_u32 {
                let first = step * 7919 % pages;
                let count = (1 + step % 70).min(pages - first);
                unknown.know(PageRange::new(first, count));
                known[first as usize..(first + count) as usize].fill(true);
                let left = known.iter().filter(|known| !**known).count();
                assert_eq!(unknown.left, left as u64);
            }
            let mut bytes = Vec::new();
            unknown.save(&mut bytes).unwrap();
            let kept = Unknown::load(&mut &bytes[..], pages).unwrap();
            assert_eq!((kept.left, kept.bits), (unknown.left, unknown.bits));
            bytes.pop();
            assert!(Unknown::load(&mut &bytes[..], pages).is_err(), "it is cut");
        }
    }
}
