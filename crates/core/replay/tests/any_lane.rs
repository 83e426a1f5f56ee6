//! Properties that hold for every scheme on a real device, for any requests.

#![allow(missing_docs, clippy::unwrap_used)]

use anabranch_placement::{
    Assign, DeviceHalf, Halves, KnownLifetimes, Leader, Names, Policy, RuleUse, SCHEMES,
    SchemeSpec, Site, Whole, Write,
};
use anabranch_replay::{AnyDevice, Engine, Lane};
use anabranch_ssd::{
    Config, Counters, Device, Origin, PageRange, StreamId,
    profile::Profile,
    relocate::{Destination, Erased, Relocate, RelocationKind, Survivor, Victim},
    state::SavedDrive,
    victims::ClosedUnits,
};
use anabranch_trace::{Io, Operation};
use proptest::prelude::*;

const PAGE_BYTES: u64 = 4096;
/// Pages a lane hands over at once, and a request's, at most.
const MOST_PAGES: u64 = 64 + 40;

#[derive(Debug, Clone, Copy)]
struct Request {
    operation: Operation,
    first: u32,
    count: u32,
    times: u32,
}

/// Schemes that hold both halves, and can do without the future.
fn schemes() -> Vec<SchemeSpec> {
    let own = SCHEMES
        .iter()
        .filter(|scheme| scheme.relocation == DeviceHalf::Own);
    let specs = own.map(|scheme| scheme.name.parse::<SchemeSpec>().unwrap());
    specs.filter(|spec| !spec.needs_future()).collect()
}

/// A scheme whose answers are looked at: the device would put up with a stream that is not there.
#[derive(Debug)]
struct Checked {
    scheme: Box<dyn Whole>,
    host_streams: u16,
    streams: u16,
    /// The host's clock at the end of the last write.
    host_clock: u64,
}

impl Checked {
    /// The drive's clock is the host's, but for what the lane still holds back.
    fn check_clock(&self, now: u64) {
        let held_back = self.host_clock.abs_diff(now);
        assert!(held_back <= MOST_PAGES, "{} and {now}", self.host_clock);
    }

    fn copy(&self, stream: StreamId) -> StreamId {
        assert!(stream.0 < self.streams, "a copy to stream {}", stream.0);
        stream
    }
}

#[deny(clippy::missing_trait_methods)]
impl Assign for Checked {
    fn assign(&mut self, write: &Write) -> StreamId {
        let stream = self.scheme.assign(write);
        self.host_clock = write.now_pages + u64::from(write.pages.count);
        assert!(
            stream.0 < self.host_streams,
            "a write to stream {}",
            stream.0
        );
        stream
    }

    /// None, so that every write is asked for, and checked.
    fn only_stream(&self) -> Option<StreamId> {
        None
    }

    fn prefetch(&self, pages: &[u32]) {
        self.scheme.prefetch(pages);
    }

    fn looks_ahead(&self) -> bool {
        self.scheme.looks_ahead()
    }

    fn announce(&mut self, writes: &[Write]) {
        self.scheme.announce(writes);
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.scheme.discard(pages, now_pages);
    }

    fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
        self.scheme.written_elsewhere(pages, now_pages);
    }

    fn learn(&mut self, names: &Names) {
        self.scheme.learn(names);
    }

    fn restore_lifetimes(&mut self, known: &KnownLifetimes) {
        self.scheme.restore_lifetimes(known);
    }

    fn learned(&self) -> Option<KnownLifetimes> {
        self.scheme.learned()
    }

    fn rule_use(&self) -> Option<RuleUse> {
        self.scheme.rule_use()
    }

    fn leaders(&self) -> &[Leader] {
        self.scheme.leaders()
    }

    fn goes_by_page(&self) -> bool {
        self.scheme.goes_by_page()
    }

    fn memory_bytes(&self) -> usize {
        self.scheme.memory_bytes()
    }
}

#[deny(clippy::missing_trait_methods)]
impl Relocate for Checked {
    fn destination(&mut self, victim: &Victim) -> Destination {
        self.check_clock(victim.now);
        match self.scheme.destination(victim) {
            Destination::Stream(stream) => Destination::Stream(self.copy(stream)),
            Destination::Each => Destination::Each,
        }
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let stream = self.scheme.survivor(victim, survivor);
        self.copy(stream)
    }

    fn prefetch_survivors(&self, pages: &[u32]) {
        self.scheme.prefetch_survivors(pages);
    }

    fn wants_ages(&self) -> bool {
        self.scheme.wants_ages()
    }

    fn wants_places(&self) -> bool {
        self.scheme.wants_places()
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        self.scheme.placed(page, unit, stream);
    }

    fn seal(&self, stream: StreamId, default: StreamId) -> Option<StreamId> {
        self.scheme.seal(stream, default).map(|to| self.copy(to))
    }

    fn may_join(&self, wanted: StreamId, other: StreamId) -> bool {
        self.scheme.may_join(wanted, other)
    }

    fn opened(&mut self, stream: StreamId) {
        self.scheme.opened(stream);
    }

    fn appended(&mut self, stream: StreamId, pages: u32, origin: Origin) {
        self.scheme.appended(stream, pages, origin);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.scheme.abandoned(stream);
    }

    fn moved(&mut self, stream: StreamId, pages: u32) {
        self.scheme.moved(stream, pages);
    }

