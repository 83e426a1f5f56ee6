//! Records an FDP device's statistics and events for its host.

use super::{EventDetail, EventLocation, FdpEvent, FdpEventKind, FdpEventKinds, FdpEvents};
use crate::{config::Config, relocate::fdp::Listener, types::StreamId};

/// Records the events that the host enabled.
#[derive(Debug)]
pub(super) struct Recorder {
    handles: u16,
    host_streams: u16,
    page_bytes: u32,
    /// The kinds of events enabled for each handle.
    enabled: Vec<FdpEventKinds>,
    events: FdpEvents,
    /// The device's clock, and how far the Timestamp feature is ahead of it (wrapping).
    now_ms: u64,
    timestamp_offset_ms: u64,
    /// When each host stream's unit was begun.
    begun_at_ms: Vec<u64>,
}

impl Recorder {
    pub(super) fn new(config: &Config) -> Recorder {
        Recorder {
            handles: config.handles(),
            host_streams: config.host_streams,
            page_bytes: config.page_bytes,
            enabled: vec![FdpEventKinds::NONE; usize::from(config.handles())],
            events: FdpEvents::default(),
            now_ms: 0,
            timestamp_offset_ms: 0,
            begun_at_ms: vec![0; usize::from(config.host_streams)],
        }
    }

    pub(super) fn location(&self, stream: StreamId) -> EventLocation {
        EventLocation {
            group: u32::from(stream.0 / self.handles),
            handle: stream.0 % self.handles,
        }
    }

    pub(super) fn events(&self) -> &FdpEvents {
        &self.events
    }

    pub(super) fn enabled(&self, handle: u16) -> FdpEventKinds {
        self.enabled[usize::from(handle)]
    }

    pub(super) fn enable(&mut self, handle: u16, kinds: FdpEventKinds, enable: bool) {
        let enabled = &mut self.enabled[usize::from(handle)];
        *enabled = if enable {
            enabled.with(kinds)
        } else {
            enabled.without(kinds)
        };
    }

    pub(super) fn disable_all(&mut self) {
        self.enabled.fill(FdpEventKinds::NONE);
    }

    pub(super) fn clear(&mut self) {
        self.events = FdpEvents::default();
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    pub(super) fn set_now_ms(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    pub(super) fn set_timestamp_ms(&mut self, timestamp_ms: u64) {
        self.timestamp_offset_ms = timestamp_ms.wrapping_sub(self.now_ms);
    }

    pub(super) fn begun_at_ms(&self, stream: StreamId) -> u64 {
        self.begun_at_ms[stream.index()]
    }

    /// Records an event of a host stream, if the host has enabled that kind for its handle.
    pub(super) fn record(&mut self, stream: StreamId, event: FdpEvent) {
        let location = self.location(stream);
        if !self.enabled(location.handle).contains(event.kind) {
            return;
        }
        self.events.push(FdpEvent {
            timestamp_ms: self.now_ms.wrapping_add(self.timestamp_offset_ms),
            location: Some(location),
            ..event
        });
    }

    fn is_host(&self, stream: StreamId) -> bool {
        stream.0 < self.host_streams
    }
}

impl Listener for Recorder {
    fn opened(&mut self, stream: StreamId) {
        if let Some(begun_at_ms) = self.begun_at_ms.get_mut(stream.index()) {
            *begun_at_ms = self.now_ms;
        }
    }

    fn abandoned(&mut self, stream: StreamId) {
        if self.is_host(stream) {
            let event = FdpEvent::new(FdpEventKind::ImplicitlyModifiedHandle);
            self.record(stream, event);
        }
    }

    fn moved(&mut self, stream: StreamId, pages: u32) {
        // Whose data a unit of copies holds is known no longer, save of an isolated handle's.
        if pages > 0 && self.is_host(stream) {
            let bytes = u64::from(pages) * u64::from(self.page_bytes);
            let event = FdpEvent {
                detail: EventDetail::Moved { bytes },
                ..FdpEvent::new(FdpEventKind::MediaReallocated)
            };
            self.record(stream, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_told_of_pages_of_a_host_stream_alone() {
        let config = Config {
            host_streams: 2,
            internal_streams: 2,
            ..Config::new(4, 4, 16)
        };
        let mut recorder = Recorder::new(&config);
        for handle in 0..2 {
            recorder.enable(handle, FdpEventKind::MediaReallocated.into(), true);
        }
        recorder.moved(StreamId(0), 0);
        recorder.moved(StreamId(2), 3);
        assert_eq!(recorder.events().controller().len(), 0);
        recorder.moved(StreamId(0), 3);
        assert_eq!(recorder.events().controller().len(), 1);
    }
}
