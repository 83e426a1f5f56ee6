//! Controller properties, which a fabric has for registers (§3.1.4).

use super::Controller;
use crate::{completion::Status, options::MOST_QUEUE_ENTRIES};

/// Offsets of the properties there are.
pub(crate) const CAPABILITIES_OFFSET: u32 = 0x00;
const VERSION_OFFSET: u32 = 0x08;
const CONFIGURATION_OFFSET: u32 = 0x14;
const STATUS_OFFSET: u32 = 0x1c;
const SUBSYSTEM_RESET_OFFSET: u32 = 0x20;
const READY_TIMEOUTS_OFFSET: u32 = 0x68;

/// Version 2.1, the first with Flexible Data Placement.
pub(crate) const VERSION: u32 = 2 << 16 | 1 << 8;

/// CC.EN and CC.SHN.
const ENABLE: u32 = 1;
const SHUTDOWN: u32 = 3 << 14;
/// CC.MPS and CC.AMS (§3.1.4.5): pages of 4 KiB and round robin are all there is, and 0 in each.
const PAGES_ARBITRATION: u32 = 0xf << 7 | 7 << 11;
/// CC.CSS, and what it may be: the NVM command set, or all that are supported, which is the same here.
const SETS: u32 = 7 << 4;
const NVM_SET: u32 = 0;
const ALL_SETS: u32 = 6 << 4;
/// CC.IOSQES and CC.IOCQES, and what they must be: entries of 64 and 16 bytes.
const ENTRY_SIZES: u32 = 0xff << 16;
const ONLY_ENTRY_SIZES: u32 = 6 << 16 | 4 << 20;
/// CSTS.RDY; CSTS.CFS: the configuration cannot be; CSTS.SHST: shutdown processing occurs, is
/// complete.
const READY: u32 = 1;
const FATAL: u32 = 1 << 1;
const SHUTTING_DOWN: u32 = 1 << 2;
const SHUT_DOWN: u32 = 2 << 2;
/// CSTS.NSSRO: the subsystem was reset before this controller began; the host clears it by writing 1.
const SUBSYSTEM_WAS_RESET: u32 = 1 << 4;
/// Value that a host writes to NSSR (§3.1.4.8): "NVMe".
const SUBSYSTEM_RESET: u32 = 0x4e56_4d65;
/// Time until a controller is ready: at most 15 s, in units of 500 ms (CAP.TO, CRTO.CRWMT).
const READY_TIMEOUT: u32 = 30;

/// Effect of a write to a controller's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The write changed no state of the controller.
    None,
    /// The controller was reset.
    Reset,
    /// The host asks the controller to shut down.
    ShutDown,
    /// The whole subsystem is to be reset.
    SubsystemReset,
}

/// Controller Capabilities: queues of so many entries, contiguous; ready within 15 s; NVM Subsystem Reset
/// (NSSRS); the NVM command set, and command sets to choose from (IOCSS), among which it is the only one; 4 KiB memory pages; ready when its media are (CRMS, which version 2.0 asks for).
pub(crate) fn capabilities(entries: u16) -> u64 {
    let entries = u64::from(entries.clamp(2, MOST_QUEUE_ENTRIES) - 1);
    entries | 1 << 16 | u64::from(READY_TIMEOUT) << 24 | 1 << 36 | 1 << 37 | 1 << 43 | 1 << 59
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
            (STATUS_OFFSET, false) => {
                let reset = if state.follows_reset {
                    SUBSYSTEM_WAS_RESET
                } else {
                    0
                };
                Ok((state.status | reset).into())
            }
            // What was written is not told.
            (SUBSYSTEM_RESET_OFFSET, false) => Ok(0),
            (READY_TIMEOUTS_OFFSET, false) => Ok(READY_TIMEOUT.into()),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Writes a property.
    ///
    /// # Errors
    /// When there is none that can be written at that offset.
    pub(crate) fn set_property(&self, offset: u32, value: u64) -> Result<Change, Status> {
        let mut state = self.state();
        match offset {
            CONFIGURATION_OFFSET => {}
            STATUS_OFFSET => {
                state.follows_reset &= value as u32 & SUBSYSTEM_WAS_RESET == 0;
                return Ok(Change::None);
            }
            SUBSYSTEM_RESET_OFFSET if value as u32 == SUBSYSTEM_RESET && self.is_io() => {
                return Ok(Change::SubsystemReset);
            }
            SUBSYSTEM_RESET_OFFSET => return Ok(Change::None),
            _ => return Err(Status::INVALID_FIELD),
        }
        let before = std::mem::replace(&mut state.configuration, value as u32);
        let now = state.configuration;
        if before & ENABLE != 0 && now & ENABLE == 0 {
            state.status = 0;
            state.forget();
            self.serves(false);
            return Ok(Change::Reset);
        }
        if before & ENABLE == 0 && now & ENABLE != 0 {
            // What cannot be is a fatal status (CFS), as on Linux' target; so is a discovery
            // controller's, but for the sizes of I/O queues' entries, which it has none of.
            let sizes = self.is_io() && now & ENTRY_SIZES != ONLY_ENTRY_SIZES;
            let sets = matches!(now & SETS, NVM_SET | ALL_SETS);
            let possible = now & PAGES_ARBITRATION == 0 && sets && !sizes;
            state.status = if possible { READY } else { FATAL };
            self.serves(possible);
        }
        if before & SHUTDOWN == 0 && now & SHUTDOWN != 0 {
            state.status |= SHUTTING_DOWN;
            self.serves(false);
            return Ok(Change::ShutDown);
        }
        Ok(Change::None)
    }

    /// Shutdown processing is complete; or, where what was written could not be made safe, does not
    /// become so.
    pub(crate) fn shut_down(&self, is_safe: bool) {
        let mut state = self.state();
        let status = if is_safe { SHUT_DOWN } else { FATAL };
        state.status = state.status & !SHUTTING_DOWN | status;
    }
}
