//! Failures of the command, with their exit statuses.

use std::fmt;

use anabranch_compare::{CompareError, CompareErrorKind};

use crate::say;

/// Exit status when the work itself failed.
pub const FAILED: u8 = 1;
/// Exit status of wrong use or wrong input.
pub const WRONG_USE: u8 = 2;
/// Exit status after an interruption, as in shells: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// An error with its exit status.
#[derive(Debug)]
pub struct CommandError {
    /// The exit status.
    pub status: u8,
    /// The error to print; `None` if everything was printed already, as when the user's own program
    /// failed.
    pub error: Option<anyhow::Error>,
}

/// The failure of several results, which do not keep one another back: all are printed but the last, whose exit status
/// is that of the command.
pub fn all(results: impl IntoIterator<Item = Result>) -> Result {
    let mut failures: Vec<CommandError> = results.into_iter().filter_map(Result::err).collect();
    let last = failures.pop();
    failures.iter().for_each(CommandError::complain);
    last.map_or(Ok(()), Err)
}

/// The result of every verb.
pub type Result<T = (), E = CommandError> = std::result::Result<T, E>;

impl CommandError {
    /// The failure for wrong use or wrong input.
    pub fn usage(error: impl Into<anyhow::Error>) -> CommandError {
        CommandError {
            status: WRONG_USE,
            error: Some(error.into()),
        }
    }

    /// The failure of work that was asked for rightly.
    pub fn work(error: impl Into<anyhow::Error>) -> CommandError {
        CommandError {
            status: FAILED,
            error: Some(error.into()),
        }
    }

    /// Prints the error with its causes.
    pub fn complain(&self) {
        let Some(error) = &self.error else {
            return;
        };
        let mut words = error.to_string();
        for cause in error.chain().skip(1).map(ToString::to_string) {
            // Most of our errors name their cause themselves.
            if !words.contains(&cause) {
                words = format!("{words}: {cause}");
            }
        }
        say::error(&words);
    }

    /// The failure of wrong use, with this message.
    pub fn wrong_use(words: impl fmt::Display) -> CommandError {
        CommandError::usage(anyhow::anyhow!("{words}"))
    }
}

impl From<CompareError> for CommandError {
    fn from(fault: CompareError) -> CommandError {
        let status = match fault.kind {
            CompareErrorKind::WrongUse => WRONG_USE,
            CompareErrorKind::Failed => FAILED,
            CompareErrorKind::Interrupted => INTERRUPTED,
        };
        CommandError {
            status,
            error: Some(fault.into()),
        }
    }
}

impl From<anabranch_trace::TraceError> for CommandError {
    fn from(error: anabranch_trace::TraceError) -> CommandError {
        CompareError::from(error).into()
    }
}

impl From<anabranch_trace::foreign::ImportError> for CommandError {
    fn from(error: anabranch_trace::foreign::ImportError) -> CommandError {
        CompareError::from(error).into()
    }
}

impl From<anabranch_ssd::ConfigError> for CommandError {
    fn from(error: anabranch_ssd::ConfigError) -> CommandError {
        CompareError::from(error).into()
    }
}
