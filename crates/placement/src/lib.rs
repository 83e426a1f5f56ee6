//! One file per scheme. A scheme sees writes and invalidations and answers with a stream; it
//! touches no device, file or kernel.

mod assign;

pub use assign::{Assign, Write};
