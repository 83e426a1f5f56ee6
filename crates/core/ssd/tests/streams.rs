//! Streams as a resource: the Streams Directive's rules and SCSI's, and what becomes of
//! open units.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod driven;

use std::collections::{BTreeMap, BTreeSet};

use anabranch_ssd::{
    Config, PageRange, StreamId,
    relocate::RelocationKind,
    streams::{
        Allocation, AtClose, Resolution, Scope, ScsiStreams, StreamError, StreamHost,
        StreamParameters, StreamTable,
    },
};
use driven::Driven;
use proptest::prelude::*;

const A: Scope = Scope {
    namespace: 1,
    host: StreamHost::Identified(0xa),
};
const B: Scope = Scope {
    namespace: 1,
    host: StreamHost::Identified(0xb),
};
const C: Scope = Scope {
    namespace: 2,
    host: StreamHost::Identified(0xc),
};

fn on(stream: u16) -> Resolution {
    Resolution {
        stream: StreamId(stream),
        closed_another: false,
    }
}

fn in_place_of_another(stream: u16) -> Resolution {
    Resolution {
        closed_another: true,
        ..on(stream)
    }
}

fn given(streams: u16) -> Allocation {
    Allocation {
        streams,
        closed: Vec::new(),
    }
}

#[test]
fn a_write_opens_the_identifier_it_names_and_identifiers_are_sparse() {
    let mut table = StreamTable::new(3);
    assert_eq!(table.resolve(A, 0xffff), on(1));
    assert_eq!(table.resolve(A, 7), on(2));
    assert_eq!(table.resolve(A, 0xffff), on(1));
    assert_eq!(table.resolve(A, 0), on(0), "no stream");
    assert_eq!(table.status(A), [7, 0xffff]);
    assert_eq!(table.lookup(A, 7), Some(StreamId(2)));
    assert_eq!(table.lookup(A, 8), None);
}

#[test]
fn an_identifier_means_a_stream_of_one_host_unless_hosts_share_them() {
    let mut table = StreamTable::new(4);
    assert_eq!(table.resolve(A, 5), on(1));
    assert_eq!(table.resolve(B, 5), on(2));
    let mut shared = StreamTable::new(4).sharing_identifiers();
    assert_eq!(shared.resolve(A, 5), on(1));
    assert_eq!(shared.resolve(B, 5), on(1));
    assert_eq!(shared.resolve(C, 5), on(2), "another namespace");
    assert_eq!(shared.allocate(B, 1), Ok(given(1)));
    assert_eq!(shared.parameters(A).allocated, 1);
    // A host without an identifier shares with nobody.
    let anonymous = |controller| Scope {
        host: StreamHost::Anonymous(controller),
        ..A
    };
    assert_eq!(shared.resolve(anonymous(1), 5), on(3));
    assert_eq!(shared.resolve(anonymous(2), 5), on(4));
}

#[test]
fn an_exhausted_pool_closes_whatever_was_used_longest_ago_in_any_namespace() {
    let mut table = StreamTable::new(3);
    table.resolve(C, 1);
    table.resolve(A, 1);
    table.resolve(A, 2);
    table.resolve(C, 1);
    assert_eq!(table.resolve(A, 3), in_place_of_another(2));
    assert_eq!(table.resolve(A, 4), in_place_of_another(3));
    assert_eq!(table.resolve(A, 5), in_place_of_another(1));
    assert_eq!(table.status(A), [3, 4, 5]);
    assert!(table.status(C).is_empty());
}

#[test]
fn an_exhausted_allocation_closes_only_what_is_its_scopes_own() {
    let mut table = StreamTable::new(3);
    table.resolve(C, 1);
    assert_eq!(table.allocate(A, 2), Ok(given(2)));
    table.resolve(A, 1);
    table.resolve(A, 2);
    table.resolve(A, 1);
    assert!(table.resolve(A, 3).closed_another);
    assert_eq!(table.status(A), [1, 3]);
    assert_eq!(table.status(C), [1]);
    assert_eq!(table.pool_status(), [1]);
}

