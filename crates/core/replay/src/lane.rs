//! One scheme on one device, fed with requests.

mod announced;
#[cfg(test)]
mod host_collects;
mod rehearsal;
mod single_pages;

use std::{cmp::Reverse, sync::Arc};

use anabranch_placement::{
    Assign, Future, HostGeometry, KnownLifetimes, Names, Policy, SchemeError, SchemeSpec, Write,
};
use anabranch_ssd::{
    Config, ConfigError, Counters, Device, DeviceError, PageRange, StreamId,
    relocate::Relocate,
    state::{SavedDrive, StateError},
    time::{Request, TimedDevice, TimingError},
};
use anabranch_trace::{Io, KeptPages, Operation, Sample};
use thiserror::Error;

use crate::{
    any_device::AnyDevice,
    clock::Clock,
    collected::CannotCollect,
    details::{DetailsWatch, SchemeDetails},
    engine::Engine,
    pages::{BeyondDrive, Pages},
    series::Series,
};
use rehearsal::HostRehearsal;

/// Single-page writes of one stream are handed to the device in batches of this many, so that
/// their cache misses overlap (our choice).
const BATCH: usize = 64;
/// Requests whose pages are read ahead together (our choice: with more of them fewer waits for the last; 1,024 leave the
/// caches before they are performed).
const AHEAD: usize = 256;
/// A write of more pages makes its own way: what is known of them is read in order (our choice).
const SHORT_PAGES: u64 = 16;
/// Points of the series per capacity written (our choice: a curve, not a staircase).
const POINTS_PER_CAPACITY: u64 = 16;

/// Reason that ended a lane.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LaneError {
    /// The trace does not fit the drive.
    #[error("record {record}: {problem}")]
    Beyond {
        /// Number of the request, counted from 1.
        record: u64,
        /// The mismatch, in words.
        problem: BeyondDrive,
    },
    /// The device refused: the scheme named a stream that does not exist, or the device has failed.
    #[error("record {record}: {problem}")]
    Device {
        /// Number of the request, counted from 1.
        record: u64,
        /// The device's error.
        problem: DeviceError,
    },
}

