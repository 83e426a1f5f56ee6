//! What a format's file gives to the table: its reader, its writer, and what they hold.

use super::error::ColumnsError;
use super::fields::SECOND_NS;
use super::form::Holds;
use super::found::LineReader;
use super::options::Options;
use super::records::RecordReader;
use super::writer::FormWriter;

/// What there is to know of a format. It stands in the format's own file, which says its units and
/// codes, and where they are from.
pub(super) struct FormatRow {
    /// The word that names it.
    pub(super) name: &'static str,
    /// What it is, in a few words with its units.
    pub(super) about: &'static str,
    /// What its times count from.
    pub(super) clock: Clock,
    /// Who reads it.
    pub(super) reader: Reads,
}

/// How a format is read.
pub(super) enum Reads {
    /// Line by line. It is guessed where the reader understands the first lines.
    Lines(fn(&Options) -> Result<Box<dyn LineReader>, ColumnsError>),
    /// Record by record, and what the beginning of one looks like.
    Records(fn(&Options) -> Box<dyn RecordReader>, fn(&[u8]) -> bool),
}

/// What there is to know of a form.
pub(super) struct FormRow {
    /// The word that names it, where that is not the format's.
    pub(super) name: Option<&'static str>,
    /// What it is, where the format's words do not say it.
    pub(super) about: Option<&'static str>,
    /// What it can hold.
    pub(super) holds: Holds,
    /// Who writes it, told when the trace began in seconds since 1970; 0 where that is not known.
    pub(super) writer: fn(u64) -> Box<dyn FormWriter>,
}

impl FormRow {
    /// A form with the format's words.
    pub(super) const fn new(holds: Holds, writer: fn(u64) -> Box<dyn FormWriter>) -> FormRow {
        FormRow {
            name: None,
            about: None,
            holds,
            writer,
        }
    }
}

/// What a format's clock counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// A moment of the file's own: files do not tell which of them is earlier.
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

    /// Seconds since 1970-01-01 UTC of a time on this clock, if it tells.
    pub(super) fn unix_s(self, time_ns: u64) -> Option<u64> {
        let seconds = time_ns / SECOND_NS;
        match self {
            Clock::Own | Clock::Shared => None,
            Clock::Unix => Some(seconds),
            Clock::Windows => seconds.checked_sub(WINDOWS_TO_UNIX_S),
        }
    }
}
