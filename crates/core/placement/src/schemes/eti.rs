//! `eti`: Extent-based Temperature Identification (Shafaei, Desnoyers and Fitzpatrick,
//! HotStorage'16).

use anabranch_ssd::{
    StreamId,
    relocate::{Destination, Relocate, Victim},
};

use crate::{
    assign::{Assign, Write},
    by_page::copy_streams,
    geometry::HostGeometry,
    halves::Halves,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// The highest count of an extent (`SepBIT`'s simulator).
const MOST: u8 = 15;

parameters! {
    /// Parameters of [`Eti`]; the defaults are those of `SepBIT`'s simulator.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// The most extents.
        extents: Count(1..=1_000_000) = 1024,
            "extents the address space is divided into, at most";
        /// Writes from which on an extent is hot.
        hot: Count(1..=u32::from(MOST)) = 4,
            "writes from which on an extent is hot";
        /// Requests after which counts are halved.
        decay: Count(1..=u32::MAX) = 4096,
            "requests after which counts are halved";
    }
}

impl HostScheme for Parameters {
    named!("eti");

    fn goes_by_requests(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(Eti::new(self, &site.geometry())))
    }
}

/// A run of pages with one history; it ends where the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    first: u32,
    count: u8,
}

/// Divides the address space into extents, split where requests begin and end, and counts each
/// one's writes: hot extents and cold ones have a stream each, all copies a third.
///
/// Every `decay` requests the counts are halved, and neighbours that have become alike (both cold,
/// or of one count) are one extent again. As `SepBIT`'s simulator has it; that classes each page of
/// a request, where here the extent of its first page speaks for the whole of it (our choice: a
/// request is what extents are made of). Discards change nothing. Memory: 8 bytes an extent.
#[derive(Debug)]
pub struct Eti {
    /// The extents by their first pages. There is always one, and the first begins at page 0.
    extents: Vec<Extent>,
    most_extents: usize,
    hot_count: u8,
    decay_requests: u32,
    requests: u32,
    hot: StreamId,
    cold: StreamId,
    copies: StreamId,
}

impl Eti {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Eti {
        let cold = u16::from(geometry.host_streams > 1);
        let most_extents = parameters.extents as usize;
        let mut extents = Vec::with_capacity(most_extents);
        extents.push(Extent { first: 0, count: 0 });
        Eti {
            extents,
            most_extents,
            hot_count: parameters.hot as u8,
            decay_requests: parameters.decay,
            requests: 0,
            hot: StreamId(0),
            cold: StreamId(cold),
            copies: copy_streams(1, cold + 1, geometry)[0],
        }
    }

    /// The extent that holds a page.
    fn find(&self, page: u32) -> usize {
        self.extents
            .partition_point(|extent| extent.first <= page)
            .saturating_sub(1)
    }

    /// Counts a request for each extent that it touches.
    fn count(&mut self, first: u32, end: u64) {
        let mut index = self.find(first);
        let mut from = first;
        while u64::from(from) < end {
            let Some(&extent) = self.extents.get(index) else {
                return;
            };
            let next = self.extents.get(index + 1).map(|extent| extent.first);
            if extent.count < MOST {
                index += self.count_part(index, extent, from, next, end);
            }
            let Some(next) = next else {
                return;
            };
            from = next;
            index += 1;
        }
    }

    /// Counts one extent's share of a request. The share is split off unless it is the whole
    /// extent, or there are extents enough. Answers how many extents that added.
    fn count_part(
        &mut self,
        index: usize,
        extent: Extent,
        from: u32,
        next: Option<u32>,
        end: u64,
    ) -> usize {
        let rest = u32::try_from(end)
            .ok()
            .filter(|&end| next.is_none_or(|next| end < next));
        let added = usize::from(from > extent.first) + usize::from(rest.is_some());
        if self.extents.len() + added > self.most_extents {
            return 0;
        }
        let counted = Extent {
            first: from,
            count: extent.count + 1,
        };
        let mut parts = [extent; 3];
        let mut used = 0;
        let rest = rest.map(|first| Extent { first, ..extent });
        let before = (from > extent.first).then_some(extent);
        for part in [before, Some(counted), rest].into_iter().flatten() {
            parts[used] = part;
            used += 1;
        }
        self.extents
            .splice(index..=index, parts[..used].iter().copied());
        added
    }

