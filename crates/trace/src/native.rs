//! The native trace file: Parquet, one row per [`Io`], with the tables in the file's metadata.
//!
//! | column | type | |
//! |---|---|---|
//! | `time_ns` | u64 | nanoseconds since the capture began |
//! | `operation` | string | `read`, `write`, `discard`, `flush` |
//! | `offset_bytes` | u64 | first byte on the device |
//! | `length_bytes` | u64 | 0 only for a flush |
//! | `context` | u32 | row of the context table |
//! | `file` | u32 | row of the file table |
//! | `hint` | string | `not-set`, `none`, `short`, `medium`, `long`, `extreme` |
//! | `hint_granted` | bool | whether the kernel granted the hint |
//! | `tenant` | u32 | which of several programs on one drive |
//!
//! No value is null. Columns may be added behind these; they are never renamed.
//!
//! The file's key-value metadata holds `anabranch.schema` (`1`) and, as JSON, `anabranch.contexts`
//! (a list of [`Context`]), `anabranch.files` (a list of [`File`]) and `anabranch.capture`
//! (a [`Capture`]).
//!
//! [`Io`]: crate::Io
//! [`Context`]: crate::Context
//! [`File`]: crate::File
//! [`Capture`]: crate::Capture

mod batch;
mod metadata;
mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

/// Records that are decoded, and encoded, at a time. It divides [`ROW_GROUP_ROWS`], so that the
/// decoder never joins two dictionaries. Our choice: 8 Ki records of some 50 bytes stay in the
/// second-level cache.
const BATCH_ROWS: usize = 8 << 10;

/// Rows of a row group: what the writer holds in memory, a few MiB. Our choice.
const ROW_GROUP_ROWS: usize = 128 << 10;
