//! Writes with a placement identifier.

use anabranch_ssd::{
    PageRange,
    fdp::{FdpDevice, FdpError, PlacementIdentifier},
};

use super::{Hint, ServedDrive, Watch};
use crate::completion::Status;

/// The most placement handles a namespace can have (NVM, Namespace Management).
pub const MOST_HANDLES: u16 = 128;

impl ServedDrive {
    /// The FDP configuration that is enabled, if any is.
    pub fn fdp_configuration(&self) -> Option<u8> {
        self.configuration.filter(|_| self.as_fdp().is_some())
    }

    /// The handles of each FDP configuration: all of the device's, half of them, and so on to one (our
    /// choice). The groups, units and kinds of handles are the device's in all.
    pub fn fdp_handles(&self) -> Vec<u16> {
        let all = self.as_fdp().map_or(0, |fdp| fdp.configuration().handles);
        let halved = |&handles: &u16| Some(handles / 2);
        let handles = std::iter::successors(Some(all), halved);
        handles.take_while(|&handles| handles > 0).collect()
    }

    /// Enables an FDP configuration, or disables Flexible Data Placement (§5.1.25.1.20): all writes of
    /// namespaces made after that go to handle 0 then.
    ///
    /// # Errors
    /// When there is a namespace, or no such configuration.
    pub(crate) fn configure(&mut self, configuration: Option<u8>) -> Result<(), Status> {
        self.use_configuration(configuration)?;
        if let Some(device) = self.as_fdp_mut() {
            // Statistics and events are of one configuration.
            device.clear();
        }
        Ok(())
    }

    /// The drive goes on with a configuration that was chosen before.
    pub(super) fn use_configuration(&mut self, configuration: Option<u8>) -> Result<(), Status> {
        let handles = match configuration {
            None => Some(1),
            Some(index) => self.fdp_handles().get(usize::from(index)).copied(),
        };
        let handles = handles.ok_or(Status::INVALID_FIELD)?;
        if let Some(device) = self.as_fdp_mut() {
            let used = device.use_handles(handles);
            used.map_err(|_| Status::COMMAND_SEQUENCE)?;
        }
        self.configuration = configuration;
        Ok(())
    }
}

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
        Hint::None | Hint::Stream(_) | Hint::Assigned(_) => None,
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
