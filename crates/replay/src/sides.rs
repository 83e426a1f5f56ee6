//! Both halves of a scheme, as a lane's device holds them.

use anabranch_placement::{Assign, Built, Whole};
use anabranch_ssd::{
    ClosedUnits, Config, Destination, Erased, Origin, Relocate, StreamId, Survivor, Victim,
};

/// A scheme's halves: apart, or in one.
pub enum Sides {
    /// A host's half with any relocation.
    Pair(Box<dyn Assign>, Box<dyn Relocate>),
    /// A scheme that does both.
    Whole(Box<dyn Whole>),
}

impl Sides {
    /// The halves of a scheme on a device.
    pub fn new(built: Built, config: &Config) -> Sides {
        match built {
            Built::Pair(assign, kind) => Sides::Pair(assign, kind.build(config)),
            Built::Whole(whole) => Sides::Whole(whole),
        }
    }

    /// The host's half.
    pub fn assign(&self) -> &dyn Assign {
        match self {
            Sides::Pair(assign, _) => assign.as_ref(),
            Sides::Whole(whole) => whole.as_ref(),
        }
    }

    /// The host's half, at work.
    pub fn assign_mut(&mut self) -> &mut dyn Assign {
        match self {
            Sides::Pair(assign, _) => assign.as_mut(),
            Sides::Whole(whole) => whole.as_mut(),
        }
    }

    fn relocation(&self) -> &dyn Relocate {
        match self {
            Sides::Pair(_, relocation) => relocation.as_ref(),
            Sides::Whole(whole) => whole.as_ref(),
        }
    }

    fn relocation_mut(&mut self) -> &mut dyn Relocate {
        match self {
            Sides::Pair(_, relocation) => relocation.as_mut(),
            Sides::Whole(whole) => whole.as_mut(),
        }
    }
}

impl std::fmt::Debug for Sides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.relocation().fmt(f)
    }
}

impl Relocate for Sides {
    fn destination(&mut self, victim: &Victim) -> Destination {
        self.relocation_mut().destination(victim)
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        self.relocation_mut().survivor(victim, survivor)
    }

    fn wants_ages(&self) -> bool {
        self.relocation().wants_ages()
    }

    fn wants_places(&self) -> bool {
        self.relocation().wants_places()
    }

    fn placed(&mut self, page: u32, unit: u32, stream: StreamId) {
        self.relocation_mut().placed(page, unit, stream);
    }

    fn seal(&self, stream: StreamId, default: StreamId) -> Option<StreamId> {
        self.relocation().seal(stream, default)
    }

    fn may_join(&self, wanted: StreamId, other: StreamId) -> bool {
        self.relocation().may_join(wanted, other)
    }

    fn appended(&mut self, stream: StreamId, pages: u32, origin: Origin) {
        self.relocation_mut().appended(stream, pages, origin);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.relocation_mut().abandoned(stream);
    }

    fn moved(&mut self, stream: StreamId, pages: u32) {
        self.relocation_mut().moved(stream, pages);
    }

    fn opened(&mut self, stream: StreamId) {
        self.relocation_mut().opened(stream);
    }

    fn erased(&mut self, erased: &Erased) {
        self.relocation_mut().erased(erased);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.relocation_mut().choose_victim(closed, now)
    }

    fn state(&self) -> Vec<u64> {
        self.relocation().state()
    }

    fn restore(&mut self, state: &[u64]) -> bool {
        self.relocation_mut().restore(state)
    }
}
