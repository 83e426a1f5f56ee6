//! Options of reading a foreign trace, besides its format.

use super::columns::ColumnMap;

/// An event of a request's life; of a trace that has several (blktrace, blkparse, ftrace), one is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Event {
    /// The request was queued, before merges and splits: the only event of devices without a queue
    /// (`dm`, `md`).
    Queue,
    /// The request was issued to the driver, as the device sees it.
    #[default]
    Issue,
    /// The request was completed by the driver.
    Complete,
}

impl Event {
    /// Every event, in the order of a request's life.
    pub const ALL: [Event; 3] = [Event::Queue, Event::Issue, Event::Complete];

    /// The word that names the event.
    pub fn name(self) -> &'static str {
        match self {
            Event::Queue => "queue",
            Event::Issue => "issue",
            Event::Complete => "complete",
        }
    }

    /// The event of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The letter that stands for the event in blkparse's output (blkparse(1), "Action
    /// identifiers").
    pub(super) fn letter(self) -> &'static [u8] {
        match self {
            Event::Queue => b"Q",
            Event::Issue => b"D",
            Event::Complete => b"C",
        }
    }

    /// The number that stands for the event in blktrace's records (Linux
    /// `include/uapi/linux/blktrace_api.h`, `__BLK_TA_…`).
    pub(super) fn number(self) -> u16 {
        match self {
            Event::Queue => 1,
            Event::Issue => 7,
            Event::Complete => 8,
        }
    }
}

/// The volume that takes all volumes as one drive: partitions of a disk, or a device column without meaning.
pub const ALL_VOLUMES: &str = "all";

/// Options of reading a foreign trace, besides its format.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether to count malformed records and go on, instead of ending with the first.
    pub skip_bad: bool,
    /// The event of a request's life that is taken; issue where none is named. An error for a format without events.
    pub event: Option<Event>,
    /// If given, only the requests to this volume are kept, by its name or number; [`ALL_VOLUMES`] takes all volumes
    /// as one.
    pub volume: Option<String>,
    /// The columns of a CSV, or the units of another format's numbers. An error for a format without either.
    pub columns: Option<ColumnMap>,
}

impl Options {
    /// The one volume whose requests are kept.
    pub(super) fn one_volume(&self) -> Option<&str> {
        self.volume.as_deref().filter(|name| *name != ALL_VOLUMES)
    }
}
