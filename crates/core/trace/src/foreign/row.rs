//! Rows of the table of formats: reader, writer, and what they hold.

use super::error::{ColumnsError, ImportError};
use super::fields::SECOND_NS;
use super::form::Holds;
use super::formats::Format;
use super::options::Options;
use super::record_outcome::LineReader;
use super::records::RecordReader;
use super::writer::FormWriter;

/// A format's row in the table. It stands in the format's own file, which says its units and codes,
/// and where they are from.
pub(super) struct FormatRow {
    /// The word that names the format.
    pub(super) name: &'static str,
    /// The format in a few words, with its units.
    pub(super) about: &'static str,
    /// The moment its times count from.
    pub(super) clock: Clock,
    /// The options that its reader uses.
    pub(super) uses: Uses,
    pub(super) reader: Reads,
}

/// The options that a format's reader uses, besides those that all use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uses {
    /// Whether it has several events for a request, of which one is taken.
    pub(super) event: bool,
    /// The keys of a column map that mean something to it.
    pub(super) columns: &'static [&'static str],
    /// Whether it is taken for an input that looks like it.
    pub(super) is_guessed: bool,
}

impl Uses {
    /// A format that says everything itself, and is known by its looks.
    pub(super) const NOTHING: Uses = Uses {
        event: false,
        columns: &[],
        is_guessed: true,
    };

    /// The same with a choice of events.
    pub(super) const fn events(self) -> Uses {
        Uses {
            event: true,
            ..self
        }
    }

    /// The same with these keys of a column map.
    pub(super) const fn keys(self, columns: &'static [&'static str]) -> Uses {
        Uses { columns, ..self }
    }

    /// The same, taken only by its name.
    pub(super) const fn by_name(self) -> Uses {
        Uses {
            is_guessed: false,
            ..self
        }
    }

    /// Refuses options that the format would ignore.
    pub(super) fn check(self, format: Format, options: &Options) -> Result<(), ImportError> {
        let unused = |option: String, remedy: String| ImportError::Unused {
            option,
            format: format.name(),
            remedy,
        };
        if options.event.is_some() && !self.event {
            let remedy = "it has one record for each request; leave it out".into();
            return Err(unused("--event".into(), remedy));
        }
        let given = options.columns.iter().flat_map(|map| &map.given);
        let Some(key) = { given }.find(|key| !self.columns.contains(&key.as_str())) else {
            return Ok(());
        };
        let remedy = if self.columns.is_empty() {
            "it says everything itself; leave --columns out, or name the form csv".into()
        } else {
            format!("it uses {}", self.columns.join(", "))
        };
        Err(unused(format!("the column map's {key}"), remedy))
    }
}

/// The reader of a format.
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
    /// The form in a few words, where the format's row says something else.
    pub(super) about: Option<&'static str>,
    /// The parts of a request that the form can hold.
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
