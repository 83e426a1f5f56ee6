//! One input, read by the reader of its format.

use std::path::Path;

use super::error::{ColumnsError, ImportError, Position};
use super::formats::Format;
use super::input::{Input, LINE_BYTES, Line};
use super::names::Names;
use super::options::{ALL_VOLUMES, Event, Options};
use super::parse_error::ParseError;
use super::record_outcome::{Found, LineReader, Moment, Passed, Skipped, Step};
use super::records::{Record, RecordReader};
use super::row::Reads;
use crate::io::Operation;
use crate::record::end_bytes;

/// Characters of a malformed record that are shown.
const SHOWN_CHARACTERS: usize = 160;

/// Requests read at a time. Our choice: they stay in the second-level cache, and a thousand inputs
/// that are merged hold less than 100 MiB of them.
pub(super) const BATCH: usize = 1024;

/// An input being read. The times of its requests are on its own clock.
pub(super) struct Reader {
    input: Input,
    parser: Parser,
    filter: Filter,
    tally: Tally,
    /// Lines or records taken so far.
    taken: u64,
    ended: bool,
}

enum Parser {
    Lines(Box<dyn LineReader>),
    Records(Box<dyn RecordReader>),
}

/// Counts of the records that were not handed on.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Whether malformed records are only counted.
    skip_bad: bool,
    /// The event that is taken as the request.
    taken: Event,
    pub(super) skipped: Skipped,
    /// Events that the trace reports as lost, one where it does not tell their number.
    pub(super) lost_events: u64,
    /// Reports that do not tell the number.
    pub(super) uncounted_losses: u64,
}

/// The volumes that requests are kept of.
enum Filter {
    /// All, each with addresses of its own.
    Each,
    /// All, as one with the number 0.
    AsOne,
    /// One by its name, and by its number if that is one.
    Wanted { name: String, number: Option<u32> },
}

fn parser(format: Format, options: &Options) -> Result<Parser, ColumnsError> {
    Ok(match format.row().reader {
        Reads::Lines(open) => Parser::Lines(open(options)?),
        Reads::Records(open, _) => Parser::Records(open(options)),
    })
}

impl Reader {
    pub(super) fn new(
        input: Input,
        format: Format,
        options: &Options,
    ) -> Result<Reader, ImportError> {
        Ok(Reader {
            input,
            parser: parser(format, options)?,
            filter: Filter::new(options.volume.as_deref()),
            tally: Tally {
                skip_bad: options.skip_bad,
                taken: options.event.unwrap_or_default(),
                ..Tally::default()
            },
            taken: 0,
            ended: false,
        })
    }

    pub(super) fn packed_bytes(&self) -> u64 {
        self.input.packed_bytes()
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Remarks of the format's reader; see [`super::Importer::remarks`].
    pub(super) fn remarks(&self) -> Vec<String> {
        match &self.parser {
            Parser::Lines(reader) => reader.remarks(),
            Parser::Records(reader) => reader.remark().map(str::to_owned).into_iter().collect(),
        }
    }

    /// Puts the next events into `steps`, in place of what was there. Answers `false` when there
    /// are no more, as after an error.
    pub(super) fn read(
        &mut self,
        names: &mut Names,
        steps: &mut Vec<Step>,
    ) -> Result<bool, ImportError> {
        steps.clear();
        if !self.ended {
            let done = match self.parser {
                Parser::Lines(_) => self.read_lines(names, steps),
                Parser::Records(_) => self.read_records(names, steps),
            };
            self.ended = done.is_err() || steps.len() < BATCH;
            done?;
        }
        Ok(!steps.is_empty())
    }

    fn read_lines(&mut self, names: &mut Names, steps: &mut Vec<Step>) -> Result<(), ImportError> {
        let Parser::Lines(parser) = &mut self.parser else {
            return Ok(());
        };
        while steps.len() < BATCH {
            let Some(line) = self.input.next_line()? else {
                let done = parser.finish(names);
                let held = std::iter::from_fn(|| parser.ready());
                let done =
                    done.and_then(|()| self.tally.sift_all(held, &self.filter, names, steps));
                if let Err(fault) = done {
                    let (path, place) = (self.input.path(), Position::Line(self.taken));
                    self.tally.refuse(path, place, fault, quoted(b""))?;
                }
                break;
            };
            self.taken += 1;
            let (fault, content) = match &line {
                Line::TooLong(beginning) => {
                    let bound_bytes = LINE_BYTES;
                    (ParseError::TooLong { bound_bytes }, quoted(beginning))
                }
                Line::Whole(line) => {
                    let done = match parser.line(line, names) {
                        Ok(Found::Held) => {
                            let held = std::iter::from_fn(|| parser.ready());
                            self.tally.sift_all(held, &self.filter, names, steps)
                        }
                        Ok(found) => {
                            let step = self.tally.sift(found, &self.filter, names);
                            step.map(|step| steps.extend(step))
                        }
                        Err(fault) => Err(fault),
                    };
                    match done {
                        Ok(()) => continue,
                        Err(fault) => (fault, quoted(line)),
                    }
                }
            };
            let (path, place) = (self.input.path(), Position::Line(self.taken));
            self.tally.refuse(path, place, fault, content)?;
        }
        Ok(())
    }

    fn read_records(
        &mut self,
        names: &mut Names,
        steps: &mut Vec<Step>,
    ) -> Result<(), ImportError> {
        let Parser::Records(parser) = &mut self.parser else {
            return Ok(());
        };
        while steps.len() < BATCH {
            let Some(record) = parser.record(&mut self.input, names)? else {
                break;
            };
            self.taken += 1;
            let (fault, content) = match record {
                Record::Bad(fault, beginning) => (fault, hexadecimal(&beginning)),
                Record::Found(found) => match self.tally.sift(found, &self.filter, names) {
                    Ok(step) => {
                        steps.extend(step);
                        continue;
                    }
                    Err(fault) => (fault, format!("{found:?}")),
                },
            };
            let (path, place) = (self.input.path(), Position::Record(self.taken));
            self.tally.refuse(path, place, fault, content)?;
        }
        Ok(())
    }
}

impl Tally {
    /// Counts a malformed record if those are skipped; fails with it otherwise.
    fn refuse(
        &mut self,
        path: &Path,
        place: Position,
        fault: ParseError,
        content: String,
    ) -> Result<(), ImportError> {
        if !self.skip_bad {
            return Err(ImportError::Record {
                path: path.into(),
                place,
                fault,
                content: content.into(),
            });
        }
        self.skipped.malformed += 1;
        self.skipped
            .first_malformed
            .get_or_insert_with(|| format!("{}, {place}: {fault}: {content}", path.display()));
        Ok(())
    }

