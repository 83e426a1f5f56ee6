//! Results as people read them. Computes nothing.

mod format;
mod table;

pub use format::{bytes, ratio, share};
pub use table::{comparison, verdict};
