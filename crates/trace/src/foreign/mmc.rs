//! Commands to an MMC card, one after the other, as `mmc_request_start` tells them.

use super::error::{ImportError, Place};
use super::fault::Fault;
use super::formats::{MmcCommand, MmcLine, mmc_line};
use super::input::{Input, LINE_BYTES, Line};
use super::reader::quoted;

/// The commands to one card.
#[derive(Debug)]
pub struct MmcCommands {
    input: Input,
    card: Option<String>,
    lines: u64,
    lost_events: u64,
    others: u64,
}

impl MmcCommands {
    /// The commands of an input to the card of that host (`mmc0`), or to the first that it tells of.
    pub fn new(input: Input, card: Option<String>) -> MmcCommands {
        MmcCommands {
            input,
            card,
            lines: 0,
            lost_events: 0,
            others: 0,
        }
    }

    /// The card's host; `None` while no command was found.
    pub fn card(&self) -> Option<&str> {
        self.card.as_deref()
    }

    /// Events that the trace says are missing.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// Commands to other cards so far.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// The line of the command that was told last, from 1.
    pub fn line(&self) -> u64 {
        self.lines
    }

    /// The next command; `None` when there are no more.
    ///
    /// # Errors
    /// When the input cannot be read, or a line of it is no event.
    pub fn next_command(&mut self) -> Result<Option<MmcCommand>, ImportError> {
        loop {
            let Some(line) = self.input.next_line()? else {
                return Ok(None);
            };
            self.lines += 1;
            let (fault, content) = match line {
                Line::TooLong(beginning) => {
                    let bound_bytes = LINE_BYTES;
                    (Fault::TooLong { bound_bytes }, quoted(&beginning))
                }
                Line::Whole(line) => match mmc_line(line) {
                    Ok(MmcLine::Other) => continue,
                    Ok(MmcLine::Lost(events)) => {
                        self.lost_events = self.lost_events.saturating_add(events);
                        continue;
                    }
                    Ok(MmcLine::Command(host, command)) => {
                        let named = || String::from_utf8_lossy(host).into_owned();
                        if self.card.get_or_insert_with(named).as_bytes() == host {
                            return Ok(Some(command));
                        }
                        self.others += 1;
                        continue;
                    }
                    Err(fault) => (fault, quoted(line)),
                },
            };
            return Err(ImportError::Event {
                path: self.input.path().into(),
                place: Place::Line(self.lines),
                fault,
                content,
            });
        }
    }
}
