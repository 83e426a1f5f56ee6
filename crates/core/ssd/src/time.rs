//! Time: how long a device's requests take.
//!
//! The translation layer decides at once, in the order of the requests, exactly as without time, so
//! that counts with and without time are the same to the last page. [`Flash`] watches it, and
//! makes operations of what it decides: reads, program operations and erases on the dies, and
//! transfers on the channels. A small simulation of discrete events says when they happen.
//! Without it (`Device` watched by nobody) nothing of this costs anything.
//!
//! # The flash
//!
//! *Dies* do one thing at a time. A **read** senses a *row* (one flash page of each plane; pages
//! that one request or one collection takes from the same row cost one sense) and holds the die
//! until the data have left over the channel. A **program operation** writes a word line on all
//! planes; its data come over the channel while the die still works on what is before it (cache
//! program; our choice), so that a die that always has data programs without pause. An **erase**
//! holds every die of the unit for the erase time, each when its turn comes.
//!
//! *Channels* move one transfer at a time; data that the host reads go first, and other transfers
//! are interrupted for them between two flash pages (our choice; one flash page is also what
//! NVMeVirt, FAST'23, moves in one go). Commands and addresses take no time.
//!
//! Units are striped: see [`Layout`].
//!
//! # What goes first in a die
//!
//! Host reads; they wait for the operation at hand only, or interrupt it ([`Timing::suspend_ns`]).
//! Then what was interrupted. Then program operations of the host and operations of garbage
//! collection, each in their order; while both wait, collection gets the share of time that its
//! work has had to the host's of late, so that a victim is emptied while the host fills a unit,
//! and neither in one go nor never (our choice). Whatever else they wait for, host pages are
//! programmed into a unit only after its erase.
//!
//! A copy may be programmed in one die while another die still reads it: the controller is
//! taken to have the next victim's pages in time (our choice; it changes no throughput, since
//! every operation is done). The buffers of garbage collection are its own: what it copies still
//! lies at the old place until the erase.
//!
//! # The write buffer
//!
//! A write is answered as soon as all its pages have room in the write buffer, first come first
//! served. The room is free when their program operation is done. Pages of an operation that is not
//! yet full stay; hence a buffer must hold one operation of each host stream. Pages in the buffer,
//! and pages never written, are read without flash, and so are copies not yet programmed.
//!
//! A flush on a drive with power-loss protection is answered at once. On another it waits until
//! every page written before it is programmed. Operations not yet full are programmed with what
//! they have, to a place of the drive's own, and once more with the rest (our choice: padding
//! would change where later pages lie, and so the counts).
//!
//! # Two ways to issue requests
//!
//! [`Issue::Closed`] keeps a number of requests under way: as fast as the drive allows.
//! [`Issue::Open`] issues requests when they arrive in the trace: their latency counts from then.
//!
//! ```
//! use anabranch_ssd::{
//!     PageRange, StreamId,
//!     profile::Profile,
//!     time::{Issue, Request, TimedDevice},
//! };
//!
//! let profile = Profile::shipped("demo")?;
//! let timing = profile.timing.expect("the shipped profile has a [timing]");
//! let issue = Issue::Closed { queue_depth: 4 };
//! let mut device = TimedDevice::new(profile.resolve("demo")?, timing, profile.layout(), issue, &())?;
//! let pages = PageRange::new(0, 16);
//! device.submit(&mut (), 0, Request::Write { pages, stream: StreamId::DEFAULT })?;
//! device.submit(&mut (), 0, Request::Read { pages })?;
//! device.drain();
//! println!("the write took {} ns", device.report().latency.write.max_ns);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod channel;
mod die;
mod events;
mod flash;
mod latency;
mod live;
mod pending;
mod recorder;
mod report;
mod requests;
mod rewrite;
mod series;
mod spread;
mod timing;
mod units;
mod watch;

use serde::{Deserialize, Serialize};

use crate::{
    config::Config,
    device::Device,
    error::DeviceError,
    relocate::Relocate,
    state::{SavedDrive, StateError},
    types::{PageRange, StreamId},
};
use events::NEVER;
use pending::Kind;
use timing::Shape;

pub use crate::error::TimingError;
pub use flash::Flash;
pub use latency::LatencySummary;
pub use report::{FlashWork, Latencies, TimeReport, Work};
pub use series::Interval;
pub use spread::IntervalLatency;
pub use timing::{Layout, Timing};

/// When requests are issued.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Issue {
    /// The next request is issued when fewer than `queue_depth` are under way; arrival times do
    /// not matter.
    Closed {
        /// Requests under way at most.
        queue_depth: u32,
    },
    /// Requests are issued when they arrive.
    Open {
        /// Arrival times are multiplied by this: 0.5 is twice as fast.
        time_scale: f64,
        /// Requests under way at most. One more waits with the host, and its latency counts.
        queue_depth: u32,
        /// If given, a drive that has been idle so long collects garbage until a request comes.
        /// This changes what is copied.
        collect_after_idle_ns: Option<u64>,
    },
}

