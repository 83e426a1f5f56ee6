//! Commands that are done but for the time they take.

use std::collections::HashMap;

use super::Connection;
use crate::{command::Command, completion::Status, drive::touched, extent::Extent, io};

/// Batch that is left when a command's time has come.
#[derive(Debug, Clone, Copy)]
enum Rest {
    /// Read data, and answer.
    Read(Command),
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
}

impl Connection {
    /// Delays a read until the flash has delivered its pages.
    pub(super) fn read_later(&mut self, command: &Command) -> Result<(), Status> {
        let (_, Extent { at, length }) = io::transfer(self.controller()?, command)?;
        let pages = touched(at, length, self.target.page_bytes);
        let Some(clock) = &self.target.clock else {
            return Ok(());
        };
        let tag = clock.tag(&self.notices);
        self.delayed.0.insert(tag, Rest::Read(*command));
        let mut drive = self.target.drive();
        let places: Vec<(u32, u32)> = (pages.first..pages.first + pages.count)
            .filter_map(|page| drive.locate(page))
            .collect();
        if let Some(flash) = drive.flash_mut() {
            flash.pass(clock.now_ns());
            flash.reads(tag, pages.count, &places);
        }
        drop(drive);
        clock.wake();
        Ok(())
    }

    /// Completes a command whose time has come.
    pub(super) fn due(&mut self, tag: u64) {
        match self.delayed.0.remove(&tag) {
            Some(Rest::Answer(command)) => self.succeed(command.identifier),
            Some(Rest::Read(command)) => {
                if let Err(status) = self.read(&command) {
                    self.fail(&command, status);
                }
            }
            None => {}
        }
    }
}