#[test]
fn where_all_is_allocated_to_others_a_write_is_a_normal_one() {
    let mut table = StreamTable::new(2);
    assert_eq!(table.allocate(A, 5), Ok(given(2)), "no more than there are");
    assert_eq!(table.resolve(B, 1), on(0));
    assert!(table.status(B).is_empty());
    assert_eq!(table.allocate(B, 1), Err(StreamError::NoneLeft));
    let none = StreamParameters {
        limit: 2,
        available: 0,
        pool_open: 0,
        allocated: 0,
        open: 0,
    };
    assert_eq!(table.parameters(B), none);
}

#[test]
fn allocated_resources_leave_the_pool_and_come_back() {
    let mut table = StreamTable::new(8);
    table.resolve(C, 1);
    table.resolve(A, 1);
    assert_eq!(table.allocate(A, 3), Ok(given(3)));
    assert_eq!(table.allocate(A, 3), Err(StreamError::AlreadyAllocated(3)));
    table.resolve(A, 2);
    let parameters = StreamParameters {
        limit: 8,
        available: 5,
        pool_open: 1,
        allocated: 3,
        open: 2,
    };
    assert_eq!(table.parameters(A), parameters);
    assert_eq!(table.release(A, 2), Some(StreamId(3)));
    assert_eq!(table.parameters(A).allocated, 3, "the resource stays");
    assert_eq!(table.release_resources(A), [StreamId(2)]);
    let released = StreamParameters {
        available: 8,
        allocated: 0,
        open: 0,
        ..parameters
    };
    assert_eq!(table.parameters(A), released);
    assert_eq!(
        table.release_resources(A),
        [],
        "nothing allocated: nothing done"
    );
    assert_eq!(table.release_resources(C), []);
    assert_eq!(table.status(C), [1], "what the pool gave is no allocation");
}

#[test]
fn an_allocation_takes_nothing_that_another_has_open() {
    let mut table = StreamTable::new(3);
    table.resolve(C, 1);
    table.resolve(C, 2);
    table.resolve(C, 3);
    assert_eq!(table.allocate(A, 2), Ok(given(0)), "the pool may be used");
    table.release(C, 2);
    assert_eq!(table.allocate(A, 2), Ok(given(1)));
    assert_eq!(table.status(C), [1, 3]);
}

#[test]
fn what_is_open_beyond_an_allocation_is_closed_the_longest_unused_first() {
    let mut table = StreamTable::new(4);
    for identifier in [1, 2, 3, 1] {
        table.resolve(A, identifier);
    }
    let allocation = Allocation {
        streams: 1,
        closed: vec![StreamId(2), StreamId(3)],
    };
    assert_eq!(table.allocate(A, 1), Ok(allocation));
    assert_eq!(table.status(A), [1]);
    assert_eq!(table.parameters(A).available, 3);
}

#[test]
fn releasing_what_is_not_open_does_not_fail_and_a_released_identifier_is_a_new_stream() {
    let mut table = StreamTable::new(3);
    assert_eq!(table.release(A, 9), None);
    table.resolve(A, 1);
    table.resolve(A, 2);
    assert_eq!(table.release(A, 1), Some(StreamId(1)));
    assert_eq!(
        table.resolve(C, 4),
        on(1),
        "the stream closed last is used first"
    );
    assert_eq!(table.resolve(A, 1), on(3));
}

#[test]
fn a_namespace_deleted_formatted_or_disabled_gives_back_what_the_standard_says() {
    let mut table = StreamTable::new(6);
    table.allocate(A, 2).unwrap();
    table.resolve(A, 1);
    table.resolve(B, 1);
    table.resolve(C, 1);
    assert_eq!(table.close_namespace(1), [StreamId(1), StreamId(2)]);
    assert_eq!(
        table.parameters(A).allocated,
        2,
        "format closes identifiers only"
    );
    table.resolve(B, 1);
    assert_eq!(table.release_all(B).len(), 1, "disabled for one host");
    assert_eq!(table.release_namespace(1), []);
    assert_eq!(table.parameters(A).allocated, 0);
    assert_eq!(table.status(C), [1]);
    assert_eq!(table.reset(), [StreamId(3)]);
    assert_eq!(table.parameters(C).pool_open, 0);
    assert_eq!(table.parameters(C).available, 6);
}

