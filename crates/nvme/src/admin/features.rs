//! Get and Set Features (§5.1.11, §5.1.25).

use super::Request;
use crate::{
    completion::Status, connection::Answer, controller::NAMESPACE_NOTICES, drive::Mode,
    wire::u64_at,
};

/// Feature identifiers.
pub(super) mod feature {
    pub const ARBITRATION: u8 = 0x01;
    pub const POWER_MANAGEMENT: u8 = 0x02;
    pub const TEMPERATURE_THRESHOLD: u8 = 0x04;
    pub const ERROR_RECOVERY: u8 = 0x05;
    pub const WRITE_CACHE: u8 = 0x06;
    pub const NUMBER_OF_QUEUES: u8 = 0x07;
    pub const WRITE_ATOMICITY: u8 = 0x0a;
    pub const EVENTS: u8 = 0x0b;
    pub const TIMESTAMP: u8 = 0x0e;
    pub const KEEP_ALIVE: u8 = 0x0f;
    pub const FDP: u8 = 0x1d;
    pub const FDP_EVENTS: u8 = 0x1e;
    pub const HOST_IDENTIFIER: u8 = 0x81;
}

/// What Select asks for.
const CURRENT: u32 = 0;
const SAVED: u32 = 2;
const SUPPORTED: u32 = 3;
/// Capabilities (SELECT = 3): changeable.
const CHANGEABLE: u32 = 1 << 2;
/// Temperature threshold that is never reached: what a drive of software has.
const NO_THRESHOLD: u32 = 0xffff;
/// Milliseconds of the Timestamp feature.
const TIMESTAMP_BITS: u64 = (1 << 48) - 1;
/// Timestamp Origin: the host set it.
const SET_BY_HOST: u64 = 1 << 49;

