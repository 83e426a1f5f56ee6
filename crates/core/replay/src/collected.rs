//! A drive as sold whose garbage the host collects.
//!
//! ```text
//! write(pages, stream):   model.write(pages, stream)            the scheme decides, in the host
//!                         for each step that the model took:
//!                             written or copied: drive.write(pages, handle of the stream)
//!                             unit ended:        drive.update(handle)
//! discard(pages):         model.discard(pages), drive.discard(pages)
//! ```
//!
//! So a copy of the model is a rewrite of the same addresses with another handle: see `anabranch_collect`.

mod sold_drive;

use anabranch_collect::{Collector, Step, memory_bytes};
use anabranch_placement::{Boundaries, Collection};
use anabranch_ssd::{
    Config, ConfigError, Counters, DeviceError, Keeps, PageRange, StreamId,
    relocate::Relocate,
    time::{Request, TimingError},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

#[cfg(test)]
pub(crate) use sold_drive::Sent;
use sold_drive::SoldDrive;
pub(crate) use sold_drive::relocation_of;

use crate::{any_device::AnyDevice, clock::Clock};

pub use anabranch_collect::CannotCollect;

/// The reason why collecting cannot begin.
#[derive(Debug, Clone, PartialEq, Error)]
pub(crate) enum CollectError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Time(#[from] TimingError),
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The counts of a drive whose garbage the host collects.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CollectedBytes {
    /// Bytes the host wrote anew to the same addresses.
    pub rewritten_bytes: u64,
    /// Bytes the drive copied by itself.
    pub copied_bytes: u64,
    /// The sum of both.
    pub moved_bytes: u64,
    /// Bytes that the drive was sent: those written and those rewritten. A warranty counts these.
    pub warranty_bytes: u64,
    /// Handles that the host updated, and the pages that left unwritten.
    pub finished_units: u64,
    /// Bytes that had been written when the host gave up collecting; null if it never did.
    pub given_up_at_bytes: Option<u64>,
    /// Bytes of memory for each page of the drive that the model and the rehearsal hold, the scheme's own apart.
    pub memory_bytes_per_page: f64,
}

/// A drive as sold, and the host that collects on it.
#[derive(Debug)]
pub struct Collected {
    /// The drive as it was asked for.
    config: Config,
    /// None from when the host gave up.
    collector: Option<Collector>,
    drive: SoldDrive,
    boundaries: Boundaries,
    counters: Counters,
    rewritten_pages: u64,
    given_up_at: Option<u64>,
    /// After giving up, the pages until the unit of each stream ends as the host half believes; 0 once it is right.
    room: Vec<u32>,
    memory_bytes: u64,
}

impl Collected {
    /// A drive on which the host collects by `model`, whose relocation is `relocation`; without a model, it never does.
    pub(crate) fn new(
        drive: &Config,
        clock: Option<&Clock>,
        collection: &Collection,
        model: Option<(Config, &mut dyn Relocate)>,
    ) -> Result<Collected, CollectError> {
        let collector = match model {
            Some((config, relocation)) => {
                Some(Collector::new(config, drive, Keeps::Places, relocation)?)
            }
            None => None,
        };
        let mut sold = SoldDrive::new(drive, clock, collection)?;
        sold.before(collection.phase)?;
        if collection.boundaries == Boundaries::Made {
            for handle in (0..drive.host_streams).map(StreamId) {
                sold.update(handle)?;
            }
        }
        let mut collected = Collected {
            config: drive.clone(),
            memory_bytes: collector.as_ref().map_or(0, Collector::memory_bytes),
            collector,
            drive: sold,
            boundaries: collection.boundaries,
            counters: Counters::default(),
            rewritten_pages: 0,
            given_up_at: None,
            room: vec![0; usize::from(drive.host_streams)],
        };
        collected.count();
        Ok(collected)
    }

    /// The drive as it was asked for.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The drive.
    pub fn device(&self) -> &AnyDevice {
        self.drive.device()
    }

    /// The counts as the user has them: rewrites are copies.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Pages of the user that hold data.
    pub fn mapped_pages(&self) -> u64 {
        self.device().mapped_pages() - self.drive.foreign_mapped_pages()
    }

    /// Pages that the user has written since the scheme began.
    pub fn clock_pages(&self) -> u64 {
        match &self.collector {
            Some(collector) => collector.model().clock_pages(),
            None => self.counters.host_pages,
        }
    }

    /// All commands that the drive was sent.
    #[cfg(test)]
    pub(crate) fn sent(&self) -> &[Sent] {
        &self.drive.sent
    }

    /// Ends the current write.
    pub(crate) fn end_write(&mut self) {
        if let (Some(collector), true) = (&mut self.collector, self.drive.device().is_timed()) {
            collector.wrote(self.counters.host_pages);
        }
        self.drive.end_write();
    }

    /// Reads pages, or flushes.
    pub(crate) fn wait_for(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        request: Request,
    ) -> Result<(), DeviceError> {
        self.await_turn(relocation, time_ns)?;
        self.drive.wait_for(time_ns, request)
    }

    /// Lets time pass until the next request may be issued, and collects meanwhile.
    fn await_turn(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
    ) -> Result<(), DeviceError> {
        while self.drive.timed().is_some() {
            self.collect(relocation, time_ns, false)?;
            if self.drive.step_to_turn(time_ns) {
                break;
            }
        }
        Ok(())
    }

    /// Has a write wait, which is issued now, until the model has room for it.
    fn await_room(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        (stream, pages): (StreamId, u32),
    ) -> Result<(), DeviceError> {
        self.drive.begin_write(time_ns);
        let has_no_room = |collector: &Collector| collector.has_no_room(stream, pages);
        while self.drive.timed().is_some() && self.collector.as_ref().is_some_and(has_no_room) {
            self.collect(relocation, time_ns, true)?;
            let nothing_is_won = !self.collector.as_ref().is_some_and(Collector::is_emptying);
            if nothing_is_won || !self.drive.step() {
                break;
            }
        }
        Ok(())
    }

    /// Goes on emptying a unit of the model, where requests take time: writes what was read, and reads what is next.
    fn collect(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        is_urgent: bool,
    ) -> Result<(), DeviceError> {
        let (Some(timed), Some(collector)) = (self.drive.timed(), &mut self.collector) else {
            return Ok(());
        };
        let is_urgent = is_urgent || !timed.is_awaited();
        collector.ended(&timed.ended());
        let rewrite_next = |collector: &mut Collector, relocation: &mut dyn Relocate| {
            collector.rewrite_next(relocation, |_| true)
        };
        while self.advance(relocation, time_ns, rewrite_next)? {}
        while self.advance(relocation, time_ns, Collector::empty_or_begin)? || self.read(is_urgent)
        {
        }
        Ok(())
    }

    /// Reads the next survivors, if it is time. Answers whether it did.
    fn read(&mut self, is_urgent: bool) -> bool {
        let (Some(timed), Some(collector)) = (self.drive.timed(), &mut self.collector) else {
            return false;
        };
        let Some((tag, pages)) = collector.next_survivors(is_urgent) else {
            return false;
        };
        if !pages.is_empty() {
            timed.read_survivors(tag, &pages);
        }
        true
    }

    /// Has the host take a step, and the drive the same. Answers as the host does.
    fn advance(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        step: impl FnOnce(&mut Collector, &mut dyn Relocate) -> bool,
    ) -> Result<bool, DeviceError> {
        let Some(collector) = &mut self.collector else {
            return Ok(false);
        };
        let answer = step(collector, relocation);
        if answer {
            self.repeat(time_ns)?;
            self.count();
        }
        Ok(answer)
    }

    /// The host's rewrites and the drive's copies.
    pub fn bytes(&self) -> CollectedBytes {
        let page = u64::from(self.config.page_bytes);
        let moved = self.counters.copied_pages;
        CollectedBytes {
            rewritten_bytes: self.rewritten_pages * page,
            copied_bytes: (moved - self.rewritten_pages) * page,
            moved_bytes: moved * page,
            warranty_bytes: (self.counters.host_pages + self.rewritten_pages) * page,
            finished_units: self.counters.finished_units,
            given_up_at_bytes: self.given_up_at.map(|pages| pages * page),
            memory_bytes_per_page: self.memory_bytes as f64 / f64::from(self.config.logical_pages),
        }
    }

    /// Bytes of memory that the model and the rehearsal hold.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Counts the memory of a device that the host rehearses on.
    pub(crate) fn rehearses_on(&mut self, device: &Config) {
        self.memory_bytes += memory_bytes(device);
    }

    /// Gives up collecting: from now on streams are handles of the drive, whose units the host half believes to have so
    /// much room.
    pub(crate) fn give_up(&mut self, room: Vec<u32>) -> Result<(), DeviceError> {
        self.collector = None;
        self.given_up_at = Some(self.counters.host_pages);
        self.room = room;
        // A unit left open for rewrites that come no more would be a spare unit less for good.
        (0..self.config.host_streams)
            .map(StreamId)
            .try_for_each(|handle| self.drive.update(handle))
    }

    /// Goes on with a model that knows nothing.
    pub(crate) fn restart(&mut self, collector: Collector) {
        self.collector = Some(collector);
    }

    /// Writes pages, in order, to a stream of the model.
    pub(crate) fn write(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        pages: Pages<'_>,
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        self.await_turn(relocation, time_ns)?;
        self.await_room(relocation, time_ns, (stream, pages.count()))?;
        let Some(collector) = &mut self.collector else {
            let written = match pages {
                Pages::Run(pages) => {
                    let pages: Vec<u32> = pages.indices().map(|page| page as u32).collect();
                    self.write_plainly(time_ns, &pages, stream)
                }
                Pages::Scattered(pages) => self.write_plainly(time_ns, pages, stream),
            };
            self.count();
            return written;
        };
        let modelled = match pages {
            Pages::Run(pages) => collector.write(relocation, pages, stream),
            Pages::Scattered(pages) => collector.write_scattered(relocation, pages, stream),
        };
        let repeated = self.repeat(time_ns);
        self.count();
        modelled.and(repeated)
    }

    /// Writes pages with a handle of the drive. IMPORTANT: its first unit after giving up ends where the host half believes
    /// that it does; a scheme that fills rare streams' units to the page would otherwise leave them open for good.
    fn write_plainly(
        &mut self,
        time_ns: u64,
        pages: &[u32],
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        let room = &mut self.room[stream.index()];
        let (first, rest) = pages.split_at(pages.len().min(*room as usize));
        if !first.is_empty() {
            *room -= first.len() as u32;
            let ends = *room == 0;
            self.drive.write(time_ns, first, stream)?;
            if ends {
                self.drive.update(stream)?;
            }
        }
        self.drive.write(time_ns, rest, stream)
    }

    /// Has the drive repeat the model's steps.
    fn repeat(&mut self, time_ns: u64) -> Result<(), DeviceError> {
        let Some(collector) = &mut self.collector else {
            return Ok(());
        };
        let (drive, rewritten) = (&mut self.drive, &mut self.rewritten_pages);
        let ends_are_made = self.boundaries == Boundaries::Made;
        collector.each_step(drive.device().is_timed(), |step| match step {
            Step::Write { handle, pages } => drive.write(time_ns, pages, handle),
            Step::Rewrite { handle, pages, tag } => {
                *rewritten += pages.len() as u64;
                drive.rewrite(tag, pages, handle)
            }
            Step::End { handle } if ends_are_made => drive.update(handle),
            Step::End { .. } => Ok(()),
        })
    }

    pub(crate) fn discard(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        pages: PageRange,
    ) -> Result<(), DeviceError> {
        self.await_turn(relocation, time_ns)?;
        let modelled = match &mut self.collector {
            Some(collector) => collector.discard(pages),
            None => Ok(()),
        };
        let discarded = self.drive.discard(time_ns, pages);
        self.count();
        modelled.and(discarded)
    }

    /// Waits for the requests under way to the drive.
    pub(crate) fn settle(&mut self) {
        // A drive that takes no more says so at the next write.
        let _ = self.drive.settle();
        self.drive.drain();
        self.count();
    }

    fn count(&mut self) {
        let drive = self.drive.device().counters();
        // Writes under way are not the drive's yet.
        let under_way = self.drive.under_way();
        let foreign = self.drive.foreign_pages() + self.rewritten_pages;
        self.counters = Counters {
            host_pages: drive.host_pages + under_way - foreign,
            copied_pages: drive.copied_pages + self.rewritten_pages,
            ..*drive
        };
    }
}

/// Pages as they are handed to a device.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pages<'a> {
    /// One behind the other.
    Run(PageRange),
    /// Anywhere, in order.
    Scattered(&'a [u32]),
}

impl Pages<'_> {
    fn count(&self) -> u32 {
        match self {
            Pages::Run(pages) => pages.count,
            Pages::Scattered(pages) => pages.len() as u32,
        }
    }
}
