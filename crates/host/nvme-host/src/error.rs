//! Errors of asking a namespace.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A reason that a namespace did not do as asked.
#[derive(Debug, Error)]
pub enum NamespaceError {
    /// A system call failed.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The action.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The drive refused a command.
    #[error("{}: the drive answers {what} with status {status:#x}", path.display())]
    Refused {
        /// The drive.
        path: PathBuf,
        /// Name of the command.
        what: &'static str,
        /// The status field of its answer.
        status: u16,
    },
}
