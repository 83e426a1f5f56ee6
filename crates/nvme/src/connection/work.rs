//! What the translation layer has to hear of a batch of commands.

use anabranch_ssd::{Host, PageRange};

use super::{Connection, Role};
use crate::{
    command::Command,
    completion::Status,
    drive::{Drive, Hint},
    target::Target,
};

/// Something done to pages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    /// They were written.
    Write(Hint),
    /// They were discarded.
    Discard,
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
pub(super) struct Work {
    items: Vec<Item>,
    results: Vec<Status>,
}

impl Work {
    /// A change of pages, the last of its command.
    #[inline]
    pub(super) fn change(&mut self, command: &Command, pages: PageRange, change: Change) {
        let flush = command.force_unit_access() && matches!(change, Change::Write(_));
        self.push(command, pages, Some(change), true, flush);
    }

    /// A change of pages, of which more follow.
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

    /// Tells the translation layer, under one lock. Answers whether anything is to be made safe.
    fn perform(&mut self, target: &Target, host: Host) -> bool {
        let now_ms = target.now_ms();
        let mut drive = target.drive();
        drive.advance(now_ms);
        self.results.clear();
        let mut status = Status::SUCCESS;
        for item in &self.items {
            if status.is_success() {
                status = target.note(apply(&mut drive, host, item));
            }
            self.results.push(status);
            if item.last {
                status = Status::SUCCESS;
            }
        }
        self.items.iter().any(|item| item.flush)
    }
}

#[inline]
fn apply(drive: &mut Drive, host: Host, item: &Item) -> Result<(), Status> {
    match item.change {
        Some(Change::Write(hint)) => drive.write(host, hint, item.pages),
        Some(Change::Discard) => drive.discard(item.pages),
        None => Ok(()),
    }
}

impl Connection {
    /// Ends a batch: the translation layer hears of it, and its commands are answered.
    pub(super) fn settle(&mut self) {
        let Role::Io(controller, _) = &self.role else {
            return;
        };
        let host = controller.host_key();
        controller.seen(self.target.now_ms());
        self.target.totals.add(&std::mem::take(&mut self.tally));
        if self.work.items.is_empty() {
            return;
        }
        let mut work = std::mem::take(&mut self.work);
        let flush = work.perform(&self.target, host);
        let flushed = match flush {
            true => tokio::task::block_in_place(|| self.target.store.flush()),
            false => Ok(()),
        };
        for (item, &result) in work.items.iter().zip(&work.results) {
            if !item.last {
                continue;
            }
            let status = match &flushed {
                Err(_) if item.flush && result.is_success() => Status::INTERNAL,
                _ => result,
            };
            match status.is_success() {
                true => self.succeed(item.command.identifier),
                false => self.fail(&item.command, status),
            }
        }
        work.items.clear();
        self.work = work;
    }
}
