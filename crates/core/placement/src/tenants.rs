//! The scheme that shares streams fairly between several programs on one drive.

use anabranch_ssd::{PageRange, StreamId};

use crate::{
    assign::{Assign, Names, Write},
    geometry::HostGeometry,
    known_lifetimes::KnownLifetimes,
    leaders::Leader,
    rules::RuleUse,
};

/// Most tenants that streams can be shared out among (our choice).
pub(crate) const MAX_TENANTS: u16 = 16;
/// Nobody's stream, and a stream of the scheme that has none of the drive's yet.
const NONE: u16 = u16::MAX;

/// One tenant, with a scheme of its own.
struct Place {
    /// None while nobody has come.
    tenant: Option<u32>,
    scheme: Box<dyn Assign>,
    /// The drive's stream behind each of the scheme's.
    streams: Vec<u16>,
    /// When it last wrote.
    last_pages: u64,
    is_present: bool,
}

/// A scheme for each tenant, and a fair share of the drive's streams.
///
/// Each tenant's writes go to a scheme of its own, made for all of the drive's streams. Those the
/// scheme uses get streams of the drive as they come, until the tenant's share is used up; later
/// ones go where the scheme's nearest by number goes, for in most schemes neighbours live alike.
/// The share is an equal part of the streams for each tenant present, rounded down, at least one:
/// no tenant writes to a stream of another's, save where there are more tenants than streams. Who
/// is alone has all of them, and his streams are the scheme's.
///
/// A tenant that comes takes streams from those that have more than their share then, the ones
/// they took last first. One that wrote nothing while the drive was written once over is absent:
/// its streams are free for others, its scheme keeps what it learned. Once each place has been taken,
/// a tenant that comes has the place of the absent one that wrote least lately, with its scheme: a
/// container that is started anew is another tenant with the contexts of the one before. Where none
/// is absent, it shares the last place until one is (our choice: with the place of one that still
/// writes, two tenants could take it from each other with every write). Tenants are taken to write
/// to pages of their own: who overwrites another's data does not tell that one's scheme.
///
/// Memory: that of as many schemes as tenants, 2 bytes for each stream of each.
pub(crate) struct Tenants {
    places: Vec<Place>,
    /// Owner of each of the drive's streams.
    owners: Vec<u16>,
    absence_pages: u64,
    /// When it is next looked who is absent.
    look_at: u64,
}

impl Tenants {
    /// Shares out a drive's streams among as many tenants as there are schemes.
    pub fn new(schemes: Vec<Box<dyn Assign>>, geometry: &HostGeometry) -> Tenants {
        let streams = usize::from(geometry.host_streams);
        let place = |scheme| Place {
            tenant: None,
            scheme,
            streams: vec![NONE; streams],
            last_pages: 0,
            is_present: false,
        };
        let absence_pages = u64::from(geometry.logical_pages).max(1);
        Tenants {
            places: schemes.into_iter().map(place).collect(),
            owners: vec![NONE; streams],
            absence_pages,
            look_at: absence_pages,
        }
    }

    /// The place of a tenant: its own, a free one, one that was left, or the last.
    #[inline]
    fn place(&mut self, tenant: u32) -> usize {
        let known = self
            .places
            .iter()
            .position(|place| place.tenant.is_none_or(|known| known == tenant));
        let Some(place) = known.or_else(|| self.left()) else {
            return self.places.len() - 1;
        };
        self.places[place].tenant = Some(tenant);
        place
    }

    /// The place of the absent tenant that wrote least lately.
    fn left(&self) -> Option<usize> {
        let places = self.places.iter().enumerate();
        let absent = places.filter(|(_, place)| !place.is_present);
        let longest = absent.min_by_key(|(_, place)| place.last_pages);
        longest.map(|(number, _)| number)
    }

    /// Streams each tenant present may have.
    fn share(&self) -> usize {
        let present = self.places.iter().filter(|place| place.is_present).count();
        (self.owners.len() / present.max(1)).max(1)
    }

    fn owned(&self, place: usize) -> usize {
        let own = |owner: &&u16| usize::from(**owner) == place;
        self.owners.iter().filter(own).count()
    }

    /// Makes a tenant present: all who have more than their share now give up the rest.
    fn enter(&mut self, place: usize) {
        self.places[place].is_present = true;
        let share = self.share();
        for other in 0..self.places.len() {
            while self.owned(other) > share {
                self.give_up_last(other);
            }
        }
    }

