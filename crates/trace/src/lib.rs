//! The record [`Io`] and the files it is kept in. Imports nothing else of the project.

mod capture;
mod context;
mod io;

pub use capture::{Capture, File, Tables};
pub use context::{Context, ContextKind, Frame};
pub use io::{ContextId, FileId, Io, Operation, WriteHint};
