//! The device: a page-mapped, multi-streamed flash translation layer.
//!
//! Pure, seeded, deterministic; no I/O, no unsafe. It knows a stream's number, never why.

mod types;

pub use types::{PageRange, StreamId};
