//! The reclaim units that handles reference, and how long they may.

use serde::{Deserialize, Serialize};

use super::{FdpDevice, FdpError, FdpEvent, FdpEventKind, PlacementIdentifier};
use crate::{observe::Observe, types::StreamId};

const MS_PER_SECOND: u64 = 1000;

/// The reclaim unit that a handle references in a reclaim group: one Reclaim Unit Handle Status
/// descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UnitStatus {
    /// The placement identifier (PID).
    pub placement: PlacementIdentifier,
    /// The handle behind it (RUHID).
    pub handle: u16,
    /// Seconds until the controller may go on with another unit (EARUTR), rounded up; 0 where
    /// there is no limit.
    pub time_left_seconds: u32,
    /// Bytes that can still be written to the unit (RUAMW, which counts logical blocks).
    pub available_bytes: u64,
}

impl<O: Observe> FdpDevice<O> {
    /// The unit a handle references in a group; `None` where no identifier could name it.
    pub(super) fn unit_status(
        &self,
        placement_handle: u16,
        group: u32,
        handle: u16,
    ) -> Option<UnitStatus> {
        let stream = self.stream(group, handle);
        let page_bytes = u64::from(self.device.config().page_bytes);
        let now_ms = self.relocation.listener.now_ms();
        let left_ms = self.limit_of(stream).saturating_sub(now_ms);
        Some(UnitStatus {
            placement: self.configuration.encode(group, placement_handle)?,
            handle,
            time_left_seconds: left_ms.div_ceil(MS_PER_SECOND) as u32,
            available_bytes: u64::from(self.device.unit_room(stream)) * page_bytes,
        })
    }

    /// Sets the device's clock, which starts at 0 and never goes back. Units begun longer ago than
    /// the time limit are closed as they are (event 1h). The time counts from a unit's first
    /// write: an empty one need not be given up (our choice).
    ///
    /// # Errors
    /// When a unit is due and the drive is read-only.
    pub fn advance(&mut self, now_ms: u64) -> Result<(), FdpError> {
        let now_ms = now_ms.max(self.relocation.listener.now_ms());
        self.relocation.listener.set_now_ms(now_ms);
        if self.configuration.time_limit_seconds == 0 || now_ms < self.next_limit_ms {
            return Ok(());
        }
        // What is begun from now on is due a whole limit later.
        let mut next = now_ms.saturating_add(self.limit_ms());
        for stream in (0..self.device.config().host_streams).map(StreamId) {
            let limit = self.limit_of(stream);
            if !self.is_begun(stream) {
                continue;
            }
            if limit > now_ms {
                next = next.min(limit);
                continue;
            }
            self.device.finish_unit(stream)?;
            let event = FdpEvent::new(FdpEventKind::TimeLimitExceeded);
            self.relocation.listener.record(stream, event);
        }
        self.next_limit_ms = next;
        Ok(())
    }

    /// The host sets the Timestamp feature: events tell the time by it from now on.
    pub fn set_timestamp(&mut self, timestamp_ms: u64) {
        self.relocation.listener.set_timestamp_ms(timestamp_ms);
    }

    fn limit_ms(&self) -> u64 {
        u64::from(self.configuration.time_limit_seconds) * MS_PER_SECOND
    }

    /// When the unit a stream references reaches the time limit. A unit not yet written is taken to
    /// begin now.
    fn limit_of(&self, stream: StreamId) -> u64 {
        let recorder = &self.relocation.listener;
        let begun_at = if self.is_begun(stream) {
            recorder.begun_at_ms(stream)
        } else {
            recorder.now_ms()
        };
        begun_at.saturating_add(self.limit_ms())
    }
}
