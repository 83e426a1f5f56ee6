//! Copies of each stream in units of their own.

use super::{Destination, Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// Every host stream has an internal stream for its copies, for good: what substreams would be if
/// they cost nothing. Where there are fewer internal streams than host streams, some share one.
#[derive(Debug)]
pub(super) struct PerStream {
    host_streams: u16,
    internal_streams: u16,
}

impl PerStream {
    pub(super) fn new(config: &Config) -> PerStream {
        PerStream {
            host_streams: config.host_streams,
            internal_streams: config.internal_streams,
        }
    }
}

impl Relocate for PerStream {
    fn destination(&mut self, victim: &Victim) -> Destination {
        if victim.stream.0 >= self.host_streams || self.internal_streams == 0 {
            return Destination::Stream(victim.stream);
        }
        let slot = victim.stream.0 % self.internal_streams;
        Destination::Stream(StreamId(self.host_streams.saturating_add(slot)))
    }
}
