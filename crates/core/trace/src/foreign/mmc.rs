//! Commands to an MMC card, one after the other, as `mmc_request_start` tells them.

use std::collections::VecDeque;

use super::error::{ImportError, Position};
use super::formats::{MmcCommand, MmcLine, mmc_line};
use super::input::{Input, LINE_BYTES, Line};
use super::parse_error::ParseError;
use super::reader::quoted;

/// Commands that are kept until one has data, which says whose card it is. Our choice.
const MOST_HELD: usize = 1 << 16;

/// The commands to one card.
#[derive(Debug)]
pub struct MmcCommands {
    input: Input,
    card: Option<String>,
    /// Commands that are read and not told yet.
    held: VecDeque<Held>,
    lines: u64,
    told_line: u64,
    lost_events: u64,
    others: u64,
}

#[derive(Debug)]
struct Held {
    line: u64,
    host: String,
    command: MmcCommand,
}

impl MmcCommands {
    /// The commands of an input to the card of that host (`mmc0`), or to the first whose data it tells of: slots for
    /// radios have commands without any. Where none has data, or it comes late, the first host's.
    pub fn new(input: Input, card: Option<String>) -> MmcCommands {
        MmcCommands {
            input,
            card,
            held: VecDeque::new(),
            lines: 0,
            told_line: 0,
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
        self.told_line
    }

    /// The next command; `None` when there are no more.
    ///
    /// # Errors
    /// When the input cannot be read, or a line of it is no event.
    pub fn next_command(&mut self) -> Result<Option<MmcCommand>, ImportError> {
        loop {
            if let Some(card) = &self.card
                && let Some(held) = self.held.pop_front()
            {
                if *card == held.host {
                    self.told_line = held.line;
                    return Ok(Some(held.command));
                }
                self.others += 1;
                continue;
            }
            let read = self.read()?;
            let is_end = read.is_none();
            if let Some(held) = read {
                if self.card.is_none() && held.command.is_transfer() {
                    self.card = Some(held.host.clone());
                }
                self.held.push_back(held);
            }
            if self.card.is_none() && (is_end || self.held.len() >= MOST_HELD) {
                self.card = self.held.front().map(|first| first.host.clone());
            }
            if is_end && self.held.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Reads on to the next command to any card.
    fn read(&mut self) -> Result<Option<Held>, ImportError> {
        loop {
            let Some(line) = self.input.next_line()? else {
                return Ok(None);
            };
            self.lines += 1;
            let (fault, content) = match line {
                Line::TooLong(beginning) => {
                    let bound_bytes = LINE_BYTES;
                    (ParseError::TooLong { bound_bytes }, quoted(&beginning))
                }
                Line::Whole(line) => match mmc_line(line) {
                    Ok(MmcLine::Other) => continue,
                    Ok(MmcLine::Lost(events)) => {
                        self.lost_events = self.lost_events.saturating_add(events.unwrap_or(1));
                        continue;
                    }
                    Ok(MmcLine::Command(host, command)) => {
                        return Ok(Some(Held {
                            line: self.lines,
                            host: String::from_utf8_lossy(host).into_owned(),
                            command,
                        }));
                    }
                    Err(fault) => (fault, quoted(line)),
                },
            };
            return Err(ImportError::Event {
                path: self.input.path().into(),
                place: Position::Line(self.lines),
                fault,
                content: content.into(),
            });
        }
    }
}
