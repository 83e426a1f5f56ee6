//! `fadac`: FADaC, a self-adapting data classifier for flash memory (SYSTOR'19).

use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
};

use crate::{
    assign::{Assign, Write},
    by_page::{part, place_each, prefetch, shared_classes},
    geometry::HostGeometry,
    halves::Halves,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};

parameters! {
    /// Parameters of [`Fadac`].
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Parameters {
        /// Classes there are, at most as many as the drive has host streams. 6: what `SepBIT`'s
        /// evaluation (FAST'22) gives every scheme.
        classes: Count(1..=128) = 6,
            "classes, at most one a host stream";
        /// A class ends at this many times the count at which the one before it ends. 10: `SepBIT`'s
        /// simulator.
        base: Number(1.01..=1000.0) = 10.0,
            "ratio of one class's highest count to that of the class before";
    }
}

impl HostScheme for Parameters {
    named!("fadac");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(Fadac::new(self, &site.geometry())))
    }
}

/// Counts each page's writes, less its copies, and classes the page by how far the count exceeds a
/// fading average: class `k` is the first whose bound, the average times `base^k`, is not
/// exceeded. Both writes and copies fill the class's own units, host streams `0..classes`.
///
/// As `SepBIT`'s simulator has it, whose fading average takes in, with each request, the request's
/// pages over the pages that live. Requests are taken page by page here, as the simulator does
/// with requests of one page; the average then soon is one. Discards reset a page's count (our
/// choice; the simulator knows none). Memory: 4 bytes for each page of the drive.
#[derive(Debug)]
pub struct Fadac {
    /// Writes of each page less its copies, plus one; 0 for a page without data.
    counts: Vec<u32>,
    live_pages: u64,
    average: f64,
    base: f64,
    classes: u8,
}

impl Fadac {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Fadac {
        Fadac {
            counts: vec![0; geometry.logical_pages as usize],
            live_pages: 0,
            average: 0.0,
            base: parameters.base,
            classes: shared_classes(parameters.classes, geometry),
        }
    }

    fn class(&self, count: u32) -> StreamId {
        let mut bound = self.average;
        let mut class = 0;
        while class + 1 < self.classes && bound > 0.0 && f64::from(count) > bound {
            bound *= self.base;
            class += 1;
        }
        StreamId(u16::from(class))
    }

    fn place(&mut self, page: u32) -> StreamId {
        if self.live_pages > 0 {
            self.average += (1.0 - self.average) / self.live_pages as f64;
        }
        let Some(count) = self.counts.get_mut(page as usize) else {
            return StreamId::DEFAULT;
        };
        if *count == 0 {
            self.live_pages += 1;
            *count = 1;
        }
        *count = count.saturating_add(1);
        let writes = *count - 1;
        self.class(writes)
    }
}

impl Assign for Fadac {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, _| self.place(page))
    }

    fn prefetch(&self, pages: &[u32]) {
        prefetch(&self.counts, pages);
    }

    fn discard(&mut self, pages: PageRange, _now_pages: u64) {
        for count in part(&mut self.counts, pages) {
            self.live_pages -= u64::from(*count > 0);
            *count = 0;
        }
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
    }
}

impl Relocate for Fadac {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn prefetch_survivors(&self, pages: &[u32]) {
        prefetch(&self.counts, pages);
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        match self.counts.get_mut(survivor.page as usize) {
            Some(count) if *count > 0 => {
                *count = (*count - 1).max(1);
                let writes = *count - 1;
                self.class(writes)
            }
            _ => victim.stream,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, stream};

    fn copy(scheme: &mut Fadac, page: u32) -> u16 {
        let victim = Victim {
            stream: StreamId(5),
            valid_pages: 1,
            opened_at: 0,
            now: 0,
        };
        let survivor = Survivor { page, age_pages: 0 };
        scheme.survivor(&victim, survivor).0
    }

    #[test]
    fn classes_end_at_the_average_times_powers_of_the_base() {
        let parameters = Parameters {
            classes: 4,
            base: 3.0,
        };
        let mut scheme = Fadac::new(&parameters, &DRIVE);
        assert_eq!(stream(&mut scheme, 1, 0), 0, "no average yet");
        // From the second write on the average is one: bounds 1, 3 and 9.
        let rising: Vec<u16> = (1..12).map(|now| stream(&mut scheme, 1, now)).collect();
        assert_eq!(rising, [1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3]);
        assert_eq!(stream(&mut scheme, 2, 12), 0, "written once");
    }

    #[test]
    fn copies_take_writes_back() {
        let parameters = Parameters {
            classes: 4,
            base: 3.0,
        };
        let mut scheme = Fadac::new(&parameters, &DRIVE);
        (0..5).for_each(|now| {
            stream(&mut scheme, 1, now);
        });
        let sinking: Vec<u16> = (0..6).map(|_| copy(&mut scheme, 1)).collect();
        assert_eq!(sinking, [2, 1, 1, 0, 0, 0], "counts 4, 3, 2, 1, 0, 0");
        assert_eq!(stream(&mut scheme, 1, 9), 0, "count 1");
    }

    #[test]
    fn a_discarded_page_begins_anew() {
        let mut scheme = Fadac::new(&Parameters::default(), &DRIVE);
        (0..30).for_each(|now| {
            stream(&mut scheme, 1, now);
        });
        assert_eq!(scheme.live_pages, 1);
        scheme.discard(PageRange::new(0, 99), 30);
        assert_eq!(scheme.live_pages, 0);
        assert_eq!(copy(&mut scheme, 1), 5, "nothing known: its own stream");
        assert_eq!(stream(&mut scheme, 1, 30), 0);
    }
}
