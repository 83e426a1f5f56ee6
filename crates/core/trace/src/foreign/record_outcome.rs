//! The outcome of reading one record of a foreign trace.

use serde::Serialize;

use super::names::Names;
use super::options::Event;
use super::parse_error::ParseError;
use crate::io::{Io, Operation};

/// The outcome of one record. The time of an [`Io`] is still on the trace's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A request, of a format that has one record for each.
    Io(Io),
    /// An event in a request's life, of a format that has several for each.
    Event(Moment, Io),
    /// A record that is understood and passed over.
    Passed(Passed),
    /// A note that this many events are missing here, or some (`None`).
    Lost(Option<u64>),
    /// An event that is kept until the lines that belong to it were read; see [`LineReader::ready`].
    Held,
}

/// A moment in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// One of the events that a user can choose.
    Of(Event),
    /// The driver gave the request back; it will be issued again.
    Requeue,
    /// The request was completed with an error: it does not count.
    Failed,
    /// The request was split: its rest begins at the offset, and may be queued as a request of its own.
    Split,
}

impl Moment {
    /// The reason to pass over such an event where this one is taken: it tells nothing of the requests that count.
    pub(super) fn useless_for(self, taken: Event) -> Option<Passed> {
        match self {
            Moment::Of(event) if event == taken => None,
            // Bytes of issues and completions are compared; bios are other requests than those.
            Moment::Of(Event::Queue) => Some(Passed::Untaken(Event::Queue)),
            Moment::Of(event) if taken == Event::Queue => Some(Passed::Untaken(event)),
            Moment::Split if taken != Event::Queue => Some(Passed::OtherEvent),
            Moment::Requeue if taken == Event::Queue => Some(Passed::OtherEvent),
            _ => None,
        }
    }
}

impl Passed {
    /// The reason on a device: an event that another `--event` would take counts only where its volume is wanted.
    pub(super) fn of_device(self, device: &[u8], wanted: Option<&str>) -> Passed {
        match (self, wanted) {
            (Passed::Untaken(_), Some(wanted)) if wanted.as_bytes() != device => Passed::OtherEvent,
            (passed, _) => passed,
        }
    }
}

/// A request or another event of its life, on the way to [`InFlight`](super::in_flight::InFlight).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) moment: Moment,
    pub(super) io: Io,
}

/// The reason for which a record that is understood is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// An event of another kind than the one that is taken.
    OtherEvent,
    /// An event that another `--event` would take.
    Untaken(Event),
    /// A request for no bytes: a command that carries no data.
    NoData,
    /// A heading, a comment, a summary, a message, an empty line.
    Note,
}

/// Records that did not become requests, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Events of other kinds than the one that is taken.
    pub other_events: u64,
    /// Those of them that [`Event::Queue`] would take.
    pub queue_events: u64,
    /// Those of them that [`Event::Issue`] would take.
    pub issue_events: u64,
    /// Those of them that [`Event::Complete`] would take.
    pub complete_events: u64,
    /// Requests for no bytes: commands that carry no data.
    pub without_data: u64,
    /// Headings, comments, summaries, messages and empty lines.
    pub notes: u64,
    /// Requests to volumes that were not asked for.
    pub other_volumes: u64,
    /// The first volume not asked for, as [`crate::Io::tenant`] has it.
    pub first_other_volume: Option<u32>,
    /// Records that were not understood.
    pub malformed: u64,
    /// The first malformed record: its place, fault and content.
    pub first_malformed: Option<String>,
}

impl Skipped {
    pub(super) fn count(&mut self, passed: Passed) {
        let counter = match passed {
            Passed::Untaken(event) => {
                *match event {
                    Event::Queue => &mut self.queue_events,
                    Event::Issue => &mut self.issue_events,
                    Event::Complete => &mut self.complete_events,
                } += 1;
                &mut self.other_events
            }
            Passed::OtherEvent => &mut self.other_events,
            Passed::NoData => &mut self.without_data,
            Passed::Note => &mut self.notes,
        };
        *counter += 1;
    }

    /// The event that most of the events passed over belong to, and their number; `None` if there are none.
    pub fn most_untaken(&self) -> Option<(Event, u64)> {
        let counts = [
            (Event::Complete, self.complete_events),
            (Event::Issue, self.issue_events),
            (Event::Queue, self.queue_events),
        ];
        // Of equal numbers the last, which is the earliest in a request's life.
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.filter(|(_, count)| *count > 0)
    }

    /// Adds the counts of another input.
    pub(super) fn add(&mut self, other: &Skipped) {
        self.other_events += other.other_events;
        self.queue_events += other.queue_events;
        self.issue_events += other.issue_events;
        self.complete_events += other.complete_events;
        self.without_data += other.without_data;
        self.notes += other.notes;
        self.other_volumes += other.other_volumes;
        self.first_other_volume = self.first_other_volume.or(other.first_other_volume);
        self.malformed += other.malformed;
        if self.first_malformed.is_none() {
            self.first_malformed.clone_from(&other.first_malformed);
        }
    }
}

/// A request whose context is not known yet.
pub(super) fn request(
    time_ns: u64,
    operation: Operation,
    offset_bytes: u64,
    length_bytes: u64,
) -> Io {
    Io {
        time_ns,
        operation,
        ..Io::write(offset_bytes, length_bytes)
    }
}

/// The reader of one text format.
pub(super) trait LineReader: Send {
    /// Understands one line, without its end.
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError>;

    /// Takes the next event that was [`Found::Held`] and is whole now.
    fn ready(&mut self) -> Option<Found> {
        None
    }

    /// Makes all held events whole: no line follows.
    fn finish(&mut self, _names: &mut Names) -> Result<(), ParseError> {
        Ok(())
    }

    /// Assumptions that the trace neither confirms nor contradicts, and what was left out, where it is worth knowing.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A reader of tables, whose first line may be a heading.
#[derive(Debug)]
pub(super) struct Headed<R> {
    reader: R,
    is_first: bool,
}

impl<R> Headed<R> {
    pub(super) fn new(reader: R) -> Headed<R> {
        Headed {
            reader,
            is_first: true,
        }
    }
}

impl<R: LineReader> LineReader for Headed<R> {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, ParseError> {
        if std::mem::replace(&mut self.is_first, false) && is_heading(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        self.reader.line(line, names)
    }

    fn remarks(&self) -> Vec<String> {
        self.reader.remarks()
    }
}

/// Whether a line is nothing but blanks, or a comment as scripts write them.
pub(super) fn is_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}

/// Whether a line heads a table: it has no digit, which every record of every table has.
pub(super) fn is_heading(line: &[u8]) -> bool {
    !line.iter().any(u8::is_ascii_digit)
}
