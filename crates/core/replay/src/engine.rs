//! A lane's device: it counts only, counts and simulates time, or has a host that collects its garbage.

use anabranch_ssd::{
    Config, Counters, Device, DeviceError, PageRange, StreamCounters, StreamId,
    relocate::Relocate,
    time::{Request, TimeReport, TimedDevice},
    wear::WearReport,
};

use crate::collected::{Collected, CollectedBytes, Pages};

/// The device of a lane. The first two kinds give the same counts.
#[derive(Debug)]
pub enum Engine {
    /// A device that counts and takes no time.
    Counted(Box<Device>),
    /// A device whose requests take the time that a drive's flash would.
    Timed(Box<TimedDevice>),
    /// A drive as sold on which the host collects.
    Collected(Box<Collected>),
}

/// Calls a method of either kind's device.
macro_rules! device {
    ($engine:expr, $device:ident => $answer:expr) => {
        match $engine {
            Engine::Counted($device) => $answer,
            Engine::Timed(timed) => {
                let $device = timed.device();
                $answer
            }
            Engine::Collected(collected) => {
                let $device = collected.device();
                $answer
            }
        }
    };
}

impl Engine {
    /// The configuration the device was made with.
    pub fn config(&self) -> &Config {
        match self {
            Engine::Collected(collected) => collected.config(),
            _ => device!(self, device => device.config()),
        }
    }

    /// The device's counters.
    pub fn counters(&self) -> &Counters {
        match self {
            Engine::Collected(collected) => collected.counters(),
            _ => device!(self, device => device.counters()),
        }
    }

    /// The counters of every stream.
    pub fn stream_counters(&self) -> &[StreamCounters] {
        device!(self, device => device.stream_counters())
    }

    /// Logical pages that hold data.
    pub fn mapped_pages(&self) -> u64 {
        match self {
            Engine::Collected(collected) => collected.mapped_pages(),
            _ => device!(self, device => device.mapped_pages()),
        }
    }

    /// Whether so many units have failed that the device takes no more writes.
    pub fn is_read_only(&self) -> bool {
        device!(self, device => device.is_read_only())
    }

    /// Pages the host has written since the device was new.
    pub fn clock_pages(&self) -> u64 {
        match self {
            Engine::Collected(collected) => collected.clock_pages(),
            _ => device!(self, device => device.clock_pages()),
        }
    }

    /// How worn the device is.
    pub fn wear(&self) -> WearReport {
        device!(self, device => device.wear())
    }

    /// Where a logical page lies: its unit, and the page in that. `None` where nothing is mapped.
    #[inline]
    pub fn locate(&self, page: u32) -> Option<(u32, u32)> {
        device!(self, device => device.locate(page))
    }

    /// Stream and number of valid pages of a unit; `None` for a unit that is free or retired.
    pub fn unit(&self, unit: u32) -> Option<(StreamId, u32)> {
        device!(self, device => device.unit(unit))
    }

    /// How often each unit was erased.
    pub fn erases(&self) -> &[u32] {
        device!(self, device => device.erases())
    }

    /// Whether requests take time.
    pub fn is_timed(&self) -> bool {
        matches!(self, Engine::Timed(_))
    }

    /// Writes a run of pages of a request that was asked for at `time_ns`; [`Engine::end_write`]
    /// ends the request.
    ///
    /// # Errors
    /// When the device refuses the write.
    pub fn write(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        pages: PageRange,
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        match self {
            Engine::Counted(device) => device.write(relocation, pages, stream),
            Engine::Timed(timed) => timed.write_part(relocation, time_ns, pages, stream),
            Engine::Collected(collected) => collected.write(relocation, Pages::Run(pages), stream),
        }
    }

    /// Writes single pages, in order.
    ///
    /// # Errors
    /// When the device refuses a page.
    pub fn write_scattered(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        pages: &[u32],
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        match self {
            Engine::Counted(device) => device.write_scattered(relocation, pages, stream),
            Engine::Timed(timed) => pages.iter().try_for_each(|&page| {
                timed.write_part(relocation, time_ns, PageRange::new(page, 1), stream)
            }),
            Engine::Collected(collected) => {
                collected.write(relocation, Pages::Scattered(pages), stream)
            }
        }
    }

    /// Reads the mapping of pages that are written soon, so that their cache misses overlap.
    pub fn touch(&self, pages: &[u32]) {
        device!(self, device => device.touch(pages));
    }

    /// Ends the current write: it has no more pages.
    pub fn end_write(&mut self) {
        if let Engine::Timed(timed) = self {
            timed.end_write();
        }
    }

    /// Discards a run of pages.
    ///
    /// # Errors
    /// When the device refuses the discard.
    pub fn discard(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        pages: PageRange,
    ) -> Result<(), DeviceError> {
        match self {
            Engine::Counted(device) => device.discard(pages),
            Engine::Timed(timed) => timed.submit(relocation, time_ns, Request::Discard { pages }),
            Engine::Collected(collected) => collected.discard(pages),
        }
    }

    /// Reads a run of pages, or flushes what was written: both change nothing but the time.
    ///
    /// # Errors
    /// When the device refuses the request.
    pub fn wait_for(
        &mut self,
        relocation: &mut dyn Relocate,
        time_ns: u64,
        request: Request,
    ) -> Result<(), DeviceError> {
        match self {
            Engine::Counted(_) | Engine::Collected(_) => Ok(()),
            Engine::Timed(timed) => timed.submit(relocation, time_ns, request),
        }
    }

    /// Times and latencies of the requests; `None` for a device that takes no time.
    pub fn report(&self) -> Option<TimeReport> {
        match self {
            Engine::Counted(_) | Engine::Collected(_) => None,
            Engine::Timed(timed) => Some(timed.report()),
        }
    }

    /// Lets time pass until every request under way has ended.
    pub fn drain(&mut self) {
        match self {
            Engine::Counted(_) => {}
            Engine::Timed(timed) => timed.drain(),
            Engine::Collected(collected) => collected.settle(),
        }
    }

    /// The host's rewrites and the drive's copies; `None` where the host does not collect.
    pub fn collected(&self) -> Option<CollectedBytes> {
        match self {
            Engine::Collected(collected) => Some(collected.bytes()),
            _ => None,
        }
    }

    /// Bytes of memory that the host holds to collect.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Engine::Collected(collected) => collected.memory_bytes(),
            _ => 0,
        }
    }
}
