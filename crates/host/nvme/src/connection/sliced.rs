//! Commands over more blocks than are worked on at once: done a slice at a time, so that the
//! commands of other queues get in between.
//!
//! ```text
//! slice():  take the oldest command
//!           its namespace was formatted since it began? fail it
//!           cut the next extent, at a slice's boundary
//!           change the contents, and add the change of pages to the batch
//!           blocks are left? put the command back to the front
//! ```
//!
//! Deallocated blocks are zeroed after the batch, when the translation layer has discarded their pages.

use std::{collections::VecDeque, sync::Arc};

use anabranch_ssd::{
    PageRange,
    streams::{Scope, StreamHost},
};

use super::batch::{Batch, Change};
use crate::{
    command::Command,
    completion::Status,
    drive::{Hint, covered, touched},
    extent::Extent,
    namespace::Namespace,
    options::{DISCARDED_AT_ONCE, MOST_DATA, ZEROED_AT_ONCE},
    store::Store,
    target::Target,
    totals::Tally,
};

/// Operation on the blocks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Doing {
    /// The blocks are deallocated.
    Discard,
    /// The blocks are written with zeroes.
    Zero(Hint),
    /// The blocks are read.
    Verify,
}

/// A command with what is left of it.
#[derive(Debug)]
struct SlicedCommand {
    command: Command,
    doing: Doing,
    left: VecDeque<Extent>,
    /// The namespace, and its Formats when the command began.
    namespace: Arc<Namespace>,
    format: u64,
}

/// Sliced commands of a connection, in order.
#[derive(Debug, Default)]
pub(super) struct SlicedCommands(VecDeque<SlicedCommand>);

impl SlicedCommands {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes of memory they take.
    pub(super) fn bytes(&self) -> usize {
        let ranges = |long: &SlicedCommand| long.left.capacity() * size_of::<Extent>();
        self.0.capacity() * size_of::<SlicedCommand>() + self.0.iter().map(ranges).sum::<usize>()
    }

    /// Frees the memory of commands that are done.
    pub(super) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Begins a command over blocks.
    pub(super) fn begin(
        &mut self,
        command: &Command,
        doing: Doing,
        (namespace, blocks): (Arc<Namespace>, Vec<Extent>),
    ) {
        self.0.push_back(SlicedCommand {
            command: *command,
            doing,
            left: blocks.into(),
            format: namespace.formats(),
            namespace,
        });
    }

    /// Performs one slice of the command that waits longest, and adds its change of pages to the batch. `None` where no
    /// command waits; an error of the command that has ended by it.
    pub(super) fn slice(
        &mut self,
        target: &Target,
        host: StreamHost,
        (batch, tally): (&mut Batch, &mut Tally),
    ) -> Option<Result<(), (Command, Status)>> {
        let mut long = self.0.pop_front()?;
        let command = long.command;
        if long.format != long.namespace.formats() {
            return Some(Err((command, long.namespace.refusal())));
        }
        target.gauges.sliced();
        let Some(now) = long.cut() else {
            batch.end(&command, false);
            return Some(Ok(()));
        };
        let scope = Scope {
            namespace: command.namespace,
            host,
        };
        if let Err(status) = long.doing.contents(target, scope, now) {
            return Some(Err((command, status)));
        }
        if matches!(long.doing, Doing::Zero(_)) {
            tally.zeroed_bytes += now.length;
        }
        let last = long.left.is_empty();
        match long.doing.change(target, now) {
            Some((pages, change)) if last => batch.change(&command, pages, change),
            Some((pages, change)) => batch.one_of_many(&command, pages, change),
            None if last => batch.end(&command, false),
            None => {}
        }
        if !last {
            self.0.push_front(long);
        }
        Some(Ok(()))
    }

    /// Drops a command of which the translation layer refused a slice.
    pub(super) fn give_up(&mut self) {
        // It is the one at the front: a batch holds at most one slice, of the command put back last.
        self.0.pop_front();
    }
}

impl SlicedCommand {
    /// The next slice; `None` where nothing is left.
    fn cut(&mut self) -> Option<Extent> {
        let most = self.doing.most();
        let first = self.left.front_mut()?;
        // Slices end where they would if the blocks began with the drive: so no page is cut.
        let length = first.length.min(most - first.at % most);
        let now = Extent {
            at: first.at,
            length,
        };
        (first.at, first.length) = (first.at + length, first.length - length);
        if first.length == 0 {
            self.left.pop_front();
        }
        Some(now)
    }
}

impl Doing {
    /// Most bytes of a slice.
    fn most(self) -> u64 {
        match self {
            Doing::Discard => DISCARDED_AT_ONCE,
            Doing::Zero(_) => ZEROED_AT_ONCE,
            Doing::Verify => MOST_DATA.into(),
        }
    }

    /// Performs a slice on the contents, before the translation layer is notified. Blocks that are
    /// deallocated are zeroed after that ([`Change::Discard`]).
    fn contents(self, target: &Target, scope: Scope, extent: Extent) -> Result<(), Status> {
        let Extent { at, length } = extent;
        match self {
            Doing::Discard => Ok(()),
            Doing::Zero(hint) => {
                let zero = |store: &Store| store.zero(at, length);
                target.put((scope, hint), extent, &mut 0, zero)
            }
            Doing::Verify => {
                let read = target.store.read(at, &mut vec![0; length as usize]);
                read.map_err(|_| Status::INTERNAL)
            }
        }
    }

    /// The change of pages that a slice is to the translation layer.
    fn change(self, target: &Target, extent: Extent) -> Option<(PageRange, Change)> {
        let (Extent { at, length }, page_bytes) = (extent, target.facts.page_bytes);
        match self {
            Doing::Discard => Some((covered(at, length, page_bytes), Change::Discard(extent))),
            Doing::Zero(hint) => Some((touched(at, length, page_bytes), Change::Write(hint))),
            Doing::Verify => None,
        }
    }
}
