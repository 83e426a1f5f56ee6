//! Observers of flash work: simulated time, pictures. The observer `()` costs nothing.

/// Reason for programming a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The host wrote it.
    Host,
    /// Garbage collection or wear levelling copied it.
    Copy,
}

/// Told of every operation on the flash, in the order the translation layer decides them. The
/// pages of a unit are numbered in the order they are programmed.
pub trait Observe {
    /// `count` pages of `unit`, from `first` on, are programmed.
    #[inline]
    fn programmed(&mut self, _unit: u32, _first: u32, _count: u32, _origin: Origin) {}

    /// Garbage collection reads the valid page `page` of `unit` to copy it.
    #[inline]
    fn copied(&mut self, _unit: u32, _page: u32) {}

    /// A unit takes no more pages though it is not full.
    #[inline]
    fn finished(&mut self, _unit: u32) {}

    /// Notifies of the erase of `unit`.
    #[inline]
    fn erased(&mut self, _unit: u32) {}

    /// Whether the observer wants [`Observe::copied`]: the device then keeps each copied page's
    /// place.
    const WANTS_COPIES: bool = false;
}

/// The observer that does nothing.
impl Observe for () {}
