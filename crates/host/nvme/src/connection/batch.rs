//! A batch of commands: changes of pages, gathered for the translation layer.

use anabranch_ssd::{
    PageRange,
    streams::{Scope, StreamHost},
    time::Flash,
};
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    command::Command,
    completion::Status,
    controller::Notice,
    drive::{Hint, ServedDrive},
    extent::Extent,
    target::Target,
};

/// Change of pages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    /// The pages were written.
    Write(Hint),
    /// They are discarded, and then these bytes zeroed. In the other order another queue's write
    /// could come in between, whose data the translation layer would not know of.
    Discard(Extent),
}

/// A command whose data are in the store already.
#[derive(Debug, Clone, Copy)]
struct Item {
    command: Command,
    /// Whether this is the last change of its command, which is then answered.
    last: bool,
    /// Whether the data must be safe before that.
    flush: bool,
    pages: PageRange,
    change: Option<Change>,
}

/// Outcome of a change for its command.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    /// More slices of the command follow.
    Continued,
    /// The command has succeeded.
    Succeeded,
    /// It will have, when the clock reports this tag.
    Delayed(u64),
    /// The command has failed.
    Failed(Status),
    /// It has failed before its last slice.
    SliceFailed(Status),
}

/// Changes gathered over a batch, in order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    items: Vec<Item>,
    results: Vec<Status>,
    /// The clock's names of commands that take time; 0 of those that do not.
    tags: Vec<u64>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Changes there are.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Bytes of memory they take.
    pub(super) fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<Item>()
            + self.results.capacity() * size_of::<Status>()
            + self.tags.capacity() * size_of::<u64>()
    }

    /// Frees the memory of batches that are done.
    pub(super) fn shrink(&mut self) {
        if self.items.is_empty() {
            *self = Batch::default();
        }
    }

    /// A change of pages, the last of its command.
    #[inline]
    pub(super) fn change(&mut self, command: &Command, pages: PageRange, change: Change) {
        let flush = command.force_unit_access() && matches!(change, Change::Write(_));
        self.push(command, pages, Some(change), true, flush);
    }

    /// A change of pages by a slice of a command, of which more follow.
    pub(super) fn one_of_many(&mut self, command: &Command, pages: PageRange, change: Change) {
        self.push(command, pages, Some(change), false, false);
    }

    /// A command that is answered when all before it is done; and safe, if `flush`.
    pub(super) fn end(&mut self, command: &Command, flush: bool) {
        self.push(command, PageRange::default(), None, true, flush);
    }

    fn push(
        &mut self,
        command: &Command,
        pages: PageRange,
        change: Option<Change>,
        last: bool,
        flush: bool,
    ) {
        self.items.push(Item {
            command: *command,
            last,
            flush,
            pages,
            change,
        });
    }

    /// Performs the changes on the translation layer, under one lock, then makes safe and zeroes what they ask for.
    pub(super) fn perform(
        &mut self,
        target: &Target,
        host: StreamHost,
        notices: &UnboundedSender<Notice>,
    ) {
        self.change_pages(target, host, notices);
        let flushed = if self.items.iter().any(|item| item.flush) {
            tokio::task::block_in_place(|| target.store.flush())
        } else {
            Ok(())
        };
        for (item, status) in self.items.iter().zip(&mut self.results) {
            if !status.is_success() {
                continue;
            }
            if let Some(Change::Discard(bytes)) = item.change {
                *status = target.zero(item.scope(host), bytes, item.pages);
            } else if item.flush && flushed.is_err() {
                *status = Status::INTERNAL;
            }
        }
    }

    /// Outcomes of the changes that were performed, in order, each with its command.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = (&Command, Outcome)> {
        let results = self.results.iter().zip(&self.tags);
        let all = self.items.iter().zip(results);
        all.map(|(item, (&status, &tag))| {
            let outcome = match (status.is_success(), item.last) {
                (true, true) if tag == 0 => Outcome::Succeeded,
                (true, true) => Outcome::Delayed(tag),
                (true, false) => Outcome::Continued,
                (false, true) => Outcome::Failed(status),
                (false, false) => Outcome::SliceFailed(status),
            };
            (&item.command, outcome)
        })
    }

    /// Forgets the changes that were performed.
    pub(super) fn clear(&mut self) {
        self.items.clear();
    }

    fn change_pages(
        &mut self,
        target: &Target,
        host: StreamHost,
        notices: &UnboundedSender<Notice>,
    ) {
        let now_ms = target.now_ms();
        let mut drive = target.drive();
        drive.advance(now_ms);
        self.results.clear();
        self.tags.clear();
        if let (Some(clock), Some(flash)) = (&target.clock, drive.flash_mut()) {
            flash.pass(clock.now_ns());
        }
        for item in &self.items {
            let applied = apply(target, &mut drive, item.scope(host), item);
            let status = target.incidents.recorded(applied);
            self.results.push(status);
            let tag = match (&target.clock, drive.flash_mut()) {
                (Some(clock), Some(flash)) if status.is_success() => {
                    if item.last {
                        item.time(flash, clock.tag(notices))
                    } else {
                        item.time(flash, 0)
                    }
                }
                _ => 0,
            };
            self.tags.push(tag);
        }
        if let Some(clock) = &target.clock {
            clock.wake();
        }
        if drive.is_read_only() {
            target.incidents.recorded(Err(Status::WRITE_PROTECTED));
        }
    }
}

impl Item {
    #[inline]
    fn scope(&self, host: StreamHost) -> Scope {
        Scope {
            namespace: self.command.namespace,
            host,
        }
    }

    /// Reports a command to the flash, which knows it by `tag`.
    fn time(&self, flash: &mut Flash, tag: u64) -> u64 {
        let pages = self.pages.count;
        match self.change {
            Some(Change::Write(_)) if self.flush => {
                flash.wrote(0, pages);
                flash.flushes(tag);
            }
            Some(Change::Write(_)) => flash.wrote(tag, pages),
            Some(Change::Discard(_)) if !self.last => {}
            None if self.flush => flash.flushes(tag),
            Some(Change::Discard(_)) | None => flash.discarded(tag, pages),
        }
        tag
    }
}

#[inline]
fn apply(
    target: &Target,
    drive: &mut ServedDrive,
    scope: Scope,
    item: &Item,
) -> Result<(), Status> {
    match item.change {
        // Its pages were reported before its data came ([`Target::put`]).
        Some(Change::Write(_)) if target.facts.can_fail => Ok(()),
        Some(Change::Write(hint)) => {
            drive.write(scope, target.enabled.still(scope, hint), item.pages)
        }
        Some(Change::Discard(_)) => drive.discard(item.pages),
        None => Ok(()),
    }
}
