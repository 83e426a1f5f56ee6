//! A scheme at work on a drive: it places writes, is notified of deaths, and decides about copies and
//! victims.

use std::fmt;

use anabranch_ssd::{PageRange, StreamId, relocate::Relocate};

use crate::{
    assign::{Assign, Names, Write},
    halves::Halves,
    known_lifetimes::KnownLifetimes,
};

/// Performs a part of a write in its stream.
type Perform<'a, E> = dyn FnMut(&mut dyn Relocate, &Write, StreamId) -> Result<(), E> + 'a;

/// A scheme at work. Whoever drives a device keeps its policy beside it, asks the policy where
/// writes go ([`Policy::place`]), and hands the policy's relocation to the device's calls. The
/// device holds no part of it.
pub struct Policy {
    halves: Halves,
    goes_by_page: bool,
}

impl Policy {
    /// A policy of both halves.
    pub fn new(halves: Halves) -> Policy {
        Policy {
            goes_by_page: halves.assign().goes_by_page(),
            halves,
        }
    }

    /// A policy of a host half; copies stay in their streams.
    pub fn of_host(assign: Box<dyn Assign>) -> Policy {
        Policy::new(assign.into())
    }

    /// The host half, to be asked what it has learned.
    pub fn host(&self) -> &dyn Assign {
        self.halves.assign()
    }

    fn host_mut(&mut self) -> &mut dyn Assign {
        self.halves.assign_mut()
    }

    /// The device half.
    pub fn relocation(&self) -> &dyn Relocate {
        self.halves.relocation()
    }

    /// The device half, to be handed to a device's calls.
    #[inline]
    pub fn relocation_mut(&mut self) -> &mut dyn Relocate {
        self.halves.relocation_mut()
    }

    /// Asks where a write request goes, and has each part performed before it asks about the next:
    /// the whole request at once, or page by page for schemes that go by page. `perform` gets the
    /// device half, the part, and its stream.
    ///
    /// # Errors
    /// When `perform` fails: its first error, which ends the request.
    #[inline]
    pub fn place<E>(
        &mut self,
        write: &Write,
        mut perform: impl FnMut(&mut dyn Relocate, &Write, StreamId) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.goes_by_page || write.pages.count == 1 {
            let stream = self.host_mut().assign(write);
            return perform(self.relocation_mut(), write, stream);
        }
        self.place_each(write, &mut perform)
    }

    /// The same page by page. Apart, so that what performs the short way is built into it.
    #[inline(never)]
    fn place_each<E>(&mut self, write: &Write, perform: &mut Perform<'_, E>) -> Result<(), E> {
        for step in 0..write.pages.count {
            let part = Write {
                pages: PageRange::new(write.pages.first + step, 1),
                now_pages: write.now_pages + u64::from(step),
                ..*write
            };
            let stream = self.host_mut().assign(&part);
            perform(self.relocation_mut(), &part, stream)?;
        }
        Ok(())
    }

    /// The stream of all writes, if the host half has no other ([`Assign::only_stream`]).
    pub fn only_stream(&self) -> Option<StreamId> {
        self.host().only_stream()
    }

    /// Tells the host half of pages about to be written one by one ([`Assign::prefetch`]).
    pub fn prefetch(&self, pages: &[u32]) {
        self.host().prefetch(pages);
    }

    /// Whether the host half wants to be told of writes before they come ([`Assign::looks_ahead`]).
    pub fn looks_ahead(&self) -> bool {
        self.host().looks_ahead()
    }

    /// Tells the host half of the writes that come next ([`Assign::announce`]).
    pub fn announce(&mut self, writes: &[Write]) {
        self.host_mut().announce(writes);
    }

    /// Tells the host half that the host discards pages at logical time `now_pages`
    /// ([`Assign::discard`]).
    pub fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.host_mut().discard(pages, now_pages);
    }

    /// Tells the host half of pages that were written without asking it
    /// ([`Assign::written_elsewhere`]).
    pub fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
        self.host_mut().written_elsewhere(pages, now_pages);
    }

    /// Gives the host half names that it may go by ([`Assign::learn`]).
    pub fn learn(&mut self, names: &Names) {
        self.host_mut().learn(names);
    }

    /// Gives the host half the lifetimes an earlier run learned, before anything else
    /// ([`Assign::restore_lifetimes`]).
    pub fn restore_lifetimes(&mut self, known: &KnownLifetimes) {
        self.host_mut().restore_lifetimes(known);
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.relocation().fmt(f)
    }
}
