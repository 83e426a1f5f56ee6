//! `sfs`: Random Write Considered Harmful in Solid State Drives (Min et al., FAST'12).

mod segments;

use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
};

use crate::{
    assign::{Assign, Write},
    by_page::{part, place_each, shared_classes},
    geometry::HostGeometry,
    halves::Halves,
    last_writes::LastWrites,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};
use segments::Segments;

/// Rounds in which the centres are moved each time (`SepBIT`'s simulator).
const ROUNDS: usize = 3;

parameters! {
    /// Parameters of [`Sfs`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Groups of hotness, at most as many as the drive has host streams. 6: what `SepBIT`'s
        /// evaluation (FAST'22) gives every scheme; the paper's experiments have 4.
        classes: Count(1..=128) = 6,
            "groups of hotness, at most one a host stream";
        /// The centres move once for each of so many parts of the units that is collected. As many as there
        /// may be: `SepBIT`'s simulator moves them at every victim, which costs a look at all units.
        moves: Count(1..=1_000_000) = 1_000_000,
            "times the groups are found anew while as many units as there are die";
    }
}

impl HostScheme for Parameters {
    named!("sfs");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(Sfs::new(self, &site.geometry())))
    }
}

/// Writes and copies join the group whose centre is nearest to the page's hotness: how often it was
/// written over how long ago it was last. Centres are found among the hotness of whole units, by
/// moving each to the mean of the units nearest to it.
///
/// As `SepBIT`'s simulator has it, which leaves the choice of victims to the drive (the paper's
/// weighs a unit's hotness). New pages join the hottest group. Centres begin at zero, and one that no
/// unit is near returns there: it splits the coldest group anew. A discarded page begins anew.
/// Memory: 10 bytes for each page of the drive, and for each unit 24 and at most 16 for its hotness.
#[derive(Debug)]
pub struct Sfs {
    last: LastWrites,
    writes: Vec<u16>,
    segments: Segments,
    /// The centres of the groups, the hottest first.
    centres: Vec<f64>,
    /// A buffer for the units' hotness while centres move.
    hotness: Vec<f64>,
    victims: u32,
    victims_a_move: u32,
    now_pages: u64,
}

impl Sfs {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Sfs {
        let classes = usize::from(shared_classes(parameters.classes, geometry));
        Sfs {
            last: LastWrites::new(geometry.logical_pages),
            writes: vec![0; geometry.logical_pages as usize],
            segments: Segments::new(geometry),
            centres: vec![0.0; classes],
            hotness: Vec::new(),
            victims: 0,
            victims_a_move: geometry.physical_units / parameters.moves + 1,
            now_pages: 0,
        }
    }

    /// The group nearest to that hotness; of equals the coldest.
    fn nearest(&self, hotness: f64) -> usize {
        let distance = |centre: &f64| (centre - hotness).abs();
        let centres = self.centres.iter().enumerate().rev();
        centres
            .min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
            .map_or(0, |(index, _)| index)
    }

    fn place(&mut self, page: u32, now_pages: u64) -> StreamId {
        self.now_pages = now_pages;
        let age = self.last.write(page, now_pages);
        let Some(writes) = self.writes.get_mut(page as usize) else {
            return StreamId::DEFAULT;
        };
        let before = *writes;
        *writes = before.saturating_add(1);
        let class = match age {
            Some(age) => {
                let then = now_pages.saturating_sub(age);
                self.segments.leave(page, before, then);
                self.nearest(f64::from(before) / age.max(1) as f64)
            }
            None => 0,
        };
        StreamId(class as u16)
    }

    /// Moves the centres to the means of the units nearest to them.
    fn find_groups(&mut self, now_pages: u64) {
        self.hotness.clear();
        self.hotness.extend(self.segments.hotness(now_pages));
        if self.hotness.is_empty() {
            return;
        }
        for _ in 0..ROUNDS {
            let mut sums = [(0.0, 0_u32); 128];
            for &hotness in &self.hotness {
                if let Some(sum) = sums.get_mut(self.nearest(hotness)) {
                    *sum = (sum.0 + hotness, sum.1 + 1);
                }
            }
            for (centre, (sum, count)) in self.centres.iter_mut().zip(sums) {
                *centre = if count > 0 {
                    sum / f64::from(count)
                } else {
                    0.0
                };
            }
        }
        self.centres.sort_by(|a, b| b.total_cmp(a));
    }
}

