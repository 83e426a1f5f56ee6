//! A drive as bytes: saved, loaded, and taken as the aged drive that experiments begin with.
//!
//! The form, all numbers little-endian: eight bytes that no text has; the version (u32); the length
//! of a header (u32) and the header, JSON; then runs of numbers. A run is its length (u64), its
//! numbers, and their checksum (XXH3, 64 bits; of the header and what lies before it likewise). The
//! mapping is saved one way only, four bytes a logical page: the other way follows from it, and so do
//! the counts of valid pages and the victims' lists, of which only the order is saved.
//!
//! A loaded file is not trusted: lengths are checked against the configuration before their
//! memory is taken, the configuration against the rules of a new device, and every unit, page and
//! stream before it is used.

pub(crate) mod check;
mod error;
mod runs;

use std::io::{BufReader, Read, Write};

use serde::{Deserialize, Serialize};

pub use error::StateError;

use crate::{
    config::Config,
    counters::{Counters, StreamCounters},
    page_map::PageMap,
    types::StreamId,
    wear::Countdown,
};
use runs::{Length, RunReader, RunWriter};

/// The first bytes: one that is no ASCII, and line ends that a transfer as text would change (the
/// manner of PNG, ISO/IEC 15948 §5.2).
const MAGIC: [u8; 8] = *b"\x89ANAB\r\n\x1a";
/// The form's version.
const VERSION: u32 = 1;
/// Longest header (our choice; 65,535 streams fill a third of it).
const MOST_HEADER_BYTES: u32 = 1 << 25;

/// The small parts of a saved drive, written as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) config: Config,
    pub(crate) past_pages: u64,
    pub(crate) counters: Counters,
    pub(crate) streams: Vec<StreamCounters>,
    pub(crate) open: Vec<SavedOpen>,
    pub(crate) program_failures: Countdown,
    pub(crate) erase_failures: Countdown,
    pub(crate) read_only: bool,
    /// The state of each reclaim group's victim rule: [`Order::chance`](crate::victims::Order::chance).
    pub(crate) chances: Vec<u64>,
}

impl Header {
    /// The device's clock, in pages the host had written.
    pub(crate) fn now(&self) -> u64 {
        self.past_pages + self.counters.host_pages
    }
}

/// The unit a stream was filling.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct SavedOpen {
    pub(crate) stream: StreamId,
    pub(crate) unit: u32,
    pub(crate) filled: u32,
    pub(crate) written_at: u64,
}

/// The units in runs: each run has one number for each unit.
#[derive(Debug, Clone)]
pub(crate) struct SavedUnits {
    pub(crate) stream: Vec<u16>,
    pub(crate) opened_at: Vec<u64>,
    pub(crate) closed_at: Vec<u64>,
    pub(crate) erases: Vec<u32>,
    pub(crate) retired: Vec<u32>,
    pub(crate) failing: Vec<u32>,
    pub(crate) groups: Vec<SavedGroup>,
}

/// A reclaim group's units, by number.
#[derive(Debug, Clone)]
pub(crate) struct SavedGroup {
    /// In the order they will be used.
    pub(crate) free: Vec<u32>,
    /// The closed ones, as [`Order`](crate::victims::Order) has them.
    pub(crate) entered: Vec<u32>,
    pub(crate) changed: Vec<u32>,
}

/// A drive that was saved, read and checked as far as it can be without building it.
///
/// It becomes a device again in one of two ways. [`SavedDrive::resume`] goes on exactly where the
/// saved one stopped. [`SavedDrive::age`] takes it as the aged drive that an experiment begins
/// with: its data, their age and its wear stay, while streams, rules and relocation are the
/// experiment's, and counting begins anew.
#[derive(Debug, Clone)]
pub struct SavedDrive {
    pub(crate) header: Header,
    /// Physical page of each logical page.
    pub(crate) l2p: Vec<u32>,
    /// When the host wrote each page; empty where the relocation did not want to know.
    pub(crate) written_at: Vec<u32>,
    pub(crate) units: SavedUnits,
    /// State of the relocation.
    pub(crate) relocation: Vec<u64>,
}

impl SavedDrive {
    /// Reads a saved drive.
    ///
    /// # Errors
    /// When the bytes are not those of a saved drive, not of this version, cut short, damaged, or
    /// contradict themselves.
    pub fn read(from: impl Read) -> Result<SavedDrive, StateError> {
        SavedDrive::read_with(from, None)
    }

    /// Reads what [`save_around`](crate::Device::save_around) wrote, around a mapping as
    /// [`mapping`](crate::Device::mapping) gives it: where each logical page lies, and when it was written (may be empty).
    ///
    /// # Errors
    /// When the bytes are not those of a saved drive, not of this version, cut short, damaged, or contradict
    /// themselves.
    pub fn read_around(
        from: impl Read,
        l2p: Vec<u32>,
        written_at: Vec<u32>,
    ) -> Result<SavedDrive, StateError> {
        SavedDrive::read_with(from, Some((l2p, written_at)))
    }