#[test]
fn hosts_that_share_identifiers_share_them_after_a_reset() {
    let mut table = StreamTable::new(2).sharing_identifiers();
    table.resolve(A, 7);
    assert_eq!(table.reset(), [StreamId(1)]);
    assert_eq!(table.resolve(A, 7), table.resolve(B, 7));
    assert_eq!(table.status(B), [7]);
    assert_eq!(table.parameters(A).pool_open, 1);
}

#[test]
fn a_status_of_all_namespaces_lists_the_pools_identifiers_once_each() {
    let mut table = StreamTable::new(9);
    table.allocate(B, 1).unwrap();
    for (scope, identifier) in [(A, 9), (A, 2), (C, 2), (B, 4)] {
        table.resolve(scope, identifier);
    }
    assert_eq!(table.pool_status(), [2, 9]);
}

#[test]
fn a_drive_without_streams_writes_everything_to_the_default_one() {
    let mut table = StreamTable::new(0);
    assert_eq!(table.resolve(A, 1), on(0));
    assert_eq!(table.allocate(A, 1), Err(StreamError::NoneLeft));
}

#[test]
fn a_scsi_drive_assigns_identifiers_and_closes_none_by_itself() {
    let mut streams = ScsiStreams::new(3);
    assert_eq!(
        [streams.open(), streams.open(), streams.open()],
        [Ok(1), Ok(2), Ok(3)]
    );
    assert_eq!(streams.open(), Err(StreamError::AllOpen(3)));
    assert_eq!(streams.close(2), Some(StreamId(2)));
    assert_eq!(streams.close(2), None);
    assert_eq!(streams.stream(2), None, "a write names an open stream");
    assert_eq!(streams.status(2), [3]);
    assert_eq!(streams.open(), Ok(2));
    assert_eq!(streams.stream(0), Some(StreamId::DEFAULT));
    assert_eq!(streams.stream(3), Some(StreamId(3)));
}

fn drive(pages: u32, host_streams: u16) -> Config {
    let config = Config {
        host_streams,
        internal_streams: 1,
        seed: 7,
        ..Config::new(pages, 10, 0)
    };
    Config {
        physical_units: config.least_physical_units() as u32 + 6,
        ..config
    }
}

fn device(config: &Config) -> Driven {
    Driven::new(config, RelocationKind::Gc).unwrap()
}

/// Writes pages to an identifier of host A.
fn write(
    table: &mut StreamTable,
    device: &mut Driven,
    at_close: AtClose,
    identifier: u16,
    pages: PageRange,
) {
    let drive = (&mut device.device, &mut *device.relocation);
    let written = table.write(drive, at_close, (A, identifier), pages);
    written.unwrap();
}

/// Writes 3 pages to identifier 1, 4 to the default stream, and then to another identifier for
/// which 1 must be closed.
fn evict(at_close: AtClose) -> Driven {
    let mut device = device(&drive(400, 2));
    let mut table = StreamTable::new(1);
    let mut write = |identifier, first, count| {
        write(
            &mut table,
            &mut device,
            at_close,
            identifier,
            PageRange::new(first, count),
        );
    };
    write(1, 0, 3);
    write(0, 10, 4);
    write(2, 20, 2);
    device.verify().unwrap();
    device
}

#[test]
fn a_closed_streams_unit_stays_open_for_the_next_user_by_default() {
    let device = evict(AtClose::default());
    assert_eq!(device.locate(20).unwrap().0, device.locate(0).unwrap().0);
    assert_eq!(device.counters().unwritten_pages, 0);
}

