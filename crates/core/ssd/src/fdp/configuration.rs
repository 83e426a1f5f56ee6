//! An FDP configuration: one descriptor of log page 20h.

use serde::{Deserialize, Serialize};

use super::FdpError;
use crate::config::Config;

/// Bits of a placement identifier.
const IDENTIFIER_BITS: u32 = 16;

/// Isolation of a handle: which data may join its data in a unit when the controller moves them
/// (Reclaim Unit Handle Type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandleType {
    /// Data of any initially isolated handle (1h).
    InitiallyIsolated,
    /// Data of the handle itself only (2h).
    PersistentlyIsolated,
}

/// The part of an FDP configuration that can be chosen; the rest follows from the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FdpOptions {
    /// Seconds a reclaim unit may stay referenced after its first write (ERUTL); 0: no limit.
    pub time_limit_seconds: u32,
    /// The most namespaces there may be (NNSS). The default is 128 (our choice).
    pub namespaces: u32,
    /// Bits of a placement identifier that hold the reclaim group (RGIF). The default is the fewest
    /// that tell the groups apart.
    pub group_bits: Option<u8>,
}

impl Default for FdpOptions {
    fn default() -> FdpOptions {
        FdpOptions {
            time_limit_seconds: 0,
            namespaces: 128,
            group_bits: None,
        }
    }
}

/// An FDP configuration descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FdpConfiguration {
    /// Reclaim groups (NRG).
    pub groups: u32,
    /// Reclaim unit handles (NRUH).
    pub handles: u16,
    /// Placement identifiers that one command may list: every one the device has. MAXPIDS holds one
    /// less (it is 0's based).
    pub max_placement_identifiers: u16,
    /// The most namespaces there may be (NNSS).
    pub namespaces: u32,
    /// Bytes in a reclaim unit (RUNS).
    pub unit_bytes: u64,
    /// Seconds a reclaim unit may stay referenced after its first write (ERUTL); 0: no limit.
    pub time_limit_seconds: u32,
    /// Bits of a placement identifier that hold the reclaim group (RGIF).
    pub group_bits: u8,
    /// The type of each handle (RUHT), in order.
    pub handle_types: Vec<HandleType>,
}

impl FdpConfiguration {
    /// The configuration that follows from a device and the options.
    ///
    /// # Errors
    /// When placement identifiers could not tell groups and handles apart.
    pub fn of(config: &Config, options: &FdpOptions) -> Result<FdpConfiguration, FdpError> {
        let (groups, handles) = (config.reclaim_groups, config.handles());
        let needed = groups.trailing_zeros();
        let group_bits = options.group_bits.map_or(needed, u32::from);
        let handle_bits = IDENTIFIER_BITS.saturating_sub(group_bits);
        if group_bits >= IDENTIFIER_BITS
            || group_bits < needed
            || u64::from(handles) > 1 << handle_bits
        {
            return Err(FdpError::GroupBits {
                group_bits: group_bits as u8,
                groups,
                handles,
            });
        }
        let persistent = config.persistently_isolated.min(handles);
        let kind = |handle| {
            if handle < handles - persistent {
                HandleType::InitiallyIsolated
            } else {
                HandleType::PersistentlyIsolated
            }
        };
        Ok(FdpConfiguration {
            groups,
            handles,
            max_placement_identifiers: config.host_streams,
            namespaces: options.namespaces,
            unit_bytes: config.unit_bytes(),
            time_limit_seconds: options.time_limit_seconds,
            group_bits: group_bits as u8,
            handle_types: (0..handles).map(kind).collect(),
        })
    }
}
