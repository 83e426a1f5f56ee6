//! The watch: how a caller follows a comparison, and ends it.

use crate::error::{CompareError, Result};

/// Hears how far the work has come, and may end it.
pub trait Watch {
    /// A pass over a trace begins; `what` names it.
    fn begin(&mut self, _what: &str) {}

    /// This share of the pass is done, 0 to 1; called a few hundred times a second.
    ///
    /// # Errors
    /// When the work must end here.
    fn done(&mut self, share: f64) -> Result;

    /// The pass has ended.
    fn end(&mut self) {}

    /// A drive of a grid is not possible, as the fault says. Answers whether to compare the others without it; an
    /// implementation that answers `true` must report the fault.
    fn pass_over(&mut self, _fault: &CompareError) -> bool {
        false
    }

    /// A message for a person who is there to read it.
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
