//! What a format's file gives to the table: its reader, its writer, and what they hold.

use super::error::ColumnsError;
use super::fields::SECOND_NS;
use super::form::Holds;
use super::found::LineReader;
use super::options::Options;
use super::records::RecordReader;
use super::writer::FormWriter;

/// A format's row in the table. It stands in the format's own file, which says its units and codes,
/// and where they are from.
pub(super) struct FormatRow {
    /// The word that names the format.
    pub(super) name: &'static str,
    /// What the format is, in a few words with its units.
    pub(super) about: &'static str,
    /// The moment its times count from.
    pub(super) clock: Clock,
    /// How it is read.
    pub(super) reader: Reads,
}

/// How a format is read.
pub(super) enum Reads {
    /// Line by line. The format is guessed where this reader understands the first lines.
    Lines(fn(&Options) -> Result<Box<dyn LineReader>, ColumnsError>),
    /// Record by record, with a test of what the beginning of a record looks like.
    Records(fn(&Options) -> Box<dyn RecordReader>, fn(&[u8]) -> bool),
}

/// A form's row in the table.
pub(super) struct FormRow {
    /// The word that names the form, where it is not the format's.
    pub(super) name: Option<&'static str>,
    /// What the form is, where it is not what the format's row says.
    pub(super) about: Option<&'static str>,
    /// What the form can hold.
    pub(super) holds: Holds,
    /// Makes the form's writer, given when the trace began in seconds since 1970 (0 where that is
    /// not known).
    pub(super) writer: fn(u64) -> Box<dyn FormWriter>,
}

impl FormRow {
    /// A form with the name and description of its format.
    pub(super) const fn new(holds: Holds, writer: fn(u64) -> Box<dyn FormWriter>) -> FormRow {
        FormRow {
            name: None,
            about: None,
            holds,
            writer,
        }
    }
}

/// The moment a format's times count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// A moment of each file's own, so that files cannot be put in order.
    Own,
    /// The same moment for all files of one capture.
    Shared,
    /// 1970-01-01 UTC.
    Unix,
    /// 1601-01-01 UTC.
    Windows,
}

/// Seconds from 1601-01-01 to 1970-01-01 (Microsoft's `FILETIME`, RFC 3339 arithmetic).
pub(super) const WINDOWS_TO_UNIX_S: u64 = 11_644_473_600;

impl Clock {
    /// Whether requests of several files can be put in one order.
    pub(super) fn orders_files(self) -> bool {
        self != Clock::Own
    }

    /// Seconds since 1970-01-01 UTC of a time on this clock; `None` where the clock does not tell.
    pub(super) fn unix_s(self, time_ns: u64) -> Option<u64> {
        let seconds = time_ns / SECOND_NS;
        match self {
            Clock::Own | Clock::Shared => None,
            Clock::Unix => Some(seconds),
            Clock::Windows => seconds.checked_sub(WINDOWS_TO_UNIX_S),
        }
    }
}
