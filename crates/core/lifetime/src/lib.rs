//! Lifetimes of data: who wrote each logical page and when, what that says of each program context,
//! and groups of contexts with similar lifetimes.
//!
//! A lifetime runs from a page's write to its overwrite or discard and is counted in pages the
//! host wrote to the device in between (the PCStream draft's logical time, its footnote 2). No
//! device and no I/O in here.
//!
//! ```
//! use anabranch_lifetime::{ContextProfiles, Weighted, cluster};
//! use anabranch_trace::ContextId;
//!
//! // Context 1 overwrites its eight pages all the time, context 2 its hundred now and then.
//! let (log, data) = (ContextId(1), ContextId(2));
//! let mut profiles = ContextProfiles::new(1000, 1 << 20, 3);
//! let mut now_pages = 0;
//! for round in 0..100 {
//!     profiles.write(0..8, log, now_pages);
//!     now_pages += 8;
//!     if round % 20 == 0 {
//!         profiles.write(100..200, data, now_pages);
//!         now_pages += 100;
//!     }
//! }
//! let median = |context: ContextId| {
//!     let lifetimes = &profiles.profiles()[context.0 as usize].lifetimes;
//!     lifetimes.quantile_pages(0.5).map_or(0.0, |pages| pages as f64)
//! };
//! assert!(median(log) < median(data));
//!
//! // Contexts of like lifetime are brought together: here each is a group by itself.
//! let points = [log, data].map(|context| Weighted { value: median(context), weight: 1.0 });
//! assert_eq!(cluster(&points, 8, 0.01).len(), 2);
//! ```

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