    fn halve(&mut self) {
        let hot = self.hot_count;
        for extent in &mut self.extents {
            extent.count /= 2;
        }
        self.extents.dedup_by(|later, kept| {
            later.count == kept.count || (later.count < hot && kept.count < hot)
        });
    }
}

impl Assign for Eti {
    fn assign(&mut self, write: &Write) -> StreamId {
        self.requests += 1;
        if self.requests >= self.decay_requests {
            self.requests = 0;
            self.halve();
        }
        self.count(write.pages.first, write.pages.end());
        let extent = self.extents.get(self.find(write.pages.first));
        if extent.is_some_and(|extent| extent.count >= self.hot_count) {
            self.hot
        } else {
            self.cold
        }
    }

    fn memory_bytes(&self) -> usize {
        self.extents.capacity() * size_of::<Extent>()
    }
}

impl Relocate for Eti {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Stream(self.copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, write};

    fn assign(scheme: &mut Eti, first: u32, count: u32) -> u16 {
        scheme.assign(&write(first, count, 0)).0
    }

    fn extents(scheme: &Eti) -> Vec<(u32, u8)> {
        let extents = scheme.extents.iter();
        extents.map(|extent| (extent.first, extent.count)).collect()
    }

    #[test]
    fn a_request_splits_off_what_it_covers() {
        let mut scheme = Eti::new(&Parameters::default(), &DRIVE);
        assign(&mut scheme, 10, 10);
        assert_eq!(extents(&scheme), [(0, 0), (10, 1), (20, 0)]);
        assign(&mut scheme, 15, 10);
        let split = [(0, 0), (10, 1), (15, 2), (20, 1), (25, 0)];
        assert_eq!(extents(&scheme), split);
        assign(&mut scheme, 0, 64);
        let whole = [(0, 1), (10, 2), (15, 3), (20, 2), (25, 0), (64, 0)];
        assert_eq!(extents(&scheme)[..4], whole[..4]);
    }

    #[test]
    fn four_writes_make_an_extent_hot() {
        let mut scheme = Eti::new(&Parameters::default(), &DRIVE);
        let answers: Vec<u16> = (0..5).map(|_| assign(&mut scheme, 8, 8)).collect();
        assert_eq!(answers, [1, 1, 1, 0, 0]);
        assert_eq!(assign(&mut scheme, 24, 8), 1);
        (0..30).for_each(|_| {
            assign(&mut scheme, 8, 8);
        });
        assert_eq!(extents(&scheme)[1], (8, 15), "counts stop at 15");
    }

    #[test]
    fn halved_counts_let_cold_neighbours_grow_together() {
        let parameters = Parameters {
            decay: 12,
            ..Parameters::default()
        };
        let mut scheme = Eti::new(&parameters, &DRIVE);
        (0..10).for_each(|_| {
            assign(&mut scheme, 8, 8);
        });
        assign(&mut scheme, 40, 8);
        assert_eq!(extents(&scheme).len(), 5);
        assign(&mut scheme, 60, 1);
        let after = [(0, 0), (8, 5), (16, 0), (60, 1), (61, 0)];
        assert_eq!(extents(&scheme), after);
    }

    #[test]
    fn there_are_never_more_extents_than_allowed() {
        let parameters = Parameters {
            extents: 4,
            ..Parameters::default()
        };
        let mut scheme = Eti::new(&parameters, &DRIVE);
        for page in 0..60 {
            assign(&mut scheme, page, 1);
            assert!(scheme.extents.len() <= 4);
        }
        assert_eq!(scheme.memory_bytes(), 4 * 8);
    }
}
