//! Copies of every stream share one internal stream.

use super::{Destination, Relocate, Victim};
use crate::{config::Config, types::StreamId};

/// One internal stream for all copies, in each reclaim group: old data are kept from new (SepBIT
/// calls it `SepGC`).
#[derive(Debug)]
pub(super) struct Gc {
    /// The stream that copies of each stream join. On a device without internal streams it is the
    /// same one.
    destination: Vec<StreamId>,
}

/// Internal streams that the relocation uses: one for each reclaim group, or none.
pub(super) fn internal_streams(config: &Config) -> u16 {
    let groups = u16::try_from(config.reclaim_groups).unwrap_or(u16::MAX);
    if config.internal_streams >= groups {
        groups
    } else {
        0
    }
}

impl Gc {
    pub(super) fn new(config: &Config) -> Gc {
        let groups = config.reclaim_groups.max(1);
        let per_group = u32::from(config.internal_streams) / groups;
        let copies = |stream: StreamId| match per_group {
            0 => stream,
            _ => {
                let first = config.group_of(stream) * per_group;
                StreamId(config.host_streams.saturating_add(first as u16))
            }
        };
        Gc {
            destination: (0..config.streams()).map(StreamId).map(copies).collect(),
        }
    }
}

impl Relocate for Gc {
    fn destination(&mut self, victim: &Victim) -> Destination {
        Destination::Stream(self.destination[victim.stream.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    #[test]
    fn each_reclaim_group_has_a_stream_of_copies() {
        let mut config = small();
        config.reclaim_groups = 2;
        config.internal_streams = internal_streams(&config);
        assert_eq!(config.internal_streams, 2);
        let destination = Gc::new(&config).destination;
        assert_eq!(destination, [4, 4, 5, 5, 4, 5].map(StreamId));
        config.internal_streams = 1;
        assert_eq!(internal_streams(&config), 0);
    }
}