/// Request of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Write pages to a stream.
    Write {
        /// The pages.
        pages: PageRange,
        /// The stream, decided by the caller.
        stream: StreamId,
    },
    /// Read pages.
    Read {
        /// The pages.
        pages: PageRange,
    },
    /// Discard pages.
    Discard {
        /// The pages.
        pages: PageRange,
    },
    /// Make what was written safe from a loss of power.
    Flush,
}

/// A device whose requests take time. As with a [`Device`], whoever drives it has the relocation.
#[derive(Debug)]
pub struct TimedDevice {
    device: Device<Flash>,
    issue: Issue,
    /// Requests under way at most.
    queue_depth: u32,
    /// Places (unit, page) of the pages of the current read.
    places: Vec<(u32, u32)>,
    /// The current write, between its first part and its end: when the host issued it, in nanoseconds, and how many of
    /// its pages are written.
    begun: Option<(u64, u32)>,
}

impl TimedDevice {
    /// An empty device at time 0.
    ///
    /// # Errors
    /// When the configuration describes a device that cannot be, or the timing, the layout or the
    /// way to issue requests make no sense.
    pub fn new(
        config: Config,
        timing: Timing,
        layout: Layout,
        issue: Issue,
        relocation: &(impl Relocate + ?Sized),
    ) -> Result<TimedDevice, TimingError> {
        let queue_depth = check_issue(&issue)?;
        config.validate()?;
        let shape = Shape::new(&config, timing, layout)?;
        let flash = Flash::new(shape, config.physical_units);
        Ok(TimedDevice {
            device: Device::watched(config, relocation, flash)?,
            issue,
            queue_depth,
            places: Vec::new(),
            begun: None,
        })
    }

    /// An aged drive at time 0, as [`SavedDrive::age`] takes it.
    ///
    /// # Errors
    /// When [`TimedDevice::new`] or [`SavedDrive::age`] would fail.
    pub fn aged(
        saved: SavedDrive,
        config: Config,
        timing: Timing,
        layout: Layout,
        issue: Issue,
        relocation: &mut (impl Relocate + ?Sized),
    ) -> Result<TimedDevice, StateError> {
        let queue_depth = check_issue(&issue)?;
        config.validate()?;
        let shape = Shape::new(&config, timing, layout)?;
        let flash = Flash::new(shape, config.physical_units);
        Ok(TimedDevice {
            device: saved.age(config, relocation, flash)?,
            issue,
            queue_depth,
            places: Vec::new(),
            begun: None,
        })
    }

    /// The device, for its counters and its configuration.
    pub fn device(&self) -> &Device<Flash> {
        &self.device
    }

    /// Issues requests in another way from now on.
    ///
    /// # Errors
    /// When the way to issue requests makes no sense.
    pub fn set_issue(&mut self, issue: Issue) -> Result<(), TimingError> {
        self.queue_depth = check_issue(&issue)?;
        self.issue = issue;
        Ok(())
    }

    /// The simulated time, in nanoseconds since the device was new.
    pub fn now_ns(&self) -> u64 {
        self.device.observer().now
    }

    /// Issues a request as soon as the way to issue requests allows, and carries it out. `arrival_ns` is
    /// heeded with [`Issue::Open`] only, and counts from the start of the measurement.
    ///
    /// # Errors
    /// When the device refuses the request; nothing is timed then but what was written.
    pub fn submit(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        arrival_ns: u64,
        request: Request,
    ) -> Result<(), DeviceError> {
        if let Request::Write { pages, stream } = request {
            self.write_part(relocation, arrival_ns, pages, stream)?;
            self.end_write();
            return Ok(());
        }
        let started = self.await_turn(relocation, arrival_ns);
        match request {
            Request::Write { .. } => {}
            Request::Read { pages } => self.read(pages, started)?,
            Request::Discard { pages } => {
                self.device.discard(pages)?;
                self.answer(Kind::Discard, started, pages.count);
            }
            Request::Flush => self.device.observer_mut().flush(started),
        }
        Ok(())
    }

    /// Writes some pages of a request whose pages go to several streams. It is issued with its
    /// first part, as [`TimedDevice::submit`] would issue it, and answered as one after
    /// [`TimedDevice::end_write`]: a request is the host's, however its pages are placed.
    ///
    /// # Errors
    /// When the device refuses the part; the request is then not timed.
    pub fn write_part(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        arrival_ns: u64,
        pages: PageRange,
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        let (started, written) = self.begin_write(relocation, arrival_ns);
        self.begun = None;
        self.device.write(relocation, pages, stream)?;
        self.begun = Some((started, written + pages.count));
        Ok(())
    }

