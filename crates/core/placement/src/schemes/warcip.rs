//! `warcip`: Write Amplification Reduction by Clustering I/O Pages (Yang, Pei and Yang, SYSTOR'19).

use anabranch_ssd::{
    PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
};

use crate::{
    assign::{Assign, Write},
    by_page::{copy_streams, part, place_each},
    geometry::HostGeometry,
    halves::Halves,
    last_writes::LastWrites,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// A cluster splits when it takes more than this share of a period's writes, as a divisor (`SepBIT`'s simulator).
const SPLIT_SHARE: u64 = 2;

parameters! {
    /// Parameters of [`Warcip`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Classes there are: clusters of writes, at most one a host stream, and one of copies. 6: what
        /// `SepBIT`'s evaluation (FAST'22) gives every scheme.
        classes: Count(2..=128) = 6,
            "clusters of writes, at most one a host stream, and one class of copies";
        /// Units the clusters fill between two reviews of their number. 256: `SepBIT`'s simulator; its
        /// prototype has 128.
        review: Count(1..=1_000_000) = 256,
            "units the clusters fill between two reviews of their number";
    }
}

impl HostScheme for Parameters {
    named!("warcip");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::whole(Warcip::new(self, &site.geometry())))
    }
}

/// A cluster of pages that are rewritten at similar intervals.
#[derive(Debug, Clone, Copy)]
struct Cluster {
    stream: StreamId,
    /// The mean interval of the pages in the unit being filled, in pages the host wrote.
    centre: f64,
    /// Pages in the unit being filled.
    filled: u32,
    /// Writes since the last review.
    writes: u64,
}

/// Writes join the cluster whose mean rewrite interval is nearest to their own; copies go to a
/// class of their own, and a page that was copied is held to be rewritten later than it is: when
/// next written, its interval is lengthened by the age at which it was copied.
///
/// Intervals are counted in pages the host wrote. A page written for the first time has the
/// interval 0. The mean is that of the unit being filled: it begins with the first page of a unit.
/// Each time the clusters have filled `review` units, one with more than half the writes is split
/// in two, the new centre halfway to the next lower one, if a stream is free; if none is, the
/// first with less than a unit of writes is given up when its unit is full. All that as `SepBIT`'s
/// simulator has it, which counts time in microseconds. Discards end a page's history (our choice;
/// the simulator knows none). Memory: 8 bytes for each page of the drive.
#[derive(Debug)]
pub struct Warcip {
    writes: LastWrites,
    /// The age at which each page was last copied, if that was after its last write; it is added to the page's
    /// interval.
    penalties: Vec<u32>,
    /// The clusters by the centres they had when they were made, the lowest first.
    clusters: Vec<Cluster>,
    free: Vec<StreamId>,
    copies: StreamId,
    /// The cluster to be given up when its unit is full.
    leaving: Option<StreamId>,
    review_units: u32,
    filled_units: u32,
    pages_per_unit: u32,
}

impl Warcip {
    /// The scheme for a drive.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> Warcip {
        // Copies take a host stream where the drive has no internal one.
        let spare = u16::from(geometry.internal_streams == 0);
        let most = geometry.host_streams.saturating_sub(spare).max(1);
        let clusters = (parameters.classes - 1).clamp(1, u32::from(most)) as u16;
        let cluster = |stream| Cluster {
            stream: StreamId(stream),
            centre: 0.0,
            filled: 0,
            writes: 0,
        };
        Warcip {
            writes: LastWrites::new(geometry.logical_pages),
            penalties: vec![0; geometry.logical_pages as usize],
            clusters: (0..clusters).map(cluster).collect(),
            free: Vec::with_capacity(usize::from(clusters)),
            copies: copy_streams(1, clusters, geometry)[0],
            leaving: None,
            review_units: parameters.review,
            filled_units: 0,
            pages_per_unit: geometry.pages_per_unit.max(1),
        }
    }

    fn place(&mut self, page: u32, now_pages: u64) -> StreamId {
        let penalty = self.penalties.get_mut(page as usize).map(std::mem::take);
        let interval = match self.writes.write(page, now_pages) {
            Some(age) => age + u64::from(penalty.unwrap_or(0)),
            None => 0,
        };
        let nearest = self.nearest(interval as f64);
        let pages_per_unit = self.pages_per_unit;
        let Some(cluster) = self.clusters.get_mut(nearest) else {
            return StreamId::DEFAULT;
        };
        cluster.filled += 1;
        cluster.centre += (interval as f64 - cluster.centre) / f64::from(cluster.filled);
        cluster.writes += 1;
        let stream = cluster.stream;
        if cluster.filled == pages_per_unit {
            cluster.filled = 0;
            self.unit_is_full(nearest, stream);
        }
        stream
    }

    /// The cluster whose centre is nearest; of equals the last.
    fn nearest(&self, interval: f64) -> usize {
        let distance = |cluster: &Cluster| (cluster.centre - interval).abs();
        let clusters = self.clusters.iter().enumerate().rev();
        clusters
            .min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
            .map_or(0, |(index, _)| index)
    }

    fn unit_is_full(&mut self, cluster: usize, stream: StreamId) {
        if self.leaving == Some(stream) {
            self.leaving = None;
            self.clusters.remove(cluster);
            self.free.push(stream);
        }
        self.filled_units += 1;
        if self.filled_units == self.review_units {
            self.filled_units = 0;
            self.review();
        }
    }

    fn review(&mut self) {
        let all: u64 = self.clusters.iter().map(|cluster| cluster.writes).sum();
        let busy = |cluster: &Cluster| cluster.writes > all / SPLIT_SHARE;
        match (self.clusters.iter().position(busy), self.free.pop()) {
            (Some(index), Some(stream)) => self.split(index, stream),
            (_, free) => {
                self.free.extend(free);
                self.choose_leaving();
            }
        }
        for cluster in &mut self.clusters {
            cluster.writes = 0;
        }
    }

    /// Splits a cluster that takes too much: makes a new one below it.
    fn split(&mut self, index: usize, stream: StreamId) {
        let centre = |index: Option<usize>| {
            let cluster = index.and_then(|index| self.clusters.get(index));
            cluster.map_or(0.0, |cluster| cluster.centre)
        };
        let halfway = (centre(index.checked_sub(1)) + centre(Some(index))) / 2.0;
        let cluster = Cluster {
            stream,
            centre: halfway,
            filled: 0,
            writes: 0,
        };
        self.clusters.insert(index, cluster);
    }

    fn choose_leaving(&mut self) {
        if self.leaving.is_some() || self.clusters.len() < 2 {
            return;
        }
        let idle = |cluster: &&Cluster| cluster.writes < u64::from(self.pages_per_unit);
        self.leaving = self.clusters.iter().find(idle).map(|found| found.stream);
    }
}

