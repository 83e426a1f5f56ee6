//! Copies of every stream share one internal stream.

use super::{Destination, Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// One internal stream for all copies: old data are kept from new (SepBIT calls it `SepGC`).
#[derive(Debug)]
pub(super) struct Gc {
    /// None on a device without internal streams: copies then stay with their stream.
    stream: Option<StreamId>,
}

impl Gc {
    pub(super) fn new(config: &Config) -> Gc {
        Gc {
            stream: (config.internal_streams > 0).then_some(StreamId(config.host_streams)),
        }
    }
}

impl Relocate for Gc {
    fn destination(&mut self, victim: &Victim) -> Destination {
        Destination::Stream(self.stream.unwrap_or(victim.stream))
    }
}
