//! Commands that are done but for the time they take.

use std::collections::HashMap;

use anabranch_ssd::PageRange;
use tokio::sync::mpsc::UnboundedSender;

use crate::{clock::Clock, command::Command, controller::Notice, target::Target};

/// Rest of a command whose time has come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rest {
    /// Read data, and answer.
    Read(Command),
    /// Answer alone: data were written, or there are none.
    Answer(Command),
}

/// Commands that wait for the flash, by the names the clock has for them.
#[derive(Debug, Default)]
pub(super) struct DelayedCompletions(HashMap<u64, Rest>);

impl DelayedCompletions {
    /// Commands that wait.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes of memory they take.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u64, Rest)>()
    }

    /// Frees the memory of commands that are done.
    pub(super) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Delays the answer to a command whose changes are made.
    pub(super) fn answer_later(&mut self, tag: u64, command: &Command) {
        self.0.insert(tag, Rest::Answer(*command));
    }

    /// Delays a read until the flash has delivered its pages.
    pub(super) fn read_later(
        &mut self,
        (target, clock): (&Target, &Clock),
        notices: &UnboundedSender<Notice>,
        (command, pages): (&Command, PageRange),
    ) {
        let tag = clock.tag(notices);
        self.0.insert(tag, Rest::Read(*command));
        let mut drive = target.drive();
        let places: Vec<(u32, u32)> = (pages.first..pages.first + pages.count)
            .filter_map(|page| drive.locate(page))
            .collect();
        if let Some(flash) = drive.flash_mut() {
            flash.pass(clock.now_ns());
            flash.reads(tag, pages.count, &places);
        }
        drop(drive);
        clock.wake();
    }

    /// Takes what is left of a command whose time has come.
    pub(super) fn due(&mut self, tag: u64) -> Option<Rest> {
        self.0.remove(&tag)
    }
}