    /// Takes from a place the stream of the drive behind the highest of its scheme's.
    fn give_up_last(&mut self, place: usize) {
        let Tenants { places, owners, .. } = self;
        let streams = &mut places[place].streams;
        let is_own = |stream: &&u16| owners.get(usize::from(**stream)) == Some(&(place as u16));
        let Some(given) = streams.iter().rev().find(is_own).copied() else {
            return;
        };
        owners[usize::from(given)] = NONE;
        for stream in streams.iter_mut().filter(|stream| **stream == given) {
            *stream = NONE;
        }
    }

    /// Frees the streams of those who wrote nothing of late. Who shared a stream of his own for
    /// want of others may now find one.
    fn free_absent(&mut self, now_pages: u64) {
        self.look_at = now_pages + self.absence_pages;
        let mut left = false;
        for place in 0..self.places.len() {
            let is_late = now_pages - self.places[place].last_pages >= self.absence_pages;
            if self.places[place].is_present && is_late {
                self.places[place].is_present = false;
                while self.owned(place) > 0 {
                    self.give_up_last(place);
                }
                self.places[place].streams.fill(NONE);
                left = true;
            }
        }
        if left {
            self.places.iter_mut().for_each(Place::forget_sharing);
        }
    }

    /// The drive's stream behind a scheme's.
    #[inline]
    fn stream(&mut self, place: usize, wanted: StreamId) -> StreamId {
        let wanted = usize::from(wanted.0);
        let known = self.places[place].streams.get(wanted);
        match known {
            Some(&stream) if stream != NONE => StreamId(stream),
            _ => self.find_stream(place, wanted),
        }
    }

    fn find_stream(&mut self, place: usize, wanted: usize) -> StreamId {
        let free = if self.owned(place) < self.share() {
            self.free(wanted)
        } else {
            None
        };
        let stream = match free {
            Some(free) => {
                self.owners[free] = place as u16;
                free as u16
            }
            None => self.places[place]
                .nearest(wanted)
                // More tenants than streams: somebody's must do.
                .unwrap_or((place % self.owners.len()) as u16),
        };
        if let Some(known) = self.places[place].streams.get_mut(wanted) {
            *known = stream;
        }
        StreamId(stream)
    }

    /// A stream nobody has: the one asked for, else the first.
    fn free(&self, wanted: usize) -> Option<usize> {
        let is_free = |stream: &usize| self.owners.get(*stream) == Some(&NONE);
        Some(wanted)
            .filter(is_free)
            .or_else(|| (0..self.owners.len()).find(|stream| is_free(stream)))
    }
}

impl Place {
    /// The drive's stream behind the nearest of the scheme's that has one.
    fn nearest(&self, wanted: usize) -> Option<u16> {
        let with_streams = self.streams.iter().enumerate();
        let given = with_streams.filter(|(_, stream)| **stream != NONE);
        let nearest = given.min_by_key(|(number, _)| number.abs_diff(wanted));
        nearest.map(|(_, stream)| *stream)
    }

    /// Keeps for each of the drive's streams only the first of the scheme's that goes there.
    fn forget_sharing(&mut self) {
        for number in 1..self.streams.len() {
            let (before, rest) = self.streams.split_at_mut(number);
            if before.contains(&rest[0]) {
                rest[0] = NONE;
            }
        }
    }
}

// Passes on what it does not change: clippy finds a method that is forgotten.
#[deny(clippy::missing_trait_methods)]
impl Assign for Tenants {
    fn assign(&mut self, write: &Write) -> StreamId {
        if write.now_pages >= self.look_at {
            self.free_absent(write.now_pages);
        }
        let place = self.place(write.tenant);
        if !self.places[place].is_present {
            self.enter(place);
        }
        self.places[place].last_pages = write.now_pages;
        let wanted = self.places[place].scheme.assign(write);
        self.stream(place, wanted)
    }

    /// None: each tenant that writes is given a place.
    fn only_stream(&self) -> Option<StreamId> {
        None
    }

    fn prefetch(&self, pages: &[u32]) {
        for place in &self.places {
            place.scheme.prefetch(pages);
        }
    }

    /// None looks ahead: which place a tenant has is decided as it writes.
    fn looks_ahead(&self) -> bool {
        false
    }