    /// Issues a write before its first part, unless one is under way. Answers since when the host has had it, in
    /// nanoseconds, and how many of its pages are written.
    pub fn begin_write(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        arrival_ns: u64,
    ) -> (u64, u32) {
        if let Some(begun) = self.begun {
            return begun;
        }
        let started = self.await_turn(relocation, arrival_ns);
        *self.begun.insert((started, 0))
    }

    /// Ends the write whose parts were written. Without a part nothing happens.
    pub fn end_write(&mut self) {
        if let Some((started, pages)) = self.begun.take() {
            self.answer(Kind::Write, started, pages);
        }
    }

    fn answer(&mut self, kind: Kind, started: u64, pages: u32) {
        self.device.observer_mut().answer(kind, started, pages);
    }

    fn read(&mut self, pages: PageRange, started: u64) -> Result<(), DeviceError> {
        let logical_pages = self.device.config().logical_pages;
        if pages.end() > u64::from(logical_pages) {
            return Err(DeviceError::OutOfRange {
                first: pages.first,
                end: pages.end(),
                logical_pages,
            });
        }
        self.places.clear();
        for page in pages.first..pages.first + pages.count {
            self.places.extend(self.device.locate(page));
        }
        let flash = self.device.observer_mut();
        flash.read(Kind::Read, started, pages.count, &self.places);
        Ok(())
    }

    /// When a request arrives; `None` where it is issued as soon as there is room for it.
    #[inline]
    fn arrival(&self, arrival_ns: u64) -> Option<u64> {
        let Issue::Open { time_scale, .. } = self.issue else {
            return None;
        };
        let scaled = (arrival_ns as f64 * time_scale) as u64;
        let arrival = self.device.observer().started.saturating_add(scaled);
        Some(arrival.min(NEVER / 2))
    }

    /// Lets time pass until the next request is issued. Answers since when the host has had it.
    #[inline]
    fn await_turn(&mut self, relocation: &mut (impl Relocate + ?Sized), arrival_ns: u64) -> u64 {
        let arrival = self.arrival(arrival_ns);
        if let Some(arrival) = arrival {
            self.pass_until(relocation, arrival);
        }
        let flash = self.device.observer_mut();
        while flash.requests.outstanding() >= self.queue_depth && flash.next_at() < NEVER {
            flash.step();
        }
        arrival.unwrap_or(flash.now)
    }

    /// Lets time pass until a request arrives.
    fn pass_until(&mut self, relocation: &mut (impl Relocate + ?Sized), arrival: u64) {
        self.device.observer_mut().pass_until(arrival);
        if let Issue::Open {
            collect_after_idle_ns: Some(idle_ns),
            ..
        } = self.issue
        {
            self.collect_while_idle(relocation, arrival, idle_ns);
        }
        let flash = self.device.observer_mut();
        flash.now = flash.now.max(arrival);
    }

    /// Collects one victim after the other, once the drive has been idle for a while.
    fn collect_while_idle(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        arrival: u64,
        idle_ns: u64,
    ) {
        let flash = self.device.observer_mut();
        let begin = flash.now.saturating_add(idle_ns);
        if flash.next_at() < NEVER || begin >= arrival {
            return;
        }
        flash.now = begin;
        while self.device.observer().next_at() == NEVER
            && self.device.observer().now < arrival
            && self.device.collect_idle(relocation)
        {
            self.device.observer_mut().pass_until(arrival);
        }
    }

    /// Lets time pass until every request is answered and the flash has nothing left to do. Pages
    /// of program operations that are not full stay in the write buffer.
    pub fn drain(&mut self) {
        let flash = self.device.observer_mut();
        while flash.next_at() < NEVER {
            flash.step();
        }
    }

    /// Begins to measure anew: what was measured is forgotten, what is under way goes on.
    pub fn restart_report(&mut self) {
        self.device.observer_mut().restart();
    }

    /// Returns the measurements so far.
    pub fn report(&self) -> TimeReport {
        self.device.observer().report()
    }
}

/// Checks a way to issue requests. Answers its queue depth.
fn check_issue(issue: &Issue) -> Result<u32, TimingError> {
    let (queue_depth, scale) = match *issue {
        Issue::Closed { queue_depth } => (queue_depth, 1.0),
        Issue::Open {
            time_scale,
            queue_depth,
            ..
        } => (queue_depth, time_scale),
    };
    if queue_depth == 0 {
        return Err(TimingError::Zero("queue_depth"));
    }
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(TimingError::Zero("time_scale"));
    }
    Ok(queue_depth)
}
