//! A tap on the host's model of the drive: it takes down what the model programs, for the drive to do the same.

use anabranch_ssd::{
    Origin, StreamId,
    relocate::{Destination, Erased, Relocate, Survivor, Victim},
    victims::ClosedUnits,
};

/// One step of the model, to be repeated by the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelStep {
    /// So many of [`Steps::pages`] were programmed for a stream.
    Program(StreamId, u32, Origin),
    /// A stream's unit ended, full or not.
    End(StreamId),
}

/// The steps that the model took since the drive repeated the last.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) steps: Vec<ModelStep>,
    pub(crate) pages: Vec<u32>,
    /// Pages programmed in each stream's open unit.
    filled: Vec<u32>,
    pages_per_unit: u32,
}

impl Steps {
    pub(crate) fn new(streams: u16, pages_per_unit: u32) -> Steps {
        Steps {
            filled: vec![0; usize::from(streams)],
            pages_per_unit,
            ..Steps::default()
        }
    }

    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.pages.clear();
    }

    /// A stream's unit has ended without a step of the model.
    pub(crate) fn forget_unit(&mut self, stream: StreamId) {
        self.filled[stream.index()] = 0;
    }

    fn end(&mut self, stream: StreamId) {
        self.forget_unit(stream);
        self.steps.push(ModelStep::End(stream));
    }
}

/// A scheme's relocation whose device is the model.
#[derive(Debug)]
pub(crate) struct Tap<'a> {
    pub(crate) relocation: &'a mut dyn Relocate,
    pub(crate) steps: &'a mut Steps,
}

impl Relocate for Tap<'_> {
    fn destination(&mut self, victim: &Victim) -> Destination {
        self.relocation.destination(victim)
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        self.relocation.survivor(victim, survivor)
    }

    fn prefetch_survivors(&self, pages: &[u32]) {
        self.relocation.prefetch_survivors(pages);
    }

    fn wants_ages(&self) -> bool {
        self.relocation.wants_ages()
    }

    fn wants_places(&self) -> bool {
        true
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        self.steps.pages.push(page);
        if self.relocation.wants_places() {
            self.relocation.placed(page, unit, stream);
        }
    }

    fn seal(&self, stream: StreamId, default: StreamId) -> Option<StreamId> {
        self.relocation.seal(stream, default)
    }

    fn may_join(&self, wanted: StreamId, other: StreamId) -> bool {
        self.relocation.may_join(wanted, other)
    }

    fn opened(&mut self, stream: StreamId) {
        self.relocation.opened(stream);
    }

    fn appended(&mut self, stream: StreamId, pages: u32, origin: Origin) {
        self.relocation.appended(stream, pages, origin);
        let steps = &mut *self.steps;
        steps.steps.push(ModelStep::Program(stream, pages, origin));
        steps.filled[stream.index()] += pages;
        if steps.filled[stream.index()] == steps.pages_per_unit {
            steps.end(stream);
        }
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.relocation.abandoned(stream);
        self.steps.end(stream);
    }

    fn moved(&mut self, stream: StreamId, pages: u32) {
        self.relocation.moved(stream, pages);
    }

    fn erased(&mut self, erased: &Erased) {
        self.relocation.erased(erased);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.relocation.choose_victim(closed, now)
    }

    fn state(&self) -> Vec<u64> {
        self.relocation.state()
    }

    fn restore(&mut self, state: &[u64]) -> bool {
        self.relocation.restore(state)
    }
}
