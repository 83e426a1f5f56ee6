//! A scheme at the drive: it says where the writes of a host go that says nothing itself.

use anabranch_ssd::{
    ClosedUnits, Config, Destination, Erased, PageRange, Relocate, RelocationKind, StreamId,
    Survivor, Victim,
};

use super::{StreamDevice, status};
use crate::completion::Status;

/// A scheme, as the drive holds it: the device's half, and what stands for the host's.
pub trait Placement: Relocate {
    /// The stream of a write. `now_pages` is what the host has written before.
    fn assign(&mut self, pages: PageRange, now_pages: u64) -> StreamId;

    /// The host discards pages.
    fn discard(&mut self, pages: PageRange, now_pages: u64);

    /// Whether each page of a write may go elsewhere.
    fn goes_by_page(&self) -> bool;
}

/// The scheme of a drive that places nothing: every write without a hint goes to the default
/// stream, and copies where a relocation says.
#[derive(Debug)]
pub struct Fixed(pub Box<dyn Relocate>);

impl Fixed {
    /// With a relocation of the device's own.
    pub fn new(kind: RelocationKind, config: &Config) -> Fixed {
        Fixed(kind.build(config))
    }
}

impl Placement for Fixed {
    fn assign(&mut self, _pages: PageRange, _now_pages: u64) -> StreamId {
        StreamId::DEFAULT
    }

    fn discard(&mut self, _pages: PageRange, _now_pages: u64) {}

    fn goes_by_page(&self) -> bool {
        false
    }
}

impl Relocate for Fixed {
    fn destination(&mut self, victim: &Victim) -> Destination {
        self.0.destination(victim)
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        self.0.survivor(victim, survivor)
    }

    fn wants_ages(&self) -> bool {
        self.0.wants_ages()
    }

    fn wants_places(&self) -> bool {
        self.0.wants_places()
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        self.0.placed(page, unit, stream);
    }

    fn seal(&self, stream: StreamId, default: StreamId) -> Option<StreamId> {
        self.0.seal(stream, default)
    }

    fn may_join(&self, wanted: StreamId, other: StreamId) -> bool {
        self.0.may_join(wanted, other)
    }

    fn opened(&mut self, stream: StreamId) {
        self.0.opened(stream);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.0.abandoned(stream);
    }

    fn moved(&mut self, stream: StreamId, pages: u32) {
        self.0.moved(stream, pages);
    }

    fn erased(&mut self, erased: &Erased) {
        self.0.erased(erased);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.0.choose_victim(closed, now)
    }

    fn state(&self) -> Vec<u64> {
        self.0.state()
    }

    fn restore(&mut self, state: &[u64]) -> bool {
        self.0.restore(state)
    }
}

/// Writes where the scheme says.
#[inline]
pub(super) fn write(device: &mut StreamDevice, pages: PageRange) -> Result<(), Status> {
    if device.relocation().goes_by_page() {
        let each = pages.first..pages.first + pages.count;
        return each
            .into_iter()
            .try_for_each(|page| place(device, PageRange::new(page, 1)));
    }
    place(device, pages)
}

#[inline]
fn place(device: &mut StreamDevice, pages: PageRange) -> Result<(), Status> {
    let now = device.clock_pages();
    let stream = device.relocation_mut().assign(pages, now);
    device.write(pages, stream).map_err(|error| status(&error))
}

/// Discards, and tells the scheme.
pub(super) fn discard(device: &mut StreamDevice, pages: PageRange) -> Result<(), Status> {
    let now = device.clock_pages();
    device.relocation_mut().discard(pages, now);
    device.discard(pages).map_err(|error| status(&error))
}