    fn read_with(
        from: impl Read,
        mapping: Option<(Vec<u32>, Vec<u32>)>,
    ) -> Result<SavedDrive, StateError> {
        let mut runs = RunReader::new(BufReader::new(from));
        let header = read_header(&mut runs)?;
        check::header(&header)?;
        let config = &header.config;
        let pages = u64::from(config.logical_pages);
        let inside = if mapping.is_some() { 0 } else { pages };
        let l2p = runs.run(Length::Exactly(inside), "the mapping")?;
        let written_at = runs.run(Length::AtMost(inside), "the pages' ages")?;
        let (l2p, written_at) = mapping.unwrap_or((l2p, written_at));
        if l2p.len() as u64 != pages {
            return Err(StateError::Inconsistent(format!(
                "it maps {} pages of {pages}",
                l2p.len()
            )));
        }
        let units = read_units(&mut runs, config)?;
        let relocation = runs.run(Length::AtMost(u64::MAX), "the relocation's state")?;
        runs.finish()?;
        let drive = SavedDrive {
            header,
            l2p,
            written_at,
            units,
            relocation,
        };
        check::units(&drive)?;
        Ok(drive)
    }

    /// The configuration of the saved drive.
    pub fn config(&self) -> &Config {
        &self.header.config
    }

    /// The counters of the saved drive.
    pub fn counters(&self) -> &Counters {
        &self.header.counters
    }

    /// Erases of each unit.
    pub fn erases(&self) -> &[u32] {
        &self.units.erases
    }

    /// Whether so many units had failed that the drive took no more writes.
    pub fn is_read_only(&self) -> bool {
        self.header.read_only
    }
}

fn read_header<R: Read>(runs: &mut RunReader<R>) -> Result<Header, StateError> {
    let mut magic = [0; 8];
    match runs.raw(&mut magic, "its first bytes") {
        Err(StateError::Truncated(_)) => return Err(StateError::Foreign),
        result => result?,
    }
    if magic != MAGIC {
        return Err(StateError::Foreign);
    }
    let mut number = [0; 4];
    runs.raw(&mut number, "its version")?;
    let found = u32::from_le_bytes(number);
    if found != VERSION {
        return Err(StateError::Version {
            found,
            known: VERSION,
        });
    }
    runs.raw(&mut number, "its header")?;
    let length = u32::from_le_bytes(number);
    if length > MOST_HEADER_BYTES {
        return Err(StateError::Damaged(format!(
            "a header of {length} bytes is longer than any"
        )));
    }
    let bytes = runs.bytes(length.into(), "its header")?;
    runs.seal("its header")?;
    serde_json::from_slice(&bytes)
        .map_err(|error| StateError::Inconsistent(format!("its header: {error}")))
}

fn read_units<R: Read>(runs: &mut RunReader<R>, config: &Config) -> Result<SavedUnits, StateError> {
    let all = u64::from(config.physical_units);
    let (each, some) = (Length::Exactly(all), Length::AtMost(all));
    Ok(SavedUnits {
        stream: runs.run(each, "the units' streams")?,
        opened_at: runs.run(each, "the units' ages")?,
        closed_at: runs.run(each, "the units' ages")?,
        erases: runs.run(each, "the units' wear")?,
        retired: runs.run(some, "the retired units")?,
        failing: runs.run(some, "the failing units")?,
        groups: (0..config.reclaim_groups)
            .map(|_| {
                Ok(SavedGroup {
                    free: runs.run(some, "the free units")?,
                    entered: runs.run(some, "the closed units")?,
                    changed: runs.run(some, "the closed units")?,
                })
            })
            .collect::<Result<_, StateError>>()?,
    })
}

/// The parts of a device that are saved, borrowed from it.
pub(crate) struct Borrowed<'a> {
    pub(crate) header: Header,
    /// `None`: it is kept elsewhere.
    pub(crate) map: Option<&'a PageMap>,
    pub(crate) units: SavedUnits,
    pub(crate) relocation: Vec<u64>,
}

impl Borrowed<'_> {
    pub(crate) fn write(&self, to: impl Write) -> Result<(), StateError> {
        let header = serde_json::to_vec(&self.header)
            .map_err(|error| StateError::Inconsistent(error.to_string()))?;
        let length = u32::try_from(header.len()).unwrap_or(u32::MAX);
        let mut runs = RunWriter::new(to);
        runs.raw(&MAGIC)?;
        runs.raw(&VERSION.to_le_bytes())?;
        runs.raw(&length.to_le_bytes())?;
        runs.raw(&header)?;
        runs.seal()?;
        match self.map {
            Some(map) => {
                runs.numbers(map.places())?;
                runs.numbers(map.times())?;
            }
            None => {
                runs.run::<u32>(&[])?;
                runs.run::<u32>(&[])?;
            }
        }
        let units = &self.units;
        runs.run(&units.stream)?;
        runs.run(&units.opened_at)?;
        runs.run(&units.closed_at)?;
        runs.run(&units.erases)?;
        runs.run(&units.retired)?;
        runs.run(&units.failing)?;
        for group in &units.groups {
            runs.run(&group.free)?;
            runs.run(&group.entered)?;
            runs.run(&group.changed)?;
        }
        runs.run(&self.relocation)?;
        runs.finish()
    }
}
