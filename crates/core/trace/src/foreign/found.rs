//! The outcome of reading one record of a foreign trace.

use serde::Serialize;

use super::fault::Fault;
use super::names::Names;
use crate::io::{Io, Operation};

/// The outcome of one record. The time of an [`Io`] is still on the trace's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A request.
    Io(Io),
    /// A record that is understood and passed over.
    Passed(Passed),
    /// A note that this many events are missing here.
    Lost(u64),
}

/// Why a record that is understood is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// An event of another kind than the one that is taken.
    OtherEvent,
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
            Passed::OtherEvent => &mut self.other_events,
            Passed::NoData => &mut self.without_data,
            Passed::Note => &mut self.notes,
        };
        *counter += 1;
    }

    /// Adds the counts of another input.
    pub(super) fn add(&mut self, other: &Skipped) {
        self.other_events += other.other_events;
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
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, Fault>;
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
    fn line(&mut self, line: &[u8], names: &mut Names) -> Result<Found, Fault> {
        if std::mem::replace(&mut self.is_first, false) && is_heading(line) {
            return Ok(Found::Passed(Passed::Note));
        }
        self.reader.line(line, names)
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