    fn announce(&mut self, _writes: &[Write]) {}

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        for place in &mut self.places {
            place.scheme.discard(pages, now_pages);
        }
    }

    /// All hear of it, whoever wrote: the pages lie on the one drive whose spare all tenants share, so that each scheme's
    /// model of the drive holds them.
    fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
        for place in &mut self.places {
            place.scheme.written_elsewhere(pages, now_pages);
        }
    }

    fn learn(&mut self, names: &Names) {
        for place in &mut self.places {
            place.scheme.learn(names);
        }
    }

    fn restore_lifetimes(&mut self, known: &KnownLifetimes) {
        for place in &mut self.places {
            place.scheme.restore_lifetimes(known);
        }
    }

    fn learned(&self) -> Option<KnownLifetimes> {
        let learned = self.places.iter().map(|place| place.scheme.learned());
        learned.flatten().reduce(KnownLifetimes::joined)
    }

    fn rule_use(&self) -> Option<RuleUse> {
        let uses = self.places.iter().map(|place| place.scheme.rule_use());
        uses.flatten().reduce(RuleUse::joined)
    }

    /// None: each tenant's scheme has leaders of its own, which no one list orders.
    fn leaders(&self) -> &[Leader] {
        &[]
    }

    fn goes_by_page(&self) -> bool {
        self.places.iter().any(|place| place.scheme.goes_by_page())
    }

    fn memory_bytes(&self) -> usize {
        let place = |place: &Place| {
            place.scheme.memory_bytes() + place.streams.capacity() * size_of::<u16>()
        };
        self.owners.capacity() * size_of::<u16>() + self.places.iter().map(place).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::{halves::Halves, site::Site, spec::SchemeSpec};
    use anabranch_trace::{ContextId, FileId, WriteHint};

    const DRIVE: HostGeometry = HostGeometry {
        logical_pages: 1000,
        page_bytes: 4096,
        host_streams: 6,
        internal_streams: 8,
        pages_per_unit: 100,
        physical_units: 120,
    };

    struct Host {
        scheme: Tenants,
        now_pages: u64,
    }

    impl Host {
        fn new(tenants: u16, host_streams: u16) -> Host {
            let geometry = HostGeometry {
                host_streams,
                ..DRIVE
            };
            let hints: SchemeSpec = "hints".parse().unwrap();
            let drive = geometry.drive();
            let site = Site::new(&drive, hints.relocation());
            let scheme = |_| hints.build(&site).map(Halves::into_assign).unwrap();
            Host {
                scheme: Tenants::new((0..tenants).map(scheme).collect(), &geometry),
                now_pages: 0,
            }
        }

        /// `hints` asks for streams 0, 0, 1, 2, 3, 4.
        fn write(&mut self, tenant: u32, hint: WriteHint) -> u16 {
            let write = Write {
                pages: PageRange::new(0, 1),
                context: ContextId(0),
                file: FileId(0),
                hint,
                tenant,
                now_pages: self.now_pages,
            };
            self.now_pages += 1;
            self.scheme.assign(&write).0
        }

        fn writes(&mut self, tenant: u32) -> [u16; 5] {
            let hints = [
                WriteHint::NotSet,
                WriteHint::Short,
                WriteHint::Medium,
                WriteHint::Long,
                WriteHint::Extreme,
            ];
            hints.map(|hint| self.write(tenant, hint))
        }
    }

    #[test]
    fn who_is_alone_has_all_streams_as_if_nobody_shared_them_out() {
        let mut host = Host::new(4, 6);
        assert_eq!(host.writes(9), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_tenant_that_wants_all_leaves_the_others_their_share() {
        let mut host = Host::new(2, 6);
        for _ in 0..50 {
            host.writes(1);
        }
        // The second comes late, and takes its three streams from the first.
        let second = host.writes(2);
        let first = host.writes(1);
        let of = |mut streams: Vec<u16>| {
            streams.sort_unstable();
            streams.dedup();
            streams
        };
        assert_eq!(of(first.to_vec()).len(), 3);
        assert_eq!(of(second.to_vec()).len(), 3);
        assert!(first.iter().all(|stream| !second.contains(stream)));
        for _ in 0..20 {
            assert_eq!((host.writes(1), host.writes(2)), (first, second));
        }
    }

    #[test]
    fn what_must_share_goes_where_its_neighbour_goes() {
        let mut host = Host::new(2, 4);
        host.write(2, WriteHint::NotSet);
        let streams = host.writes(1);
        assert_eq!(
            streams,
            [1, 2, 2, 2, 2],
            "two streams, the rest beside the second"
        );
    }

    #[test]
    fn one_that_writes_no_more_leaves_its_streams_to_the_others() {
        let mut host = Host::new(2, 6);
        host.writes(1);
        host.writes(2);
        while host.now_pages < 2100 {
            host.write(1, WriteHint::Short);
        }
        let mut alone = host.writes(1).to_vec();
        alone.sort_unstable();
        alone.dedup();
        assert_eq!(alone.len(), 5);
        // It comes back, and has its share again.
        let back = host.writes(2);
        let first = host.writes(1);
        assert!(first.iter().all(|stream| !back.contains(stream)));
    }

    #[test]
    fn more_tenants_than_streams_or_places_share_some() {
        let mut host = Host::new(4, 2);
        for tenant in 0..4 {
            host.writes(tenant);
        }
        let streams: Vec<[u16; 5]> = (0..4).map(|tenant| host.writes(tenant)).collect();
        assert!(streams.iter().flatten().all(|stream| *stream < 2));
        assert_ne!(streams[0], streams[1]);

        let mut host = Host::new(2, 6);
        let streams: Vec<[u16; 5]> = (0..3).map(|tenant| host.writes(tenant)).collect();
        assert_eq!(streams[1], streams[2], "the third in the second's place");
        assert!(streams[0].len() == 5);
    }

    fn mixes(one: &[u16], other: &[u16]) -> bool {
        one.iter().any(|stream| other.contains(stream))
    }

    #[test]
    fn who_comes_when_all_places_were_taken_has_the_one_that_was_left_longest() {
        let mut host = Host::new(3, 6);
        for tenant in [1, 2, 3] {
            host.writes(tenant);
        }
        // Nobody is absent: the fourth shares the last place.
        let fourth = host.writes(4);
        assert_eq!(fourth, host.writes(3));
        // The second writes no more, then the first neither.
        while host.now_pages < 1500 {
            for tenant in [1, 3, 4] {
                host.writes(tenant);
            }
        }
        while host.now_pages < 4000 {
            for tenant in [3, 4] {
                host.writes(tenant);
            }
        }
        let place = |host: &Host, tenant| {
            let mut places = host.scheme.places.iter();
            places.position(|place| place.tenant == Some(tenant))
        };
        assert_eq!(
            [1, 2, 4].map(|one| place(&host, one)),
            [Some(0), None, Some(1)]
        );
        let (third, fourth) = (host.writes(3), host.writes(4));
        assert!(!mixes(&third, &fourth), "{third:?} {fourth:?}");
        // One more has the place of the first, who is a newcomer when it comes back.
        let fifth = host.writes(5);
        assert_eq!((place(&host, 5), place(&host, 1)), (Some(0), None));
        let (third, fourth) = (host.writes(3), host.writes(4));
        assert!(!mixes(&fifth, &third) && !mixes(&fifth, &fourth));
        assert_eq!(host.writes(1), third);
        assert_eq!(place(&host, 3), Some(2));
    }

    /// Notes what it was told of writes elsewhere.
    struct Hears(Arc<Mutex<Vec<(PageRange, u64)>>>);

    impl Assign for Hears {
        fn assign(&mut self, _write: &Write) -> StreamId {
            StreamId(0)
        }

        fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
            self.0.lock().unwrap().push((pages, now_pages));
        }
    }

    #[test]
    fn all_places_hear_of_what_was_written_elsewhere() {
        let heard: [Arc<Mutex<Vec<_>>>; 3] = std::array::from_fn(|_| Arc::default());
        let scheme = |heard| -> Box<dyn Assign> { Box::new(Hears(Arc::clone(heard))) };
        let mut scheme = Tenants::new(heard.iter().map(scheme).collect(), &DRIVE);
        // Before and after a tenant came.
        let pages = PageRange::new(3, 4);
        scheme.written_elsewhere(pages, 0);
        scheme.enter(1);
        scheme.written_elsewhere(pages, 4);
        for heard in &heard {
            assert_eq!(*heard.lock().unwrap(), [(pages, 0), (pages, 4)]);
        }
    }
}
