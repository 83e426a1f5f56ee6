//! A scheme at the drive: it says where the writes of a host go that says nothing itself.

use std::fmt;

use anabranch_ssd::{DeviceError, PageRange, StreamId, relocate::Relocate};

use super::{StreamDevice, status};
use crate::completion::Status;

/// Performs a part of a write: with the device half of the scheme, the part's pages, and their
/// stream.
pub type Perform<'a> =
    &'a mut dyn FnMut(&mut dyn Relocate, PageRange, StreamId) -> Result<(), DeviceError>;

/// A scheme, beside the device that it drives.
pub trait Placement: Send + fmt::Debug {
    /// The device half.
    fn relocation(&self) -> &dyn Relocate;

    /// The device half, at work.
    fn relocation_mut(&mut self) -> &mut dyn Relocate;

    /// Performs each part of a write on its stream, the whole in one or page by page.
    /// `now_pages` is what the host has written before.
    ///
    /// # Errors
    /// The first of `perform`.
    fn place(
        &mut self,
        pages: PageRange,
        now_pages: u64,
        perform: Perform<'_>,
    ) -> Result<(), DeviceError>;

    /// The host discards pages.
    fn discard(&mut self, pages: PageRange, now_pages: u64);
}

/// The scheme of a drive that places nothing: every write without a hint goes to the default
/// stream, and copies where the relocation says.
impl Placement for Box<dyn Relocate> {
    fn relocation(&self) -> &dyn Relocate {
        &**self
    }

    fn relocation_mut(&mut self) -> &mut dyn Relocate {
        &mut **self
    }

    fn place(
        &mut self,
        pages: PageRange,
        _now_pages: u64,
        perform: Perform<'_>,
    ) -> Result<(), DeviceError> {
        perform(&mut **self, pages, StreamId::DEFAULT)
    }

    fn discard(&mut self, _pages: PageRange, _now_pages: u64) {}
}

/// Writes where the scheme says.
#[inline]
pub(super) fn write(
    device: &mut StreamDevice,
    placement: &mut dyn Placement,
    pages: PageRange,
) -> Result<(), Status> {
    let now = device.clock_pages();
    let mut perform =
        |relocation: &mut dyn Relocate, pages, stream| device.write(relocation, pages, stream);
    let written = placement.place(pages, now, &mut perform);
    written.map_err(|error| status(&error))
}

/// Discards pages, and notifies the scheme first.
pub(super) fn discard(
    device: &mut StreamDevice,
    placement: &mut dyn Placement,
    pages: PageRange,
) -> Result<(), Status> {
    placement.discard(pages, device.clock_pages());
    device.discard(pages).map_err(|error| status(&error))
}