#[test]
fn a_closed_streams_unit_may_be_finished() {
    let device = evict(AtClose::Finish);
    assert_ne!(device.locate(20).unwrap().0, device.locate(0).unwrap().0);
    assert_eq!(device.counters().unwritten_pages, 7);
    assert_eq!(device.unit_room(StreamId(1)), 8);
}

#[test]
fn a_closed_streams_unit_may_pass_to_the_default_stream() {
    let device = evict(AtClose::Default);
    // The default stream goes on with the emptier of the two; the fuller one is closed.
    assert_eq!(device.stream_of(0), Some(StreamId::DEFAULT));
    assert_eq!(device.unit_room(StreamId::DEFAULT), 7);
    assert_eq!(device.counters().unwritten_pages, 6);
    assert_eq!(device.unit_room(StreamId(1)), 8);
}

fn append(device: &mut Driven, first: u32, count: u32, stream: u16) {
    let pages = PageRange::new(first, count);
    device.write(pages, StreamId(stream)).unwrap();
}

#[test]
fn a_unit_is_handed_over_whole_or_closed_where_the_receivers_is_emptier() {
    let mut device = device(&drive(400, 3));
    append(&mut device, 0, 3, 1);
    assert_eq!(device.hand_over(StreamId(1), StreamId(2)), Ok(0));
    assert_eq!(device.stream_of(0), Some(StreamId(2)));
    assert_eq!(device.unit_room(StreamId(2)), 7);
    append(&mut device, 10, 5, 1);
    assert_eq!(device.hand_over(StreamId(1), StreamId(2)), Ok(5));
    assert_eq!(device.unit_room(StreamId(2)), 7);
    assert_eq!(
        device.hand_over(StreamId(1), StreamId(2)),
        Ok(0),
        "nothing open"
    );
    assert_eq!(device.hand_over(StreamId(2), StreamId(2)), Ok(0));
    assert!(
        device.hand_over(StreamId(1), StreamId(3)).is_err(),
        "no host stream"
    );
    device.verify().unwrap();
}

/// Overwrites at random, with more identifiers than streams.
fn thrash(at_close: AtClose) -> f64 {
    let mut device = device(&drive(1000, 4));
    let mut table = StreamTable::new(3);
    let mut state = 1_u64;
    for _ in 0..20_000 {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let page = (state >> 33) as u32 % 1000;
        let identifier = page as u16 % 20 + 1;
        write(
            &mut table,
            &mut device,
            at_close,
            identifier,
            PageRange::new(page, 1),
        );
    }
    device.verify().unwrap();
    device.counters().waf().unwrap()
}

#[test]
fn keeping_units_open_is_the_cheapest_where_streams_are_closed_all_the_time() {
    let keep = thrash(AtClose::Keep);
    assert!(keep < thrash(AtClose::Finish));
    assert!(keep < thrash(AtClose::Default));
}

/// The standard's rules, with searches over everything.
#[derive(Default)]
struct Naive {
    limit: usize,
    /// When each open identifier was last used, and on which stream of the drive it is.
    open: BTreeMap<(Scope, u16), (usize, u16)>,
    allocated: BTreeMap<Scope, usize>,
    clock: usize,
}

impl Naive {
    fn pool(&self) -> usize {
        self.limit - self.allocated.values().sum::<usize>()
    }

    fn same_account(&self, one: Scope, other: Scope) -> bool {
        one == other || !(self.allocated.contains_key(&one) || self.allocated.contains_key(&other))
    }

    /// The identifier that must be closed, and whether a stream can be had at all.
    fn resolve(&mut self, scope: Scope, identifier: u16) -> (Option<(Scope, u16)>, bool) {
        self.clock += 1;
        if let Some(open) = self.open.get_mut(&(scope, identifier)) {
            open.0 = self.clock;
            return (None, true);
        }
        let limit = self.allocated.get(&scope).copied();
        let limit = limit.unwrap_or_else(|| self.pool());
        let mine =
            |&(&(other, _), _): &(&(Scope, u16), &(usize, u16))| self.same_account(scope, other);
        if self.open.iter().filter(mine).count() < limit {
            return (None, true);
        }
        let oldest = self.open.iter().filter(mine).min_by_key(|(_, used)| used.0);
        let oldest = oldest.map(|(&key, _)| key);
        (oldest, oldest.is_some())
    }
}

