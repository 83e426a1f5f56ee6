//! Errors while a drive is learned.

use thiserror::Error;

/// Cause of a drive's refusal.
#[derive(Debug, Error)]
pub enum CalibrateError {
    /// The drive refused a command.
    #[error("the drive answers {what} with status {status:#x}")]
    Refused {
        /// Name of the command.
        what: &'static str,
        /// Type and code of its status.
        status: u16,
    },
    /// The way to the drive failed.
    #[error("{what}: {words}")]
    Link {
        /// Name of the command.
        what: &'static str,
        /// Error of the kernel or the connection.
        words: String,
    },
    /// The drive has not what calibrating needs.
    #[error("{0}")]
    Unfit(String),
}
