//! Observers of the flash: its clock, where time is simulated, and the changes that a checkpoint needs.

use anabranch_ssd::{Observe, Origin, time::Flash};

use super::changes::Changes;

/// The clock of a drive that has one, and what has changed while its mapping is copied.
#[derive(Debug, Default)]
pub struct Watch {
    /// Flash that takes time; `None` for a drive that only counts.
    pub flash: Option<Box<Flash>>,
    pub(super) changes: Changes,
}

impl Watch {
    /// The watch of a drive with simulated flash.
    pub fn timed(flash: Flash) -> Watch {
        Watch {
            flash: Some(Box::new(flash)),
            changes: Changes::default(),
        }
    }
}

// Passes on what it does not change: clippy finds a method that is forgotten.
#[deny(clippy::missing_trait_methods)]
impl Observe for Watch {
    const WANTS_COPIES: bool = true;

    #[inline]
    fn programmed(&mut self, unit: u32, first: u32, count: u32, origin: Origin) {
        self.changes.programmed(unit, first, count);
        if let Some(flash) = &mut self.flash {
            flash.programmed(unit, first, count, origin);
        }
    }

    #[inline]
    fn copied(&mut self, unit: u32, page: u32) {
        if let Some(flash) = &mut self.flash {
            flash.copied(unit, page);
        }
    }

    #[inline]
    fn finished(&mut self, unit: u32) {
        if let Some(flash) = &mut self.flash {
            flash.finished(unit);
        }
    }

    #[inline]
    fn erased(&mut self, unit: u32) {
        if let Some(flash) = &mut self.flash {
            flash.erased(unit);
        }
    }
}
