//! The native trace file: one Parquet file, laid out as the crate's front page says.

mod arrow;
mod batch;
mod digest;
mod encoder;
mod metadata;
mod reader;
mod row_group;
mod scratch;
#[cfg(test)]
mod tests;
mod writer;

pub use arrow::ArrowTrace;
pub use reader::{Reader, contains_panics};
pub use scratch::Scratch;
pub use writer::Writer;

/// Records that are decoded at a time. It divides [`ROW_GROUP_ROWS`], so that the decoder never joins two dictionaries.
/// Our choice: 8 Ki records of some 50 bytes stay in the second-level cache.
const BATCH_ROWS: usize = 8 << 10;

/// Rows of a row group, 5 MiB in memory; the writer holds two. Our choice.
const ROW_GROUP_ROWS: usize = 128 << 10;
