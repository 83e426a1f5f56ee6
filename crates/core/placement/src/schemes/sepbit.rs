//! `sepbit`: Separating data via block invalidation time (Wang et al., FAST'22).

use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Erased, Relocate, Survivor, Victim},
};

use crate::{
    assign::{Assign, Write},
    by_page::{copy_streams, place_each},
    geometry::HostGeometry,
    halves::Halves,
    last_writes::LastWrites,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// Classes of the host's writes: short-lived and the rest (§3.2).
const HOST_CLASSES: u16 = 2;
/// The age at which a class of copies ends, over that at which the one before it ends (§3.4: 4 and 16 times ℓ).
const GROWTH: u64 = 4;

parameters! {
    /// Parameters of [`SepBit`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Classes there are: two of writes, one of copies out of the first of them, and the others of
        /// copies by age. 6: §3.1.
        classes: Count(4..=128) = 6,
            "classes: two of writes, one of copies of the first, the others by age";
        /// Units of the first class whose lifespans make ℓ. 16: §3.4.
        lifespans: Count(1..=1_000_000) = 16,
            "units of the first class whose mean lifespan is the threshold";
    }
}

impl HostScheme for Parameters {
    named!("sepbit");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(SepBit::new(self, &site.geometry())))
    }
}

/// Infers when a write will die from how long the data it replaces had lived, and when a copy will
/// from its age.
///
/// - A write is short-lived if what it replaces lived less than ℓ; what replaces nothing is not.
/// - A copy out of a unit of short-lived writes has a class of its own; others go by age, their
///   classes ending at 4ℓ, 16ℓ, ….
/// - ℓ is the mean lifespan of 16 units of short-lived writes, from opening to erasure; without
///   end until so many were erased.
///
/// The paper finds lives below ℓ with a queue of the last ℓ writes and an index of the pages in
/// it. A page is in that queue exactly if its age is no more than the queue's length, so that the
/// length and a table of last writes, which also gives the ages of copies, answer the same; the
/// queue's length follows the authors' simulator: it shrinks by one with each write while longer
/// than ℓ. Memory: 4 bytes for each page of the drive.
///
/// Copies take internal streams first. Without this device half ℓ is never learned, and what
/// counts as short-lived is all that dies within a drive's worth of writes. A discard ends a life
/// and leaves nothing to replace (the simulator knows none).
#[derive(Debug)]
pub struct SepBit {
    writes: LastWrites,
    short: StreamId,
    long: StreamId,
    /// The stream for copies of short-lived writes, then those of copies by age.
    copies: Vec<StreamId>,
    /// ℓ in pages; `u64::MAX` until it is learned.
    threshold: u64,
    queue_pages: u64,
    lifespans: u32,
    erased: u32,
    lifespan_sum: u64,
}

impl SepBit {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> SepBit {
        let long = HOST_CLASSES.min(geometry.host_streams.max(1)) - 1;
        let copies = (parameters.classes - u32::from(HOST_CLASSES)).max(2) as usize;
        SepBit {
            writes: LastWrites::new(geometry.logical_pages),
            short: StreamId(0),
            long: StreamId(long),
            copies: copy_streams(copies, long + 1, geometry),
            threshold: u64::MAX,
            queue_pages: 0,
            lifespans: parameters.lifespans,
            erased: 0,
            lifespan_sum: 0,
        }
    }

    fn place(&mut self, page: u32, now_pages: u64) -> StreamId {
        let bound = self.threshold.min(self.queue_pages);
        let replaced = self.writes.write(page, now_pages);
        self.queue_pages += 1;
        if self.queue_pages > self.threshold.min(self.writes.live_pages()) {
            self.queue_pages -= 1;
            self.queue_pages -= u64::from(self.queue_pages > self.threshold);
        }
        match replaced {
            Some(lifetime) if lifetime < bound => self.short,
            _ => self.long,
        }
    }
}

impl Assign for SepBit {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, now_pages| self.place(page, now_pages))
    }

    fn prefetch(&self, pages: &[u32]) {
        self.writes.prefetch(pages);
    }

    fn discard(&mut self, pages: PageRange, _now_pages: u64) {
        self.writes.discard(pages);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.writes.memory_bytes() + self.copies.capacity() * size_of::<StreamId>()
    }
}

