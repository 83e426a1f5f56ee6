//! The device: logical pages, where they lie, and the counters of what that costs.
//!
//! ```text
//! write(pages, stream):
//!     while pages are left:
//!         if the stream's open unit is full:
//!             while few units are free:   victim ← rule; copy its valid pages; erase it
//!             open a free unit for the stream
//!         append as many pages as the open unit takes; each page's former place dies
//! ```

mod aged;
mod append;
mod collect;
mod copy;
mod fail;
mod gradual;
mod hand_over;
mod level;
mod reverse;
mod saved;
mod verify;

use crate::{
    config::Config,
    counters::{Counters, StreamCounters},
    error::{ConfigError, DeviceError},
    observe::Observe,
    page_map::{Keeps, NONE, PageMap},
    random::Random,
    relocate::Relocate,
    table::Table,
    types::{PageRange, StreamId},
    units::Units,
    wear::{Countdown, WearReport},
};
use append::Dying;

pub use gradual::Emptying;

/// Pages taken through the mapping at a time, so that their cache misses overlap (our choice;
/// 32 to 64 is where a random update of a table stops getting faster).
const BATCH: usize = 64;

/// The unit a stream is filling.
#[derive(Debug, Clone, Copy)]
struct OpenUnit {
    unit: u32,
    filled: u32,
    /// The device's clock, in host pages, when the unit was last written; the lowest has been idle
    /// longest.
    written_at: u64,
}

/// A page-mapped multi-stream SSD. Each stream fills an erase unit of its own; garbage collection
/// empties the closed unit its victim rule names, and a relocation says where valid pages go.
///
/// The relocation is not the device's: whoever drives the device has it, and hands it to each call
/// that may collect garbage. It must be the same one throughout. `O` watches the flash; watched by
/// `()`, watching costs nothing.
#[derive(Debug)]
pub struct Device<O: Observe = ()> {
    config: Config,
    observer: O,
    /// Mapping of each logical page, and, if the relocation tracks ages, the time of the host's write, in ticks of
    /// `1 << tick_bits` host pages.
    map: PageMap,
    /// Logical page last written to each physical page, units one behind the other. Not cleared
    /// when the page dies: it is valid only while `map` leads back to it. Empty where `map` keeps units alone.
    p2l: Table<u32>,
    tick_bits: u32,
    /// Whether the relocation is told where each page is put ([`Relocate::placed`]).
    tells_places: bool,
    units: Units,
    open: Vec<Option<OpenUnit>>,
    counters: Counters,
    streams: Vec<StreamCounters>,
    /// Pages the host had written before the counters began.
    past_pages: u64,
    /// Logical pages that hold data.
    mapped: u64,
    shift: u32,
    /// Host streams are heeded while at most this many pages are mapped; above, all host writes go
    /// to the default stream.
    streams_off_above: u64,
    program_failures: Countdown,
    erase_failures: Countdown,
    read_only: bool,
}

impl Device {
    /// An empty device. `relocation` says which pages' ages and places the device must keep for it;
    /// later calls are handed the same.
    ///
    /// # Errors
    /// When the configuration describes a device that cannot be, or could get stuck.
    pub fn new(
        config: Config,
        relocation: &(impl Relocate + ?Sized),
    ) -> Result<Device, ConfigError> {
        Device::watched(config, relocation, ())
    }

    /// The same, that keeps so much of its mapping.
    ///
    /// # Errors
    /// Those of [`Device::new`].
    pub fn that_keeps(
        keeps: Keeps,
        config: Config,
        relocation: &(impl Relocate + ?Sized),
    ) -> Result<Device, ConfigError> {
        let kept = kept_map(keeps, &config, relocation.wants_ages());
        Device::with_map(config, relocation, (), kept)
    }
}

/// An empty mapping of units alone, where that is wanted and can be.
fn kept_map(keeps: Keeps, config: &Config, wants_ages: bool) -> Option<PageMap> {
    let pages = config.logical_pages as usize;
    keeps
        .are_units(wants_ages)
        .then(|| PageMap::empty_of_units(pages, config.physical_units, config.unit_shift()))
        .flatten()
}

impl<O: Observe> Device<O> {
    /// An empty device whose flash operations `observer` is told of.
    ///
    /// # Errors
    /// When the configuration describes a device that cannot be, or could get stuck.
    pub fn watched(
        config: Config,
        relocation: &(impl Relocate + ?Sized),
        observer: O,
    ) -> Result<Device<O>, ConfigError> {
        Device::with_map(config, relocation, observer, None)
    }

