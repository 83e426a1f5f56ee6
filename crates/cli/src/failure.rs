//! How the command ends when it does not end well.

use std::fmt;

use anabranch_compare::{Fault, FaultKind};

/// Status when the work itself failed.
pub const FAILED: u8 = 1;
/// Status of wrong use or wrong input.
pub const WRONG_USE: u8 = 2;
/// Status after an interruption, as shells have it: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

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
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

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

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        let status = match fault.kind {
            FaultKind::WrongUse => WRONG_USE,
            FaultKind::Failed => FAILED,
            FaultKind::Interrupted => INTERRUPTED,
        };
        Failure {
            status,
            error: Some(fault.into()),
        }
    }
}

impl From<anabranch_trace::TraceError> for Failure {
    fn from(error: anabranch_trace::TraceError) -> Failure {
        Fault::from(error).into()
    }
}

impl From<anabranch_trace::foreign::ImportError> for Failure {
    fn from(error: anabranch_trace::foreign::ImportError) -> Failure {
        Fault::from(error).into()
    }
}

impl From<anabranch_ssd::ConfigError> for Failure {
    fn from(error: anabranch_ssd::ConfigError) -> Failure {
        Fault::from(error).into()
    }
}
