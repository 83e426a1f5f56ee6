//! Errors of an FDP device.

use thiserror::Error;

use super::PlacementIdentifier;
use crate::error::{ConfigError, DeviceError};

/// A request that an FDP device refuses, or a configuration that cannot be.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FdpError {
    /// The configuration describes no possible device.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The device refuses the request.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The identifiers cannot tell groups and handles apart.
    #[error(
        "{group_bits} bits of a placement identifier for the reclaim group (at most 15) do not \
         tell {groups} groups and {handles} handles apart"
    )]
    GroupBits {
        /// Bits for the reclaim group.
        group_bits: u8,
        /// Reclaim groups.
        groups: u32,
        /// Handles of each.
        handles: u16,
    },
    /// There is no namespace of that number.
    #[error("there is no namespace {0}")]
    NoSuchNamespace(u32),
    /// A namespace of that number exists.
    #[error("namespace {0} exists already")]
    NamespaceExists(u32),
    /// The configuration supports no more namespaces than that.
    #[error("the configuration supports {0} namespaces and has them")]
    TooManyNamespaces(u32),
    /// A namespace's placement handle list that is invalid.
    #[error(
        "the placement handle list must name up to 128 of handles 0 to {handles} (excluded), each \
         at most once"
    )]
    HandleList {
        /// Handles there are.
        handles: u16,
    },
    /// Every handle is taken, and none is left for the controller to pick.
    #[error("every reclaim unit handle is in use by a namespace that named it")]
    NoHandleLeft,
    /// A placement handle that the namespace does not have.
    #[error("namespace {namespace} has no placement handle {placement_handle}")]
    NoSuchPlacementHandle {
        /// The namespace.
        namespace: u32,
        /// The placement handle asked for.
        placement_handle: u16,
    },
    /// A placement identifier whose group or placement handle does not exist.
    #[error("placement identifier {:#06x} is invalid", .0.0)]
    Invalid(PlacementIdentifier),
    /// More identifiers than one command may carry.
    #[error("{identifiers} placement identifiers are more than {most}")]
    TooManyIdentifiers {
        /// Identifiers given.
        identifiers: usize,
        /// The most there may be.
        most: u16,
    },
}
