//! How long data lives: who wrote each logical page and when, what that says of each program
//! context, and contexts of like lifetime brought together.
//!
//! A lifetime runs from a page's write to its overwrite or discard and is counted in pages the
//! host wrote to the device in between (the PCStream draft's logical time, its footnote 2). No
//! device and no I/O in here.

mod cluster;
mod context_profile;
mod context_stats;
mod histogram;
mod lba_table;
mod separation;

pub use cluster::{MAX_POINTS, Weighted, cluster};
pub use context_profile::{ContextProfile, ContextProfiles};
pub use context_stats::{Averaging, ContextStats};
pub use histogram::LifetimeHistogram;
pub use lba_table::{DEFAULT_TABLE_BYTES, Death, LbaTable};
pub use separation::{Achieved, Labels, NARROW_FACTOR, Separation};