impl Assign for Sfs {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, now_pages| self.place(page, now_pages))
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        let end = pages.end().min(self.writes.len() as u64) as u32;
        for page in pages.first..end {
            let Some(age) = self.last.age(page, now_pages) else {
                continue;
            };
            let writes = self.writes.get(page as usize).copied().unwrap_or(0);
            let then = now_pages.saturating_sub(age);
            self.segments.leave(page, writes, then);
        }
        self.last.discard(pages);
        part(&mut self.writes, pages).fill(0);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.last.memory_bytes()
            + self.writes.capacity() * size_of::<u16>()
            + self.segments.memory_bytes()
            + (self.centres.capacity() + self.hotness.capacity()) * size_of::<f64>()
    }
}

impl Relocate for Sfs {
    fn destination(&mut self, victim: &Victim) -> Destination {
        self.victims += 1;
        if self.victims >= self.victims_a_move {
            self.victims = 0;
            self.find_groups(victim.now);
        }
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let page = survivor.page;
        let writes = self.writes.get(page as usize).copied().unwrap_or(0);
        let Some(age) = self.last.age(page, victim.now) else {
            return victim.stream;
        };
        let class = self.nearest(f64::from(writes) / age.max(1) as f64);
        StreamId(class as u16)
    }

    fn wants_places(&self) -> bool {
        true
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        let (Some(age), Some(&writes)) = (
            self.last.age(page, self.now_pages),
            self.writes.get(page as usize),
        ) else {
            return;
        };
        let then = self.now_pages.saturating_sub(age);
        self.segments.leave(page, writes, then);
        self.segments.enter(page, (unit, stream), writes, then);
    }

    fn opened(&mut self, stream: StreamId) {
        self.segments.gone(stream);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.segments.gone(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, stream};

    fn victim(now: u64) -> Victim {
        Victim {
            stream: StreamId(5),
            valid_pages: 1,
            opened_at: 0,
            now,
        }
    }

    fn scheme() -> Sfs {
        let parameters = Parameters {
            classes: 2,
            moves: 100,
        };
        Sfs::new(&parameters, &DRIVE)
    }

    #[test]
    fn hot_and_cold_units_make_a_hot_and_a_cold_group() {
        let mut scheme = scheme();
        // Eight pages are written again and again: a unit of them after the other.
        let units = (0..8).chain([8, 9, 10, 11, 0, 8, 9, 10]);
        for (now, unit) in (0..128).zip(units.flat_map(|unit| [unit; 8])) {
            let page = if now < 64 { now } else { now % 8 };
            let stream = stream(&mut scheme, page, u64::from(now));
            scheme.placed(page, unit, StreamId(stream));
        }
        scheme.destination(&victim(128));
        // The one unit of hot pages was last written 4.5 pages ago on average, 9 times each.
        let hot = 9.0 / 4.5;
        assert!(
            (scheme.centres[0] - hot).abs() < 1e-9,
            "{:?}",
            scheme.centres
        );
        assert!(scheme.centres[1] < 0.05);
        assert_eq!(stream(&mut scheme, 7, 130), 0, "9 writes, 3 pages ago");
        assert_eq!(stream(&mut scheme, 30, 131), 1, "one, 101 ago");
        assert_eq!(stream(&mut scheme, 0, 300), 1, "9, 180 ago");
    }

    #[test]
    fn survivors_go_by_their_hotness_now() {
        let mut scheme = scheme();
        scheme.centres = vec![1.0, 0.1];
        (0..5).for_each(|now| {
            stream(&mut scheme, 3, now);
        });
        let survivor = Survivor {
            page: 3,
            age_pages: 0,
        };
        assert_eq!(scheme.survivor(&victim(8), survivor).0, 0, "5 / 4");
        assert_eq!(scheme.survivor(&victim(29), survivor).0, 1, "5 / 25");
    }

    #[test]
    fn a_discarded_page_begins_anew() {
        let mut scheme = scheme();
        scheme.centres = vec![1.0, 0.1];
        stream(&mut scheme, 3, 0);
        assert_eq!(stream(&mut scheme, 3, 50), 1);
        scheme.discard(PageRange::new(0, 1000), 51);
        assert_eq!(stream(&mut scheme, 3, 51), 0, "new");
        assert_eq!(scheme.writes[3], 1);
    }
}
