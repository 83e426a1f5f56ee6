//! How the command ends when it does not end well.

use std::fmt;

/// Status when the work itself failed.
pub const FAILED: u8 = 1;
/// Status of wrong use or wrong input.
pub const WRONG_USE: u8 = 2;

/// An error with the exit status it deserves.
#[derive(Debug)]
pub struct Failure {
    /// The exit status.
    pub status: u8,
    /// What went wrong; `None` where everything worth saying was said, as when the user's own
    /// program failed.
    pub error: Option<anyhow::Error>,
}

/// What every verb answers.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Wrong use or wrong input.
    pub fn usage(error: impl Into<anyhow::Error>) -> Failure {
        Failure {
            status: WRONG_USE,
            error: Some(error.into()),
        }
    }

    /// The work failed.
    pub fn work(error: impl Into<anyhow::Error>) -> Failure {
        Failure {
            status: FAILED,
            error: Some(error.into()),
        }
    }

    /// Wrong use, in words.
    pub fn say(words: impl fmt::Display) -> Failure {
        Failure::usage(anyhow::anyhow!("{words}"))
    }
}

impl From<anabranch_trace::TraceError> for Failure {
    /// A trace that cannot be read is wrong input; one that cannot be written is failed work.
    fn from(error: anabranch_trace::TraceError) -> Failure {
        use anabranch_trace::TraceError::{Create, Read, Write};
        match error {
            Create { .. } | Read { .. } | Write { .. } => Failure::work(error),
            _ => Failure::usage(error),
        }
    }
}

impl From<anabranch_trace::foreign::ImportError> for Failure {
    fn from(error: anabranch_trace::foreign::ImportError) -> Failure {
        match error {
            anabranch_trace::foreign::ImportError::Trace(error) => error.into(),
            other => Failure::usage(other),
        }
    }
}

impl From<anabranch_ssd::ConfigError> for Failure {
    fn from(error: anabranch_ssd::ConfigError) -> Failure {
        Failure::usage(error)
    }
}

impl From<anabranch_replay::FleetError> for Failure {
    /// The only way a fleet fails on its own is a request that does not fit its drive.
    fn from(error: anabranch_replay::FleetError) -> Failure {
        match error {
            anabranch_replay::FleetError::Lane(_) => Failure::usage(error),
            anabranch_replay::FleetError::Worker => Failure::work(error),
        }
    }
}
