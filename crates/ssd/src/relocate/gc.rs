//! Copies of every stream share one internal stream.

use super::{Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// One internal stream for all copies: old data are kept from new (SepBIT calls it `SepGC`).
#[derive(Debug)]
pub(super) struct Gc {
    stream: StreamId,
}

impl Gc {
    pub(super) fn new(config: &Config) -> Gc {
        Gc {
            stream: StreamId(config.host_streams),
        }
    }
}

impl Relocate for Gc {
    fn destination(&mut self, _victim: Victim) -> StreamId {
        self.stream
    }
}
