//! Errors of a comparison, sorted by whose fault they are.

use std::{error::Error, fmt};

/// Party at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareErrorKind {
    /// The use or the input was wrong.
    WrongUse,
    /// The work failed.
    Failed,
    /// The watch ended the work.
    Interrupted,
}

/// An error with a message for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareError {
    /// Party at fault.
    pub kind: CompareErrorKind,
    words: String,
}

/// The result of everything in this crate.
pub type Result<T = (), E = CompareError> = std::result::Result<T, E>;

impl CompareError {
    /// The fault for an error that comes of wrong use or wrong input.
    pub fn usage(error: impl Error) -> CompareError {
        CompareError {
            kind: CompareErrorKind::WrongUse,
            words: with_causes(&error),
        }
    }

    /// The fault for an error in work that was asked for rightly.
    pub fn work(error: impl Error) -> CompareError {
        CompareError {
            kind: CompareErrorKind::Failed,
            words: with_causes(&error),
        }
    }

    /// The fault of wrong use, with this message.
    pub fn wrong_use(words: impl fmt::Display) -> CompareError {
        CompareError {
            kind: CompareErrorKind::WrongUse,
            words: words.to_string(),
        }
    }

    /// The fault of failed work, with this message.
    pub fn failed(words: impl fmt::Display) -> CompareError {
        CompareError {
            kind: CompareErrorKind::Failed,
            words: words.to_string(),
        }
    }

    /// The fault of work that was ended from outside.
    pub fn interrupted() -> CompareError {
        CompareError {
            kind: CompareErrorKind::Interrupted,
            words: "interrupted".to_owned(),
        }
    }
}

/// The message of an error with its causes. Most errors here include their cause; it is not
/// repeated.
fn with_causes(error: &dyn Error) -> String {
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

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Error for CompareError {}

impl From<anabranch_trace::TraceError> for CompareError {
    /// A trace that cannot be read is wrong input; one that cannot be written is failed work.
    fn from(error: anabranch_trace::TraceError) -> CompareError {
        use anabranch_trace::TraceError::{Create, Read, Write};
        match error {
            Create { .. } | Read { .. } | Write { .. } => CompareError::work(error),
            _ => CompareError::usage(error),
        }
    }
}

impl From<anabranch_trace::foreign::ImportError> for CompareError {
    fn from(error: anabranch_trace::foreign::ImportError) -> CompareError {
        match error {
            anabranch_trace::foreign::ImportError::Trace(error) => error.into(),
            other => CompareError::usage(other),
        }
    }
}

impl From<anabranch_ssd::ConfigError> for CompareError {
    fn from(error: anabranch_ssd::ConfigError) -> CompareError {
        CompareError::usage(error)
    }
}

impl From<anabranch_replay::FleetError> for CompareError {
    /// The only way a fleet fails on its own is a request that does not fit its drive.
    fn from(error: anabranch_replay::FleetError) -> CompareError {
        match error {
            anabranch_replay::FleetError::Lane(_) => CompareError::usage(error),
            anabranch_replay::FleetError::Worker => CompareError::work(error),
        }
    }
}
