//! Whoever waits for a comparison.

use crate::fault::{Fault, Result};

/// Sees how far the work has come, and may end it.
pub trait Watch {
    /// A pass over a trace begins; `what` names it.
    fn begin(&mut self, _what: &str) {}

    /// So much of the pass is done, 0 to 1; called a few hundred times a second.
    ///
    /// # Errors
    /// When the work is to end here.
    fn done(&mut self, share: f64) -> Result;

    /// The pass has ended.
    fn end(&mut self) {}

    /// One of several drives cannot be, as the fault says: whether the others are compared without it. Whoever answers
    /// yes tells why.
    fn pass_over(&mut self, _fault: &Fault) -> bool {
        false
    }

    /// Something worth telling a person who is there to read it.
    fn say(&mut self, _words: &str) {}
}

/// A watch that shows nothing and never interrupts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn done(&mut self, _share: f64) -> Result {
        Ok(())
    }
}