    /// The same by a mapping of units alone, or by one of places where there is none.
    fn with_map(
        config: Config,
        relocation: &(impl Relocate + ?Sized),
        observer: O,
        of_units: Option<PageMap>,
    ) -> Result<Device<O>, ConfigError> {
        config.validate()?;
        let streams = usize::from(config.streams());
        let pages = config.logical_pages as usize;
        let physical_pages = config.physical_units as usize * config.pages_per_unit as usize;
        let places = if of_units.is_some() {
            0
        } else {
            physical_pages
        };
        let mut device = Device {
            map: of_units.unwrap_or_else(|| PageMap::empty(pages, relocation.wants_ages())),
            p2l: Table::filled(0, places),
            tick_bits: config.tick_bits(),
            tells_places: relocation.wants_places(),
            units: Units::new(&config),
            open: vec![None; streams],
            counters: Counters::default(),
            streams: vec![StreamCounters::default(); streams],
            past_pages: 0,
            mapped: 0,
            shift: config.unit_shift(),
            streams_off_above: streams_off_above(&config),
            program_failures: Countdown::programs(&config.faults, config.seed),
            erase_failures: Countdown::erases(&config.faults, config.seed),
            read_only: false,
            config,
            observer,
        };
        device.retire_factory_bad();
        Ok(device)
    }

    /// The configuration that the device was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The counters since the device was new, or since they were reset.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The counters of every stream: the host's first, then the internal ones.
    pub fn stream_counters(&self) -> &[StreamCounters] {
        &self.streams
    }

    /// The device's clock: pages the host has written since the device was new, whatever became of
    /// the counters.
    #[inline]
    pub fn clock_pages(&self) -> u64 {
        self.past_pages + self.counters.host_pages
    }

    /// Keeps from now on when the host wrote each page, even if the relocation does not ask for it,
    /// so that the saved drive can be used by relocations that do. Pages written until now count as
    /// written now.
    pub fn keep_ages(&mut self) {
        self.map.keep_ages(self.tick());
    }

    /// Counts from zero from now on. The data, their age and the wear stay.
    pub fn reset_counters(&mut self) {
        self.past_pages = self.clock_pages();
        self.counters = Counters::default();
        self.streams.fill(StreamCounters::default());
    }

    /// The observer of the flash operations.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer of the flash operations, to be asked or told more.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Bytes of memory of its mapping, and of the reverse where that is kept.
    pub fn memory_bytes(&self) -> u64 {
        (self.map.memory_bytes() + self.p2l.memory_bytes()) as u64
    }

    /// Logical pages that hold data.
    pub fn mapped_pages(&self) -> u64 {
        self.mapped
    }

    /// Erases of each unit.
    pub fn erases(&self) -> &[u32] {
        self.units.erases()
    }

    /// Units taken out of service, in order.
    pub fn retired_units(&self) -> &[u32] {
        self.units.retired()
    }

    /// Returns the device's wear, and its life under the writes since its counters began.
    pub fn wear(&self) -> WearReport {
        let (wear, unit_bytes) = (&self.config.wear, self.config.unit_bytes());
        WearReport::new(
            self.erases(),
            self.retired_units(),
            wear,
            unit_bytes,
            self.counters.waf(),
        )
    }

    /// Whether so many units have failed that the drive takes no more writes.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Units of a reclaim group that are free.
    pub fn free_units(&self, group: u32) -> u32 {
        if group < self.config.reclaim_groups {
            self.units.free_count(group) as u32
        } else {
            0
        }
    }

    /// Returns the unit of a logical page, and the page within it. `None` where nothing is mapped.
    #[inline]
    pub fn locate(&self, page: u32) -> Option<(u32, u32)> {
        let address = self.map.place(page)?;
        let offset = address & ((1 << self.shift) - 1);
        (address != NONE).then_some((address >> self.shift, offset))
    }

    /// The stream whose unit holds a logical page; `None` where nothing is mapped.
    pub fn stream_of(&self, page: u32) -> Option<StreamId> {
        let (unit, _) = self.locate(page)?;
        Some(self.units.stream(unit))
    }

    /// Stream and number of valid pages of a unit; `None` for a unit that is free or retired.
    pub fn unit(&self, unit: u32) -> Option<(StreamId, u32)> {
        let is_open = || self.open.iter().flatten().any(|open| open.unit == unit);
        let exists = unit < self.config.physical_units;
        (exists && (self.units.is_closed(unit) || is_open()))
            .then(|| (self.units.stream(unit), self.units.valid(unit)))
    }

