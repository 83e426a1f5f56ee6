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
//! So a copy of the model is a rewrite of the same addresses with another handle. A unit that the model has emptied is dead
//! in the drive, which erases it without copies of its own. The model has fewer units than the drive, so that the host
//! collects first. It is advice: whatever it gets wrong costs copies, and no data.

mod cannot_collect;
mod rewriter;
mod sold_drive;
mod tap;

use anabranch_placement::{Boundaries, Collection, SchemeSpec};
use anabranch_ssd::{
    Config, ConfigError, Counters, Device, DeviceError, Origin, PageRange, StreamId,
    relocate::Relocate, time::Request,
};
use serde::{Deserialize, Serialize};

#[cfg(test)]
pub(crate) use sold_drive::Sent;
use sold_drive::SoldDrive;
pub(crate) use sold_drive::relocation_of;
use tap::{Step, Steps, Tap};

use crate::{any_device::AnyDevice, clock::Clock};
use rewriter::Rewriter;

pub use cannot_collect::CannotCollect;
pub(crate) use cannot_collect::CollectError;

/// The share of the model's spare units that it keeps free for what the host writes in one go: one in so many, and one at
/// least (our choice: `lab/notebook/drives.md` has what fewer and more cost).
const AHEAD: u32 = 8;

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

/// The host's model of the drive, and the steps that it took.
#[derive(Debug)]
pub(crate) struct HostModel {
    device: Device,
    steps: Steps,
    /// The handle of each stream of the model.
    handles: Vec<StreamId>,
}

/// A drive as sold, and the host that collects on it.
#[derive(Debug)]
pub struct Collected {
    /// The drive as it was asked for.
    config: Config,
    /// None from when the host gave up.
    model: Option<HostModel>,
    drive: SoldDrive,
    /// Units that are emptied little by little, where requests take time.
    rewriter: Rewriter,
    /// Units that the model keeps free, where requests take time.
    ahead: u32,
    boundaries: Boundaries,
    counters: Counters,
    rewritten_pages: u64,
    given_up_at: Option<u64>,
    /// After giving up, the pages until the unit of each stream ends as the host half believes; 0 once it is right.
    room: Vec<u32>,
    memory_bytes: u64,
}

/// The drive that the host's model has: whole schemes place and collect on it.
pub(crate) fn model_of(
    spec: &SchemeSpec,
    collection: &Collection,
    drive: &Config,
) -> Result<Config, CannotCollect> {
    let scheme = || spec.name().to_owned();
    if drive.streams_off_permille < 1000 {
        return Err(CannotCollect::Unheeded { scheme: scheme() });
    }
    let (handles, groups) = (drive.handles(), drive.reclaim_groups.max(1));
    let copies = collection.copy_handles(handles);
    let offered = Config {
        internal_streams: copies.saturating_mul(groups as u16),
        ..drive.clone()
    };
    let copies = spec.internal_streams(&offered) / groups as u16;
    if copies >= handles {
        return Err(CannotCollect::NoHandle {
            scheme: scheme(),
            handles,
            copies,
        });
    }
    let believed = f64::from(drive.pages_per_unit) * (1.0 + collection.size_error);
    let pages_per_unit = (believed.round() as u32).max(1);
    let physical = u64::from(drive.physical_units) * u64::from(drive.pages_per_unit);
    let units = (physical / u64::from(pages_per_unit)) as u32;
    let plain = Config::new(drive.logical_pages, pages_per_unit, units);
    let model = Config {
        page_bytes: drive.page_bytes,
        physical_units: units.saturating_sub(collection.spare.saturating_mul(groups)),
        host_streams: (handles - copies) * groups as u16,
        internal_streams: copies * groups as u16,
        victim_rule: spec.victim_rule().unwrap_or(drive.victim_rule),
        chips: drive.chips,
        gc_start_free_units: drive.gc_start_free_units,
        gc_stop_free_units: drive.gc_stop_free_units,
        seed: drive.seed,
        reclaim_groups: groups,
        ..plain
    };
    let least = model.least_physical_units();
    if u64::from(model.physical_units) < least {
        return Err(CannotCollect::NoRoom {
            scheme: scheme(),
            units: drive.physical_units,
            model: model.physical_units,
            least,
        });
    }
    Ok(model)
}

