//! A scheme at the drive: it says where the writes of a host go that says nothing itself.

use std::fmt;

use anabranch_ssd::{
    ClosedUnits, Config, Destination, Erased, Origin, PageRange, Relocate, RelocationKind,
    StreamId, Survivor, Victim,
};

use super::{StreamDevice, status};
use crate::completion::Status;

/// A scheme, as the drive holds it: the device's half, and what stands for the host's.
pub trait Placement: Send + fmt::Debug {
    /// The device's half.
    fn relocation(&self) -> &dyn Relocate;

    /// The device's half, at work.
    fn relocation_mut(&mut self) -> &mut dyn Relocate;

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
struct Fixed(Box<dyn Relocate>);

impl Placement for Fixed {
    fn relocation(&self) -> &dyn Relocate {
        self.0.as_ref()
    }

    fn relocation_mut(&mut self) -> &mut dyn Relocate {
        self.0.as_mut()
    }

    fn assign(&mut self, _pages: PageRange, _now_pages: u64) -> StreamId {
        StreamId::DEFAULT
    }

    fn discard(&mut self, _pages: PageRange, _now_pages: u64) {}

    fn goes_by_page(&self) -> bool {
        false
    }
}

/// A scheme in its drive.
#[derive(Debug)]
pub struct Placed(Box<dyn Placement>);

impl Placed {
    /// Any scheme.
    pub fn by(placement: Box<dyn Placement>) -> Placed {
        Placed(placement)
    }

    /// None: a relocation of the device's own, and the default stream for writes without a hint.
    pub fn fixed(kind: RelocationKind, config: &Config) -> Placed {
        Placed(Box::new(Fixed(kind.build(config))))
    }
}

impl Relocate for Placed {
    fn destination(&mut self, victim: &Victim) -> Destination {
        self.0.relocation_mut().destination(victim)
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        self.0.relocation_mut().survivor(victim, survivor)
    }

    fn wants_ages(&self) -> bool {
        self.0.relocation().wants_ages()
    }

    fn wants_places(&self) -> bool {
        self.0.relocation().wants_places()
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        self.0.relocation_mut().placed(page, unit, stream);
    }

    fn seal(&self, stream: StreamId, default: StreamId) -> Option<StreamId> {
        self.0.relocation().seal(stream, default)
    }

    fn may_join(&self, wanted: StreamId, other: StreamId) -> bool {
        self.0.relocation().may_join(wanted, other)
    }

    fn opened(&mut self, stream: StreamId) {
        self.0.relocation_mut().opened(stream);
    }

    fn appended(&mut self, stream: StreamId, pages: u32, origin: Origin) {
        self.0.relocation_mut().appended(stream, pages, origin);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.0.relocation_mut().abandoned(stream);
    }

    fn moved(&mut self, stream: StreamId, pages: u32) {
        self.0.relocation_mut().moved(stream, pages);
    }

    fn erased(&mut self, erased: &Erased) {
        self.0.relocation_mut().erased(erased);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.0.relocation_mut().choose_victim(closed, now)
    }

    fn state(&self) -> Vec<u64> {
        self.0.relocation().state()
    }

    fn restore(&mut self, state: &[u64]) -> bool {
        self.0.relocation_mut().restore(state)
    }
}

/// Writes where the scheme says.
#[inline]
pub(super) fn write(device: &mut StreamDevice, pages: PageRange) -> Result<(), Status> {
    if device.relocation().0.goes_by_page() {
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
    let stream = device.relocation_mut().0.assign(pages, now);
    device.write(pages, stream).map_err(|error| status(&error))
}

/// Discards, and tells the scheme.
pub(super) fn discard(device: &mut StreamDevice, pages: PageRange) -> Result<(), Status> {
    let now = device.clock_pages();
    device.relocation_mut().0.discard(pages, now);
    device.discard(pages).map_err(|error| status(&error))
}
