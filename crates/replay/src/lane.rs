//! One scheme on one device, fed with requests.

use std::{cmp::Reverse, sync::Arc};

use anabranch_placement::{
    Assign, Future, HostGeometry, KnownLifetimes, Names, Policy, SchemeError, SchemeSpec, Write,
};
use anabranch_ssd::{
    Config, ConfigError, Counters, Device, DeviceError, PageRange, StreamId,
    relocate::Relocate,
    state::{SavedDrive, StateError},
    time::{Issue, Layout, Request, TimedDevice, Timing, TimingError},
};
use anabranch_trace::{Io, Operation, Sample};
use serde::Serialize;
use thiserror::Error;

use crate::{
    details::{SchemeDetails, Watch},
    engine::Engine,
    pages::{BeyondDrive, Pages},
    series::Series,
};

/// Single-page writes of one stream are handed to the device in batches of this many, so that
/// their cache misses overlap (our choice).
const BATCH: usize = 64;
/// Points of the series per capacity written (our choice: a curve, not a staircase).
const POINTS_PER_CAPACITY: u64 = 16;

/// Why a lane could not go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LaneError {
    /// The trace does not fit the drive.
    #[error("record {record}: {problem}")]
    Beyond {
        /// Which request, counted from 1.
        record: u64,
        /// How it does not fit.
        problem: BeyondDrive,
    },
    /// The device refused: a scheme named a stream that is not there, or the device is broken.
    #[error("record {record}: {problem}")]
    Device {
        /// Which request, counted from 1.
        record: u64,
        /// What the device said.
        problem: DeviceError,
    },
}

/// Why a scheme and a drive do not go together.
#[derive(Debug, Error)]
pub enum UnfitLane {
    /// The scheme cannot work on that drive.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The drive cannot be.
    #[error(transparent)]
    Drive(#[from] ConfigError),
    /// Its time cannot be told.
    #[error(transparent)]
    Time(#[from] TimingError),
    /// A saved drive cannot serve as that one.
    #[error("the saved drive {0}")]
    Aged(#[from] StateError),
}

/// What a device that takes time is made of besides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clock {
    /// How long its flash takes.
    pub timing: Timing,
    /// Where the flash is.
    pub layout: Layout,
    /// When requests are issued.
    #[serde(rename = "pace")]
    pub issue: Issue,
}

/// The lane that served its drive best: of those that wrote most the one that copied least, and
/// the first of equals.
pub fn best<T>(lanes: Vec<(T, Lane)>) -> Option<(T, Lane)> {
    lanes.into_iter().min_by_key(|(_, lane)| {
        let counters = lane.counters();
        (Reverse(counters.host_pages), counters.copied_pages)
    })
}

/// A sampled drive whose scheme is shown every request, as the whole drive would be.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The pages that the drive has.
    pub sample: Sample,
    /// Pages of the whole.
    pub logical_pages: u32,
}

/// What a lane begins with, beside its scheme and its drive.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start<'a> {
    /// When data will die, for schemes that must know.
    pub future: Option<&'a Arc<Future>>,
    /// How long the drive's flash takes, where time is simulated.
    pub clock: Option<&'a Clock>,
    /// What is sampled, for a scheme that is shown all requests of the whole drive.
    pub shown: Option<Shown>,
    /// The drive as it was left by what was written before; empty without it.
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
    policy: Policy,
    driven: Driven,
    pages: Pages,
    /// Which of the pages the device has, where the scheme is shown more.
    sample: Option<Sample>,
    /// Pages the host has written since the drive was new, those still in a batch included: the
    /// clock that a scheme's both halves go by.
    clock_pages: u64,
}

/// A lane's device, and what is remembered of it. Its calls are handed the scheme's device half.
struct Driven {
    engine: Engine,
    /// When the request at hand was asked for.
    time_ns: u64,
    batch: Vec<u32>,
    batch_stream: StreamId,
    series: Series,
    records: u64,
    /// Remembers what pictures need, where that is wanted.
    watch: Option<Box<Watch>>,
    /// The drive has lost so many units that it takes no more writes; what follows is not
    /// performed.
    ended: bool,
    /// Where the latest request's pages were placed, if anyone wants to know.
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
    /// The settings of a scheme that each want a lane of their own, of which [`best`] is kept:
    /// mostly the scheme as it is, and no more.
    ///
    /// # Errors
    /// When the scheme's own settings do not read: a defect of the scheme.
    pub fn trials(spec: &SchemeSpec, drive: &Config) -> Result<Vec<SchemeSpec>, SchemeError> {
        spec.trials(&HostGeometry::of(&spec.drive(drive)))
    }

    /// A lane of a scheme over a device that was made for it.
    pub fn new(policy: Policy, engine: Engine) -> Lane {
        let config = engine.config();
        Lane {
            policy,
            pages: Pages {
                logical_pages: config.logical_pages,
                page_bytes: config.page_bytes,
            },
            sample: None,
            clock_pages: engine.clock_pages(),
            driven: Driven {
                series: Series::new(u64::from(config.logical_pages) / POINTS_PER_CAPACITY),
                engine,
                time_ns: 0,
                batch: Vec::with_capacity(BATCH),
                batch_stream: StreamId::DEFAULT,
                records: 0,
                watch: None,
                ended: false,
                placements: None,
            },
        }
    }

    /// From now on remembers what pictures need ([`Lane::details`]): 8 bytes of memory a page.
    pub fn watch(&mut self) {
        let mut watch = Watch::new(self.driven.engine.config());
        watch.look(&self.driven.engine);
        self.driven.watch = Some(Box::new(watch));
    }