/// The reason why a scheme and a drive do not go together.
#[derive(Debug, Error)]
pub enum UnfitLane {
    /// The scheme cannot work on that drive.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The drive's configuration is not possible.
    #[error(transparent)]
    Drive(#[from] ConfigError),
    /// The drive's timing makes no sense.
    #[error(transparent)]
    Time(#[from] TimingError),
    /// The saved drive cannot be used as that drive.
    #[error("the saved drive {0}")]
    Aged(#[from] StateError),
    /// The host cannot collect on that drive.
    #[error(transparent)]
    Collection(#[from] CannotCollect),
    /// The drive refused what was written before the scheme began.
    #[error("the drive refused what others had written before: {0}")]
    Before(DeviceError),
}

/// The lane whose drive was served best: among those that wrote most, the one that copied least,
/// and the first of equals.
pub fn best<T>(lanes: Vec<(T, Lane)>) -> Option<(T, Lane)> {
    lanes.into_iter().min_by_key(|(_, lane)| {
        let counters = lane.counters();
        (Reverse(counters.host_pages), counters.copied_pages)
    })
}

/// A sampled drive whose scheme is shown every request, as the whole drive would be.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The sample of pages that the drive has.
    pub sample: Sample,
    /// Logical pages of the whole drive.
    pub logical_pages: u32,
}

/// The conditions a lane begins with, besides its scheme and its drive.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start<'a> {
    /// The lives of data to come, for schemes that must know them.
    pub future: Option<&'a Arc<Future>>,
    /// The timing of the drive, where time is simulated.
    pub clock: Option<&'a Clock>,
    /// The sample, for a scheme that is shown all requests of the whole drive.
    pub shown: Option<Shown>,
    /// The drive with the data and wear that earlier writes left; an empty drive if `None`.
    pub aged: Option<&'a SavedDrive>,
}

/// A scheme, and the device that it drives.
///
/// ```
/// use anabranch_placement::SchemeSpec;
/// use anabranch_replay::{Lane, Start};
/// use anabranch_ssd::Config;
/// use anabranch_trace::Io;
///
/// let spec: SchemeSpec = "baseline".parse()?;
/// let mut lane = Lane::build(&spec, &Config::new(16_384, 64, 288), &Start::default())?;
/// for page in 0..16_384 {
///     lane.apply(&Io::write(page * 4096, 4096))?;
/// }
/// // Writes are gathered in batches: what is left of them is performed now.
/// lane.finish()?;
/// assert_eq!(lane.counters().waf(), Some(1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lane {
    pub(crate) policy: Policy,
    pub(crate) driven: Driven,
    pub(crate) pages: Pages,
    /// The sample of pages that the device has, where the scheme is shown more.
    pub(crate) sample: Option<KeptPages>,
    /// Comparison of a host that collects.
    rehearsal: Option<Box<HostRehearsal>>,
    /// Pages the host has written since the drive was new, including those still in a batch: the
    /// clock that both halves of a scheme use.
    pub(crate) clock_pages: u64,
    /// Pages that are written soon.
    ahead: Box<[u32; AHEAD]>,
}

/// A lane's device and its details. The calls of the device are handed the scheme's device half.
pub(crate) struct Driven {
    pub(crate) engine: Engine,
    /// When the current request was issued, in nanoseconds.
    time_ns: u64,
    batch: Vec<u32>,
    /// Pages of a whole batch: one where requests take time.
    batch_pages: usize,
    batch_stream: StreamId,
    series: Series,
    /// The most pages that ever held data.
    peak_mapped_pages: u64,
    records: u64,
    /// Collects the details that pictures need, where they are wanted.
    watch: Option<Box<DetailsWatch>>,
    /// Whether the drive has lost so many units that it takes no more writes; later requests are
    /// not performed.
    ended: bool,
    /// Placement of the latest request's pages; `None` unless [`Lane::keep_placements`] was
    /// called.
    placements: Option<Vec<(PageRange, StreamId)>>,
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane")
            .field("records", &self.driven.records)
            .finish_non_exhaustive()
    }
}

impl Lane {
    /// The settings of a scheme that each need a lane of their own, of which the [`best`] is kept:
    /// mostly a single one, the scheme as it is.
    ///
    /// # Errors
    /// When the scheme's own settings do not parse: a defect of the scheme.
    pub fn trials(spec: &SchemeSpec, drive: &Config) -> Result<Vec<SchemeSpec>, SchemeError> {
        spec.trials(&HostGeometry::of(&spec.drive(drive)))
    }

    /// A lane of a scheme over a device that was made for it.
    pub fn new(policy: Policy, engine: Engine) -> Lane {
        let config = engine.config();
        Lane {
            policy,
            pages: Pages::of(config),
            sample: None,
            rehearsal: None,
            clock_pages: engine.clock_pages(),
            ahead: Box::new([0; AHEAD]),
            driven: Driven {
                series: Series::new(u64::from(config.logical_pages) / POINTS_PER_CAPACITY),
                peak_mapped_pages: engine.mapped_pages(),
                batch: Vec::with_capacity(BATCH),
                batch_pages: if engine.is_timed() { 1 } else { BATCH },
                engine,
                time_ns: 0,
                batch_stream: StreamId::DEFAULT,
                records: 0,
                watch: None,
                ended: false,
                placements: None,
            },
        }
    }

    /// Collects from now on the details that pictures need ([`Lane::details`]): 8 bytes of memory a
    /// page.
    pub fn watch(&mut self) {
        let mut watch = DetailsWatch::new(self.driven.engine.config());
        watch.sample(&self.driven.engine);
        self.driven.watch = Some(Box::new(watch));
    }

