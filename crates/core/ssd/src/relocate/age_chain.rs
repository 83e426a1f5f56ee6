//! Copies by how often they have survived.

use super::{Destination, Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// Survivors of host streams join the first internal stream, survivors of that the second, and
/// so on; those of the last stay there. The chain of generations that the PCStream emulator's
/// `baseline+` makes, and that `MiDAS` (FAST'24) builds on.
#[derive(Debug)]
pub(super) struct AgeChain {
    host_streams: u16,
    /// The end of the chain; without internal streams, the last host stream.
    last: u16,
}

impl AgeChain {
    pub(super) fn new(config: &Config) -> AgeChain {
        AgeChain {
            host_streams: config.host_streams,
            last: config.streams().saturating_sub(1),
        }
    }
}

impl Relocate for AgeChain {
    fn destination(&mut self, victim: &Victim) -> Destination {
        if self.last < self.host_streams {
            return Destination::Stream(victim.stream);
        }
        let next = (victim.stream.0 + 1).max(self.host_streams);
        Destination::Stream(StreamId(next.min(self.last)))
    }
}
