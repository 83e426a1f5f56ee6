//! Supported commands, features and log pages, with their effects: log pages 00h, 05h and 12h.

use super::{Request, features::feature};
use crate::{
    command::{admin, nvm},
    drive::Mode,
    wire::put,
};

/// Supported; Logical Block Content Change; Namespace Capability Change (§5.1.12.1.6).
const SUPPORTED: u32 = 1;
const CHANGES_CONTENT: u32 = 1 << 1;
const CHANGES_NAMESPACE: u32 = 1 << 2;
/// Namespace Inventory Change.
const CHANGES_INVENTORY: u32 = 1 << 3;
/// No other command of the namespace, or of any, meanwhile (CSE).
const ALONE: u32 = 2 << 16;
/// A feature's scope (§5.1.12.1.13): controller, namespace, endurance group.
const OF_CONTROLLER: u32 = 1 << 21;
const OF_NAMESPACE: u32 = 1 << 20;
const OF_ENDURANCE_GROUP: u32 = 1 << 23;

/// Whether a controller has an admin command.
pub(crate) fn has_opcode(is_io: bool, mode: Mode, opcode: u8) -> bool {
    effects_of(is_io, mode, opcode) != 0
}

/// Whether an I/O queue has a command.
pub(crate) fn has_io_opcode(mode: Mode, opcode: u8) -> bool {
    io_effects_of(mode, opcode) != 0
}

/// Effects of an admin command; 0 where there is none.
fn effects_of(is_io: bool, mode: Mode, opcode: u8) -> u32 {
    match opcode {
        admin::GET_LOG_PAGE
        | admin::IDENTIFY
        | admin::ABORT
        | admin::SET_FEATURES
        | admin::GET_FEATURES
        | admin::ASYNC_EVENT_REQUEST
        | admin::KEEP_ALIVE => SUPPORTED,
        admin::FORMAT if is_io => SUPPORTED | CHANGES_CONTENT | CHANGES_NAMESPACE | ALONE,
        admin::NAMESPACE_MANAGEMENT | admin::NAMESPACE_ATTACHMENT if is_io => {
            SUPPORTED | CHANGES_INVENTORY
        }
        admin::DIRECTIVE_SEND | admin::DIRECTIVE_RECEIVE if is_io && mode != Mode::Plain => {
            SUPPORTED
        }
        _ => 0,
    }
}

/// Effects of an I/O command; 0 where there is none.
fn io_effects_of(mode: Mode, opcode: u8) -> u32 {
    match opcode {
        nvm::FLUSH | nvm::READ | nvm::COMPARE | nvm::VERIFY => SUPPORTED,
        nvm::WRITE | nvm::WRITE_ZEROES | nvm::DATASET_MANAGEMENT => SUPPORTED | CHANGES_CONTENT,
        nvm::IO_MANAGEMENT_RECEIVE | nvm::IO_MANAGEMENT_SEND if mode == Mode::Fdp => SUPPORTED,
        _ => 0,
    }
}

impl Request<'_> {
    /// Commands Supported and Effects (05h): admin commands, then I/O commands.
    pub(super) fn effects(&self) -> Vec<u8> {
        let (is_io, mode) = (self.controller.is_io(), self.target.facts.mode);
        let admin = (0..=u8::MAX).map(|opcode| effects_of(is_io, mode, opcode));
        let io = (0..=u8::MAX).map(|opcode| {
            if is_io {
                io_effects_of(mode, opcode)
            } else {
                0
            }
        });
        let mut page: Vec<u8> = admin.chain(io).flat_map(u32::to_le_bytes).collect();
        page.resize(4096, 0);
        page
    }

    /// Feature Identifiers Supported and Effects (12h).
    pub(super) fn feature_effects(&self) -> Vec<u8> {
        let mut page = vec![0; 1024];
        let mut set = |id: u8, effects: u32| {
            put(
                &mut page,
                4 * usize::from(id),
                &(SUPPORTED | effects).to_le_bytes(),
            );
        };
        set(feature::EVENTS, OF_CONTROLLER);
        set(feature::KEEP_ALIVE, OF_CONTROLLER);
        if !self.controller.is_io() {
            return page;
        }
        for id in [
            feature::ARBITRATION,
            feature::POWER_MANAGEMENT,
            feature::TEMPERATURE_THRESHOLD,
            feature::ERROR_RECOVERY,
            feature::WRITE_CACHE,
            feature::NUMBER_OF_QUEUES,
            feature::WRITE_ATOMICITY,
            feature::TIMESTAMP,
            feature::COMMAND_SETS,
            feature::HOST_IDENTIFIER,
        ] {
            set(id, OF_CONTROLLER);
        }
        if self.target.facts.mode == Mode::Fdp {
            set(feature::FDP, OF_ENDURANCE_GROUP);
            set(feature::FDP_EVENTS, OF_NAMESPACE);
        }
        page
    }
}
