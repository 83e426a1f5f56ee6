//! A device that counts only, or counts and simulates time.

use anabranch_ssd::{
    Config, Counters, Device, DeviceError, PageRange, StreamCounters, StreamId,
    relocate::Relocate,
    time::{Request, TimeReport, TimedDevice},
    wear::WearReport,
};

/// A device. Both kinds give the same counts.
#[derive(Debug)]
pub enum AnyDevice {
    /// A device that counts and takes no time.
    Counted(Box<Device>),
    /// A device whose requests take the time that a drive's flash would.
    Timed(Box<TimedDevice>),
}

/// Calls a method of either kind's device.
macro_rules! device {
    ($any:expr, $device:ident => $answer:expr) => {
        match $any {
            AnyDevice::Counted($device) => $answer,
            AnyDevice::Timed(timed) => {
                let $device = timed.device();
                $answer
            }
        }
    };
}

impl AnyDevice {
    /// The configuration the device was made with.
    pub fn config(&self) -> &Config {
        device!(self, device => device.config())
    }

    /// The device's counters.
    pub fn counters(&self) -> &Counters {
        device!(self, device => device.counters())
    }

    /// The counters of every stream.
    pub fn stream_counters(&self) -> &[StreamCounters] {
        device!(self, device => device.stream_counters())
    }

    /// Logical pages that hold data.
    pub fn mapped_pages(&self) -> u64 {
        device!(self, device => device.mapped_pages())
    }

    /// Whether so many units have failed that the device takes no more writes.
    pub fn is_read_only(&self) -> bool {
        device!(self, device => device.is_read_only())
    }

    /// Pages the host has written since the device was new.
    pub fn clock_pages(&self) -> u64 {
        device!(self, device => device.clock_pages())
    }

    /// Returns the device's wear.
    pub fn wear(&self) -> WearReport {
        device!(self, device => device.wear())
    }

    /// Returns the unit of a logical page, and the page within it. `None` where nothing is mapped.
    #[inline]
    pub fn locate(&self, page: u32) -> Option<(u32, u32)> {
        device!(self, device => device.locate(page))
    }

    /// Stream and number of valid pages of a unit; `None` for a unit that is free or retired.
    pub fn unit(&self, unit: u32) -> Option<(StreamId, u32)> {
        device!(self, device => device.unit(unit))
    }

    /// Returns the erases of each unit.
    pub fn erases(&self) -> &[u32] {
        device!(self, device => device.erases())
    }

    /// Pages until the unit of a stream ends; a whole unit's where none is open.
    pub fn unit_room(&self, stream: StreamId) -> u32 {
        device!(self, device => device.unit_room(stream))
    }

    /// Whether requests take time.
    pub fn is_timed(&self) -> bool {
        matches!(self, AnyDevice::Timed(_))
    }

    /// Writes a run of pages of a request that was asked for at `time_ns`; [`AnyDevice::end_write`] ends the request.
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
            AnyDevice::Counted(device) => device.write(relocation, pages, stream),
            AnyDevice::Timed(timed) => timed.write_part(relocation, time_ns, pages, stream),
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
            AnyDevice::Counted(device) => device.write_scattered(relocation, pages, stream),
            AnyDevice::Timed(timed) => pages.iter().try_for_each(|&page| {
                timed.write_part(relocation, time_ns, PageRange::new(page, 1), stream)
            }),
        }
    }

    /// Reads the mapping of pages that are written soon, so that their cache misses overlap.
    pub fn prefetch(&self, pages: &[u32]) {
        device!(self, device => device.prefetch(pages));
    }

    /// Ends the current write: it has no more pages.
    pub fn end_write(&mut self) {
        if let AnyDevice::Timed(timed) = self {
            timed.end_write();
        }
    }

    /// Closes a stream's open unit though it is not full.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn finish_unit(&mut self, stream: StreamId) -> Result<u32, DeviceError> {
        match self {
            AnyDevice::Counted(device) => device.finish_unit(stream),
            AnyDevice::Timed(timed) => timed.finish_unit(stream),
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
            AnyDevice::Counted(device) => device.discard(pages),
            AnyDevice::Timed(timed) => {
                timed.submit(relocation, time_ns, Request::Discard { pages })
            }
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
            AnyDevice::Counted(_) => Ok(()),
            AnyDevice::Timed(timed) => timed.submit(relocation, time_ns, request),
        }
    }

    /// Times and latencies of the requests; `None` for a device that takes no time.
    pub fn report(&self) -> Option<TimeReport> {
        match self {
            AnyDevice::Counted(_) => None,
            AnyDevice::Timed(timed) => Some(timed.report()),
        }
    }

    /// Lets time pass until every request under way has ended.
    pub fn drain(&mut self) {
        if let AnyDevice::Timed(timed) = self {
            timed.drain();
        }
    }
}
