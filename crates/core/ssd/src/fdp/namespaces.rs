//! Namespaces and the reclaim unit handles they may write through.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FdpConfiguration, FdpError};

/// The most placement handles a namespace can have (NVM Command Set Specification, Namespace
/// Management: Number of Placement Handles).
const MAX_PLACEMENT_HANDLES: usize = 128;

/// Owner of a handle's choice (Reclaim Unit Handle Attributes of log page 21h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandleUsage {
    /// No namespace uses it (0h).
    Unused,
    /// A namespace's placement handle list names it (1h).
    HostSpecified,
    /// The controller picked it for namespaces without a list (2h). At most one is.
    ControllerSpecified,
}

/// The namespaces of an FDP device.
#[derive(Debug)]
pub(super) struct Namespaces {
    handles: u16,
    most: u32,
    /// Reclaim unit handles by placement handle, and whether the host named them.
    namespaces: BTreeMap<u32, (Vec<u16>, bool)>,
}

impl Namespaces {
    pub(super) fn new(configuration: &FdpConfiguration) -> Namespaces {
        Namespaces {
            handles: configuration.handles,
            most: configuration.namespaces,
            namespaces: BTreeMap::new(),
        }
    }

    /// Number of handles that may be listed and picked.
    pub(super) fn usable_handles(&self) -> u16 {
        self.handles
    }

    /// Lets only the first `handles` handles be listed and picked from now on. Refused while a namespace exists.
    pub(super) fn limit(&mut self, handles: u16) -> Result<(), FdpError> {
        if let Some(&namespace) = self.namespaces.keys().next() {
            return Err(FdpError::NamespaceExists(namespace));
        }
        self.handles = handles;
        Ok(())
    }

    pub(super) fn create(&mut self, namespace: u32, handles: &[u16]) -> Result<(), FdpError> {
        if self.namespaces.contains_key(&namespace) {
            return Err(FdpError::NamespaceExists(namespace));
        }
        if self.namespaces.len() >= self.most as usize {
            return Err(FdpError::TooManyNamespaces(self.most));
        }
        let listed = match handles {
            [] => vec![self.pick()?],
            _ => self.checked(handles)?,
        };
        self.namespaces
            .insert(namespace, (listed, !handles.is_empty()));
        Ok(())
    }

    pub(super) fn delete(&mut self, namespace: u32) -> Result<(), FdpError> {
        let deleted = self.namespaces.remove(&namespace);
        deleted
            .map(|_| ())
            .ok_or(FdpError::NoSuchNamespace(namespace))
    }

    /// A namespace's reclaim unit handles by placement handle; at least one.
    pub(super) fn handles(&self, namespace: u32) -> Result<&[u16], FdpError> {
        match self.namespaces.get(&namespace) {
            Some((handles, _)) => Ok(handles),
            None => Err(FdpError::NoSuchNamespace(namespace)),
        }
    }

    /// The reclaim unit handle of a placement handle.
    pub(super) fn handle(&self, namespace: u32, placement_handle: u16) -> Result<u16, FdpError> {
        let handles = self.handles(namespace)?;
        let missing = FdpError::NoSuchPlacementHandle {
            namespace,
            placement_handle,
        };
        handles
            .get(usize::from(placement_handle))
            .copied()
            .ok_or(missing)
    }

    pub(super) fn usage(&self) -> Vec<HandleUsage> {
        (0..self.handles)
            .map(|handle| self.usage_of(handle))
            .collect()
    }

    fn usage_of(&self, handle: u16) -> HandleUsage {
        let mut using = self.namespaces.values();
        match using.find(|(handles, _)| handles.contains(&handle)) {
            None => HandleUsage::Unused,
            Some((_, true)) => HandleUsage::HostSpecified,
            Some((_, false)) => HandleUsage::ControllerSpecified,
        }
    }

    fn checked(&self, handles: &[u16]) -> Result<Vec<u16>, FdpError> {
        let mut sorted = handles.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let exist = sorted.iter().all(|&handle| {
            handle < self.handles && self.usage_of(handle) != HandleUsage::ControllerSpecified
        });
        if !exist || sorted.len() < handles.len() || handles.len() > MAX_PLACEMENT_HANDLES {
            return Err(FdpError::HandleList {
                handles: self.handles,
            });
        }
        Ok(handles.to_vec())
    }

    /// The handle the controller has picked before, or the first that no namespace uses.
    fn pick(&self) -> Result<u16, FdpError> {
        let usage = self.usage();
        let of = |wanted| usage.iter().position(|&usage| usage == wanted);
        let picked = of(HandleUsage::ControllerSpecified).or_else(|| of(HandleUsage::Unused));
        picked
            .map(|handle| handle as u16)
            .ok_or(FdpError::NoHandleLeft)
    }
}