    /// Appends the events to hand on of these outcomes.
    fn sift_all(
        &mut self,
        all: impl Iterator<Item = Found>,
        filter: &Filter,
        names: &Names,
        steps: &mut Vec<Step>,
    ) -> Result<(), ParseError> {
        for found in all {
            steps.extend(self.sift(found, filter, names)?);
        }
        Ok(())
    }

    /// The event to hand on; `None`, and a count, if the record gives none.
    fn sift(
        &mut self,
        found: Found,
        filter: &Filter,
        names: &Names,
    ) -> Result<Option<Step>, ParseError> {
        let (moment, mut io) = match found {
            Found::Io(io) => (Moment::Of(self.taken), io),
            Found::Event(moment, io) => (moment, io),
            Found::Passed(passed) => {
                self.skipped.count(passed);
                return Ok(None);
            }
            Found::Lost(events) => {
                self.lost_events = self.lost_events.saturating_add(events.unwrap_or(1));
                self.uncounted_losses += u64::from(events.is_none());
                return Ok(None);
            }
            Found::Held => return Ok(None),
        };
        let is_taken = moment == Moment::Of(self.taken);
        if io.operation == Operation::Flush {
            (io.offset_bytes, io.length_bytes) = (0, 0);
        } else if io.length_bytes == 0 && moment != Moment::Split {
            self.skipped.count(Passed::NoData);
            return Ok(None);
        }
        if io.length_bytes > 0 {
            end_bytes(&io)?;
        }
        if !filter.lets(io.tenant, names) {
            self.skipped.other_volumes += u64::from(is_taken);
            self.skipped.first_other_volume.get_or_insert(io.tenant);
            return Ok(None);
        }
        if matches!(filter, Filter::AsOne) {
            io.tenant = 0;
        }
        match moment {
            _ if is_taken => {}
            Moment::Of(event) => self.skipped.count(Passed::Untaken(event)),
            Moment::Requeue | Moment::Failed | Moment::Split => {
                self.skipped.count(Passed::OtherEvent)
            }
        }
        Ok(Some(Step { moment, io }))
    }
}

impl Filter {
    fn new(volume: Option<&str>) -> Filter {
        match volume {
            None => Filter::Each,
            Some(ALL_VOLUMES) => Filter::AsOne,
            Some(name) => Filter::Wanted {
                name: name.into(),
                number: name.parse().ok(),
            },
        }
    }

    fn lets(&self, volume: u32, names: &Names) -> bool {
        let Filter::Wanted { name, number } = self else {
            return true;
        };
        if names.volumes().is_empty() {
            return *number == Some(volume);
        }
        // Where the trace gives names, `7` is a name.
        names.volumes().get(volume as usize) == Some(name)
    }
}

/// A line as it is shown in an error.
pub(super) fn quoted(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{shown:?}{more}")
}

/// Bytes as they are shown in an error.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}
