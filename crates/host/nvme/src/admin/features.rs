//! Get and Set Features (§5.1.11, §5.1.25).

use super::Request;
use crate::{
    completion::{Answer, Status},
    controller::{HEALTH_WARNINGS, State},
    drive::Mode,
    health::{Health, WARNING_KELVIN},
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
    pub const COMMAND_SETS: u8 = 0x19;
    pub const FDP: u8 = 0x1d;
    pub const FDP_EVENTS: u8 = 0x1e;
    pub const HOST_IDENTIFIER: u8 = 0x81;
}

/// Values of Select (SEL).
const CURRENT: u32 = 0;
const DEFAULT: u32 = 1;
const SAVED: u32 = 2;
const SUPPORTED: u32 = 3;
/// Capabilities (SELECT = 3): saveable; changeable.
const SAVEABLE: u32 = 1;
const CHANGEABLE: u32 = 1 << 2;
/// Capabilities: of each namespace (bit 1), and beside them (bit 8) whether there is such a feature.
const OF_NAMESPACE: u32 = 1 << 1;
const IS_ONE: u32 = 1 << 8;
/// Temperature Threshold (§5.1.25.1.4), dword 11: THSEL, over or under; TMPSEL, which temperature.
const UNDER: u16 = 1;
const ALL_SENSORS: u32 = 0xf;
/// Milliseconds of the Timestamp feature.
const TIMESTAMP_BITS: u64 = (1 << 48) - 1;
/// Timestamp Origin: the host set it.
const SET_BY_HOST: u64 = 1 << 49;

impl Request<'_> {
    pub(super) fn get_features(&self) -> Result<Answer, Status> {
        let id = self.command.dword(10) as u8;
        let select = self.command.dword(10) >> 8 & 7;
        self.check_feature(id)?;
        match select {
            SUPPORTED => Ok(Answer::Done((capabilities(id) & 7).into())),
            // Nothing is saved, and what was never set has its default.
            CURRENT..=SAVED => self.feature(id, select == CURRENT),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn feature(&self, id: u8, current: bool) -> Result<Answer, Status> {
        let state = self.controller.state();
        let kept = |default: u32| {
            if current {
                state
                    .features
                    .get(&self.key(id))
                    .copied()
                    .unwrap_or(default)
            } else {
                default
            }
        };
        let value = match id {
            feature::TEMPERATURE_THRESHOLD => {
                let (sensor, under) = self.threshold()?;
                if sensor != 0 {
                    return Err(Status::INVALID_FIELD);
                }
                kept(default_threshold(under).into())
            }
            feature::WRITE_CACHE => u32::from(self.target.store.is_file()),
            feature::NUMBER_OF_QUEUES => self.queues(),
            feature::EVENTS if current => state.wanted_events,
            feature::KEEP_ALIVE => self.controller.keep_alive_ms(),
            feature::TIMESTAMP => {
                drop(state);
                return Ok(Answer::Data(self.timestamp(), 0));
            }
            feature::HOST_IDENTIFIER => return self.host_identifier(),
            feature::FDP => {
                let is_default = self.command.dword(10) >> 8 & 7 == DEFAULT;
                drop(state);
                return self.fdp_feature(is_default);
            }
            feature::FDP_EVENTS => {
                drop(state);
                return self.fdp_events_feature();
            }
            _ => kept(0),
        };
        Ok(Answer::Done(value.into()))
    }

    pub(super) fn set_features(&self) -> Result<Answer, Status> {
        let id = self.command.dword(10) as u8;
        self.check_feature(id)?;
        let value = self.command.dword(11);
        // Bit 31: save. Nothing is but what outlives a power cycle in any case.
        if self.command.dword(10) >> 31 != 0 && id != feature::FDP {
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
                let warnings = if self.controller.is_io() {
                    HEALTH_WARNINGS
                } else {
                    0
                };
                self.controller.state().wanted_events =
                    value & (self.controller.notices() | warnings);
                self.warn();
            }
            feature::TEMPERATURE_THRESHOLD => {
                self.threshold()?;
                let mut state = self.controller.state();
                state.features.insert(self.key(id), value & 0xffff);
                drop(state);
                self.warn();
            }
            feature::KEEP_ALIVE => self.controller.set_keep_alive_ms(value),
            feature::TIMESTAMP => self.set_timestamp()?,
            feature::FDP => return self.set_fdp_feature(),
            feature::FDP_EVENTS => return self.set_fdp_events_feature(),
            feature::ARBITRATION | feature::ERROR_RECOVERY => {
                let mut state = self.controller.state();
                state.features.insert(self.key(id), value);
            }
            // The combination of command sets at index 0 of those listed (Identify, CNS 1Ch) is the only one.
            feature::COMMAND_SETS if value & 0x1ff == 0 => {}
            feature::COMMAND_SETS => return Err(Status::COMMAND_SETS),
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
            feature::FDP | feature::FDP_EVENTS if io && self.target.facts.mode == Mode::Fdp => {
                Ok(())
            }
            feature::FDP | feature::FDP_EVENTS => Err(Status::INVALID_FIELD),
            id if io && capabilities(id) & IS_ONE != 0 => Ok(()),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Key of a kept value. A temperature threshold has one for each direction.
    fn key(&self, id: u8) -> (u8, u16) {
        match id {
            feature::TEMPERATURE_THRESHOLD => (id, (self.command.dword(11) >> 20) as u16 & 3),
            _ => (id, 0),
        }
    }

    /// Sensor of a temperature threshold, and whether it is the lower one. There is the
    /// composite temperature alone (TMPSEL 0h), which Set Features may also mean by Fh.
    fn threshold(&self) -> Result<(u32, bool), Status> {
        let value = self.command.dword(11);
        let (sensor, direction) = (value >> 16 & 0xf, (value >> 20 & 3) as u16);
        match (sensor, direction) {
            (0 | ALL_SENSORS, 0 | UNDER) => Ok((sensor, direction == UNDER)),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// The limits of which the host wants to be warned have changed: looks whether one is exceeded now.
    fn warn(&self) {
        let health = Health::of(&self.target.drive());
        self.controller.warn(health);
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

impl State {
    /// Temperatures in kelvin at which the host is warned: at and below one, at and above the other.
    pub(crate) fn temperature_thresholds(&self) -> (u16, u16) {
        let kept = |under: bool| {
            let key = (feature::TEMPERATURE_THRESHOLD, u16::from(under));
            let kept = self.features.get(&key).map(|&value| value as u16);
            kept.unwrap_or(default_threshold(under))
        };
        (kept(true), kept(false))
    }
}

/// Of the composite temperature: over WCTEMP, and never under (§5.1.25.1.4).
fn default_threshold(under: bool) -> u16 {
    if under { 0 } else { WARNING_KELVIN }
}

/// Supported capabilities of a feature, and whether it is one.
fn capabilities(id: u8) -> u32 {
    match id {
        feature::ARBITRATION
        | feature::POWER_MANAGEMENT
        | feature::TEMPERATURE_THRESHOLD
        | feature::ERROR_RECOVERY
        | feature::NUMBER_OF_QUEUES
        | feature::EVENTS
        | feature::TIMESTAMP
        | feature::COMMAND_SETS
        | feature::KEEP_ALIVE => IS_ONE | CHANGEABLE,
        feature::FDP_EVENTS => IS_ONE | CHANGEABLE | OF_NAMESPACE,
        feature::FDP => IS_ONE | CHANGEABLE | SAVEABLE,
        feature::WRITE_CACHE | feature::WRITE_ATOMICITY | feature::HOST_IDENTIFIER => IS_ONE,
        _ => 0,
    }
}
