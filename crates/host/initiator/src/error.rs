//! Errors between a host and a target.

use std::io;

use thiserror::Error;

use crate::Status;

/// An error of the connection, of the target, or of a command.
#[derive(Debug, Error)]
pub enum InitiatorError {
    /// The connection broke, or no answer came in time.
    #[error("connection: {0}")]
    Io(#[from] io::Error),
    /// The target ended the connection with a termination request (TCP §3.6.2.5).
    #[error("terminated: fatal error status {status:#x}, information {information:#x}")]
    Terminated {
        /// Fatal Error Status.
        status: u16,
        /// Fatal Error Information.
        information: u32,
    },
    /// The target broke a rule of the transport.
    #[error("the target breaks the transport's rules: {0}")]
    Protocol(String),
    /// A command that had to succeed did not.
    #[error("{what}: {status}")]
    Command {
        /// The command's name.
        what: &'static str,
        /// Its status.
        status: Status,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, InitiatorError>;

pub(crate) fn protocol<T>(what: impl Into<String>) -> Result<T> {
    Err(InitiatorError::Protocol(what.into()))
}