impl Request<'_> {
    /// Get Features.
    pub(super) fn get_features(&self) -> Result<Answer, Status> {
        let id = self.command.dword(10) as u8;
        let select = self.command.dword(10) >> 8 & 7;
        self.check_feature(id)?;
        match select {
            SUPPORTED => Ok(Answer::Done(capabilities(id).into())),
            // Nothing is saved, and what was never set has its default.
            CURRENT..=SAVED => self.feature(id, select == CURRENT),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn feature(&self, id: u8, current: bool) -> Result<Answer, Status> {
        let state = self.controller.state();
        let kept = |default: u32| match current {
            true => state
                .features
                .get(&self.key(id))
                .copied()
                .unwrap_or(default),
            false => default,
        };
        let value = match id {
            feature::TEMPERATURE_THRESHOLD => kept(NO_THRESHOLD),
            feature::WRITE_CACHE => u32::from(self.target.store.is_file()),
            feature::NUMBER_OF_QUEUES => self.queues(),
            feature::EVENTS if current => state.wanted_events,
            feature::KEEP_ALIVE => self.controller.keep_alive_ms(),
            feature::TIMESTAMP => {
                drop(state);
                return Ok(Answer::Data(self.timestamp(), 0));
            }
            feature::HOST_IDENTIFIER => return self.host_identifier(),
            feature::FDP => return self.fdp_feature(),
            feature::FDP_EVENTS => {
                drop(state);
                return self.fdp_events_feature();
            }
            _ => kept(0),
        };
        Ok(Answer::Done(value.into()))
    }

    /// Set Features.
    pub(super) fn set_features(&self) -> Result<Answer, Status> {
        let id = self.command.dword(10) as u8;
        self.check_feature(id)?;
        let value = self.command.dword(11);
        // Bit 31: save. Nothing is.
        if self.command.dword(10) >> 31 != 0 {
            return Err(Status::NOT_SAVEABLE);
        }
        match id {
            feature::NUMBER_OF_QUEUES => {
                if value & 0xffff == 0xffff || value >> 16 == 0xffff {
                    return Err(Status::INVALID_FIELD);
                }
                return Ok(Answer::Done(self.queues().into()));
            }
            feature::EVENTS => {
                self.controller.state().wanted_events = value & NAMESPACE_NOTICES;
            }
            feature::KEEP_ALIVE => self.controller.set_keep_alive_ms(value),
            feature::TIMESTAMP => self.set_timestamp()?,
            feature::FDP => return self.set_fdp_feature(),
            feature::FDP_EVENTS => return self.set_fdp_events_feature(),
            feature::ARBITRATION | feature::TEMPERATURE_THRESHOLD | feature::ERROR_RECOVERY => {
                let mut state = self.controller.state();
                state.features.insert(self.key(id), value);
            }
            // One power state, and a cache that does not turn off.
            feature::POWER_MANAGEMENT if value & 0x1f == 0 => {}
            feature::WRITE_CACHE if value & 1 == 1 && self.target.store.is_file() => {}
            feature::POWER_MANAGEMENT => return Err(Status::INVALID_FIELD),
            _ => return Err(Status::NOT_CHANGEABLE),
        }
        Ok(Answer::Done(0))
    }

    /// Whether this controller has such a feature.
    fn check_feature(&self, id: u8) -> Result<(), Status> {
        let io = self.controller.is_io();
        match id {
            feature::EVENTS | feature::KEEP_ALIVE => Ok(()),
            feature::FDP | feature::FDP_EVENTS if io && self.target.mode == Mode::Fdp => Ok(()),
            feature::FDP | feature::FDP_EVENTS => Err(Status::INVALID_FIELD),
            id if io && capabilities(id) & 1 << 8 != 0 => Ok(()),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// What a value is kept by: a temperature threshold is of one sensor and one direction.
    fn key(&self, id: u8) -> (u8, u16) {
        match id {
            feature::TEMPERATURE_THRESHOLD => (id, (self.command.dword(11) >> 16) as u16 & 0x3f),
            _ => (id, 0),
        }
    }

    /// Number of Queues: as many of each kind, 0's based.
    fn queues(&self) -> u32 {
        let most = u32::from(self.target.options.most_queues.max(1) - 1);
        most | most << 16
    }

    fn host_identifier(&self) -> Result<Answer, Status> {
        // Over fabrics it always has 128 bits (EXHID).
        match self.command.dword(11) & 1 {
            1 => Ok(Answer::Data(self.controller.host.to_le_bytes().into(), 0)),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn timestamp(&self) -> Vec<u8> {
        let now_ms = self.target.now_ms();
        let value = match self.controller.state().timestamp {
            Some((set, at)) => {
                let since = now_ms.saturating_sub(at);
                (set.wrapping_add(since) & TIMESTAMP_BITS) | SET_BY_HOST
            }
            None => now_ms & TIMESTAMP_BITS,
        };
        value.to_le_bytes().into()
    }

    fn set_timestamp(&self) -> Result<(), Status> {
        if self.data.len() < 8 {
            return Err(Status::SGL_LENGTH);
        }
        let timestamp_ms = u64_at(self.data, 0) & TIMESTAMP_BITS;
        let now_ms = self.target.now_ms();
        self.controller.state().timestamp = Some((timestamp_ms, now_ms));
        let mut drive = self.target.drive();
        drive.advance(now_ms);
        drive.set_timestamp(timestamp_ms);
        Ok(())
    }
}

/// Supported capabilities of a feature, and beside them (bit 8) whether it is one.
fn capabilities(id: u8) -> u32 {
    let is = 1 << 8;
    match id {
        feature::ARBITRATION
        | feature::POWER_MANAGEMENT
        | feature::TEMPERATURE_THRESHOLD
        | feature::ERROR_RECOVERY
        | feature::NUMBER_OF_QUEUES
        | feature::EVENTS
        | feature::TIMESTAMP
        | feature::KEEP_ALIVE
        | feature::FDP_EVENTS => is | CHANGEABLE,
        feature::WRITE_CACHE | feature::WRITE_ATOMICITY | feature::FDP => is,
        feature::HOST_IDENTIFIER => is,
        _ => 0,
    }
}
