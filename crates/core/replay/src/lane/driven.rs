//! The device of a lane, and the writes that wait for it in a batch.
//!
//! A drive with a clock performs every request at its own time, and in order: reads, flushes and ends of writes wait with
//! the batch. So a scheme that learns from its drive is notified at the same writes with a clock and without, and the
//! counts are the same to the page.

use anabranch_placement::Write;
use anabranch_ssd::{DeviceError, PageRange, StreamId, relocate::Relocate, time::Request};

use super::{BATCH, Driven, LaneError};
use crate::pages::BeyondDrive;

/// Requests that wait with a batch before it is performed all the same, which ends it early (our choice: 2 MiB of
/// memory a lane; only a trace with a thousand reads for each write comes so far).
const MOST_LATE: usize = 1 << 16;

/// A request, or a part of one, that waits with the batch; its time in nanoseconds.
#[derive(Debug)]
pub(super) enum Late {
    /// A page of the batch.
    Page(u64, u32),
    /// The end of a write.
    End,
    /// A read or a flush.
    Wait(u64, Request),
}

impl Driven {
    /// Begins a request that was issued at `time_ns`.
    pub(super) fn begin(&mut self, time_ns: u64) {
        self.records += 1;
        self.time_ns = time_ns;
        if let Some(placements) = &mut self.placements {
            placements.clear();
        }
    }

    /// Writes a part of a request to its stream.
    #[inline]
    pub(super) fn place(
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
        if self.engine.is_timed() {
            self.late.push(Late::Page(self.time_ns, pages.first));
        }
        if self.batch.len() == BATCH {
            self.flush_batch(relocation)
        } else {
            Ok(())
        }
    }

    /// Ends the current write: it has no more pages.
    pub(super) fn end_write(&mut self) {
        if self.late.is_empty() {
            self.engine.end_write();
        } else {
            self.late.push(Late::End);
        }
    }

    pub(super) fn discard(
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

    pub(super) fn wait_for(
        &mut self,
        relocation: &mut dyn Relocate,
        request: Request,
    ) -> Result<(), LaneError> {
        if self.late.len() >= MOST_LATE {
            self.flush_batch(relocation)?;
        }
        if !self.late.is_empty() {
            self.late.push(Late::Wait(self.time_ns, request));
            return Ok(());
        }
        let waited = self.engine.wait_for(relocation, self.time_ns, request);
        self.performed(waited)
    }

    pub(super) fn flush_batch(&mut self, relocation: &mut dyn Relocate) -> Result<(), LaneError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let stream = self.batch_stream;
        let result = if self.engine.is_timed() {
            self.perform_late(relocation, stream)
        } else {
            let time_ns = self.time_ns;
            self.engine
                .write_scattered(relocation, time_ns, &self.batch, stream)
        };
        self.batch.clear();
        self.remember();
        self.performed(result)
    }

    /// Performs what waits with the batch, each request at its own time.
    fn perform_late(
        &mut self,
        relocation: &mut dyn Relocate,
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        let engine = &mut self.engine;
        self.late.drain(..).try_for_each(|late| match late {
            Late::Page(time_ns, page) => {
                engine.write(relocation, time_ns, PageRange::new(page, 1), stream)
            }
            Late::End => {
                engine.end_write();
                Ok(())
            }
            Late::Wait(time_ns, request) => engine.wait_for(relocation, time_ns, request),
        })
    }

    /// Takes the details of the device when no write waits in the batch.
    pub(super) fn remember(&mut self) {
        self.series.record(self.engine.counters());
        self.peak_mapped_pages = self.peak_mapped_pages.max(self.engine.mapped_pages());
        if let Some(watch) = &mut self.watch {
            watch.look(&self.engine);
        }
    }

    pub(super) fn beyond(&self, problem: BeyondDrive) -> LaneError {
        LaneError::Beyond {
            record: self.records,
            problem,
        }
    }

    /// Turns the refusal of a drive that has become read-only into a result; any other refusal
    /// stays an error.
    pub(super) fn performed(&mut self, result: Result<(), DeviceError>) -> Result<(), LaneError> {
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
