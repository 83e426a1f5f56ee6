//! Results as people read them. Computes nothing.

mod format;
mod table;
mod time;

pub use format::{bytes, ratio, share};
pub use table::{comparison, verdict};
pub use time::times;