    /// The lane of a scheme on a drive. Of the drive's internal streams it has as many as its
    /// relocation uses.
    ///
    /// # Errors
    /// When the scheme does not fit the drive, or the drive cannot be.
    pub fn build(spec: &SchemeSpec, drive: &Config, start: &Start<'_>) -> Result<Lane, UnfitLane> {
        let config = spec.drive(drive);
        let whole = start.shown.map(|shown| shown.whole(&config));
        let shown = whole.as_ref().unwrap_or(&config);
        let mut policy = spec.policy_of(shown, &config, start.future)?;
        let pages = Pages {
            logical_pages: shown.logical_pages,
            page_bytes: shown.page_bytes,
        };
        let relocation = policy.relocation_mut();
        let engine = match (start.clock, start.aged) {
            (None, None) => Engine::Counted(Box::new(Device::new(config, relocation)?)),
            (None, Some(aged)) => {
                Engine::Counted(Box::new(aged.clone().age(config, relocation, ())?))
            }
            (Some(clock), None) => Engine::Timed(Box::new(TimedDevice::new(
                config,
                clock.timing,
                clock.layout,
                clock.issue,
                relocation,
            )?)),
            (Some(clock), Some(aged)) => Engine::Timed(Box::new(TimedDevice::aged(
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
            sample: start.shown.map(|shown| shown.sample),
            ..Lane::new(policy, engine)
        })
    }

    /// What an earlier run learned of contexts; told before anything else.
    pub fn recall(&mut self, profile: &KnownLifetimes) {
        self.policy.recall(profile);
    }

    /// From now on, [`Lane::placements`] tells.
    pub fn keep_placements(&mut self) {
        self.driven.placements = Some(Vec::new());
    }

    /// Where the scheme placed the pages of the latest request; nothing unless it was asked to be
    /// kept.
    pub fn placements(&self) -> &[(PageRange, StreamId)] {
        self.driven.placements.as_deref().unwrap_or_default()
    }

    /// Names the scheme may go by.
    pub fn learn(&mut self, names: &Names) {
        self.policy.learn(names);
    }

    /// Performs one request. Reads and flushes change nothing that is counted here.
    ///
    /// # Errors
    /// When the request does not fit the drive; the lane is then of no further use.
    pub fn apply(&mut self, io: &Io) -> Result<(), LaneError> {
        if self.driven.ended {
            return Ok(());
        }
        self.driven.begin(io.time_ns);
        match io.operation {
            Operation::Write => self.write(io),
            Operation::Discard => self.discard(io),
            Operation::Read | Operation::Flush if !self.driven.engine.is_timed() => Ok(()),
            Operation::Read => self.read(io),
            Operation::Flush => self.wait_for(Request::Flush),
        }
    }

    /// Reads cost time alone. Of one that reaches beyond the drive, which a trace of a partition's
    /// disk may hold, nothing is read.
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

    fn write(&mut self, io: &Io) -> Result<(), LaneError> {
        let pages = self.pages.written(io);
        let pages = pages.map_err(|problem| self.driven.beyond(problem))?;
        if pages.count == 0 {
            return Ok(());
        }
        let write = Write::of(io, pages, self.clock_pages);
        self.clock_pages += u64::from(pages.count);
        let (driven, sample) = (&mut self.driven, &self.sample);
        self.policy.place(&write, |relocation, part, stream| {
            match sampled(sample, part.pages) {
                None => Ok(()),
                Some(pages) => driven.place(relocation, &Write { pages, ..*part }, stream),
            }
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
        let Some(pages) = sampled(&self.sample, pages) else {
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

    /// The device.
    pub fn engine(&self) -> &Engine {
        &self.driven.engine
    }

    /// Lets everything under way come to its end.
    ///
    /// # Errors
    /// When the device refuses writes still in the batch.
    pub fn finish(&mut self) -> Result<(), LaneError> {
        self.flush_batch()?;
        self.driven.engine.drain();
        Ok(())
    }

    /// The scheme's host side.
    pub fn assign(&self) -> &dyn Assign {
        self.policy.host()
    }

    /// What pictures need, where it was watched for.
    pub fn details(&self) -> Option<SchemeDetails> {
        let watch = self.driven.watch.as_ref()?;
        Some(watch.details(&self.driven.engine))
    }

    /// Counters over the run.
    pub fn series(&self) -> &Series {
        &self.driven.series
    }
}

/// Those of some pages that the device has, by its own numbers.
#[inline]
fn sampled(sample: &Option<Sample>, pages: PageRange) -> Option<PageRange> {
    let Some(sample) = sample else {
        return Some(pages);
    };
    // Kept pages have numbers no greater than their own.
    let (first, end) = sample.kept(u64::from(pages.first), pages.end())?;
    Some(PageRange::new(first as u32, (end - first) as u32))
}

impl Shown {
    /// The whole of a sampled drive.
    fn whole(&self, sampled: &Config) -> Config {
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
    /// A request comes that was asked for at `time_ns`.
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
        if self.batch.len() == BATCH || self.engine.is_timed() {
            self.flush_batch(relocation)
        } else {
            Ok(())
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

    /// Looks at the device, with no write waiting in the batch.
    fn remember(&mut self) {
        self.series.record(self.engine.counters());
        if let Some(watch) = &mut self.watch {
            watch.look(&self.engine);
        }
    }

    fn beyond(&self, problem: BeyondDrive) -> LaneError {
        LaneError::Beyond {
            record: self.records,
            problem,
        }
    }

    /// A drive that has become read-only is a result; any other refusal of the device is an error.
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
