//! Controller properties, which a fabric has for registers (§3.1.4).

use super::Controller;
use crate::{completion::Status, options::MOST_QUEUE_ENTRIES};

/// Offsets of the properties there are.
pub(crate) const CAPABILITIES_OFFSET: u32 = 0x00;
const VERSION_OFFSET: u32 = 0x08;
const CONFIGURATION_OFFSET: u32 = 0x14;
const STATUS_OFFSET: u32 = 0x1c;

/// Version 2.1, the first with Flexible Data Placement.
pub(crate) const VERSION: u32 = 2 << 16 | 1 << 8;

/// CC.EN and CC.SHN.
const ENABLE: u32 = 1;
const SHUTDOWN: u32 = 3 << 14;
/// CSTS.RDY, and CSTS.SHST: shutdown processing complete.
const READY: u32 = 1;
const SHUT_DOWN: u32 = 2 << 2;

/// What becomes of a controller by a write to its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing that matters.
    None,
    /// It was reset.
    Reset,
}

/// Controller Capabilities: queues of so many entries, contiguous; ready within 15 s; the NVM
/// command set; 4 KiB memory pages.
pub(crate) fn capabilities(entries: u16) -> u64 {
    let entries = u64::from(entries.clamp(2, MOST_QUEUE_ENTRIES) - 1);
    entries | 1 << 16 | 30 << 24 | 1 << 37
}

impl Controller {
    /// Reads a property.
    ///
    /// # Errors
    /// When there is none at that offset, or not of that size.
    pub(crate) fn property(&self, offset: u32, wide: bool, entries: u16) -> Result<u64, Status> {
        let state = self.state();
        match (offset, wide) {
            (CAPABILITIES_OFFSET, true) => Ok(capabilities(entries)),
            (VERSION_OFFSET, false) => Ok(VERSION.into()),
            (CONFIGURATION_OFFSET, false) => Ok(state.configuration.into()),
            (STATUS_OFFSET, false) => Ok(state.status.into()),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Writes a property.
    ///
    /// # Errors
    /// When there is none that can be written at that offset.
    pub(crate) fn set_property(&self, offset: u32, value: u64) -> Result<Change, Status> {
        if offset != CONFIGURATION_OFFSET {
            return Err(Status::INVALID_FIELD);
        }
        let mut state = self.state();
        let before = std::mem::replace(&mut state.configuration, value as u32);
        let now = state.configuration;
        state.status = if now & ENABLE != 0 { READY } else { 0 };
        if now & SHUTDOWN != 0 {
            state.status |= SHUT_DOWN;
        }
        if before & ENABLE != 0 && now & ENABLE == 0 {
            state.requests.clear();
            state.events.clear();
            state.features.clear();
            state.wanted_events = 0;
            return Ok(Change::Reset);
        }
        Ok(Change::None)
    }
}
