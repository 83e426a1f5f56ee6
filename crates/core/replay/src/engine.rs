//! A lane's device: alone, or with a host that collects its garbage.

use anabranch_ssd::{
    Config, Counters, DeviceError, PageRange, StreamCounters, StreamId,
    relocate::Relocate,
    time::{Request, TimeReport},
    wear::WearReport,
};

use crate::{
    any_device::AnyDevice,
    collected::{Collected, CollectedBytes, Pages},
};

/// The device of a lane.
#[derive(Debug)]
pub enum Engine {
    /// A device that collects by itself.
    Alone(AnyDevice),
    /// A drive as sold on which the host collects.
    Collected(Box<Collected>),
}

impl Engine {
    fn device(&self) -> &AnyDevice {
        match self {
            Engine::Alone(device) => device,
            Engine::Collected(collected) => collected.device(),
        }
    }

    /// The configuration the device was made with.
    pub fn config(&self) -> &Config {
        match self {
            Engine::Alone(device) => device.config(),
            Engine::Collected(collected) => collected.config(),
        }
    }

    /// The device's counters.
    pub fn counters(&self) -> &Counters {
        match self {
            Engine::Alone(device) => device.counters(),
            Engine::Collected(collected) => collected.counters(),
        }
    }

    /// The counters of every stream.
    pub fn stream_counters(&self) -> &[StreamCounters] {
        self.device().stream_counters()
    }

    /// Logical pages that hold data.
    pub fn mapped_pages(&self) -> u64 {
        match self {
            Engine::Alone(device) => device.mapped_pages(),
            Engine::Collected(collected) => collected.mapped_pages(),
        }
    }

    /// Whether so many units have failed that the device takes no more writes.
    pub fn is_read_only(&self) -> bool {
        self.device().is_read_only()
    }

    /// Pages the host has written since the device was new.
    pub fn clock_pages(&self) -> u64 {
        match self {
            Engine::Alone(device) => device.clock_pages(),
            Engine::Collected(collected) => collected.clock_pages(),
        }
    }

    /// Returns the device's wear.
    pub fn wear(&self) -> WearReport {
        self.device().wear()
    }

    /// Returns the unit of a logical page, and the page within it. `None` where nothing is mapped.
    #[inline]
    pub fn locate(&self, page: u32) -> Option<(u32, u32)> {
        self.device().locate(page)
    }

    /// Stream and number of valid pages of a unit; `None` for a unit that is free or retired.
    pub fn unit(&self, unit: u32) -> Option<(StreamId, u32)> {
        self.device().unit(unit)
    }

    /// Returns the erases of each unit.
    pub fn erases(&self) -> &[u32] {
        self.device().erases()
    }

    /// Whether requests take time.
    pub fn is_timed(&self) -> bool {
        self.device().is_timed()
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
            Engine::Alone(device) => device.write(relocation, time_ns, pages, stream),
            Engine::Collected(collected) => {
                collected.write(relocation, time_ns, Pages::Run(pages), stream)
            }
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
            Engine::Alone(device) => device.write_scattered(relocation, time_ns, pages, stream),
            Engine::Collected(collected) => {
                collected.write(relocation, time_ns, Pages::Scattered(pages), stream)
            }
        }
    }

    /// Reads the mapping of pages that are written soon, so that their cache misses overlap.
    pub fn prefetch(&self, pages: &[u32]) {
        self.device().prefetch(pages);
    }

    /// Ends the current write: it has no more pages.
    pub fn end_write(&mut self) {
        match self {
            Engine::Alone(device) => device.end_write(),
            Engine::Collected(collected) => collected.end_write(),
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
            Engine::Alone(device) => device.discard(relocation, time_ns, pages),
            Engine::Collected(collected) => collected.discard(relocation, time_ns, pages),
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
            Engine::Alone(device) => device.wait_for(relocation, time_ns, request),
            Engine::Collected(collected) => collected.wait_for(relocation, time_ns, request),
        }
    }

    /// Times and latencies of the requests; `None` for a device that takes no time.
    pub fn report(&self) -> Option<TimeReport> {
        self.device().report()
    }

    /// Lets time pass until every request under way has ended.
    pub fn drain(&mut self) {
        match self {
            Engine::Alone(device) => device.drain(),
            Engine::Collected(collected) => collected.settle(),
        }
    }

    /// The host's rewrites and the drive's copies; `None` where the host does not collect.
    pub fn collected(&self) -> Option<CollectedBytes> {
        match self {
            Engine::Collected(collected) => Some(collected.bytes()),
            Engine::Alone(_) => None,
        }
    }

    /// Bytes of memory that the host holds to collect.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Engine::Collected(collected) => collected.memory_bytes(),
            Engine::Alone(_) => 0,
        }
    }
}
