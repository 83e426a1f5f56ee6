//! The device: logical pages, where they lie, and the counters of what that costs.

mod collect;
mod verify;

use crate::{
    config::{Config, RESERVED_UNITS},
    counters::{Counters, StreamCounters},
    error::{ConfigError, DeviceError},
    relocate::Relocate,
    types::{PageRange, StreamId},
    units::Units,
};

/// No page: an unmapped logical page, or no open unit.
const NONE: u32 = u32::MAX;

/// Pages taken through the mapping at a time, so that their cache misses overlap (our choice;
/// 32 to 64 is where a random update of a table stops getting faster).
const BATCH: usize = 64;

/// The unit a stream is filling.
#[derive(Debug, Clone, Copy)]
struct OpenUnit {
    unit: u32,
    filled: u32,
    /// When it was last written, in host pages: the measure of idleness.
    written_at: u64,
}

/// A page-mapped multi-stream SSD. Each stream fills an erase unit of its own; garbage
/// collection takes the closed unit with the fewest valid pages and copies those to the stream
/// its relocation names.
#[derive(Debug)]
pub struct Device {
    config: Config,
    relocation: Box<dyn Relocate>,
    /// Physical page of each logical page: `unit << shift | page in unit`.
    physical: Vec<u32>,
    /// Logical page last written to each physical page, units one behind the other. Not cleared
    /// when the page dies: it is valid only while `physical` leads back to it.
    logical: Vec<u32>,
    units: Units,
    open: Vec<Option<OpenUnit>>,
    counters: Counters,
    streams: Vec<StreamCounters>,
    shift: u32,
}

impl Device {
    /// An empty device.
    ///
    /// # Errors
    /// When the configuration describes a device that cannot be, or could get stuck.
    pub fn new(config: Config, relocation: Box<dyn Relocate>) -> Result<Device, ConfigError> {
        config.validate()?;
        let streams = usize::from(config.streams());
        let physical_pages = config.physical_units as usize * config.pages_per_unit as usize;
        Ok(Device {
            physical: vec![NONE; config.logical_pages as usize],
            logical: vec![0; physical_pages],
            units: Units::new(&config),
            open: vec![None; streams],
            counters: Counters::default(),
            streams: vec![StreamCounters::default(); streams],
            shift: config.unit_shift(),
            config,
            relocation,
        })
    }

    /// What the device was made of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The counters since the device was new.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The counters of every stream: the host's first, then the internal ones.
    pub fn stream_counters(&self) -> &[StreamCounters] {
        &self.streams
    }

    /// Logical pages that hold data.
    pub fn mapped_pages(&self) -> u64 {
        (0..self.config.physical_units)
            .map(|unit| u64::from(self.units.valid(unit)))
            .sum()
    }

    /// The host writes a run of pages to a stream.
    ///
    /// # Errors
    /// When the run leaves the drive, or the drive has no such host stream.
    pub fn write(&mut self, pages: PageRange, stream: StreamId) -> Result<(), DeviceError> {
        self.check_range(pages)?;
        self.check_stream(stream)?;
        let mut rest = pages;
        while rest.count > 0 {
            let count = self.host_room(stream)?.min(rest.count);
            self.append_run(stream, PageRange::new(rest.first, count));
            rest = PageRange::new(rest.first + count, rest.count - count);
        }
        Ok(())
    }

    /// The host writes single pages, in order, to a stream. A page may occur twice.
    ///
    /// # Errors
    /// When a page lies outside the drive (then none is written), or there is no such stream.
    pub fn write_scattered(&mut self, pages: &[u32], stream: StreamId) -> Result<(), DeviceError> {
        self.check_stream(stream)?;
        if let Some(&page) = pages
            .iter()
            .find(|&&page| page >= self.config.logical_pages)
        {
            self.check_range(PageRange::new(page, 1))?;
        }
        for batch in pages.chunks(BATCH) {
            self.touch(batch);
            let mut rest = batch;
            while !rest.is_empty() {
                let room = self.host_room(stream)? as usize;
                let (now, later) = rest.split_at(room.min(rest.len()));
                self.append_pages(stream, now);
                rest = later;
            }
        }
        Ok(())
    }

    /// The host discards a run of pages. Pages that hold nothing are passed over.
    ///
    /// # Errors
    /// When the run leaves the drive.
    pub fn discard(&mut self, pages: PageRange) -> Result<(), DeviceError> {
        self.check_range(pages)?;
        let Device {
            physical,
            units,
            counters,
            shift,
            ..
        } = self;
        let mut dying = Dying::new(units);
        for slot in &mut physical[pages.indices()] {
            if *slot != NONE {
                dying.page(*slot >> *shift);
                *slot = NONE;
                counters.discarded_pages += 1;
            }
        }
        dying.settle();
        Ok(())
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
        if stream.0 < self.config.host_streams {
            return Ok(());
        }
        Err(DeviceError::NoSuchStream {
            stream: stream.0,
            host_streams: self.config.host_streams,
        })
    }

