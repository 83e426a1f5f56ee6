//! Writes with a placement identifier.

use anabranch_ssd::{
    PageRange,
    fdp::{FdpDevice, FdpError, PlacementIdentifier},
};

use super::{Hint, Watch};
use crate::completion::Status;

/// The most placement handles a namespace can have (NVM, Namespace Management).
pub const MOST_HANDLES: u16 = 128;

/// Writes where a placement identifier says, if there is one.
#[inline]
pub(super) fn write(
    device: &mut FdpDevice<Watch>,
    namespace: u32,
    hint: Hint,
    pages: PageRange,
) -> Result<(), Status> {
    let placement = match hint {
        Hint::Placement(identifier) => Some(PlacementIdentifier(identifier)),
        Hint::None | Hint::Stream(_) => None,
    };
    let written = device.write(namespace, pages, placement);
    written.map_err(|error| status(&error))
}

/// The status of what such a device refuses.
pub(crate) fn status(error: &FdpError) -> Status {
    match error {
        FdpError::Device(error) => super::status(error),
        FdpError::NoSuchNamespace(_) => Status::INVALID_NAMESPACE,
        _ => Status::INVALID_FIELD,
    }
}
