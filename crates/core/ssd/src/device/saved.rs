//! A device to be saved, and made again of what was saved.

#[cfg(test)]
mod tests;

use std::{
    io::{Read, Write},
    ops::Range,
};

use super::{
    Device, OpenUnit,
    reverse::{Division, Reverse},
    streams_off_above,
};
use crate::{
    config::Config,
    observe::Observe,
    page_map::{Keeps, PageMap},
    relocate::Relocate,
    state::{Borrowed, Header, SavedDrive, SavedGroup, SavedOpen, StateError},
    table::Table,
    types::StreamId,
    units::Units,
};

impl<O: Observe> Device<O> {
    /// Writes the device in a form of its own: versioned, checksummed, four bytes a logical page
    /// (eight where ages are kept) and twenty-odd a unit. [`Device::load`] and [`SavedDrive`] read
    /// it. What `relocation` has learned is saved with it; the observer is not.
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn save(
        &self,
        relocation: &(impl Relocate + ?Sized),
        to: impl Write,
    ) -> Result<(), StateError> {
        self.save_with(relocation, Some(&self.map), to)
    }

    /// Writes the device as [`Device::save`] does, but without the mapping. [`SavedDrive::read_around`] takes it
    /// together with [`Device::mapping`], which may be copied before, a part at a time.
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn save_around(
        &self,
        relocation: &(impl Relocate + ?Sized),
        to: impl Write,
    ) -> Result<(), StateError> {
        self.save_with(relocation, None, to)
    }

    /// Appends the mapping of those pages in the range that exist: to `places` where each lies (`unit << shift | page
    /// in unit`, all ones where it is not mapped), and to `times`, where ages are kept, when it was written.
    pub fn mapping(&self, pages: Range<u32>, places: &mut Vec<u32>, times: &mut Vec<u32>) {
        self.map.copy(pages, places, times);
    }

    /// Whether it is kept when the host wrote each page.
    pub fn keeps_ages(&self) -> bool {
        self.map.keeps_ages()
    }

    /// The logical page that lies at a place of the flash; `None` where that place holds no valid page.
    pub fn page_at(&self, unit: u32, offset: u32) -> Option<u32> {
        let index = unit as usize * self.config.pages_per_unit as usize + offset as usize;
        let &page = self.p2l.get(index)?;
        (self.locate(page) == Some((unit, offset))).then_some(page)
    }

    fn save_with(
        &self,
        relocation: &(impl Relocate + ?Sized),
        map: Option<&PageMap>,
        to: impl Write,
    ) -> Result<(), StateError> {
        let open = |(stream, open): (u16, &Option<OpenUnit>)| {
            open.map(|open| SavedOpen {
                stream: StreamId(stream),
                unit: open.unit,
                filled: open.filled,
                written_at: open.written_at,
            })
        };
        let (units, chances) = self.units.to_saved();
        let saved = Borrowed {
            header: Header {
                config: self.config.clone(),
                past_pages: self.past_pages,
                counters: self.counters,
                streams: self.streams.clone(),
                open: (0..).zip(&self.open).filter_map(open).collect(),
                program_failures: self.program_failures.clone(),
                erase_failures: self.erase_failures.clone(),
                read_only: self.read_only,
                chances,
            },
            map,
            units,
            relocation: relocation.state(),
        };
        saved.write(to)
    }

    /// The device of a saved drive whose units were checked. The mapping is checked here.
    pub(super) fn from_saved(
        saved: SavedDrive,
        keeps: Keeps,
        relocation: &(impl Relocate + ?Sized),
        observer: O,
    ) -> Result<Device<O>, StateError> {
        let header = saved.header;
        let config = header.config;
        let mut open = vec![None; usize::from(config.streams())];
        for saved in &header.open {
            open[saved.stream.index()] = Some(OpenUnit {
                unit: saved.unit,
                filled: saved.filled,
                written_at: saved.written_at,
            });
        }
        let usable = usable_pages(&config, &saved.units.groups, &header.open);
        let division = Division::for_pages(saved.l2p.len());
        let reverse = Reverse::of(&config, &saved.l2p, &usable, division)?;
        let of_units = keeps
            .are_units(relocation.wants_ages())
            .then(|| PageMap::units_of(&saved.l2p, config.physical_units, config.unit_shift()))
            .flatten();
        let (map, p2l) = match of_units {
            Some(map) => (map, Table::filled(0, 0)),
            None => (PageMap::of(saved.l2p, saved.written_at), reverse.p2l),
        };
        Ok(Device {
            map,
            p2l,
            tick_bits: config.tick_bits(),
            tells_places: relocation.wants_places(),
            units: Units::from_saved(
                &config,
                saved.units,
                reverse.valid,
                &header.open,
                &header.chances,
            ),
            open,
            counters: header.counters,
            streams: header.streams,
            past_pages: header.past_pages,
            mapped: reverse.mapped,
            shift: config.unit_shift(),
            streams_off_above: streams_off_above(&config),
            program_failures: header.program_failures,
            erase_failures: header.erase_failures,
            read_only: header.read_only,
            config,
            observer,
        })
    }
}

impl Device {
    /// Reads a device that was saved, and goes on where it stopped: [`SavedDrive::read`], then
    /// [`SavedDrive::resume`].
    ///
    /// # Errors
    /// When reading or resuming fails.
    pub fn load(
        from: impl Read,
        relocation: &mut (impl Relocate + ?Sized),
    ) -> Result<Device, StateError> {
        Device::load_that_keeps(Keeps::Places, from, relocation)
    }

    /// The same, that keeps so much of its mapping from now on.
    ///
    /// # Errors
    /// Those of [`Device::load`].
    pub fn load_that_keeps(
        keeps: Keeps,
        from: impl Read,
        relocation: &mut (impl Relocate + ?Sized),
    ) -> Result<Device, StateError> {
        SavedDrive::read(from)?.resume_that_keeps(keeps, relocation, ())
    }
}

impl SavedDrive {
    /// The device that was saved, which goes on as if it had never stopped. `relocation` must be a new one of the same
    /// kind and parameters; it takes its saved state back.
    ///
    /// # Errors
    /// When the mapping contradicts itself, or the relocation does not know the saved state.
    pub fn resume<O: Observe>(
        self,
        relocation: &mut (impl Relocate + ?Sized),
        observer: O,
    ) -> Result<Device<O>, StateError> {
        self.resume_that_keeps(Keeps::Places, relocation, observer)
    }

    fn resume_that_keeps<O: Observe>(
        self,
        keeps: Keeps,
        relocation: &mut (impl Relocate + ?Sized),
        observer: O,
    ) -> Result<Device<O>, StateError> {
        let ages = !self.written_at.is_empty();
        // `age` makes up times of pages where none were kept; a drive that goes on must be exactly as it was.
        if !relocation.restore(&self.relocation) || (relocation.wants_ages() && !ages) {
            return Err(StateError::Relocation);
        }
        Device::from_saved(self, keeps, relocation, observer)
    }
}

/// Pages of each unit that may hold data: every page of a closed unit, those written of an open one.
fn usable_pages(config: &Config, groups: &[SavedGroup], open: &[SavedOpen]) -> Vec<u32> {
    let mut usable = vec![0; config.physical_units as usize];
    for &unit in groups.iter().flat_map(|group| &group.entered) {
        usable[unit as usize] = config.pages_per_unit;
    }
    for open in open {
        usable[open.unit as usize] = open.filled;
    }
    usable
}