    /// Free pages in a stream's open unit.
    fn room(&self, stream: StreamId) -> u32 {
        self.open[stream.index()].map_or(0, |open| self.config.pages_per_unit - open.filled)
    }

    /// Room for host writes to a stream, after opening a unit, and collecting garbage for it,
    /// where needed. At least 1.
    fn host_room(&mut self, stream: StreamId) -> Result<u32, DeviceError> {
        if self.room(stream) == 0 {
            if self.units.free_count() <= self.config.gc_start_free_units as usize {
                self.collect(stream);
            }
            // Copies may have opened a unit of this very stream.
            if self.room(stream) == 0 {
                if self.units.free_count() <= RESERVED_UNITS as usize {
                    return Err(DeviceError::Full);
                }
                self.open_unit(stream)?;
            }
        }
        Ok(self.room(stream))
    }

    fn open_unit(&mut self, stream: StreamId) -> Result<(), DeviceError> {
        let unit = self.units.open(stream).ok_or(DeviceError::Full)?;
        self.open[stream.index()] = Some(OpenUnit {
            unit,
            filled: 0,
            written_at: self.counters.host_pages,
        });
        Ok(())
    }

    /// Claims `count` pages of a stream's open unit, which has that room, and closes the unit if
    /// that fills it. Answers with the first page's address and its index in `logical`.
    fn claim(&mut self, stream: StreamId, count: u32) -> Option<Claim> {
        let slot = &mut self.open[stream.index()];
        let open = slot.as_mut()?;
        let claim = Claim {
            unit: open.unit,
            address: open.unit << self.shift | open.filled,
            index: open.unit as usize * self.config.pages_per_unit as usize + open.filled as usize,
            closes: open.filled + count == self.config.pages_per_unit,
        };
        open.filled += count;
        open.written_at = self.counters.host_pages;
        if claim.closes {
            *slot = None;
        }
        self.units.gain(claim.unit, count);
        Some(claim)
    }

    fn append_run(&mut self, stream: StreamId, pages: PageRange) {
        let Some(claim) = self.claim(stream, pages.count) else {
            return;
        };
        let Device {
            physical,
            logical,
            units,
            shift,
            ..
        } = self;
        let mut dying = Dying::new(units);
        let slots = &mut physical[pages.indices()];
        let reverse = &mut logical[claim.index..claim.index + pages.count as usize];
        for (step, (slot, back)) in (0_u32..).zip(slots.iter_mut().zip(reverse)) {
            if *slot != NONE {
                dying.page(*slot >> *shift);
            }
            *slot = claim.address + step;
            *back = pages.first + step;
        }
        dying.settle();
        self.count_host_pages(stream, pages.count, claim);
    }

    fn append_pages(&mut self, stream: StreamId, pages: &[u32]) {
        let Some(claim) = self.claim(stream, pages.len() as u32) else {
            return;
        };
        let Device {
            physical,
            logical,
            units,
            shift,
            ..
        } = self;
        logical[claim.index..claim.index + pages.len()].copy_from_slice(pages);
        for (step, &page) in (0_u32..).zip(pages) {
            let slot = &mut physical[page as usize];
            if *slot != NONE {
                units.lose(*slot >> *shift, 1);
            }
            *slot = claim.address + step;
        }
        self.count_host_pages(stream, pages.len() as u32, claim);
    }

    fn count_host_pages(&mut self, stream: StreamId, count: u32, claim: Claim) {
        if claim.closes {
            self.units.close(claim.unit, self.counters.host_pages);
        }
        self.counters.host_pages += u64::from(count);
        self.streams[stream.index()].host_pages += u64::from(count);
    }

    /// Reads the mapping of a batch once before it is written: the reads do not wait for one
    /// another, so that their cache misses overlap.
    #[inline]
    fn touch(&self, pages: &[u32]) {
        let sum = pages
            .iter()
            .fold(0_u32, |sum, &page| sum ^ self.physical[page as usize]);
        std::hint::black_box(sum);
    }
}

/// Pages of an open unit, claimed for data about to be appended.
#[derive(Debug, Clone, Copy)]
struct Claim {
    unit: u32,
    address: u32,
    index: usize,
    closes: bool,
}

/// Gathers dying pages of one unit, since neighbours mostly die together: one change of the
/// valid count, and of the victims' lists, for a run of them.
struct Dying<'a> {
    units: &'a mut Units,
    unit: u32,
    pages: u32,
}

impl<'a> Dying<'a> {
    fn new(units: &'a mut Units) -> Dying<'a> {
        Dying {
            units,
            unit: 0,
            pages: 0,
        }
    }

    #[inline]
    fn page(&mut self, unit: u32) {
        if unit != self.unit {
            self.flush();
            self.unit = unit;
        }
        self.pages += 1;
    }

    #[inline]
    fn flush(&mut self) {
        if self.pages > 0 {
            self.units.lose(self.unit, self.pages);
            self.pages = 0;
        }
    }

    fn settle(mut self) {
        self.flush();
    }
}