    fn erased(&mut self, erased: &Erased) {
        self.check_clock(erased.now);
        self.scheme.erased(erased);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.scheme.choose_victim(closed, now)
    }

    fn state(&self) -> Vec<u64> {
        self.scheme.state()
    }

    fn restore(&mut self, state: &[u64]) -> bool {
        self.scheme.restore(state)
    }
}

/// The lane of a scheme, looked at.
fn lane(spec: &SchemeSpec, drive: &Config, aged: Option<&SavedDrive>) -> Lane {
    let config = spec.drive(drive);
    let site = Site::new(&config, DeviceHalf::Own);
    let Halves::Whole(scheme) = spec.build(&site).unwrap() else {
        unreachable!("these schemes hold both halves");
    };
    let checked = Checked {
        scheme,
        host_streams: config.host_streams,
        streams: config.streams(),
        host_clock: aged.map_or(0, |drive| drive.counters().host_pages),
    };
    let mut policy = Policy::new(Halves::whole(checked));
    let device = match aged {
        None => Device::new(config, policy.relocation()).unwrap(),
        Some(drive) => drive
            .clone()
            .age(config, policy.relocation_mut(), ())
            .unwrap(),
    };
    Lane::new(policy, Engine::Alone(AnyDevice::Counted(Box::new(device))))
}

prop_compose! {
    fn drives()(pages in 16_u32..400, per_unit in 1_u32..20, spare in 0_u32..12,
                host in 1_u16..10, internal in 0_u16..10) -> Config {
        let profile = Profile::shipped("golden").unwrap();
        let config = Config {
            logical_pages: pages,
            pages_per_unit: per_unit,
            host_streams: host,
            internal_streams: internal,
            ..profile.resolve("golden").unwrap()
        };
        Config { physical_units: config.least_physical_units() as u32 + spare, ..config }
    }
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let operation = prop_oneof![9 => Just(Operation::Write), 1 => Just(Operation::Discard)];
    let count = prop_oneof![3 => Just(1_u32), 1 => 1_u32..40];
    let times = prop_oneof![3 => Just(1_u32), 1 => 1_u32..60];
    let request = (operation, 0_u32..400, count, times);
    let request = request.prop_map(|(operation, first, count, times)| Request {
        operation,
        first,
        count,
        times,
    });
    prop::collection::vec(request, 1..200)
}

/// The drive after it was filled and each page overwritten about five times, in a file.
fn aged(drive: &Config) -> SavedDrive {
    let mut relocation = RelocationKind::Gc.build(drive);
    let relocation = &mut *relocation;
    let mut device = Device::new(drive.clone(), relocation).unwrap();
    let pages = drive.logical_pages;
    device
        .write(relocation, PageRange::new(0, pages), StreamId::DEFAULT)
        .unwrap();
    for step in 0..5 * pages {
        let page = (u64::from(step) * 7919 % u64::from(pages)) as u32;
        device
            .write(relocation, PageRange::new(page, 1), StreamId::DEFAULT)
            .unwrap();
    }
    let mut bytes = Vec::new();
    device.save(relocation, &mut bytes).unwrap();
    SavedDrive::read(&bytes[..]).unwrap()
}

/// Runs the requests, wrapped into the drive, and answers what the device counted.
fn run(
    spec: &SchemeSpec,
    drive: &Config,
    aged: Option<&SavedDrive>,
    requests: &[Request],
) -> Result<Counters, String> {
    let mut lane = lane(spec, drive, aged);
    let mut memory_bytes = lane.assign().memory_bytes();
    // A sketch of unusual length, so that epochs, reviews and training come round.
    for round in 0..4 {
        for request in requests {
            for time in 0..request.times {
                let first = (request.first + round * 7 + time * 3) % drive.logical_pages;
                let count = request.count.min(drive.logical_pages - first);
                let (offset, length) = (u64::from(first), u64::from(count));
                let io = Io {
                    operation: request.operation,
                    ..Io::write(offset * PAGE_BYTES, length * PAGE_BYTES)
                };
                lane.apply(&io).map_err(|error| error.to_string())?;
            }
        }
        if round == 0 {
            memory_bytes = memory_bytes.max(lane.assign().memory_bytes());
        }
    }
    lane.flush_batch().map_err(|error| error.to_string())?;
    if let Engine::Alone(AnyDevice::Counted(device)) = lane.engine() {
        device.verify().map_err(|error| error.to_string())?;
    }
    let grown = lane.assign().memory_bytes();
    if grown > memory_bytes + 16 * 1024 {
        return Err(format!("memory grew from {memory_bytes} to {grown} bytes"));
    }
    Ok(*lane.counters())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_scheme_keeps_to_its_streams_and_repeats_itself(
        drive in drives(),
        requests in requests(),
    ) {
        for spec in schemes() {
            let first = run(&spec, &drive, None, &requests);
            prop_assert!(first.is_ok(), "{spec}: {first:?}");
            prop_assert_eq!(first, run(&spec, &drive, None, &requests), "{}", spec);
        }
    }

    /// A scheme knows nothing of data that the drive holds when it first sees it.
    #[test]
    fn every_scheme_takes_up_an_aged_drive_and_goes_by_its_clock(
        drive in drives(),
        requests in requests(),
    ) {
        let aged = aged(&drive);
        for spec in schemes() {
            let counted = run(&spec, &drive, Some(&aged), &requests);
            prop_assert!(counted.is_ok(), "{spec}: {counted:?}");
        }
    }
}
