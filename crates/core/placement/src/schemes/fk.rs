//! `fk`: future knowledge by class, as `SepBIT` compares itself with (FAST'22).

use std::sync::Arc;

use anabranch_ssd::{
    StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
};

use crate::{
    assign::{Assign, Write},
    future::Future,
    geometry::HostGeometry,
    halves::Halves,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    schemes::oracle::Deaths,
    site::Site,
};

parameters! {
    /// Parameters of [`Fk`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Open units. 6: `SepBIT`'s classes, which its FK has as many of.
        classes: Count(1..=65_535) = 6,
            "open units; the last takes all that lives longer";
    }
}

impl HostScheme for Parameters {
    named!("fk");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(Fk::new(self, &site.geometry(), site.future)))
    }

    fn needs_future(&self) -> bool {
        true
    }
}

/// Data that will die within the next unit of writes go to the first class, those that will die
/// within the one after it to the second, and so on; the last class takes the rest. Copies are
/// classed by the life that is left to them, and join the same open units.
///
/// The scheme is no bound, though it knows the future: the last class holds all data that outlive a
/// few units, which on a drive of hundreds of units is nearly everything, unsorted, and the drive's
/// own rule chooses its victims. A scheme that sorts long lives roughly copies less than one that
/// sorts short lives exactly.
///
/// Memory: 8 bytes for each logical page, and the future.
#[derive(Debug)]
pub struct Fk {
    deaths: Deaths,
    unit_pages: u64,
    /// Number of classes that host writes may be in: the host may name host streams only.
    host_classes: u64,
    classes: u64,
}

impl Fk {
    /// The scheme for a drive. If it has fewer streams than classes, the last classes are left out.
    pub fn new(
        parameters: &Parameters,
        geometry: &HostGeometry,
        future: Option<&Arc<Future>>,
    ) -> Fk {
        let host = u64::from(geometry.host_streams);
        let classes = u64::from(parameters.classes);
        Fk {
            deaths: Deaths::new(geometry.logical_pages, future),
            unit_pages: u64::from(geometry.pages_per_unit.max(1)),
            host_classes: classes.min(host),
            classes: classes.min(host + u64::from(geometry.internal_streams)),
        }
    }

    fn class(&self, dies_at: u64, now: u64, classes: u64) -> StreamId {
        let units_left = dies_at.saturating_sub(now) / self.unit_pages;
        StreamId(units_left.min(classes.saturating_sub(1)) as u16)
    }
}

impl Assign for Fk {
    fn assign(&mut self, write: &Write) -> StreamId {
        let dies_at = self.deaths.write(write);
        self.class(dies_at, write.now_pages, self.host_classes)
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.deaths.memory_bytes()
    }
}

impl Relocate for Fk {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let dies_at = self.deaths.death_of(survivor.page);
        self.class(dies_at, victim.now, self.classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::PageRange;
    use anabranch_trace::{ContextId, FileId, WriteHint};

    const DRIVE: HostGeometry = HostGeometry {
        logical_pages: 100,
        page_bytes: 4096,
        host_streams: 3,
        internal_streams: 1,
        pages_per_unit: 10,
        physical_units: 14,
    };

    fn fk(lives_pages: Vec<u32>) -> Fk {
        let future = Arc::new(Future::new(lives_pages, Vec::new()));
        Fk::new(&Parameters::default(), &DRIVE, Some(&future))
    }

    fn write(pages: PageRange, now_pages: u64) -> Write {
        Write {
            pages,
            context: ContextId(0),
            file: FileId(0),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages,
        }
    }

    fn copied(fk: &mut Fk, page: u32, now: u64) -> u16 {
        let victim = Victim {
            stream: StreamId(0),
            valid_pages: 1,
            opened_at: 0,
            now,
        };
        fk.survivor(&victim, Survivor { page, age_pages: 0 }).0
    }

    #[test]
    fn a_class_is_a_unit_of_writes_and_the_last_takes_the_rest() {
        let mut fk = fk(vec![9, 10, 19, 20, 39, Future::ENDLESS]);
        let streams: Vec<u16> = (0..6)
            .map(|page| {
                let now = u64::from(page);
                fk.assign(&write(PageRange::new(page, 1), now)).0
            })
            .collect();
        assert_eq!(streams, [0, 1, 1, 2, 2, 2]);
        // Page 4 dies at 43. Copies may also go to the internal stream: the fourth class.
        let at = [4, 13, 14, 33, 34, 50].map(|now| copied(&mut fk, 4, now));
        assert_eq!(at, [3, 3, 2, 1, 0, 0]);
    }

    #[test]
    fn each_page_of_a_request_has_its_own_future() {
        let mut fk = fk(vec![5, 25]);
        assert_eq!(fk.assign(&write(PageRange::new(7, 2), 0)), StreamId(0));
        assert_eq!(copied(&mut fk, 7, 2), 0);
        assert_eq!(copied(&mut fk, 8, 2), 2);
        assert_eq!(copied(&mut fk, 9, 2), 3);
    }
}