    /// The lane of a scheme on a drive. It gets as many of the drive's internal streams as its
    /// relocation uses.
    ///
    /// # Errors
    /// When the scheme does not fit the drive, or the drive's configuration is not possible.
    pub fn build(spec: &SchemeSpec, drive: &Config, start: &Start<'_>) -> Result<Lane, UnfitLane> {
        if let Some(collection) = spec.collection() {
            return Lane::collected(spec, collection, drive, start);
        }
        let config = spec.drive(drive);
        let whole = start.shown.map(|shown| shown.whole(&config));
        let shown = whole.as_ref().unwrap_or(&config);
        let mut policy = spec.policy_of(shown, &config, start.future)?;
        let pages = Pages::of(shown);
        let relocation = policy.relocation_mut();
        let device = match (start.clock, start.aged) {
            (None, None) => AnyDevice::Counted(Box::new(Device::new(config, relocation)?)),
            (None, Some(aged)) => {
                AnyDevice::Counted(Box::new(aged.clone().age(config, relocation, ())?))
            }
            (Some(clock), None) => AnyDevice::Timed(Box::new(TimedDevice::new(
                config,
                clock.timing,
                clock.layout,
                clock.issue,
                relocation,
            )?)),
            (Some(clock), Some(aged)) => AnyDevice::Timed(Box::new(TimedDevice::aged(
                aged.clone(),
                config,
                clock.timing,
                clock.layout,
                clock.issue,
                relocation,
            )?)),
        };
        Ok(Lane {
            pages,
            sample: start.shown.map(|shown| KeptPages::new(&[shown.sample])),
            ..Lane::new(policy, Engine::Alone(device))
        })
    }

    /// Gives the scheme the lifetimes that an earlier run learned. To be called before anything
    /// else.
    pub fn restore_lifetimes(&mut self, known: &KnownLifetimes) {
        self.policy.restore_lifetimes(known);
        if let Some(rehearsal) = &mut self.rehearsal {
            rehearsal.restore_lifetimes(known);
        }
    }

    /// Keeps from now on what [`Lane::placements`] answers with.
    pub fn keep_placements(&mut self) {
        self.driven.placements = Some(Vec::new());
    }

    /// Returns the placement of the latest request's pages; empty unless
    /// [`Lane::keep_placements`] was called.
    pub fn placements(&self) -> &[(PageRange, StreamId)] {
        self.driven.placements.as_deref().unwrap_or_default()
    }

    /// Gives the scheme names of contexts and files.
    pub fn learn(&mut self, names: &Names) {
        self.policy.learn(names);
        if let Some(rehearsal) = &mut self.rehearsal {
            rehearsal.learn(names);
        }
    }

    /// Performs one request. Reads and flushes change nothing that is counted here.
    ///
    /// # Errors
    /// When the request does not fit the drive, or the device fails; the lane must not be used
    /// after that.
    #[inline]
    pub fn apply(&mut self, io: &Io) -> Result<(), LaneError> {
        if self.driven.ended {
            return Ok(());
        }
        self.driven.begin(io.time_ns);
        if self.rehearsal.is_some() {
            self.rehearse(io)?;
        }
        match io.operation {
            Operation::Write => self.write(io),
            Operation::Discard => self.discard(io),
            Operation::Read | Operation::Flush if !self.driven.engine.is_timed() => Ok(()),
            Operation::Read => self.read(io),
            Operation::Flush => self.wait_for(Request::Flush),
        }
    }

    /// Bytes of memory that the host holds: the scheme's, and what it needs to collect.
    pub fn memory_bytes(&self) -> u64 {
        self.assign().memory_bytes() as u64 + self.driven.engine.memory_bytes()
    }

    /// Performs requests in order. It costs less than [`Lane::apply`] for each: of short writes, what is known of the
    /// pages is read for many at once.
    ///
    /// # Errors
    /// As for [`Lane::apply`]: those of the first request that cannot be performed.
    pub fn apply_all(&mut self, ios: &[Io]) -> Result<(), LaneError> {
        if self.policy.looks_ahead() {
            return self.apply_announced(ios);
        }
        let only_stream = self.policy.only_stream().filter(|_| self.is_plain());
        ios.chunks(AHEAD).try_for_each(|ios| {
            if let Some(stream) = only_stream.filter(|_| self.gather_single_pages(ios)) {
                return self.write_single_pages(ios.len(), stream);
            }
            self.prefetch(ios);
            ios.iter().try_for_each(|io| self.apply(io))
        })
    }