impl Relocate for SepBit {
    fn destination(&mut self, victim: &Victim) -> Destination {
        match self.copies.first() {
            Some(&first) if victim.stream == self.short => Destination::Stream(first),
            _ => Destination::Each,
        }
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let age = self.writes.age(survivor.page, victim.now).unwrap_or(0);
        let mut bound = self.threshold.saturating_mul(GROWTH);
        let mut class = 1;
        while class + 1 < self.copies.len() && age >= bound {
            class += 1;
            bound = bound.saturating_mul(GROWTH);
        }
        self.copies.get(class).copied().unwrap_or(victim.stream)
    }

    fn erased(&mut self, erased: &Erased) {
        if erased.stream != self.short {
            return;
        }
        self.erased += 1;
        self.lifespan_sum += erased.now.saturating_sub(erased.opened_at);
        if self.erased >= self.lifespans {
            self.threshold = (self.lifespan_sum / u64::from(self.erased)).max(1);
            self.erased = 0;
            self.lifespan_sum = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, stream};

    fn scheme() -> SepBit {
        let parameters = Parameters {
            lifespans: 2,
            ..Parameters::default()
        };
        SepBit::new(&parameters, &DRIVE)
    }

    fn erase(scheme: &mut SepBit, stream: u16, opened_at: u64, now: u64) {
        scheme.erased(&Erased {
            stream: StreamId(stream),
            units_left: 0,
            opened_at,
            now,
        });
    }

    fn victim(stream: u16, now: u64) -> Victim {
        Victim {
            stream: StreamId(stream),
            valid_pages: 1,
            opened_at: 0,
            now,
        }
    }

    fn copy(scheme: &mut SepBit, page: u32, now: u64) -> u16 {
        let survivor = Survivor { page, age_pages: 0 };
        scheme.survivor(&victim(1, now), survivor).0
    }

    #[test]
    fn what_replaces_young_data_is_short_lived() {
        let mut scheme = scheme();
        for page in 0..40 {
            assert_eq!(stream(&mut scheme, page, u64::from(page)), 1, "new");
        }
        // 40 live pages: the queue holds the last 40 writes until ℓ is known.
        assert_eq!(stream(&mut scheme, 35, 40), 0, "5 pages old");
        assert_eq!(stream(&mut scheme, 1, 41), 1, "40 pages old: not below 40");
        erase(&mut scheme, 0, 0, 4);
        erase(&mut scheme, 1, 0, 99);
        erase(&mut scheme, 0, 0, 8);
        assert_eq!(scheme.threshold, 6, "the mean of 4 and 8");
        assert_eq!(stream(&mut scheme, 35, 45), 0, "5 pages old");
        assert_eq!(stream(&mut scheme, 39, 46), 1, "7 pages old");
    }

    #[test]
    fn the_queue_shrinks_by_one_a_write_down_to_the_threshold() {
        let mut scheme = scheme();
        for page in 0..20 {
            stream(&mut scheme, page, u64::from(page));
        }
        assert_eq!(scheme.queue_pages, 20);
        erase(&mut scheme, 0, 0, 10);
        erase(&mut scheme, 0, 0, 10);
        let lengths: Vec<u64> = (20..34)
            .map(|now| {
                stream(&mut scheme, 0, now);
                scheme.queue_pages
            })
            .collect();
        assert_eq!(lengths[..4], [19, 18, 17, 16]);
        assert_eq!(lengths[10..], [10, 10, 10, 10]);
    }

    #[test]
    fn copies_go_by_where_they_come_from_and_by_age() {
        let mut scheme = scheme();
        stream(&mut scheme, 3, 0);
        let from_short = scheme.destination(&victim(0, 1));
        assert_eq!(from_short, Destination::Stream(StreamId(8)));
        assert_eq!(scheme.destination(&victim(1, 1)), Destination::Each);
        assert_eq!(copy(&mut scheme, 3, 1_000_000), 9, "no threshold yet");
        erase(&mut scheme, 0, 0, 10);
        erase(&mut scheme, 0, 0, 10);
        for (age, class) in [(0, 9), (39, 9), (40, 10), (159, 10), (160, 11), (9999, 11)] {
            assert_eq!(copy(&mut scheme, 3, age), class, "{age}");
        }
    }

    #[test]
    fn what_follows_a_discard_replaces_nothing() {
        let mut scheme = scheme();
        (0..9).for_each(|page| {
            stream(&mut scheme, page, u64::from(page));
        });
        scheme.discard(PageRange::new(8, 1), 9);
        assert_eq!(stream(&mut scheme, 8, 9), 1);
        assert_eq!(stream(&mut scheme, 8, 10), 0);
    }
}
