//! `dac`: Dynamic dAta Clustering (Chiang, Lee and Chang, Software: Practice and Experience 29(3),
//! 1999).

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
    /// Parameters of [`Dac`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Classes there are, at most as many as the drive has host streams. 6: what `SepBIT`'s
        /// evaluation (FAST'22) gives every scheme.
        classes: Count(1..=128) = 6,
            "classes, at most one a host stream";
    }
}

impl HostScheme for Parameters {
    named!("dac");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(Dac::new(self, &site.geometry())))
    }
}

/// The class of a page that was never written, or was discarded.
const NEW: u8 = u8::MAX;

/// A page rises by one class each time the host writes it again, and sinks by one each time
/// garbage collection copies it. New pages begin in the lowest class. Both writes and copies fill
/// the class's own units, host streams `0..classes`.
///
/// As `SepBIT`'s simulator has it; it knows no discards, and a discarded page begins anew here
/// (our choice). Memory: a byte for each page of the drive.
#[derive(Debug)]
pub struct Dac {
    classes: Vec<u8>,
    highest: u8,
}

impl Dac {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Dac {
        Dac {
            classes: vec![NEW; geometry.logical_pages as usize],
            highest: shared_classes(parameters.classes, geometry) - 1,
        }
    }
}

impl Assign for Dac {
    fn assign(&mut self, write: &Write) -> StreamId {
        let highest = self.highest;
        place_each(write, |page, _| {
            let Some(class) = self.classes.get_mut(page as usize) else {
                return StreamId::DEFAULT;
            };
            *class = match *class {
                NEW => 0,
                class => (class + 1).min(highest),
            };
            StreamId(u16::from(*class))
        })
    }

    fn prefetch(&self, pages: &[u32]) {
        prefetch(&self.classes, pages);
    }

    fn discard(&mut self, pages: PageRange, _now_pages: u64) {
        part(&mut self.classes, pages).fill(NEW);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.classes.capacity()
    }
}

impl Relocate for Dac {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn prefetch_survivors(&self, pages: &[u32]) {
        prefetch(&self.classes, pages);
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        match self.classes.get_mut(survivor.page as usize) {
            Some(class) if *class != NEW => {
                *class = class.saturating_sub(1);
                StreamId(u16::from(*class))
            }
            _ => victim.stream,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, stream};

    const VICTIM: Victim = Victim {
        stream: StreamId(5),
        valid_pages: 1,
        opened_at: 0,
        now: 0,
    };

    fn copy(scheme: &mut Dac, page: u32) -> u16 {
        let survivor = Survivor { page, age_pages: 0 };
        scheme.survivor(&VICTIM, survivor).0
    }

    #[test]
    fn a_page_rises_with_each_write_and_sinks_with_each_copy() {
        let mut scheme = Dac::new(&Parameters { classes: 3 }, &DRIVE);
        let rising: Vec<u16> = (0..5).map(|now| stream(&mut scheme, 7, now)).collect();
        assert_eq!(rising, [0, 1, 2, 2, 2]);
        let sinking: Vec<u16> = (0..4).map(|_| copy(&mut scheme, 7)).collect();
        assert_eq!(sinking, [1, 0, 0, 0]);
        assert_eq!(stream(&mut scheme, 7, 9), 1);
        assert_eq!(stream(&mut scheme, 8, 10), 0, "another page");
    }

    #[test]
    fn a_discarded_page_begins_anew() {
        let mut scheme = Dac::new(&Parameters::default(), &DRIVE);
        (0..4).for_each(|now| {
            stream(&mut scheme, 7, now);
        });
        scheme.discard(PageRange::new(0, 1000), 4);
        assert_eq!(copy(&mut scheme, 7), 5, "nothing known: its own stream");
        assert_eq!(stream(&mut scheme, 7, 4), 0);
    }

    #[test]
    fn a_drive_of_one_stream_has_one_class() {
        let narrow = HostGeometry {
            host_streams: 1,
            ..DRIVE
        };
        let mut scheme = Dac::new(&Parameters::default(), &narrow);
        (0..9).for_each(|now| assert_eq!(stream(&mut scheme, 7, now), 0));
    }
}