impl Assign for Warcip {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, now_pages| self.place(page, now_pages))
    }

    fn prefetch(&self, pages: &[u32]) {
        self.writes.prefetch(pages);
    }

    fn discard(&mut self, pages: PageRange, _now_pages: u64) {
        self.writes.discard(pages);
        part(&mut self.penalties, pages).fill(0);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.writes.memory_bytes()
            + self.penalties.capacity() * size_of::<u32>()
            + self.clusters.capacity() * size_of::<Cluster>()
            + self.free.capacity() * size_of::<StreamId>()
    }
}

impl Relocate for Warcip {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let age = self.writes.age(survivor.page, victim.now);
        if let (Some(penalty), Some(age)) = (self.penalties.get_mut(survivor.page as usize), age) {
            *penalty = u32::try_from(age).unwrap_or(u32::MAX);
        }
        self.copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::{DRIVE, stream};

    /// Three clusters in units of 8 pages, reviewed every second unit.
    fn scheme() -> Warcip {
        let parameters = Parameters {
            classes: 4,
            review: 2,
        };
        Warcip::new(&parameters, &DRIVE)
    }

    fn centres(scheme: &Warcip) -> Vec<(u16, f64)> {
        let clusters = scheme.clusters.iter();
        clusters.map(|c| (c.stream.0, c.centre)).collect()
    }

    #[test]
    fn a_write_joins_the_nearest_cluster_and_moves_it() {
        let mut scheme = scheme();
        assert_eq!(stream(&mut scheme, 1, 0), 2, "new: interval 0, the last");
        assert_eq!(stream(&mut scheme, 1, 10), 2, "all centres are 0");
        assert_eq!(centres(&scheme), [(0, 0.0), (1, 0.0), (2, 5.0)]);
        assert_eq!(stream(&mut scheme, 1, 12), 1, "2 is nearer to 0 than to 5");
        assert_eq!(centres(&scheme), [(0, 0.0), (1, 2.0), (2, 5.0)]);
        assert_eq!(stream(&mut scheme, 2, 13), 0);
    }

    #[test]
    fn a_copied_page_is_held_to_be_rewritten_later() {
        let mut scheme = scheme();
        stream(&mut scheme, 1, 0);
        let victim = Victim {
            stream: StreamId(2),
            valid_pages: 1,
            opened_at: 0,
            now: 100,
        };
        let survivor = Survivor {
            page: 1,
            age_pages: 0,
        };
        assert_eq!(scheme.survivor(&victim, survivor), StreamId(8));
        stream(&mut scheme, 1, 150);
        assert_eq!(centres(&scheme)[2].1, 125.0, "(0 + 150 + 100) / 2");
        stream(&mut scheme, 1, 275);
        assert_eq!(centres(&scheme)[2].1, 125.0, "the penalty is paid once");
    }

    #[test]
    fn idle_clusters_leave_and_busy_ones_split() {
        let mut scheme = scheme();
        // Two units of new pages fill cluster 2; the first review finds no free stream, and
        // cluster 0 idle.
        for page in 0..16 {
            assert_eq!(stream(&mut scheme, page, u64::from(page)), 2);
        }
        assert_eq!(scheme.leaving, Some(StreamId(0)));
        // Intervals of 16 move cluster 2 away; new pages then fill cluster 1, then 0.
        stream(&mut scheme, 0, 16);
        assert_eq!(stream(&mut scheme, 40, 17), 1);
        scheme.clusters[1].centre = 9.0;
        for page in 41..49 {
            assert_eq!(stream(&mut scheme, page, 18), 0);
        }
        assert_eq!(scheme.free, [StreamId(0)], "left when its unit was full");
        assert_eq!(centres(&scheme).len(), 2);
        // The next review splits the cluster with most of the writes.
        scheme.clusters[0].writes = 100;
        scheme.review();
        let after = centres(&scheme);
        assert_eq!(after[0], (0, after[1].1 / 2.0), "halfway to nothing");
        assert!(scheme.free.is_empty());
    }
}
