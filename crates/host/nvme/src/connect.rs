//! Connect: how a host makes a TCP connection a queue (§6.3).

use anabranch_security::is_name;

use crate::{
    command::Command,
    wire::{self, array_at, put, put_text, u16_at, u32_at, u128_at},
};

/// Bytes of a Connect command's data.
pub const CONNECT_DATA: usize = 1024;
/// Bytes of a name's field; the name itself is at most 223 (§4.7).
const NAME_FIELD: usize = 256;
/// The controller identifier of a host that asks for any.
pub const ANY_CONTROLLER: u16 = 0xffff;

/// Fields of a Connect command, its data apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectCommand {
    /// Record Format; 0.
    pub format: u16,
    /// The queue: 0 is the admin queue.
    pub queue: u16,
    /// Entries of the queue, 0's based.
    pub size: u16,
    /// Whether the host wants no flow control of the submission queue (CATTR bit 2).
    pub no_flow_control: bool,
    /// Keep Alive Timeout in milliseconds; 0: none.
    pub keep_alive_ms: u32,
}

impl ConnectCommand {
    /// Reads it.
    pub fn of(command: &Command) -> ConnectCommand {
        let entry = &command.entry;
        ConnectCommand {
            format: u16_at(entry, 40),
            queue: u16_at(entry, 42),
            size: u16_at(entry, 44),
            no_flow_control: entry[46] & 1 << 2 != 0,
            keep_alive_ms: u32_at(entry, 48),
        }
    }
}

/// A Connect command's data: who connects to what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConnectData {
    /// The host's identifier.
    pub host: u128,
    /// The controller, or [`ANY_CONTROLLER`].
    pub controller: u16,
    /// The subsystem's name.
    pub subsystem: String,
    /// The host's name.
    pub host_name: String,
}

/// Offsets of the names in the data.
pub(crate) const SUBSYSTEM_AT: u16 = 256;
pub(crate) const HOST_NAME_AT: u16 = 512;

impl ConnectData {
    /// Reads it.
    ///
    /// # Errors
    /// The offset of the field that is wrong: a name that is empty, too long or no text, or the end
    /// of data that are too short.
    pub fn of(data: &[u8]) -> Result<ConnectData, u16> {
        if data.len() < CONNECT_DATA {
            return Err(data.len() as u16);
        }
        Ok(ConnectData {
            host: u128_at(data, 0),
            controller: u16_at(data, 16),
            subsystem: name(data, SUBSYSTEM_AT)?,
            host_name: name(data, HOST_NAME_AT)?,
        })
    }

    /// Writes it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut data = vec![0; CONNECT_DATA];
        put(&mut data, 0, &self.host.to_le_bytes());
        put(&mut data, 16, &self.controller.to_le_bytes());
        put_text(
            &mut data,
            SUBSYSTEM_AT.into(),
            NAME_FIELD,
            &self.subsystem,
            0,
        );
        put_text(
            &mut data,
            HOST_NAME_AT.into(),
            NAME_FIELD,
            &self.host_name,
            0,
        );
        data
    }
}

fn name(data: &[u8], at: u16) -> Result<String, u16> {
    let field: [u8; NAME_FIELD] = array_at(data, at.into());
    let text = wire::text(&field).filter(|name| is_name(name));
    text.map(str::to_owned).ok_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_data_read_as_they_were_written() {
        let data = ConnectData {
            host: 42,
            controller: ANY_CONTROLLER,
            subsystem: "nqn.2026-01.test:drive".to_owned(),
            host_name: "nqn.2026-01.test:host".to_owned(),
        };
        assert_eq!(ConnectData::of(&data.to_bytes()), Ok(data));
    }

    #[test]
    fn a_name_that_is_none_is_an_error_that_says_where() {
        let mut data = vec![0; CONNECT_DATA];
        assert_eq!(ConnectData::of(&data), Err(SUBSYSTEM_AT));
        data[256..512].fill(b'x');
        assert_eq!(ConnectData::of(&data), Err(SUBSYSTEM_AT));
        data[300] = 0;
        assert_eq!(ConnectData::of(&data), Err(HOST_NAME_AT));
        assert_eq!(ConnectData::of(&data[..100]), Err(100));
    }
}
