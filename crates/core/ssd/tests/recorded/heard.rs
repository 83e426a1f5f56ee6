//! A relocation and an observer that write down all they are told.

use std::sync::{Arc, Mutex};

use anabranch_ssd::{
    Observe, Origin, StreamId,
    relocate::{Destination, Erased, Relocate, Survivor, Victim},
    victims::ClosedUnits,
};

use crate::Sum;

/// Notifications, in order.
#[derive(Debug, Clone, Default)]
pub struct Heard(Arc<Mutex<Sum>>);

impl Heard {
    pub fn take(&self, told: impl std::fmt::Debug) {
        self.0.lock().unwrap().take(told);
    }

    pub fn text(&self) -> String {
        self.0.lock().unwrap().text()
    }
}

impl Observe for Heard {
    const WANTS_COPIES: bool = true;

    fn programmed(&mut self, unit: u32, first: u32, count: u32, origin: Origin) {
        self.take(("programmed", unit, first, count, origin));
    }

    fn copied(&mut self, unit: u32, page: u32) {
        self.take(("copied", unit, page));
    }

    fn finished(&mut self, unit: u32) {
        self.take(("finished", unit));
    }

    fn erased(&mut self, unit: u32) {
        self.take(("erased", unit));
    }
}

/// A relocation, what it is told, and what it answers.
#[derive(Debug)]
pub struct Listening {
    pub inner: Box<dyn Relocate>,
    pub heard: Heard,
    /// Asks for ages and places though the relocation does not.
    pub asks_all: bool,
    /// Victims chosen so far.
    pub chosen: u16,
    pub streams: u16,
}

impl Relocate for Listening {
    fn destination(&mut self, victim: &Victim) -> Destination {
        let destination = self.inner.destination(victim);
        self.heard.take((victim, destination));
        destination
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let stream = self.inner.survivor(victim, survivor);
        self.heard.take((survivor, stream));
        stream
    }

    fn wants_ages(&self) -> bool {
        self.asks_all || self.inner.wants_ages()
    }

    fn wants_places(&self) -> bool {
        self.asks_all || self.inner.wants_places()
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        self.heard.take(("placed", page, unit, stream));
        self.inner.placed(page, unit, stream);
    }

    fn seal(&self, stream: StreamId, default: StreamId) -> Option<StreamId> {
        let sealed = self.inner.seal(stream, default);
        self.heard.take(("seal", stream, default, sealed));
        sealed
    }

    fn may_join(&self, wanted: StreamId, other: StreamId) -> bool {
        self.inner.may_join(wanted, other)
    }

    fn opened(&mut self, stream: StreamId) {
        self.heard.take(("opened", stream));
        self.inner.opened(stream);
    }

    fn appended(&mut self, stream: StreamId, pages: u32, origin: Origin) {
        self.heard.take(("appended", stream, pages, origin));
        self.inner.appended(stream, pages, origin);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.heard.take(("abandoned", stream));
        self.inner.abandoned(stream);
    }

    fn moved(&mut self, stream: StreamId, pages: u32) {
        self.heard.take(("moved", stream, pages));
        self.inner.moved(stream, pages);
    }

    fn erased(&mut self, erased: &Erased) {
        self.heard.take(erased);
        self.inner.erased(erased);
    }

    /// The rule changes from victim to victim, so that every question is asked.
    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.chosen = self.chosen.wrapping_add(1);
        let stream = StreamId(self.chosen / 4 % self.streams);
        let unit = match self.chosen % 4 {
            0 => closed.oldest(stream),
            1 => closed.fewest_valid_of(stream),
            2 => closed.of_stream(stream).last(),
            _ => None,
        };
        let fewest = closed.fewest_valid_of(stream);
        let known = unit.and_then(|unit| closed.get(unit.unit));
        let counts = (closed.units(), closed.count(stream));
        self.heard.take((now, unit, fewest, known, counts));
        unit.map(|unit| unit.unit)
    }

    fn state(&self) -> Vec<u64> {
        self.inner.state()
    }

    fn restore(&mut self, state: &[u64]) -> bool {
        self.inner.restore(state)
    }
}
