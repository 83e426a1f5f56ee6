//! How a comparison ends when it does not end well.

use std::{error::Error, fmt};

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Wrong use or wrong input.
    WrongUse,
    /// The work failed.
    Failed,
    /// Whoever watched wanted no more of it.
    Interrupted,
}

/// What went wrong, in the words a person is to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Whose fault it is.
    pub kind: FaultKind,
    words: String,
}

/// What everything here answers.
pub type Result<T = (), E = Fault> = std::result::Result<T, E>;

impl Fault {
    /// Wrong use or wrong input.
    pub fn usage(error: impl Error) -> Fault {
        Fault {
            kind: FaultKind::WrongUse,
            words: told(&error),
        }
    }

    /// The work failed.
    pub fn work(error: impl Error) -> Fault {
        Fault {
            kind: FaultKind::Failed,
            words: told(&error),
        }
    }

    /// Wrong use, in words.
    pub fn say(words: impl fmt::Display) -> Fault {
        Fault {
            kind: FaultKind::WrongUse,
            words: words.to_string(),
        }
    }

    /// Failed work, in words.
    pub fn failed(words: impl fmt::Display) -> Fault {
        Fault {
            kind: FaultKind::Failed,
            words: words.to_string(),
        }
    }

    /// The work was ended from outside.
    pub fn interrupted() -> Fault {
        Fault {
            kind: FaultKind::Interrupted,
            words: "interrupted".to_owned(),
        }
    }
}

/// An error and its causes. Most of our errors tell their cause themselves; it is not told twice.
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
