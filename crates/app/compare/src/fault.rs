//! Errors of a comparison, sorted by whose fault they are.

use std::{error::Error, fmt};

/// Party at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The use or the input was wrong.
    WrongUse,
    /// The work failed.
    Failed,
    /// The watch ended the work.
    Interrupted,
}

/// An error with a message for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Party at fault.
    pub kind: FaultKind,
    words: String,
}

/// The result of everything in this crate.
pub type Result<T = (), E = Fault> = std::result::Result<T, E>;

impl Fault {
    /// The fault for an error that comes of wrong use or wrong input.
    pub fn usage(error: impl Error) -> Fault {
        Fault {
            kind: FaultKind::WrongUse,
            words: told(&error),
        }
    }

    /// The fault for an error in work that was asked for rightly.
    pub fn work(error: impl Error) -> Fault {
        Fault {
            kind: FaultKind::Failed,
            words: told(&error),
        }
    }

    /// The fault of wrong use, with this message.
    pub fn wrong_use(words: impl fmt::Display) -> Fault {
        Fault {
            kind: FaultKind::WrongUse,
            words: words.to_string(),
        }
    }

    /// The fault of failed work, with this message.
    pub fn failed(words: impl fmt::Display) -> Fault {
        Fault {
            kind: FaultKind::Failed,
            words: words.to_string(),
        }
    }

    /// The fault of work that was ended from outside.
    pub fn interrupted() -> Fault {
        Fault {
            kind: FaultKind::Interrupted,
            words: "interrupted".to_owned(),
        }
    }
}

/// The message of an error with its causes. Most errors here include their cause; it is not
/// repeated.
fn told(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Error for Fault {}

impl From<anabranch_trace::TraceError> for Fault {
    /// A trace that cannot be read is wrong input; one that cannot be written is failed work.
    fn from(error: anabranch_trace::TraceError) -> Fault {
        use anabranch_trace::TraceError::{Create, Read, Write};
        match error {
            Create { .. } | Read { .. } | Write { .. } => Fault::work(error),
            _ => Fault::usage(error),
        }
    }
}

impl From<anabranch_trace::foreign::ImportError> for Fault {
    fn from(error: anabranch_trace::foreign::ImportError) -> Fault {
        match error {
            anabranch_trace::foreign::ImportError::Trace(error) => error.into(),
            other => Fault::usage(other),
        }
    }
}

impl From<anabranch_ssd::ConfigError> for Fault {
    fn from(error: anabranch_ssd::ConfigError) -> Fault {
        Fault::usage(error)
    }
}

impl From<anabranch_replay::FleetError> for Fault {
    /// The only way a fleet fails on its own is a request that does not fit its drive.
    fn from(error: anabranch_replay::FleetError) -> Fault {
        match error {
            anabranch_replay::FleetError::Lane(_) => Fault::usage(error),
            anabranch_replay::FleetError::Worker => Fault::work(error),
        }
    }
}