/// The handle for each stream of the model: those of rewrites are the last of each reclaim group.
pub(crate) fn handles_of(model: &Config) -> Vec<StreamId> {
    let groups = model.reclaim_groups as u16;
    let (own, copies) = (model.handles(), model.internal_streams / groups);
    let each = own + copies;
    let host = (0..model.host_streams).map(|stream| stream / own * each + stream % own);
    let internal =
        (0..model.internal_streams).map(|stream| stream / copies * each + own + stream % copies);
    host.chain(internal).map(StreamId).collect()
}

impl HostModel {
    pub(crate) fn new(
        config: Config,
        relocation: &mut dyn Relocate,
    ) -> Result<HostModel, ConfigError> {
        let handles = handles_of(&config);
        let mut steps = Steps::new(config.streams(), config.pages_per_unit);
        let tap = Tap {
            relocation,
            steps: &mut steps,
        };
        Ok(HostModel {
            device: Device::new(config, &tap)?,
            steps,
            handles,
        })
    }
}

impl Collected {
    /// A drive on which the host collects by `model`, whose relocation is `relocation`; without a model, it never does.
    pub(crate) fn new(
        drive: &Config,
        clock: Option<&Clock>,
        collection: &Collection,
        model: Option<(Config, &mut dyn Relocate)>,
    ) -> Result<Collected, CollectError> {
        let model = match model {
            Some((config, relocation)) => Some(HostModel::new(config, relocation)?),
            None => None,
        };
        let spare = drive.physical_units.saturating_sub(drive.logical_units());
        let ahead = (spare / drive.reclaim_groups.max(1) / AHEAD).max(1);
        let mut sold = SoldDrive::new(drive, clock, collection)?;
        sold.before(collection.phase)?;
        if collection.boundaries == Boundaries::Made {
            for handle in (0..drive.host_streams).map(StreamId) {
                sold.update(handle)?;
            }
        }
        let mut collected = Collected {
            config: drive.clone(),
            memory_bytes: model
                .as_ref()
                .map_or(0, |model| memory_bytes(model.device.config())),
            model,
            drive: sold,
            rewriter: Rewriter::default(),
            ahead,
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
        match &self.model {
            Some(model) => model.device.clock_pages(),
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
        if let (Some(model), true) = (&self.model, self.drive.device().is_timed()) {
            let units = self.rewriter.units();
            let survivors = units.map(|unit| model.device.living_pages(unit)).sum();
            let ahead = model.device.units_ahead().max(1);
            let haste = f64::from(self.ahead) / f64::from(ahead);
            self.rewriter
                .wrote(self.counters.host_pages, survivors, haste);
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
        let must_collect = |collected: &Collected| {
            let model = collected.model.as_ref();
            model.is_some_and(|model| model.device.must_collect(stream, pages))
        };
        while self.drive.timed().is_some() && must_collect(self) {
            self.collect(relocation, time_ns, true)?;
            let nothing_is_won = self.rewriter.units().next().is_none();
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
        let (Some(timed), true) = (self.drive.timed(), self.model.is_some()) else {
            return Ok(());
        };
        let is_urgent = is_urgent || !timed.is_awaited();
        self.rewriter.ended(&timed.ended());
        let mut was_read = true;
        while was_read {
            was_read = self.advance(relocation, time_ns, |model, tap, rewriter| {
                let Some((unit, pages)) = rewriter.next_read() else {
                    return false;
                };
                model.copy_survivors(tap, unit, &pages);
                true
            })?;
        }
        while self.empty_or_begin(relocation, time_ns)? || self.read(is_urgent) {}
        Ok(())
    }

    /// Ends with a unit that is empty, or begins with another where few are free. Answers whether it did either.
    fn empty_or_begin(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
    ) -> Result<bool, DeviceError> {
        let ahead = self.ahead;
        self.advance(relocation, time_ns, |model, tap, rewriter| {
            if let Some(emptied) = rewriter.take_emptied() {
                model.end_emptying(tap, emptied);
                return true;
            }
            // Those that are being emptied are as good as free.
            let wanted = ahead.checked_sub(rewriter.units().count() as u32);
            let (None, Some(wanted)) = (rewriter.unit_to_read(), wanted) else {
                return false;
            };
            let Some(unit) = model.begin_emptying(tap, wanted) else {
                return false;
            };
            rewriter.begin(unit, unit.gain(model.config().pages_per_unit));
            true
        })
    }

    /// Reads the next survivors, if it is time. Answers whether it did.
    fn read(&mut self, is_urgent: bool) -> bool {
        let (Some(timed), Some(model)) = (self.drive.timed(), &mut self.model) else {
            return false;
        };
        let may_read = self.rewriter.may_read(is_urgent);
        let Some(unit) = self.rewriter.unit_to_read().filter(|_| may_read) else {
            return false;
        };
        let pages = model.device.next_survivors(unit);
        if !pages.is_empty() {
            let tag = self.rewriter.reads(pages.clone());
            timed.read_survivors(tag, &pages);
        }
        true
    }

    /// Has the model do something, and the drive the same. Answers as the model does.
    fn advance(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        step: impl FnOnce(&mut Device, &mut Tap<'_>, &mut Rewriter) -> bool,
    ) -> Result<bool, DeviceError> {
        let Some(model) = &mut self.model else {
            return Ok(false);
        };
        let mut tap = Tap {
            relocation,
            steps: &mut model.steps,
        };
        let answer = step(&mut model.device, &mut tap, &mut self.rewriter);
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
        self.model = None;
        self.rewriter.clear();
        self.given_up_at = Some(self.counters.host_pages);
        self.room = room;
        // A unit left open for rewrites that come no more would be a spare unit less for good.
        (0..self.config.host_streams)
            .map(StreamId)
            .try_for_each(|handle| self.drive.update(handle))
    }

    /// Goes on with a model that knows nothing.
    pub(crate) fn restart(&mut self, model: HostModel) {
        self.rewriter.clear();
        self.model = Some(model);
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
        let Some(model) = &mut self.model else {
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
        let mut tap = Tap {
            relocation,
            steps: &mut model.steps,
        };
        let modelled = match pages {
            Pages::Run(pages) => model.device.write(&mut tap, pages, stream),
            Pages::Scattered(pages) => model.device.write_scattered(&mut tap, pages, stream),
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
        let Some(model) = &mut self.model else {
            return Ok(());
        };
        let mut rest = &model.steps.pages[..];
        for &step in &model.steps.steps {
            match step {
                Step::Program(stream, count, origin) => {
                    let (pages, later) = rest.split_at(count as usize);
                    rest = later;
                    let handle = model.handles[stream.index()];
                    match origin {
                        Origin::Host => self.drive.write(time_ns, pages, handle)?,
                        Origin::Copy => {
                            self.rewritten_pages += u64::from(count);
                            let tag = || self.rewriter.writes();
                            self.drive.rewrite(tag, pages, handle)?;
                        }
                    }
                }
                Step::End(stream) if self.boundaries == Boundaries::Made => {
                    self.drive.update(model.handles[stream.index()])?;
                }
                Step::End(_) => {}
            }
        }
        model.steps.clear();
        Ok(())
    }

    pub(crate) fn discard(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        pages: PageRange,
    ) -> Result<(), DeviceError> {
        self.await_turn(relocation, time_ns)?;
        let modelled = match &mut self.model {
            Some(model) => model.device.discard(pages),
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

/// Bytes of a device's mapping, of its reverse and of its ages.
fn memory_bytes(config: &Config) -> u64 {
    let physical = u64::from(config.physical_units) * u64::from(config.pages_per_unit);
    4 * (u64::from(config.logical_pages) + physical)
}