    /// Valid pages of each closed unit, in the order of units.
    pub fn closed_units(&self) -> impl Iterator<Item = u32> + '_ {
        let closed = |&unit: &u32| self.units.is_closed(unit);
        (0..self.config.physical_units)
            .filter(closed)
            .map(|unit| self.units.valid(unit))
    }

    /// Pages that can still be written to a stream's unit before it is full. A stream without an
    /// open unit has a whole one before it.
    pub fn unit_room(&self, stream: StreamId) -> u32 {
        let open = self.open.get(stream.index()).copied().flatten();
        self.config.pages_per_unit - open.map_or(0, |open| open.filled)
    }

    /// The host writes a run of pages to a stream.
    ///
    /// # Errors
    /// When the run leaves the drive, the drive has no such host stream, or it is read-only; what
    /// was written until then stays.
    pub fn write(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        pages: PageRange,
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        self.check_range(pages)?;
        self.check_stream(stream)?;
        let mut rest = pages;
        while rest.count > 0 {
            let (joined, room) = self.host_room(relocation, stream)?;
            let count = room.min(rest.count);
            self.append_run(relocation, joined, PageRange::new(rest.first, count));
            self.count_misplaced(stream, joined, count);
            rest = PageRange::new(rest.first + count, rest.count - count);
        }
        Ok(())
    }

    /// The host writes single pages, in order, to a stream. A page may occur twice.
    ///
    /// # Errors
    /// When a page lies outside the drive (then none is written), there is no such stream, or the
    /// drive is read-only; what was written until then stays.
    pub fn write_scattered(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        pages: &[u32],
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        self.check_stream(stream)?;
        // Before the first write, so that a wrong page leaves the drive as it was.
        if let Some(&page) = pages
            .iter()
            .find(|&&page| page >= self.config.logical_pages)
        {
            self.check_range(PageRange::new(page, 1))?;
        }
        for batch in pages.chunks(BATCH) {
            self.prefetch(batch);
            let mut rest = batch;
            while !rest.is_empty() {
                let (joined, room) = self.host_room(relocation, stream)?;
                let (now, later) = rest.split_at((room as usize).min(rest.len()));
                self.append_pages(relocation, joined, now);
                self.count_misplaced(stream, joined, now.len() as u32);
                rest = later;
            }
        }
        Ok(())
    }

    /// The host discards a run of pages. Pages that hold nothing are passed over.
    ///
    /// # Errors
    /// When the run leaves the drive, or the drive is read-only.
    pub fn discard(&mut self, pages: PageRange) -> Result<(), DeviceError> {
        self.check_range(pages)?;
        self.check_writable()?;
        let mut dying = Dying::new(&mut self.units);
        let shift = self.shift;
        self.map
            .discard(pages.indices(), |address| dying.page(address >> shift));
        let died = dying.finish();
        self.counters.discarded_pages += died;
        self.mapped -= died;
        Ok(())
    }

    /// Closes a host stream's open unit though it is not full: FDP's reclaim unit update, the end
    /// of a stream. Answers with the pages left unwritten, 0 where no unit had been begun.
    ///
    /// # Errors
    /// When there is no such host stream.
    pub fn finish_unit(&mut self, stream: StreamId) -> Result<u32, DeviceError> {
        self.check_stream(stream)?;
        Ok(self.end_unit(stream))
    }

    /// The same for any stream there is, internal ones among them.
    pub fn end_unit(&mut self, stream: StreamId) -> u32 {
        let slot = self.open.get_mut(stream.index());
        // An open unit without a page stays open: to close it would cost an erase for nothing.
        let Some(open) = slot.and_then(|slot| slot.take_if(|open| open.filled > 0)) else {
            return 0;
        };
        let unwritten = self.config.pages_per_unit - open.filled;
        self.units.close(open.unit, self.clock_pages());
        self.observer.finished(open.unit);
        self.counters.finished_units += 1;
        self.counters.unwritten_pages += u64::from(unwritten);
        unwritten
    }

    fn check_range(&self, pages: PageRange) -> Result<(), DeviceError> {
        if pages.end() <= u64::from(self.config.logical_pages) {
            return Ok(());
        }
        Err(DeviceError::OutOfRange {
            first: pages.first,
            end: pages.end(),
            logical_pages: self.config.logical_pages,
        })
    }

    fn check_stream(&self, stream: StreamId) -> Result<(), DeviceError> {
        self.check_writable()?;
        if stream.0 < self.config.host_streams {
            return Ok(());
        }
        Err(DeviceError::NoSuchStream {
            stream: stream.0,
            host_streams: self.config.host_streams,
        })
    }

    fn check_writable(&self) -> Result<(), DeviceError> {
        if !self.read_only {
            Ok(())
        } else {
            Err(self.read_only_error())
        }
    }

    fn read_only_error(&self) -> DeviceError {
        DeviceError::ReadOnly {
            retired_units: self.units.retired().len() as u64,
        }
    }
}

fn streams_off_above(config: &Config) -> u64 {
    match config.streams_off_permille {
        // Never off: fewer pages than that are mapped.
        1000.. => u64::MAX,
        permille => u64::from(config.logical_pages) * u64::from(permille) / 1000,
    }
}

impl<O: Observe> Device<O> {
    /// Units that are bad from the factory are drawn from the seed.
    fn retire_factory_bad(&mut self) {
        // A sequence of its own, so that other draws of the seed are the same with and without bad units.
        let mut random = Random::new(self.config.seed ^ 3);
        // The configuration was checked to leave enough good units, so that the draw ends.
        while self.counters.retired_units < u64::from(self.config.faults.factory_bad_units) {
            let unit = random.below(self.config.physical_units);
            if self.units.is_free(unit) {
                self.units.retire_free(unit);
                self.counters.retired_units += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    #[test]
    fn streams_are_off_above_a_share_of_the_pages() {
        let above = |streams_off_permille| {
            streams_off_above(&Config {
                streams_off_permille,
                ..small()
            })
        };
        assert_eq!([0, 500, 999].map(above), [0, 32, 63]);
        assert_eq!(above(1000), u64::MAX);
    }
}