fn scopes() -> impl Strategy<Value = Scope> {
    prop::sample::select(vec![A, B, C])
}

proptest! {
    /// Whatever hosts do: the counts add up, no stream of the drive has two users, and a stream
    /// is closed only when and where the standard says so.
    #[test]
    fn the_table_agrees_with_the_rules_read_aloud(
        streams in 0_u16..7,
        operations in prop::collection::vec((0_u8..20, scopes(), 1_u16..9), 1..200)
    ) {
        let mut table = StreamTable::new(streams);
        let mut naive = Naive { limit: usize::from(streams), ..Naive::default() };
        for (operation, scope, number) in operations {
            match operation {
                0 => {
                    let allocation = table.allocate(scope, number % 4);
                    if let Ok(allocation) = &allocation && allocation.streams > 0 {
                        naive.allocated.insert(scope, usize::from(allocation.streams));
                        naive.open.retain(|_, open| !allocation.closed.contains(&StreamId(open.1)));
                    }
                    let had = table.parameters(scope).allocated;
                    prop_assert_eq!(usize::from(had), naive.allocated.get(&scope).copied().unwrap_or(0));
                }
                1 => {
                    let closed = table.release_resources(scope);
                    prop_assert!(closed.is_empty() || naive.allocated.contains_key(&scope));
                    if naive.allocated.remove(&scope).is_some() {
                        naive.open.retain(|key, _| key.0 != scope);
                    }
                }
                2..5 => {
                    let was_open = naive.open.remove(&(scope, number));
                    prop_assert_eq!(table.release(scope, number).map(|stream| stream.0), was_open.map(|open| open.1));
                }
                _ => {
                    let (closes, served) = naive.resolve(scope, number);
                    let resolved = table.resolve(scope, number);
                    prop_assert_eq!(resolved.closed_another, closes.is_some());
                    prop_assert_eq!(resolved.stream != StreamId::DEFAULT, served);
                    if let Some(key) = closes {
                        let freed = naive.open.remove(&key).unwrap();
                        prop_assert_eq!(freed.1, resolved.stream.0);
                    }
                    if served {
                        naive.open.insert((scope, number), (naive.clock, resolved.stream.0));
                    }
                }
            }
            let used: BTreeSet<u16> = naive.open.values().map(|open| open.1).collect();
            prop_assert_eq!(used.len(), naive.open.len());
            prop_assert!(used.iter().all(|&stream| (1..=streams).contains(&stream)));
            for scope in [A, B, C] {
                let own = |key: &&(Scope, u16)| key.0 == scope;
                let open: Vec<u16> = naive.open.keys().filter(own).map(|key| key.1).collect();
                prop_assert_eq!(table.parameters(scope).open as usize, open.len());
                prop_assert_eq!(table.status(scope), open);
            }
            let parameters = table.parameters(A);
            prop_assert_eq!(usize::from(parameters.available), naive.pool());
            prop_assert!(parameters.pool_open <= parameters.available);
            let in_pool = |key: &&(Scope, u16)| !naive.allocated.contains_key(&key.0);
            prop_assert_eq!(usize::from(parameters.pool_open), naive.open.keys().filter(in_pool).count());
        }
    }
}

#[test]
fn of_closed_units_alone_the_valid_pages_are_told() {
    let mut device = device(&drive(400, 3));
    let pages_per_unit = device.config().pages_per_unit;
    // Stream 1 fills two units and begins a third, stream 2 begins one.
    append(&mut device, 0, 2 * pages_per_unit + 1, 1);
    append(&mut device, 100, 3, 2);
    device.discard(PageRange::new(0, 3)).unwrap();
    let closed: Vec<u32> = device.closed_units().collect();
    assert_eq!(closed, [pages_per_unit - 3, pages_per_unit]);
}
