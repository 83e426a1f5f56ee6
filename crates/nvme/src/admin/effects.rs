//! What is supported, and what it does: log pages 00h, 05h and 12h.

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
/// No other command of the namespace, or of any, meanwhile (CSE).
const ALONE: u32 = 2 << 16;
/// A feature's scope (§5.1.12.1.13): controller, namespace, endurance group.
const OF_CONTROLLER: u32 = 1 << 21;
const OF_NAMESPACE: u32 = 1 << 20;
const OF_ENDURANCE_GROUP: u32 = 1 << 23;

impl Request<'_> {
    /// Commands Supported and Effects (05h).
    pub(super) fn effects(&self) -> Vec<u8> {
        let io = self.controller.is_io();
        let mut page = vec![0; 4096];
        let mut set = |at: usize, opcode: u8, effects: u32| {
            put(
                &mut page,
                at + 4 * usize::from(opcode),
                &effects.to_le_bytes(),
            );
        };
        for opcode in [
            admin::GET_LOG_PAGE,
            admin::IDENTIFY,
            admin::ABORT,
            admin::SET_FEATURES,
            admin::GET_FEATURES,
            admin::ASYNC_EVENT_REQUEST,
            admin::KEEP_ALIVE,
        ] {
            set(0, opcode, SUPPORTED);
        }
        if !io {
            return page;
        }
        set(
            0,
            admin::FORMAT,
            SUPPORTED | CHANGES_CONTENT | CHANGES_NAMESPACE | ALONE,
        );
        if self.target.mode != Mode::Plain {
            set(0, admin::DIRECTIVE_SEND, SUPPORTED);
            set(0, admin::DIRECTIVE_RECEIVE, SUPPORTED);
        }
        const IO: usize = 1024;
        for opcode in [nvm::FLUSH, nvm::READ, nvm::COMPARE, nvm::VERIFY] {
            set(IO, opcode, SUPPORTED);
        }
        for opcode in [nvm::WRITE, nvm::WRITE_ZEROES, nvm::DATASET_MANAGEMENT] {
            set(IO, opcode, SUPPORTED | CHANGES_CONTENT);
        }
        if self.target.mode == Mode::Fdp {
            set(IO, nvm::IO_MANAGEMENT_RECEIVE, SUPPORTED);
            set(IO, nvm::IO_MANAGEMENT_SEND, SUPPORTED);
        }
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
            feature::HOST_IDENTIFIER,
        ] {
            set(id, OF_CONTROLLER);
        }
        if self.target.mode == Mode::Fdp {
            set(feature::FDP, OF_ENDURANCE_GROUP);
            set(feature::FDP_EVENTS, OF_NAMESPACE);
        }
        page
    }
}
