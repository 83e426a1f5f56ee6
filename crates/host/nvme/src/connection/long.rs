//! Commands over more blocks than are worked on at once: done a slice at a time, so that the
//! commands of other queues get in between.

use std::{collections::VecDeque, sync::Arc};

use anabranch_ssd::{PageRange, streams::Scope};

use super::{Connection, work::Change};
use crate::{
    command::Command,
    completion::Status,
    drive::{Hint, covered, touched},
    extent::Extent,
    namespace::Namespace,
    options::{DISCARDED_AT_ONCE, MOST_DATA, ZEROED_AT_ONCE},
    store::Store,
    target::Target,
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
struct Long {
    command: Command,
    doing: Doing,
    left: VecDeque<Extent>,
    /// The namespace, and its Formats when the command began.
    namespace: Arc<Namespace>,
    format: u64,
}

/// Long commands of a connection, in order.
#[derive(Debug, Default)]
pub(super) struct LongWork(VecDeque<Long>);

impl LongWork {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes of memory they take.
    pub(super) fn bytes(&self) -> usize {
        let ranges = |long: &Long| long.left.capacity() * size_of::<Extent>();
        self.0.capacity() * size_of::<Long>() + self.0.iter().map(ranges).sum::<usize>()
    }

    /// The memory of what is done is given back.
    pub(super) fn rest(&mut self) {
        self.0.shrink_to_fit();
    }
}

impl Connection {
    /// A command over blocks is begun.
    pub(super) fn begin_long(
        &mut self,
        command: &Command,
        doing: Doing,
        (namespace, blocks): (Arc<Namespace>, Vec<Extent>),
    ) {
        self.long.0.push_back(Long {
            command: *command,
            doing,
            left: blocks.into(),
            format: namespace.formats(),
            namespace,
        });
    }

    /// Does one slice of the longest waiting command. Answers whether there was any.
    pub(super) fn slice(&mut self) -> bool {
        let Some(mut long) = self.long.0.pop_front() else {
            return false;
        };
        let (target, command) = (&self.target, long.command);
        if long.format != long.namespace.formats() {
            self.fail(&command, long.namespace.refusal());
            return true;
        }
        target.sliced();
        let Some(now) = long.cut() else {
            self.work.end(&command, false);
            return true;
        };
        if let Err(status) = long.doing.contents(target, self.scope(&command), now) {
            self.fail(&command, status);
            return true;
        }
        if matches!(long.doing, Doing::Zero(_)) {
            self.tally.zeroed_bytes += now.length;
        }
        let last = long.left.is_empty();
        match long.doing.change(target, now) {
            Some((pages, change)) if last => self.work.change(&command, pages, change),
            Some((pages, change)) => self.work.one_of_many(&command, pages, change),
            None if last => self.work.end(&command, false),
            None => {}
        }
        if !last {
            self.long.0.push_front(long);
        }
        true
    }

    /// The translation layer refused a slice: its command ends.
    pub(super) fn give_up_long(&mut self, command: &Command, status: Status) {
        self.long.0.pop_front();
        self.fail(command, status);
    }
}

impl Long {
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
    /// Bytes of a slice.
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
        let (Extent { at, length }, page_bytes) = (extent, target.page_bytes);
        match self {
            Doing::Discard => Some((covered(at, length, page_bytes), Change::Discard(extent))),
            Doing::Zero(hint) => Some((touched(at, length, page_bytes), Change::Write(hint))),
            Doing::Verify => None,
        }
    }
}
