//! Who watches the flash: its clock, where time is simulated.

use anabranch_ssd::{Flash, Observe, Origin};

/// The clock of a drive that has one.
#[derive(Debug, Default)]
pub struct Watch(pub Option<Box<Flash>>);

impl Watch {
    /// Of a drive that takes time.
    pub fn timed(flash: Flash) -> Watch {
        Watch(Some(Box::new(flash)))
    }
}

impl Observe for Watch {
    const WANTS_COPIES: bool = true;

    #[inline]
    fn programmed(&mut self, unit: u32, first: u32, count: u32, origin: Origin) {
        if let Some(flash) = &mut self.0 {
            flash.programmed(unit, first, count, origin);
        }
    }

    #[inline]
    fn copied(&mut self, unit: u32, page: u32) {
        if let Some(flash) = &mut self.0 {
            flash.copied(unit, page);
        }
    }

    #[inline]
    fn finished(&mut self, unit: u32) {
        if let Some(flash) = &mut self.0 {
            flash.finished(unit);
        }
    }

    #[inline]
    fn erased(&mut self, unit: u32) {
        if let Some(flash) = &mut self.0 {
            flash.erased(unit);
        }
    }
}
