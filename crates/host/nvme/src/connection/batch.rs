//! A batch of commands: changes of pages, gathered for the translation layer.

use anabranch_ssd::{
    PageRange,
    streams::{Scope, StreamHost},
    time::Flash,
};
use tokio::sync::mpsc::UnboundedSender;

use super::{Connection, Role};
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

/// Changes gathered over a batch, in order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    items: Vec<Item>,
    results: Vec<Status>,
    /// The clock's names of commands that take time; 0 of those that do not.
    tags: Vec<u64>,
}

impl Batch {
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

    /// Performs the changes on the translation layer, under one lock. Returns whether any data must be made safe.
    fn perform(
        &mut self,
        target: &Target,
        host: StreamHost,
        notices: &UnboundedSender<Notice>,
    ) -> bool {
        let now_ms = target.now_ms();
        let mut drive = target.drive();
        drive.advance(now_ms);
        self.results.clear();
        self.tags.clear();
        if let (Some(clock), Some(flash)) = (&target.clock, drive.flash_mut()) {
            flash.pass(clock.now_ns());
        }
        for item in &self.items {
            let scope = Scope {
                namespace: item.command.namespace,
                host,
            };
            let status = target.recorded(apply(target, &mut drive, scope, item));
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
            target.recorded(Err(Status::WRITE_PROTECTED));
        }
        self.items.iter().any(|item| item.flush)
    }
}

impl Item {
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
        Some(Change::Write(_)) if target.can_fail => Ok(()),
        Some(Change::Write(hint)) => drive.write(scope, target.still(scope, hint), item.pages),
        Some(Change::Discard(_)) => drive.discard(item.pages),
        None => Ok(()),
    }
}

impl Connection {
    /// Ends a batch: performs its changes on the translation layer, and answers its commands.
    pub(super) fn perform_batch(&mut self) {
        let Role::Io(controller, _) = &self.role else {
            return;
        };
        let host = controller.host_key();
        controller.seen(self.target.now_ms());
        self.target.totals.add(&std::mem::take(&mut self.tally));
        self.target.report_losses();
        if self.batch.items.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let flush = batch.perform(&self.target, host, &self.notices);
        let flushed = if flush {
            tokio::task::block_in_place(|| self.target.store.flush())
        } else {
            Ok(())
        };
        let outcomes = batch.results.iter().zip(&batch.tags);
        for (item, (&result, &tag)) in batch.items.iter().zip(outcomes) {
            let result = match item.change {
                Some(Change::Discard(bytes)) if result.is_success() => {
                    let scope = self.scope(&item.command);
                    self.target.zero(scope, bytes, item.pages)
                }
                _ => result,
            };
            if !item.last {
                if !result.is_success() {
                    self.give_up_sliced(&item.command, result);
                }
                continue;
            }
            let status = match &flushed {
                Err(_) if item.flush && result.is_success() => Status::INTERNAL,
                _ => result,
            };
            match (status.is_success(), tag) {
                (true, 0) => self.succeed(item.command.identifier),
                (true, tag) => self.delayed.answer_later(tag, &item.command),
                (false, _) => self.fail(&item.command, status),
            }
        }
        batch.items.clear();
        self.batch = batch;
    }
}
