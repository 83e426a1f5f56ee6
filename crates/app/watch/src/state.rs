//! State kept over a restart.
//!
//! A line of JSON; after it, for each device, the runs of data that live, 24 bytes each: where (8), how many bytes
//! (8, the low 40 bits) and by whom (the high 24), and how much had been written before (8); at the end a
//! checksum of all of that (XXH3, 64 bits). Numbers are little-endian.

use std::{
    hash::Hasher as _,
    io::{self, Write},
};

use anabranch_replay::{Alive, KeptSurvey, Source};
use anabranch_trace::{Context, Rate};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use twox_hash::XxHash3_64;

use crate::track::Track;

/// Version of the form.
const VERSION: u32 = 1;
/// Bytes of a run of living data.
const ROW: usize = 24;
/// Bits of a row's second word that hold the length: 1 TiB; longer runs are several rows.
const LENGTH_BITS: u32 = 40;
/// Bytes of the checksum.
const SUM: usize = 8;

/// A state that cannot be used.
#[derive(Debug, Error)]
pub enum StateError {
    /// The file is no state.
    #[error("it is no state of a watcher ({0}): name another file")]
    NoState(String),
    /// It was changed, or cut.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// All devices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// Each device.
    pub devices: Vec<DeviceState>,
}

/// State of one device that outlasts a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceState {
    /// Identity of the device.
    pub identity: String,
    /// Its path when it was watched.
    pub path: String,
    /// Size of the device when the state was kept, in bytes.
    pub bytes: u64,
    /// One page of how many its shadow drives had.
    pub rate: Rate,
    /// Seed of the samples.
    pub seed: u64,
    /// The shadow drive: its profile and options, as JSON.
    pub drive: serde_json::Value,
    /// Each scheme's tracks.
    pub schemes: Vec<(String, Vec<Track>)>,
    /// Requests to it.
    pub source: Source,
    /// Writers, by the numbers of the survey.
    pub contexts: Vec<Context>,
    /// Lifetimes of ended data, and data that live still.
    pub survey: KeptSurvey,
    /// Rows of what lives still.
    #[serde(default)]
    rows: u64,
}

impl DeviceState {
    /// A device with nothing seen yet.
    pub fn new(identity: String, path: String, bytes: u64) -> DeviceState {
        DeviceState {
            identity,
            path,
            bytes,
            rate: Rate::WHOLE,
            seed: 0,
            drive: serde_json::Value::Null,
            schemes: Vec::new(),
            source: Source::default(),
            contexts: Vec::new(),
            survey: KeptSurvey::default(),
            rows: 0,
        }
    }
}

impl State {
    /// The state of these devices.
    pub fn new(devices: Vec<DeviceState>) -> State {
        State {
            version: VERSION,
            devices,
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(mut self, to: &mut dyn Write) -> io::Result<()> {
        for device in &mut self.devices {
            device.rows = device
                .survey
                .alive
                .iter()
                .map(|run| rows(run).count() as u64)
                .sum();
        }
        let mut sum = XxHash3_64::new();
        let mut put = |bytes: &[u8]| {
            sum.write(bytes);
            to.write_all(bytes)
        };
        put(&serde_json::to_vec(&self)?)?;
        put(b"\n")?;
        for run in self.devices.iter().flat_map(|device| &device.survey.alive) {
            for row in rows(run) {
                put(&row)?;
            }
        }
        let sum = sum.finish();
        to.write_all(&sum.to_le_bytes())
    }

    /// Reads what [`State::write`] wrote.
    ///
    /// # Errors
    /// When it is something else, or not whole.
    pub fn read(bytes: &[u8]) -> Result<State, StateError> {
        let none = |why: &dyn std::fmt::Display| StateError::NoState(why.to_string());
        let line = bytes.iter().position(|byte| *byte == b'\n');
        let line = line.ok_or_else(|| none(&"it has no first line"))?;
        let (header, rest) = bytes.split_at(line);
        let mut state: State = serde_json::from_slice(header).map_err(|error| none(&error))?;
        if state.version != VERSION {
            let words = format!(
                "its form is {}, and this anabranch reads {VERSION}",
                state.version
            );
            return Err(none(&words));
        }
        let body = rest.len().checked_sub(SUM).filter(|body| *body > 0);
        let (body, sum) = rest.split_at(body.ok_or(StateError::Damaged("it is cut"))?);
        let whole = XxHash3_64::oneshot(&bytes[..line + body.len()]);
        if sum != whole.to_le_bytes() {
            return Err(StateError::Damaged("its checksum is another"));
        }
        let mut rows = body[1..].chunks_exact(ROW).map(run);
        for device in &mut state.devices {
            let count = usize::try_from(device.rows).unwrap_or(usize::MAX);
            device.survey.alive = rows.by_ref().take(count).collect();
            if device.survey.alive.len() != count {
                return Err(StateError::Damaged("it lacks rows"));
            }
        }
        Ok(state)
    }
}

/// A run as rows, each short enough.
fn rows(run: &Alive) -> impl Iterator<Item = [u8; ROW]> + '_ {
    let most = (1_u64 << LENGTH_BITS) - (1 << 30);
    (0..run.length_bytes.div_ceil(most)).map(move |part| {
        let offset = run.offset_bytes + part * most;
        let length = most.min(run.length_bytes - part * most);
        let second = length | u64::from(run.context) << LENGTH_BITS;
        let mut row = [0; ROW];
        for (at, word) in [offset, second, run.written_at_bytes]
            .into_iter()
            .enumerate()
        {
            row[at * 8..][..8].copy_from_slice(&word.to_le_bytes());
        }
        row
    })
}

fn run(row: &[u8]) -> Alive {
    let word = |at: usize| {
        let bytes = row.get(at * 8..at * 8 + 8);
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u64::from_le_bytes)
    };
    Alive {
        offset_bytes: word(0),
        length_bytes: word(1) & ((1 << LENGTH_BITS) - 1),
        context: (word(1) >> LENGTH_BITS) as u32,
        written_at_bytes: word(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let mut device = DeviceState::new("serial".into(), "/dev/sda".into(), 1 << 40);
        let alive = |offset_bytes, length_bytes| Alive {
            offset_bytes,
            length_bytes,
            context: 4095,
            written_at_bytes: 1 << 50,
        };
        device.survey.alive = vec![alive(0, 4096), alive(8192, 1 << 20)];
        State::new(vec![device.clone(), device])
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        let mut bytes = Vec::new();
        state().write(&mut bytes).unwrap();
        let read = State::read(&bytes).unwrap();
        assert_eq!(
            read.devices[1].survey.alive,
            state().devices[1].survey.alive
        );
        assert_eq!(read.devices[0].identity, "serial");
        for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            assert!(State::read(&bytes[..cut]).is_err(), "{cut}");
        }
        for at in (0..bytes.len()).step_by(7) {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert!(State::read(&changed).is_err(), "{at}");
        }
    }

    #[test]
    fn a_run_longer_than_a_row_holds_is_several() {
        let long = Alive {
            offset_bytes: 0,
            length_bytes: 3 << 40,
            context: 7,
            written_at_bytes: 9,
        };
        let parts: Vec<Alive> = rows(&long).map(|row| run(&row)).collect();
        assert_eq!(
            parts.iter().map(|part| part.length_bytes).sum::<u64>(),
            3 << 40
        );
        assert!(
            parts
                .windows(2)
                .all(|two| two[0].offset_bytes + two[0].length_bytes == two[1].offset_bytes)
        );
    }
}
