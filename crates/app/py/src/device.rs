//! The device by itself.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_compare::{DriveOptions, TraceOrigin, one_drive};
use anabranch_ssd::{
    Device, DeviceError, PageRange, StreamId,
    relocate::{Relocate, RelocationKind},
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::{WorkError, raise, usage};

/// Pages written between two checks for signals (our choice: some milliseconds).
const LOOK_EVERY: usize = 1 << 20;

/// A drive that Python writes to and asks for its state.
#[pyclass(frozen, module = "anabranch._core")]
pub struct DeviceCore(Mutex<Driven>);

/// A device, and the relocation that says where its copies go.
struct Driven {
    device: Device,
    relocation: Box<dyn Relocate>,
}

impl Driven {
    /// Writes single pages, in order, to one stream.
    fn write(&mut self, pages: &[u32], stream: u16) -> Result<(), DeviceError> {
        let Driven { device, relocation } = self;
        device.write_scattered(&mut **relocation, pages, StreamId(stream))
    }
}

fn refused(error: DeviceError) -> PyErr {
    match error {
        DeviceError::OutOfRange { .. } | DeviceError::NoSuchStream { .. } => usage(error),
        DeviceError::ReadOnly { .. } | DeviceError::Full => WorkError::new_err(error.to_string()),
    }
}

#[pymethods]
impl DeviceCore {
    /// Makes the one drive of `options` (JSON, laid out as `DriveOptions`).
    #[new]
    fn new(options: &str, relocation: &str, seed: u64) -> PyResult<DeviceCore> {
        let options: DriveOptions = serde_json::from_str(options).map_err(usage)?;
        let one = "a device is one drive: give each option one value";
        let (drive, _) = one_drive(&options, &TraceOrigin::default(), one).map_err(raise)?;
        let mut config = drive.config;
        config.seed = seed;
        let kind = relocation.parse::<RelocationKind>().map_err(usage)?;
        config.internal_streams = kind.internal_streams(&config);
        let relocation = kind.build(&config);
        let device = Device::new(config, &*relocation).map_err(usage)?;
        Ok(DeviceCore(Mutex::new(Driven { device, relocation })))
    }

    /// Writes single pages, in order, to one stream.
    fn write(&self, py: Python<'_>, pages: PyReadonlyArray1<'_, u32>, stream: u16) -> PyResult<()> {
        let pages = pages.as_slice().map_err(usage)?;
        for some in pages.chunks(LOOK_EVERY) {
            py.check_signals()?;
            py.detach(|| self.driven().write(some, stream))
                .map_err(refused)?;
        }
        Ok(())
    }

    /// Writes single pages, in order, each to its own stream.
    fn write_to(
        &self,
        py: Python<'_>,
        pages: PyReadonlyArray1<'_, u32>,
        streams: PyReadonlyArray1<'_, u16>,
    ) -> PyResult<()> {
        let pages = pages.as_slice().map_err(usage)?;
        let streams = streams.as_slice().map_err(usage)?;
        if pages.len() != streams.len() {
            return Err(usage(format!(
                "{} pages and {} streams: give each page one stream",
                pages.len(),
                streams.len()
            )));
        }
        let parts = pages.chunks(LOOK_EVERY).zip(streams.chunks(LOOK_EVERY));
        for (pages, streams) in parts {
            py.check_signals()?;
            py.detach(|| self.write_runs(pages, streams))
                .map_err(refused)?;
        }
        Ok(())
    }

    /// Writes a run of pages to a stream.
    fn write_run(&self, py: Python<'_>, first: u32, count: u32, stream: u16) -> PyResult<()> {
        let pages = PageRange::new(first, count);
        let write = || {
            let Driven { device, relocation } = &mut *self.driven();
            device.write(&mut **relocation, pages, StreamId(stream))
        };
        py.detach(write).map_err(refused)
    }

    /// Discards single pages.
    fn discard(&self, py: Python<'_>, pages: PyReadonlyArray1<'_, u32>) -> PyResult<()> {
        let pages = pages.as_slice().map_err(usage)?;
        py.detach(|| {
            let device = &mut self.driven().device;
            pages
                .iter()
                .try_for_each(|&page| device.discard(PageRange::new(page, 1)))
        })
        .map_err(refused)
    }

    /// Discards a run of pages.
    fn discard_run(&self, py: Python<'_>, first: u32, count: u32) -> PyResult<()> {
        py.detach(|| self.driven().device.discard(PageRange::new(first, count)))
            .map_err(refused)
    }

    /// The state and counters of the drive, as JSON.
    fn state(&self) -> String {
        let device = &self.driven().device;
        let counters = device.counters();
        json!({
            "config": device.config(),
            "counters": counters,
            "media_pages": counters.media_pages(),
            "waf": counters.waf(),
            "mapped_pages": device.mapped_pages(),
            "read_only": device.is_read_only(),
            "wear": device.wear(),
            "streams": device.stream_counters(),
        })
        .to_string()
    }

    /// Sets the counters to zero; data on the drive stay.
    fn reset_counters(&self) {
        self.driven().device.reset_counters();
    }
}

impl DeviceCore {
    fn driven(&self) -> MutexGuard<'_, Driven> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the pages, neighbours of one stream together.
    fn write_runs(&self, pages: &[u32], streams: &[u16]) -> Result<(), DeviceError> {
        let mut driven = self.driven();
        let mut rest = pages;
        for run in streams.chunk_by(|one, next| one == next) {
            let (now, later) = rest.split_at(run.len());
            let stream = run.first().copied().unwrap_or(0);
            driven.write(now, stream)?;
            rest = later;
        }
        Ok(())
    }
}
