//! The record [`Io`], and the files it is kept in. Imports nothing else of the project.
//!
//! - [`Io`] is what every source yields and every consumer eats; [`Tables`] say who and what its
//!   context and file numbers stand for.
//! - [`Writer`] and [`Reader`] keep both in one Parquet file, which pandas, polars and DuckDB open.
//! - [`ArrowTrace`] is a trace in memory, as Arrow has it.
//! - [`RawReader`] reads bare page numbers.
//! - [`Sample`] keeps one page of many, each to stand for its neighbours.
//! - [`foreign`] reads traces of other people, and writes theirs.
//! - [`WholeFile`] is how a file is written here: it appears whole or not at all.
//!
//! The feature `files`, which is on unless told otherwise, brings all but the record and its tables.
//!
//! ```
//! use anabranch_trace::{Capture, Io, Reader, Tables, Writer};
//!
//! let path = std::env::temp_dir().join(format!("example-{}.parquet", std::process::id()));
//! let mut writer = Writer::create(&path)?;
//! for page in [0, 1, 0] {
//!     writer.push(&Io::write(page * 4096, 4096))?;
//! }
//! // The file appears now, whole.
//! writer.finish(&Tables::new(Capture::default()))?;
//!
//! let written: u64 = Reader::open(&path)?
//!     .map(|io| io.map(|io| io.length_bytes))
//!     .sum::<Result<u64, _>>()?;
//! assert_eq!(written, 3 * 4096);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The trace file
//!
//! Parquet, a row for each [`Io`], in the order of the capture:
//!
//! | column | type | |
//! |---|---|---|
//! | `time_ns` | u64 | nanoseconds since the capture began |
//! | `operation` | string | `read`, `write`, `discard`, `flush` |
//! | `offset_bytes` | u64 | first byte on the device; 0 for a flush |
//! | `length_bytes` | u64 | 0 for a flush, and only there |
//! | `context` | u32 | row of the context table |
//! | `file` | u32 | row of the file table |
//! | `hint` | string | `not-set`, `none`, `short`, `medium`, `long`, `extreme` |
//! | `hint_granted` | bool | whether the kernel granted the hint |
//! | `tenant` | u32 | which of several programs on one drive; 0 is none of them |
//!
//! No value is null. Columns may be added behind these; none is ever renamed.
//!
//! The file's key-value metadata holds `anabranch.schema`, which is `1`, and as JSON
//! `anabranch.contexts` (a list of [`Context`]), `anabranch.files` (a list of [`File`]) and
//! `anabranch.capture` (a [`Capture`]; its `tenants` name the numbers of the column `tenant` where control groups are
//! tenants, and are left out otherwise). `anabranch.digest` (as JSON: `algorithm`, `block_rows`, `tables`, `blocks`)
//! holds digests of these texts and of each block of so many records, and counts only where
//! `created_by` names this program: others carry it over to records that they changed.

#[cfg(feature = "files")]
mod ahead;
mod capture;
mod context;
#[cfg(feature = "files")]
mod error;
#[cfg(feature = "files")]
pub mod foreign;
mod io;
#[cfg(feature = "files")]
mod native;
#[cfg(feature = "files")]
mod open;
#[cfg(feature = "files")]
mod raw;
#[cfg(feature = "files")]
mod record;
mod runtime;
mod sample;
#[cfg(feature = "files")]
mod whole_file;

pub use capture::{Capture, File, Placement, Tables, Tenant, placed_role, placement_of_role};
pub use context::{Context, ContextKind, Frame};
#[cfg(feature = "files")]
pub use error::TraceError;
pub use io::{ContextId, FileId, Io, Operation, WriteHint};
#[cfg(feature = "files")]
pub use native::{ArrowTrace, Reader, Scratch, Writer, contains_panics};
#[cfg(feature = "files")]
pub use raw::RawReader;
#[cfg(feature = "files")]
pub use record::RecordError;
pub use runtime::{COMPILED, is_of_runtime, unnamed_functions};
pub use sample::{KeptPages, NoRate, Rate, Sample, Sampled};
#[cfg(feature = "files")]
pub use whole_file::WholeFile;
