//! The record [`Io`], and the files it is kept in. Imports nothing else of the project.
//!
//! - [`Io`] is what every source yields and every consumer eats; [`Tables`] say who and what its
//!   context and file numbers stand for.
//! - [`Writer`] and [`Reader`] keep both in one Parquet file. It has a column for each field of
//!   [`Io`], and the tables as JSON in its metadata, so that pandas, polars and DuckDB open it.
//! - [`RawReader`] reads bare page numbers.
//! - [`WholeFile`] is how a file is written here: it appears whole or not at all.

mod ahead;
mod capture;
mod context;
mod error;
mod io;
mod native;
mod open;
mod raw;
mod record;
mod whole_file;

pub use capture::{Capture, File, Tables};
pub use context::{Context, ContextKind, Frame};
pub use error::TraceError;
pub use io::{ContextId, FileId, Io, Operation, WriteHint};
pub use native::{Reader, Writer};
pub use raw::RawReader;
pub use record::RecordFault;
pub use whole_file::WholeFile;