    /// Reads what device and scheme know of the first page of each short write of a batch: the pages behind it lie beside it.
    fn prefetch(&mut self, ios: &[Io]) {
        let longest = u64::from(self.pages.page_bytes()) * SHORT_PAGES;
        let mut short = 0;
        // Without a branch a request: a page that is not wanted is overwritten by the next.
        for io in ios {
            self.ahead[short] = self.pages.page_of(io.offset_bytes) as u32;
            short += usize::from(io.operation == Operation::Write && io.length_bytes <= longest);
        }
        let ahead = &self.ahead[..short];
        if self.sample.is_none() {
            self.driven.engine.prefetch(ahead);
        }
        self.policy.prefetch(ahead);
    }

    /// Performs a read, which changes the time only. A read beyond the drive, which a trace of a
    /// partition's disk may hold, reads nothing.
    fn read(&mut self, io: &Io) -> Result<(), LaneError> {
        let pages = self.pages.written(io);
        let pages = pages.map_err(|problem| self.driven.beyond(problem))?;
        self.wait_for(Request::Read { pages })
    }

    fn wait_for(&mut self, request: Request) -> Result<(), LaneError> {
        let relocation = self.policy.relocation_mut();
        self.driven.flush_batch(relocation)?;
        self.driven.wait_for(relocation, request)
    }

    #[inline]
    fn write(&mut self, io: &Io) -> Result<(), LaneError> {
        let pages = self.pages.written(io);
        let pages = pages.map_err(|problem| self.driven.beyond(problem))?;
        if pages.count == 0 {
            return Ok(());
        }
        let write = Write::of(io, pages, self.clock_pages);
        self.clock_pages += u64::from(pages.count);
        let (driven, sample) = (&mut self.driven, &mut self.sample);
        self.policy.place(&write, |relocation, part, stream| {
            let kept = sampled(sample, part.pages).map(|pages| Write { pages, ..*part });
            kept.map_or(Ok(()), |part| driven.place(relocation, &part, stream))
        })?;
        self.driven.engine.end_write();
        Ok(())
    }

    fn discard(&mut self, io: &Io) -> Result<(), LaneError> {
        let pages = self.pages.discarded(io);
        let pages = pages.map_err(|problem| self.driven.beyond(problem))?;
        if pages.count == 0 {
            return Ok(());
        }
        self.driven.flush_batch(self.policy.relocation_mut())?;
        self.policy.discard(pages, self.clock_pages);
        let Some(pages) = sampled(&mut self.sample, pages) else {
            return Ok(());
        };
        let relocation = self.policy.relocation_mut();
        self.driven.discard(relocation, pages, self.clock_pages)
    }

    /// Hands the writes still in the batch to the device.
    ///
    /// # Errors
    /// When the device refuses them.
    pub fn flush_batch(&mut self) -> Result<(), LaneError> {
        self.driven.flush_batch(self.policy.relocation_mut())
    }

    /// The device's counters; writes still in the batch are not in them.
    pub fn counters(&self) -> &Counters {
        self.driven.engine.counters()
    }

    /// The device the lane writes to.
    pub fn engine(&self) -> &Engine {
        &self.driven.engine
    }

    /// Performs what is in the batch, and lets time pass until every request under way has ended.
    ///
    /// # Errors
    /// When the device refuses writes still in the batch.
    pub fn finish(&mut self) -> Result<(), LaneError> {
        self.flush_batch()?;
        self.driven.engine.drain();
        Ok(())
    }

    /// The scheme's host half.
    pub fn assign(&self) -> &dyn Assign {
        self.policy.host()
    }

    /// The details for pictures, if [`Lane::watch`] was called.
    pub fn details(&self) -> Option<SchemeDetails> {
        let watch = self.driven.watch.as_ref()?;
        Some(watch.details(&self.driven.engine, self.assign()))
    }

    /// The most pages that ever held data, looked at between batches.
    pub fn peak_mapped_pages(&self) -> u64 {
        self.driven.peak_mapped_pages
    }

