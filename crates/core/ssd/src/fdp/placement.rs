//! Placement identifiers, and the streams that writes go to.

use serde::{Deserialize, Serialize};

use super::{FdpConfiguration, FdpDevice, FdpError, FdpEvent, FdpEventKind};
use crate::{observe::Observe, types::StreamId};

/// Placement identifier of a write: the reclaim group in the upper bits, as many as the
/// configuration gives it, and the namespace's placement handle in all others (§5.1.12.1.28; some
/// emulators leave the handle one bit less).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlacementIdentifier(pub u16);

impl FdpConfiguration {
    fn handle_bits(&self) -> u32 {
        u16::BITS - u32::from(self.group_bits)
    }

    /// The identifier of a placement handle in a reclaim group; `None` where there is no such
    /// group, or the handle does not fit.
    pub fn encode(&self, group: u32, placement_handle: u16) -> Option<PlacementIdentifier> {
        let bits = self.handle_bits();
        let identifier = group << bits | u32::from(placement_handle);
        let fits = group < self.groups && u32::from(placement_handle) < 1 << bits;
        fits.then_some(PlacementIdentifier(identifier as u16))
    }

    /// Reclaim group and placement handle of an identifier, whether they exist or not. Where there
    /// is a single group, the bits that would name another are ignored.
    pub fn decode(&self, identifier: PlacementIdentifier) -> (u32, u16) {
        let bits = self.handle_bits();
        let placement_handle = u32::from(identifier.0) & ((1 << bits) - 1);
        let group = match self.groups {
            1 => 0,
            _ => u32::from(identifier.0) >> bits,
        };
        (group, placement_handle as u16)
    }
}

impl<O: Observe> FdpDevice<O> {
    /// The stream that a placement identifier names; `None` if it is invalid.
    pub(super) fn find(
        &self,
        namespace: u32,
        placement: PlacementIdentifier,
    ) -> Result<Option<StreamId>, FdpError> {
        let handles = self.namespaces.handles(namespace)?;
        let (group, placement_handle) = self.configuration.decode(placement);
        let handle = handles.get(usize::from(placement_handle));
        let exists = group < self.configuration.groups;
        Ok(handle
            .filter(|_| exists)
            .map(|&handle| self.stream(group, handle)))
    }

    /// The stream a write goes to.
    pub(super) fn place(
        &mut self,
        namespace: u32,
        placement: Option<PlacementIdentifier>,
    ) -> Result<StreamId, FdpError> {
        let Some(placement) = placement else {
            return self.choose(namespace);
        };
        if let Some(stream) = self.find(namespace, placement)? {
            return Ok(stream);
        }
        let stream = self.choose(namespace)?;
        let event = FdpEvent {
            placement: Some(placement),
            namespace: Some(namespace),
            ..FdpEvent::new(FdpEventKind::InvalidPlacementIdentifier)
        };
        self.relocation.listener.record(stream, event);
        Ok(stream)
    }

    /// The controller's choice: placement handle 0, in the group with the most room; and once a
    /// unit was begun there, in that one until it is full (our choice).
    fn choose(&mut self, namespace: u32) -> Result<StreamId, FdpError> {
        let handle = self.namespaces.handle(namespace, 0)?;
        let groups = self.configuration.groups;
        let chosen = self.stream(self.chosen_group[usize::from(handle)], handle);
        if groups == 1 || self.is_begun(chosen) {
            return Ok(chosen);
        }
        let most_room = (0..groups)
            .rev()
            .max_by_key(|&group| self.device.group_room(group))
            .unwrap_or_default();
        self.chosen_group[usize::from(handle)] = most_room;
        Ok(self.stream(most_room, handle))
    }

    /// Whether the unit a stream references holds anything.
    pub(super) fn is_begun(&self, stream: StreamId) -> bool {
        self.device.unit_room(stream) < self.device.config().pages_per_unit
    }
}