    /// Counters over the run.
    pub fn series(&self) -> &Series {
        &self.driven.series
    }
}

/// The pages of a request that a sampled device has, by its own numbers.
#[inline]
fn sampled(sample: &mut Option<KeptPages>, pages: PageRange) -> Option<PageRange> {
    let Some(sample) = sample else {
        return Some(pages);
    };
    let mut kept = None;
    sample.kept(u64::from(pages.first), pages.end(), |_, (first, end)| {
        // Kept pages have numbers no greater than their own.
        kept = Some(PageRange::new(first as u32, (end - first) as u32));
    });
    kept
}

impl Shown {
    /// The configuration of the whole drive of a sampled one.
    pub(crate) fn whole(&self, sampled: &Config) -> Config {
        let one_of = self.sample.rate().pages();
        Config {
            logical_pages: self.logical_pages,
            page_bytes: sampled.page_bytes / one_of,
            pages_per_unit: sampled.pages_per_unit.saturating_mul(one_of),
            ..sampled.clone()
        }
    }
}

impl Driven {
    /// Begins a request that was issued at `time_ns`.
    fn begin(&mut self, time_ns: u64) {
        self.records += 1;
        self.time_ns = time_ns;
        if let Some(placements) = &mut self.placements {
            placements.clear();
        }
    }

    /// Writes a part of a request to its stream.
    #[inline]
    fn place(
        &mut self,
        relocation: &mut dyn Relocate,
        part: &Write,
        stream: StreamId,
    ) -> Result<(), LaneError> {
        let pages = part.pages;
        if let Some(watch) = &mut self.watch {
            watch.wrote(pages, part.context, stream, part.now_pages);
        }
        if let Some(placements) = &mut self.placements {
            placements.push((pages, stream));
        }
        if pages.count > 1 {
            self.flush_batch(relocation)?;
            let written = self.engine.write(relocation, self.time_ns, pages, stream);
            self.remember();
            return self.performed(written);
        }
        if stream != self.batch_stream {
            self.flush_batch(relocation)?;
            self.batch_stream = stream;
        }
        self.batch.push(pages.first);
        if self.batch.len() < self.batch_pages {
            Ok(())
        } else {
            self.flush_batch(relocation)
        }
    }

    fn discard(
        &mut self,
        relocation: &mut dyn Relocate,
        pages: PageRange,
        now_pages: u64,
    ) -> Result<(), LaneError> {
        if let Some(watch) = &mut self.watch {
            watch.discarded(pages, now_pages);
        }
        let discarded = self.engine.discard(relocation, self.time_ns, pages);
        self.performed(discarded)
    }

    fn wait_for(
        &mut self,
        relocation: &mut dyn Relocate,
        request: Request,
    ) -> Result<(), LaneError> {
        let waited = self.engine.wait_for(relocation, self.time_ns, request);
        self.performed(waited)
    }

    fn flush_batch(&mut self, relocation: &mut dyn Relocate) -> Result<(), LaneError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let (time_ns, stream) = (self.time_ns, self.batch_stream);
        let result = self
            .engine
            .write_scattered(relocation, time_ns, &self.batch, stream);
        self.batch.clear();
        self.remember();
        self.performed(result)
    }

    /// Takes the details of the device when no write waits in the batch.
    fn remember(&mut self) {
        self.series.record(self.engine.counters());
        self.peak_mapped_pages = self.peak_mapped_pages.max(self.engine.mapped_pages());
        if let Some(watch) = &mut self.watch {
            watch.sample(&self.engine);
        }
    }

    fn beyond(&self, problem: BeyondDrive) -> LaneError {
        LaneError::Beyond {
            record: self.records,
            problem,
        }
    }

    /// Turns the refusal of a drive that has become read-only into a result; any other refusal
    /// stays an error.
    fn performed(&mut self, result: Result<(), DeviceError>) -> Result<(), LaneError> {
        match result {
            Err(DeviceError::ReadOnly { .. }) => {
                self.ended = true;
                Ok(())
            }
            result => result.map_err(|problem| LaneError::Device {
                record: self.records,
                problem,
            }),
        }
    }
}
